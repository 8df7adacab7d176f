"""Data frames and encoded tables as X of the estimators."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import core
from core import Column, ColumnKind, EncodedTable, encode_frame

ESTIMATORS = [
    core.TreeClassifier(random_state=0),
    core.ForestClassifier(n_estimators=5, random_state=0),
    core.RMBoostClassifier(n_rounds=3, random_state=0),
]


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__)
def estimator(request):
    return type(request.param)(**request.param.get_params())


def mixed_frame(n_rows=60):
    rng = np.random.default_rng(0)
    cities = np.array(["Bern", "Oslo", "Rom"], dtype=object)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows),
            "city": cities[rng.integers(0, 3, n_rows)],
            "member": rng.random(n_rows) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n_rows), unit="D"),
        }
    )
    frame.loc[3, "city"] = None
    frame.loc[5, "since"] = pd.NaT
    return frame, np.where(frame["city"] == "Oslo", "north", "south")


def test_mixed_frames_of_every_library_give_the_same_probabilities(estimator):
    frame, y = mixed_frame()
    estimator.fit(frame, y)
    expected = estimator.predict_proba(frame)
    assert estimator.score(frame, y) > 0.9
    for same in (
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        encode_frame(frame),
        encode_frame(frame, estimator.columns_),
    ):
        np.testing.assert_array_equal(estimator.predict_proba(same), expected)
        again = type(estimator)(**estimator.get_params()).fit(same, y)
        np.testing.assert_array_equal(again.predict_proba(same), expected)


def test_a_fit_remembers_its_columns(estimator):
    frame, y = mixed_frame()
    estimator.fit(frame, y)
    assert estimator.feature_names_in_.tolist() == ["age", "city", "member", "since"]
    assert [column.kind for column in estimator.columns_] == ["numeric", "categorical", "categorical", "datetime"]
    estimator.fit(encode_frame(frame).X, y)
    assert estimator.columns_ is None
    assert not hasattr(estimator, "feature_names_in_")


def test_trees_of_a_forest_know_the_columns():
    frame, y = mixed_frame()
    forest = core.ForestClassifier(n_estimators=2, random_state=0).fit(frame, y)
    tree = forest.estimators_[0]
    assert tree.columns_ == forest.columns_
    assert "city" in core.export_text(tree)


def test_numeric_frames_are_the_matrices_of_numpy(estimator):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(40, 3))
    values[0, 0] = np.nan
    y = rng.integers(0, 2, 40)
    expected = estimator.fit(values, y).predict_proba(values)
    for frame in (pd.DataFrame(values, columns=list("abc")), pl.DataFrame(values, schema=list("abc"))):
        np.testing.assert_array_equal(estimator.fit(frame, y).predict_proba(frame), expected)
        assert estimator.columns_ == tuple(Column(name, ColumnKind.NUMERIC) for name in "abc")


def test_raw_text_is_predicted_like_the_values_it_stands_for(estimator):
    frame, y = mixed_frame()
    estimator.fit(frame, y)
    raw = frame.astype({"age": str, "since": str}).assign(member=frame["member"].astype(str).str.upper())
    np.testing.assert_array_equal(estimator.predict_proba(raw), estimator.predict_proba(frame))


def test_enumerations_and_ordered_categories_are_categories():
    levels = ["low", "high"]
    grades = ["low", "high", None] * 10
    y = ["no", "yes", "no"] * 10
    probabilities = [
        core.TreeClassifier().fit(frame, y).predict_proba(frame).tolist()
        for frame in (
            pl.DataFrame({"grade": pl.Series(grades, dtype=pl.Enum(levels))}),
            pd.DataFrame({"grade": pd.Categorical(grades, categories=levels, ordered=True)}),
            pd.DataFrame({"grade": pd.Series(grades, dtype="string")}),
        )
    ]
    assert probabilities[0] == probabilities[1] == probabilities[2]
    assert probabilities[0][:3] == [[1, 0], [0, 1], [1, 0]]


def test_an_unseen_category_goes_where_a_missing_one_goes(estimator):
    frame, y = mixed_frame()
    estimator.fit(frame, y)
    missing, unseen = frame.assign(city=None), frame.assign(city="Paris")
    np.testing.assert_array_equal(estimator.predict_proba(unseen), estimator.predict_proba(missing))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"age": "old"}, "'age' has 'old' in row 0; write a finite number"),
        ({"since": "yesterday"}, "'since' has 'yesterday' in row 0; write a date"),
        ({"since": 5}, "'since' has the type int64, but its kind is datetime"),
        ({"member": 1}, "'member' has the type int64, but its kind is boolean; pass booleans, or text true"),
        ({"age": np.inf}, "'age' has inf in row 0"),
    ],
)
def test_cells_of_another_kind_are_refused_with_their_column(change, rule):
    frame, y = mixed_frame()
    tree = core.TreeClassifier().fit(frame, y)
    with pytest.raises(core.InvalidInput, match=rule):
        tree.predict(frame.assign(**change))


def test_other_names_are_refused_as_scikit_learn_does():
    frame, y = mixed_frame()
    tree = core.TreeClassifier().fit(frame, y)
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- id"):
        tree.predict(frame.assign(id=1))
    with pytest.raises(ValueError, match="must be in the same order"):
        tree.predict(frame[["city", "age", "member", "since"]])


def test_text_in_an_array_is_refused_with_the_way_out():
    frame, y = mixed_frame()
    with pytest.raises(
        core.InvalidInput, match=r"X has 'Rom' in row 0, column 1; could not convert .* Pass a data frame"
    ):
        core.TreeClassifier().fit(np.array([[1, "Rom"], [2, "Oslo"]], dtype=object), [0, 1])
    with pytest.raises(core.InvalidInput, match="mixes values of several types"):
        core.TreeClassifier().fit(frame.assign(city=[1, "a"] * 30), y)


def test_text_that_no_feature_selects_is_refused():
    frame, y = mixed_frame()
    for selected in (None, ["age"]):
        with pytest.raises(core.InvalidInput, match=r"column 'city' has categories.* categorical_features"):
            core.TreeClassifier(categorical_features=selected).fit(frame, y)
    tree = core.TreeClassifier(categorical_features=["city"]).fit(frame, y)
    assert tree.is_categorical_.tolist() == [False, True, False, False]


def test_a_table_with_other_categories_is_refused():
    frame, y = mixed_frame()
    tree = core.TreeClassifier().fit(frame, y)
    other = encode_frame(frame.assign(city="Paris"))
    with pytest.raises(core.InvalidInput, match="'city' has other categories"):
        tree.predict(other)


def test_tables_with_codes_may_be_split_as_numbers():
    frame, y = mixed_frame()
    tree = core.TreeClassifier(categorical_features=None).fit(encode_frame(frame), y)
    assert tree.is_categorical_ is None


def test_frames_whose_column_names_are_no_text_are_read_by_position():
    frame, y = mixed_frame()
    frame.columns = range(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = core.TreeClassifier().fit(frame, y)
        assert tree.score(frame, y) == 1.0


def test_audits_and_noise_take_frames():
    frame, y = mixed_frame()
    table, labels = encode_frame(frame), np.arange(len(frame)) % 3
    for folds in (None, 3):
        expected = core.audit_labels(table, y, folds=folds, random_state=0).probabilities
        found = core.audit_labels(frame, y, folds=folds, random_state=0).probabilities
        np.testing.assert_array_equal(found, expected)
    for spec in ({"kind": "adversarial", "rate": 0.1}, {"kind": "class_conditional"}):
        noisy = [core.inject_noise(labels, spec, X=X, random_state=0).labels for X in (frame, table)]
        np.testing.assert_array_equal(*noisy)
    assert core.evaluate(core.TreeClassifier().fit(frame, y), frame, y)["accuracy"] == 1.0


def test_encoded_tables_are_arrays_for_numpy():
    table = EncodedTable(np.array([[1.0], [2.0]]), (Column("x", ColumnKind.NUMERIC),))
    np.testing.assert_array_equal(np.asarray(table), [[1.0], [2.0]])


def test_columns_of_one_name_are_refused_by_the_fit():
    table = pa.table([pa.array([1.0, 2.0] * 10), pa.array(["a", "b"] * 10)], names=["x", "x"])
    with pytest.raises(core.InvalidInput, match="the data frame has 2 columns 'x'"):
        core.TreeClassifier().fit(table, [0, 1] * 10)
