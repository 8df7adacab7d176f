"""Accuracy and log loss of the consensus of annotators, as Markdown tables.

python -m benchmarks.accuracy.annotators                           # about two minutes on two cores
python -m benchmarks.accuracy.annotators --rows 1000 --draws 1

The first table has four crowds of Zheng, Li, Li, Shan and Cheng 2017 ("Truth inference in crowdsourcing: is the problem
solved?"). Each cell contains the share of right labels in percent, and the log loss of the probabilities. A share of 0,
which a majority may have, counts as 1e-6. The last column compares the mean reliability of `dawid_skene` with the share
of right answers.

The second table has images of CIFAR-10N with two or three of the labels that people gave to each; who they were is not
known, so that the first, second and third label count as three annotators. The predictions for `with_features` are
those of a forest that was fitted on the labels of `dawid_skene`, out of bag. Cells are means over the draws, with the
standard error of the share.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.comparison.human_labels import IMAGES
from benchmarks.data import MissingData, data_folder, existing_file, read
from benchmarks.settings import skip
from core.label_quality.label_noise import noise_forest

CROWDS = ("duck", "product", "dog", "face")
METHODS = tuple(method for method in core.CONSENSUS_METHODS if method != "with_features")
#: Columns with the labels of one person each.
PEOPLE = ("target", "target_random2", "target_random3")
IMAGE_METHODS = ("majority", "dawid_skene", "with_features")
_SMALLEST = 1e-6


class Score(NamedTuple):
    """Share of right labels, and log loss."""

    accuracy: float
    log_loss: float

    def __str__(self) -> str:
        return f"{100 * self.accuracy:.1f}, {self.log_loss:.2f}"


def score(merged: core.Consensus, truth: NDArray[Any]) -> Score:
    """Return the score of a consensus against the true labels (item,) of its items."""
    own = merged.probabilities[np.arange(len(truth)), np.searchsorted(merged.classes, truth)]
    return Score(float(np.mean(merged.labels == truth)), float(-np.log(np.maximum(own, _SMALLEST)).mean()))


def crowd_line(folder: Path, name: str) -> str:
    """Return the line of a crowd. Raises MissingData."""
    answers, truth = (
        parquet.read_table(existing_file(folder, f"crowd_{name}.{part}")).to_pydict() for part in ("answers", "truth")
    )
    columns = (answers["item"], answers["annotator"], answers["label"])
    label_of = dict(zip(truth["item"], truth["label"], strict=True))
    merged = {method: core.consensus(columns, method=method) for method in METHODS}
    one = merged["majority"]
    labels = np.array([label_of[item] for item in one.items.tolist()])
    scores = " | ".join(str(score(merged[method], labels)) for method in METHODS)
    sizes = f"{len(one.items):,} | {len(one.annotators)} | {len(one.classes)} | {one.n_answers.mean():.0f}"
    claimed = np.average(merged["dawid_skene"].reliability, weights=one.n_answers_given)
    actual = np.mean([label == label_of[item] for item, label in zip(columns[0], columns[2], strict=True)])
    return f"| {name} | {sizes} | {scores} | {100 * claimed:.1f}, {100 * actual:.1f} |"


class Images(NamedTuple):
    """Images with the labels of three people."""

    X: NDArray[np.float64]  # (row, feature)
    truth: NDArray[np.int64]  # (row,)
    labels: NDArray[np.int64]  # (row, person)

    def drawn(self, draw: int, part: slice) -> "Images":
        """Return a part of the images, in a random order."""
        rows = np.random.default_rng(draw).permutation(len(self.X))[part]
        return Images(self.X[rows], self.truth[rows], self.labels[rows])


def read_images(folder: Path) -> Images:
    """Return all images. Raises MissingData."""
    X, truth = read(folder, IMAGES, "target_clean", dtype=np.float64)
    return Images(X, truth, np.stack([read(folder, IMAGES, person)[1] for person in PEOPLE], axis=1))


def merged_labels(images: Images, n_answers: int, seed: int, n_jobs: int) -> dict[str, core.Consensus]:
    """Return the consensus of the first answers to each image, by each of `IMAGE_METHODS`."""
    items, people = np.divmod(np.arange(len(images.truth) * n_answers), n_answers)
    answers, n_classes = (items, people, images.labels[:, :n_answers].ravel()), len(np.unique(images.truth))
    majority, confusion = (core.consensus(answers, n_classes, method) for method in IMAGE_METHODS[:2])
    forest = noise_forest(seed, n_jobs).fit(images.X, confusion.labels)
    predictions = np.zeros((len(images.X), n_classes))
    predictions[:, np.searchsorted(confusion.classes, forest.classes_)] = forest.oob_decision_function_
    together = core.consensus(answers, n_classes, IMAGE_METHODS[2], probabilities=predictions)
    return dict(zip(IMAGE_METHODS, (majority, confusion, together), strict=True))


def image_scores(images: Images, n_answers: int, seed: int, n_jobs: int) -> list[Score]:
    """Return the score of each of `IMAGE_METHODS`."""
    merged = merged_labels(images, n_answers, seed, n_jobs)
    return [score(one, images.truth) for one in merged.values()]


def image_lines(images: Images, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the second table."""
    for n_rows in arguments.rows:
        for n_answers in (2, 3):
            drawn = [images.drawn(draw, slice(n_rows)) for draw in range(arguments.draws)]
            scores = np.array([image_scores(part, n_answers, draw, arguments.jobs) for draw, part in enumerate(drawn)])
            cells = (_mean(scores[:, number]) for number in range(len(IMAGE_METHODS)))
            yield f"| {n_rows:,} | {n_answers} | {' | '.join(cells)} |"


def _mean(scores: NDArray[np.float64]) -> str:
    """Return the cell of scores (draw, 2)."""
    return f"{mean_percent(scores[:, 0])}, {scores[:, 1].mean():.2f}"


def mean_percent(shares: NDArray[np.float64]) -> str:
    """Return the mean of shares (draw,) in percent, with its standard error."""
    error = f" ± {100 * shares.std(ddof=1) / np.sqrt(len(shares)):.1f}" if len(shares) > 1 else ""
    return f"{100 * shares.mean():.1f}{error}"


def header(*names: str) -> str:
    """Return the first two lines of a table."""
    return f"| {' | '.join(names)} |\n|{' --- |' * len(names)}"


def main(words: list[str] | None = None) -> None:
    parser = options.program_parser("benchmarks.accuracy.annotators", __doc__)
    options.add_data(parser)
    options.add_jobs(parser)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 3_000, 10_000], help="numbers of images")
    parser.add_argument("--draws", type=int, default=5, help="random draws of the images")
    arguments = parser.parse_args(words)
    folder = data_folder(arguments.data)
    print(header("crowd", "items", "annotators", "classes", "answers per item", *METHODS, "reliability"), flush=True)
    for name in CROWDS:
        try:
            print(crowd_line(folder, name), flush=True)
        except MissingData as error:
            skip(name, error)
    try:
        images = read_images(folder)
    except MissingData as error:
        skip("CIFAR-10N", error)
        return
    print("", header("images", "answers", *IMAGE_METHODS), sep="\n", flush=True)
    for line in image_lines(images, arguments):
        print(line, flush=True)


if __name__ == "__main__":
    main()
