"""GET /schema/…: complete, and a form built from the answers is accepted by POST /train."""

import uuid

import pytest
from pydantic import TypeAdapter

from app.forms import forms
from app.training.specs import TrainRequest
from core import ESTIMATORS, LOSSES, NOISE_KINDS
from tests.factories import make_dataset

REQUESTS = TypeAdapter(TrainRequest)
MAX_TREES = 10_000
MATRIX = [[0.9, 0.1], [0.2, 0.8]]
#: Parameters that go together, as their help says.
COMPANIONS = {"oob_score": {"bootstrap": True}, "parameters": {"cdf": "logistic"}}
#: Texts and objects that their help describes.
TEXTS = {"cdf": "logistic", "class": "a", "dataset_id": str(uuid.UUID(int=1))}
OBJECTS = {"parameters": {"scale": 2.0}}

MODELS, LOSS_FORMS = forms.model_forms(MAX_TREES), forms.loss_forms()


def examples(parameter):
    """Yield values of a parameter: its default, its choices, and its bounds."""
    if "default" in parameter:
        yield parameter["default"]
    for accepted in parameter["values"]:
        yield from examples_of_type(parameter["name"], accepted)


def examples_of_type(name, accepted):
    kind = accepted["type"]
    if kind in ("integer", "number"):
        yield from numbers(accepted)
    elif kind == "array":
        yield MATRIX if name == "transition" else array(name, accepted)
    elif kind == "object":
        yield OBJECTS.get(name) or {"a": next(numbers(accepted["items"][0]))}
    else:
        fixed = {
            "boolean": [False, True],
            "null": [None],
            "loss": ["ne", {"kind": "gini"}],
            "string": [TEXTS.get(name)],
        }
        yield from accepted.get("choices") or fixed[kind]


def array(name, accepted):
    item = next(examples_of_type(name, accepted["items"][0]))
    return [item] * accepted["min_items"]


def numbers(accepted):
    step = 1 if accepted["type"] == "integer" else 1e-6
    lowest = accepted.get("minimum", accepted.get("exclusive_minimum", 0) + step)
    highest = accepted.get("maximum", accepted.get("exclusive_maximum", lowest + 2) - step)
    yield from (lowest, highest, lowest + step)


def valid(**request):
    return REQUESTS.validate_python({"dataset_id": str(uuid.UUID(int=1)), "model": {"kind": "tree"}, **request})


def each_value(kinds):
    for form in kinds:
        yield form["kind"], {}
        for parameter in form["parameters"]:
            for value in examples(parameter):
                yield form["kind"], {parameter["name"]: value, **COMPANIONS.get(parameter["name"], {})}


def required(form):
    return {p["name"]: next(iter(examples(p))) for p in form["parameters"] if p["required"]}


@pytest.mark.parametrize("form", MODELS, ids=lambda form: form["kind"])
def test_every_default_and_bound_of_a_model_is_accepted(form):
    kinds = list(each_value([form]))
    assert len(kinds) > len(form["parameters"])
    for kind, parameters in kinds:
        valid(model={"kind": kind, **parameters})


@pytest.mark.parametrize("form", LOSS_FORMS, ids=lambda form: form["kind"])
def test_every_default_and_bound_of_a_loss_is_accepted(form):
    for kind, parameters in each_value([form]):
        valid(model={"kind": "forest", "loss": {"kind": kind, **parameters}})
    for alias in form["aliases"]:
        valid(model={"kind": "forest", "loss": alias})


def test_every_default_and_bound_of_noise_is_accepted():
    for form in forms.noise_forms():
        for kind, parameters in each_value([form]):
            valid(noise={"inject": {"kind": kind, **required(form), **parameters}})


def test_every_default_and_bound_of_corrections_and_evaluations_is_accepted():
    correction = forms.correction_form()
    for parameter in correction["parameters"]:
        for value in examples(parameter):
            valid(noise={"correction": {**required(correction), parameter["name"]: value}})
    for form in forms.evaluation_forms():
        for kind, parameters in each_value([form]):
            valid(evaluation={"kind": kind, **required(form), **parameters})


@pytest.mark.parametrize("form", MODELS, ids=lambda form: form["kind"])
def test_values_beyond_the_bounds_are_refused(form):
    for parameter in form["parameters"]:
        accepted = [value for value in parameter["values"] if value["type"] != "null"]
        if len(accepted) == 1 and "minimum" in accepted[0]:
            with pytest.raises(ValueError, match=parameter["name"]):
                valid(model={"kind": form["kind"], parameter["name"]: accepted[0]["minimum"] - 1})


def test_every_kind_and_parameter_has_help():
    assert [form["kind"] for form in MODELS] == list(ESTIMATORS)
    assert [form["kind"] for form in LOSS_FORMS] == list(LOSSES)
    assert [form["kind"] for form in forms.noise_forms()] == list(NOISE_KINDS)
    kinds = [*MODELS, *LOSS_FORMS, *forms.noise_forms(), *forms.evaluation_forms()]
    assert all(form["help"] and all(p["help"] for p in form["parameters"]) for form in kinds)


def test_answers(client):
    answers = {name: client.get(f"/schema/{name}").json() for name in ("models", "losses", "noise", "evaluation")}
    [trees] = [p for form in answers["models"] if form["kind"] == "forest" for p in form["parameters"][:1]]
    assert trees == {
        "name": "n_estimators", "help": "Number of trees.", "required": False, "default": 100,
        "values": [{"type": "integer", "minimum": 1, "maximum": client.app.state.settings.limits.max_trees}],
    }  # fmt: skip
    assert answers["losses"] == forms.loss_forms()
    assert answers["noise"] == {"inject": forms.noise_forms(), "correction": forms.correction_form()}
    assert answers["evaluation"] == forms.evaluation_forms()
    assert client.get("/schema/models?kind=forest").status_code == 422


def test_forms_of_required_values_are_accepted_by_the_route(client):
    dataset_id = str(make_dataset(client.app.state.context))
    for form in client.get("/schema/models").json():
        smallest = {p["name"]: p["default"] for p in form["parameters"]}
        body = {"dataset_id": dataset_id, "model": {"kind": form["kind"], **smallest}}
        assert client.post("/train", json=body).status_code == 202, form["kind"]
    for form in client.get("/schema/evaluation").json():
        defaults = {p["name"]: p["default"] for p in form["parameters"] if not p["required"]}
        body = {"dataset_id": dataset_id, "evaluation": {"kind": form["kind"], **defaults}, "model": {"kind": "tree"}}
        if form["kind"] == "dataset":
            body["evaluation"]["dataset_id"] = str(make_dataset(client.app.state.context))
        assert client.post("/train", json=body).status_code == 202, form["kind"]
