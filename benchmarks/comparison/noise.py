"""Noise models of the comparison."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import core

#: Names in cells and their headings in tables, in the order of measurement.
NOISES: dict[str, str] = {
    "uniform_0": "no noise",
    "uniform_20": "uniform, 20 %",
    "uniform_40": "uniform, 40 %",
    "class_conditional_20": "class-conditional, 20 %",
    "adversarial_20": "adversarial, 20 %",
}

#: Lowest and highest rate of class-conditional noise; the mean over the classes is 20 %.
CLASS_RATES = (0.1, 0.3)


def suits(noise: str, n_classes: int) -> bool:
    """Return whether tables of `n_classes` classes take part; adversarial noise is for two classes."""
    return noise != "adversarial_20" or n_classes == 2


def noisy_labels(X: NDArray[np.float64], y: NDArray[np.int64], noise: str, seed: int) -> NDArray[np.int64]:
    """Return a noisy copy of the class numbers y (row,) of X (row, feature)."""
    kind, percent = noise.rsplit("_", 1)
    rate = int(percent) / 100
    if rate == 0:
        return y
    spec: dict[str, Any] = {"kind": kind, "rate": rate}
    if kind == "class_conditional":
        spec = {"kind": "matrix", "transition": cyclic_transition(len(np.unique(y))).tolist()}
    return np.asarray(core.inject_noise(y, spec, X=X, random_state=seed).labels)


def cyclic_transition(n_classes: int) -> NDArray[np.float64]:
    """Return the transition matrix of class-conditional noise, (clean, noisy).

    Each label is replaced by the next class, that of the last class by the first. The rate rises linearly from 10 % for
    the first class to 30 % for the last, so that most labels of each class are right. Classes are in sorted order.
    """
    rates = np.linspace(*CLASS_RATES, n_classes)
    classes = np.arange(n_classes)
    transition = np.diag(1 - rates)
    transition[classes, (classes + 1) % n_classes] = rates
    return transition
