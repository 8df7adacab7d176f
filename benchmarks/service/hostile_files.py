"""Small files that decode to much: repeated values, dictionaries and compressed zeros."""

import io
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray


def labels(n_rows: int) -> NDArray[np.int64]:
    """Return labels of two classes in two runs, which compress to nothing."""
    return (np.arange(n_rows) >= n_rows // 2).astype(np.int64)


def parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", compression_level=19, use_dictionary=True)
    return buffer.getvalue()


def long_value(n_rows: int = 65_536, n_characters: int = 20_000) -> bytes:
    """Parquet file of one dictionary value in every row."""
    values = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), pa.array(["a" * n_characters]))
    return parquet(pa.table({"x": labels(n_rows) * 1.0, "text": values, "y": labels(n_rows)}))


def zeros(n_columns: int = 40, n_rows: int = 4_500_000) -> bytes:
    """Arrow stream of one batch of zeros, compressed with zstd; 1.4 GiB once decoded."""
    column = pa.array(np.zeros(n_rows))
    columns = {f"x{i}": column for i in range(n_columns)} | {"y": pa.array(labels(n_rows))}
    batch = pa.record_batch(list(columns.values()), names=list(columns))
    buffer = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=19))
    with pa.ipc.new_stream(buffer, batch.schema, options=options) as stream:
        stream.write_batch(batch)
    return buffer.getvalue()


def huge_category(n_rows: int = 40, n_characters: int = 20_000_000) -> bytes:
    """Parquet file with a category of 20 MB in half of its rows."""
    codes = pa.array((np.arange(n_rows) % 2).astype(np.int32))
    values = pa.DictionaryArray.from_arrays(codes, pa.array(["short", "c" * n_characters]))
    return parquet(pa.table({"text": values, "x": np.arange(n_rows) * 1.0, "y": labels(n_rows)}))


def long_labels(n_rows: int = 70_000, n_characters: int = 20_000) -> bytes:
    """Parquet file with two labels of 20,000 characters."""
    codes = pa.array(labels(n_rows).astype(np.int32))
    names = pa.array([letter * n_characters for letter in "ab"])
    noise = np.random.default_rng(0).integers(0, 50, n_rows)
    return parquet(pa.table({"x": noise, "y": pa.DictionaryArray.from_arrays(codes, names)}))


def runs(first: int, n_rows: int = 1_000_000, n_columns: int = 20) -> bytes:
    """Parquet file of runs of equal numbers. first: makes the content differ from that of other files."""
    starts = np.repeat(np.arange(n_rows // 100), 100)
    columns = {f"x{i}": starts + first + i for i in range(n_columns)}
    return parquet(pa.table(columns | {"y": labels(n_rows)}))


def wide_text(names: Sequence[str], n_rows: int = 4) -> bytes:
    """CSV file with these columns and a target `y`."""
    columns = {name: np.arange(n_rows) for name in names}
    buffer = io.BytesIO()
    pa_csv.write_csv(pa.table(columns | {"y": labels(n_rows)}), buffer)
    return buffer.getvalue()


def many_classes(n_classes: int = 1_000, n_rows: int = 4_000) -> bytes:
    """Parquet file with a feature that tells the class."""
    codes = np.arange(n_rows) % n_classes
    return parquet(pa.table({"x": codes + 0.5, "z": codes % 7, "y": [f"class-{code:04}" for code in codes]}))


def many_categories(n_columns: int = 3, n_categories: int = 9_700, n_characters: int = 1_000) -> bytes:
    """Parquet file of categorical columns, each with as many long categories, which compress well."""
    codes = np.tile(np.arange(n_categories), 2)
    names = np.array([f"{code:06}" + "c" * (n_characters - 6) for code in range(n_categories)])
    columns = {f"text{i}": names[codes] for i in range(n_columns)}
    return parquet(pa.table(columns | {"y": labels(len(codes))}))
