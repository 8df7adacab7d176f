"""/aliases: pointing, moving and deleting, the history, and references by alias."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.storage.database import reading
from app.storage.pages import SliceQuery
from app.trained_models.pointer_service import get_alias, point_alias, remove_alias
from app.trained_models.service import TrainedModelService
from tests.app.trained_models.problems import problem


def point(client, alias, reference):
    return client.put(f"/aliases/{alias}", json={"model_id": str(reference)})


def shown(model):
    return {"id": str(model.id), "name": model.name, "version": model.version}


class TestPut:
    def test_a_new_alias_is_created_and_a_known_one_moved(self, client, versions):
        first, second, _ = versions
        created = point(client, "production", first.id)
        assert (created.status_code, created.headers["location"]) == (201, "/aliases/production")
        assert created.json()["model"] == shown(first)
        moved = point(client, "production", second.id)
        assert (moved.status_code, moved.json()["model"]) == (200, shown(second))
        assert moved.json()["created_at"] == created.json()["created_at"] < moved.json()["moved_at"]

    @pytest.mark.parametrize("reference", ["credit-risk:2", "@other"])
    def test_any_reference_names_the_model(self, client, versions, reference):
        point(client, "other", versions[1].id)
        assert point(client, "production", reference).json()["model"]["version"] == 2

    @pytest.mark.parametrize("reference", [uuid.uuid4(), "nobody", "@nobody", "credit-risk:9", ""])
    def test_an_unknown_model_is_refused(self, client, versions, reference):
        problem(point(client, "production", reference), 404, "model_not_found")
        problem(client.get("/aliases/production"), 404, "alias_not_found")

    @pytest.mark.parametrize("body", [{}, {"model_id": 3}, {"model_id": "a", "version": 1}, []])
    def test_other_bodies_are_refused(self, client, body):
        problem(client.put("/aliases/production", json=body), 422, "invalid_request")

    @pytest.mark.parametrize("alias", ["-a", "a:1", "@a", "a" * 101])
    def test_names_that_are_not_aliases_are_refused(self, client, versions, alias):
        body = problem(point(client, alias, versions[0].id), 422, "invalid_request")
        assert body["errors"][0]["pointer"] == "path/name"

    def test_an_alias_may_be_named_as_a_model_or_a_route(self, client, versions):
        for alias in ("credit-risk", "compare"):
            assert point(client, alias, versions[0].id).status_code == 201
            assert client.get(f"/models/@{alias}").json()["version"] == 1


class TestHistory:
    def test_every_move_is_shown_newest_first(self, client, versions):
        for model in versions:
            point(client, "production", model.id)
        client.delete("/aliases/production")
        point(client, "production", versions[0].id)
        history = client.get("/aliases/production").json()["history"]
        first, second, third = map(shown, versions)
        moves = [(None, first), (third, None), (second, third), (first, second), (None, first)]
        assert [(move["from"], move["to"]) for move in history] == moves
        assert [move["when"] for move in history] == sorted((move["when"] for move in history), reverse=True)
        assert {move["who"] for move in history} == {None}

    def test_pointing_to_the_same_model_again_is_no_move(self, client, versions):
        for _ in range(2):
            answer = point(client, "production", versions[0].id)
        assert (answer.status_code, len(answer.json()["history"])) == (200, 1)

    def test_who_moved_it(self, context, versions):
        point_alias(context.sessions, context.artifact_store, "production", str(versions[0].id), actor="ann")
        remove_alias(context.sessions, "production", actor="bob")
        point_alias(context.sessions, context.artifact_store, "production", str(versions[0].id))
        _, history = get_alias(context.sessions, "production", SliceQuery(limit=10, cursor=None))
        assert [move.actor for move in history.moves] == [None, "bob", "ann"]

    def test_in_parts(self, client, versions):
        for model in versions:
            point(client, "production", model.id)
        seen, cursor = [], None
        while cursor is not None or not seen:
            query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
            part = client.get("/aliases/production", params=query).json()
            seen += [move["to"]["version"] for move in part["history"]]
            cursor = part["next_cursor"]
        assert seen == [3, 2, 1]
        problem(client.get("/aliases/production?cursor=AAAA"), 422, "invalid_cursor")

    def test_moves_at_once_form_a_chain(self, context, versions):
        def move(number):
            reference = str(versions[number % 3].id)
            return point_alias(context.sessions, context.artifact_store, "production", reference)

        with ThreadPoolExecutor(6) as threads:
            created = list(threads.map(move, range(12)))
        assert created.count(True) == 1
        alias, history = get_alias(context.sessions, "production", SliceQuery(limit=50, cursor=None))
        moves = history.moves[::-1]
        assert [move.from_model for move in moves] == [None, *(move.to_model for move in moves[:-1])]
        assert moves[-1].to_model["id"] == str(alias.model.id)


class TestList:
    def test_pages_sorted_by_name(self, client, versions):
        for alias in ("b", "c", "a"):
            point(client, alias, versions[0].id)
        page = client.get("/aliases?sort=name&limit=2").json()
        assert [item["name"] for item in page["items"]] == ["a", "b"]
        assert page["items"][0]["model"] == shown(versions[0])
        rest = client.get("/aliases", params={"sort": "name", "limit": 2, "cursor": page["next_cursor"]}).json()
        assert ([item["name"] for item in rest["items"]], rest["next_cursor"]) == (["c"], None)
        assert [item["name"] for item in client.get("/aliases").json()["items"]] == ["a", "c", "b"]


class TestDelete:
    def test_the_model_stays(self, client, versions):
        point(client, "production", versions[0].id)
        assert client.delete("/aliases/production").status_code == 204
        problem(client.get("/aliases/production"), 404, "alias_not_found")
        problem(client.delete("/aliases/production"), 404, "alias_not_found")
        assert client.get(f"/models/{versions[0].id}").json()["aliases"] == []

    def test_a_model_with_an_alias_is_not_deleted(self, client, context, versions):
        first = versions[0]
        for alias in ("staging", "production"):
            point(client, alias, first.id)
        detail = problem(client.delete(f"/models/{first.id}"), 409, "model_in_use")["detail"]
        assert "'production', 'staging'" in detail
        assert context.artifact_store.holds(first.artifact_sha256)
        for alias in ("staging", "production"):
            client.delete(f"/aliases/{alias}")
        assert client.delete(f"/models/{first.id}").status_code == 204

    def test_the_history_outlives_the_model(self, client, versions):
        first, second, _ = versions
        point(client, "production", first.id)
        point(client, "production", second.id)
        assert client.delete(f"/models/{first.id}").status_code == 204
        history = client.get("/aliases/production").json()["history"]
        assert [move["from"] for move in history] == [shown(first), None]


class TestReferences:
    def test_every_route_of_models_and_predictions_takes_an_alias(self, client, versions):
        point(client, "production", versions[0].id)
        model_id = str(versions[0].id)
        assert client.get("/models/@production").json()["id"] == model_id
        assert client.get("/models/@production/artifact").status_code == 200
        query = {"model": "@production", "age": 41, "job": "skilled"}
        assert client.get("/predict", params=query).json()["model"]["id"] == model_id
        body = {"model": "@production", "rows": [{"age": 41, "job": "skilled"}]}
        assert client.post("/predict", json=body).json()["model"]["id"] == model_id
        point(client, "production", versions[1].id)
        assert client.get("/predict", params=query).json()["model"]["version"] == 2

    def test_lists_and_models_show_their_aliases(self, client, versions):
        for alias in ("staging", "production"):
            point(client, alias, versions[1].id)
        assert client.get("/models/credit-risk:2").json()["aliases"] == ["production", "staging"]
        assert [item["aliases"] for item in client.get("/models").json()["items"]] == [
            [], ["production", "staging"], [],
        ]  # fmt: skip

    def test_identify_and_resolve_agree(self, client, context, versions):
        point(client, "production", versions[0].id)
        with reading(context.sessions) as session:
            models = TrainedModelService(session, context.artifact_store)
            for reference in ("@production", "credit-risk", "credit-risk:2", str(versions[2].id)):
                assert models.identify(reference).id == models.resolve(reference).id
