"""Texts of reports: what differs has different texts."""

import pytest

from bristlecone.results import SweepReport


def sweep(models, noises):
    cells = [
        {"model": model, "noise": noise, "metric": "accuracy", "mean": 0.5, "sd": 0.1}
        for model in models
        for noise in noises
    ]
    return SweepReport.from_raw({"id": "s", "cells": cells})


def test_models_and_noises_keep_short_texts_where_these_suffice():
    models = [{"kind": "tree"}, {"kind": "forest", "loss": {"kind": "gini"}, "n_estimators": 10}]
    rows = sweep(models, [{"kind": "uniform", "rate": 0.2}]).rows()
    assert [(row["model"], row["noise"]) for row in rows] == [("tree", "uniform 0.2"), ("forest gini", "uniform 0.2")]


@pytest.mark.parametrize(
    ("parts", "texts"),
    [
        (
            [{"kind": "forest", "n_estimators": 10}, {"kind": "forest", "n_estimators": 500}],
            ["forest n_estimators=10", "forest n_estimators=500"],
        ),
        (
            [{"kind": "tree", "loss": {"kind": "ne", "lambda": 0.1}}, {"kind": "tree", "loss": {"kind": "ne"}}],
            ["tree ne loss.lambda=0.1", "tree ne"],
        ),
    ],
)
def test_models_that_differ_in_a_parameter_have_different_texts(parts, texts):
    noises = [{"kind": "pairwise", "rates": [0.1, 0.1]}, {"kind": "pairwise", "rates": [0.3, 0.3]}]
    rows = sweep(parts, noises).rows()
    assert [row["model"] for row in rows] == [text for text in texts for _ in noises]
    assert [row["noise"] for row in rows[:2]] == ["pairwise rates=[0.1, 0.1]", "pairwise rates=[0.3, 0.3]"]
    assert len(sweep(parts, noises).plot().get_lines()) >= len(parts)
