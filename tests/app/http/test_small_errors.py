"""Error answers stay small, whatever the request was."""

import json
import uuid
from collections import Counter
from difflib import SequenceMatcher

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import MAX_COMPARED, FieldError, few_errors, nearest, shortened

MAX_BYTES = 64 * 1024
LONG = "x" * 400_000
ODD = '\x01😀/~"' * 40_000
KEYS = {f"unknown {i}": 1 for i in range(10_000)}
SEVERAL_LONG_KEYS = {f"{i}{LONG[:20_000]}": 1 for i in range(90)}
TRANSITION = [["text"] * 100] * 100
BODIES = {
    "long kind": {"model": {"kind": LONG}},
    "long label": {"model": {"kind": "tree", "class_weight": {LONG: 1, "b": "c"}}},
    "many labels": {"model": {"kind": "tree", "class_weight": {str(i): "heavy" for i in range(50_000)}}},
    "long loss": {"model": {"kind": "tree", "loss": LONG}},
    "long parameter": {"model": {"kind": "tree", LONG: 1}},
    "long cdf": {"model": {"kind": "tree", "loss": {"kind": "distribution", "cdf": LONG}}},
    "odd cdf": {"model": {"kind": "tree", "loss": {"kind": "distribution", "cdf": ODD}}},
    "odd name": {"name": ODD, "model": {"kind": "tree"}},
    "long name": {"name": LONG, "model": {"kind": "tree"}},
    "long id": {"dataset_id": LONG, "model": {"kind": "tree"}},
    "long column": {"data": {"target": LONG, "columns": {LONG: [1, 2], "b": [1]}}, "model": {"kind": "tree"}},
    "long type": {"data": {"target": "b", "columns": {"b": [1, 2]}, "types": {LONG: LONG}}, "model": {"kind": "tree"}},
    "texts in a matrix": {"model": {"kind": "tree"}, "noise": {"inject": {"kind": "matrix", "transition": TRANSITION}}},
    "many unknown keys": KEYS,
    "many unknown keys inside": {"model": {"kind": "tree", **KEYS}},
    "long unknown keys": SEVERAL_LONG_KEYS,
    "long unknown keys inside": {"model": {"kind": "tree", **SEVERAL_LONG_KEYS}},
    "many models": {"models": [{"kind": LONG[:1_000]}] * 500, "noise": [{"kind": "x" * 300}] * 500},
    "many columns": {"model": "m", "columns": {f"{LONG[:1000]}{i}": 3 for i in range(300)}},
    "long tags": {"tags": [LONG] * 5, "name": LONG, "description": LONG},
    "a list": [LONG],
    "a text": LONG,
}
ROUTES = [
    ("POST", "/train"),
    ("POST", "/sweeps"),
    ("POST", "/audits"),
    ("POST", "/predict"),
    ("PATCH", f"/datasets/{uuid.UUID(int=1)}"),
]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
class TestAnswers:
    @pytest.mark.parametrize("body", BODIES)
    def test_to_hostile_bodies(self, client: TestClient, body: str) -> None:
        for method, path in ROUTES:
            response = client.request(method, path, json=BODIES[body])
            assert 400 <= response.status_code < 500, response.text[:500]
            assert len(response.content) < MAX_BYTES, (path, len(response.content))

    def test_to_hostile_queries(self, client: TestClient) -> None:
        text = "y" * 20_000
        paths = ["/jobs", "/models", "/datasets", "/predict", f"/audits/{uuid.UUID(int=1)}/issues"]
        names = ["sort", "cursor", "limit", "kind", "state", "model", "name", text]
        for path in paths:
            for name in names:
                response = client.get(path, params={name: text})
                assert response.status_code < 500
                assert len(response.content) < MAX_BYTES, (path, name)
        for method, path in (("GET", f"/models/{text}"), ("GET", f"/{text}"), (text, "/jobs")):
            assert len(client.request(method, path).content) < MAX_BYTES
        headers = {"Content-Type": f"application/{text}", "Idempotency-Key": text}
        assert len(client.post("/train", content="{}", headers=headers).content) < MAX_BYTES

    def test_many_unknown_keys_are_counted(self, client: TestClient) -> None:
        problem = client.post("/train", json={"model": {"kind": "tree"}, **KEYS}).json()
        assert "10,000 keys are not known here: 'unknown 0', " in problem["detail"]
        assert "and 9990 more" in problem["detail"]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    texts=st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=20),
    times=st.integers(1, 3_000),
    repeats=st.integers(1, 200),
)
def test_listed_errors_stay_small(texts: list[tuple[str, str]], times: int, repeats: int) -> None:
    errors = [FieldError(pointer * times, detail * times) for pointer, detail in texts] * repeats
    listed = few_errors(errors)
    assert listed
    answer = json.dumps([[error.pointer, shortened(error.detail)] for error in listed])
    assert len(answer.encode()) < 3 * MAX_BYTES
    for short, error in zip(listed, errors, strict=False):
        assert error.detail.startswith(short.detail.partition("… (")[0])


class TestNearest:
    def test_work_does_not_grow_with_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The characters that are compared are counted, because times depend on the machine."""
        compared = Counter()
        original = SequenceMatcher.find_longest_match

        def counting(self, *arguments):
            compared["characters"] += len(self.a) * 1 + len(self.b)
            return original(self, *arguments)

        monkeypatch.setattr(SequenceMatcher, "find_longest_match", counting)
        for length in (10, 90, 450):
            for n_names in (10, MAX_COMPARED, 10_000):
                names = [("ab" * 250)[: length - 5] + f"{i:05}" for i in range(n_names)]
                compared.clear()
                nearest(("ba" * 250)[:length], names)
                assert compared["characters"] < 1_000_000, (length, n_names)

    def test_finds_what_is_near(self) -> None:
        assert nearest("colum", ["column", "row"]) == "; did you mean 'column'?"
        assert nearest("AGE", ["age"] * 3 + [f"x{i}" for i in range(10_000)]) == "; did you mean 'age'?"
        assert nearest("zzz", ["column"]) == ""
