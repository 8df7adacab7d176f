"""Estimated and measured memory of jobs: `python -m benchmarks.service.job_memory [NUMBER OR WORD …]`.

Each job runs in a new process, on labels that are noise, which make the largest trees. The measurement is the highest
resident size during the job minus that before it. The share of the estimate that a job takes must not exceed 1, or
workers run out of memory; where it is below 0.3, jobs that fit are refused. Words select the jobs in whose description
they occur.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import select

from app.audits.specs import AuditSpec
from app.audits.submission import AuditSubmission
from app.context import ServiceContext, open_context
from app.datasets.formats import PlainFile
from app.datasets.options import UploadOptions
from app.datasets.records import DatasetRecord
from app.datasets.service import store_upload
from app.jobs import lease
from app.jobs.service import submit
from app.jobs.submission import JobSubmission
from app.jobs.tables import JobRow
from app.requests.job_memory import JobMemory, audit_memory, cell_memory, training_memory
from app.settings import load_settings
from app.storage.database import reading, writing
from app.storage.schema import upgrade_to_head
from app.sweeps.specs import SweepSpec
from app.sweeps.submission import SweepSubmission
from app.training.specs import TrainRequest
from app.training.submission import TrainingSubmission
from workers.auditing import audit
from workers.job_board import JobBoard
from workers.job_body import JobBody
from workers.lifecycle import run_attempt
from workers.monitor import JobMonitor
from workers.sweeping import sweep_cell
from workers.training import train

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
HEADER = "| | rows | features | classes | job | measured | estimated | share |\n" + "| --- " * 8 + "|"


class Case(NamedTuple):
    """Job on a table of this size. body: `train`, `audit` or `sweep`; n_test_rows: of a test data set, or 0."""

    n_rows: int
    n_features: int
    n_classes: int
    model: dict[str, Any]
    body: str = "train"
    fields: dict[str, Any] = {}  # noqa: RUF012
    n_test_rows: int = 0

    def __str__(self) -> str:
        told = self.model | self.fields | ({"test rows": self.n_test_rows} if self.n_test_rows else {})
        return ", ".join([self.body, *(f"{key} {value}" for key, value in told.items())])


def _forest(n_estimators: int = 20, **parameters: Any) -> dict[str, Any]:
    return {"kind": "forest", "n_estimators": n_estimators, **parameters}


def _booster(kind: str, n_rounds: int = 40, **parameters: Any) -> dict[str, Any]:
    return {"kind": kind, "n_rounds": n_rounds, **parameters}


_FOLDS = {"evaluation": {"kind": "cross_validation", "folds": 3}}
_NO_SCORES = {"evaluation": {"kind": "none"}}
_BOOSTERS = ("rmboost", "adaboost", "logitboost", "gentleboost", "lpboost", "brownboost", "robustboost")
_UNIFORM = {"kind": "uniform", "rate": 0.1}


def _injected(**noise: Any) -> dict[str, Any]:
    return {"noise": {"inject": noise}}


def _corrected(kind: str, transition: Any = "estimate") -> dict[str, Any]:
    return {"noise": {"correction": {"kind": kind, "transition": transition}}}


CASES = [
    Case(200_000, 20, 2, {"kind": "auto"}),
    Case(20_000, 10, 40, {"kind": "auto"}),
    Case(5_000, 10, 500, {"kind": "auto"}),
    Case(200_000, 20, 2, {"kind": "tree"}),
    Case(200_000, 20, 2, _forest()),
    Case(200_000, 20, 2, _forest(max_depth=8)),
    Case(200_000, 20, 2, _forest(min_samples_leaf=5, oob_score=True)),
    Case(200_000, 20, 2, {"kind": "extra_trees", "n_estimators": 20}),
    Case(100_000, 10, 50, _forest()),
    Case(20_000, 10, 500, _forest()),
    Case(20_000, 10, 500, _forest(10, min_samples_leaf=3)),
    Case(2_000_000, 5, 2, _forest(4, max_depth=6)),
    Case(2_000, 4, 2, {"kind": "forest"}),
    Case(100_000, 100, 2, _forest(5, max_bins=None)),
    Case(300_000, 50, 2, {"kind": "tree", "max_bins": None}),
    Case(100_000, 30, 2, _booster("logitboost", max_bins=None)),
    *(Case(200_000, 20, 2, _booster(kind)) for kind in _BOOSTERS),
    *(Case(40_000, 10, 20, _booster(kind, 20)) for kind in ("rmboost", "adaboost", "logitboost", "gentleboost")),
    Case(20_000, 10, 500, _booster("adaboost", 3)),
    Case(200_000, 20, 2, _forest(), fields=_FOLDS),
    Case(20_000, 10, 500, _forest(), fields=_FOLDS),
    Case(200_000, 20, 2, _booster("logitboost"), fields=_FOLDS),
    Case(200_000, 20, 2, _forest(), fields=_NO_SCORES),
    Case(100_000, 20, 2, _forest(5), n_test_rows=1_000_000),
    Case(10_000, 10, 200, _forest(10), n_test_rows=200_000),
    Case(200_000, 20, 2, _forest(10), fields=_corrected("forward")),
    Case(200_000, 20, 2, _forest(10), fields=_corrected("backward", [[0.9, 0.1], [0.2, 0.8]])),
    Case(50_000, 10, 50, _forest(10), fields=_corrected("forward")),
    Case(200_000, 20, 2, _forest(10), fields=_injected(kind="adversarial", rate=0.1)),
    Case(200_000, 50, 3, _forest(10, max_depth=6), fields=_injected(kind="class_conditional")),
    Case(200_000, 20, 2, _forest(), "audit"),
    Case(20_000, 10, 500, _forest(), "audit"),
    Case(200_000, 20, 2, {"kind": "tree"}, "audit", {"folds": 5}),
    Case(50_000, 10, 50, _booster("adaboost", 5), "audit", {"folds": 3}),
    Case(200_000, 20, 2, _forest(), "sweep", {"noise": _UNIFORM}),
    Case(20_000, 10, 500, _forest(10), "sweep", {"noise": _UNIFORM}),
    Case(200_000, 20, 2, _booster("gentleboost"), "sweep", {"noise": _UNIFORM}),
    Case(200_000, 20, 2, _forest(loss={"kind": "ne"})),
    Case(200_000, 20, 2, _forest(100, max_leaf_nodes=1_000)),
    Case(100_000, 20, 2, _booster("lpboost", 200)),
    Case(100_000, 20, 2, _booster("rmboost", 200)),
    *(Case(1_000_000, 5, 2, _booster(kind, 10)) for kind in _BOOSTERS),
    Case(1_000_000, 50, 2, {"kind": "tree", "max_bins": None}),
    Case(1_000_000, 30, 2, _forest(20)),
    Case(10_000, 30, 2, _booster("logitboost", max_bins=None)),
    Case(500_000, 30, 2, _booster("logitboost", 10, max_bins=None)),
]


def main() -> None:
    print(HEADER)
    for number, case in enumerate(CASES):
        if sys.argv[1:] and not any(word == str(number) or word in str(case).split(", ") for word in sys.argv[1:]):
            continue
        measured, estimated = measured_and_estimated(number)
        sizes = " | ".join(f"{size / 2**20:,.0f} MiB" for size in (measured, estimated))
        shape = f"{case.n_rows:,} | {case.n_features} | {case.n_classes}"
        share = measured / estimated
        mark = "" if 0.3 <= share <= 1 else " **!**"
        print(f"| {number} | {shape} | {case} | {sizes} | {share:.2f}{mark} |", flush=True)


def measured_and_estimated(number: int) -> tuple[int, int]:
    """Return both sizes of a case in bytes, measured in a new process."""
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"BRISTLECONE_HOME": home, "BRISTLECONE_MAX_JOB_BYTES": str(2**60)}
        command = [sys.executable, "-c", f"from benchmarks.service.job_memory import run_case; run_case({number})"]
        done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    measured, estimated = json.loads(done.stdout.splitlines()[-1])
    return measured, estimated


def run_case(number: int) -> None:
    settings = load_settings()
    upgrade_to_head(settings)
    context = open_context(settings)
    job_id, body, estimate = _MAKERS[CASES[number].body](context, CASES[number])
    _CLEAR.write_text("5")
    before = psutil.Process().memory_info().rss
    _attempt(context, job_id, body)
    peak = int(re.search(r"VmHWM:\s+(\d+)", _STATUS.read_text())[1]) * 1024  # type: ignore[index]
    print(json.dumps([peak - before, estimate.n_bytes]))


Made = tuple[uuid.UUID, JobBody, JobMemory]


def _training(context: ServiceContext, case: Case) -> Made:
    dataset, test, fields = _stored(context, case, case.n_rows), None, dict(case.fields)
    if case.n_test_rows:
        test = _stored(context, case, case.n_test_rows)
        fields["evaluation"] = {"kind": "dataset", "dataset_id": test.id}
    request = TrainRequest.model_validate({"dataset_id": dataset.id, "model": case.model, **fields})
    limits = context.settings.limits
    job_id = _submitted(context, TrainingSubmission(request, context.sessions, context.dataset_store, limits))
    return job_id, train, training_memory(request.model, request.noise, request.evaluation, dataset, test, limits)


def _audit(context: ServiceContext, case: Case) -> Made:
    dataset, limits = _stored(context, case, case.n_rows), context.settings.limits
    request = AuditSpec.model_validate({"dataset_id": dataset.id, "model": case.model, **case.fields})
    job_id = _submitted(context, AuditSubmission(request, context.sessions, limits))
    return job_id, audit, audit_memory(request.model, request.folds, dataset, limits)


def _cell(context: ServiceContext, case: Case) -> Made:
    dataset, limits = _stored(context, case, case.n_rows), context.settings.limits
    grid = {"dataset_id": dataset.id, "models": [case.model], "noise": [case.fields["noise"]], "repeats": 2}
    request = SweepSpec.model_validate(grid)
    sweep_id = _submitted(context, SweepSubmission(request, context.sessions, limits))
    with reading(context.sessions) as session:
        job_id = session.scalars(select(JobRow.id).where(JobRow.parent_id == sweep_id)).one()
    (cell,) = request.cells()
    return job_id, sweep_cell, cell_memory(cell.model, cell.noise, cell.test_fraction, dataset, limits)


_MAKERS: dict[str, Callable[[ServiceContext, Case], Made]] = {"train": _training, "audit": _audit, "sweep": _cell}


def _submitted(context: ServiceContext, submission: JobSubmission) -> uuid.UUID:
    return submit(context.sessions, context.settings.limits, submission, None).id


def _attempt(context: ServiceContext, job_id: uuid.UUID, body: JobBody) -> None:
    """Run the job in this process, under a lease that it outlasts."""
    with writing(context.sessions) as session:
        claim = lease.claim(session, job_id, lease_seconds=3600.0)
    assert claim is not None
    run_attempt(context, claim, body, JobMonitor(JobBoard()))
    with reading(context.sessions) as session:
        row = session.get_one(JobRow, job_id)
        assert row.error_code is None, f"the job failed: {row.error_message}"


def _stored(context: ServiceContext, case: Case, n_rows: int) -> DatasetRecord:
    rng = np.random.default_rng(n_rows)
    columns = {f"x{number}": rng.normal(size=n_rows).astype(np.float32) for number in range(case.n_features)}
    labels = [f"k{k}" for k in rng.integers(0, case.n_classes, n_rows)]
    out = io.BytesIO()
    pq.write_table(pa.table(columns | {"y": labels}), out, row_group_size=10_000)
    content, store = out.getvalue(), context.dataset_store
    with store.staged() as path:
        path.write_bytes(content)
        file = PlainFile(path, hashlib.sha256(content).hexdigest(), len(content))
        options = UploadOptions(target="y", name="noise")
        return store_upload(context.sessions, store, context.settings.limits, file, None, options).dataset


if __name__ == "__main__":
    main()
