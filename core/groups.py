"""Groups: rows that belong together, such as copies of a row or the visits of one patient.

They are encoded here, and here they are drawn (bootstrap samples) and divided into parts (holdouts, folds). Groups are
numbered by their first row, so that results do not depend on their names.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from core.exceptions import InvalidInput, TooFewGroups
from core.kernels.random_state import bootstrap_counts
from core.missing_values import missing_values

Groups = NDArray[np.int64]  # (row,), numbers 0..n-1


def encode_groups(groups: Any, n_rows: int) -> Groups | None:
    """Return the group number of each row, int64 (row,), or None for None. `groups` (row,) are any hashable values.

    Raises InvalidInput for another length, and for missing values (None, NaN, NaT).
    """
    if groups is None:
        return None
    values = _values(groups)
    if values.shape != (n_rows,):
        raise InvalidInput(f"groups has shape {values.shape}; it must have one group per row, ({n_rows},).")
    missing = np.flatnonzero(missing_values(values))
    if len(missing):
        raise InvalidInput(
            f"groups is missing in {len(missing)} of {n_rows} rows, the first of which is row {missing[0]}; every row "
            "needs a group. Give a row that belongs to no other a value of its own, or leave these rows out."
        )
    return _by_first_row(values)


def _values(groups: Any) -> NDArray[Any]:
    """Return groups as an array. NumPy would write NaN and numbers in a list with texts as texts, and a list of tuples
    as a table.
    """
    if isinstance(groups, list | tuple):
        return np.fromiter(groups, dtype=object, count=len(groups))
    return np.asarray(groups)


def check_separable(groups: Groups | None, purpose: str) -> None:
    """Raise InvalidInput if all rows are in one group, so that none can be left out for `purpose`."""
    if groups is not None and len(groups) and (groups == groups[0]).all():
        raise TooFewGroups(
            f"groups has one distinct value in {len(groups)} rows; {purpose} needs at least two groups, because rows "
            "of a group stay together.",
            "Leave the groups out if the rows do not belong together.",
        )


def bootstrap_row_counts(
    weights: NDArray[np.float64], groups: Groups | None, random_state: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Return how often a bootstrap sample contains each row, float64 (row,); advances `random_state` (1,).

    As many rows are drawn with replacement as have a positive weight; the others have count 0. With groups, as many
    groups are drawn as have such a row, and every row has the count of its group, also a row of weight zero.
    """
    drawable = weights > 0
    with np.errstate(over="ignore"):  # integer overflow of the generator is intended; without the JIT it would warn
        if groups is None:
            counts = np.zeros_like(weights)
            counts[drawable] = bootstrap_counts(random_state, int(np.count_nonzero(drawable)))
            return counts
        is_drawable = np.zeros(int(groups.max()) + 1, dtype=bool)
        is_drawable[groups[drawable]] = True
        counts = np.zeros(len(is_drawable))
        counts[is_drawable] = bootstrap_counts(random_state, int(np.count_nonzero(is_drawable)))
    return np.asarray(counts[groups])


def draw_rows(n_rows: int, n_drawn: int, groups: Groups | None, generator: Generator) -> NDArray[np.int64]:
    """Return the numbers of `n_drawn` rows drawn at random, ascending, or of all rows if there are no more. Groups are
    drawn whole, except for the last one, and for groups of more than half of the rows to draw, so that there are two.
    """
    if n_rows <= n_drawn:
        return np.arange(n_rows)
    units = np.arange(n_rows) if groups is None else groups
    rank = generator.permutation(int(units.max()) + 1)
    order = np.argsort(rank[units], kind="stable")
    if groups is not None:
        starts = np.concatenate([[0], np.cumsum(np.bincount(rank[units]))])
        order = order[np.arange(n_rows) - starts[rank[units[order]]] < (n_drawn + 1) // 2]
    return np.sort(order[:n_drawn])


def divide_groups(
    codes: NDArray[np.integer[Any]], groups: Groups, shares: Sequence[float], generator: Generator
) -> NDArray[np.int64]:
    """Return the part of each row, (row,), so that no group is divided and every part has a group.

    Parts should have the `shares` (part,) of every class of `codes` (row,). Groups are placed one at a time, large ones
    first and otherwise in random order, where they increase the chi-square distance from these shares least. Raises
    InvalidInput if there are fewer groups than parts.
    """
    groups = _by_first_row(groups)
    table = _class_counts(codes, groups)
    n_groups, n_parts = len(table.starts) - 1, len(shares)
    if n_groups < n_parts:
        raise TooFewGroups(
            f"groups has {n_groups} distinct values; {n_parts} parts need at least as many groups, because rows of a "
            "group stay together.",
            "Ask for fewer parts, or leave the groups out if the rows do not belong together.",
        )
    totals, inverse_shares = np.bincount(codes), 1.0 / np.asarray(shares)
    filled, part_of_group = np.zeros((n_parts, len(totals))), np.empty(n_groups, dtype=np.int64)
    order = generator.permutation(n_groups)
    order = order[np.argsort(-np.bincount(groups)[order], kind="stable")]
    is_empty = np.ones(n_parts, dtype=bool)
    for n_placed, group in enumerate(order):
        entries = slice(table.starts[group], table.starts[group + 1])
        classes, counts = table.classes[entries], table.counts[entries]
        increase = (2 * filled[:, classes] + counts) @ (counts / totals[classes]) * inverse_shares
        if n_groups - n_placed == np.count_nonzero(is_empty):
            increase[~is_empty] = np.inf
        part = int(np.argmin(increase))
        filled[part, classes] += counts
        is_empty[part] = False
        part_of_group[group] = part
    return np.asarray(part_of_group[groups])


def design_effect(values: NDArray[np.float64], groups: Groups | None) -> float:
    """Return how many times larger than for independent rows the variance of the mean of `values` (row,) is, at least
    1: the sum of squares of the groups' sums of deviations over that of the rows' (Kish 1965, "Survey sampling").
    """
    if groups is None:
        return 1.0
    deviations = values - values.mean()
    total = float((deviations**2).sum())
    return max(1.0, float((np.bincount(groups, deviations) ** 2).sum()) / total) if total > 0 else 1.0


class _ClassCounts(NamedTuple):
    """Number of rows of each group and class that occur together; those of group g are starts[g]:starts[g + 1]."""

    starts: NDArray[np.int64]  # (group + 1,)
    classes: NDArray[np.int64]
    counts: NDArray[np.int64]


def _class_counts(codes: NDArray[np.integer[Any]], groups: Groups) -> _ClassCounts:
    n_classes, n_groups = int(codes.max()) + 1, int(groups.max()) + 1
    pairs, counts = np.unique(groups * n_classes + codes, return_counts=True)
    starts = np.searchsorted(pairs, np.arange(n_groups + 1) * n_classes)
    return _ClassCounts(starts, pairs % n_classes, counts)


def _by_first_row(values: NDArray[Any]) -> Groups:
    if values.dtype == object:
        numbers: dict[Any, int] = {}
        return np.fromiter((_number(numbers, value) for value in values), dtype=np.int64, count=len(values))
    _, first_rows, sorted_numbers = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first_rows), dtype=np.int64)
    rank[np.argsort(first_rows)] = np.arange(len(first_rows))
    return np.asarray(rank[sorted_numbers])


def _number(numbers: dict[Any, int], value: Any) -> int:
    try:
        return numbers.setdefault(value, len(numbers))
    except TypeError:
        raise InvalidInput(
            f"groups contains {value!r}, which is not hashable; use numbers, text or tuples as groups."
        ) from None
