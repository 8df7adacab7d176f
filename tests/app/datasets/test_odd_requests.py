"""Requests that once led to internal errors."""

import io

import pyarrow as pa
import pytest

CSV = b"x,y\n1,a\n2,b\n3,a\n"
ARRAYS, OBJECTS = "[" * 100_000, '{"x":' * 100_000


@pytest.mark.parametrize(("field", "deep"), [("types", ARRAYS), ("types", OBJECTS), ("dates", OBJECTS)])
def test_deeply_nested_json(client, field, deep):
    response = client.post("/datasets", files={"file": ("t.csv", CSV)}, data={"target": "y", field: deep})
    assert (response.status_code, response.json()["code"]) == (422, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == f"/{field}"
    assert "levels" in response.json()["detail"]


@pytest.mark.parametrize("field", ["types", "dates"])
def test_deeply_nested_json_in_the_query(client, field):
    query = {"target": "y", field: '{"x":' * 5_000}
    response = client.post("/datasets", params=query, content=CSV, headers={"Content-Type": "text/csv"})
    assert (response.status_code, response.json()["code"]) == (422, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == f"query/{field}"


def test_a_long_boundary(client):
    headers = {"Content-Type": "multipart/form-data; boundary=" + "b" * 300}
    response = client.post("/datasets", content=b"--" + b"b" * 300, headers=headers)
    assert (response.status_code, response.json()["code"]) == (400, "malformed_multipart")


def test_thousands_of_unknown_fields(client):
    fields = {f"unknown{'_' * 80}{index}": "text" for index in range(10_000)}
    response = client.post("/datasets", files={"file": ("t.csv", CSV)}, data={"target": "y", **fields})
    assert response.status_code == 422
    assert len(response.content) < 4_000
    assert "10,000 keys are not known here: " in response.json()["detail"]
    assert len(response.json()["errors"]) == 1


def test_an_arrow_column_name_that_is_not_utf8(client):
    content = stream(pa.record_batch([pa.array([1, 2, 3]), pa.array(["a", "b", "a"])], names=["name", "y"]))
    response = client.post(
        "/datasets", files={"file": ("t", content.replace(b"name", b"n\xff\xfee"))}, data={"target": "y"}
    )
    assert (response.status_code, response.json()["code"]) == (422, "not_utf8")


def test_an_index_beyond_its_dictionary(client):
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), ["a", "b"], safe=False)
    content = stream(pa.record_batch([words, pa.array(["a", "b", "a"])], names=["x", "y"]))
    response = client.post("/datasets", files={"file": ("t", content)}, data={"target": "y"})
    assert (response.status_code, response.json()["code"]) == (422, "unreadable_file")


def stream(batch):
    out = io.BytesIO()
    with pa.ipc.new_stream(out, batch.schema) as writer:
        writer.write_batch(batch)
    return out.getvalue()
