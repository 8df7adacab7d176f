"""Headers that every answer has, whoever makes it, and the page /docs, which needs no other host."""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient

import app.http.documents as documents
from app.http.security_headers import SECURITY_HEADERS
from app.settings import Settings
from tests.app.http.test_chromium import CHROMIUM
from tests.real_server import real_server

VIEWER = Path(documents.__file__).with_name("viewer")
POLICY = "content-security-policy"


def _check(headers) -> None:
    for name, value in SECURITY_HEADERS:
        if name.decode() != POLICY:
            assert headers[name.decode()] == value.decode()
    assert "default-src 'none'" in headers[POLICY]
    assert "frame-ancestors 'none'" in headers[POLICY]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("path", ["/healthz", "/jobs", "/nowhere", "/jobs?x=1", "/docs", "/docs/start.js", "/broken"])
def test_all_answers_have_them(client: TestClient, path: str) -> None:
    router = APIRouter()

    @router.get("/broken")
    def broken() -> None:
        raise RuntimeError

    client.app.include_router(router)
    _check(client.get(path).headers)
    _check(client.get(path, headers={"Host": "evil.example"}).headers)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_answers_of_the_server_itself_have_them(settings: Settings) -> None:
    with real_server(settings) as server:
        answer = server.exchange(b"NONSENSE\r\n\r\n")
        assert answer.status == 400
        _check(answer.headers)
        _check(server.get("/healthz").headers)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
class TestDocs:
    def test_allows_no_outside_address(self, client: TestClient) -> None:
        page = client.get("/docs")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert not re.search(r"https?:|//", page.text)
        assert not re.search(r"https?:", page.headers[POLICY])
        for path in re.findall(r'(?:src|href)="(/[^"]*)"', page.text):
            assert client.get(path).status_code == 200, path

    def test_files_are_sent_compressed_and_once(self, client: TestClient) -> None:
        plain = client.get("/docs/swagger-ui-bundle.js", headers={"Accept-Encoding": "identity"})
        packed = client.get("/docs/swagger-ui-bundle.js", headers={"Accept-Encoding": "gzip"})
        assert plain.content == packed.content
        assert int(packed.headers["content-length"]) < 0.5 * int(plain.headers["content-length"])
        again = client.get("/docs/swagger-ui-bundle.js", headers={"If-None-Match": packed.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")

    def test_serves_no_other_files(self, client: TestClient) -> None:
        for name in ("README.md", "..%2fdocuments.py", "index.html"):
            assert client.get(f"/docs/{name}").status_code in (404, 422)

    @pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
    def test_shows_the_routes_in_a_browser(self, settings: Settings, tmp_path: Path) -> None:
        with real_server(settings) as server:
            options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-proxy-server", "--enable-logging=stderr"]
            command = [CHROMIUM, *options, f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=30000"]
            url = f"http://127.0.0.1:{server.port}/docs"
            shown = subprocess.run([*command, "--dump-dom", url], capture_output=True, text=True, timeout=180)
        assert "Train a model" in shown.stdout
        assert "Authorize" in shown.stdout
        assert "Content Security Policy" not in shown.stderr


def test_copies_are_those_that_are_recorded() -> None:
    recorded = dict(re.findall(r"^\| `([\w.-]+)` \| `([0-9a-f]{64})` \|", (VIEWER / "README.md").read_text(), re.M))
    own = {"README.md", "index.html", "start.js"}
    stored = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VIEWER.iterdir()}
    assert {name: sha256 for name, sha256 in stored.items() if name not in own} == recorded
