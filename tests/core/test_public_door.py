"""Public interfaces of `core`: names, imports, declared parameters and losses."""

import inspect
import json
import os
import subprocess
import sys
import typing

import pytest

import core
from core import service_api

DOORS = pytest.mark.parametrize("door", [core, service_api], ids=["core", "service_api"])


@DOORS
def test_all_is_sorted_and_complete(door):
    assert door.__all__ == sorted(door.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    public_names = {
        name for name, value in vars(door).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public_names == set(door.__all__)


@DOORS
def test_every_public_name_is_documented(door):
    for name in door.__all__:
        value = getattr(door, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, name
            assert not value.__doc__.startswith(f"{name}("), name


@pytest.mark.parametrize("registry", [core.ESTIMATORS, core.LOSSES], ids=["estimators", "losses"])
def test_every_registered_class_is_public(registry):
    for registered in registry.values():
        assert getattr(core, registered.__name__) is registered


def test_import_starts_no_threads_and_imports_no_slow_packages():
    slow = {"sklearn", "scipy.optimize", "scipy.sparse", "scipy.special"}
    program = f"import core, sys, threading; print(threading.active_count(), *({slow} & sys.modules.keys()))"
    run = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1"]


@pytest.mark.parametrize("kind", core.ESTIMATORS)
def test_described_parameters_match_the_constructor(kind):
    signature = inspect.signature(core.ESTIMATORS[kind])
    described = service_api.estimator_parameters(kind)
    assert [p.name for p in described] == list(signature.parameters)
    assert all(p.help for p in described)
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in signature.parameters.values())
    separate_fields = {"random_state", "correction"} & {p.name for p in described}
    assert {p.name for p in described if p.server_side} == separate_fields | {"n_jobs", "categorical_features"}
    hints = typing.get_type_hints(core.ESTIMATORS[kind].__init__, include_extras=True)
    for parameter in described:
        assert parameter.default == signature.parameters[parameter.name].default
        assert parameter.annotation == hints[parameter.name]
        parameter.check(parameter.default, kind)


def test_parameter_bounds_are_described():
    by_name = {p.name: p for p in service_api.estimator_parameters("forest")}
    assert by_name["max_bins"].bounds == service_api.Bounds(ge=2, le=256)
    assert by_name["max_depth"].bounds == service_api.Bounds(ge=1, le=2**31 - 1)
    assert [str(alternative) for alternative in by_name["max_features"].alternatives] == [
        "an integer at least 1",
        "a number above 0 and at most 1",
        "'sqrt' or 'log2'",
        "None",
    ]
    assert by_name["n_estimators"].default == 100


def test_error_names_an_unknown_kind():
    with pytest.raises(core.InvalidParameter, match="'stump'"):
        service_api.estimator_parameters("stump")


@pytest.mark.parametrize("kind", core.LOSSES)
def test_all_spellings_of_a_loss_are_equal(kind):
    loss = core.parse_loss(kind)
    spellings = [loss, loss.to_json(), {"kind": kind}, *loss.aliases, *({"kind": a} for a in loss.aliases)]
    assert {repr(core.parse_loss(spelling)) for spelling in spellings} == {repr(loss)}
    assert all(core.parse_loss(spelling) == loss for spelling in spellings)
    assert json.loads(repr(loss)) == loss.to_json()
    assert [p.name for p in service_api.loss_parameters(kind)] == [key for key in loss.to_json() if key != "kind"]
    assert all(p.help for p in service_api.loss_parameters(kind))
    assert loss.help


def test_lambda_is_spelled_lambda_in_json():
    assert core.NegativeExponential(0.25) == core.parse_loss({"kind": "ne", "lambda": 0.25})
    assert core.NegativeExponential(1).to_json() == {"kind": "ne", "lambda": 1.0}
    assert core.parse_loss("ne").to_json() == {"kind": "ne", "lambda": 0.5}
    assert core.parse_loss("ane").to_json() == {
        "kind": "adaptive_ne",
        "grid": [0.0, 0.25, 0.5, 0.75, 1.0],
        "validation_fraction": 0.2,
        "selection": "auto",
    }


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("nope", "'nope'"),
        (3, "3"),
        (None, "None"),
        ({}, "kind"),
        ({"kind": ["ne"]}, r"\['ne'\]"),
        ({"kind": "ne", "lambda": 1.01}, "1.01"),
        ({"kind": "ne", "lambda": float("nan")}, "nan"),
        ({"kind": "ne", "lambda": "0.5"}, "'0.5'"),
        ({"kind": "ne", "lambda": True}, "True"),
        ({"kind": "ne", "lambda_": 0.5}, "'lambda_'"),
        ({"kind": "gini", "q": 1}, "'q'"),
        ({"kind": "ane", "grid": []}, r"\[\]"),
        ({"kind": "ane", "grid": [0, 2]}, r"\[0, 2\]"),
        ({"kind": "ane", "validation_fraction": 1}, "validation_fraction"),
        ({"kind": "ane", "selection": "oob"}, "'oob'"),
        ({"kind": "gce", "q": -0.1}, "-0.1"),
        ({"kind": "gce", "q": float("inf")}, "inf"),
        ({"kind": "credal", "s": 0}, "s of loss 'credal' is 0"),
        ({"kind": "twoing", "s": 1}, "'s'"),
        ({"kind": "distribution", "cdf": "nope"}, "'nope'"),
        ({"kind": "distribution", "cdf": "t"}, "lacks df"),
        ({"kind": "distribution", "parameters": [1]}, r"\[1\]"),
    ],
)
def test_error_names_an_invalid_loss(loss, message):
    with pytest.raises(core.InvalidLoss, match=message) as caught:
        core.TreeClassifier(loss=loss).fit([[0.0], [1.0]], [0, 1])
    assert caught.value.code == "invalid_loss"


def test_get_params_returns_the_original_object():
    spec = {"kind": "ne", "lambda": 0.5}
    assert core.TreeClassifier(loss=spec).get_params()["loss"] is spec
