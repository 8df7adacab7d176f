"""Tables of the comparison in the data folder, which are Parquet files."""

from pathlib import Path

import pyarrow.parquet as parquet

from benchmarks.accuracy.categorical import NOMINAL
from benchmarks.comparison.collection import Collection, Columns, TableFile
from benchmarks.data import data_folder, existing_file

_NOT_FEATURES = ("target", "meta")

#: All files with clean labels and at least 150 rows, in alphabetical order. Of files that hold the same data, one is
#: listed: the part of a pair with enough rows, `credit` without its one-hot form, and one of the two samples of the
#: forest cover data, which share rows. `label_errors_*` are predictions for images of the sets below.
TABLES: dict[str, TableFile] = {
    "blood_transfusion": TableFile(2),
    "cifar10n_kmeans.test": TableFile(10, max_rows=1000),
    "covertype_balanced15120": TableFile(7),
    "credit": TableFile(2),
    "diabetes": TableFile(2),
    "german_numer": TableFile(2),
    "higgs_sample10984": TableFile(2),
    "iris": TableFile(3),
    "keel_contraceptive": TableFile(3),
    "keel_housevotes": TableFile(2),
    "keel_phoneme": TableFile(2),
    "keel_ring": TableFile(2),
    "keel_segment": TableFile(7),
    "keel_splice": TableFile(3),
    "keel_tic-tac-toe": TableFile(2),
    "keel_vowel": TableFile(11),
    "mnist.test": TableFile(10, max_rows=1000),
    "optdigits": TableFile(10),
    "raisin": TableFile(2),
    "susy8_sample.train": TableFile(2),
    "titanic": TableFile(2),
    "unsw_nb15.test": TableFile(2),
    "vehicle": TableFile(4),
    "wdbc": TableFile(2),
    "wine": TableFile(3),
}

#: Every third table. Results on these are printed on their own; parts of `auto` were decided on means over all tables.
HELD_OUT = tuple(list(TABLES)[2::3])


def read_columns(folder: Path, name: str) -> Columns:
    """Return the columns of a table. Raises MissingData."""
    rows = parquet.read_table(existing_file(folder, name))
    features = [column for column in rows.schema.names if not column.startswith(_NOT_FEATURES)]
    nominal = (NOMINAL[name] or features) if name in NOMINAL else ()
    values = [rows[feature].to_numpy() for feature in features]
    return Columns(values, [feature in nominal for feature in features], rows["target"].to_numpy())


PARQUET = Collection("comparison", "Tables of the data folder", TABLES, HELD_OUT, data_folder, read_columns)
