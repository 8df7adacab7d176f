"""Dates of NumPy, as labels and as features."""

import numpy as np
import pandas as pd
import pytest

import core

X = np.random.default_rng(0).normal(size=(40, 2))
CODES = (X[:, 0] > 0).astype(int)
DAYS = np.array(["2020-01-01", "2021-01-01"], "M8[D]")[CODES]


@pytest.mark.parametrize("as_given", [np.asarray, pd.Series])
def test_missing_dates_are_missing_labels(as_given):
    days = DAYS.copy()
    days[3] = "NaT"
    with pytest.raises(core.InvalidInput, match="y contains NaN or None in 1 of 40 rows, the first of which is row 3"):
        core.TreeClassifier().fit(X, as_given(days))


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_labels_match_in_any_unit(unit):
    model = core.TreeClassifier().fit(X, DAYS.astype("M8[ns]"))
    given = DAYS.astype(f"M8[{unit}]")
    assert model.score(X, given) == model.score(X, pd.to_datetime(given).tolist()) == 1.0
    assert core.evaluate(model, X, given)["accuracy"] == 1.0
    given[:10] = np.datetime64("1999-01-01")
    assert model.score(X, given) == 0.75


def test_confused_classes_are_dates():
    y = np.tile(DAYS, 5).astype("M8[ns]")
    y[::7] = np.where(y[::7] == DAYS[0], DAYS[CODES[0] != CODES][0], DAYS[0])
    audit = core.audit_labels(np.tile(X, (5, 1)), y, random_state=0)
    assert {type(label) for pair in audit.confused for label in pair[:2]} == {np.datetime64}


def test_texts_and_times_of_other_zones_are_no_dates():
    model = core.TreeClassifier().fit(X, DAYS.astype("M8[ns]"))
    assert model.score(X, pd.to_datetime(DAYS).tz_localize("UTC").tolist()) == 0.0
    with pytest.raises(core.InvalidInput, match="convert y to the type of the labels of the fit"):
        model.score(X, DAYS.astype(str))


@pytest.mark.parametrize("dtype", ["M8[ns]", "m8[s]"])
def test_arrays_of_dates_are_no_features(dtype):
    """Their numbers would be those of another unit in the next array."""
    with pytest.raises(core.InvalidInput, match="pass a data frame"):
        core.TreeClassifier().fit(np.arange(40)[:, np.newaxis].astype(dtype), CODES)
