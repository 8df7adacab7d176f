"""Predictions of tables, files and uploaded data sets, as steps of calls."""

import gzip
import io
import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from bristlecone.calls import Call, Steps, reference_to
from bristlecone.frames import Columns, arrow_of, check_complete, columns_of, columns_of_stream, like, stream_of
from bristlecone.media_types import ARROW, GZIP, PREDICTED, media_type_of
from bristlecone.results import Dataset

#: Cells of one request, well below the limit of the service.
_CELLS_PER_REQUEST = 500_000
_ASYNC = {"Prefer": "respond-async"}


@dataclass(frozen=True)
class PredictionRequest:
    """Rows to predict with a model. model: the model itself, or a reference. options: parameters of `POST /predict`."""

    model: Any
    data: Any
    output: str
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.output not in ("labels", "probabilities"):
            raise ValueError(f"output is {self.output!r}; it must be 'labels' or 'probabilities'")

    @property
    def parameters(self) -> dict[str, Any]:
        return {"model": reference_to(self.model), "output": self.output, **self.options}


def predict(request: PredictionRequest) -> Steps[Any]:
    """Return a table of the kind of the data: `label`, and `p.CLASS` for each class; columns for a data set.

    All parts are predicted by the model that the first one was, even if a name or an alias moves on meanwhile.
    """
    columns: Columns = {}
    model_id = None
    for call in _calls(request):
        answer = yield call if model_id is None else _by_model(call, model_id)
        model_id = answer.headers["X-Model-Id"] if answer.json is None else answer.json["model"]["id"]
        for name, values in _columns(answer.content, answer.json).items():
            columns.setdefault(name, []).extend(values)
    return _as_table(request.data, columns)


def submit(request: PredictionRequest) -> Steps[dict[str, Any]]:
    """Queue the prediction, once, whatever happens to the connection, and return its job."""
    [call] = _calls(request, most_cells=None, headers={**_ASYNC, "Idempotency-Key": str(uuid.uuid4())})
    job: dict[str, Any] = (yield call).json
    return job


def result(job: Mapping[str, Any], data: Any) -> Steps[Any]:
    """Return the predictions of a job as a table of the kind of the data."""
    headers = _accept(arrow_of(data) is not None)
    answer = yield Call("GET", f"/jobs/{job['id']}/result", headers=headers, extra_seconds=600)
    return _as_table(data, _columns(answer.content, answer.json))


def predict_file(path: Path, parameters: Mapping[str, Any], accept: str, encoding: str | None = None) -> Steps[bytes]:
    """Send a file, decompressed, and return the answer in the form with this media type. encoding: None for UTF-8."""
    charset = f"; charset={encoding}" if encoding else ""
    headers = {"Content-Type": media_type_of(path.name, PREDICTED, compressed=GZIP) + charset, "Accept": accept}

    @contextmanager
    def opened() -> Iterator[BinaryIO]:
        # POST /predict takes no compressed bodies.
        is_compressed = path.suffix.lower() in GZIP
        try:
            with cast(BinaryIO, gzip.open(path)) if is_compressed else path.open("rb") as file:
                yield file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path.name!r} cannot be decompressed; compress the file again: {error}") from error

    call = Call("POST", "/predict", parameters, headers=headers, open_content=opened, is_repeatable=True)
    return (yield call).content


def _calls(
    request: PredictionRequest, most_cells: int | None = _CELLS_PER_REQUEST, headers: Mapping[str, str] | None = None
) -> Iterator[Call]:
    """Yield the requests: with Arrow where pyarrow is installed, else with columns in JSON."""
    more = dict(headers or {})
    if isinstance(request.data, Dataset):
        body = {**request.parameters, "dataset_id": request.data.id}
        yield Call("POST", "/predict", json=body, headers=more, is_repeatable=True, extra_seconds=600)
        return
    if request.options.get("on_missing") != "missing":
        check_complete(request.data)
    table = arrow_of(request.data)
    if table is not None:
        yield from _arrow_calls(request, table, most_cells, more)
        return
    for start, part in _parts(columns_of(request.data), most_cells):
        body = {**request.parameters, "columns": part}
        yield Call("POST", "/predict", json=body, headers=more, is_repeatable=True, first_row=start)


def _arrow_calls(
    request: PredictionRequest, table: Any, most_cells: int | None, headers: Mapping[str, str]
) -> Iterator[Call]:
    step = _rows_per_request(table.num_columns, table.num_rows, most_cells)
    for start in range(0, max(table.num_rows, 1), step):
        content = stream_of(table.slice(start, step))
        yield Call(
            "POST",
            "/predict",
            request.parameters,
            headers={"Content-Type": ARROW, **_accept(True), **headers},
            open_content=_opener(content),
            is_repeatable=True,
            first_row=start,
        )


def _by_model(call: Call, model_id: str) -> Call:
    if call.json is None:
        return replace(call, query={**call.query, "model": model_id})
    return replace(call, json={**call.json, "model": model_id})


def _opener(content: bytes) -> Any:
    return lambda: io.BytesIO(content)


def _accept(arrow: bool) -> dict[str, str]:
    return {"Accept": f"{ARROW}, application/json;q=0.5"} if arrow else {}


def _rows_per_request(n_columns: int, n_rows: int, most_cells: int | None) -> int:
    return max(1, n_rows if most_cells is None else most_cells // max(1, n_columns))


def _parts(columns: Columns, most_cells: int | None) -> Iterator[tuple[int, Columns]]:
    """Yield parts of the rows, each after the number of its first row."""
    n_rows = max(map(len, columns.values()), default=0)
    step = _rows_per_request(len(columns), n_rows, most_cells)
    for start in range(0, max(n_rows, 1), step):
        yield start, {name: values[start : start + step] for name, values in columns.items()}


def _columns(content: bytes, document: Any) -> Columns:
    if document is None:
        return columns_of_stream(content)
    predictions = document["predictions"]
    columns: Columns = {"label": [row["label"] for row in predictions]}
    for label in predictions[0].get("probabilities", ()) if predictions else ():
        columns[f"p.{label}"] = [row["probabilities"][label] for row in predictions]
    return columns


def _as_table(data: Any, columns: Columns) -> Any:
    return columns if isinstance(data, Dataset) or data is None else like(data, columns)
