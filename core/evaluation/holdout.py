"""Splits into training and test rows: holdouts, folds and repeated holdouts.

Each split takes `groups` (row,), any hashable values: rows of one group are then in the same part. Groups differ in
size, so the sizes of the parts and their shares of the classes are approximate.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from core.exceptions import InvalidParameter
from core.groups import Groups, check_separable, divide_groups, encode_groups
from core.randomness import Purpose, Seed, SeedTree
from core.validation.labels import Codes, encode_labels, label_column
from core.validation.misplaced_arguments import check_has_labels


class HoldoutSplit(NamedTuple):
    """Ascending row numbers of the training and the test part."""

    train_rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]


class SeededSplit(NamedTuple):
    """Split with a seed of its own; each row is in the test part of exactly one of the splits of `split_folds`."""

    train_rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]
    seed: int  #: seed of the noise and the fit on this split, so that splits differ in both


def split_holdout(
    y: Any, test_fraction: float, stratify: bool = True, random_state: Seed = None, groups: Any = None
) -> HoldoutSplit:
    """Hold out about `test_fraction` of the rows, at least one and not all; a single row stays in training.

    If stratified, every class keeps at least one training row where possible, and otherwise its proportion to within
    one row; with groups, approximately its proportion.

    Raises InvalidParameter unless 0 < test_fraction < 1 and stratify is a boolean, and InvalidInput for empty y and
    for invalid groups or a single one.
    """
    if not 0 < test_fraction < 1:
        raise InvalidParameter(f"test_fraction is {test_fraction!r}; it must be above 0 and below 1.")
    if not isinstance(stratify, bool | np.bool_):
        detail = "it must be True or False; the classes are those of y, and the seed is random_state=…"
        raise InvalidParameter(f"stratify is {stratify!r:.100}; {detail}")
    labels = encode_labels(label_column(y))
    check_has_labels(labels)
    generator = SeedTree(random_state).generator(Purpose.HOLDOUT)
    codes = labels.codes
    return held_out_rows(codes, test_fraction, stratify, generator, encode_groups(groups, len(codes)))


def held_out_rows(
    codes: Codes, fraction: float, stratify: bool, generator: Generator, groups: Groups | None = None
) -> HoldoutSplit:
    """Return what `split_holdout` returns, for class numbers, group numbers and a generator."""
    if groups is not None:
        check_separable(groups, "a holdout")
        strata = codes if stratify else np.zeros_like(codes)
        parts = divide_groups(strata, groups, (1 - fraction, fraction), generator)
        return HoldoutSplit(np.flatnonzero(parts == 0), np.flatnonzero(parts == 1))
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
    return HoldoutSplit(np.flatnonzero(~in_test), np.flatnonzero(in_test))


def holdout_size(n_rows: int, fraction: float) -> int:
    """Return the number of test rows of a holdout."""
    return min(max(round(fraction * n_rows), 1), n_rows - 1)


def largest_fold_size(n_rows: int, n_folds: int) -> int:
    """Return the number of test rows of the largest fold."""
    return math.ceil(n_rows / n_folds)


def split_folds(y: Any, n_folds: int, random_state: Seed = None, groups: Any = None) -> tuple[SeededSplit, ...]:
    """Return stratified folds of the labels y (row,).

    Both the sizes of the folds and their numbers of rows of each class differ by at most one. A class with at least
    two rows is in every training part. With groups, both hold approximately.

    Raises InvalidParameter unless 2 <= n_folds <= rows, and InvalidInput for invalid groups or fewer than n_folds.
    """
    codes = encode_labels(label_column(y)).codes
    if not 2 <= n_folds <= len(codes):
        raise InvalidParameter(f"n_folds is {n_folds!r}; it must be from 2 to the number of rows, {len(codes)}.")
    seeds = SeedTree(random_state)
    fold_of_row = _folds(codes, n_folds, seeds.generator(Purpose.FOLDS), encode_groups(groups, len(codes)))
    return tuple(
        SeededSplit(np.flatnonzero(fold_of_row != k), np.flatnonzero(fold_of_row == k), seeds.fold_seed(k))
        for k in range(n_folds)
    )


def _folds(codes: Codes, n_folds: int, generator: Generator, groups: Groups | None) -> NDArray[np.int64]:
    """Return the number of the fold of each row, (row,)."""
    if groups is not None:
        check_separable(groups, "cross-validation")
        return divide_groups(codes, groups, [1 / n_folds] * n_folds, generator)
    shuffled = generator.permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    fold_of_row = np.empty(len(codes), dtype=np.int64)
    fold_of_row[by_class] = np.arange(len(codes)) % n_folds
    return fold_of_row


def repeated_holdouts(
    y: Any, test_fraction: float, n_repeats: int, random_state: Seed = None, groups: Any = None
) -> Iterator[SeededSplit]:
    """Yield `n_repeats` stratified holdouts of the labels y (row,), each with a seed of its own.

    A longer run starts with the same splits as a shorter one. Splits are generated one at a time because each needs
    memory proportional to y.

    Raises what `split_holdout` raises, when the first split is requested.
    """
    seeds = SeedTree(random_state)
    for repeat in range(n_repeats):
        seed = seeds.repeat_seed(repeat)
        yield SeededSplit(*split_holdout(y, test_fraction, random_state=seed, groups=groups), seed)


def _within_class_quota(counts: NDArray[np.int64], n_test: int) -> NDArray[np.int64]:
    """Return positions of the held-out rows among rows sorted by class.

    Each class gets its proportion of `n_test` rounded down; the rest goes to the largest remainders.
    """
    exact = counts * (n_test / counts.sum())
    most = np.maximum(counts - 1, 0)
    most = most if n_test <= most.sum() else counts
    quota = np.minimum(np.floor(exact).astype(np.int64), most)
    while (n_short := n_test - quota.sum()) > 0:
        below_limit = np.flatnonzero(quota < most)
        largest_remainders = below_limit[np.argsort((quota - exact)[below_limit], kind="stable")]
        quota[largest_remainders[:n_short]] += 1
    starts = np.cumsum(counts) - counts
    return np.concatenate([np.arange(start, start + n) for start, n in zip(starts, quota, strict=True)])
