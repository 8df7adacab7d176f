"""Comparison with reference values that independent code computed from the formulas of the papers."""

import numpy as np
import pytest

import core
from core.growth.binning import bin_features
from core.kernels.criteria.gini import SignedGini
from core.losses.cdfs import named_cdf
from tests.core import oracles
from tests.core.kernels.criteria_by_hand import node_impurity, split_gain
from tests.shared_material import reference


def case_loss(case, name):
    return {"kind": case[name], **case["params"]}


def case_criterion(case, name, n_classes):
    return core.parse_loss(case_loss(case, name)).criterion(n_classes)


def test_impurities_match():
    vectors = reference("impurities.json")
    checked = 0
    for counts_key, cases_key in [("counts", "cases"), ("weighted_counts", "weighted_cases")]:
        for case in vectors[cases_key]:
            for counts, expected in zip(vectors[counts_key], case["values"], strict=True):
                criterion = case_criterion(case, "loss", len(counts))
                actual = node_impurity(criterion, np.array(counts, dtype=np.float64))
                assert actual == pytest.approx(expected, abs=1e-12), (case["loss"], case["params"], counts)
                checked += 1
    assert checked > 1000


def test_impurities_ignore_absent_classes():
    vectors = reference("impurities.json")
    for case in vectors["cases"]:
        for counts, expected in zip(vectors["counts"], case["values"], strict=True):
            criterion = case_criterion(case, "loss", len(counts))
            present = np.array([count for count in counts if count > 0], dtype=np.float64)
            assert node_impurity(criterion, present) == pytest.approx(expected, abs=1e-12)


def node_data(dataset, node):
    rows = slice(None) if node == "all" else dataset["subset"]
    X, y = np.array(dataset["X"], dtype=float)[rows], np.array(dataset["y"])[rows]
    weights = None if dataset["w"] is None else np.array(dataset["w"], dtype=float)[rows]
    return X, y, weights


def stump(case, dataset, node="all", min_samples_leaf=1):
    """Return a tree with one split over all classes of the data set.

    Classes that are absent from the node are added by rows of weight 0.
    """
    X, y, weights = node_data(dataset, node)
    absent = np.setdiff1d(np.arange(dataset["n_classes"]), y)
    X, y = np.vstack([X, np.zeros((len(absent), X.shape[1]))]), np.concatenate([y, absent])
    weights = np.concatenate([np.ones(len(X) - len(absent)) if weights is None else weights, np.zeros(len(absent))])
    return core.TreeClassifier(loss=case_loss(case, "criterion"), max_depth=1, min_samples_leaf=min_samples_leaf).fit(
        X, y, sample_weight=weights
    )


def test_best_splits_match():
    vectors = reference("splits.json")
    datasets = {dataset["name"]: dataset for dataset in vectors["datasets"]}
    assert len(vectors["best"]) > 150
    for case in vectors["best"]:
        tree = stump(case, datasets[case["data"]], case["node"], case["min_samples_leaf"]).tree_
        assert tree.feature[0] == case["feature"], case
        assert tree.threshold[0] == case["threshold"], case
        assert tree.n_node_samples[1] == case["n_left"]
        left = tree.value[1, 0] * tree.weighted_n_node_samples[1]
        np.testing.assert_allclose(left, case["left"], atol=1e-10)
        np.testing.assert_allclose(root_gain(tree, case), case["gain_node"], atol=1e-10)


def root_gain(tree, case):
    """Return the gain of the root's split, from the impurities or from the separate formula of the criterion."""
    weights = tree.weighted_n_node_samples
    if case["criterion"] in oracles.CRITERIA_WITH_DIRECT_GAINS:
        left, right = ((tree.value[child, 0] * weights[child]).tolist() for child in (1, 2))
        return oracles.gain(case["criterion"], left, right, len(left), **case["params"])
    mass = weights * tree.impurity
    return (mass[0] - mass[1] - mass[2]) / weights[0]


def test_profiles_of_all_candidate_splits_match():
    vectors = reference("splits.json")
    datasets = {dataset["name"]: dataset for dataset in vectors["datasets"]}
    for case in vectors["profiles"]:
        dataset = datasets[case["data"]]
        X, y, weights = node_data(dataset, "all")
        weights = np.ones(len(y)) if weights is None else weights
        n_classes = dataset["n_classes"]
        criterion = case_criterion(case, "criterion", n_classes)
        parent = node_impurity(criterion, np.bincount(y, weights, n_classes))
        for feature, threshold, expected in case["splits"]:
            goes_left = X[:, int(feature)] <= threshold
            left = np.bincount(y[goes_left], weights[goes_left], n_classes)
            right = np.bincount(y[~goes_left], weights[~goes_left], n_classes)
            actual = split_gain(criterion, parent, left, right)
            assert actual == pytest.approx(expected, abs=1e-10)


def test_profiles_contain_all_candidate_thresholds():
    vectors = reference("splits.json")
    datasets = {dataset["name"]: dataset for dataset in vectors["datasets"]}
    for case in vectors["profiles"]:
        X = np.array(datasets[case["data"]]["X"], dtype=float)
        bins = bin_features(X, 256)
        candidates = set()
        for feature in range(X.shape[1]):
            values = bins.bin_low[bins.bin_offsets[feature] : bins.bin_offsets[feature + 1]]
            candidates |= {(feature, threshold) for threshold in (values[1:] + values[:-1]) / 2}
        assert candidates == {(int(feature), threshold) for feature, threshold, _ in case["splits"]}


def test_ties_go_to_the_lower_feature_then_the_lower_threshold():
    for case in reference("splits.json")["ties"]:
        if case["kind"] == "equal_columns":
            tree = stump(case, {**case, "w": None, "subset": None}).tree_
            assert (tree.feature[0], tree.threshold[0]) == (case["feature"], case["threshold"])
            assert root_gain(tree, case) == pytest.approx(case["gain_node"], abs=1e-10)


def test_mirrored_features_select_the_lower_threshold():
    mirrors = [case for case in reference("splits.json")["ties"] if case["kind"] == "mirror"]
    for case in mirrors:
        X = np.array(case["X"], dtype=float)
        tree = stump(case, {**case, "w": None, "subset": None}).tree_
        mirrored = stump(case, {**case, "X": -X, "w": None, "subset": None}).tree_
        assert root_gain(tree, case) == pytest.approx(root_gain(mirrored, case), abs=1e-12)
        assert tree.threshold[0] == mirrored.threshold[0] + X.min() + X.max()


def expected_arrays(case):
    nodes = case["nodes"]
    inner = [node for node in nodes if not node["leaf"]]
    return {
        "children_left": [node.get("left", -1) for node in nodes],
        "children_right": [node.get("right", -1) for node in nodes],
        "feature": [node.get("feature", -2) for node in nodes],
        "n_node_samples": [node["n"] for node in nodes],
        "inner_thresholds": [node["threshold"] for node in inner],
        "counts": [node["counts"] for node in nodes],
        "impurity": [node.get("impurity") for node in nodes],
    }


def test_trees_match_node_for_node():
    cases = reference("trees.json")["trees"]
    assert len(cases) == 36
    for case in cases:
        classifier = core.TreeClassifier(
            loss=case_loss(case, "criterion"),
            max_depth=case["max_depth"],
            min_samples_leaf=case["min_samples_leaf"],
        ).fit(np.array(case["X"]), np.array(case["y"]), sample_weight=case["w"])
        tree, expected = classifier.tree_, expected_arrays(case)
        for name in ["children_left", "children_right", "feature", "n_node_samples"]:
            assert getattr(tree, name).tolist() == expected[name], (case["criterion"], name)
        assert tree.threshold[tree.feature >= 0].tolist() == expected["inner_thresholds"]
        counts = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, np.newaxis]
        np.testing.assert_allclose(counts, expected["counts"], atol=1e-10)
        if case["criterion"] not in ("twoing", "ranking"):
            np.testing.assert_allclose(tree.impurity, expected["impurity"], atol=1e-10)
        values = classifier.loss_.leaf_value(tree.value[:, 0, :])
        for node in filter(lambda node: node["leaf"], case["nodes"]):
            np.testing.assert_allclose(values[node["id"]], node["value"], atol=1e-10)
        assert (tree.n_leaves, tree.max_depth) == (case["n_leaves"], case["depth"])
        X_test = np.array(case["X_test"], dtype=float)
        assert tree.apply(X_test).tolist() == case["leaf_of_test"]
        assert classifier.predict(X_test).tolist() == case["y_test_pred"]


def test_credal_entropy_raises_the_lowest_counts():
    for case in reference("impurities.json")["credal_s_above_1"]:
        criterion = core.CredalEntropy(case["s"]).criterion(len(case["counts"]))
        actual = node_impurity(criterion, np.array(case["counts"], dtype=float))
        assert actual == pytest.approx(case["waterfill"], abs=1e-12)
        assert oracles.upper_entropy(case["counts"], len(case["counts"]), case["s"]) == pytest.approx(actual, abs=1e-12)


def test_leaf_values_match():
    vectors = reference("impurities.json")
    for case in vectors["leaf_values"]:
        loss = core.parse_loss(case_loss(case, "loss"))
        for counts, expected in zip(vectors["leaf_counts"], case["values"], strict=True):
            p = np.array([counts]) / sum(counts)
            np.testing.assert_allclose(loss.leaf_value(p)[0], expected, atol=1e-12)


def test_distribution_losses_match_within_the_error_bound():
    vectors = reference("impurities.json")
    our_names = {"bernoulli0": "bernoulli", "neg_exponential": "negative_exponential"}
    assert len(vectors["distribution_losses"]) > 6
    for case in vectors["distribution_losses"]:
        name = our_names.get(case["distribution"], case["distribution"])
        loss = core.DistributionLoss(name, None if case["mu"] is None else {"mu": case["mu"]})
        losses_of_margins = named_cdf(name, loss.parameters).function(-np.array(vectors["margins"]))
        np.testing.assert_allclose(losses_of_margins, case["loss_of_margin"], atol=1e-12)
        for p, expected in zip(vectors["p_plus"], case["impurity"], strict=True):
            actual = node_impurity(loss.criterion(2), np.array([1 - p, p]))
            assert actual == pytest.approx(expected, abs=loss.error_bound + 1e-9)


def test_backward_correction_gives_the_splits_of_the_paper():
    vectors = reference("correction.json")
    assert any(case["split_moved"] for case in vectors["backward_splits"])
    for case in vectors["backward_splits"]:
        labels = np.array(vectors["matrices"][case["T"]]["backward_labels"])
        criterion = SignedGini(labels @ labels.T)
        X, y, n_classes = np.array(case["X"], dtype=float), np.array(case["y"]), len(labels)
        parent = node_impurity(criterion, np.bincount(y, minlength=n_classes).astype(float))
        gains = {}
        for feature in range(X.shape[1]):
            for threshold, _, goes_left in oracles.cuts(X[:, feature].tolist()):
                sides = [
                    np.bincount(y[rows], minlength=n_classes).astype(float)
                    for rows in (np.array(goes_left), ~np.array(goes_left))
                ]
                gains[feature, threshold] = split_gain(criterion, parent, *sides)
        best = max(gains, key=gains.get)
        assert best == (case["feature"], case["threshold"])
        assert gains[best] == pytest.approx(case["gain"], abs=1e-10)
