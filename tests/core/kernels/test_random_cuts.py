"""Random cuts: the distribution of thresholds, the side of each row, and predictions of training rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import core
from core.kernels.criteria.gini import Gini
from core.kernels.criteria.two_sided import Twoing
from core.kernels.growth.tree_nodes import TreeNodes
from core.kernels.search import node_codes, random_cuts, scanning
from tests.core import oracles
from tests.core.growth.grown_trees import at_all_nodes, at_roots
from tests.core.kernels.search_twins import WIDTHS, binned_features, goes_left, packed_rows

N_BINS = 20
no_deadline = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 2**64 - 1)


def generator_state(seed):
    return np.array([seed], dtype=np.uint64)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0.0, 1.0),
        (-1e308, 1e308),
        (1.0, np.nextafter(1.0, 2.0)),
        (-5e-324, 0.0),
        (0.0, 5e-324),
        (-3.0, -2.0),
        (1e308, 1.7e308),
    ],
)
def test_thresholds_are_drawn_from_a_half_open_interval(low, high):
    state = generator_state(1)
    with np.errstate(over="ignore"):
        drawn = [random_cuts.draw_threshold(low, high, state) for _ in range(300)]
    assert all(low <= threshold < high for threshold in drawn)
    assert len(set(drawn)) > 250 or np.nextafter(low, high) == high


def test_thresholds_are_drawn_uniformly():
    state = generator_state(2)
    with np.errstate(over="ignore"):
        drawn = np.array([random_cuts.draw_threshold(-1.0, 3.0, state) for _ in range(8000)])
    counts = np.histogram(drawn, bins=8, range=(-1.0, 3.0))[0]
    assert abs(counts - 1000).max() < 150


@no_deadline
@given(st.lists(st.integers(0, 100), min_size=2, max_size=30, unique=True), st.data())
def test_last_left_code_is_the_last_bin_that_starts_at_or_below_the_threshold(starts, data):
    bin_low = np.sort(np.array(starts, dtype=np.float64))
    lowest = data.draw(st.integers(0, len(bin_low) - 2))
    highest = data.draw(st.integers(lowest + 1, len(bin_low) - 1))
    threshold = data.draw(st.floats(bin_low[lowest], bin_low[highest], exclude_max=True))
    expected = max(code for code in range(lowest, highest) if bin_low[code] <= threshold)
    assert random_cuts.last_code_below(bin_low, lowest, highest, threshold) == expected


@st.composite
def lossy_nodes(draw):
    """Draw a node with one feature, whose bins hold several values: codes, classes and integer weights.

    Codes are not all equal, and some may be missing.
    """
    n_rows = draw(st.integers(2, 70))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(0, draw(st.integers(1, N_BINS - 1)), size=n_rows, endpoint=True)
    if draw(st.booleans()):
        codes[rng.random(n_rows) < 0.3] = N_BINS
    codes[:2] = [0, 1] if codes.min() == codes.max() else codes[:2]
    features = binned_features(codes.astype(draw(st.sampled_from(WIDTHS[:2])))[np.newaxis], [N_BINS])
    ends = np.sort(rng.permutation(np.arange(4 * N_BINS))[: 2 * N_BINS]) / 4
    features = features._replace(bin_low=ends[::2].copy(), bin_high=ends[1::2].copy())
    n_classes = draw(st.integers(2, 4))
    classes = rng.integers(0, n_classes, size=n_rows).astype(np.uint16)
    return features, classes, rng.integers(1, 4, size=n_rows).astype(np.float64), n_classes


def cut_of_node(node, criterion, min_rows, seed, packs):
    """Return the `random_cut` of the only feature of a node."""
    features, classes, weights, n_classes = node
    codes = features.codes[0]
    class_weights = np.bincount(classes, weights, n_classes).astype(np.float64)
    totals = scanning.NodeTotals(len(codes), float(weights.sum()), class_weights, 0.0)
    packed = packed_rows(classes, weights, n_classes)
    assert packed.n_fitting > 0
    packed = packed if packs else packed._replace(n_fitting=0)
    rows = np.arange(len(codes), dtype=np.uint32)
    with np.errstate(over="ignore"):
        return random_cuts.random_cut(
            criterion,
            totals,
            features,
            0,
            codes,
            int(codes.min()),
            int(codes.max()),
            node_codes.NodeRows(rows, classes, weights),
            packed,
            min_rows,
            generator_state(seed),
            scanning.new_scan_workspace(2 * len(codes), n_classes),
            scanning.NO_CUT,
        )


def side_weights(node, cut):
    """Return the class weights of both sides, and the number of rows that go left."""
    features, classes, weights, n_classes = node
    left = np.array([goes_left(c, cut.last_left_code, N_BINS, cut.missing_goes_left) for c in features.codes[0]])
    sides = [np.bincount(classes[side], weights[side], n_classes) for side in (left, ~left)]
    return sides, int(left.sum())


@no_deadline
@given(lossy_nodes(), seeds, st.integers(1, 3), st.sampled_from([("gini", Gini()), ("twoing", Twoing())]))
def test_objective_and_threshold_of_a_random_cut_match_its_sides(node, seed, min_rows, named_criterion):
    kind, criterion = named_criterion
    features, codes = node[0], node[0].codes[0]
    cut = cut_of_node(node, criterion, min_rows, seed, packs=True)
    assert repr(cut) == repr(cut_of_node(node, criterion, min_rows, seed, packs=False))  # NaN equals NaN
    present = np.unique(codes[codes < N_BINS])
    if cut.feature < 0:
        assert min_rows > 1
        return
    sides, n_left = side_weights(node, cut)
    assert min_rows <= n_left <= len(codes) - min_rows
    gain = oracles.gain(kind, *(side.tolist() for side in sides), node[3])
    whole = sides[0] + sides[1]
    gini = whole.sum() - (whole**2).sum() / whole.sum()
    measured = (gini - cut.objective) / whole.sum() if kind == "gini" else -cut.objective
    assert measured == pytest.approx(gain, abs=1e-10)
    if len(present) == 1:
        assert (cut.threshold, cut.last_left_code, cut.missing_goes_left) == (np.inf, present[0], False)
        return
    assert features.bin_low[present[0]] <= cut.threshold < features.bin_low[present[-1]]
    for code in present:  # any value of a bin goes to the side of its code
        for value in (features.bin_low[code], features.bin_high[code]):
            assert (value <= cut.threshold) == (code <= cut.last_left_code)


@no_deadline
@given(lossy_nodes(), seeds)
def test_missing_values_go_to_the_side_with_the_lower_objective(node, seed):
    cut = cut_of_node(node, Gini(), 1, seed, packs=True)
    codes = node[0].codes[0]
    if N_BINS not in codes or len(np.unique(codes)) == 2:
        assert not cut.missing_goes_left
        return
    both = [side_weights(node, cut._replace(missing_goes_left=side))[0] for side in (False, True)]
    risks = [sum(side.sum() - (side**2).sum() / side.sum() for side in sides if side.sum()) for sides in both]
    assert cut.objective == pytest.approx(min(risks), abs=1e-9)
    assert cut.missing_goes_left == (risks[1] < risks[0] - 1e-9)


def test_cut_of_a_single_value_separates_it_from_missing_values():
    codes = np.array([4, N_BINS, 4, N_BINS], dtype=np.uint8)
    node = binned_features(codes[np.newaxis], [N_BINS]), np.array([0, 1, 0, 1], dtype=np.uint16), np.ones(4), 2
    cut = cut_of_node(node, Gini(), 1, 0, packs=True)
    assert (cut.threshold, cut.last_left_code, cut.missing_goes_left, cut.objective) == (np.inf, 4, False, 0.0)
    assert cut_of_node(node, Gini(), 3, 0, packs=True).feature == -1


@pytest.mark.parametrize("width", [np.float32, np.float64])
@pytest.mark.parametrize("max_bins", [2, 7, 256, None])
@pytest.mark.parametrize("missing", [False, True])
def test_predictions_put_training_rows_into_their_leaves(width, max_bins, missing):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 4)).astype(width)
    y = rng.integers(0, 3, 900)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    for seed in range(5):
        tree = core.TreeClassifier(splitter="random", max_bins=max_bins, random_state=seed).fit(X, y).tree_
        leaves = tree.apply(X)
        assert np.isin(tree.children_left[np.unique(leaves)], [-1]).all()
        counts = np.bincount(leaves, minlength=tree.node_count)
        is_leaf = tree.children_left == -1
        assert counts[is_leaf].tolist() == tree.n_node_samples[is_leaf].tolist()
        classes = np.zeros((tree.node_count, 3))
        np.add.at(classes, (leaves, y), 1.0)
        np.testing.assert_allclose(tree.value[is_leaf, 0], classes[is_leaf] / counts[is_leaf, np.newaxis], atol=1e-12)


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 60}, {"min_samples_leaf": 5}, {"bootstrap": True}])
@pytest.mark.parametrize("n_classes", [2, 7, 26])
def test_packed_and_unpacked_rows_give_the_same_trees(n_classes, limits):
    """26 classes have too few bits each to pack a whole tree, but enough to pack nodes with few classes.

    Multiples of one half are not packed, and scale every sum exactly.
    """
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=(1500, 4)), rng.integers(0, 3, size=(1500, 3))])
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0]) * 3 + rng.normal(size=1500)).astype(int) % n_classes
    weights = rng.integers(1, 4, 1500).astype(np.float64)
    forest = core.ExtraTreesClassifier(n_estimators=3, random_state=0, **limits)
    packed, plain = clone(forest).fit(X, y, sample_weight=weights), clone(forest).fit(X, y, sample_weight=weights / 2)
    for column in TreeNodes._fields:
        factor = 2 if column == "weighted_n_node_samples" else 1
        np.testing.assert_array_equal(at_all_nodes(packed, column), factor * at_all_nodes(plain, column))


def test_thresholds_are_within_the_values_of_their_nodes():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(500, 3)), rng.integers(0, 2, 500)
    tree = core.TreeClassifier(splitter="random", max_bins=None, random_state=0).fit(X, y).tree_
    rows = {0: np.arange(500)}
    for node in np.flatnonzero(tree.children_left >= 0):
        column = X[rows[node], tree.feature[node]]
        assert column.min() <= tree.threshold[node] < column.max()
        left = column <= tree.threshold[node]
        rows[tree.children_left[node]], rows[tree.children_right[node]] = rows[node][left], rows[node][~left]


def test_root_thresholds_of_random_trees_are_uniform_over_the_range_of_values():
    X = np.concatenate([np.zeros(990), np.linspace(1, 100, 10)])[:, np.newaxis]
    y = (X[:, 0] > 0) | (np.arange(1000) % 3 == 0)  # each cut has a positive gain
    forest = core.ExtraTreesClassifier(n_estimators=400, max_depth=1, max_bins=None, random_state=0).fit(X, y)
    thresholds = at_roots(forest, "threshold")
    assert (at_roots(forest, "feature") == 0).all()
    assert abs(np.median(thresholds) - 50) < 10
    assert thresholds.min() < 10
    assert thresholds.max() > 90
