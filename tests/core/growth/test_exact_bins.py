"""Exact bins (`max_bins=None`): every distinct value is a candidate for the threshold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import core
from core.growth.binning import bin_features
from tests.core.growth.grown_trees import node_bytes
from tests.core.kernels.search_twins import WIDTHS, bin_features_as


def continuous_rows(seed, n_rows=3000, width=np.float64, missing=0.0):
    """Return features of more than 256 values that are distinct as float32, and noisy labels."""
    rng = np.random.default_rng(seed)
    columns = [rng.permutation(n_rows) + rng.uniform(0.1, 0.9, n_rows) for _ in range(4)]
    X = (np.stack(columns, axis=1) / n_rows).astype(width)
    y = (X[:, :3] + rng.normal(scale=0.3, size=(n_rows, 3))).argmax(axis=1)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, rng.integers(512, 2048, size=n_rows) / 1024


@pytest.mark.parametrize("width", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("seed", range(3))
def test_trees_equal_those_of_scikit_learn(width, missing, seed):
    X, y, weights = continuous_rows(seed, width=width, missing=missing)
    limits = {"max_depth": 6, "min_samples_leaf": 15}
    ours = core.TreeClassifier(max_bins=None, **limits).fit(X, y, weights).tree_
    theirs = DecisionTreeClassifier(random_state=0, **limits).fit(X, y, weights).tree_
    assert ours.node_count > 40
    for name in ("children_left", "children_right", "feature", "n_node_samples"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name
    inner = ours.feature >= 0
    np.testing.assert_allclose(ours.threshold[inner], theirs.threshold[inner], atol=1e-6)
    np.testing.assert_allclose(ours.value, theirs.value, atol=1e-9)


@pytest.mark.parametrize(("n_distinct", "width"), [(257, np.uint16), (2**16, np.uint16), (2**16 + 1, np.uint32)])
@pytest.mark.parametrize("missing", [0, 3])
def test_every_value_has_its_own_code(n_distinct, width, missing):
    rng = np.random.default_rng(0)
    values = np.sort(rng.permutation(4 * n_distinct)[:n_distinct] / 8.0)
    column = rng.permutation(np.concatenate([values, values[:50], [np.nan] * missing]))
    bins = bin_features(np.stack([column, column > 3], axis=1), None)
    assert bins.codes.dtype == (np.uint32 if n_distinct + (missing > 0) > 2**16 else width)
    assert bins.n_bins.tolist() == [n_distinct, 2]
    decoded = np.append(bins.bin_low[:n_distinct], np.nan)[bins.codes[0].astype(int)]
    np.testing.assert_array_equal(decoded, column)
    np.testing.assert_array_equal(bins.bin_low, bins.bin_high)
    np.testing.assert_array_equal(bins.codes_by_row[:, :2], bins.codes.T)


@pytest.mark.parametrize("n_features", [1, 2, 3, 32, 33, 54, 64, 65, 100])
@pytest.mark.parametrize("max_bins", [200, None])
def test_short_rows_of_codes_do_not_cross_a_cache_line(n_features, max_bins):
    X = np.random.default_rng(0).normal(size=(300, n_features))
    by_row = bin_features(X, max_bins).codes_by_row
    np.testing.assert_array_equal(by_row[:, :n_features], bin_features(X, max_bins).codes.T)
    assert by_row.flags.c_contiguous
    first = by_row.ctypes.data + np.arange(300) * by_row.strides[0]
    last = first + n_features * by_row.itemsize - 1
    if n_features * by_row.itemsize <= 64:
        assert (first // 64 == last // 64).all()
    else:
        assert by_row.shape[1] == n_features


@pytest.mark.parametrize("n_distinct", [2000, 2**16 + 5])
@pytest.mark.parametrize("missing", [0, 4])
def test_split_between_any_two_values_is_possible(n_distinct, missing):
    column = np.random.default_rng(1).permutation(np.concatenate([np.arange(n_distinct) * 1.0, [np.nan] * missing]))
    for last_left in (0, 1, n_distinct // 3, n_distinct - 2):
        y = ~(column <= last_left)  # missing values belong to the larger values
        tree = core.TreeClassifier(max_bins=None).fit(column[:, np.newaxis], y).tree_
        assert (tree.node_count, tree.threshold[0]) == (3, last_left + 0.5)
        assert tree.n_node_samples.tolist() == [
            n_distinct + missing,
            last_left + 1,
            n_distinct + missing - last_left - 1,
        ]
        assert missing == 0 or tree.missing_go_to_left[0] == 0


@pytest.mark.parametrize("n_distinct", [2, 255, 256])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_exact_bins_of_few_values_equal_the_default_bins(n_distinct, missing, splitter):
    rng = np.random.default_rng(n_distinct)
    X = rng.integers(0, n_distinct, size=(1500, 3)) / 7
    X[:n_distinct, 0] = np.arange(n_distinct) / 7
    y = (X[:, 0] > X[:, 1]) ^ (rng.random(1500) < 0.2)
    X[n_distinct:][rng.random((1500 - n_distinct, 3)) < missing] = np.nan
    limited, free = (core.TreeClassifier(max_bins=n, splitter=splitter, random_state=0).fit(X, y) for n in (256, None))
    assert node_bytes(limited) == node_bytes(free)


#: Options of the search and of growth, and the widths of codes for which they are compiled. The search reads the codes;
#: the order of the nodes does not depend on them, so that best-first growth is tested with one other width.
SEARCHES = [
    ({"splitter": "best"}, WIDTHS),
    ({"splitter": "random"}, WIDTHS),
    ({"splitter": "best", "max_features": 2, "min_samples_leaf": 3}, WIDTHS),
    ({"splitter": "random", "max_features": 2, "max_leaf_nodes": 6, "min_samples_leaf": 2}, WIDTHS[:2]),
]


def nodes_with(width, search, X, y, weights):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.growth.growth_problem.bin_features", bin_features_as(width))
        return node_bytes(core.TreeClassifier(random_state=1, max_bins=None, **search).fit(X, y, weights))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(SEARCHES), st.booleans(), st.sampled_from([40, 1100]))
def test_trees_do_not_depend_on_the_width_of_codes(seed, search_and_widths, missing, n_rows):
    """Properties that are tested with narrow codes therefore hold with wide ones."""
    search, widths = search_and_widths
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(2, 200), size=(n_rows, 5)) / 8
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    y, weights = rng.integers(0, 3, size=n_rows), rng.integers(1, 17, size=n_rows) / 8
    assert len({tuple(nodes_with(width, search, X, y, weights)) for width in widths}) == 1


def test_forest_with_wide_codes_does_not_depend_on_the_number_of_threads():
    X, y, _ = continuous_rows(7, 2500, missing=0.05)
    forests = [
        core.ForestClassifier(n_estimators=6, max_bins=None, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2, 4)
    ]
    assert node_bytes(forests[0]) == node_bytes(forests[1]) == node_bytes(forests[2])
