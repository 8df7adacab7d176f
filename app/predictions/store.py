"""Files of jobs that predict: the encoded rows of a request, and the probabilities that were computed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from app.predictions.errors import PredictionMissing, RowsMissing
from app.storage.content_store import ContentStore

_METADATA = b"bristlecone.prediction"


class RowsStore(ContentStore):
    """Rows of requests, as `app.predictions.encoded_rows.write_rows` writes them."""

    suffix = ".rows"
    missing = RowsMissing
    way_out = "restore it or send the request again"


class PredictionStore(ContentStore):
    """Results: Parquet files with one column of probabilities for each class, p0, p1, …"""

    suffix = ".parquet"
    missing = PredictionMissing
    way_out = "restore it or send the request again"


@dataclass(frozen=True)
class ResultHead:
    """Description that is stored with the numbers of a result. model: id, name and version."""

    model: Mapping[str, Any]
    labels: Sequence[bool | int | float | str]
    label_texts: Sequence[str]
    bytes_per_row: int
    output: str


def write_result(path: Path, head: ResultHead, parts: Iterator[NDArray[np.float64]]) -> None:
    """Write the probabilities (row, class) of all parts to a new file."""
    schema = pa.schema([(f"p{k}", pa.float64()) for k in range(len(head.labels))])
    schema = schema.with_metadata({_METADATA: json.dumps(vars(head)).encode()})
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for part in parts:
            writer.write_batch(pa.record_batch([pa.array(column) for column in part.T], schema=schema))


@dataclass(frozen=True)
class StoredResult:
    """Open result. Its parts are read while they are taken."""

    head: ResultHead
    n_rows: int
    parts: Iterator[NDArray[np.float64]]


@contextmanager
def open_result(path: Path) -> Iterator[StoredResult]:
    """Yield a result. Raises PredictionMissing if its file is damaged."""
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        head = ResultHead(**json.loads(file.schema_arrow.metadata[_METADATA]))
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise PredictionMissing("The file of the prediction is damaged; send the request again.") from error
    with file:
        yield StoredResult(head, file.metadata.num_rows, _parts(file))


def _parts(file: pq.ParquetFile) -> Iterator[NDArray[np.float64]]:
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group, use_threads=False)
        yield np.column_stack([column.to_numpy() for column in rows.columns])
