"""Requests that a browser may send for a page of another site, and names under which the service answers."""

import re

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient

from app.http.route_needs import known_routes
from app.settings import ServerSettings, Settings
from tests.conftest import make_app

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

EVIL = "http://evil.example"
PARTNER = "https://labels.example.org"


def _client(settings: Settings, **server) -> TestClient:
    changed = {"server": ServerSettings(**server)}
    return TestClient(make_app(settings.model_copy(update=changed)), base_url="http://localhost")


def _code(response, status: int) -> str:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    return response.json()["code"]


class TestHost:
    @pytest.mark.parametrize(
        "host", ["localhost", "LOCALHOST:8000", "localhost.", "127.0.0.1:1", "127.8.9.1", "[::1]:8000"]
    )
    def test_of_loopback_is_served(self, client: TestClient, host: str) -> None:
        assert client.get("/jobs", headers={"Host": host}).status_code == 200

    @pytest.mark.parametrize(
        "host",
        ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "testserver", "",
         "10.0.0.1", "[::2]", "x" * 5000, "localhost@evil.example", "evil.example#localhost"],
    )  # fmt: skip
    def test_of_others_is_refused(self, client: TestClient, host: str) -> None:
        response = client.get("/jobs", headers={"Host": host})
        assert _code(response, 421) == "host_not_allowed"
        assert "BRISTLECONE_ALLOWED_HOSTS" in response.json()["detail"]
        assert len(response.content) < 2000

    @pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/nowhere"])
    def test_is_checked_for_every_route(self, client: TestClient, path: str) -> None:
        assert _code(client.get(path, headers={"Host": "evil.example"}), 421) == "host_not_allowed"

    @pytest.mark.parametrize("path", ["/healthz", "/readyz"])
    def test_does_not_matter_for_health(self, client: TestClient, path: str) -> None:
        assert client.get(path, headers={"Host": "10.1.2.3:8000"}).status_code == 200

    def test_of_the_settings_is_served(self, settings: Settings) -> None:
        with _client(settings, allowed_hosts=("api.example.org", "*.example.net", "10.0.0.7")) as client:
            for host in ("api.example.org", "API.example.org:8443", "a.b.example.net", "10.0.0.7:80"):
                assert client.get("/jobs", headers={"Host": host}).status_code == 200, host
            for host in ("example.org", "example.net", "xapi.example.org", "10.0.0.8"):
                assert client.get("/jobs", headers={"Host": host}).status_code == 421, host

    def test_may_be_any_if_the_settings_say_so(self, settings: Settings) -> None:
        with _client(settings, allowed_hosts=("*",)) as client:
            assert client.get("/jobs", headers={"Host": "any.example"}).status_code == 200


class TestCrossSite:
    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": EVIL},
            {"Origin": EVIL, "Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"},
            {"Origin": "http://localhost:3000"},
            {"Origin": "null"},
            {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
            {"Origin": "http://["},
            {"Origin": ""},
        ],
    )
    def test_changes_are_refused(self, client: TestClient, headers: dict[str, str]) -> None:
        file = {"file": ("t.csv", b"x,y\n1,a\n2,b\n")}
        upload = client.post("/datasets", files=file, data={"target": "y"}, headers=headers)
        assert _code(upload, 403) == "cross_site_request"
        assert client.get("/datasets").json()["items"] == []
        path = "/jobs/00000000-0000-0000-0000-000000000000"
        for method, route in (("POST", f"{path}/cancel"), ("DELETE", path), ("PUT", path), ("PATCH", path)):
            assert _code(client.request(method, route, headers=headers), 403) == "cross_site_request"

    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {"Origin": "http://localhost"},
            {"Origin": "http://localhost:80"},
            {"Origin": "https://public.example", "Sec-Fetch-Site": "same-origin"},
            {"Sec-Fetch-Site": "none"},
        ],
    )
    def test_own_pages_and_programs_pass(self, client: TestClient, headers: dict[str, str]) -> None:
        assert client.post("/train", json={}, headers=headers).status_code == 422

    def test_reading_is_not_refused_but_not_shared_either(self, client: TestClient) -> None:
        response = client.get("/jobs", headers={"Origin": EVIL, "Sec-Fetch-Site": "cross-site"})
        assert response.status_code == 200
        assert "access-control-allow-origin" not in response.headers

    def test_a_preflight_is_not_answered(self, client: TestClient) -> None:
        response = client.options("/train", headers={"Origin": EVIL, "Access-Control-Request-Method": "POST"})
        assert _code(response, 405) == "method_not_allowed"


class TestCors:
    def test_a_listed_origin_may_use_the_service(self, settings: Settings) -> None:
        with _client(settings, cors_origins=(PARTNER,)) as client:
            asked = {
                "Origin": PARTNER,
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "content-type, idempotency-key",
            }
            preflight = client.options("/train", headers=asked)
            assert preflight.status_code == 204
            assert preflight.headers["access-control-allow-origin"] == PARTNER
            assert "Idempotency-Key" in preflight.headers["access-control-allow-headers"]
            sent = {"Origin": PARTNER, "Sec-Fetch-Site": "cross-site"}
            response = client.post("/train", json={}, headers=sent)
            assert response.status_code == 422
            assert response.headers["access-control-allow-origin"] == PARTNER
            exposed = response.headers["access-control-expose-headers"]
            assert {"Location", "ETag", "Retry-After", "X-Request-Id"} <= set(exposed.split(", "))

    def test_a_listed_origin_may_use_every_route(self, settings: Settings) -> None:
        with _client(settings, cors_origins=(PARTNER,)) as client:
            for route in known_routes(client.app.router):
                path = re.sub(r"\{[^}]*\}", "3f0e8f7e-0000-4000-8000-000000000000", route.path)
                for method in route.methods or ("GET",):
                    asked = {"Origin": PARTNER, "Access-Control-Request-Method": method}
                    preflight = client.options(path, headers=asked)
                    assert (preflight.status_code, preflight.content) == (204, b""), route
                    answer = client.request(method, path, headers={"Origin": PARTNER, "Sec-Fetch-Site": "cross-site"})
                    assert answer.status_code < 500 or answer.status_code == 503, (route, answer.text)
                    for response in (preflight, answer):
                        assert response.headers["access-control-allow-origin"] == PARTNER, route
                        assert response.headers["vary"].split(", ").count("Origin") == 1, route
                    exposed = set(answer.headers["access-control-expose-headers"].split(", "))
                    assert {"Location", "ETag", "Retry-After", "X-Request-Id", "Content-Disposition"} <= exposed

    def test_a_listed_origin_may_read_an_internal_error(self, settings: Settings) -> None:
        router = APIRouter()

        @router.get("/broken")
        @router.get("/v2/broken")
        def broken() -> None:
            raise RuntimeError("a bug")

        with _client(settings, cors_origins=(PARTNER,)) as client:
            client.app.include_router(router)
            response = client.get("/broken", headers={"Origin": PARTNER, "Sec-Fetch-Site": "cross-site"})
            assert _code(response, 500) == "internal_error"
            assert response.headers["access-control-allow-origin"] == PARTNER
            assert response.headers["vary"] == "Origin"
            assert {"x-request-id", "x-content-type-options"} <= set(response.headers)
            assert "access-control-allow-origin" not in client.get("/broken", headers={"Origin": EVIL}).headers
            assert list(client.get("/v2/broken").json()) == ["error"]

    def test_other_origins_may_not(self, settings: Settings) -> None:
        with _client(settings, cors_origins=(PARTNER,)) as client:
            asked = {"Origin": EVIL, "Access-Control-Request-Method": "POST"}
            assert _code(client.options("/train", headers=asked), 403) == "cross_site_request"
            assert _code(client.post("/train", json={}, headers={"Origin": EVIL}), 403) == "cross_site_request"

    @pytest.mark.parametrize("entry", ["labels.example.org", "https://a.example/path", "https://"])
    def test_an_entry_that_is_no_origin_is_refused(self, settings: Settings, entry: str) -> None:
        with pytest.raises(ValueError, match="is not an origin"):
            ServerSettings(cors_origins=(entry,))

    @pytest.mark.parametrize("entry", ["http://api.example.org", "api.example.org:8000", "a b", "api/x"])
    def test_an_entry_that_is_no_host_is_refused(self, settings: Settings, entry: str) -> None:
        with pytest.raises(ValueError, match="is not a host name"):
            ServerSettings(allowed_hosts=(entry,))


class TestRedirects:
    def test_never_name_a_host(self, client: TestClient) -> None:
        response = client.get("/jobs/?limit=2", follow_redirects=False)
        assert response.status_code == 307
        assert response.headers["location"] == "/jobs?limit=2"
        assert client.get("/jobs/?limit=2").status_code == 200

    @pytest.mark.parametrize("path", ["//evil.example/", "/nowhere/", "/"])
    def test_go_to_routes_only(self, client: TestClient, path: str) -> None:
        assert client.get(f"http://localhost{path}", follow_redirects=False).status_code == 404
