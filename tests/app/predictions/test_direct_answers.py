"""Answers of the event loop to GET /predict, beside those of the route for the same requests."""

from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from app.http.direct_answers import AnswerDirectly
from app.main import create_app
from app.predictions import direct_answers
from app.predictions.plain_query import query_pairs
from app.settings import ServerSettings
from app.storage.schema import upgrade_to_head
from app.trained_models import reference_cache
from tests.app.trained_models.made import FEATURES, make_trained_model
from tests.conftest import make_settings

COLUMNS = [
    *FEATURES,
    {"name": "model", "kind": "numeric", "categories": None, "is_boolean": False, "reading": None},
    {"name": "share", "kind": "numeric", "categories": None, "is_boolean": False, "reading": {"decimal": ","}},
    {"name": "since", "kind": "datetime", "categories": None, "is_boolean": False, "reading": None},
]
GOOD = {"age": "41", "job": "skilled", "x.model": "7", "share": "0,5", "since": "2024-05-06"}
TEXTS = st.sampled_from(
    ["", "1", " 2 ", "-0", "0.1", "1e3", "1e999", "nan", "NA", "1,5", "skilled", "Skilled", "true", "2024-05-06T07:08",
     "2024-13-01", "é", "\udc80".encode("utf-8", "surrogatepass").decode("latin-1"), "a&b", "a=b"]
) | st.floats(allow_nan=False, allow_infinity=False).map(repr)  # fmt: skip
NAMES = st.sampled_from([*GOOD, "model", "on_unknown", "on_missing", "extra", "x.age", "y", "Age", ""])
CHANGES = st.lists(st.tuples(NAMES, TEXTS), max_size=3)
HEADERS = st.sampled_from(
    [{}, {"If-None-Match": "*"}, {"Accept-Encoding": "gzip"}, {"Host": "other.example.org"}, {"X-Request-Id": "mine"},
     {"Origin": "https://other.example.org", "Sec-Fetch-Site": "cross-site"}]
)  # fmt: skip


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, TestClient]]:
    """Yield a client of the application, and one of the same application without direct answers."""
    home = tmp_path_factory.mktemp("direct")
    own = make_settings(home, f"sqlite:///{home / 'test.db'}").model_copy(update={"server": ServerSettings()})
    upgrade_to_head(own)
    whole, routes_only = create_app(own), create_app(own)
    for middleware in routes_only.user_middleware:
        if middleware.cls is AnswerDirectly:  # type: ignore[comparison-overlap]
            middleware.kwargs["answers"] = {}
    with _client(whole) as client, _client(routes_only) as other:
        make_trained_model(whole.state.context, features=COLUMNS)
        with pytest.MonkeyPatch.context() as patch:
            for name in ("REFRESH_SECONDS", "MAX_AGE_SECONDS"):
                patch.setattr(reference_cache, name, 1e9)
            client.get("/predict", params={"model": "credit-risk", **GOOD})
            yield client, other


def _client(app: FastAPI) -> TestClient:
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


def _compare(clients: tuple[TestClient, TestClient], query: str, headers: dict[str, str], method: str = "GET") -> int:
    answers = [client.request(method, f"/predict?{query}", headers=headers) for client in clients]
    first, second = ({**dict(answer.headers), "x-request-id": ""} for answer in answers)
    assert answers[0].status_code == answers[1].status_code
    assert list(first.items()) == list(second.items())
    assert answers[0].content == answers[1].content
    assert all(len(answer.headers.get_list("x-request-id")) == 1 for answer in answers)
    return answers[0].status_code


@settings(deadline=None, max_examples=150)
@given(changes=CHANGES, left_out=st.sets(st.sampled_from(list(GOOD)), max_size=1), headers=HEADERS)
@pytest.mark.parametrize("encode", [quote, quote_plus])
def test_both_give_the_same_answer(clients, encode, changes, left_out, headers):
    named = {"model": "credit-risk", **GOOD, **{name: text for name, text in changes if name in GOOD}}
    pairs = [(name, text) for name, text in named.items() if name not in left_out]
    pairs += [(name, text) for name, text in changes if name not in GOOD]
    _compare(clients, "&".join(f"{encode(name)}={encode(text)}" for name, text in pairs), headers)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_event_loop_answers_warm_models(clients, monkeypatch, method):
    query = "model=credit-risk&" + "&".join(f"{name}={text}" for name, text in GOOD.items())
    statuses = []
    find = direct_answers._answer

    def seen(*arguments):
        answer = find(*arguments)
        statuses.append(answer.status)
        return answer

    monkeypatch.setattr(direct_answers, "_answer", seen)
    assert _compare(clients, query, {}, method) == 200
    etag = clients[1].get(f"/predict?{query}").headers["etag"]
    assert _compare(clients, query, {"If-None-Match": f'"other", W/{etag}'}, method) == 304
    assert _compare(clients, query.replace("41", ""), {}, method) == 200
    assert _compare(clients, query.replace("41", "old"), {}, method) == 422
    assert statuses == [200, 304, 200]


@pytest.mark.parametrize("query", ["", "x=1", "x"])
def test_health_is_answered_alike(clients, query):
    answers = [client.get(f"/healthz?{query}") for client in clients]
    first, second = ({**dict(answer.headers), "x-request-id": ""} for answer in answers)
    assert (first, answers[0].content) == (second, answers[1].content)


@given(st.binary(max_size=40) | st.text("ab=&;+%20\xe9", max_size=20).map(lambda text: text.encode("latin-1")))
def test_queries_are_read_as_the_framework_does(query):
    assert [tuple(pair) for pair in query_pairs(query)] == QueryParams(query).multi_items()


@pytest.mark.parametrize("features", [[FEATURES[1]], [COLUMNS[-1]], [COLUMNS[-2]]])
def test_columns_of_one_kind(clients, features):
    context = clients[0].app.state.context
    make_trained_model(context, name="alike", features=features)
    query = f"model=alike&{features[0]['name']}={GOOD[features[0]['name']]}"
    assert [_compare(clients, query, {}) for _ in range(3)] == [200] * 3
