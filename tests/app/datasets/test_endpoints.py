"""Routes of /datasets, over HTTP."""

import gzip
import hashlib
import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from app.datasets.errors import UPLOAD_ERRORS
from app.datasets.formats import stem
from app.jobs.service import JobService
from app.jobs.states import JobKind
from app.jobs.submission import NewJob
from app.settings import Limits
from app.storage.database import writing
from tests.app.datasets.conftest import make_app
from tests.factories import queued

CSV = b"age,job,risk\n41,skilled,good\n23,unskilled,bad\n,skilled,good\n"


def upload(client, content=CSV, file_name="people.csv", **fields):
    return client.post("/datasets", files={"file": (file_name, content)}, data={"target": "risk", **fields})


class TestUpload:
    def test_returns_the_profile_of_the_file(self, client):
        response = upload(client)
        assert response.status_code == 201
        body = response.json()
        assert response.headers["Location"] == f"/datasets/{body['id']}"
        assert body["name"] == "people"
        assert body["sha256"] == hashlib.sha256(CSV).hexdigest()
        assert (body["n_rows"], body["n_bytes"], body["target"]) == (3, len(CSV), "risk")
        assert body["classes"] == [{"label": "bad", "count": 1}, {"label": "good", "count": 2}]
        assert body["features"] == [
            {
                "name": "age", "kind": "numeric", "reason": None, "missing": 1, "min": 23, "max": 41,
                "mean": 32.0, "distinct": 2, "categories": None, "reading": {},
            },
            {
                "name": "job", "kind": "categorical", "reason": None, "missing": 0, "min": None, "max": None,
                "mean": None, "distinct": 2, "categories": ["skilled", "unskilled"], "reading": {},
            },
        ]  # fmt: skip
        assert client.get(response.headers["Location"]).json() == body

    def test_the_same_upload_again_is_the_same_data_set(self, client):
        first = upload(client, file_name="one.csv")
        again = upload(client, file_name="two.csv")
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == first.json()
        assert again.headers["Location"] == first.headers["Location"]

    def test_the_same_bytes_with_other_options_are_another_data_set(self, client):
        answers = [upload(client), upload(client, exclude="age"), upload(client, types='{"age": "categorical"}')]
        assert [answer.status_code for answer in answers] == [201] * 3
        assert len({answer.json()["id"] for answer in answers}) == 3
        assert len({answer.json()["sha256"] for answer in answers}) == 1

    def test_raw_body_with_fields_in_the_query(self, client):
        query = {"target": "risk", "name": "raw", "exclude": ["age"], "types": json.dumps({"job": "categorical"})}
        response = client.post("/datasets", params=query, content=CSV, headers={"Content-Type": "text/csv"})
        assert response.status_code == 201
        assert response.json()["name"] == "raw"
        assert [feature["name"] for feature in response.json()["features"]] == ["job"]

    def test_form_and_raw_body_give_the_same_data_set(self, client):
        first = upload(client)
        raw = client.post("/datasets?target=risk", content=CSV, headers={"Content-Type": "text/csv; charset=utf-8"})
        assert (first.status_code, raw.status_code) == (201, 200)
        assert raw.json()["id"] == first.json()["id"]

    def test_a_body_can_be_larger_than_other_bodies(self, limited_client):
        client = limited_client(Limits(max_body_bytes=10))
        assert upload(client).status_code == 201

    @pytest.mark.parametrize("compress", [gzip.compress, lambda data: pa.compress(data, "zstd", asbytes=True)])
    def test_compressed_bytes_are_the_same_data_set(self, client, compress):
        first = upload(client)
        again = upload(client, compress(CSV), "people.csv.gz")
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json()["id"] == first.json()["id"]

    @pytest.mark.parametrize(
        ("file_name", "name"),
        [
            ("../../etc/people.csv.gz", "people"),
            ("C:\\v1.2.parquet", "v1.2"),
            (".csv", ".csv"),
            ("a b.txt", "a b"),
        ],
    )
    def test_name_comes_from_the_file(self, file_name, name):
        assert stem(file_name) == name

    def test_name_can_be_given(self, client):
        assert upload(client, name="credit risk").json()["name"] == "credit risk"

    def test_a_lost_file_is_restored_by_the_next_upload(self, client, context):
        first = upload(client)
        (path,) = context.settings.datasets_folder.iterdir()
        path.unlink()
        assert client.get(first.headers["Location"] + "/rows").json()["code"] == "dataset_file_missing"
        again = upload(client)
        assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
        assert client.get(first.headers["Location"] + "/rows").status_code == 200


class TestConcurrentUploads:
    def test_identical_ones_make_one_data_set(self, context, leftovers):
        app = make_app(context, context.settings.limits)
        barrier = threading.Barrier(4)

        def send(_):
            client = TestClient(app)
            barrier.wait()
            return upload(client)

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(send, range(4)))
        assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert len(leftovers()) == 1

    def test_a_row_never_lacks_its_file_while_others_delete(self, context, leftovers):
        app = make_app(context, context.settings.limits)

        def send_and_delete(_):
            client = TestClient(app)
            statuses = set()
            for _ in range(8):
                answer = upload(client)
                rows = client.get(answer.headers["Location"] + "/rows")
                statuses |= {
                    answer.status_code,
                    rows.status_code,
                    client.delete(answer.headers["Location"]).status_code,
                }
            return statuses

        with ThreadPoolExecutor(3) as pool:
            statuses = set().union(*pool.map(send_and_delete, range(3)))
        assert statuses <= {200, 201, 204, 404}
        assert leftovers() == []


class TestRows:
    def test_returns_values_as_they_were_uploaded(self, client):
        where = upload(client).headers["Location"]
        assert client.get(where + "/rows").json() == {
            "columns": ["age", "job", "risk"],
            "rows": [[41, "skilled", "good"], [23, "unskilled", "bad"], [None, "skilled", "good"]],
            "row_numbers": [0, 1, 2],
        }
        assert len(client.get(where + "/rows?limit=2").json()["rows"]) == 2

    def test_keeps_the_type_of_labels(self, client):
        where = upload(client, b"a,risk\n1.5,true\n2,false\n").headers["Location"]
        answer = client.get(where + "/rows").text
        assert answer == '{"columns":["a","risk"],"rows":[[1.5,true],[2.0,false]],"row_numbers":[0,1]}'

    @pytest.mark.parametrize("limit", ["0", "1001", "x"])
    def test_limit_is_checked(self, client, limit):
        where = upload(client).headers["Location"]
        response = client.get(f"{where}/rows?limit={limit}")
        assert response.status_code == 422
        assert response.json()["errors"][0]["pointer"] == "query/limit"


class TestList:
    def test_filters_sorts_and_pages(self, client):
        files = {"one": CSV, "two": CSV + b"1,skilled,bad\n", "three": CSV + b"2,skilled,bad\n3,skilled,good\n"}
        bodies = {name: upload(client, content, name=name).json() for name, content in files.items()}
        newest_first = client.get("/datasets").json()
        assert [item["name"] for item in newest_first["items"]] == ["three", "two", "one"]
        assert newest_first["next_cursor"] is None
        (two,) = client.get("/datasets?name=two").json()["items"]
        assert two.pop("n_features") == {"numeric": 1, "categorical": 1}
        assert two.pop("n_warnings") == 0
        assert two.pop("n_classes") == 2
        assert two == {key: value for key, value in bodies["two"].items() if key in two}
        (one,) = client.get(f"/datasets?sha256={bodies['one']['sha256']}").json()["items"]
        assert one["id"] == bodies["one"]["id"]
        assert client.get("/datasets?target=age").json()["items"] == []
        page = client.get("/datasets?sort=n_rows&limit=2").json()
        rest = client.get(f"/datasets?sort=n_rows&limit=2&cursor={page['next_cursor']}").json()
        assert [item["n_rows"] for item in page["items"] + rest["items"]] == [3, 4, 5]
        assert client.get("/datasets?sort=colour").json()["code"] == "unknown_sort"

    def test_items_show_few_classes_and_count_many(self, client):
        for n_classes in (10, 11):
            rows = "".join(f"{row},c{row % n_classes}\n" for row in range(44))
            upload(client, f"a,risk\n{rows}".encode(), name=f"classes {n_classes}")
        many, few = client.get("/datasets").json()["items"]
        assert (many["n_classes"], many["classes"]) == (11, None)
        assert (few["n_classes"], len(few["classes"])) == (10, 10)
        assert len(client.get(f"/datasets/{many['id']}").json()["classes"]) == 11


class TestNotFound:
    @pytest.mark.parametrize("method", ["GET", "DELETE"])
    def test_unknown_id(self, client, method):
        response = client.request(method, f"/datasets/{uuid.uuid4()}")
        assert (response.status_code, response.json()["code"]) == (404, "dataset_not_found")

    def test_rows_of_an_unknown_id(self, client):
        assert client.get(f"/datasets/{uuid.uuid4()}/rows").json()["code"] == "dataset_not_found"

    def test_neither_an_id_nor_a_name(self, client):
        assert client.get("/datasets/nonsense").json()["code"] == "dataset_not_found"
        assert client.get("/datasets/" + "x" * 201).json()["code"] == "invalid_request"


class TestDelete:
    def test_removes_row_and_file(self, client, leftovers):
        where = upload(client).headers["Location"]
        assert client.delete(where).status_code == 204
        assert client.get(where).status_code == 404
        assert leftovers() == []
        assert upload(client).status_code == 201

    def test_refused_while_a_job_needs_it(self, client, context, leftovers):
        body = upload(client).json()
        with writing(context.sessions) as session:
            new = NewJob(JobKind.TRAIN, {}, [uuid.UUID(body["id"])])
            queued(JobService(session, context.settings.limits), new)
        response = client.delete(f"/datasets/{body['id']}")
        assert (response.status_code, response.json()["code"]) == (409, "dataset_in_use")
        assert "job inputs (1)" in response.json()["detail"]
        assert len(leftovers()) == 1
        assert client.get(f"/datasets/{body['id']}").status_code == 200


def test_openapi_names_forms_and_codes(client):
    operation = client.get("/openapi.json").json()["paths"]["/datasets"]["post"]
    assert {"multipart/form-data", "text/csv", "application/vnd.apache.parquet"} <= set(
        operation["requestBody"]["content"]
    )
    documented = str(operation["responses"])
    assert [error.code for error in UPLOAD_ERRORS if f"`{error.code}`" not in documented] == []


@pytest.mark.parametrize("labels", [("10000000000000000000", "20000000000000000000"), ("1e300", "-1e300")])
def test_labels_beyond_64_bits_are_still_numbers(client, labels):
    table = "x,y\n" + "".join(f"{row},{labels[row % 2]}\n" for row in range(6))
    body = client.post("/datasets?target=y", content=table, headers={"Content-Type": "text/csv"}).json()
    assert [entry["label"] for entry in body["classes"]] == sorted(float(label) for label in labels)


def test_labels_of_unsigned_64_bits(client):
    target = pa.array([2**64 - 1, 3] * 3, pa.uint64())
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": list(range(6)), "y": target}), sink)
    media_type = {"Content-Type": "application/vnd.apache.parquet"}
    response = client.post("/datasets?target=y", content=sink.getvalue().to_pybytes(), headers=media_type)
    assert response.status_code == 201, response.text
    assert len(response.json()["classes"]) == 2
