"""Reading of rows to predict in a child of `app.reader_process`, which has hard limits.

`app.predictions.remote_rows` is the other end of the conversation.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.datasets.formats import FileFormat
from app.datasets.upload_tasks import Task
from app.http.json_parsing import parse_json_body
from app.predictions.coercion import FeatureEncoder, Leniency
from app.predictions.dataset_rows import tables_of_dataset
from app.predictions.encoded_rows import write_rows
from app.predictions.errors import DuplicateName
from app.predictions.forms import Table
from app.predictions.row_readers import tables_of_document, tables_of_file
from app.settings import Limits
from core import Column

#: Texts of a document that are longer than this do not return to the parent; they are no valid parameters.
_MOST_CHARACTERS = 2_000
_MOST_KEYS = 200
#: Lists and objects of a document that are no rows.
_SMALL_KEYS = {"parameters", "outputs"}

#: Document of the conversation, between its two requests. A child has one conversation.
_documents: list[Any] = []


def _outline(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Parse a JSON document, and return it without its rows, columns or tensors."""
    document = parse_json_body(Path(request["path"]).read_bytes(), DuplicateName)
    _documents.append(document)
    if not isinstance(document, dict):
        return {"outline": _short("", document)}
    return {"outline": {key[:_MOST_CHARACTERS]: _short(key, document[key]) for key in list(document)[:_MOST_KEYS]}}


def _short(key: str, value: Any) -> Any:
    if key in _SMALL_KEYS and len(json.dumps(value)) <= _MOST_CHARACTERS:
        return value
    if isinstance(value, list | dict):
        return type(value)()
    return value[:_MOST_CHARACTERS] if isinstance(value, str) else value


def _encode(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Write the rows of a body or data set as numbers."""
    columns = [Column.from_json(column) for column in request["columns"]]
    encoder = FeatureEncoder(columns, request["left_out"])
    tables = _tables(request["source"], encoder, limits)
    leniency = Leniency(**request["leniency"])
    rows = write_rows(tables, encoder, leniency, Path(request["out"]), request["max_rows"])
    return {"n_rows": rows.n_rows}


def _tables(source: dict[str, Any], encoder: FeatureEncoder, limits: Limits) -> Iterator[Table]:
    if source["kind"] == "document":
        return tables_of_document(_documents.pop(), encoder)
    path = Path(source["path"])
    if source["kind"] == "dataset":
        return tables_of_dataset(path, source["features"], encoder)
    return tables_of_file(path, FileFormat(source["format"]), source["encoding"], encoder, limits)


ROW_TASKS: Mapping[str, Task] = {"outline": _outline, "encode": _encode}
