"""Simulated crowds whose true labels and confusion matrices are known."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Crowd(NamedTuple):
    """Answers of annotators, with the truth."""

    answers: tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # item, annotator and class of each answer
    truth: NDArray[np.int64]  # (item,)
    confusion: NDArray[np.float64]  # (annotator, true class, answered class)


def draw_crowd(
    seed: int,
    n_items: int = 500,
    n_annotators: int = 20,
    n_classes: int = 3,
    n_answers: int = 5,
    shares: tuple[float, ...] | None = None,
) -> Crowd:
    """Draw annotators of different quality, and for each item the answers of some of them.

    shares: (class,) those of the classes; drawn for None.
    """
    random = np.random.default_rng(seed)
    n_classes = n_classes if shares is None else len(shares)
    truth = random.choice(n_classes, n_items, p=shares or random.dirichlet(np.full(n_classes, 5.0)))
    concentration = np.where(np.eye(n_classes, dtype=bool), 7.5, 2.5 / (n_classes - 1))
    confusion = np.array([[random.dirichlet(row) for row in concentration] for _ in range(n_annotators)])
    item = np.repeat(np.arange(n_items), n_answers)
    annotator = np.concatenate([random.choice(n_annotators, n_answers, replace=False) for _ in range(n_items)])
    limits = confusion[annotator, truth[item]].cumsum(axis=1)
    label = (random.random((len(item), 1)) > limits[:, :-1]).sum(axis=1)
    return Crowd((item, annotator, label), truth, confusion)


def accuracy(labels: NDArray[Any], truth: NDArray[Any]) -> float:
    """Return the share of the labels (item,) that are true."""
    return float(np.mean(labels == truth))
