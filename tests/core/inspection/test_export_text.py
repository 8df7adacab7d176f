"""Text of trees, compared with scikit-learn's for trees with the same splits."""

import numpy as np
import pytest
from sklearn import tree as sklearn_tree
from sklearn.datasets import load_iris

import core


def _fitted(depth=3, **options):
    """Return trees of both libraries with the same splits: thresholds are midpoints under both."""
    X, y = load_iris(return_X_y=True)
    # Whole numbers of tenths, so that both libraries compute the same thresholds.
    X = np.round(10 * X)
    ours = core.TreeClassifier(max_depth=depth, **options).fit(X[:, [2]], y)
    theirs = sklearn_tree.DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[:, [2]], y)
    assert ours.tree_.threshold.tolist() == [
        value if feature >= 0 else 0.0
        for value, feature in zip(theirs.tree_.threshold, theirs.tree_.feature, strict=True)
    ]
    return ours, theirs


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"feature_names": ["petal length"]},
        {"class_names": ["a", "b", "c"]},
        {"max_depth": 1},
        {"max_depth": 0, "spacing": 2},
        {"decimals": 0, "show_weights": True},
        {"show_weights": True, "class_names": ["a", "b", "c"]},
    ],
    ids=str,
)
def test_text_equals_that_of_scikit_learn(options):
    ours, theirs = _fitted(depth=5)
    assert core.export_text(ours, **options) == sklearn_tree.export_text(theirs, **options)


def test_a_tree_of_one_leaf():
    tree = core.TreeClassifier().fit([[0.0], [1.0]], ["yes", "yes"])
    assert core.export_text(tree) == "|--- class: yes\n"


def test_names_of_the_fit_are_used():
    class Frame:
        columns, shape = ["age"], (2, 1)

        def __array__(self, dtype=None, copy=None):
            return np.array([[20.0], [40.0]], dtype=dtype)

    tree = core.TreeClassifier().fit(Frame(), ["no", "yes"])
    assert core.export_text(tree) == "|--- age <= 30.00\n|   |--- class: no\n|--- age >  30.00\n|   |--- class: yes\n"


def test_thresholds_of_times_are_times_in_utc():
    pandas = pytest.importorskip("pandas", reason="times come in data frames")
    frame = pandas.DataFrame({"when": pandas.to_datetime(["2024-03-01 10:00", "2024-03-01 12:00"])})
    forest = core.ForestClassifier(n_estimators=1, bootstrap=False).fit(frame, ["early", "late"])
    for tree in (core.TreeClassifier().fit(frame, ["early", "late"]), forest.estimators_[0]):
        assert core.export_text(tree).splitlines()[::2] == [
            "|--- when <= 2024-03-01 11:00:00", "|--- when >  2024-03-01 11:00:00",
        ]  # fmt: skip


def test_categories_are_listed_by_name():
    pandas = pytest.importorskip("pandas", reason="names of categories come in data frames")
    frame = pandas.DataFrame({"job": ["cook", "pilot", "nurse", "cook", "pilot", "nurse"]})
    labels = ["no", "yes", "no", "no", "yes", "no"]
    forest = core.ForestClassifier(n_estimators=1, bootstrap=False).fit(frame, labels)
    for tree in (core.TreeClassifier().fit(frame, labels), forest.estimators_[0]):
        conditions = {line.removeprefix("|--- ") for line in core.export_text(tree).splitlines()[::2]}
        assert conditions in (
            {"job in {pilot}", "job not in {pilot}"},
            {"job in {cook, nurse}", "job not in {cook, nurse}"},
        )


def test_conditions_lead_every_row_to_its_leaf():
    """Read the text as a reader would: a row goes where the conditions hold, also with missing and unseen values."""
    pandas = pytest.importorskip("pandas", reason="names of categories come in data frames")
    random = np.random.default_rng(0)
    jobs = random.choice([*"abcdefghij", None], 300)
    frame = pandas.DataFrame({"job": pandas.Series(jobs, dtype="str"), "age": random.integers(0, 50, 300)})
    labels = [str((ord(job or "z") * 7 + age // 10) % 3) for job, age in zip(jobs, frame["age"], strict=True)]
    tree = core.TreeClassifier(max_depth=4).fit(frame, labels)
    text = core.export_text(tree, decimals=6)
    assert " in {" in text
    unseen = pandas.DataFrame({"job": ["never seen", None], "age": [3, 44]})
    for rows in (frame, unseen):
        read = [_follow(text, row) for row in rows.to_dict("records")]
        assert read == tree.predict(rows).tolist()


def _follow(text, row):
    """Return the class that a row reaches by the text of a tree."""
    depth = 0
    for line in text.splitlines():
        bars, _, condition = line.partition("--- ")
        if bars.count("|") != depth + 1:
            continue
        if condition.startswith("class: "):
            return condition.removeprefix("class: ")
        depth += _holds(condition, row)
    raise AssertionError("no leaf")


def _holds(condition, row):
    name, relation = condition.split(" ", 1)
    if relation.startswith(("in {", "not in {")):
        listed = relation.partition("{")[2].rstrip("}").split(", ")
        return (row[name] in listed) == relation.startswith("in")
    sign, threshold = relation.split()
    return row[name] <= float(threshold) if sign == "<=" else row[name] > float(threshold)


def test_categories_of_an_array_are_numbers_and_long_sets_are_cut():
    X = np.arange(200.0).reshape(-1, 1)
    tree = core.TreeClassifier(categorical_features=[0], max_depth=1).fit(X, np.arange(200) % 2)
    first = core.export_text(tree).splitlines()[0]
    assert "feature_0 in {" in first or "feature_0 not in {" in first
    assert first.endswith(", and 80 more}")


def test_names_of_categories_that_the_rows_lack():
    """With few of many declared categories, codes of the tree are not positions in the list of categories."""
    pandas = pytest.importorskip("pandas", reason="names of categories come in data frames")
    declared = [f"k{i:04d}" for i in range(4000)]
    frame = pandas.DataFrame({"c": pandas.Categorical(["k0007", "k3999", "k2000"] * 2, categories=declared)})
    tree = core.TreeClassifier().fit(frame, ["no", "yes", "no"] * 2)
    text = core.export_text(tree)
    assert "{k3999}" in text or "{k0007, k2000}" in text


def test_a_tree_of_a_forest():
    forest = core.ForestClassifier(n_estimators=2, random_state=0).fit(
        np.arange(20.0).reshape(-1, 1), np.arange(20) // 10
    )
    assert core.export_text(forest.estimators_[1]).startswith("|--- feature_0 <= ")


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (core.ForestClassifier(), r"estimators_\[0\]"),
        (core.AdaBoostClassifier(), "AdaBoostClassifier"),
        ("tree", "str"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_estimators_are_refused(estimator, message):
    with pytest.raises(core.InvalidParameter, match=message):
        core.export_text(estimator)


@pytest.mark.parametrize("names", ["feature_names", "class_names"])
def test_a_wrong_number_of_names_is_refused(names):
    with pytest.raises(core.InvalidInput, match=names):
        core.export_text(_fitted()[0], **{names: ["one", "two"]})


def test_none_and_not_infinity_stands_for_no_limit_of_the_depth():
    X = np.arange(1000.0)[:, np.newaxis]
    deep = core.TreeClassifier().fit(X, np.random.default_rng(0).integers(0, 2, len(X)))
    assert "truncated branch" in core.export_text(deep)
    whole = core.export_text(deep, max_depth=None)
    assert "truncated branch" not in whole
    assert whole.count("class: ") == deep.tree_.n_leaves
    with pytest.raises(core.InvalidParameter, match=r"max_depth is inf; it must be .* or None \(no limit\)"):
        core.export_text(deep, max_depth=np.inf)


@pytest.mark.parametrize("invalid", [{"max_depth": "3"}, {"spacing": -1}, {"decimals": True}], ids=str)
def test_numbers_that_are_not_whole_are_refused(invalid):
    with pytest.raises(core.InvalidParameter, match=f"{next(iter(invalid))}.*whole number"):
        core.export_text(_fitted()[0], **invalid)


@pytest.mark.parametrize(
    ("values", "either", "other"),
    [
        (np.array([0.5, 1234567, 1234568, 1e300]), "{0.5, 1234568}", "{1234567, 1e+300}"),
        (np.array([0.1, 0.2, 0.7, 1.5], np.float32), "{0.1, 0.7}", "{0.2, 1.5}"),
    ],
)
def test_categories_that_are_numbers_are_told_apart(values, either, other):
    X, y = np.repeat(values, 10)[:, np.newaxis], np.repeat([0, 1, 0, 1], 10)
    text = core.export_text(core.TreeClassifier(categorical_features=[0], max_depth=1).fit(X, y))
    assert either in text or other in text
