"""The memory of a job does not depend on the length of the labels."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

#: Trains and audits on rows with short labels, then on the same rows with long ones. Prints the difference of the
#: peaks of the process in MiB.
RUN = """
import io, re, sys, uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from app.audits.specs import AuditSpec
from app.audits.submission import AuditSubmission
from app.context import open_context
from app.jobs.service import submit
from app.jobs.states import JobState
from app.storage.schema import upgrade_to_head
from tests.conftest import make_settings
from tests.factories import job
from tests.workers.test_uploaded_tables import stored
from tests.workers.training_runs import run
from workers.auditing import audit
from tests.job_attempts import attempt_job

home = Path(sys.argv[1])
settings = make_settings(home, f"sqlite:///{home / 'test.db'}")
upgrade_to_head(settings)
context = open_context(settings)
tree = {"kind": "tree", "max_depth": 2}
forest = {"kind": "forest", "n_estimators": 20, "max_depth": 2}
n_rows = 8_000
codes = np.random.default_rng(0).integers(0, 2, n_rows)
x = codes + np.random.default_rng(1).normal(size=n_rows)

def uploaded(labels):
    out = io.BytesIO()
    y = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(labels))
    pq.write_table(pa.table({"x": x, "y": y}), out)
    return stored(context, out.getvalue())

def peak_of_jobs(dataset_id):
    Path("/proc/self/clear_refs").write_text("5")
    folds = {"kind": "cross_validation", "folds": 2}
    noise = {"inject": {"kind": "uniform", "rate": 0.1}}
    run(context, dataset_id=str(dataset_id), model=tree, noise=noise, evaluation=folds)
    limits = context.settings.limits
    spec = AuditSpec.model_validate({"dataset_id": dataset_id, "model": forest})
    job_id = submit(context.sessions, limits, AuditSubmission(spec, context.sessions, limits), None).id
    attempt_job(context, job_id, audit)
    assert job(context, job_id).state is JobState.SUCCEEDED
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

short, long = uploaded(["a", "b"]), uploaded(["a" * 1000, "b" * 1000])
peak_of_jobs(short)
before = peak_of_jobs(short)
print((peak_of_jobs(long) - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_long_labels_take_no_more_memory_than_short_ones(tmp_path: Path) -> None:
    """As an array of texts, the labels would take 31 MiB, and several times as much with copies."""
    command = [sys.executable, "-c", RUN, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 20
