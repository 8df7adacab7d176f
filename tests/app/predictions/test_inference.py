"""Routes of the Open Inference Protocol: the numbers of POST /predict, in the form of the protocol."""

import json

import pytest

from app.context import ServiceContext
from tests.app.trained_models.made import FEATURES, client_of, make_trained_model

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

MODEL = "/v2/models/credit-risk"
AGE = {"name": "age", "shape": [3], "datatype": "FP64", "data": [41, None, 7.5]}
JOB = {"name": "job", "shape": [3, 1], "datatype": "BYTES", "data": [["skilled"], ["unskilled"], [None]]}
DAY = {"name": "since", "kind": "datetime", "categories": None}
FLAG = {"name": "flag", "kind": "categorical", "categories": ["false", "true"], "is_boolean": True}


@pytest.fixture
def client(context: ServiceContext):
    make_trained_model(context, seed=1)
    make_trained_model(context)
    make_trained_model(context, name="all", features=[*FEATURES, DAY, FLAG])
    with client_of(context) as client:
        yield client


def test_metadata_and_health(client):
    assert client.get("/v2").json()["name"] == "bristlecone"
    assert client.get("/v2/health/live").json() == {"live": True}
    metadata = client.get(MODEL).json()
    assert metadata["versions"] == ["1", "2"]
    assert metadata["outputs"][1] == {"name": "probabilities", "datatype": "FP64", "shape": [-1, 2]}
    kinds = {one["name"]: one["datatype"] for one in client.get("/v2/models/all").json()["inputs"]}
    assert kinds == {"age": "FP64", "job": "BYTES", "since": "BYTES", "flag": "BOOL"}
    assert client.get(f"{MODEL}/versions/1").json() == metadata
    for path in (MODEL, f"{MODEL}/versions/2"):
        assert client.get(f"{path}/ready").json() == {"name": "credit-risk", "ready": True}


@pytest.mark.parametrize("padding", ["", " " * 70_000])
@pytest.mark.parametrize("version", [1, 2])
def test_the_numbers_of_predict(client, padding, version):
    body = {"id": "a", "inputs": [JOB, AGE], "parameters": {"content_type": "pd"}}
    answer = client.post(
        f"{MODEL}/versions/{version}/infer",
        content=json.dumps(body) + padding,
        headers={"Content-Type": "application/json"},
    ).json()
    columns = {"age": [41, None, 7.5], "job": ["skilled", "unskilled", None]}
    expected = client.post("/predict", json={"model": f"credit-risk:{version}", "columns": columns}).json()
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert (answer["model_name"], answer["model_version"], answer["id"]) == ("credit-risk", str(version), "a")
    assert outputs["label"]["data"] == [one["label"] for one in expected["predictions"]]
    assert outputs["label"]["datatype"], outputs["label"]["shape"] == ("BYTES", [3])
    probabilities = outputs["probabilities"]
    assert probabilities["shape"] == [3, 2]
    assert probabilities["parameters"] == {"classes": ["bad", "good"]}
    assert probabilities["data"] == [p for one in expected["predictions"] for p in one["probabilities"].values()]


def test_outputs_and_parameters(client):
    body = {"inputs": [AGE], "parameters": {"on_missing": "missing"}, "outputs": [{"name": "label"}]}
    answer = client.post(f"{MODEL}/infer", json=body).json()
    assert [output["name"] for output in answer["outputs"]] == ["label"]
    assert "id" not in answer


@pytest.mark.parametrize(
    ("datatype", "values"),
    [
        ("INT8", [-128, 127, None]),
        ("UINT32", [0, 2**32 - 1, None]),
        ("UINT64", [0, 2**64 - 1, None]),
        ("FP16", [-65504, 65504.0, None]),
        ("FP32", [3.4e38, -3.4e38, None]),
    ],
)
def test_numbers_in_the_range_of_their_datatype(client, datatype, values):
    inputs = [{**AGE, "datatype": datatype, "data": values}, JOB]
    assert client.post(f"{MODEL}/infer", json={"inputs": inputs}).status_code == 200


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": []}, "the tensors have no rows"),
        ({"inputs": [AGE]}, "At /inputs: the feature 'job' is not named"),
        ({"inputs": [AGE, AGE]}, "'age' occurs twice"),
        ({"inputs": [{**AGE, "shape": [2]}]}, "At /inputs/0/shape: shape is [2] and data has 3 entries"),
        ({"inputs": [{**AGE, "datatype": "INT64"}]}, "At /inputs/0/data/2: 7.5 is not of the datatype INT64"),
        (
            {"inputs": [{**AGE, "datatype": "INT8", "data": [41, None, 128]}]},
            "At /inputs/0/data/2: 128 is out of range; INT8 holds integers from -128 to 127; declare a datatype that ",
        ),
        ({"inputs": [{**AGE, "datatype": "UINT16", "data": [-1, 0, 65_535]}]}, "data/0: -1 is out of range; UINT16"),
        ({"inputs": [{**AGE, "datatype": "INT64", "data": [0, 2**63, 0]}]}, "data/1: 9223372036854775808 is out of"),
        (
            {"inputs": [{**AGE, "datatype": "FP16", "data": [1, 65_505, 0]}]},
            "data/1: 65505 is out of range; FP16 holds",
        ),
        ({"inputs": [{**AGE, "datatype": "FP32", "data": [1, 0, -1e39]}]}, "FP32 holds numbers from -3.40282"),
        ({"inputs": [{**AGE, "datatype": []}]}, "datatype is an array; it must be one of BOOL"),
        ({"inputs": [{**AGE, "datatype": {"a": 1}}]}, "it must be one of BOOL"),
        ({"inputs": [{**AGE, "datatype": "FLOAT"}]}, "datatype is 'FLOAT'; it must be one of BOOL, BYTES"),
        ({"inputs": [{**AGE, "data": None, "parameters": {"binary_data_size": 3}}]}, "binary tensor data extension"),
        ({"inputs": [AGE, {**JOB, "data": ["skilled", "pilot", None]}]}, "At /inputs/1/data/1: the category 'pilot'"),
        ({"inputs": [AGE, {**JOB, "shape": [2], "data": ["skilled", None]}]}, "2 values, but 'age' has 3"),
        ({"inputs": [AGE, JOB], "outputs": [{"name": "class"}]}, "there is no output 'class'"),
        ({"inputs": [AGE, JOB], "parameters": {"extra": 1}}, "extra is 1; it must be 'error' or 'ignore'"),
        ({"inputs": [1]}, "1 is not a tensor"),
        ({"rows": []}, "inputs is missing"),
        ({"inputs": [AGE, {**JOB, "data": ["pilot", "x", "skilled"]}]}, "categories as missing (1 further fault)."),
    ],
)
def test_errors_have_the_form_of_the_protocol(client, changes, message):
    for padding in ("", " " * 70_000):
        headers = {"Content-Type": "application/json"}
        answer = client.post(f"{MODEL}/infer", content=json.dumps(changes) + padding, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/json")
        assert list(answer.json()) == ["error"]
        assert message in answer.json()["error"]


def test_what_there_is_not(client):
    for path in ("/v2/models/nobody", "/v2/models/nobody/ready", f"{MODEL}/versions/9", "/v2/nothing"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.json()["error"]
    binary = client.post(f"{MODEL}/infer", content=b"{}", headers={"Inference-Header-Content-Length": "2"})
    assert (binary.status_code, list(binary.json())) == (415, ["error"])
