"""Data sets from OpenML, for machines with a network: each is stored as the Parquet file that the benchmarks read.

python -m benchmarks.openml ~/data                     # all; then set BRISTLECONE_DATA=~/data
python -m benchmarks.openml ~/data mnist_784 covertype

The other data sets of the papers are not on OpenML under a name of their own. `covertype` has all 581,012 rows, which
`benchmarks.papers.tree_losses` prefers to the sample.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
from sklearn.datasets import fetch_openml

from benchmarks import options
from benchmarks.cells import Progress


class Source(NamedTuple):
    """Version at OpenML, and our files with the number of rows of each; None is the rest."""

    version: int
    files: dict[str, int | None]


#: Data sets by their OpenML names.
SOURCES = {
    "mnist_784": Source(1, {"mnist.train": 60_000, "mnist.test": None}),
    "covertype": Source(3, {"covertype": None}),
    "iris": Source(1, {"iris": None}),
    "wine": Source(1, {"wine": None}),
    "wdbc": Source(1, {"wdbc": None}),
    "mushroom": Source(1, {"mushroom": None}),
    "optdigits": Source(1, {"optdigits": None}),
    "pendigits": Source(1, {"pendigits": None}),
    "vehicle": Source(1, {"vehicle": None}),
    "diabetes": Source(1, {"diabetes": None}),
    "blood-transfusion-service-center": Source(1, {"blood_transfusion": None}),
    "credit-approval": Source(1, {"credit": None}),
    "segment": Source(1, {"keel_segment": None}),
    "phoneme": Source(1, {"keel_phoneme": None}),
    "splice": Source(1, {"keel_splice": None}),
    "tic-tac-toe": Source(1, {"keel_tic-tac-toe": None}),
}


def store(name: str, folder: Path, fetch: Callable[..., Any] = fetch_openml) -> None:
    """Fetch a data set and write its files."""
    source = SOURCES[name]
    X, y = fetch(name=name, version=source.version, as_frame=True, return_X_y=True)
    frame = X.assign(target=_codes(y))
    begin = 0
    for file, n_rows in source.files.items():
        rows = frame.iloc[begin : None if n_rows is None else begin + n_rows]
        parquet.write_table(
            pa.Table.from_pandas(_with_plain_texts(rows), preserve_index=False), folder / f"{file}.parquet"
        )
        begin += len(rows)


def _codes(labels: pd.Series) -> Any:
    """Return labels that are whole numbers as such, and others as their position in sorted order."""
    numbers = pd.to_numeric(labels.astype(str), errors="coerce")
    if numbers.notna().all() and (numbers % 1 == 0).all():
        return (numbers - numbers.min()).astype("int64").to_numpy()
    return labels.astype(str).astype("category").cat.codes.astype("int64").to_numpy()


def _with_plain_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose categories are texts."""
    texts = [name for name in frame if isinstance(frame[name].dtype, pd.CategoricalDtype)]
    return frame.astype(dict.fromkeys(texts, "object"))


def main(words: list[str] | None = None) -> None:
    parser = options.program_parser("benchmarks.openml", __doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(SOURCES)}; default: all")
    arguments = parser.parse_args(words)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    names = arguments.names or list(SOURCES)
    progress = Progress(len(names), "data sets")
    for name in names:
        store(name, arguments.folder)
        progress.advance(name)


if __name__ == "__main__":
    main()
