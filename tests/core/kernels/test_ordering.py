"""Codes of a node, gathered and ordered, compared with numpy on whole columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.search import node_codes, ordering
from tests.core.kernels.search_twins import WIDTHS, binned_features

LARGEST_CODE = 2**31 - 1
SPANS = [1, 2, 255, 256, 2**16 - 1, 2**16, 2**24 + 1, 2**25 - 1, 2**25, LARGEST_CODE]
KEY_COUNTS = [
    0,
    1,
    ordering.MAX_KEYS_BY_INSERTION,
    ordering.MAX_KEYS_BY_INSERTION + 1,
    ordering.MAX_KEYS_BY_RANK // 2,
    ordering.MAX_KEYS_BY_RANK - 1,
    ordering.MAX_KEYS_BY_RANK,
    ordering.MAX_KEYS_BY_RANK + 1,
    500,
]


def ordered(codes, lowest, highest):
    """Return the (code, position) pairs of the rows above the lowest code, as `order_keys` orders them."""
    unordered, keys = np.empty(len(codes) + 1, dtype=np.int64), np.empty(len(codes) + 1, dtype=np.int64)
    small_keys, starts = (
        np.empty(ordering.RANK_BUFFER_LENGTH, dtype=np.int32),
        np.empty(ordering.N_DIGITS, dtype=np.int32),
    )
    n_keys = ordering.fill_keys_above(codes, len(codes), lowest, unordered)
    ordering.order_keys(unordered, n_keys, lowest, highest, small_keys, starts, keys)
    return [(ordering.key_code(key), ordering.key_position(key)) for key in keys[:n_keys].tolist()]


def stably_sorted(codes, lowest):
    return [(int(codes[i]), int(i)) for i in np.argsort(codes, kind="stable") if codes[i] > lowest]


def codes_above(rng, n_keys, span, lowest, n_lowest=3):
    """Return shuffled codes: `n_lowest` times the lowest, and `n_keys` above it, including the highest possible one."""
    above = lowest + rng.integers(1, span, size=n_keys, endpoint=True)
    above[:1] = lowest + span
    return rng.permutation(np.concatenate([above, np.full(n_lowest, lowest)])).astype(np.uint32)


@pytest.mark.parametrize("n_keys", KEY_COUNTS)
@pytest.mark.parametrize("span", SPANS)
def test_each_sorting_algorithm_is_stable(n_keys, span):
    rng = np.random.default_rng(n_keys * 77 + span % 1000)
    for lowest in {0, LARGEST_CODE - span}:
        codes = codes_above(rng, n_keys, span, lowest)
        assert ordered(codes, lowest, lowest + span) == stably_sorted(codes, lowest)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=80), st.sampled_from([1, 7, 300, 2**22]))
def test_equal_codes_stay_in_row_order(codes, step):
    codes = np.array(codes, dtype=np.uint32) * np.uint32(step)
    assert ordered(codes, int(codes.min()), int(codes.max())) == stably_sorted(codes, codes.min())


@pytest.mark.parametrize("width", WIDTHS)
def test_keys_above_the_lowest_code_are_in_row_order(width):
    codes = np.array([3, 9, 3, 4, 255, 3, 9], dtype=width)
    keys = np.full(len(codes) + 1, -1, dtype=np.int64)
    n_keys = ordering.fill_keys_above(codes, 6, 3, keys)
    pairs = [(ordering.key_code(key), ordering.key_position(key)) for key in keys[:n_keys].tolist()]
    assert pairs == [(9, 1), (4, 3), (255, 4)]


@pytest.mark.parametrize("width", WIDTHS)
def test_code_range_covers_the_first_rows_only(width):
    largest = min(np.iinfo(width).max, LARGEST_CODE)
    codes = np.array([7, largest, 5, 0], dtype=width)
    assert [node_codes.code_range(codes, n) for n in (1, 2, 3, 4)] == [(7, 7), (7, largest), (5, largest), (0, largest)]


@pytest.mark.parametrize("width", WIDTHS)
def test_marks_include_codes_up_to_the_last_and_the_extra_one(width):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 8, size=77).astype(width)
    for n_rows, last_code, extra_code in [(77, 3, 7), (77, 3, 3), (77, 0, 0), (20, 6, 7), (1, 2, 5)]:
        marks = np.full(80, 9, dtype=np.uint8)
        expected = (codes[:n_rows] <= last_code) | (codes[:n_rows] == extra_code)
        assert node_codes.mark_up_to(codes, n_rows, last_code, extra_code, marks) == expected.sum()
        assert node_codes.count_up_to(codes, n_rows, last_code, extra_code) == expected.sum()
        assert marks[:n_rows].tolist() == expected.tolist()
        assert (marks[n_rows:] == 9).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_gathering_by_row_and_by_column_gives_the_same_codes(width):
    rng = np.random.default_rng(1)
    features = binned_features(rng.integers(0, 200, size=(5, 4000)).astype(width))
    for n_node in (1, node_codes.MAX_ROWS_READ_BY_ROW, node_codes.MAX_ROWS_READ_BY_ROW + 1, 3000):
        rows = rng.permutation(4000)[:n_node].astype(np.uint32)
        for feature in range(5):
            gathered = np.full(4000, 9, dtype=width)
            expected_codes = features.codes[feature, rows]
            assert node_codes.gather_codes(features, feature, rows, gathered) == (
                expected_codes.min(),
                expected_codes.max(),
            )
            np.testing.assert_array_equal(gathered[:n_node], expected_codes)
            assert (gathered[n_node:] == 9).all()
