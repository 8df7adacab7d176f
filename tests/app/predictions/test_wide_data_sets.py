"""Rows of data sets with many columns, which are read in batches of few rows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from app.datasets.canonical import feature_column
from app.predictions.coercion import FeatureEncoder
from app.predictions.dataset_rows import tables_of_dataset
from core import Column, ColumnKind


def test_batches_have_a_bounded_number_of_cells(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(2000)]
    features = [{"name": name, "kind": "numeric", "categories": None} for name in names]
    stored = pa.table({feature_column(number): np.arange(1200.0) for number in range(len(names))})
    pq.write_table(stored, tmp_path / "stored", write_page_checksum=True)
    encoder = FeatureEncoder([Column(name, ColumnKind.NUMERIC) for name in names])
    assert [table.n_rows for table in tables_of_dataset(tmp_path / "stored", features, encoder)] == [500, 500, 200]
