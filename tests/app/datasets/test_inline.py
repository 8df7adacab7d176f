"""Columns of JSON values become an ordinary data set."""

from functools import partial

import numpy as np
import pytest

from app.datasets.errors import (
    InfiniteValue,
    MissingLabel,
    MixedColumn,
    NotUtf8,
    SingleClass,
    UnequalColumns,
    UnknownTarget,
)
from app.errors import Invalid, InvalidJson
from tests.factories import store_columns


@pytest.fixture
def stored(context):
    return partial(store_columns, context)


def test_values_types_and_missing(stored, context):
    columns = {"x": [1, 2.5, None], "job": ["u", None, "v"], "flag": [True, None, False], "y": ["no", "yes", "no"]}
    row = stored(columns)
    assert [feature["kind"] for feature in row.features] == ["numeric", "categorical", "categorical"]
    assert row.classes == [{"label": "no", "count": 2}, {"label": "yes", "count": 1}]
    table = context.dataset_store.load(row.fingerprint)
    np.testing.assert_array_equal(table.X, [[1, 0, 1], [2.5, np.nan, np.nan], [np.nan, 1, 0]])
    np.testing.assert_array_equal(table.y, [0, 1, 0])


def test_types_and_roles(stored, context):
    columns = {"id": ["a", "b", "c"], "x": [1, 2, 1], "w": [1, 2, 0.5], "g": ["u", "v", "u"], "y": [0, 1, 1]}
    row = stored(columns, types={"id": "categorical"}, weight="w", group="g")
    assert [(feature["name"], feature["kind"]) for feature in row.features] == [("id", "categorical"), ("x", "numeric")]
    assert row.reading["format"] == "JSON"
    table = context.dataset_store.load(row.fingerprint)
    assert (table.weights.tolist(), table.groups.tolist()) == ([1, 2, 0.5], [0, 1, 0])


@pytest.mark.parametrize(
    ("roles", "pointer"),
    [
        ({"types": {"z": "numeric"}}, "/data/types/z"),
        ({"weight": "z"}, "/data/weight"),
        ({"types": {"g": "numeric"}, "group": "g"}, "/data/types/g"),
    ],
)
def test_invalid_types_and_roles(stored, roles, pointer):
    with pytest.raises(Invalid) as caught:
        stored({"x": [1, 2], "g": [1, 2], "y": [0, 1]}, **roles)
    assert caught.value.errors[0].pointer == pointer


def test_the_same_columns_are_the_same_data_set(stored):
    columns = {"x": [1, 2], "y": [0, 1]}
    assert stored(columns, name="one").id == stored(columns, name="two").id


@pytest.mark.parametrize(
    ("columns", "error", "pointer"),
    [
        ({"x": [1, 2], "y": [0]}, UnequalColumns, "/data/columns/y"),
        ({"a/b": [1, "u"], "y": [0, 1]}, MixedColumn, "/data/columns/a~1b"),
        ({"x": [[1], [2]], "y": [0, 1]}, MixedColumn, "/data/columns/x"),
        ({"x": [1, 2], "z": [0, 1]}, UnknownTarget, "/data/target"),
        ({"x": [1, 2], "y": [0, 0]}, SingleClass, "/data/target"),
        ({"x": [1, 2], "y": [None, None]}, MissingLabel, "/data/target"),
        ({"x": [1.5, float("nan")], "y": [0, 1]}, InvalidJson, "/data/columns/x/1"),
        ({"x": ["u", float("nan")], "y": [0, 1]}, InvalidJson, "/data/columns/x/1"),
        ({"x": [1, 2], "y": [float("-inf"), 1]}, InfiniteValue, "/data/columns/y/0"),
        ({"x": [10**400, None], "y": [0, 1]}, InfiniteValue, "/data/columns/x"),
        ({"x": [1, 2], "y": [0, -(10**400)]}, InfiniteValue, "/data/columns/y"),
        ({"\ud800": [1, 2], "y": [0, 1]}, NotUtf8, "/data/columns/\\ud800"),
        ({"x": [None, "\udc00"], "y": [0, 1]}, NotUtf8, "/data/columns/x"),
        ({"x": [1, 2], "y": ["a", "b\ud800"]}, NotUtf8, "/data/columns/y"),
    ],
)
def test_errors_point_into_the_request(stored, leftovers, columns, error, pointer):
    with pytest.raises(error) as caught:
        stored(columns)
    assert caught.value.errors[0].pointer == pointer
    assert leftovers() == []
