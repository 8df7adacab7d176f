"""The routes of /datasets through HTTP."""

import hashlib
import json

CSV = b"age,job,risk\n41,skilled,good\n23,unskilled,bad\n,skilled,good\n"


def upload(client, content=CSV, name="people.csv", **fields):
    return client.post("/datasets", files={"file": (name, content)}, data={"target": "risk", **fields})


class TestUpload:
    def test_answers_with_what_the_file_holds(self, client):
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
                "name": "age", "kind": "numeric", "missing": 1, "min": 23, "max": 41,
                "mean": 32.0, "distinct": 2, "categories": None,
            },
            {
                "name": "job", "kind": "categorical", "missing": 0, "min": None, "max": None,
                "mean": None, "distinct": 2, "categories": ["skilled", "unskilled"],
            },
        ]  # fmt: skip
        assert client.get(response.headers["Location"]).json() == body

    def test_the_same_upload_again_is_the_same_data_set(self, client):
        first = upload(client, name="one.csv")
        again = upload(client, name="two.csv")
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == first.json()
        assert again.headers["Location"] == first.headers["Location"]

    def test_another_meaning_of_the_same_bytes_is_another_data_set(self, client):
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
