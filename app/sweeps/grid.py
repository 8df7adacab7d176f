"""Checks of the grid of a sweep, which do not depend on its data set."""

import json
from collections.abc import Iterator, Sequence

from app.errors import FieldError
from app.settings import Limits
from app.sweeps.specs import MAX_BYTES_OF_CELLS, MAX_CELLS, SweepSpec


def grid_problems(spec: SweepSpec, limits: Limits) -> Iterator[FieldError]:
    """Yield the reasons why the models and the noise of a sweep do not make a grid."""
    n_models, n_noises = len(spec.models), len(spec.noise)
    cells = f"{n_models} models under {n_noises} kinds of noise are {n_models * n_noises} cells"
    if n_models * n_noises > MAX_CELLS:
        yield FieldError("/models", f"{cells}; a sweep has at most {MAX_CELLS}: submit several sweeps")
        return
    if n_models * n_noises > limits.max_queued_jobs:
        limit = limits.max_queued_jobs
        detail = (
            f"{cells}, which exceed the limit of {limit} queued jobs (BRISTLECONE_MAX_QUEUED_JOBS): submit several "
            "sweeps, or raise the limit"
        )
        yield FieldError("/models", detail)
    models, noises = ([entry.model_dump_json() for entry in entries] for entries in (spec.models, spec.noise))
    n_bytes = n_noises * sum(map(len, models)) + n_models * sum(map(len, noises))
    if n_bytes > MAX_BYTES_OF_CELLS:
        detail = (
            f"{cells}, whose requests take {n_bytes} bytes, most of them for matrices; a sweep has at most "
            f"{MAX_BYTES_OF_CELLS}: submit several sweeps"
        )
        yield FieldError("/noise", detail)
    yield from _duplicates(models, "/models")
    yield from _duplicates([_normalized(noise) for noise in noises], "/noise")


def _normalized(noise: str) -> str:
    """Return noise in JSON with 1.0 written as 1, since both are the same label.

    Models are not normalized: `max_features` 1 is one feature, and 1.0 is all of them.
    """

    def number(text: str) -> int | float:
        value = float(text)
        return int(value) if value.is_integer() else value

    return json.dumps(json.loads(noise, parse_float=number))


def _duplicates(entries: Sequence[str], pointer: str) -> Iterator[FieldError]:
    first_numbers: dict[str, int] = {}
    for number, entry in enumerate(entries):
        first = first_numbers.setdefault(entry, number)
        if first != number:
            detail = f"{pointer}/{number} equals {pointer}/{first} once defaults are filled in; remove one of them"
            yield FieldError(f"{pointer}/{number}", detail)
