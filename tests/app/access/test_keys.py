"""API keys: who may do what, from when on, and until when."""

import asyncio
import base64
import logging
import re
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import event

from app.access.key_ring import MAX_AGE_SECONDS, KeyRing, KeysUnknown
from app.access.scopes import Need, Scope, needs
from app.access.service import create_key, list_keys, note_used, revoke_key
from app.context import ServiceContext
from app.http.route_needs import KnownRoute, known_routes
from app.main import create_app
from app.operations.startup_checks import StartRefused, require_private_address, warn_if_open
from app.settings import DatabaseSettings, Settings
from tests.app.trained_models.made import make_trained_model
from tests.conftest import make_settings
from tests.real_server import read_answer, real_server
from tests.service_process import wait_until


def _new_key(client: TestClient, *scopes: Scope, lifetime: timedelta | None = None):
    return create_key(client.app.state.context.sessions, "tests", scopes, lifetime)


def _with(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture
def keyed(client: TestClient) -> tuple[TestClient, dict[Scope, str]]:
    """Return a client, and a key of each scope."""
    return client, {scope: _new_key(client, scope).secret for scope in Scope}


def _routes(app: FastAPI) -> list[tuple[str, KnownRoute]]:
    """Return each route with each of its methods."""
    return [(method, route) for route in known_routes(app.router) for method in sorted(route.methods or ["GET"])]


def _path(route: KnownRoute) -> str:
    return re.sub(r"\{[^}]*\}", "3f0e8f7e-0000-4000-8000-000000000000", route.path)


class TestEveryRoute:
    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    def test_declares_what_it_needs(self, settings: Settings) -> None:
        undeclared = [(method, route.path) for method, route in _routes(create_app(settings)) if route.need is None]
        assert undeclared == [], "put @needs(Scope.…) above the endpoint"

    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    def test_is_closed_except_for_health(self, settings: Settings) -> None:
        routes = _routes(create_app(settings))
        open_paths = {route.path for _, route in routes if route.need is not None and route.need.scope is None}
        assert open_paths <= {"/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"}
        assert len(routes) > 20

    def test_answers_by_the_scope_of_the_key(self, keyed) -> None:
        client, keys = keyed
        for method, route in _routes(client.app):
            needed = (route.need or Need(Scope.ADMIN)).scope
            if needed is None:
                assert client.request(method, _path(route)).status_code in (200, 503)
                continue
            refused = client.request(method, _path(route))
            assert (refused.status_code, _code(refused)) == (401, "unauthenticated"), route
            assert refused.headers["WWW-Authenticate"].startswith("Bearer")
            for scope, secret in keys.items():
                answer = client.request(method, _path(route), headers=_with(secret))
                if scope in (needed, Scope.ADMIN):
                    assert answer.status_code not in (401, 403), (route, scope, answer.text)
                else:
                    assert (answer.status_code, _code(answer)) == (403, "forbidden"), (route, scope)
                    assert repr(needed.value) in answer.text
                    assert f'scope="{needed.value}"' in answer.headers["WWW-Authenticate"]

    def test_needs_admin_if_it_declares_nothing(self, keyed) -> None:
        client, keys = keyed
        router = APIRouter()

        @router.get("/new")
        async def new() -> str:
            return "reached"

        client.app.include_router(router)
        statuses = {scope: client.get("/new", headers=_with(secret)).status_code for scope, secret in keys.items()}
        assert statuses == {Scope.READ: 403, Scope.PREDICT: 403, Scope.TRAIN: 403, Scope.ADMIN: 200}
        assert client.get("/new").status_code == 401
        assert client.head("/new", headers=_with(keys[Scope.READ])).status_code == 403

    def test_is_known_by_the_route_that_is_tried_first(self, keyed) -> None:
        client, keys = keyed
        router = APIRouter()

        @router.get("/things/{name}")
        @needs(Scope.TRAIN)
        async def thing(name: str) -> str:
            return name

        @router.get("/things/all")
        @needs(Scope.READ)
        async def things() -> str:
            return "never reached"

        client.app.include_router(router)
        assert client.get("/things/all", headers=_with(keys[Scope.READ])).status_code == 403
        assert client.get("/things/all", headers=_with(keys[Scope.TRAIN])).json() == "all"


class TestLifeOfAKey:
    def test_without_keys_everything_is_open(self, client: TestClient) -> None:
        assert client.get("/jobs").status_code == 200
        assert client.get("/jobs", headers=_with("bck_unknown")).status_code == 200
        # Credentials for a reverse proxy.
        assert client.get("/jobs", headers={"Authorization": "Basic dTpw"}).status_code == 200

    def test_counts_at_once(self, client: TestClient) -> None:
        assert client.get("/jobs").status_code == 200
        first = _new_key(client, Scope.PREDICT).secret
        assert client.get("/jobs", headers=_with(first)).status_code == 403
        second = _new_key(client, Scope.READ).secret
        assert client.get("/jobs", headers=_with(second)).status_code == 200

    def test_that_is_the_first_closes_the_service(self, client: TestClient) -> None:
        assert client.get("/jobs").status_code == 200
        _new_key(client, Scope.READ)
        wait_until(lambda: client.get("/jobs").status_code == 401, 10 * MAX_AGE_SECONDS, "the service closing")

    def test_that_is_revoked_stops_counting(self, client: TestClient) -> None:
        key, secret = _new_key(client, Scope.READ)
        assert client.get("/jobs", headers=_with(secret)).status_code == 200
        revoke_key(client.app.state.context.sessions, key.id)

        def refusal():
            answer = client.get("/jobs", headers=_with(secret))
            return answer if answer.status_code == 401 else None

        refused = wait_until(refusal, 10 * MAX_AGE_SECONDS, "the revocation counting")
        assert "was revoked at" in refused.json()["detail"]
        # No other key exists, and the service stays closed.
        assert client.get("/jobs").status_code == 401

    def test_that_has_expired_does_not_count(self, client: TestClient) -> None:
        _, secret = _new_key(client, Scope.READ, lifetime=timedelta(seconds=-1))
        refused = client.get("/jobs", headers=_with(secret))
        assert refused.status_code == 401
        assert "expired at" in refused.json()["detail"]
        _, lasting = _new_key(client, Scope.READ, lifetime=timedelta(days=1))
        assert client.get("/jobs", headers=_with(lasting)).status_code == 200

    def test_is_stored_as_a_hash(self, client: TestClient) -> None:
        key, secret = _new_key(client, Scope.READ)
        assert re.fullmatch(r"bck_[A-Za-z0-9_-]{43}", secret)
        assert secret not in repr(list_keys(client.app.state.context.sessions))
        assert client.get("/jobs", headers=_with(key.sha256)).status_code == 401

    def test_use_is_stored(self, client: TestClient) -> None:
        sessions, ring = client.app.state.context.sessions, client.app.state.key_ring
        _, secret = _new_key(client, Scope.READ)
        before = time.time()
        client.get("/jobs", headers=_with(secret))
        # The service stores uses in the background too, and may have taken this one already.
        note_used(sessions, ring.take_used())
        used_at = wait_until(lambda: list_keys(sessions)[0].last_used_at, 10, "the use being stored")
        assert before - 3600 < used_at.timestamp() <= time.time()

    def test_use_is_stored_to_the_hour(self, client: TestClient) -> None:
        sessions = client.app.state.context.sessions
        key, _ = _new_key(client, Scope.READ)
        used = time.time()
        assert note_used(sessions, {key.id: used}) == 1
        assert note_used(sessions, {key.id: used - 86_400}) == 0
        [stored] = list_keys(sessions)
        assert (stored.last_used_at.minute, stored.last_used_at.second) == (0, 0)
        assert abs(stored.last_used_at.timestamp() - used) < 3600


class TestRefusals:
    @pytest.mark.parametrize(
        ("header", "fragment"),
        [
            (None, "has no API key"),
            ("Bearer bck_wrong", "is not known"),
            ("Bearer", "is not known"),
            ("Bearer " + "x" * 100_000, "is not known"),
            ("Basic bWU6YmNr", "scheme 'basic'"),
            ("\xff\xfe", "scheme"),
        ],
    )
    def test_name_what_is_wrong(self, keyed, header: str | None, fragment: str) -> None:
        client, _ = keyed
        headers = {} if header is None else {"Authorization": header.encode("latin-1")}
        refused = client.get("/jobs", headers=headers)
        assert refused.status_code == 401
        assert fragment in refused.json()["detail"]
        assert ("invalid_token" in refused.headers["WWW-Authenticate"]) == (header is not None)

    def test_of_a_path_without_a_route_come_after_the_key(self, keyed) -> None:
        client, keys = keyed
        assert client.get("/nowhere").status_code == 401
        assert client.get("/nowhere", headers=_with(keys[Scope.PREDICT])).status_code == 404
        assert client.put("/jobs", headers=_with(keys[Scope.PREDICT])).status_code == 405

    def test_browsers_are_asked_for_a_key_on_pages_only(self, keyed) -> None:
        client, keys = keyed
        basic = {"Authorization": "Basic " + base64.b64encode(f"me:{keys[Scope.READ]}".encode()).decode()}
        assert "Basic" in client.get("/docs").headers["WWW-Authenticate"]
        assert client.get("/docs", headers=basic).status_code == 200
        assert client.get("/docs", headers={"Authorization": "Basic ?"}).status_code == 401
        assert "Basic" not in client.get("/jobs", headers=basic).headers["WWW-Authenticate"]

    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    def test_come_before_the_body(self, settings: Settings) -> None:
        with real_server(settings) as server:
            create_key(server.app.state.context.sessions, "tests", [Scope.READ], None)
            wait_until(lambda: server.get("/jobs").status == 401, 30, "the service closing")
            with server.connect() as connection:
                head = b"POST /datasets?target=y HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
                connection.sendall(head + b"Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
                assert read_answer(connection).status == 401


class TestTraces:
    def test_the_log_has_the_id_and_never_the_secret(self, client: TestClient, caplog) -> None:
        key, secret = _new_key(client, Scope.READ)
        with caplog.at_level(logging.DEBUG):
            client.get("/jobs", headers=_with(secret))
        assert any(line.endswith(f"key {key.id}") for line in caplog.messages)
        assert secret not in caplog.text

    def test_routes_know_who_asks(self, client: TestClient) -> None:
        router = APIRouter()

        @router.get("/who")
        async def who(request: Request) -> str | None:
            return request.state.actor

        client.app.include_router(router)
        assert client.get("/who").json() is None
        _, secret = _new_key(client, Scope.ADMIN)
        assert client.get("/who", headers=_with(secret)).json() == "tests"

    def test_the_history_of_an_alias_names_the_key(self, client: TestClient) -> None:
        model = make_trained_model(client.app.state.context)
        target = {"model_id": str(model.id)}
        client.put("/aliases/production", json=target)
        headers = _with(_new_key(client, Scope.ADMIN).secret)
        client.delete("/aliases/production", headers=headers)
        client.put("/aliases/production", json=target, headers=headers)
        client.put(f"/models/by-name/{model.name}/default", json={"version": model.version}, headers=headers)
        for path, who in (
            ("/aliases/production", ["tests", "tests", None]),
            (f"/models/by-name/{model.name}/default", ["tests"]),
        ):
            assert [move["who"] for move in client.get(path, headers=headers).json()["history"]] == who

    def test_openapi_names_the_scopes(self, keyed) -> None:
        client, keys = keyed
        document = client.get("/openapi.json", headers=_with(keys[Scope.READ])).json()
        assert document["components"]["securitySchemes"]["api_key"]["scheme"] == "bearer"
        assert document["paths"]["/train"]["post"]["security"] == [{"api_key": ["train"]}]
        assert document["paths"]["/healthz"]["get"]["security"] == []
        for operations in document["paths"].values():
            for operation in operations.values():
                assert ("401" in operation["responses"]) == bool(operation["security"])


def test_a_database_that_does_not_answer_lets_nobody_in(client: TestClient) -> None:
    client.app.state.key_ring.close()
    client.app.state.key_ring = KeyRing(DatabaseSettings(url="postgresql+psycopg://nobody@127.0.0.1:1/nothing"))
    refused = client.get("/docs")
    assert (refused.status_code, refused.json()["code"]) == (503, "database_unavailable")
    assert int(refused.headers["Retry-After"]) > 0
    assert client.get("/healthz").status_code == 200


def test_requests_share_an_attempt_that_fails() -> None:
    attempts = []

    async def ask() -> list[Any]:
        ring = KeyRing(DatabaseSettings(url="postgresql+psycopg://nobody@127.0.0.1:1/nothing"))
        event.listen(ring._engine, "do_connect", lambda *arguments: attempts.append(arguments) and None)
        try:
            return await asyncio.gather(*(ring.find(None) for _ in range(50)), return_exceptions=True)
        finally:
            ring.close()

    assert [type(outcome) for outcome in asyncio.run(ask())] == [KeysUnknown] * 50
    assert len(attempts) == 1


def test_a_public_address_needs_a_key(tmp_path: Path, context: ServiceContext) -> None:
    public = context.settings.model_copy(update={"host": "0.0.0.0"})
    without_database = make_settings(tmp_path / "new", f"sqlite:///{tmp_path / 'new' / 'new.db'}")
    for settings in (public, without_database.model_copy(update={"host": "0.0.0.0"})):
        with pytest.raises(StartRefused, match="bristlecone keys create"):
            require_private_address(settings)
    key, _ = create_key(context.sessions, "tests", [Scope.READ], None)
    require_private_address(public)
    revoke_key(context.sessions, key.id)
    require_private_address(public)


def test_an_open_service_says_so(context: ServiceContext, caplog: pytest.LogCaptureFixture) -> None:
    warn_if_open(context.settings)
    assert "no API key exists, so that every request is answered, on the loopback interface only" in caplog.text
    create_key(context.sessions, "tests", [Scope.READ], None)
    caplog.clear()
    warn_if_open(context.settings)
    assert caplog.text == ""


def _code(answer: Response) -> str:
    """Return the code of an error; that of the status where errors have the form of the Open Inference Protocol."""
    codes = {401: "unauthenticated", 403: "forbidden"}
    problem: dict[str, str] = answer.json()
    return problem["code"] if "code" in problem else codes[answer.status_code]
