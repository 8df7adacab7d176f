"""Base of the noise kinds: parameters, checks, and drawing labels from a transition matrix."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from core.exceptions import CoreError, InvalidNoise
from core.monitoring import FitMonitor
from core.noise.transition import TransitionMatrix
from core.parameters import parameters_of

Classes = NDArray[Any]  # (class,), sorted labels
Codes = NDArray[np.int64]  # (row,), class numbers


class CleanRows(NamedTuple):
    """Rows before injection. X (row, feature) is None if the caller did not pass any features."""

    X: Any
    codes: Codes
    classes: Classes


class NoisyCodes(NamedTuple):
    """Class numbers after injection, and the transition matrix behind them."""

    codes: Codes
    transition: TransitionMatrix


@dataclass(frozen=True)
class Noise(ABC):
    """Base of the noise kinds. Each kind is a frozen dataclass whose fields are its parameters."""

    kind: ClassVar[str]
    help: ClassVar[str]
    needs_features: ClassVar[bool] = False
    #: Duration of an injection relative to growing one tree, for estimates of progress.
    work_in_trees: ClassVar[float] = 0.01

    def __post_init__(self) -> None:
        for parameter in parameters_of(type(self)):
            try:
                parameter.check(getattr(self, parameter.argument), f"noise {self.kind!r}")
            except CoreError as error:
                raise InvalidNoise(str(error), parameter.name) from None

    @abstractmethod
    def check_classes(self, classes: Classes) -> None:
        """Raise InvalidNoise if this noise is not defined for labels of these classes."""

    def check_size(self, n_classes: int, n_features: int) -> None:  # noqa: B027  (most kinds accept any size)
        """Raise InvalidNoise if an injection would take too much time or memory."""

    @abstractmethod
    def inject(self, rows: CleanRows, generator: Generator, monitor: FitMonitor) -> NoisyCodes:
        """Return the noisy labels of `rows`, whose classes have been checked.

        Raises InvalidNoise and InvalidInput for conditions that depend on the rows, and FitStopped.
        """

    def expected_rate(self, transition: TransitionMatrix, class_counts: ArrayLike) -> float:
        """Return the expected share of wrong labels among `class_counts` (class,) clean rows."""
        return transition.noise_rate(class_counts)


class TransitionNoise(Noise):
    """Base of the kinds whose transition matrix depends only on the classes."""

    @abstractmethod
    def transition_matrix(self, classes: Classes) -> TransitionMatrix:
        """Return the matrix for labels of these classes. Raises InvalidNoise."""

    def check_classes(self, classes: Classes) -> None:
        self.transition_matrix(classes)

    def inject(self, rows: CleanRows, generator: Generator, monitor: FitMonitor) -> NoisyCodes:
        transition = self.transition_matrix(rows.classes)
        monitor.begin("drawing", len(rows.codes), "labels")
        noisy = NoisyCodes(draw_codes(rows.codes, transition, generator), transition)
        monitor.advance(len(rows.codes))
        return noisy


def draw_codes(codes: Codes, transition: TransitionMatrix, generator: Generator) -> Codes:
    """Draw a noisy label for each row from the matrix row of its class.

    Draws by inversion, class by class, so that memory is n + K * K instead of n * K.
    """
    cumulative = np.cumsum(transition.rows, axis=1)
    cumulative[:, -1] = 1.0
    uniforms = generator.random(len(codes))
    noisy = np.empty(len(codes), dtype=np.int64)
    for k in range(len(cumulative)):
        rows = np.flatnonzero(codes == k)
        noisy[rows] = np.searchsorted(cumulative[k], uniforms[rows], side="right")
    return noisy
