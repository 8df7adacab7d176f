"""Golden values computed straight from the papers by independent code."""

import numpy as np
import pytest

import core
from core.binning import bin_features
from core.kernels.criteria import node_impurity, side_of, split_gain
from tests.shared_material import reference

BUILT = {"gini", "entropy", "misclassification", "mae", "sqrt_gini", "ne"}


def loss_of(case, name):
    return {"kind": case[name], **case["params"]}


def is_built(case, name):
    return case[name] in BUILT


def test_impurities_match():
    vectors = reference("impurities.json")
    checked = 0
    for counts_key, cases_key in [("counts", "cases"), ("weighted_counts", "weighted_cases")]:
        for case in filter(lambda case: is_built(case, "loss"), vectors[cases_key]):
            for counts, expected in zip(vectors[counts_key], case["values"], strict=True):
                criterion = core.parse_loss(loss_of(case, "loss")).criterion(len(counts))
                got = node_impurity(criterion, np.array(counts, dtype=np.float64))
                assert got == pytest.approx(expected, abs=1e-12), (case["loss"], case["params"], counts)
                checked += 1
    assert checked > 500


def test_impurities_ignore_absent_classes():
    vectors = reference("impurities.json")
    for case in filter(lambda case: is_built(case, "loss"), vectors["cases"]):
        for counts, expected in zip(vectors["counts"], case["values"], strict=True):
            criterion = core.parse_loss(loss_of(case, "loss")).criterion(len(counts))
            present = np.array([count for count in counts if count > 0], dtype=np.float64)
            assert node_impurity(criterion, present) == pytest.approx(expected, abs=1e-12)


def node_data(dataset, node):
    rows = slice(None) if node == "all" else dataset["subset"]
    X, y = np.array(dataset["X"], dtype=float)[rows], np.array(dataset["y"])[rows]
    weights = None if dataset["w"] is None else np.array(dataset["w"], dtype=float)[rows]
    return X, y, weights


def stump(case, dataset, node="all", min_samples_leaf=1):
    """A one-split tree over all classes of the data set: absent ones come in through rows that a class weight of 0
    drops.
    """
    X, y, weights = node_data(dataset, node)
    absent = np.setdiff1d(np.arange(dataset["n_classes"]), y)
    X, y = np.vstack([X, np.zeros((len(absent), X.shape[1]))]), np.concatenate([y, absent])
    weights = np.concatenate([np.ones(len(X) - len(absent)) if weights is None else weights, np.zeros(len(absent))])
    return core.TreeClassifier(loss=loss_of(case, "criterion"), max_depth=1, min_samples_leaf=min_samples_leaf).fit(
        X, y, sample_weight=weights
    )


def test_best_splits_match():
    vectors = reference("splits.json")
    datasets = {dataset["name"]: dataset for dataset in vectors["datasets"]}
    cases = [case for case in vectors["best"] if is_built(case, "criterion")]
    assert len(cases) > 100
    for case in cases:
        tree = stump(case, datasets[case["data"]], case["node"], case["min_samples_leaf"]).tree_
        assert tree.feature[0] == case["feature"], case
        assert tree.threshold[0] == case["threshold"], case
        assert tree.n_node_samples[1] == case["n_left"]
        left = tree.value[1, 0] * tree.weighted_n_node_samples[1]
        np.testing.assert_allclose(left, case["left"], atol=1e-10)
        np.testing.assert_allclose(root_gain(tree), case["gain_node"], atol=1e-10)


def root_gain(tree):
    mass = tree.weighted_n_node_samples * tree.impurity
    return (mass[0] - mass[1] - mass[2]) / tree.weighted_n_node_samples[0]


def test_profiles_of_all_candidate_splits_match():
    vectors = reference("splits.json")
    datasets = {dataset["name"]: dataset for dataset in vectors["datasets"]}
    for case in filter(lambda case: is_built(case, "criterion"), vectors["profiles"]):
        dataset = datasets[case["data"]]
        X, y, weights = node_data(dataset, "all")
        weights = np.ones(len(y)) if weights is None else weights
        n_classes = dataset["n_classes"]
        criterion = core.parse_loss(loss_of(case, "criterion")).criterion(n_classes)
        parent = node_impurity(criterion, np.bincount(y, weights, n_classes))
        for feature, threshold, expected in case["splits"]:
            goes_left = X[:, int(feature)] <= threshold
            left = np.bincount(y[goes_left], weights[goes_left], n_classes)
            right = np.bincount(y[~goes_left], weights[~goes_left], n_classes)
            got = split_gain(criterion, parent, side_of(criterion, left), side_of(criterion, right))
            assert got == pytest.approx(expected, abs=1e-10)


def test_thresholds_of_profiles_are_the_candidates():
    vectors = reference("splits.json")
    datasets = {dataset["name"]: dataset for dataset in vectors["datasets"]}
    for case in vectors["profiles"]:
        X = np.array(datasets[case["data"]]["X"], dtype=float)
        bins = bin_features(X, 256)
        found = set()
        for feature in range(X.shape[1]):
            values = bins.bin_low[bins.bin_offsets[feature] : bins.bin_offsets[feature + 1]]
            found |= {(feature, threshold) for threshold in (values[1:] + values[:-1]) / 2}
        assert found == {(int(feature), threshold) for feature, threshold, _ in case["splits"]}


def test_ties_go_to_the_lower_feature_then_the_lower_threshold():
    for case in filter(lambda case: is_built(case, "criterion"), reference("splits.json")["ties"]):
        if case["kind"] == "equal_columns":
            tree = stump(case, {**case, "w": None, "subset": None}).tree_
            assert (tree.feature[0], tree.threshold[0]) == (case["feature"], case["threshold"])
            assert root_gain(tree) == pytest.approx(case["gain_node"], abs=1e-10)


def test_symmetric_labels_tie_and_the_lower_threshold_wins():
    mirrors = [case for case in reference("splits.json")["ties"] if case["kind"] == "mirror"]
    for case in filter(lambda case: is_built(case, "criterion"), mirrors):
        X = np.array(case["X"], dtype=float)
        tree = stump(case, {**case, "w": None, "subset": None}).tree_
        mirrored = stump(case, {**case, "X": -X, "w": None, "subset": None}).tree_
        assert root_gain(tree) == pytest.approx(root_gain(mirrored), abs=1e-12)
        assert tree.threshold[0] == mirrored.threshold[0] + X.min() + X.max()


def expected_arrays(case):
    nodes = case["nodes"]
    inner = [node for node in nodes if not node["leaf"]]
    return {
        "children_left": [node.get("left", -1) for node in nodes],
        "children_right": [node.get("right", -1) for node in nodes],
        "feature": [node.get("feature", -2) for node in nodes],
        "n_node_samples": [node["n"] for node in nodes],
        "threshold_of_inner": [node["threshold"] for node in inner],
        "counts": [node["counts"] for node in nodes],
        "impurity": [node["impurity"] for node in nodes],
    }


def test_trees_match_node_for_node():
    cases = [case for case in reference("trees.json")["trees"] if is_built(case, "criterion")]
    assert len(cases) == 24
    for case in cases:
        classifier = core.TreeClassifier(
            loss=loss_of(case, "criterion"),
            max_depth=case["max_depth"],
            min_samples_leaf=case["min_samples_leaf"],
        ).fit(np.array(case["X"]), np.array(case["y"]), sample_weight=case["w"])
        tree, expected = classifier.tree_, expected_arrays(case)
        for name in ["children_left", "children_right", "feature", "n_node_samples"]:
            assert getattr(tree, name).tolist() == expected[name], (case["criterion"], name)
        assert tree.threshold[tree.feature >= 0].tolist() == expected["threshold_of_inner"]
        counts = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, np.newaxis]
        np.testing.assert_allclose(counts, expected["counts"], atol=1e-10)
        np.testing.assert_allclose(tree.impurity, expected["impurity"], atol=1e-10)
        assert (tree.n_leaves, tree.max_depth) == (case["n_leaves"], case["depth"])
        X_test = np.array(case["X_test"], dtype=float)
        assert tree.apply(X_test).tolist() == case["leaf_of_test"]
        assert classifier.predict(X_test).tolist() == case["y_test_pred"]
