"""Bodies of POST /predict that are tables: their errors, their limits, and what hostile ones can do."""

import gzip
import io
import json

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.context import ServiceContext
from tests.app.trained_models.made import client_of, make_trained_model

JSON, CSV, NDJSON = "application/json", "text/csv", "application/x-ndjson"
PARQUET, ARROW = "application/vnd.apache.parquet", "application/vnd.apache.arrow.stream"
FEATURES = [
    {"name": "age", "kind": "numeric", "reading": {"decimal": ",", "thousands": ".", "nulls": ["", "-9"]}},
    {"name": "job", "kind": "categorical", "categories": ["skilled", "unskilled"], "is_boolean": False},
    {"name": "since", "kind": "datetime", "reading": {"dates": "%d.%m.%Y"}},
]
FEATURES = [{"categories": None, **feature} for feature in FEATURES]


pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def client(context: ServiceContext):
    make_trained_model(context, features=FEATURES)
    with client_of(context) as client:
        yield client


def stream(columns, **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return out.getvalue()


def parquet(columns, **options):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


def post(client, media_type, body, headers=None, **query):
    sent = {"Content-Type": media_type, **(headers or {})}
    return client.post("/predict", params={"model": "credit-risk", **query}, content=body, headers=sent)


def refused(answer):
    problem = answer.json()
    return answer.status_code, problem["code"], [error["pointer"] for error in problem.get("errors", [])]


ROW = {"age": [1.0], "job": ["skilled"], "since": pa.array([None], pa.timestamp("s"))}


@pytest.mark.parametrize(
    ("media_type", "body", "query", "expected"),
    [
        (CSV, b"age;job;since\n1.234,5;skilled;31.05.2024\n-9;x;\n", {}, (422, "unknown_category", ["/columns/job/1"])),
        (CSV, b"age,job,since\n1,skilled,2024/05/31\n", {}, (422, "not_a_date", ["/columns/since/0"])),
        (CSV, b"age,job\n1,skilled\n", {}, (422, "missing_feature", ["/columns/since"])),
        (CSV, b"age,job,since,wage\n1,skilled,,1\n", {}, (422, "unknown_feature", ["/columns/wage"])),
        (CSV, b"wage\n1\n", {"on_missing": "missing"}, (422, "unknown_feature", ["/columns/wage"])),
        (CSV, b"age,age,job,since\n1,1,skilled,\n", {}, (422, "duplicate_column", ["body"])),
        (CSV, b"age,job,since\n1,skilled\n", {}, (422, "unreadable_file", ["body"])),
        (CSV, b"age,job,since\n", {}, (422, "nothing_to_predict", ["body"])),
        (CSV, b"", {}, (422, "nothing_to_predict", ["body"])),
        (CSV, b"age,job,since\n1,sk\xff,\n", {}, (422, "not_utf8", ["body"])),
        (NDJSON, b'{"age": "1,5", "job": "skilled", "since": null}\n{"age": "old"}', {"on_missing": "missing"},
         (422, "not_a_number", ["/rows/1/age"])),
        (NDJSON, b'{"age": 1, "age": 2}', {}, (422, "unreadable_file", ["body"])),
        (NDJSON, b"[1]", {}, (422, "unreadable_file", ["body"])),
        (PARQUET, b"PAR1 and so on PAR1", {}, (422, "unreadable_file", ["body"])),
        (PARQUET, stream(ROW), {}, (422, "file_type_mismatch", ["body"])),
        (ARROW, stream(ROW)[:-30], {}, (422, "unreadable_file", ["body"])),
        (ARROW, stream({**ROW, "age": [float("inf")]}), {}, (422, "not_a_number", ["/columns/age/0"])),
        (ARROW, stream({**ROW, "age": [True]}), {}, (422, "not_a_number", ["/columns/age"])),
        (ARROW, stream({**ROW, "since": [1.0]}), {}, (422, "not_a_date", ["/columns/since"])),
        (ARROW, stream({**ROW, "job": [[1]]}), {}, (422, "unknown_category", ["/columns/job"])),
        (ARROW, stream({name: cells[:0] for name, cells in ROW.items()}), {}, (422, "nothing_to_predict", ["body"])),
        (ARROW, stream(ROW), {"output": "all"}, (422, "invalid_request", ["query/output"])),
        (ARROW, stream(ROW), {"model": "nobody"}, (404, "model_not_found", [])),
        (ARROW, stream(ROW), {"models": "nobody"}, (422, "invalid_request", ["query/models"])),
        (JSON, json.dumps({"columns": {"age": ["x"]}}).encode() + b" " * 70_000, {"on_missing": "missing"},
         (422, "not_a_number", ["/columns/age/0"])),
        (JSON, b'{"rows": 1' + b" " * 70_000 + b"}", {}, (422, "invalid_request", ["/rows"])),
        (JSON, b'{"rows": [], "dataset_id": "a"}', {}, (422, "invalid_request", ["/rows"])),
        ("text/csv; charset=klingon", b"age\n1", {}, (422, "unknown_encoding", ["header/Content-Type"])),
        ("text/csv; charset=ascii", b"age\n\xe9", {}, (422, "undecodable_text", ["header/Content-Type"])),
        (JSON, b"[" * 70_000, {}, (422, "nested_too_deeply", [])),
    ],
)  # fmt: skip
def test_errors(client, media_type, body, query, expected):
    assert refused(post(client, media_type, body, **query)) == expected


def test_text_is_read_as_in_the_data_set_of_the_model(client):
    rows = {"age": [1234.5, None], "job": ["skilled", "unskilled"], "since": ["31.05.2024", None]}
    expected = client.post("/predict", json={"model": "credit-risk", "columns": rows}).json()
    text = "age;job;since\n1.234,5;skilled;31.05.2024\n-9; unskilled ;\n"
    assert post(client, CSV, text.encode()).json() == expected
    assert post(client, "text/csv; charset=utf-16", text.encode("utf-16")).json() == expected
    assert post(client, 'text/csv; header=present; charset="UTF-16"', text.encode("utf-16")).json() == expected
    assert post(client, "text/tab-separated-values", text.replace(";", "\t").encode()).json() == expected
    floats = stream({**ROW, "age": [float("nan")], "wage": [1]})
    missing = {"age": [None], "job": ["skilled"], "since": [None]}
    assert (
        post(client, ARROW, floats, extra="ignore").json()
        == client.post("/predict", json={"model": "credit-risk", "columns": missing}).json()
    )


@pytest.mark.parametrize("media_type", [JSON, CSV])
def test_compressed_bodies_are_refused_by_their_header(client, media_type):
    body = gzip.compress(b"age\n41\n")
    assert refused(post(client, media_type, body, {"Content-Encoding": "gzip"})) == (
        415,
        "unsupported_media_type",
        ["header/Content-Encoding"],
    )
    assert post(client, CSV, b"age\n41\n", {"Content-Encoding": "identity"}, on_missing="missing").status_code == 200


@pytest.mark.parametrize("blanks", [b"", b" " * 70_000], ids=["in memory", "in a file"])
def test_an_array_alone_is_the_rows(client, blanks):
    rows = [{"age": 41, "job": "skilled", "since": "2024-05-31"}, {"age": 30.5, "job": "unskilled", "since": None}]
    expected = client.post("/predict", json={"model": "credit-risk", "rows": rows, "on_missing": "missing"}).json()
    body = json.dumps(rows).encode() + blanks
    assert post(client, JSON, body, on_missing="missing").json() == expected
    for content, expected in (
        (b'[{"age": "x"}]', ("not_a_number", ["/0/age"])),
        (b'[{"age": 1}, {"age": 1, "wage": 2}]', ("unknown_feature", ["/1/wage"])),
        (b'[{"age": 1, "age": 2}]', ("duplicate_feature", ["/0/age"])),
        (b"[[41]]", ("invalid_request", ["/0"])),
        (b"[]", ("nothing_to_predict", ["/"])),
    ):
        assert refused(post(client, JSON, content + blanks, on_missing="missing"))[1:] == expected
    assert refused(client.post("/predict", content=body, headers={"Content-Type": JSON})) == (
        422,
        "invalid_request",
        ["/model"],
    )


def test_an_empty_line_of_one_column_is_a_row(client):
    missing = {"columns": {"age": [1, None, 3]}, "model": "credit-risk", "on_missing": "missing"}
    expected = client.post("/predict", json=missing).json()
    for text in (b"age\n1\n\n3\n", b"\xef\xbb\xbf\n\nage\n1\n\n3", b"age\r\n1\r\n\r\n3\r\n"):
        assert post(client, CSV, text, on_missing="missing").json() == expected


def test_forms_that_do_not_exist_are_refused_with_those_that_do(client):
    no_such_answer = post(client, ARROW, stream(ROW), {"Accept": "image/png, application/xml;q=0.5, text/csv;q=0"})
    assert refused(no_such_answer) == (406, "not_acceptable", ["header/Accept"])
    assert "application/json, text/csv, application/x-ndjson" in no_such_answer.json()["detail"]
    no_such_body = post(client, "application/xml", b"<rows/>")
    assert refused(no_such_body) == (415, "unsupported_media_type", ["header/Content-Type"])
    assert PARQUET in no_such_body.json()["detail"]
    for accept, chosen in [
        ("*/*", "application/json"), ("text/*", CSV), (f"{CSV};q=0.5, {PARQUET}", PARQUET),
        ("application/json;q=0, */*;q=0.1", CSV), ("", "application/json"), (";q=x", "application/json"),
    ]:  # fmt: skip
        answer = post(client, ARROW, stream(ROW), {"Accept": accept})
        assert answer.headers["content-type"].partition(";")[0] == chosen


def test_rows_are_bounded_while_they_are_read(context, client):
    limits = context.settings.limits.model_copy(update={"max_answer_cells": 1_000})
    settings = context.settings.model_copy(update={"limits": limits})
    many = {"age": np.zeros(300_000), "job": ["skilled"] * 300_000, "since": pa.nulls(300_000, pa.date32())}
    with client_of(type(context)(**{**vars(context), "settings": settings})) as limited:
        for media_type, body in [(ARROW, stream(many)), (CSV, b"age,job,since\n" + b"1,skilled,\n" * 5_000)]:
            assert refused(post(limited, media_type, body))[:2] == (413, "too_many_cells")
        assert post(limited, CSV, b"age,job,since\n1,skilled,\n").status_code == 200
    assert not list(context.settings.staging_folder.iterdir())


def test_a_small_body_of_gigabytes(context, client):
    """A bomb is refused by the memory of the child, or read in pieces; the API takes none of it."""
    n_rows = 65_536
    texts = pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), ["x" * 20_000])
    columns = {"age": np.zeros(n_rows), "job": texts, "since": pa.nulls(n_rows, pa.date32())}
    zeros = {**columns, "job": pa.array(["y" * 4_000] * n_rows)}
    before = psutil.Process().memory_info().rss
    for media_type, body in [
        (PARQUET, parquet(columns)),
        (ARROW, stream(zeros, compression="zstd")),
    ]:
        assert len(body) < 1_000_000
        answer = post(client, media_type, body)
        assert refused(answer)[1] in ("unknown_category", "decoded_too_large"), answer.text
    assert psutil.Process().memory_info().rss - before < 200 * 2**20
