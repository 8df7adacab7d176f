"""Data frames as numbers: those of pandas, polars and pyarrow, and others with the Arrow PyCapsule interface."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.columns.arrow_types import is_number, is_temporal, is_text, plain_array
from core.columns.category_codes import present_categories
from core.columns.column import BOOLEAN_CATEGORIES, Column, ColumnKind
from core.columns.encoded_table import EncodedTable
from core.columns.reading import DEFAULT_READING
from core.exceptions import InvalidInput


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame that `encode_frame` reads."""
    return hasattr(X, "columns") and (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"))


def holds_only_numbers(frame: Any) -> bool:
    """Return whether all columns of a pandas or polars frame are numbers, so that NumPy converts it directly."""
    return hasattr(frame, "dtypes") and all(map(_is_numeric, frame.dtypes))


def _is_numeric(dtype: Any) -> bool:
    if hasattr(dtype, "kind"):  # of NumPy and pandas; complex numbers are refused later
        return dtype.kind in "iufc"
    return bool(dtype.is_integer() or dtype.is_float())


def encode_frame(frame: Any, columns: Sequence[Column] | None = None) -> EncodedTable:
    """Return the rows of a data frame as numbers.

    columns: those of a fit, read by name; others in the frame are left out. A category that they do not have is
        missing. None: text and categories are categorical, booleans have the categories "false" and "true", dates and
        timestamps are datetimes, numbers stay.

    Raises InvalidInput for a column that is missing or there twice, has a type that does not suit, or contains an
    invalid value.
    """
    table = arrow_table(frame)
    if columns is None:
        columns = [column_of(name, table.column(i)) for i, name in enumerate(table.column_names)]
    positions = [_position(table, column) for column in columns]
    dtype = _matrix_dtype([table.column(i).type for i in positions])
    X = np.empty((table.num_rows, len(columns)), dtype=dtype, order="F")
    for j, (column, i) in enumerate(zip(columns, positions, strict=True)):
        X[:, j] = _finite_column(column, table.column(i))
    return EncodedTable(X, tuple(columns))


def rows_of_frame(X: Any) -> Any:
    """Return X with rows that can be taken by number: a data frame as an encoded table, anything else as it is."""
    return encode_frame(X) if is_frame(X) and not holds_only_numbers(X) else X


def take_rows(X: Any, numbers: NDArray[np.int64]) -> Any:
    """Return the rows of X (row, feature) with these numbers: an encoded table of one, a frame with the same names of a
    frame that holds only numbers, and an array of anything else.
    """
    if isinstance(X, EncodedTable):
        return X.take(numbers)
    if is_frame(X):
        return X.iloc[numbers] if hasattr(X, "iloc") else X[numbers]
    return np.asarray(X)[numbers]


def arrow_table(frame: Any) -> pa.Table:
    """Return a data frame as an Arrow table. Raises InvalidInput if a column mixes types."""
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if hasattr(frame, "reset_index"):  # pandas, which would add the index as a column
        frame = frame.reset_index(drop=True)
    try:
        return pa.RecordBatchReader.from_stream(frame).read_all()
    except OverflowError:
        detail = "the data frame has a whole number beyond 64 bits; convert its column to floats or to text."
        raise InvalidInput(detail) from None
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInput(_not_converted(error)) from None


def _not_converted(error: Exception) -> str:
    # pandas adds an argument that names the column.
    named = re.search(r"for column (.*) with type", str(error.args[-1]) if error.args else "")
    if named is None:
        return f"the data frame cannot be converted to Arrow ({error!s:.200}); correct the columns that it names."
    return (
        f"column {named[1]!r:.100} mixes values of several types ({error.args[0]!s:.100}); give it values of one type, "
        f"for example frame[{named[1]!r:.100}].astype(str)."
    )


def column_of(name: str, cells: pa.ChunkedArray) -> Column:
    """Return the column that the type of these cells stands for. Raises InvalidInput for lists, times and the like."""
    stored = cells.type
    if pa.types.is_boolean(stored.value_type if pa.types.is_dictionary(stored) else stored):
        return Column(name, ColumnKind.CATEGORICAL, BOOLEAN_CATEGORIES, is_boolean=True)
    if is_text(stored) or _holds_categories(stored):
        categories = present_categories(plain_array(cells), DEFAULT_READING)
        return Column(name, ColumnKind.CATEGORICAL, categories)
    if is_temporal(stored):
        return Column(name, ColumnKind.DATETIME)
    if is_number(stored) or pa.types.is_null(stored):
        return Column(name, ColumnKind.NUMERIC)
    raise InvalidInput(
        f"column {name!r:.100} has the type {stored!s:.80}; a feature needs numbers, text, categories, booleans, "
        "dates or timestamps. Convert the column, or leave it out."
    )


def _holds_categories(stored: pa.DataType) -> bool:
    if not pa.types.is_dictionary(stored):
        return False
    value = stored.value_type
    return is_text(value) or is_number(value) or pa.types.is_null(value)


def _position(table: pa.Table, column: Column) -> int:
    positions: list[int] = table.schema.get_all_field_indices(column.name)
    if len(positions) != 1:
        count = "no column" if not positions else f"{len(positions)} columns"
        raise InvalidInput(f"the data frame has {count} {column.name!r:.100}; it must have exactly one.")
    return positions[0]


def _matrix_dtype(types: Sequence[pa.DataType]) -> type[np.float32] | type[np.float64]:
    return np.float32 if types and all(pa.types.is_float32(stored) for stored in types) else np.float64


def _finite_column(column: Column, cells: pa.ChunkedArray) -> NDArray[np.float64]:
    encoded = column.encode(cells)
    if encoded.invalid.any():
        row = int(np.argmax(encoded.invalid))
        raise InvalidInput(invalid_cell(column, row, cells[row].as_py()))
    return encoded.values


def invalid_cell(column: Column, row: int, value: Any) -> str:
    """Return the message for a cell that is not of the kind of its column."""
    return f"column {column.name!r:.100} has {value!r:.100} in row {row}; {column.rule}."
