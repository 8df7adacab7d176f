"""Speed of `POST /predict` in each form, and how long it holds up others: `python -m benchmarks.service.forms`.

python -m benchmarks.service.forms                     # 100,000 rows: the share of the time in process
python -m benchmarks.service.forms --rows 1000000 --repeats 1    # the longest health check meanwhile

A forest of 100 trees predicts rows of 20 features. The time in process is that of reading the body with the library of
its format (Arrow, Arrow's reader of CSV, `json`) and of `predict_proba`, in this process, in turns with the requests.
The share of a form is that time over the time of the request, whose answer has the form of its body.
"""

import http.client
import io
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.data import CHECKOUT
from benchmarks.service.hostile_service import Answer, HostileService, Request

N_FEATURES, N_TREES, N_TRAINING_ROWS = 20, 100, 2_000
MAX_BYTES = 12 * 2**30
ARROW, CSV, JSON = "application/vnd.apache.arrow.stream", "text/csv", "application/json"
#: Bodies and answers of a million rows exceed the limits by default.
CHANGES = {
    "BRISTLECONE_MAX_BODY_BYTES": str(2**30),
    "BRISTLECONE_MAX_ANSWER_CELLS": "40000000",
    "BRISTLECONE_MAX_DECODED_BYTES": str(6 * 2**30),
}
NAMES = [f"x{j}" for j in range(N_FEATURES)]


class Form(NamedTuple):
    """Form of a request. read: what its library makes of the body, as X (row, feature)."""

    name: str
    media_type: str
    target: float
    body: bytes
    read: Callable[[bytes], NDArray[np.float64]]


def forms(X: NDArray[np.float64]) -> list[Form]:
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    arrow, text = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_stream(arrow, table.schema) as writer:
        writer.write_table(table)
    pa_csv.write_csv(table, text)
    document = {"model": "forms", "columns": dict(zip(NAMES, X.T.tolist(), strict=True))}
    return [
        Form("Arrow", ARROW, 0.60, arrow.getvalue(), lambda body: matrix(pa.ipc.open_stream(body).read_all())),
        Form("CSV", CSV, 0.30, text.getvalue(), lambda body: matrix(pa_csv.read_csv(pa.py_buffer(body)))),
        Form("JSON columns", JSON, 0.15, json.dumps(document).encode(), read_json),
    ]


def matrix(table: pa.Table) -> NDArray[np.float64]:
    return np.column_stack([column.to_numpy() for column in table.columns])


def read_json(body: bytes) -> NDArray[np.float64]:
    columns = json.loads(body)["columns"]
    return np.column_stack([np.array(columns[name]) for name in NAMES])


def trained(service: HostileService) -> Any:
    """Train the forest in the service, and return it in this process."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_TRAINING_ROWS, N_FEATURES))
    columns: dict[str, list[Any]] = dict(zip(NAMES, X.T.tolist(), strict=True))
    columns["y"] = np.where(X[:, 0] + X[:, 1] + random.normal(size=N_TRAINING_ROWS) > 0, "yes", "no").tolist()
    model = {"kind": "forest", "n_estimators": N_TREES}
    request = {"name": "forms", "data": {"columns": columns, "target": "y"}, "model": model}
    job = service.document(Request.of_json("POST", "/train", request))
    assert service.wait_for_job(job["id"]) == "succeeded"
    return fetched(service)


def fetched(service: HostileService) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    connection.request("GET", "/models/forms/artifact")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(connection.getresponse().read())
        return core.load(path)


def post(service: HostileService, form: Form) -> None:
    """Send the rows and read the whole answer."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=600)
    query = "" if form.media_type == JSON else "?model=forms"
    headers = {"Content-Type": form.media_type, "Accept": form.media_type}
    connection.request("POST", f"/predict{query}", form.body, headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    assert response.status == 200, content[:500]


def request_seconds(service: HostileService, form: Form) -> float:
    began = time.perf_counter()
    post(service, form)
    return time.perf_counter() - began


def health_seconds(service: HostileService, form: Form) -> float:
    """Return the time of the longest health check during one request. Watching the service takes time of its own."""

    def step() -> list[Answer]:
        post(service, form)
        return []

    return service.measure(step).health_seconds


def in_process_seconds(estimator: Any, form: Form) -> float:
    began = time.perf_counter()
    X = form.read(form.body)
    columns = estimator.columns_
    estimator.predict_proba(X if columns is None else core.EncodedTable(X, columns))
    return time.perf_counter() - began


def main() -> None:
    parser = options.program_parser("benchmarks.service.forms", __doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    X = np.random.default_rng(1).normal(size=(arguments.rows, N_FEATURES)).round(6)
    print(
        "| form | body, MB | in process, s | request, s | share: min – median – max | target | longest health check |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with HostileService(CHECKOUT, MAX_BYTES, CHANGES) as service:
        estimator = trained(service)
        for form in forms(X):
            health = health_seconds(service, form)
            alone = [in_process_seconds(estimator, form)]
            requests = [request_seconds(service, form)]
            for _ in range(arguments.repeats - 1):
                alone.append(in_process_seconds(estimator, form))
                requests.append(request_seconds(service, form))
            shares = sorted(one / other for one, other in zip(alone, requests, strict=True))
            times = f"{statistics.median(alone):.2f} | {statistics.median(requests):.2f}"
            megabytes = len(form.body) / 1e6
            share = f"{shares[0]:.2f} – {statistics.median(shares):.2f} – {shares[-1]:.2f}"
            print(
                f"| {form.name} | {megabytes:.0f} | {times} | {share} | {form.target:.2f} | {health:.2f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
