"""Reader of the rows of a stored data set that are to be predicted."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.datasets.canonical import feature_column
from app.datasets.store import explained_errors
from app.predictions.coercion import FeatureEncoder
from app.predictions.forms import Table, from_batch
from core import ColumnKind

_ROWS_PER_BATCH = 65_536
#: Wide tables are read in batches of fewer rows, which fit into the memory of a reading process.
_CELLS_PER_BATCH = 1_000_000


def tables_of_dataset(path: Path, features: list[dict[str, Any]], encoder: FeatureEncoder) -> Iterator[Table]:
    """Yield the rows of the stored form of a data set with these features."""
    stored = {
        feature["name"]: (feature_column(index), feature)
        for index, feature in enumerate(features)
        if feature["name"] in encoder.known
    }
    used = [feature["name"] for feature in features if feature["kind"] != "ignored"]
    with explained_errors(), pq.ParquetFile(path, page_checksum_verification=True) as file:
        names = [column for column, _ in stored.values()]
        first, most_rows = 0, max(1, min(_ROWS_PER_BATCH, _CELLS_PER_BATCH // max(1, len(names))))
        for batch in file.iter_batches(most_rows, columns=names, use_threads=False):
            arrays = [_as_uploaded(batch.column(column), feature) for column, feature in stored.values()]
            part = pa.record_batch(arrays, names=list(stored)) if stored else batch
            yield from_batch(part, used, encoder.known, first)
            first += batch.num_rows


def _as_uploaded(cells: pa.Array, feature: Mapping[str, Any]) -> pa.Array:
    """Return stored cells as values: categories as text, and dates as timestamps. An ignored column may be of any kind,
    such as one that is constant in these rows.
    """
    if feature["categories"] is not None:
        return pa.DictionaryArray.from_arrays(cells.cast(pa.int32()), pa.array(feature["categories"], pa.string()))
    if feature.get("detected", feature["kind"]) == ColumnKind.DATETIME:
        microseconds = pc.round(pc.multiply(cells.cast(pa.float64()), 1e6))
        return microseconds.cast(pa.int64()).cast(pa.timestamp("us", "UTC"))
    return cells
