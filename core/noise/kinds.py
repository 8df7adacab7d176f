"""The kinds of label noise. A new kind is a class in this file and an entry in NOISE_KINDS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from core.exceptions import InvalidNoise
from core.monitoring import FitMonitor
from core.noise.adversarial import N_ROUNDS, flip_largest_margins
from core.noise.base import Classes, CleanRows, Noise, NoisyCodes, TransitionNoise, draw_codes
from core.noise.class_conditional import check_class_count, check_size, transition_by_distances
from core.noise.transition import TransitionMatrix, check_rate, to_transition_matrix
from core.parameters import SELF_CHECKED, Bounds, Help, Key

Rate = Annotated[float, Bounds(ge=0, lt=1)]


@dataclass(frozen=True)
class UniformNoise(TransitionNoise):
    """Uniform noise: a label is replaced by any other class with equal probability."""

    kind = "uniform"
    help = "Each label is replaced with probability `rate` by one of the other classes, all equally likely."

    rate: Annotated[
        Rate,
        Help("Probability that a label is replaced. It must be below (K - 1) / K, where K is the number of classes."),
    ]

    def transition_matrix(self, classes: Classes) -> TransitionMatrix:
        return TransitionMatrix.uniform(self.rate, classes)

    def expected_rate(self, transition: TransitionMatrix, class_counts: ArrayLike) -> float:
        return self.rate


@dataclass(frozen=True)
class PairwiseNoise(TransitionNoise):
    """Noise between two classes, with one rate per class."""

    kind = "pairwise"
    help = (
        "For two classes: labels of the first class are replaced by the second with probability `rates[0]`, and labels "
        "of the second by the first with probability `rates[1]`."
    )

    rates: Annotated[
        tuple[Rate, Rate],
        Help("Probability that a label is replaced, for each of the two classes. Each must be below 1/2."),
    ]

    def transition_matrix(self, classes: Classes) -> TransitionMatrix:
        if len(classes) != 2:
            raise InvalidNoise(
                f"noise 'pairwise' requires exactly 2 classes, and the labels have {len(classes)} classes. Give all "
                'probabilities as {"kind": "matrix", "transition": [[...]]}.',
                "kind",
            )
        if len(self.rates) != 2:
            raise InvalidNoise(
                f"rates of noise 'pairwise' is {list(self.rates)!r}; it must hold two rates, one per class.", "rates"
            )
        for rate in self.rates:
            check_rate(rate, 2, "rates")
        first, second = self.rates
        return TransitionMatrix.from_rows([[1 - first, first], [second, 1 - second]], classes)


@dataclass(frozen=True)
class OneSidedNoise(TransitionNoise):
    """Uniform noise in the labels of a single class."""

    kind = "one_sided"
    help = (
        "Labels of one class are replaced with probability `rate` by one of the other classes, all equally likely. "
        "Labels of the other classes stay as they are."
    )

    noisy_class: Annotated[
        bool | int | Annotated[float, Bounds()] | str,
        Key("class"),
        SELF_CHECKED,
        Help("Class whose labels are replaced, with its JSON type."),
    ]
    rate: Annotated[
        Rate,
        Help("Probability that a label of this class is replaced."),
    ]

    def transition_matrix(self, classes: Classes) -> TransitionMatrix:
        """Return the matrix (clean, noisy). Raises InvalidNoise for a single class and a rate above 0."""
        # Unlike with uniform noise, every rate below 1 leaves the matrix invertible: its determinant is 1 - rate.
        code, n_others = _class_code(self.noisy_class, classes.tolist()), len(classes) - 1
        if n_others == 0 and self.rate > 0:
            raise InvalidNoise(
                f"rate of noise 'one_sided' is {self.rate!r}, and the labels have one class, so that there is no other "
                "label to draw; use labels of at least two classes, or a rate of 0.",
                "rate",
            )
        rows = np.eye(len(classes))
        rows[code] = self.rate / max(n_others, 1)
        rows[code, code] = 1.0 - self.rate
        return TransitionMatrix.from_rows(rows, classes)


@dataclass(frozen=True)
class MatrixNoise(TransitionNoise):
    """Noise with an arbitrary transition matrix."""

    kind = "matrix"
    help = "Each label is drawn from the row of a transition matrix that belongs to its class."

    transition: Annotated[
        TransitionMatrix | Sequence[Sequence[float]],
        SELF_CHECKED,
        Help(
            "Transition matrix: `transition[a][b]` is the probability that a row of class a is labeled as class b, "
            "with the classes in sorted order. Rows sum to 1."
        ),
    ]

    def transition_matrix(self, classes: Classes) -> TransitionMatrix:
        return to_transition_matrix(self.transition).among(classes)


@dataclass(frozen=True)
class ClassConditionalNoise(Noise):
    """Noise whose transition matrix follows from the distances between classes."""

    kind = "class_conditional"
    help = (
        "Labels are exchanged between classes that are close to each other in feature space, at rates from 0.1 to 0.5 "
        "depending on the class. At least three classes are required."
    )
    needs_features = True
    work_in_trees = 1.0

    def check_classes(self, classes: Classes) -> None:
        check_class_count(len(classes))

    def check_size(self, n_classes: int, n_features: int) -> None:
        check_size(n_classes, n_features)

    def inject(self, rows: CleanRows, generator: Generator, monitor: FitMonitor) -> NoisyCodes:
        transition = transition_by_distances(rows.X, rows.codes, rows.classes, monitor)
        return NoisyCodes(draw_codes(rows.codes, transition, generator), transition)


@dataclass(frozen=True)
class AdversarialNoise(Noise):
    """Noise in the rows that a boosted model classifies with the largest margin."""

    kind = "adversarial"
    help = (
        "A share `rate` of the labels is replaced: those that a LogitBoost model, fitted on the clean labels, "
        "classifies correctly with the largest margin. Each is replaced by the class with the second highest score."
    )
    needs_features = True
    work_in_trees = float(N_ROUNDS)

    rate: Annotated[
        Rate,
        Help("Share of all labels that is replaced. It must be below (K - 1) / K, where K is the number of classes."),
    ]

    def check_classes(self, classes: Classes) -> None:
        if len(classes) < 2:
            raise InvalidNoise(
                "noise 'adversarial' requires at least 2 classes, and the labels have one class; use labels of at "
                "least two classes.",
                "kind",
            )
        check_rate(self.rate, len(classes), "rate")

    def inject(self, rows: CleanRows, generator: Generator, monitor: FitMonitor) -> NoisyCodes:
        noisy = flip_largest_margins(rows.X, rows.codes, self.rate, monitor)
        return NoisyCodes(noisy, TransitionMatrix.observed(rows.codes, noisy, rows.classes))

    def expected_rate(self, transition: TransitionMatrix, class_counts: ArrayLike) -> float:
        return self.rate


#: kind -> class, in the order in which they are shown.
NOISE_KINDS: dict[str, type[Noise]] = {
    noise.kind: noise
    for noise in (UniformNoise, PairwiseNoise, OneSidedNoise, MatrixNoise, ClassConditionalNoise, AdversarialNoise)
}


def _class_code(label: Any, classes: list[Any]) -> int:
    """Return the class number of a label. True and 1 are different labels, although True == 1 in Python."""
    for code, known in enumerate(classes):
        if known == label and isinstance(known, bool) == isinstance(label, bool | np.bool_):
            return code
    shown = ", ".join(f"{known!r:.100}" for known in classes[:20])
    raise InvalidNoise(f"class of noise 'one_sided' is {label!r:.100}; the classes are {shown}.", "class")
