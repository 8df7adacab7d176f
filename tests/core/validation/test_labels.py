"""Labels as codes give the same results as labels as values, in the memory of the codes."""

import enum
import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning

import core

KINDS = {
    "text": ["no", "yes", "maybe so"],
    "numbers": [7, -3, 100],
    "booleans": [True, False],
    "fractions as classes": np.array([0.5, 1.5, -2.0], dtype=object),
}


def rows(classes, n_rows=240):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(classes), n_rows)
    X = codes[:, np.newaxis] + rng.normal(size=(n_rows, 3))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, core.EncodedLabels(np.asarray(classes), codes)


@pytest.fixture(params=KINDS)
def table(request):
    """Rows with the labels as codes; the last class has no row."""
    classes = np.asarray(KINDS[request.param])
    X, y = rows(classes)
    unused = np.array(["zz"] if classes.dtype.kind == "U" else [12345], dtype=classes.dtype)
    return X, core.EncodedLabels(np.concatenate([classes, unused]) if classes.dtype != bool else classes, y.codes)


def saved(model, path):
    core.save(model, path)
    return path.read_bytes()


@pytest.mark.parametrize(
    "estimator",
    [
        core.ForestClassifier(n_estimators=30, oob_score=True, random_state=0),
        core.ForestClassifier(n_estimators=5, class_weight="balanced", random_state=0),
        core.AdaBoostClassifier(n_rounds=3, random_state=0),
    ],
    ids=repr,
)
def test_models_and_scores_are_equal(table, tmp_path, estimator):
    X, y = table
    values = np.asarray(y)
    weights, groups = np.arange(len(y)) % 3, np.arange(len(y)) // 4
    by_value = saved(estimator.fit(X, values, sample_weight=weights, groups=groups), tmp_path / "m")
    scores = estimator.score(X, values), core.evaluate(estimator, X, values, y.classes)
    assert saved(estimator.fit(X, y, sample_weight=weights, groups=groups), tmp_path / "m") == by_value
    assert (estimator.score(X, y), core.evaluate(estimator, X, y, y.classes)) == scores
    predicted = estimator.predict_encoded(X)
    np.testing.assert_array_equal(np.asarray(predicted), estimator.predict(X))
    assert predicted.classes is estimator.classes_


def test_noise_audits_and_splits_are_equal(table):
    X, y = table
    values, spec = np.asarray(y), {"kind": "uniform", "rate": 0.3}
    noisy, by_value = (core.inject_noise(one, spec, random_state=1, classes=y.classes) for one in (y, values))
    np.testing.assert_array_equal(np.asarray(noisy.labels), by_value.labels)
    assert by_value.labels.dtype == values.dtype
    assert noisy.transition == by_value.transition
    for options in ({}, {"folds": 3, "estimator": core.TreeClassifier(max_depth=3)}):
        audit, expected = (
            core.audit_labels(X, one, random_state=0, X_unlabeled=X[:9], **options) for one in (y, values)
        )
        np.testing.assert_array_equal(np.asarray(audit.issues.suggested), expected.issues.suggested)
        np.testing.assert_array_equal(np.asarray(audit.unlabeled_suggested), expected.unlabeled_suggested)
        np.testing.assert_array_equal(audit.issues.quality, expected.issues.quality)
        assert audit.confused == expected.confused
    holdout, expected_holdout = (core.split_holdout(one, 0.25, random_state=0) for one in (y, values))
    np.testing.assert_array_equal(holdout.test_rows, expected_holdout.test_rows)
    estimated, expected_noise = (core.estimate_label_noise(X, one, random_state=0) for one in (y, values))
    assert repr(estimated.accuracy_on(X, y, y)) == repr(expected_noise.accuracy_on(X, values, values))


def test_codes_have_classes():
    with pytest.raises(core.InvalidInput, match="2 classes"):
        core.EncodedLabels(np.array(["a", "b"]), np.array([0, 2]))
    with pytest.raises(core.InvalidInput, match="2 classes"):
        core.EncodedLabels(np.array(["a", "b"]), np.array([-1, 0]))


def test_codes_among_other_classes():
    y = core.EncodedLabels(np.array(["b", "a"]), np.array([0, 1, 1]))
    assert y.among(np.array(["a", "b", "c"])).codes.tolist() == [1, 0, 0]
    with pytest.raises(core.InvalidInput, match="1 classes"):
        y.among(np.array(["a"]))


def test_missing_labels_are_refused():
    y = core.EncodedLabels(np.array(["a", None], dtype=object), np.array([0, 1]))
    with pytest.raises(core.InvalidInput, match="every row needs a label"):
        core.TreeClassifier().fit([[0.0], [1.0]], y)


def test_memory_does_not_depend_on_the_length_of_labels():
    X, y = rows(["a" * 80_000, "b"], 5_000)  # 1.5 GiB as an array of texts
    forest = core.ForestClassifier(n_estimators=30, random_state=0, max_depth=3)
    forest.fit(X, y)
    tracemalloc.start()
    try:
        noisy = core.inject_noise(y, {"kind": "uniform", "rate": 0.1}, random_state=0)
        forest.fit(X, noisy.labels)
        core.evaluate(forest, X, y)
        core.audit_labels(X, y, forest)
        core.audit_labels(X, y, core.TreeClassifier(max_depth=3), folds=2)
        noise = core.estimate_label_noise(X, y, random_state=0)
        noise.accuracy_on(X, y, forest.predict_encoded(X))
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()


def test_large_arrays_of_text_are_encoded_in_blocks():
    """Sorting the whole array would copy it."""
    classes = np.array(["a", "b" * 4000, "c"])
    y = classes[np.random.default_rng(0).integers(0, 3, 20_000)]
    tracemalloc.start()
    try:
        forest = core.TreeClassifier(max_depth=1).fit(np.zeros((len(y), 1)), y)
        assert tracemalloc.get_traced_memory()[1] < y.nbytes / 2
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(forest.classes_, classes)
    assert forest.trees_[0].n_node_samples[0] == len(y)


@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize("form", [list, lambda labels: np.array(labels, dtype=object)])
def test_a_missing_label_is_named_by_its_row(missing, form):
    X = np.random.default_rng(0).normal(size=(100, 2))
    labels = ["a" if value > 0 else "b" for value in X[:, 0]]
    labels[50] = missing
    message = "y contains NaN or None in 1 of 100 rows, the first of which is row 50"
    for use in (
        core.ForestClassifier(n_estimators=1).fit,
        core.audit_labels,
        lambda X, y: core.inject_noise(y, {"kind": "uniform", "rate": 0.1}),
    ):
        with pytest.raises(core.InvalidInput, match=message):
            use(X, form(labels))


def test_lists_that_are_no_column_are_refused_as_such():
    X = np.zeros((40, 1))
    with pytest.raises(core.InvalidInput, match=r"array of shape \(40, 2\)"):
        core.TreeClassifier().fit(X, [np.array(["a", "b"])] * 40)
    with pytest.raises(core.InvalidInput, match="first of which is row 1"), pytest.warns(UserWarning, match="column"):
        core.TreeClassifier().fit(X[:3], [["a"], [float("nan")], ["b"]])


@pytest.mark.parametrize("dtype", [int, object])
def test_splits_take_a_column_of_labels(dtype):
    y = (np.arange(40) % 2).astype(dtype)
    with pytest.warns(DataConversionWarning):
        split = core.split_holdout(y[:, np.newaxis], 0.25, random_state=0)
    assert split.test_rows.tolist() == core.split_holdout(y, 0.25, random_state=0).test_rows.tolist()
    with pytest.raises(core.InvalidInput, match="1d array"):
        core.split_folds(np.zeros((4, 2)), 2)


class Animal(str, enum.Enum):  # noqa: UP042  (members print their names, which NumPy takes for the labels)
    CAT = "c"
    LONG_NAMED_DOG = "dog of a long name"


def test_members_of_enumerations_of_texts_are_these_texts(tmp_path):
    X = np.arange(40.0)[:, np.newaxis]
    labels = [Animal.CAT if row < 20 else Animal.LONG_NAMED_DOG for row in range(40)]
    tree = core.TreeClassifier().fit(X, labels)
    assert tree.classes_.tolist() == ["c", "dog of a long name"]
    assert tree.score(X, labels) == 1.0
    core.save(tree, tmp_path / "tree")


def test_numbers_in_a_list_of_texts_are_no_texts():
    assert core.TreeClassifier().fit([[0.0], [1.0]], ["1", 1]).classes_.tolist() == [1, "1"]


@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_labels_are_not_scored(missing):
    X, y = np.arange(40.0)[:, np.newaxis], np.arange(40) // 20
    labels = [missing, *y[1:].tolist()]
    tree, votes = core.TreeClassifier().fit(X, y), np.full((40, 2), 0.5)
    matrix = core.TransitionMatrix.uniform(0.1, [0, 1])
    for refused in (
        lambda: tree.score(X, labels),
        lambda: core.rank_label_issues(votes, labels, classes=[0, 1]),
        lambda: core.corrected_accuracy(labels, y, matrix),
    ):
        with pytest.raises(core.InvalidInput, match="the first of which is row 0"):
            refused()


def test_labels_of_other_types_and_classes_are_named():
    X, y = np.arange(40.0)[:, np.newaxis], np.arange(40) // 20
    with pytest.raises(core.InvalidInput, match="have type int"):
        core.corrected_accuracy(y.astype(str), y, core.TransitionMatrix.uniform(0.1, [0, 1]))
    with pytest.raises(core.InvalidInput, match="not one of the classes"):
        core.estimate_label_noise(X, y, classes=[0])
    tree = core.TreeClassifier().fit(X, y)
    assert core.evaluate(tree, X, y, classes=[1, 0])["accuracy"] == 1.0


def test_the_position_of_the_seed_is_not_that_of_a_split():
    with pytest.raises(core.InvalidParameter, match="stratify is 0; it must be True or False"):
        core.split_holdout([0, 1] * 10, 0.3, 0)


def test_whole_numbers_beyond_64_bits_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(core.InvalidInput, match="beyond 64 bits"):
        core.TreeClassifier().fit(pandas.DataFrame({"a": [10**25, 1] * 10}), [0, 1] * 10)
