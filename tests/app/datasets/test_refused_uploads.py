"""Every kind of invalid upload has its own error code and pointer, and leaves no files."""

import datetime
import gzip

import pyarrow as pa
import pytest

from app.settings import Limits
from tests.app.datasets.asgi import post_csv
from tests.app.datasets.conftest import make_app
from tests.app.datasets.tables import arrow_file, arrow_stream, parquet

GOOD = b"a,b,y\n1,u,0\n2,v,1\n"
BAD_UTF8 = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))

TEXT_ERRORS = {
    "empty": (b"", "empty_file", "/file", ""),
    "blank": (b"\n \n", "empty_file", "/file", ""),
    "header only": (b"a,b,y\n", "no_rows", "/file", ""),
    "header only, no line end": (b"a,b,y", "no_rows", "/file", ""),
    "short row": (b"a,b,y\n1,2,3\n4,5\n", "unreadable_file", "/file", "line 3"),
    "long row": (b"a,y\n1,2\n3,4,5\n", "unreadable_file", "/file", "line 3"),
    "separator line of Excel": (b"sep=;\na;y\n1;2\n3;4\n", "unreadable_file", "/file", "'sep=;'"),
    "open quote": (b'a,y\n1,"2\n3,4\n5,6\n', "unreadable_file", "/file", "line 2"),
    "latin-1 value": ("a,y\né,1\nb,2\n".encode("latin-1"), "not_utf8", "/file", ""),
    "latin-1 header": ("é,y\n1,1\n2,2\n".encode("latin-1"), "not_utf8", "/file", ""),
    "utf-16 without a mark": ("a,y\n1,2\n2,3\n".encode("utf-16-le") * 99, "not_utf8", "/file", "utf-16-le"),
    "two columns of one name": (b"a,a,y\n1,2,3\n", "duplicate_column", "/file", "'a'"),
    "column with a long name": (b"a" * 501 + b",y\n1,2\n", "invalid_column_name", "/file", "column 1"),
    "no target": (b"a,Risk\n1,2\n", "unknown_target", "/target", "'Risk'"),
    "a title": (b"Report of May,,\na,b,y\n1,2,u\n2,3,v\n", "unknown_target", "/target", "a title above the header"),
    "only the target": (b"y\n1\n2\n", "no_features", "/file", ""),
    "one class": (b"a,y\n1,x\n2,x\n", "single_class", "/target", "'x'"),
    "no labels": (b"a,y\n1,\n2,NA\n", "missing_label", "/target", "no labels"),
    "infinite value": (b"a,y\n1,x\n-inf,z\n", "infinite_value", "/file", "row 1 (line 3)"),
    "infinite label": (b"a,y\n1,0\n2,inf\n", "infinite_value", "/target", ""),
    "one endless line": (b"a,y" * 500_000, "unreadable_file", "/file", "header"),
    "a header of quoted line ends": (b'"a\n",' * 300_000, "unreadable_file", "/file", "header"),
    "byte order mark only": (b"\xef\xbb\xbf", "no_rows", "/file", ""),
    "damaged gzip": (gzip.compress(GOOD)[:-9], "unreadable_file", "/file", "gzip"),
    "damaged zstd": (pa.compress(GOOD, "zstd", asbytes=True)[:-3], "unreadable_file", "/file", "zstd"),
    "NUL in a category": (b"a,y\n" + b"1,x\n" * 20_000 + b"u\0v,z\n", "nul_character", "/file", "'a'"),
    "NUL in a label": (b"a,y\n" + b"1,x\n" * 20_000 + b"2,u\0v\n", "nul_character", "/file", "'y'"),
}  # fmt: skip

TYPED_ERRORS = {
    "times of day": (parquet(a=[datetime.time(12)] * 2, y=[0, 1]), "unsupported_column_type", "/file", "time64"),
    "lists": (parquet(a=[[1], [2]], y=[0, 1]), "unsupported_column_type", "/file", "list"),
    "structs": (parquet(a=[{"b": 1}, {"b": 2}], y=[0, 1]), "unsupported_column_type", "/file", "struct"),
    "bytes": (parquet(a=[b"u", b"v"], y=[0, 1]), "unsupported_column_type", "/file", "binary"),
    "no rows": (parquet(a=pa.array([], pa.int8()), y=pa.array([], pa.int8())), "no_rows", "/file", ""),
    "cut off": (parquet(a=[1, 2], y=[0, 1])[:-20], "unreadable_file", "/file", ""),
    "NaN labels": (parquet(a=[1, 2], y=[float("nan")] * 2), "missing_label", "/target", "no labels"),
    "infinite value": (parquet(a=[1.0, float("inf")], y=[0, 1]), "infinite_value", "/file", "in row 1;"),
}

NAMES = {
    "text called Parquet": ("t.parquet", GOOD, "file_type_mismatch"),
    "noise called Parquet": ("t.parquet", b"\0\1\2" * 99, "file_type_mismatch"),
    "text called Arrow": ("t.arrow", GOOD, "file_type_mismatch"),
    "Parquet called CSV": ("t.csv", parquet(a=[1, 2], y=[0, 1]), "file_type_mismatch"),
    "Parquet called CSV, as gzip": ("t.csv.gz", gzip.compress(parquet(a=[1, 2], y=[0, 1])), "file_type_mismatch"),
    "Parquet called Arrow": ("t.arrow", parquet(a=[1, 2], y=[0, 1]), "file_type_mismatch"),
    "Arrow called Parquet": ("t.parquet", arrow_stream(a=[1, 2], y=[0, 1]), "file_type_mismatch"),
    "workbook called CSV": ("t.csv", b"PK\3\4\0\0" * 99, "file_type_mismatch"),
    "noise called a workbook": ("t.xlsx", b"PK\3\4\0\0" * 99, "file_type_mismatch"),
    "zip without a name": ("", b"PK\3\4\0\0" * 99, "unknown_file_type"),
    "no name, noise": ("", b"\0\1\2" * 99, "unknown_file_type"),
}


def refused(response, code, pointer, detail="", status=422):
    body = response.json()
    assert (response.status_code, body["code"]) == (status, code), body
    assert response.headers["content-type"] == "application/problem+json"
    assert body["errors"][0]["pointer"] == pointer
    assert detail in body["detail"]


def upload(client, content, file_name="t.csv", **fields):
    return client.post("/datasets", files={"file": (file_name, content)}, data={"target": "y", **fields})


@pytest.fixture(autouse=True)
def nothing_is_stored(client, leftovers):
    yield
    assert leftovers() == []
    assert client.get("/datasets").json()["items"] == []


class TestFile:
    @pytest.mark.parametrize(("content", "code", "pointer", "detail"), TEXT_ERRORS.values(), ids=TEXT_ERRORS)
    def test_text(self, client, content, code, pointer, detail):
        refused(upload(client, content), code, pointer, detail)

    @pytest.mark.parametrize(("content", "code", "pointer", "detail"), TYPED_ERRORS.values(), ids=TYPED_ERRORS)
    def test_typed(self, client, content, code, pointer, detail):
        refused(upload(client, content, "t.parquet"), code, pointer, detail)

    @pytest.mark.parametrize(("name", "content", "code"), NAMES.values(), ids=NAMES)
    def test_not_what_its_name_says(self, client, name, content, code):
        refused(upload(client, content, name or "file"), code, "/file")

    def test_not_what_its_content_type_says(self, client):
        media_type = "application/vnd.apache.parquet"
        response = client.post("/datasets?target=y", content=GOOD, headers={"Content-Type": media_type})
        refused(response, "file_type_mismatch", "/")

    @pytest.mark.parametrize("write", [arrow_stream, arrow_file])
    def test_cut_off_arrow(self, client, write):
        content = write(a=list(range(1000)), y=[0, 1] * 500)
        refused(upload(client, content[: len(content) // 2], "t.arrow"), "unreadable_file", "/file")

    def test_arrow_text_that_is_not_utf8(self, client):
        refused(upload(client, arrow_stream(a=BAD_UTF8, y=[0, 1]), "t.arrows"), "not_utf8", "/file")


class TestFields:
    @pytest.mark.parametrize(
        ("fields", "code", "pointer", "detail"),
        [
            ({"target": "z"}, "unknown_target", "/target", "'a'"),
            ({"exclude": "c"}, "unknown_exclude", "/exclude/0", "'c'"),
            ({"exclude": ["a", "y"]}, "target_excluded", "/exclude/1", "'y'"),
            ({"exclude": ["a", "b"]}, "no_features", "/exclude", ""),
            ({"types": '{"c": "numeric"}'}, "unknown_typed_column", "/types/c", "'c'"),
            ({"types": '{"b": "numeric"}'}, "not_numeric", "/types/b", "row 0 (line 2) contains 'u'"),
            ({"types": '{"b": "datetime"}'}, "not_datetime", "/types/b", "row 0 (line 2) contains 'u'"),
            ({"dates": "dd.mm.yyyy"}, "invalid_request", "/dates", "'dd.mm.yyyy'"),
            ({"types": '{"b": "date"}'}, "invalid_request", "/types/b", ""),
            ({"types": "{"}, "invalid_request", "/types", ""),
            ({"name": "n" * 201}, "invalid_request", "/name", ""),
            ({"target": ""}, "invalid_request", "/target", ""),
            ({"target": ["y", "a"]}, "invalid_request", "/target", ""),
            ({"colour": "red"}, "invalid_request", "/colour", ""),
        ],
    )
    def test_form(self, client, fields, code, pointer, detail):
        refused(upload(client, GOOD, **fields), code, pointer, detail)

    def test_query(self, client):
        headers = {"Content-Type": "text/csv"}
        refused(client.post("/datasets?target=z", content=GOOD, headers=headers), "unknown_target", "query/target")
        refused(client.post("/datasets", content=GOOD, headers=headers), "invalid_request", "query/target")
        refused(client.post("/datasets?target=y", content=b"", headers=headers), "empty_file", "/")

    def test_no_file_and_two_files(self, client):
        refused(client.post("/datasets", data={"target": "y"}, files={"f": b"1"}), "invalid_request", "/file")
        two = [("file", ("a.csv", GOOD)), ("file", ("b.csv", GOOD))]
        refused(client.post("/datasets", data={"target": "y"}, files=two), "invalid_request", "/file", "")

    def test_content_type(self, client):
        for media_type in ("application/xml", "multipart/form-data", "application/x-www-form-urlencoded"):
            response = client.post("/datasets?target=y", content=GOOD, headers={"Content-Type": media_type})
            refused(response, "unsupported_media_type", "header/Content-Type", status=415)

    @pytest.mark.parametrize("content", [b"noise", b'--B\r\nContent-Disposition: form-data; name="file"\r\n\r\na,y\n1'])
    def test_malformed_multipart(self, client, content):
        headers = {"Content-Type": "multipart/form-data; boundary=B"}
        response = client.post("/datasets", content=content, headers=headers)
        assert (response.status_code, response.json()["code"]) == (400, "malformed_multipart")


class TestLimits:
    @pytest.mark.parametrize(
        ("limit", "code", "pointer"),
        [
            ("max_rows", "too_many_rows", "/file"),
            ("max_columns", "too_many_columns", "/file"),
            ("max_categories", "too_many_categories", "/file"),
            ("max_classes", "too_many_classes", "/target"),
        ],
    )
    def test_of_content(self, limited_client, limit, code, pointer):
        content = b"a,b,y\n1,u,p\n2,v,q\n3,w,r\n"
        assert upload(limited_client(Limits(**{limit: 3})), content).status_code == 201
        limited_client(Limits()).delete("/datasets/" + upload(limited_client(Limits()), content).json()["id"])
        refused(upload(limited_client(Limits(**{limit: 2})), content), code, pointer, "2")

    @pytest.mark.parametrize(
        "compress", [bytes, gzip.compress, lambda content: pa.compress(content, "zstd").to_pybytes()]
    )
    def test_of_bytes(self, limited_client, compress):
        client = limited_client(Limits(max_upload_bytes=10_000))
        response = upload(client, compress(b"a,y\n" + b"1,0\n" * 1_000_000), "t.csv.gz")
        refused(response, "upload_too_large", "/file", "BRISTLECONE_MAX_UPLOAD_BYTES", status=413)

    def test_of_bytes_without_a_content_length(self, limited_client):
        client = limited_client(Limits(max_upload_bytes=10_000))
        chunks = (b"1,0\n" * 1000 for _ in range(1000))
        response = client.post("/datasets?target=y", content=chunks, headers={"Content-Type": "text/csv"})
        refused(response, "upload_too_large", "/", status=413)

    def test_of_fields(self, client):
        response = upload(client, GOOD, exclude="x" * (5 * 1024**2))
        assert (response.status_code, response.json()["code"]) == (400, "malformed_multipart")

    def test_of_parts_that_hold_nothing(self, client):
        content = b"--B\r\n\r\n\r\n" * 70_000 + b"--B--\r\n"
        headers = {"Content-Type": "multipart/form-data; boundary=B"}
        response = client.post("/datasets", content=content, headers=headers)
        assert (response.status_code, response.json()["code"]) == (400, "malformed_multipart")

    def test_as_many_excluded_columns_as_a_file_may_have(self, client):
        n_columns = Limits().max_columns
        names = [f"a_rather_long_name_of_a_column_{index}" for index in range(n_columns - 1)]
        content = "\n".join([",".join([*names, "y"]), *(",".join([cell] * n_columns) for cell in "01")]).encode()
        refused(upload(client, content, exclude=names), "no_features", "/exclude")


def test_client_that_disconnects(context):
    """The server receives a disconnect instead of the rest of the body."""
    events = [{"type": "http.request", "body": GOOD, "more_body": True}, {"type": "http.disconnect"}]
    status, answer = post_csv(make_app(context, Limits()), b"target=y", events)
    assert status == 400
    assert b"upload_interrupted" in answer
