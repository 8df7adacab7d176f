"""A fit that is refused or stopped leaves the estimator as it was."""

import numpy as np
import pandas as pd
import pytest

import core
from core.monitoring import NullMonitor

TEXTS = pd.DataFrame({"s": ["a", "b"] * 50})
OTHER_TEXTS = pd.DataFrame({"s": ["b", "c"] * 50})
STOPPED = NullMonitor(np.ones(1, dtype=np.uint8))
KINDS = (core.TreeClassifier, core.AdaBoostClassifier, core.AutoClassifier)


def state(model):
    return {name: id(value) for name, value in vars(model).items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_fit_leaves_the_earlier_one(kind):
    model = kind(random_state=0).fit(TEXTS, TEXTS.s)
    before = state(model)
    with pytest.raises(core.InvalidInput):
        model.fit(OTHER_TEXTS, OTHER_TEXTS.s[:50])
    with pytest.raises(core.InvalidInput):
        model.fit(np.zeros((100, 9)), TEXTS.s, sample_weight=-np.ones(100))
    assert state(model) == before
    assert model.score(TEXTS, TEXTS.s) == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_fit_leaves_the_earlier_one(kind):
    model = kind(random_state=0).fit(TEXTS, TEXTS.s)
    before = state(model)
    with pytest.raises(core.FitStopped):
        model.fit(OTHER_TEXTS, OTHER_TEXTS.s, monitor=STOPPED)
    assert state(model) == before


def test_a_refused_first_fit_leaves_nothing():
    model = core.TreeClassifier()
    with pytest.raises(core.InvalidInput):
        model.fit(TEXTS, TEXTS.s[:50])
    assert not hasattr(model, "n_features_in_")
