"""Weights, groups and rows without a label."""

import uuid

import numpy as np
import pytest

from app.datasets.service import DatasetService
from app.datasets.stored_table import NO_LABEL
from app.storage.database import reading
from tests.app.datasets.tables import parquet


def upload(client, content, **fields):
    return client.post("/datasets", files={"file": ("t.csv", content)}, data={"target": "y", **fields})


def table(*rows):
    return "\n".join(["a,w,g,y", *rows, ""]).encode()


def loaded(context, body):
    (path,) = context.settings.datasets_folder.iterdir()
    return context.dataset_store.load(path.stem)


class TestWeightAndGroup:
    def test_are_stored_beside_the_features(self, client, context):
        content = table("1,0.5,p1,x", "2,0,p2,z", "3,2,p1,z", "4,1,,x", "5,1,,x")
        body = upload(client, content, weight="w", group="g").json()
        assert body["roles"] == {"weight": "w", "group": "g", "exclude": []}
        assert [feature["name"] for feature in body["features"]] == ["a"]
        arrays = loaded(context, body)
        np.testing.assert_array_equal(arrays.X, [[1], [2], [3], [4], [5]])
        assert arrays.weights.tolist() == [0.5, 0.0, 2.0, 1.0, 1.0]
        assert arrays.groups.tolist() == [0, 1, 0, 2, 3]
        rows = client.get(f"/datasets/{body['id']}/rows").json()
        assert rows["columns"] == ["a", "w", "g", "y"]
        assert rows["rows"][3] == [4, 1.0, None, "x"]

    def test_rows_without_a_group_are_told(self, client):
        body = upload(client, table("1,1,p,x", "2,1,,z", "3,1,q,z", "4,1,q,x"), group="g", exclude="w").json()
        assert [(w["column"], w["code"], w["rows"]) for w in body["warnings"]] == [("g", "missing_group", [1])]

    def test_a_single_group_is_told(self, client):
        body = upload(client, table("1,1,p,x", "2,1,p,z", "3,1,p,x", "4,1,p,z"), group="g", exclude="w").json()
        assert [warning["code"] for warning in body["warnings"]] == ["single_group"]

    @pytest.mark.parametrize(
        ("weights", "detail"),
        [
            (("1", "-2", "1"), "row 1 (line 3) has the weight -2"),
            (("1", "1", ""), "row 2 (line 4) has no weight"),
            (("0", "0", "0"), "all weights in 'w' are 0"),
            (("0.5", "inf", "1"), "row 1 (line 3) has the weight inf"),
            (("1", "1", "1e308"), "row 2 (line 4) has the weight 1e+308"),
            (("1e-308", "1e-309", "0"), "row 0 (line 2) has the weight 1e-308"),
        ],
    )
    def test_invalid_weights(self, client, weights, detail):
        rows = [f"{row},{weight},g,{row % 2}" for row, weight in enumerate(weights)]
        problem = upload(client, table(*rows), weight="w").json()
        assert (problem["code"], problem["errors"][0]["pointer"]) == ("invalid_weight", "/weight")
        assert detail in problem["detail"]

    def test_a_weight_that_is_text(self, client):
        problem = upload(client, table("1,1,g,x", "2,heavy,g,z"), weight="w").json()
        assert (problem["code"], problem["errors"][0]["pointer"]) == ("not_numeric", "/weight")
        assert "row 1 (line 3) contains 'heavy'; correct the value, or name another column" in problem["detail"]

    @pytest.mark.parametrize(
        ("fields", "code", "pointer"),
        [
            ({"weight": "v"}, "unknown_role_column", "/weight"),
            ({"group": "G"}, "unknown_role_column", "/group"),
            ({"weight": "y"}, "conflicting_roles", "/weight"),
            ({"group": "g", "exclude": "g"}, "conflicting_roles", "/group"),
            ({"weight": "w", "group": "w"}, "conflicting_roles", "/group"),
        ],
    )
    def test_conflicts(self, client, fields, code, pointer):
        problem = upload(client, table("1,1,g,x", "2,1,h,z"), **fields).json()
        assert (problem["code"], problem["errors"][0]["pointer"]) == (code, pointer)

    def test_other_roles_are_another_data_set(self, client):
        content = table("1,1,g,x", "2,1,h,z")
        answers = [upload(client, content), upload(client, content, weight="w"), upload(client, content, group="g")]
        assert [answer.status_code for answer in answers] == [201] * 3


class TestUnlabeledRows:
    def test_are_kept_and_counted(self, client, context):
        body = upload(client, b"a,y\n1,x\n2,\n3,z\n4,NA\n").json()
        assert (body["n_rows"], body["n_labeled"]) == (4, 2)
        assert body["classes"] == [{"label": "x", "count": 1}, {"label": "z", "count": 1}]
        assert ("y", "unlabeled_rows", [1, 3]) in [(w["column"], w["code"], w["rows"]) for w in body["warnings"]]
        assert loaded(context, body).y.tolist() == [0, NO_LABEL, 1, NO_LABEL]
        rows = client.get(f"/datasets/{body['id']}/rows").json()["rows"]
        assert rows == [[1, "x"], [2, None], [3, "z"], [4, None]]

    def test_in_a_typed_file(self, client):
        content = parquet(a=[1, 2, 3], y=[0.0, float("nan"), 1.0])
        response = client.post("/datasets", files={"file": ("t.parquet", content)}, data={"target": "y"})
        assert response.json()["n_labeled"] == 2


class TestTypesOfRoles:
    @pytest.mark.parametrize(
        ("fields", "detail"),
        [
            ({"weight": "w", "types": '{"w": "categorical"}'}, "'w' cannot be categorical, because it is the weight"),
            ({"group": "g", "types": '{"g": "numeric"}'}, "'g' cannot be numeric, because it is the group"),
            ({"exclude": "g", "types": '{"g": "categorical"}'}, "'g' cannot be categorical, because it is excluded"),
        ],
    )
    def test_that_contradict_them(self, client, fields, detail):
        problem = upload(client, table("1,1,p,x", "2,1,q,z", "3,1,p,z"), **fields).json()
        column = detail[1]
        assert (problem["code"], problem["errors"][0]["pointer"]) == ("conflicting_roles", f"/types/{column}")
        assert detail in problem["detail"]

    def test_that_agree_with_them(self, client):
        types = '{"w": "numeric", "g": "categorical"}'
        response = upload(client, table("1,1,p,x", "2,1,q,z", "3,1,p,z"), weight="w", group="g", types=types)
        assert response.status_code == 201, response.text


def test_excluded_columns_are_told_and_may_be_in_rows_to_predict(client, context):
    body = upload(client, table("1,1,p,x", "2,1,q,z", "3,1,p,z"), exclude=["g", "w", "g"]).json()
    assert body["roles"] == {"weight": None, "group": None, "exclude": ["g", "w"]}
    with reading(context.sessions) as session:
        dataset = DatasetService(session, context.dataset_store).get(uuid.UUID(body["id"]))
    assert dataset.left_out == ["g", "w"]
