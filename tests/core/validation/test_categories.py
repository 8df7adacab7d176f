"""Categorical features in arrays: how they are named, and the codes of their values."""

import numpy as np
import pandas as pd
import pytest

import core
from core.validation.categories import encode_categories, fit_categories


def fitted(X, categorical_features, names=None):
    tree = core.TreeClassifier(categorical_features=categorical_features)
    if names is not None:
        tree.feature_names_in_ = np.array(names, dtype=object)
    return tree, fit_categories(tree, np.asarray(X, dtype=np.float64))


@pytest.mark.parametrize("selected", [[1], np.array([1]), [False, True], np.array([False, True]), ["b"], (1,)], ids=str)
def test_features_are_named_by_mask_index_or_name(selected):
    tree, _ = fitted([[5, 0], [6, 1]], selected, names=["a", "b"])
    assert tree.is_categorical_.tolist() == [False, True]


@pytest.mark.parametrize("selected", [None, "from_dtype", [], [False, False]], ids=str)
def test_arrays_have_no_categorical_features_unless_they_are_named(selected):
    X = np.array([[5.0, 0.0], [6.0, 1.0]])
    tree, coded = fitted(X, selected)
    assert tree.is_categorical_ is None
    assert coded.tolist() == X.tolist()


@pytest.mark.parametrize(
    ("selected", "rule"),
    [
        ("b", "into a list"),
        (["b"], "no names"),
        ([2], "from 0 to 1"),
        ([-1], "from 0 to 1"),
        ([0.5], "from 0 to 1"),
        ([True], "one entry per feature"),
        ([True, 1], "mix"),
    ],
    ids=str,
)
def test_other_choices_are_refused(selected, rule):
    with pytest.raises(core.InvalidParameter, match=rule):
        core.TreeClassifier(categorical_features=selected).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])


def test_an_unknown_name_is_refused_with_the_names_there_are():
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    with pytest.raises(core.InvalidParameter, match="'c'; X has no column of that name; its columns are a, b"):
        core.TreeClassifier(categorical_features=["c"]).fit(frame, [0, 1])


def test_values_become_the_ranks_of_the_distinct_values():
    tree, coded = fitted([[10.5, 1.0], [np.nan, 2.0], [-7.0, 3.0], [10.5, 4.0]], [0])
    np.testing.assert_array_equal(coded, [[1.0, 1.0], [np.nan, 2.0], [0.0, 3.0], [1.0, 4.0]])
    np.testing.assert_array_equal(encode_categories(tree, np.array([[8.0, 5.0], [-7.0, 6.0]]))[:, 0], [np.nan, 0.0])


def test_codes_stay_as_they_are_and_are_not_copied():
    X = np.array([[0.0], [3.0], [1.0]])
    tree, coded = fitted(X, [0])
    assert coded is X
    assert encode_categories(tree, X) is X


def test_large_numbers_with_gaps_get_codes():
    _, coded = fitted([[1e6], [3.0], [70_000.0]], [0])
    assert coded.tolist() == [[2.0], [0.0], [1.0]]
