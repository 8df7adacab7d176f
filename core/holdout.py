"""Which rows are held out, once or fold by fold."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from core.exceptions import InvalidParameter
from core.randomness import Purpose, Seed, SeedTree
from core.validation.training_data import encode_labels


class Split(NamedTuple):
    """Row numbers, ascending, int64."""

    train_rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]


class SeededSplit(NamedTuple):
    """Row numbers, ascending, int64; of `split_folds` every row is in the test part of exactly one."""

    train_rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]
    seed: int  #: for the noise and the fit of this fold, so that folds differ in both


def split_holdout(y: Any, test_fraction: float, stratify: bool = True, random_state: Seed = None) -> Split:
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


def held_out_rows(codes: NDArray[np.int32], fraction: float, stratify: bool, generator: Generator) -> Split:
    """`split_holdout` for class numbers and a generator."""
    n_rows = len(codes)
    n_test = holdout_size(n_rows, fraction)
    shuffled = generator.permutation(n_rows)
    counts = np.bincount(codes)
    if stratify:
        shuffled = shuffled[np.argsort(codes[shuffled], kind="stable")]
        test = shuffled[_within_class_quota(counts, n_test)]
    else:
        test = shuffled[:n_test]
    in_test = np.zeros(n_rows, dtype=bool)
    in_test[test] = True
    return Split(np.flatnonzero(~in_test), np.flatnonzero(in_test))


def holdout_size(n_rows: int, fraction: float) -> int:
    """How many rows a holdout tests on."""
    return min(max(round(fraction * n_rows), 1), n_rows - 1)


def largest_fold_size(n_rows: int, n_folds: int) -> int:
    """How many rows the largest of the folds tests on."""
    return math.ceil(n_rows / n_folds)


def split_folds(y: Any, n_folds: int, random_state: Seed = None) -> tuple[SeededSplit, ...]:
    """Stratified folds of the labels y (row,): both their sizes and what they test of each class differ by at most one
    row between folds. A class of at least two rows is in every training part.

    Raises InvalidParameter unless 2 <= n_folds <= rows.
    """
    codes = encode_labels(y).codes
    if not 2 <= n_folds <= len(codes):
        raise InvalidParameter(f"n_folds is {n_folds!r}; it must be from 2 to the number of rows, {len(codes)}.")
    seeds = SeedTree(random_state)
    shuffled = seeds.generator(Purpose.FOLDS).permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    fold_of_row = np.empty(len(codes), dtype=np.int64)
    fold_of_row[by_class] = np.arange(len(codes)) % n_folds
    return tuple(
        SeededSplit(np.flatnonzero(fold_of_row != k), np.flatnonzero(fold_of_row == k), seeds.seed_of_fold(k))
        for k in range(n_folds)
    )


def repeated_holdouts(y: Any, test_fraction: float, n_repeats: int, random_state: Seed = None) -> Iterator[SeededSplit]:
    """`split_holdout` of the labels y (row,), stratified, so many times, each time with a seed of its own.

    They come one by one, as each is as long as y; the first of many are those of few.

    Raises InvalidParameter when the first is asked for, unless 0 < test_fraction < 1.
    """
    seeds = SeedTree(random_state)
    for repeat in range(n_repeats):
        seed = seeds.seed_of_repeat(repeat)
        yield SeededSplit(*split_holdout(y, test_fraction, random_state=seed), seed)


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
