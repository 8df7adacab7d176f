"""Data of the demo: handwritten digits, some of which get a wrong label on purpose."""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

DATA_FILE = Path(__file__).parent / "data" / "optdigits.parquet"
TARGET = "target"
NOISE_RATE = 0.4
TEST_FRACTION = 0.2
N_CLASSES = 10
_SEED = 0


@dataclass(frozen=True)
class MislabeledDigits:
    """Training rows with wrong labels, test rows with right ones, and the answer that the audit should find."""

    train: pa.Table
    test: pa.Table
    flipped_rows: frozenset[int]  #: row numbers in `train` whose label was changed


def load_mislabeled_digits() -> MislabeledDigits:
    """Split the digits at random and change the labels of NOISE_RATE of the training rows to another class."""
    digits = pyarrow.parquet.read_table(DATA_FILE)
    generator = np.random.default_rng(_SEED)
    order = generator.permutation(len(digits))
    n_test = round(TEST_FRACTION * len(digits))
    train, test = digits.take(pa.array(order[n_test:])), digits.take(pa.array(order[:n_test]))
    flipped = generator.choice(len(train), size=round(NOISE_RATE * len(train)), replace=False)
    labels = train[TARGET].to_numpy().copy()
    labels[flipped] = (labels[flipped] + generator.integers(1, N_CLASSES, size=len(flipped))) % N_CLASSES
    return MislabeledDigits(_with_labels(train, labels), test, frozenset(flipped.tolist()))


def to_parquet(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()


def _with_labels(table: pa.Table, labels: NDArray[np.int64]) -> pa.Table:
    return table.set_column(table.column_names.index(TARGET), TARGET, pa.array(labels))
