"""The kinds of label noise: their parameters, what they ask of the classes, and how labels are drawn."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from core.exceptions import InvalidNoise
from core.monitoring import FitMonitor
from core.noise.adversarial import surest_flips
from core.noise.class_conditional import check_class_count, check_size, transition_by_distances
from core.noise.transition import TransitionMatrix, check_rate, given_matrix
from core.parameters import SELF_CHECKED, Bounds, Help, Key

Classes = NDArray[Any]  # (class,), sorted labels
Share = Annotated[float, Bounds(ge=0, lt=1)]


class CleanRows(NamedTuple):
    """What noise is put into. X (row, feature) is None where the caller has none."""

    X: Any
    codes: NDArray[np.int64]  # (row,)
    classes: Classes


class Drawn(NamedTuple):
    """Class numbers (row,) after the noise, and the matrix behind them."""

    codes: NDArray[np.int64]
    transition: TransitionMatrix


class Noise(ABC):
    """Noise that suits the classes at hand."""

    needs_features = False

    @abstractmethod
    def draw(self, rows: CleanRows, generator: Generator, monitor: FitMonitor) -> Drawn:
        """Noisy class numbers. Raises InvalidNoise and InvalidInput for what only the rows can tell, and FitStopped."""

    def check_size(self, n_features: int) -> None:  # noqa: B027  (most kinds take any size)
        """Raise InvalidNoise where so many features take too long or too much memory."""


class _ByMatrix(Noise):
    """Each label is drawn from its class's row of a matrix."""

    def __init__(self, transition: TransitionMatrix) -> None:
        self._transition = transition

    def draw(self, rows: CleanRows, generator: Generator, monitor: FitMonitor) -> Drawn:
        monitor.begin("drawing", len(rows.codes), "labels")
        drawn = Drawn(_draw(rows.codes, self._transition, generator), self._transition)
        monitor.advance(len(rows.codes))
        return drawn


class _ByDistances(Noise):
    """Each label is drawn from a matrix that depends on how far classes are apart."""

    needs_features = True

    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes

    def draw(self, rows: CleanRows, generator: Generator, monitor: FitMonitor) -> Drawn:
        transition = transition_by_distances(rows.X, rows.codes, rows.classes, monitor)
        return Drawn(_draw(rows.codes, transition, generator), transition)

    def check_size(self, n_features: int) -> None:
        check_size(self._n_classes, n_features)


class _OnSurestRows(Noise):
    needs_features = True

    def __init__(self, rate: float) -> None:
        self._rate = rate

    def draw(self, rows: CleanRows, generator: Generator, monitor: FitMonitor) -> Drawn:
        noisy = surest_flips(rows.X, rows.codes, self._rate, monitor)
        return Drawn(noisy, TransitionMatrix.observed(rows.codes, noisy, rows.classes))


def uniform(
    classes: Classes, rate: Annotated[Share, Help("Share of the labels replaced; below (K - 1) / K for K classes.")]
) -> Noise:
    """Each label is replaced with probability `rate` by any other class with equal chance."""
    return _ByMatrix(TransitionMatrix.uniform(rate, classes))


def pairwise(
    classes: Classes,
    rates: Annotated[tuple[Share, ...], Help("Of two classes: the share of each that is observed as the other.")],
) -> Noise:
    """Each label is replaced by the other of two classes with the probability of its own class."""
    if len(classes) != 2:
        raise InvalidNoise(
            f"noise 'pairwise' met {len(classes)} classes; it swaps exactly 2. Give all rates with "
            '{"kind": "matrix", "transition": [[...]]}.',
            "kind",
        )
    if len(rates) != 2:
        raise InvalidNoise(f"rates of noise 'pairwise' are {list(rates)!r}; give two, one for each class.", "rates")
    for rate in rates:
        check_rate(rate, 2, "rates")
    first, second = rates
    return _ByMatrix(TransitionMatrix.from_rows([[1 - first, first], [second, 1 - second]], classes))


def one_sided(
    classes: Classes,
    noisy_class: Annotated[
        bool | int | float | str, Key("class"), SELF_CHECKED, Help("The class whose labels are replaced.")
    ],
    rate: Annotated[Share, Help("Share of its labels replaced; below (K - 1) / K for K classes.")],
) -> Noise:
    """Labels of one class are replaced with probability `rate` by any other class with equal chance."""
    place = _place_of(noisy_class, classes.tolist())
    rows = np.eye(len(classes))
    rows[place] = TransitionMatrix.uniform(rate, classes).rows[place]
    return _ByMatrix(TransitionMatrix.from_rows(rows, classes))


def matrix(
    classes: Classes,
    transition: Annotated[
        TransitionMatrix | ArrayLike,
        SELF_CHECKED,
        Help("transition[a][b] = share of class a observed as class b, classes sorted; rows sum to 1."),
    ],
) -> Noise:
    """Each label is drawn from its class's row of a transition matrix."""
    return _ByMatrix(given_matrix(transition).among(classes))


def class_conditional(classes: Classes) -> Noise:
    """Labels move between classes that are near each other in the features; three classes or more."""
    check_class_count(len(classes))
    return _ByDistances(len(classes))


def adversarial(
    classes: Classes, rate: Annotated[Share, Help("Share of all labels replaced; below (K - 1) / K for K classes.")]
) -> Noise:
    """The labels that boosting is surest of are replaced: by the other class, with more than two by the runner-up."""
    if len(classes) < 2:
        raise InvalidNoise("noise 'adversarial' met one class; a label needs another one to become.", "kind")
    check_rate(rate, len(classes), "rate")
    return _OnSurestRows(rate)


#: kind -> noise for given classes; the parameters after the first are those of the kind.
NOISE_KINDS: dict[str, Callable[..., Noise]] = {
    "uniform": uniform,
    "pairwise": pairwise,
    "one_sided": one_sided,
    "matrix": matrix,
    "class_conditional": class_conditional,
    "adversarial": adversarial,
}


def _place_of(label: Any, classes: list[Any]) -> int:
    """Place of a label, which is true only for true, though 1 == True."""
    for place, known in enumerate(classes):
        if known == label and isinstance(known, bool) == isinstance(label, bool | np.bool_):
            return place
    shown = ", ".join(f"{known!r:.100}" for known in classes[:20])
    raise InvalidNoise(f"class of noise 'one_sided' is {label!r:.100}; the classes are {shown}.", "class")


def _draw(codes: NDArray[np.int64], transition: TransitionMatrix, generator: Generator) -> NDArray[np.int64]:
    """One draw per row from its row of the matrix, by inversion; memory is n + K * K, not n * K."""
    cumulative = np.cumsum(transition.rows, axis=1)
    cumulative[:, -1] = 1.0
    uniforms = generator.random(len(codes))
    drawn = np.empty(len(codes), dtype=np.int64)
    for k in range(len(cumulative)):
        of_class = np.flatnonzero(codes == k)
        drawn[of_class] = np.searchsorted(cumulative[k], uniforms[of_class], side="right")
    return drawn
