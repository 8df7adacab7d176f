"""Consensus of simulated crowds, whose true labels and annotators are known, as a Markdown table.

python -m benchmarks.accuracy.simulated_annotators                 # about a minute
python -m benchmarks.accuracy.simulated_annotators --draws 2

Each annotator has a confusion matrix whose rows are drawn from Dirichlet distributions with 75 % on the diagonal, and
each item is answered by a random choice of annotators. Cells of methods contain the share of right labels in percent
and the log loss, in the mean over the draws. The last column contains the share of the true reliabilities that are
within two standard errors of those of `dawid_skene`, in percent.
"""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.accuracy.annotators import METHODS, header, score


class Crowd(NamedTuple):
    """Kind of a crowd."""

    shares: tuple[float, ...]  # (class,)
    n_items: int = 1000
    n_annotators: int = 20
    n_answers: int = 3  # to each item
    n_spammers: int = 0  # annotators who always give the same answer
    confused_share: float = 0.0  # share of the items on which 60 % of the answers are one random class
    precision: float = 10.0  # of the Dirichlet distributions; small if annotators differ much


CROWDS = {
    "three equal classes": Crowd((1 / 3,) * 3, n_answers=5),
    "few answers per annotator": Crowd((1 / 3,) * 3, 500, 100),
    "annotators who differ more": Crowd((1 / 3,) * 3, precision=3.0),
    "95 and 5 %": Crowd((0.95, 0.05)),
    "90, 7 and 3 %": Crowd((0.9, 0.07, 0.03)),
    "99 and 1 %": Crowd((0.99, 0.01), 2000),
    "20 classes": Crowd((0.05,) * 20, n_answers=5),
    "10 classes of unequal size": Crowd(tuple((np.arange(1, 11) ** 2 / 385).tolist()), n_annotators=30),
    "10 of 20 answer one class": Crowd((1 / 3,) * 3, n_answers=5, n_spammers=10),
    "30 % confusing items": Crowd((1 / 3,) * 3, n_answers=5, confused_share=0.3),
}


class DrawnCrowd(NamedTuple):
    """Answers, true classes (item,), and the true share of right answers of each annotator (annotator,)."""

    answers: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    truth: NDArray[np.int64]
    reliability: NDArray[np.float64]


def draw(crowd: Crowd, seed: int) -> DrawnCrowd:
    """Draw the annotators and answers of a crowd."""
    random, n_classes = np.random.default_rng(seed), len(crowd.shares)
    truth = random.choice(n_classes, crowd.n_items, p=crowd.shares)
    confusion = _confusion(crowd, random)
    item = np.repeat(np.arange(crowd.n_items), crowd.n_answers)
    annotator = random.permuted(np.tile(np.arange(crowd.n_annotators), (crowd.n_items, 1)), axis=1)
    annotator = annotator[:, : crowd.n_answers].ravel()
    limits = confusion[annotator, truth[item]].cumsum(axis=1)
    label = (random.random((len(item), 1)) > limits[:, :-1]).sum(axis=1)
    tempting, is_confusing = random.integers(n_classes, size=crowd.n_items), random.random(crowd.n_items)
    is_tempted = (is_confusing < crowd.confused_share)[item] & (random.random(len(item)) < 0.6)
    label = np.where(is_tempted, tempting[item], label)
    n_answers = np.bincount(annotator, minlength=crowd.n_annotators)
    right = np.bincount(annotator, label == truth[item], crowd.n_annotators)
    rates = np.bincount(annotator, confusion[annotator, truth[item], truth[item]], crowd.n_annotators)
    return DrawnCrowd((item, annotator, label), truth, (right if crowd.confused_share else rates) / n_answers)


def _confusion(crowd: Crowd, random: Generator) -> NDArray[np.float64]:
    """Return confusion matrices (annotator, true class, answered class)."""
    n_classes = len(crowd.shares)
    concentration = crowd.precision * np.where(np.eye(n_classes, dtype=bool), 0.75, 0.25 / (n_classes - 1))
    confusion = np.array([[random.dirichlet(row) for row in concentration] for _ in range(crowd.n_annotators)])
    confusion[: crowd.n_spammers] = np.eye(n_classes)[random.integers(n_classes, size=crowd.n_spammers)][:, np.newaxis]
    return confusion


def line(name: str, crowd: Crowd, n_draws: int) -> str:
    """Return the line of a crowd."""
    scores, is_covered = [], []
    for seed in range(n_draws):
        drawn = draw(crowd, seed)
        merged = {method: core.consensus(drawn.answers, len(crowd.shares), method) for method in METHODS}
        scores.append([score(merged[method], drawn.truth) for method in METHODS])
        with_matrices = merged["dawid_skene"]
        is_covered.append(np.abs(with_matrices.reliability - drawn.reliability) < 2 * with_matrices.reliability_error)
    cells = (f"{100 * accuracy:.1f}, {loss:.2f}" for accuracy, loss in np.mean(scores, axis=0))
    return f"| {name} | {' | '.join(cells)} | {100 * np.mean(is_covered):.0f} |"


def main(words: list[str] | None = None) -> None:
    parser = options.program_parser("benchmarks.accuracy.simulated_annotators", __doc__)
    parser.add_argument("--draws", type=int, default=10, help="random draws of each crowd")
    arguments = parser.parse_args(words)
    warnings.simplefilter("ignore", UserWarning)
    print(header("crowd", *METHODS, "within two errors"), flush=True)
    for name, crowd in CROWDS.items():
        print(line(name, crowd, arguments.draws), flush=True)


if __name__ == "__main__":
    main()
