"""Entries, allowed cuts, scans and packed sums, compared with plain Python versions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.criteria.gini import Gini
from core.kernels.criteria.two_sided import Twoing
from core.kernels.search import cut_ranges, entries, packed_sums, scanning, search_workspace, splitting
from core.kernels.search.ordering import fill_keys_above, key_code, key_position
from tests.core import oracles
from tests.core.kernels.search_twins import (
    WIDTHS,
    allowed_codes,
    binned_features,
    class_weights_by_code,
    goes_left,
    node_with_rows,
    packed_rows,
)

MISSING = 12
no_deadline = settings(max_examples=60, deadline=None)


def list_node_entries(codes, node, n_classes):
    """Return the entries of a node as {(code, class): weight}, the codes in order, and whether they are sums."""
    workspace = entries.new_entry_workspace(len(codes))
    n_entries, is_summed = entries.list_entries(codes, node, n_classes, int(codes.min()), int(codes.max()), workspace)
    classes, weights = (workspace.classes, workspace.weights) if is_summed else (node.classes, node.weights)
    positions = [key_position(key) for key in workspace.keys[:n_entries].tolist()]
    in_order = [key_code(key) for key in workspace.keys[:n_entries].tolist()]
    assert not workspace.table.any(), "the next feature needs an empty table"
    return class_weights_by_code(in_order, classes[positions], weights[positions]), in_order, is_summed


@st.composite
def nodes(draw, most_codes=MISSING + 1, most_rows=60):
    """Draw codes of one feature, not all equal, with classes and weights in eighths."""
    n_rows = draw(st.integers(2, most_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(0, draw(st.integers(1, most_codes - 1)), size=n_rows, endpoint=True)
    codes[:2] = [codes[:2].min(), codes[:2].min() + 1] if codes.min() == codes.max() else codes[:2]
    n_classes = draw(st.integers(1, 4))
    classes = rng.integers(0, n_classes, size=n_rows)
    return codes.astype(draw(st.sampled_from(WIDTHS[:2]))), classes, rng.integers(1, 17, size=n_rows) / 8, n_classes


@no_deadline
@given(nodes(most_codes=60), st.integers(0, 150))
def test_entries_hold_the_class_weights_of_every_code_but_the_lowest(node, offset):
    codes, classes, weights, n_classes = node
    codes = codes + codes.dtype.type(offset)
    expected = class_weights_by_code(codes, classes, weights)
    entry_weights, in_order, _ = list_node_entries(codes, node_with_rows(classes, weights), n_classes)
    assert entry_weights == {key: weight for key, weight in expected.items() if key[0] > codes.min()}
    assert in_order == sorted(in_order)


@pytest.mark.parametrize(("n_codes", "is_summed"), [(8, True), (4000, False)])
def test_entries_are_summed_only_for_few_codes(n_codes, is_summed):
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.resize(np.arange(n_codes), 4000)).astype(np.uint16)
    node = node_with_rows(rng.integers(0, 3, 4000), rng.integers(1, 5, 4000))
    entry_weights, in_order, class_sums = list_node_entries(codes, node, 3)
    assert class_sums is is_summed
    assert len(in_order) == ((n_codes - 1) * 3 if is_summed else 3999)
    expected = class_weights_by_code(codes, node.classes, node.weights)
    assert entry_weights == {key: weight for key, weight in expected.items() if key[0] > 0}


def cut_range_by_rows(codes, min_rows, missing_goes_left):
    """Return `cut_range_from_rows` after the entries of the node were listed row by row."""
    workspace = entries.new_entry_workspace(len(codes))
    n_keys = fill_keys_above(codes, len(codes), int(codes.min()), workspace.unordered)
    keys = np.sort(workspace.unordered[:n_keys])
    n_scanned = n_keys - int((codes == MISSING).sum()) * missing_goes_left
    return cut_ranges.cut_range_from_rows(keys, n_scanned, len(codes), int(codes.min()), min_rows, missing_goes_left)


def cut_range_by_sums(codes, min_rows, missing_goes_left):
    """Return `cut_range_from_counts` after the codes of the node were counted."""
    lowest, highest = int(codes.min()), int(codes.max())
    counts = np.full(MISSING + 1, -1, dtype=np.int32)
    cut_ranges.count_codes(codes, len(codes), lowest, highest - lowest + 1, counts)
    n_missing = int((codes == MISSING).sum())
    return cut_ranges.cut_range_from_counts(
        counts, highest - lowest + 1, n_missing, lowest, min_rows, missing_goes_left
    )


@no_deadline
@given(nodes(most_rows=16), st.integers(2, 6), st.booleans(), st.booleans())
def test_allowed_cuts_are_those_that_leave_enough_rows_on_both_sides(node, min_rows, missing, missing_goes_left):
    codes = node[0] if missing else np.minimum(node[0], MISSING - 1)
    if codes.min() == MISSING:
        codes[0] = 0
    missing_goes_left &= bool((codes == MISSING).any())
    expected = allowed_codes(codes.tolist(), MISSING, min_rows, missing_goes_left)
    for cut_range in (cut_range_by_rows, cut_range_by_sums):
        cuts = cut_range(codes, min_rows, missing_goes_left)
        assert {c for c in range(codes.min(), MISSING) if cuts.first <= c < cuts.end} == expected
        assert cuts.missing_goes_left == missing_goes_left


def best_plain_gain(kind, codes, classes, weights, n_classes, min_rows):
    """Return the largest gain per weight of all cuts of one feature, by the formulas of the oracles.

    It is -inf if no cut is allowed.
    """
    best = -math.inf
    for missing_goes_left in (False, True) if MISSING in codes else (False,):
        for last in allowed_codes(codes, MISSING, min_rows, missing_goes_left):
            sides = [[0.0] * n_classes, [0.0] * n_classes]
            for code, k, weight in zip(codes, classes, weights, strict=True):
                sides[not goes_left(code, last, MISSING, missing_goes_left)][k] += weight
            if all(map(sum, sides)):
                best = max(best, oracles.gain(kind, *sides, n_classes))
    return best


def node_totals(classes, weights, n_classes):
    class_weights = np.bincount(classes, weights, n_classes).astype(np.float64)
    gini = 1 - ((class_weights / class_weights.sum()) ** 2).sum()
    return scanning.NodeTotals(len(classes), float(class_weights.sum()), class_weights, float(gini))


@no_deadline
@given(nodes(), st.sampled_from([("gini", Gini()), ("twoing", Twoing())]), st.integers(1, 4))
def test_scan_finds_the_best_cut(node, named_criterion, min_rows):
    codes, classes, weights, n_classes = node
    kind, criterion = named_criterion
    features = binned_features(codes[np.newaxis], [MISSING])
    workspace = search_workspace.new_search_workspace(features, len(codes), n_classes, random_cuts=False)
    totals = node_totals(classes, weights, n_classes)
    cut = splitting.best_cut(
        criterion,
        totals,
        0,
        codes,
        int(codes.min()),
        int(codes.max()),
        MISSING,
        node_with_rows(classes, weights),
        min_rows,
        workspace,
        scanning.NO_CUT,
    )
    best = best_plain_gain(kind, codes.tolist(), classes.tolist(), weights.tolist(), n_classes, min_rows)
    if cut.feature < 0:
        assert best == -math.inf
        return
    gain = totals.impurity - cut.objective / totals.weight if kind == "gini" else -cut.objective
    assert gain == pytest.approx(best, abs=1e-10)
    assert cut.last_left_code in allowed_codes(codes.tolist(), MISSING, min_rows, cut.missing_goes_left)
    assert cut.next_code == codes[codes > cut.last_left_code].min()


def test_cuts_are_preferred_by_objective_then_feature_then_threshold():
    best = scanning.Cut(3, 1.0, 5, 6, False, math.nan)
    for children, feature, code, expected in [
        (0.9, 9, 9, True),
        (1.1, 0, 0, False),
        (1.0 - 1e-13, 9, 0, False),
        (1.0 + 1e-13, 2, 9, True),
        (1.0, 3, 4, True),
        (1.0, 3, 5, False),
        (1.0, 4, 0, False),
    ]:
        assert scanning.beats(children, feature, code, best, 1e-12) is expected
    assert scanning.beats(1e300, 7, 7, scanning.NO_CUT, 1e-12)


def class_sums_up_to(codes, packed, last_code, extra_code):
    class_weights = np.full(len(packed.lanes), -1.0)
    with np.errstate(over="ignore"):
        packed_sums.sum_up_to(codes, packed, last_code, extra_code, class_weights)
    return class_weights.tolist()


def class_sums(packed):
    class_weights = np.full(len(packed.lanes), -1.0)
    packed_sums.sum_words(packed, class_weights)
    return class_weights.tolist()


@no_deadline
@given(
    st.integers(1, 700), st.integers(1, 70), st.sampled_from([1, 2, 15, 16, 4000]), st.booleans(), st.integers(0, 2**32)
)
def test_packed_sums_equal_plain_sums_if_rows_can_be_packed(n_rows, n_classes, max_weight, integer_weights, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, MISSING, size=n_rows, endpoint=True).astype(WIDTHS[seed % 2])
    classes = rng.integers(0, n_classes, size=n_rows).astype(np.uint16)
    weights = rng.integers(1, max_weight, size=n_rows, endpoint=True) / (1.0 if integer_weights else 2.0)
    packed = packed_rows(classes, weights, n_classes)
    n_fitting = packed.n_fitting
    limit = 2 ** min(64 // n_classes, 32)
    fits = limit // weights.max() > packed_sums.MIN_ROWS_PER_SUM and (weights % 1 == 0).all()
    assert (n_fitting >= packed_sums.MIN_ROWS_PER_SUM) == (n_fitting > 0) == fits
    assert n_fitting * weights.max() < limit
    if n_fitting:
        assert class_sums(packed) == np.bincount(classes, weights, n_classes).tolist()
        lanes = np.flatnonzero(rng.random(n_classes) < 0.5)
        for last_code, extra_code in [(0, MISSING), (5, 5), (MISSING - 1, MISSING), (7, MISSING)]:
            included = (codes <= last_code) | (codes == extra_code)
            expected = np.bincount(classes[included], weights[included], n_classes)
            assert class_sums_up_to(codes, packed, last_code, extra_code) == expected.tolist()
            selected = packed._replace(lanes=lanes)
            assert class_sums_up_to(codes, selected, last_code, extra_code) == expected[lanes].tolist()


def test_full_block_does_not_overflow_into_the_next_class():
    n_rows, n_classes = 2000, 8
    classes = np.zeros(n_rows, dtype=np.uint16)
    for max_weight in (1.0, 3.0, 5.0, 15.0):
        packed = packed_rows(classes, np.full(n_rows, max_weight), n_classes)
        assert packed_sums.MIN_ROWS_PER_SUM <= packed.n_fitting < 2**8 / max_weight
        expected = [n_rows * max_weight, *[0.0] * 7]
        assert class_sums(packed) == class_sums_up_to(np.zeros(n_rows, dtype=np.uint8), packed, 0, 0) == expected
