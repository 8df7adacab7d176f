"""Which rows are held out."""

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from core.exceptions import InvalidParameter
from core.randomness import Purpose, Seed, SeedTree
from core.validation import encode_labels


class Holdout(NamedTuple):
    """Row numbers, ascending, int64."""

    train_rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]


def split_holdout(y: Any, test_fraction: float, stratify: bool = True, random_state: Seed = None) -> Holdout:
    """Hold out about `test_fraction` of the rows, at least one and not all. One row alone stays in training.

    Stratified, every class keeps at least one row in training where there are enough of them, and beyond that its
    share to within one row.
    Raises InvalidParameter unless 0 < test_fraction < 1.
    """
    if not 0 < test_fraction < 1:
        raise InvalidParameter(f"test_fraction is {test_fraction!r}; it must be above 0 and below 1.")
    codes = encode_labels(y).codes
    generator = SeedTree(random_state).generator(Purpose.HOLDOUT)
    return held_out_rows(codes, test_fraction, stratify, generator)


def held_out_rows(codes: NDArray[np.int32], fraction: float, stratify: bool, generator: Generator) -> Holdout:
    """`split_holdout` for class numbers and a generator."""
    n_rows = len(codes)
    n_test = min(max(round(fraction * n_rows), 1), n_rows - 1)
    shuffled = generator.permutation(n_rows)
    counts = np.bincount(codes)
    if stratify:
        shuffled = shuffled[np.argsort(codes[shuffled], kind="stable")]
        test = shuffled[_within_class_quota(counts, n_test)]
    else:
        test = shuffled[:n_test]
    in_test = np.zeros(n_rows, dtype=bool)
    in_test[test] = True
    return Holdout(np.flatnonzero(~in_test), np.flatnonzero(in_test))


def _within_class_quota(counts: NDArray[np.int64], n_test: int) -> NDArray[np.int64]:
    """Positions of the held-out rows when rows are ordered by class: largest remainders fill up to `n_test`."""
    exact = counts * (n_test / counts.sum())
    most = np.maximum(counts - 1, 0)
    most = most if n_test <= most.sum() else counts
    quota = np.minimum(np.floor(exact).astype(np.int64), most)
    while (n_short := n_test - quota.sum()) > 0:
        with_room = np.flatnonzero(quota < most)
        largest_remainders = with_room[np.argsort((quota - exact)[with_room], kind="stable")]
        quota[largest_remainders[:n_short]] += 1
    starts = np.cumsum(counts) - counts
    return np.concatenate([np.arange(start, start + n) for start, n in zip(starts, quota, strict=True)])
