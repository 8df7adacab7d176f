"""Memory does not grow with the file."""

import subprocess
import sys
from pathlib import Path

import pytest

#: Uploads its second argument's worth of rows and prints by how many MiB the peak memory grew, and the file's size.
UPLOAD = """
import resource, sys
from pathlib import Path
from starlette.testclient import TestClient
from app.context import open_context
from app.database_schema import upgrade_to_head
from tests.app.datasets.conftest import make_app
from tests.conftest import make_settings

home, blocks = Path(sys.argv[1]), int(sys.argv[2])
settings = make_settings(home, f"sqlite:///{home / 'test.db'}")
upgrade_to_head(settings)
client = TestClient(make_app(open_context(settings), settings.limits))
block = b"".join(b"%d.%05d,%d.5,word%d,%d\\n" % (row % 97, row, row, row % 9, row % 2) for row in range(40_000))

def post(n_blocks):
    body = (part for part in [b"a,b,c,y\\n", *([block] * n_blocks)])
    answer = client.post("/datasets?target=y", content=body, headers={"Content-Type": "text/csv"})
    assert answer.json()["n_rows"] == 40_000 * n_blocks, answer.text

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

post(1)
before = peak()
post(blocks)
print((peak() - before) // 1024, blocks * len(block) // 1024**2)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_peak_memory_of_a_large_csv(tmp_path):
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", UPLOAD, str(tmp_path), "80"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    grown_mebibytes, file_mebibytes = map(int, done.stdout.split())
    assert file_mebibytes > 60
    assert grown_mebibytes < 40
