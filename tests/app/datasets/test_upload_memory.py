"""Memory use does not grow with the size of an upload."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from app.datasets.errors import UnreadableFile
from app.datasets.formats import FileFormat
from app.datasets.opening import open_table
from app.datasets.options import ReadingOptions
from app.settings import MEBIBYTE, Limits

#: Uploads a file and one four times as large; prints by how many MiB the second raised the peak, and its size.
#: VmHWM, because ru_maxrss of a new process begins at its parent's peak.
UPLOAD = """
import re, sys
from pathlib import Path
from app.context import open_context
from app.storage.schema import upgrade_to_head
from tests.app.datasets.asgi import post_csv
from tests.app.datasets.conftest import make_app
from tests.conftest import make_settings

home, blocks = Path(sys.argv[1]), int(sys.argv[2])
settings = make_settings(home, f"sqlite:///{home / 'test.db'}")
upgrade_to_head(settings)
app = make_app(open_context(settings), settings.limits)
block = b"".join(b"%d.%05d,%d.5,word%d,%d\\n" % (row % 97, row, row, row % 9, row % 2) for row in range(40_000))

def body(n_blocks):
    yield {"type": "http.request", "body": b"a,b,c,y\\n", "more_body": True}
    for left in reversed(range(n_blocks)):
        yield {"type": "http.request", "body": block, "more_body": left > 0}

def upload(n_blocks):
    status, answer = post_csv(app, b"target=y", body(n_blocks))
    assert status == 201, answer

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

upload(blocks // 4)
before = peak()
upload(blocks)
print((peak() - before) // 1024, blocks * len(block) // 1024**2)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_peak_memory_of_a_large_csv(tmp_path):
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", UPLOAD, str(tmp_path), "64"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    grown_mebibytes, file_mebibytes = map(int, done.stdout.split())
    assert file_mebibytes > 50
    assert grown_mebibytes < file_mebibytes // 2


@pytest.mark.parametrize("piece", [b"a", b"a,", b'"a\n",'])
def test_peak_memory_of_an_endless_header(tmp_path, piece):
    path = tmp_path / "endless"
    path.write_bytes(piece * (64 * MEBIBYTE // len(piece)))
    tracemalloc.start()
    try:
        table = open_table(path, FileFormat.CSV, ReadingOptions(), Limits(), tmp_path / "scratch")
        with pytest.raises(UnreadableFile), table:
            pass
        assert tracemalloc.get_traced_memory()[1] < 48 * MEBIBYTE
    finally:
        tracemalloc.stop()
