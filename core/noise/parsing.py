"""Parsing of noise specifications: mappings such as {"kind": "uniform", "rate": 0.2}."""

from collections.abc import Mapping
from typing import Any

from core.exceptions import InvalidNoise
from core.noise.base import Noise
from core.noise.kinds import NOISE_KINDS
from core.parameters import Parameter, parameters_of


def noise_parameters(kind: str) -> tuple[Parameter, ...]:
    """Return the parameters of a noise kind. Raises InvalidNoise."""
    if kind not in NOISE_KINDS:
        raise InvalidNoise(f"noise kind is {kind!r}; it must be one of {', '.join(NOISE_KINDS)}.", "kind")
    return parameters_of(NOISE_KINDS[kind])


def parse_noise(spec: Any) -> Noise:
    """Return the noise that a mapping describes. Raises InvalidNoise."""
    if not isinstance(spec, Mapping) or not isinstance(spec.get("kind"), str):
        raise InvalidNoise(
            f'noise is {spec!r}; it must be a mapping with a "kind", such as {{"kind": "uniform", "rate": 0.2}}.'
        )
    kind = spec["kind"]
    arguments = {p.name: p.argument for p in noise_parameters(kind)}
    values = {key: value for key, value in spec.items() if key != "kind"}
    if set(values) != set(arguments):
        raise InvalidNoise(f"noise {kind!r} has the parameters {sorted(values)}; it takes exactly {list(arguments)}.")
    return NOISE_KINDS[kind](**{arguments[name]: value for name, value in values.items()})
