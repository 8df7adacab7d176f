"""Noise put into labels on purpose, with a record of what was done."""

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from core.exceptions import InvalidNoise
from core.noise.transition import TransitionMatrix
from core.parameters import Bounds, Help, Parameter, parameters_of
from core.randomness import Purpose, Seed, SeedTree
from core.validation import EncodedLabels, encode_labels


class NoisyLabels(NamedTuple):
    """labels (row,) of the same dtype as y; flipped bool (row,); the matrix that the flips were drawn from."""

    labels: NDArray[Any]
    flipped: NDArray[np.bool_]
    transition: TransitionMatrix


def inject_noise(y: Any, spec: Mapping[str, Any], *, X: Any = None, random_state: Seed = None) -> NoisyLabels:
    """Noisy copy of the labels y (row,). `spec` is {"kind": "uniform", "rate": 0.2}; X is for kinds that depend on
    features.

    The number of flips is random: each row draws its own label from its row of the transition matrix. Raises
    InvalidNoise.
    """
    labels = encode_labels(y)
    transition = _transition(labels, spec)
    drawn = _draw(labels.codes, transition, SeedTree(random_state).generator(Purpose.NOISE))
    return NoisyLabels(labels.classes[drawn], drawn != labels.codes, transition)


def uniform(
    labels: EncodedLabels,
    rate: Annotated[float, Bounds(ge=0, lt=1), Help("Share of the labels replaced; below (K - 1) / K for K classes.")],
) -> TransitionMatrix:
    """Each label is replaced with probability `rate` by any other class with equal chance."""
    return TransitionMatrix.uniform(rate, labels.classes)


#: kind of noise -> how it becomes a transition matrix for given labels.
NOISE_KINDS: dict[str, Callable[..., TransitionMatrix]] = {"uniform": uniform}


def noise_parameters(kind: str) -> tuple[Parameter, ...]:
    """The parameters of a kind of noise. Raises InvalidNoise."""
    if kind not in NOISE_KINDS:
        raise InvalidNoise(f"noise kind {kind!r} is not known; choose one of {', '.join(NOISE_KINDS)}.")
    return tuple(p for p in parameters_of(NOISE_KINDS[kind]) if p.name != "labels")


def _transition(labels: EncodedLabels, spec: Mapping[str, Any]) -> TransitionMatrix:
    if not isinstance(spec, Mapping) or not isinstance(spec.get("kind"), str):
        raise InvalidNoise(
            f'noise is {spec!r}; it must be a mapping with a "kind", such as {{"kind": "uniform", "rate": 0.2}}.'
        )
    kind = spec["kind"]
    names = [p.name for p in noise_parameters(kind)]
    given = {key: value for key, value in spec.items() if key != "kind"}
    if set(given) != set(names):
        raise InvalidNoise(f"noise {kind!r} was given {sorted(given)}; it takes exactly {names}.")
    for name, value in given.items():
        if not isinstance(value, Real) or isinstance(value, bool):
            raise InvalidNoise(f"{name} of noise {kind!r} is {value!r}; it must be a number.")
    return NOISE_KINDS[kind](labels, **given)


def _draw(codes: NDArray[np.int32], transition: TransitionMatrix, generator: Generator) -> NDArray[np.int64]:
    """One draw per row from its row of the matrix, by inversion; memory is n + K * K, not n * K."""
    cumulative = np.cumsum(transition.rows, axis=1)
    cumulative[:, -1] = 1.0
    uniforms = generator.random(len(codes))
    drawn = np.empty(len(codes), dtype=np.int64)
    for k in range(len(cumulative)):
        of_class = np.flatnonzero(codes == k)
        drawn[of_class] = np.searchsorted(cumulative[k], uniforms[of_class], side="right")
    return drawn
