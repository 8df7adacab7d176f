"""Small files that hold large tables: a running service refuses or reads them, and its memory stays flat."""

import io
import json
import sys
import threading
import urllib.error
import urllib.request
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.operations.loopback import open_loopback
from app.settings import MEBIBYTE
from tests.app.datasets.tables import parquet
from tests.service_process import RunningService
from tests.service_watch import MAX_GROWTH_BYTES, Watch

ROWS = 65_536
LABELS = np.arange(ROWS) % 2
FEW_LABELS = LABELS[:16_384]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process"),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with RunningService(tmp_path_factory.mktemp("hostile") / "home") as running:
        assert upload(running, parquet(x=[1, 2, 3], y=[0, 1, 0]))[0] == 201
        yield running


def repeated(text, n_rows=ROWS):
    """Return the text in each row, without the gigabytes and seconds that an array of texts would take here."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), [text])


def texts_as_parquet(**columns):
    """Return a file whose readers find texts: it does not say that they were in a dictionary."""
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, store_schema=False)
    return out.getvalue()


def arrow(**columns):
    table, out = pa.table(columns), pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(out, table.schema, options=options) as writer:
        writer.write_table(table)
    return out.getvalue().to_pybytes()


def zeros(n_columns, n_rows):
    return {f"x{index}": np.zeros(n_rows) for index in range(n_columns)}


BOMBS = {
    "one text of 20 kB in each row": (
        lambda: texts_as_parquet(x=LABELS * 1.0, t=repeated("t" * 20_000), y=LABELS),
        {201},
    ),
    # 2.6 GB, nine times as much memory as the service may take.
    "one text of 20 kB in each row of 8 columns": (
        lambda: texts_as_parquet(
            x=FEW_LABELS * 1.0, y=FEW_LABELS, **{f"t{i}": repeated("t" * 20_000, len(FEW_LABELS)) for i in range(8)}
        ),
        {201},
    ),
    "labels of 20 kB": (lambda: texts_as_parquet(x=LABELS, y=repeated("t" * 20_000)), {413, 422}),
    "a category of 20 MB": (lambda: parquet(x=[1, 2] * 10, t=["t" * 20_000_000] * 20, y=[0, 1] * 10), {201, 413}),
    "a stream of zeros": (lambda: arrow(**zeros(12, 6_000_000), y=np.arange(6_000_000, dtype=np.int8) % 2), {413}),
    "zeros in a column that is left out": (lambda: arrow(x=LABELS, y=LABELS, left_out=LABELS * 1.0), {201}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_is_flat(service, name):
    make, statuses = BOMBS[name]
    content = make()
    assert len(content) < MEBIBYTE
    with Watch(service) as watch:
        status, answer = upload(service, content, exclude="left_out" if "left out" in name else None)
    print(f"{name}: {len(content)} bytes, {status}, {watch}")  # noqa: T201
    assert status in statuses, answer
    assert watch.growth_bytes < MAX_GROWTH_BYTES
    assert watch.n_unanswered == 0
    if status == 201:
        rows = service.request("GET", f"/datasets/{answer['id']}/rows?limit=20")[1]
        assert len(json.dumps(rows)) < MEBIBYTE


def test_many_uploads_at_once(service):
    content = parquet(**zeros(8, 500_000), y=np.arange(500_000) % 2, x=np.arange(500_000) % 7)
    statuses: Counter[int] = Counter()

    def send(number):
        statuses[upload(service, content, name=f"upload {number}")[0]] += 1

    with Watch(service) as watch:
        uploads = [threading.Thread(target=send, args=(number,)) for number in range(44)]
        for thread in uploads:
            thread.start()
        for thread in uploads:
            thread.join()
    print(f"44 uploads of {len(content)} bytes: {dict(statuses)}, {watch}")  # noqa: T201
    assert set(statuses) <= {200, 201, 429}
    assert statuses[200] + statuses[201] > 0
    assert watch.growth_bytes < 2 * MAX_GROWTH_BYTES
    assert watch.n_unanswered == 0


def upload(service, content, **fields):
    boundary = "a-boundary-that-no-file-contains"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in {"target": "y", **fields}.items()
        if value is not None
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="table"\r\n\r\n'.encode()
    body = b"".join([*parts, head, content, f"\r\n--{boundary}--\r\n".encode()])
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    request = urllib.request.Request(f"{service.url}/datasets", body, headers, method="POST")
    try:
        with open_loopback(request, timeout=300) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())
