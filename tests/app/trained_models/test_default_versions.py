"""Default versions of names, and renaming of all versions."""

import pytest

from app.trained_models.errors import ModelNotFound
from app.trained_models.pointer_service import set_default
from tests.app.trained_models.made import make_trained_model
from tests.app.trained_models.problems import problem
from tests.app.trained_models.registered import like, register

DEFAULT = "/models/by-name/credit-risk/default"


def set_version(client, version):
    return client.put(DEFAULT, json={"version": version})


def rename(client, name, new_name):
    return client.patch(f"/models/by-name/{name}", json={"name": new_name})


class TestDefaultVersion:
    def test_a_bare_name_means_the_newest_until_one_is_set(self, client, context, versions):
        assert client.get("/models/credit-risk").json()["version"] == 3
        before = client.get(DEFAULT).json()
        assert (before["version"], before["model"]["version"], before["history"]) == (None, 3, [])
        answer = set_version(client, 2).json()
        assert (answer["version"], answer["model"]["version"]) == (2, 2)
        register(context, like(versions[0]))
        assert client.get("/models/credit-risk").json()["version"] == 2
        assert client.get("/models/credit-risk:4").json()["version"] == 4
        query = {"model": "credit-risk", "age": 41, "job": "skilled"}
        assert client.get("/predict", params=query).json()["model"]["version"] == 2
        assert set_version(client, None).json()["model"]["version"] == 4
        assert client.get("/predict", params=query).json()["model"]["version"] == 4

    def test_models_show_whether_they_are_the_default(self, client, versions):
        set_version(client, 1)
        assert client.get("/models/credit-risk:1").json()["is_default"] is True
        assert client.get("/models/credit-risk:3").json()["is_default"] is False
        assert [item["is_default"] for item in client.get("/models?sort=version").json()["items"]] == [
            True, False, False,
        ]  # fmt: skip

    def test_every_move_is_logged(self, client, versions):
        for version in (1, 1, 3, None):
            set_version(client, version)
        history = client.get(DEFAULT).json()["history"]
        moves = [tuple(move[end] and move[end]["version"] for end in ("from", "to")) for move in history]
        assert moves == [(3, None), (1, 3), (None, 1)]

    def test_unknown_names_and_versions(self, client, context, versions):
        body = problem(set_version(client, 4), 404, "model_not_found")
        assert body["errors"][0]["pointer"] == "/version"
        for response in (
            client.get("/models/by-name/nobody/default"),
            client.put("/models/by-name/nobody/default", json={"version": 1}),
        ):
            assert problem(response, 404, "model_not_found")["errors"][0]["pointer"] == "path/name"
        with pytest.raises(ModelNotFound):
            set_default(context.sessions, "credit-risk", 4)

    @pytest.mark.parametrize("body", [{}, {"version": 0}, {"version": "1"}, {"version": True}, {"version": 2**31}])
    def test_other_bodies_are_refused(self, client, versions, body):
        problem(client.put(DEFAULT, json=body), 422, "invalid_request")

    def test_the_default_version_is_not_deleted(self, client, versions):
        set_version(client, 2)
        for reference in ("credit-risk", "credit-risk:2"):
            detail = problem(client.delete(f"/models/{reference}"), 409, "model_in_use")["detail"]
            assert "the default version of 'credit-risk'" in detail
        set_version(client, None)
        assert client.delete("/models/credit-risk:2").status_code == 204

    def test_the_parent_is_the_version_before_that_is_left(self, client, versions):
        parent = client.get("/models/credit-risk:3").json()["parent"]
        assert parent == {"id": str(versions[1].id), "name": "credit-risk", "version": 2}
        client.delete("/models/credit-risk:2")
        assert client.get("/models/credit-risk:3").json()["parent"]["version"] == 1
        assert client.get("/models/credit-risk:1").json()["parent"] is None


class TestRename:
    def test_versions_aliases_and_the_default_stay(self, client, versions):
        client.put("/aliases/production", json={"model_id": str(versions[1].id)})
        set_version(client, 1)
        answer = rename(client, "credit-risk", "risk").json()
        assert (answer["name"], answer["version"], len(answer["history"])) == ("risk", 1, 1)
        assert client.get("/models/risk").json()["id"] == str(versions[0].id)
        assert client.get("/models/risk:3").json()["parent"]["name"] == "risk"
        assert client.get("/aliases/production").json()["model"]["name"] == "risk"
        assert client.get(f"/models/{versions[0].id}").json()["name"] == "risk"
        problem(client.get("/models/credit-risk"), 404, "model_not_found")
        problem(client.get(DEFAULT), 404, "model_not_found")

    def test_both_names_continue_to_count(self, client, context, versions):
        rename(client, "credit-risk", "risk")
        assert register(context, like(versions[0], name="risk")).version == 4
        assert register(context, like(versions[0])).version == 4

    def test_a_name_of_other_models_is_refused(self, client, context, versions):
        make_trained_model(context, name="taken")
        body = problem(rename(client, "credit-risk", "taken"), 409, "model_name_taken")
        assert body["errors"][0]["pointer"] == "/name"
        client.delete("/models/taken")
        assert "had the name" in problem(rename(client, "credit-risk", "taken"), 409, "model_name_taken")["detail"]

    def test_a_rename_can_be_reverted(self, client, context, versions):
        for old, new in (("credit-risk", "b"), ("b", "c"), ("c", "credit-risk"), ("credit-risk", "credit-risk")):
            assert rename(client, old, new).status_code == 200
        assert [item["version"] for item in client.get("/models?name=credit-risk").json()["items"]] == [3, 2, 1]
        assert register(context, like(versions[0])).version == 4

    def test_a_former_name_that_was_used_again_is_refused(self, client, context, versions):
        rename(client, "credit-risk", "risk")
        register(context, like(versions[0]))
        client.delete("/models/credit-risk:4")
        problem(rename(client, "risk", "credit-risk"), 409, "model_name_taken")

    def test_a_refused_rename_leaves_no_trace(self, client, context, versions):
        problem(rename(client, "nobody", "somebody"), 404, "model_not_found")
        assert register(context, like(versions[0], name="somebody")).version == 1

    @pytest.mark.parametrize("name", ["", "a:1", "@a", "compare", None, 3])
    def test_names_that_are_not_allowed(self, client, versions, name):
        body = problem(rename(client, "credit-risk", name), 422, "invalid_request")
        assert body["errors"][0]["pointer"] == "/name"


class TestDescribe:
    def test_what_is_not_named_stays(self, client, versions):
        path = f"/models/{versions[0].id}"
        changed = client.patch(path, json={"description": "weekly", "tags": ["a", "b"]}).json()
        assert (changed["description"], changed["tags"]) == ("weekly", ["a", "b"])
        assert client.patch(path, json={"tags": []}).json()["description"] == "weekly"
        assert client.patch(path, json={"description": None}).json()["description"] is None
        assert client.patch("/models/credit-risk", json={}).json()["version"] == 3
        assert client.get("/models?sort=version").json()["items"][0]["tags"] == []

    @pytest.mark.parametrize("body", [{"name": "b"}, {"tags": None}, {"tags": [""]}, {"description": "a\0"}])
    def test_other_bodies_are_refused(self, client, versions, body):
        problem(client.patch("/models/credit-risk", json=body), 422, "invalid_request")

    def test_not_found(self, client):
        problem(client.patch("/models/nobody", json={}), 404, "model_not_found")
