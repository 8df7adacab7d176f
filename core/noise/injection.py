"""Noise put into labels on purpose, with a record of what was done."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.exceptions import InvalidNoise, InvalidParameter
from core.monitoring import FitMonitor, NullMonitor, phase_monitor
from core.noise.kinds import NOISE_KINDS, CleanRows, Noise
from core.noise.transition import TransitionMatrix
from core.parameters import Parameter, parameters_of
from core.randomness import Purpose, Seed, SeedTree
from core.validation.training_data import EncodedLabels, encode_labels

#: What a monitor hears of.
INJECTING = "injecting"


class NoisyLabels(NamedTuple):
    """labels (row,) of the same dtype as y; flipped bool (row,); the matrix that the flips were drawn from, or of
    adversarial noise, which draws nothing, the one observed.
    """

    labels: NDArray[Any]
    flipped: NDArray[np.bool_]
    transition: TransitionMatrix


def inject_noise(
    y: Any,
    spec: Mapping[str, Any],
    *,
    X: Any = None,
    random_state: Seed = None,
    classes: ArrayLike | None = None,
    monitor: FitMonitor | None = None,
) -> NoisyLabels:
    """Noisy copy of the labels y (row,), as `spec` says:

        {"kind": "uniform", "rate": 0.2}                any label becomes any other
        {"kind": "pairwise", "rates": [0.1, 0.3]}       two classes, each with a rate of its own
        {"kind": "one_sided", "class": "b", "rate": 0.2}
        {"kind": "matrix", "transition": [[...], ...]}  in the order of the sorted classes
        {"kind": "class_conditional"}                   between classes that are near each other in X
        {"kind": "adversarial", "rate": 0.1}            the rows of X that boosting is surest of

    The last two need X (row, feature). But for adversarial noise the number of flips is random: each row draws its own
    label from its row of the transition matrix. `classes` are the sorted labels there are, where y may lack some.
    `monitor` hears of one phase, "injecting". Raises InvalidNoise, InvalidInput for X, and FitStopped.
    """
    labels = _encoded(y, classes)
    noise = _noise(spec, labels.classes)
    if noise.needs_features and X is None:
        raise InvalidNoise(f"noise {spec['kind']!r} depends on the features; give X with one row per label.", "kind")
    clean = CleanRows(X, labels.codes.astype(np.int64), labels.classes)
    watching = phase_monitor(monitor or NullMonitor(), INJECTING)
    drawn = noise.draw(clean, SeedTree(random_state).generator(Purpose.NOISE), watching)
    return NoisyLabels(labels.classes[drawn.codes], drawn.codes != labels.codes, drawn.transition)


def check_noise(spec: Mapping[str, Any], classes: ArrayLike, n_features: int | None = None) -> None:
    """Raise InvalidNoise for all that `inject_noise` would refuse of labels of these sorted `classes`, whatever the
    rows are; with the number of features, also for what would take too long or too much memory.
    """
    noise = _noise(spec, np.asarray(classes))
    if n_features is not None:
        noise.check_size(n_features)


def noise_parameters(kind: str) -> tuple[Parameter, ...]:
    """The parameters of a kind of noise. Raises InvalidNoise."""
    if kind not in NOISE_KINDS:
        raise InvalidNoise(f"noise kind {kind!r} is not known; choose one of {', '.join(NOISE_KINDS)}.", "kind")
    return tuple(p for p in parameters_of(NOISE_KINDS[kind]) if p.name != "classes")


def _encoded(y: Any, classes: ArrayLike | None) -> EncodedLabels:
    labels = encode_labels(y)
    if classes is None:
        return labels
    every = encode_labels(classes).classes
    position = {label: k for k, label in enumerate(every.tolist())}
    unknown = [label for label in labels.classes.tolist() if label not in position]
    if unknown:
        raise InvalidNoise(f"y holds the label {unknown[0]!r}, which is none of the classes {every.tolist()}.")
    numbers = np.array([position[label] for label in labels.classes.tolist()], dtype=np.int32)
    return EncodedLabels(every, numbers[labels.codes])


def _noise(spec: Mapping[str, Any], classes: NDArray[Any]) -> Noise:
    if not isinstance(spec, Mapping) or not isinstance(spec.get("kind"), str):
        raise InvalidNoise(
            f'noise is {spec!r}; it must be a mapping with a "kind", such as {{"kind": "uniform", "rate": 0.2}}.'
        )
    kind = spec["kind"]
    known = {p.name: p for p in noise_parameters(kind)}
    given = {key: value for key, value in spec.items() if key != "kind"}
    if set(given) != set(known):
        raise InvalidNoise(f"noise {kind!r} was given {sorted(given)}; it takes exactly {list(known)}.")
    for name, value in given.items():
        _check(known[name], value, kind)
    return NOISE_KINDS[kind](classes, **{known[name].argument: value for name, value in given.items()})


def _check(parameter: Parameter, value: Any, kind: str) -> None:
    try:
        parameter.check(value, f"noise {kind!r}")
    except InvalidParameter as error:
        raise InvalidNoise(str(error), parameter.name) from None
