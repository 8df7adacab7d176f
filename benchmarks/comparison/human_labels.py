"""Accuracy after training on the labels of people who were wrong, not on injected noise: CIFAR-10N.

python -m benchmarks.comparison.human_labels                   # some hours on one core; continues where it stopped
python -m benchmarks.comparison.human_labels --rows 1000 --draws 1
python -m benchmarks.comparison.human_labels --print-only

Wei et al. 2022 ("Learning with noisy labels revisited: a study using real-world human annotations") had three people
label each of the 50,000 training images of CIFAR-10. In each draw, `--rows` images are drawn for training and 5,000
others for testing, with 192 features that were learned without labels. All methods of the comparison, with the same
defaults, learn from the correct labels, the majority of three people, one person, or the worst of three, and are tested
on correct labels. Wrong labels depend on the image: they are frequent where two classes look alike.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import options
from benchmarks.cells import Cell, CellFile
from benchmarks.comparison.collection import Split
from benchmarks.comparison.methods import METHODS, installed, measure
from benchmarks.data import data_folder, read

IMAGES = "cifar10n_kmeans.train"
#: Columns of labels and their headings, from the fewest wrong labels to the most.
LABELS = {
    "target_clean": "correct labels",
    "target_aggre": "majority of three people",
    "target": "one person",
    "target_worse": "the worst of three people",
}
KEY = ("labels", "rows", "draw", "method")
NUMBERS_OF_ROWS = (1_000, 3_000)
N_TEST_ROWS = 5_000


class Images(NamedTuple):
    """All images, with each kind of labels."""

    X: NDArray[np.float64]  # (row, feature)
    labels: dict[str, NDArray[np.int64]]  # column of labels -> class numbers (row,)


@lru_cache(maxsize=1)
def read_images(folder: Path) -> Images:
    """Return all images of the file. Raises MissingData."""
    labels = {column: read(folder, IMAGES, column)[1] for column in LABELS}
    return Images(read(folder, IMAGES, dtype=np.float64)[0], labels)


def split_images(images: Images, label_column: str, n_rows: int, draw: int) -> Split:
    """Return `n_rows` training images with the labels of a column, and test images with the correct ones.

    Raises ValueError if too few images are left for testing.
    """
    X, y = images.X, images.labels[label_column]
    if n_rows > len(X) - N_TEST_ROWS:
        raise ValueError(
            f"--rows is {n_rows}; {N_TEST_ROWS} of the {len(X)} images are for testing, so it must be at most "
            f"{len(X) - N_TEST_ROWS}."
        )
    order = np.random.default_rng(draw).permutation(len(X))
    train, test = order[:n_rows], order[-N_TEST_ROWS:]
    return Split(X[train], y[train], X[test], images.labels["target_clean"][test], [])


def fill(file: CellFile, arguments: argparse.Namespace) -> None:
    """Measure the cells that are missing, of the methods whose packages are installed."""
    folder, methods = data_folder(arguments.data), installed(arguments.methods)

    def measure_cell(labels: str, rows: int, draw: int, method: str) -> dict[str, float]:
        return measure(method, split_images(read_images(folder), labels, rows, draw), draw)

    file.fill([key for key in keys(arguments) if key[-1] in methods], measure_cell, "human labels")


def keys(arguments: argparse.Namespace) -> list[tuple[str, int, int, str]]:
    """Return the keys of the cells in the order of measurement."""
    return [
        (labels, rows, draw, method)
        for draw in range(arguments.draws)
        for rows in arguments.rows
        for labels in LABELS
        for method in arguments.methods
    ]


def table_lines(cells: Sequence[Cell], n_rows: int) -> Iterator[str]:
    """Yield the lines of the table of training parts of `n_rows` rows; nothing without cells.

    Each value is the mean accuracy over the draws in percent, with its standard error.
    """
    size_cells = [cell for cell in cells if cell["rows"] == n_rows]
    if not size_cells:
        return
    yield f"| method | {' | '.join(LABELS.values())} |"
    yield "|" + " --- |" * (1 + len(LABELS))
    for method in METHODS:
        method_cells = [cell for cell in size_cells if cell["method"] == method]
        if method_cells:
            yield f"| {method} | {' | '.join(_mean(method_cells, column) for column in LABELS)} |"


def _mean(cells: Sequence[Cell], label_column: str) -> str:
    values = np.array([100 * cell["accuracy"] for cell in cells if cell["labels"] == label_column])
    if len(values) < 2:
        return f"{values[0]:.1f}" if len(values) else "–"
    return f"{values.mean():.1f} ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}"


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = options.program_parser("benchmarks.comparison.human_labels", __doc__)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--rows", type=int, nargs="+", default=NUMBERS_OF_ROWS, help="numbers of training images")
    parser.add_argument("--draws", type=int, default=5, help="draws of training and test images")
    options.add_data(parser)
    options.add_cells(parser, "human_labels")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    arguments = parse_arguments(words)
    file = CellFile(arguments.cells, KEY)
    if not arguments.print_only:
        fill(file, arguments)
    for n_rows in arguments.rows:
        print(f"## {n_rows:,} images\n")
        print("\n".join(table_lines(file.cells(), n_rows)) + "\n")


if __name__ == "__main__":
    main()
