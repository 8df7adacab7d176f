"""Prediction layout compared bit by bit with a plain traversal, for any type, order and number of rows."""

import copy
import gc
import math
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

import core
from core.growth import voting
from core.growth.tree_structure import Tree, Trees
from core.growth.voting import packed_trees, packed_votes, votes
from core.kernels.growth.tree_nodes import GrowingNodes, TreeNodes
from core.kernels.prediction.traversal import WALKS
from core.kernels.row_scans import has_infinity, narrow_exactly
from tests.core.growth.grown_trees import compact, leaf_distributions
from tests.core.kernels.search_twins import preorder, renumbered
from tests.core.oracles import find_leaf

INF, NAN = math.inf, math.nan
F32, F64 = np.dtype("f4"), np.dtype("f8")


def made_tree(left, right, feature, threshold, missing=None, value=None, samples=None, in_order=True) -> TreeNodes:
    n = len(left)
    nodes = GrowingNodes(
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.array(feature, np.int32),
        np.array(threshold, np.float64),
        np.array(missing if missing is not None else [0] * n, np.uint8),
        np.array(value if value is not None else np.random.default_rng(n).dirichlet([1, 1, 1], n), np.float64),
        np.zeros(n),
        np.array(samples if samples is not None else [1] * n, np.int32),
        np.ones(n),
    )
    order = np.array(preorder(nodes) if not in_order else range(n))
    return compact(renumbered(nodes, np.argsort(order).astype(np.int32)))


def random_tree(rng, n_inner, n_features, n_classes, grid) -> TreeNodes:
    """Return a tree of random shape with thresholds from `grid`, in which some leaves are pure."""
    left, right = [-1], [-1]
    for _ in range(n_inner):
        leaves = [i for i, child in enumerate(left) if child == -1]
        parent = leaves[rng.integers(len(leaves))]
        left[parent], right[parent] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    n = len(left)
    inner = np.array(left) != -1
    value = rng.dirichlet(np.ones(n_classes), n)
    pure = rng.random(n) < 0.5
    value[pure] = np.eye(n_classes)[rng.integers(n_classes, size=pure.sum())]
    return made_tree(
        left,
        right,
        np.where(inner, rng.integers(n_features, size=n), -2),
        np.where(inner, rng.choice(grid, n), 0.0),
        np.where(inner, rng.integers(2, size=n), 0),
        value,
        rng.integers(1, 100, n),
        in_order=False,
    )


def own_value(value):
    return value


def plain_votes(X, trees: Trees, vote=own_value):
    """Return the mean votes, computed row by row and tree by tree with Python floats."""
    out, shown = [], [Tree(nodes, X.shape[1]) for nodes in trees]
    for row in X.astype(np.float64).tolist():
        sums = [0.0] * trees[0].impure_distributions.shape[1]
        for nodes, tree in zip(trees, shown, strict=True):
            leaf_vote = vote(leaf_distributions(nodes))[find_leaf(tree, row)].tolist()
            sums = [a + b for a, b in zip(sums, leaf_vote, strict=True)]
        out.append([total / len(trees) for total in sums])
    return np.array(out)


GRID = np.array([0.1, 0.5, 1.0, 1 / 3, -2.7, 16777217.0, 1e-50, 1e300, -1e300, INF])


def neighborhood(grid, width):
    """Return the thresholds in the type `width` and their nearest neighbors on both sides."""
    with np.errstate(over="ignore"):
        near = grid.astype(width)
    near = near[np.isfinite(near)]
    up, down = (np.nextafter(near, np.array(to, dtype=width)) for to in (INF, -INF))
    values = np.concatenate([near, up, down, np.array([NAN, 0.0, -0.0], dtype=width)])
    return values[~np.isinf(values)]


@pytest.mark.parametrize("width", [F32, F64], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_votes_equal_those_of_a_plain_traversal(width, seed):
    rng = np.random.default_rng(seed)
    n_classes = [1, 2, 3, 40, 2, 5][seed]
    trees = tuple(random_tree(rng, rng.integers(0, 60), 4, n_classes, GRID) for _ in range(7))
    X = rng.choice(neighborhood(GRID, width), (150, 4)).astype(width)
    assert votes(X, trees, own_value).tobytes() == plain_votes(X, trees).tobytes()


@pytest.mark.parametrize("width", [F32, F64], ids=str)
def test_values_near_a_threshold_are_compared_as_float64(width):
    for threshold in GRID:
        tree = made_tree([1, -1, -1], [2, -1, -1], [0, -2, -2], [threshold, 0, 0], value=np.eye(3))
        column = neighborhood(np.append(GRID, threshold), width)
        goes_left = votes(column[:, np.newaxis], (tree,), own_value)[:, 1] == 1
        assert goes_left.tolist() == [float(x) <= threshold for x in column]


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("threshold", [0.5, INF])
def test_missing_values_go_to_the_child_chosen_in_training(missing_left, threshold):
    tree = made_tree([1, -1, -1], [2, -1, -1], [0, -2, -2], [threshold, 0, 0], [missing_left, 0, 0], np.eye(3))
    side = votes(np.array([[NAN], [0.0]]), (tree,), own_value).argmax(axis=1)
    assert side.tolist() == [1 if missing_left else 2, 1]


def test_tree_of_one_leaf_votes():
    trees = tuple(made_tree([-1], [-1], [-2], [0], value=[[0.25, 0.75]]) for _ in range(3))
    assert votes(np.zeros((2, 1)), trees, own_value).tolist() == [[0.25, 0.75]] * 2


def test_leaf_votes_may_differ_from_node_values_and_need_not_be_probabilities():
    rng = np.random.default_rng(0)
    trees = tuple(random_tree(rng, 20, 2, 3, GRID[:4]) for _ in range(3))
    X = rng.normal(size=(30, 2))

    def vote(value):
        return np.array([0.0, -1.5, 1.0, -0.0, 2.0])[(value * 1e6).astype(np.int64) % 5]

    assert len(np.unique(np.concatenate([vote(leaf_distributions(nodes)) for nodes in trees]))) == 4
    assert votes(X, trees, vote).tobytes() == plain_votes(X, trees, vote).tobytes()


def test_tree_of_a_thousand_levels():
    depth = 1000
    left = [i for d in range(depth) for i in (2 * d + 1, -1)] + [-1]
    right = [i for d in range(depth) for i in (2 * d + 2, -1)] + [-1]
    left, right = np.array(left), np.array(right)
    thresholds = np.where(left != -1, np.arange(2 * depth + 1) / 2, 0.0)
    chain = (made_tree(left, right, np.where(left != -1, 0, -2), thresholds),)
    X = np.arange(-1.0, depth + 2, 0.5)[:, np.newaxis]
    assert votes(X, chain, own_value).tobytes() == plain_votes(X, chain).tobytes()


@pytest.fixture(scope="module")
def forest_and_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3 * WALKS + 7, 5))
    X[rng.random(X.shape) < 0.05] = NAN
    y = (np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) > 0).astype(int) + (rng.random(len(X)) < 0.3)
    return core.ForestClassifier(n_estimators=9, random_state=0).fit(X[:400], y[:400]), X


@pytest.mark.parametrize("width", [F32, F64], ids=str)
@pytest.mark.parametrize("n_rows", [1, 3, WALKS - 1, WALKS, WALKS + 1])
def test_any_number_of_rows_gives_the_same_bytes(forest_and_rows, width, n_rows):
    forest, X = forest_and_rows
    X = X.astype(width)
    everything = forest.predict_proba(X)
    parts = [forest.predict_proba(X[first : first + n_rows]) for first in range(0, 2 * WALKS, n_rows)]
    together = np.concatenate(parts)
    assert together.tobytes() == everything[: len(together)].tobytes()


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_votes_do_not_depend_on_the_number_of_threads(forest_and_rows, n_jobs):
    forest, X = forest_and_rows
    expected = forest.predict_proba(X).tobytes()
    assert copy.copy(forest).set_params(n_jobs=n_jobs).predict_proba(X).tobytes() == expected


def test_votes_do_not_depend_on_memory_layout(forest_and_rows, tmp_path):
    forest, X = forest_and_rows
    expected = forest.predict_proba(X).tobytes()
    read_only = X.copy()
    read_only.flags.writeable = False
    np.save(tmp_path / "X.npy", X)
    mapped = [np.load(tmp_path / "X.npy", mmap_mode=mode) for mode in ("r", "c")]
    padded = np.zeros((len(X), 9))[:, 2:7]
    padded[:] = X
    for other in [read_only, *mapped, np.asfortranarray(X), padded, X.astype(">f8"), X.tolist()]:
        assert forest.predict_proba(other).tobytes() == expected


def test_integers_of_any_type_have_the_same_votes(forest_and_rows):
    forest, X = forest_and_rows
    whole = np.nan_to_num(np.round(4 * X))
    expected = forest.predict_proba(whole).tobytes()
    direct = packed_votes(whole, packed_trees(forest.trees_, own_value, F64)).tobytes()
    assert direct == expected
    for kind in [np.int8, np.int64, np.float32]:
        assert forest.predict_proba(whole.astype(kind)).tobytes() == expected


def test_rows_are_converted_to_float32_only_if_exact():
    X = np.array([[1.0, NAN, -0.0, 2.0**24], [0.5, 2.0**-149, 2.0**127, -7.0]])
    out = np.empty(X.shape, np.float32)
    assert narrow_exactly(X, out)
    assert out.astype(np.float64).tobytes() == X.tobytes()
    for inexact in [0.1, 2.0**24 + 1, 1e300, 1e-300]:
        X[1, 2] = inexact
        with np.errstate(over="ignore"):
            assert not narrow_exactly(X, out)


@pytest.mark.parametrize("width", [F32, F64], ids=str)
@pytest.mark.parametrize("bad", [INF, -INF])
def test_infinity_is_refused_in_any_position(forest_and_rows, width, bad):
    forest, X = forest_and_rows
    X = X.astype(width)
    assert not has_infinity(X)
    for row in [0, len(X) - 1]:
        broken = X.copy()
        broken[row, 4] = bad
        for rows in [broken, broken[row : row + 1].copy()]:
            with pytest.raises(ValueError, match="infinity"):
                forest.predict_proba(rows)


def test_invalid_shapes_are_refused(forest_and_rows):
    forest, X = forest_and_rows
    for invalid in [X[:, :4].copy(), X[0], X[:0], X[np.newaxis]]:
        with pytest.raises(ValueError, match=r"features|2D|dim|minimum"):
            forest.predict_proba(invalid)


def test_missing_feature_names_give_a_warning():
    tree = core.TreeClassifier().fit(np.eye(3), [0, 1, 2])
    tree.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    with pytest.warns(UserWarning, match="feature names"):
        tree.predict_proba(np.eye(3))


def test_new_fit_replaces_the_layout():
    X = np.array([[0.1], [0.9]])
    tree = core.TreeClassifier().fit(X, [0, 1])
    assert tree.predict(X).tolist() == [0, 1]
    assert tree.fit(X, [1, 0]).predict(X).tolist() == [1, 0]


def test_layout_is_cached_and_freed_with_its_estimator(forest_and_rows):
    forest, X = forest_and_rows
    forest = clone(forest).fit(X[:50], np.arange(50) % 2)
    before = dict(vars(forest))
    n_cached = len(voting._CACHED)
    forest.predict_proba(X)
    layout = voting._CACHED[forest].by_dtype[F64]
    forest.predict_proba(X)
    assert voting._CACHED[forest].by_dtype[F64] is layout
    assert vars(forest) == before
    assert clone(forest) not in voting._CACHED
    assert copy.deepcopy(forest).predict_proba(X).tobytes() == forest.predict_proba(X).tobytes()
    del forest, before
    gc.collect()
    assert len(voting._CACHED) <= n_cached


def test_size_of_the_layout():
    pure = made_tree([1, -1, -1], [2, -1, -1], [0, -2, -2], [0.5, 0, 0], value=np.eye(3))
    for width, n_bytes in [(F32, 16), (F64, 24)]:
        packed = packed_trees((pure,), own_value, width)
        assert packed.nodes.nbytes == (3 + 1) * n_bytes  # a node for each class, and the root
        assert packed.dense_outputs.size == 0


def test_tree_attribute_is_the_same_object_until_the_next_fit():
    """Users may read its attributes node by node."""
    X = np.arange(4.0)[:, np.newaxis]
    model = core.TreeClassifier().fit(X, [0, 0, 1, 1])
    shown = model.tree_
    assert model.tree_ is shown
    assert model.tree_.value is shown.value
    assert shown.value.tolist() == [[[0.5, 0.5]], [[1.0, 0.0]], [[0.0, 1.0]]]
    assert (shown.children_left.tolist(), shown.children_right.tolist()) == ([1, -1, -1], [2, -1, -1])
    assert (shown.n_node_samples.dtype, shown.n_node_samples.tolist()) == (np.int64, [4, 2, 2])
    assert copy.deepcopy(model).tree_ is not shown
    assert model.fit(X, [0, 1, 1, 1]).tree_.value.tolist()[0] == [[0.25, 0.75]]


def test_many_classes_with_few_leaves_take_little_memory():
    n_classes = 20_000
    value = np.zeros((3, n_classes))
    value[1, 7], value[2] = 1.0, 1.0 / n_classes
    stump = made_tree([1, -1, -1], [2, -1, -1], [0, -2, -2], [0.5, 0, 0], value=value)
    tracemalloc.start()
    mean_votes = votes(np.array([[0.0], [1.0]]), (stump,), core.GeneralizedCrossEntropy().vote)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert mean_votes[0, 7] == 1.0
    assert mean_votes[1] == pytest.approx(np.full(n_classes, 1.0 / n_classes))
    assert peak < 64 * 2**20  # a table of the size of the square of the number of classes would take 3 GB
