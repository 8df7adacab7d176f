"""JSON bodies of all routes: what they cost is known before they are parsed, and unclear ones are refused."""

import asyncio
import json
import tracemalloc
import uuid

import pytest
from fastapi.testclient import TestClient

from app.errors import MemoryBusy
from app.http.json_cost import JsonCost
from app.http.json_parsing import MAX_DEPTH, parse_json_body
from app.http.memory_budget import MemoryBudget
from app.http.request_memory import install

JSON = {"Content-Type": "application/json"}
ID = uuid.UUID(int=1)
ROUTES = [("POST", "/train"), ("POST", "/sweeps"), ("POST", "/audits"), ("PATCH", f"/datasets/{ID}")]
N = 20_000
#: Longer than texts may be in bytes, but not in characters.
TEXT = "é" * 513
SHAPES = {
    "empty lists": "[" + "[]," * N + "[]]",
    "numbers": "[" + "0.123456789," * N + "1]",
    "texts": "[" + ",".join(f'"text {i}"' for i in range(N)) + "]",
    "rows": "[" + ",".join(f'{{"a": 0.5, "b": {i}, "c": "x{i}"}}' for i in range(N // 3)) + "]",
    "empty objects": "[" + "{}," * N + "{}]",
    "tiny objects": "[" + '{"a":1},' * N + "{}]",
    "wide object": "{" + ",".join(f'"k{i}":{i}' for i in range(N)) + "}",
    "lists of one": "[" + "[1.5]," * N + "[]]",
    "objects in objects": "[" + '{"a":{}},' * N + "{}]",
    "long text": '["' + "x" * (20 * N) + '"]',
    "a wide character in a long text": '["' + "x" * (20 * N) + '😀"]',
    "an escape in a long text": '["' + "x" * (20 * N) + '\\ud83d\\ude00"]',
    "wide characters": '["' + "😀" * N + '"]',
    "accents": '["' + "é" * N + 'ł"]',
}


def _problem(response, status, code, *pointers):
    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code), problem
    assert [error["pointer"] for error in problem.get("errors", [])] == list(pointers)
    return problem


@pytest.mark.parametrize("shape", SHAPES)
def test_the_estimate_covers_what_parsing_takes(shape):
    body = SHAPES[shape].encode()
    cost = JsonCost()
    for start in range(0, len(body), 1000):
        cost.add(body[start : start + 1000])
    tracemalloc.start()
    try:
        document = json.loads(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert document
    # A few bytes beside those of the values are the same for every body.
    assert peak <= cost.decoded_bytes + 10_000
    assert cost.decoded_bytes < 12 * peak


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
class TestEveryRoute:
    @pytest.mark.parametrize(("method", "path"), ROUTES)
    def test_refuses_a_key_that_occurs_twice(self, client: TestClient, method, path):
        body = '{"a": [{"b/c": 1, "d": 2, "b/c": 3}], "a": 1, "e": {"f": 1, "f": 1}}'
        response = client.request(method, path, content=body, headers=JSON)
        _problem(response, 422, "duplicate_key", "/a", "/e/f")
        response = client.request(method, path, content=body.replace('"a": 1, ', ""), headers=JSON)
        detail = _problem(response, 422, "duplicate_key", "/a/0/b~1c", "/e/f")["detail"]
        assert detail == "At /a/0/b~1c: 'b/c' occurs twice; give it once (1 further fault)."

    @pytest.mark.parametrize(("method", "path"), [*ROUTES, ("POST", "/predict")])
    @pytest.mark.parametrize("depth", [MAX_DEPTH, 900, 50_000])
    def test_refuses_deep_nesting(self, client: TestClient, method, path, depth):
        body = '{"data": ' + "[" * depth + "]" * depth + "}"
        assert (
            str(MAX_DEPTH)
            in _problem(client.request(method, path, content=body, headers=JSON), 422, "nested_too_deeply")["detail"]
        )

    @pytest.mark.parametrize(("method", "path"), [*ROUTES, ("POST", "/predict")])
    def test_refuses_what_takes_too_much_memory(self, client: TestClient, method, path):
        limits = client.app.state.settings.limits.model_copy(update={"max_decoded_bytes": 100_000})
        install(client.app, client.app.state.settings.model_copy(update={"limits": limits}))
        body = "[" + "[]," * 1_000 + "[]]"
        response = client.request(method, path, content=body, headers=JSON)
        assert "BRISTLECONE_MAX_DECODED_BYTES" in _problem(response, 413, "decoded_too_large")["detail"]

    @pytest.mark.parametrize(("method", "path"), [*ROUTES, ("POST", "/predict")])
    def test_refuses_other_media_types(self, client: TestClient, method, path):
        response = client.request(method, path, content="{}", headers={"Content-Type": "text/plain"})
        _problem(response, 415, "unsupported_media_type", "header/Content-Type")

    def test_a_body_in_chunks_is_bounded(self, client: TestClient):
        limits = client.app.state.settings.limits.model_copy(update={"max_body_bytes": 1_000})
        install(client.app, client.app.state.settings.model_copy(update={"limits": limits}))
        response = client.post("/train", content=iter([b" " * 900] * 100), headers=JSON)
        assert "BRISTLECONE_MAX_BODY_BYTES" in _problem(response, 413, "body_too_large")["detail"]

    @pytest.mark.parametrize(
        ("path", "body", "pointer"),
        [
            (
                "/train",
                {"noise": {"inject": {"kind": "one_sided", "class": TEXT, "rate": 0.1}}},
                "/noise/inject/class",
            ),
            ("/train", {"model": {"kind": "tree", "class_weight": {TEXT: 2}}}, "/model/class_weight/"),
            ("/train", {"data": {"columns": {"y": ["a", "b"]}, "target": TEXT}, "dataset_id": None}, "/data/target"),
            (
                "/sweeps",
                {"models": [{"kind": "tree", "class_weight": {TEXT: 2}}], "noise": []},
                "/models/0/class_weight/",
            ),
            ("/audits", {"model": {"kind": "tree", "class_weight": {TEXT: 2}}}, "/model/class_weight/"),
        ],
    )
    def test_long_texts_are_refused(self, client: TestClient, path, body, pointer):
        noise = {"noise": [{"kind": "uniform", "rate": 0.1}]} if path == "/sweeps" else {}
        whole = {"dataset_id": str(ID), **({"model": {"kind": "tree"}} if path != "/sweeps" else {}), **body, **noise}
        problem = client.post(path, json=whole).json()
        assert problem["code"] == "text_too_long", problem
        assert problem["errors"][0]["pointer"].startswith(pointer)
        assert "1,026 bytes" in problem["detail"]

    def test_a_busy_service_says_when_to_try_again(self, client: TestClient):
        client.app.state.json_bodies._large.memory._free_bytes = 0
        client.app.state.json_bodies._large.memory._wait_seconds = 0.01
        body = json.dumps({"data": {"target": "y", "columns": {"y": [1.5] * 100_000}}, "model": {"kind": "tree"}})
        response = client.post("/train", content=body, headers=JSON)
        _problem(response, 503, "memory_busy")
        assert int(response.headers["Retry-After"]) > 0
        # Small bodies have memory of their own.
        assert client.post("/train", json={"model": {"kind": "tree"}}).status_code == 422


def test_equal_keys_in_different_objects_are_fine():
    assert parse_json_body(b'[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]


class TestMemoryBudget:
    def test_is_given_back_in_the_order_of_arrival(self):
        async def run():
            budget, order = MemoryBudget(100), []

            async def use(name, n_bytes):
                async with budget.taken(n_bytes):
                    order.append(name)
                    await asyncio.sleep(0)

            # The third would fit beside the first, but the second was there before it.
            await asyncio.gather(use("first", 60), use("second", 60), use("third", 30), use("all of it", 10_000))
            async with budget.taken(100):
                return order

        assert asyncio.run(run()) == ["first", "second", "third", "all of it"]

    def test_a_request_waits_for_a_bounded_time(self):
        async def run():
            budget = MemoryBudget(100, wait_seconds=0.01)
            async with budget.taken(80):
                with pytest.raises(MemoryBusy):
                    async with budget.taken(30):
                        pass
                async with budget.taken(20):
                    pass
            async with budget.taken(100):
                pass

        asyncio.run(run())

    def test_nothing_is_lost_when_requests_are_cancelled(self):
        async def run():
            budget = MemoryBudget(100)

            async def use(n_bytes):
                async with budget.taken(n_bytes):
                    await asyncio.sleep(60)

            tasks = [asyncio.create_task(use(70)) for _ in range(10)]
            for task in tasks:
                await asyncio.sleep(0)
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            async with budget.taken(100):
                pass

        asyncio.run(run())
