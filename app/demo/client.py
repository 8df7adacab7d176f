"""HTTP client of the demo, written with the standard library alone."""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from app.operations.loopback import open_loopback

TIMEOUT_SECONDS = 60.0


class DemoFailed(Exception):
    """The demo cannot continue; the message is shown at the terminal."""


class DemoClient:
    """Client of a service on this machine; a refused request raises DemoFailed.

    key: API key, which a service wants once it has keys.
    """

    def __init__(self, url: str, key: str | None = None) -> None:
        self.url = url
        self._authorization = {"Authorization": f"Bearer {key}"} if key else {}

    def ready(self) -> bool:
        """Return whether the service accepts requests; False while it starts."""
        try:
            self.get("/readyz")
        except (DemoFailed, OSError):
            return False
        return True

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        return json.loads(self._send("GET", path, query, None, None))

    def get_text(self, path: str, query: Mapping[str, Any] | None = None) -> str:
        return self._send("GET", path, query, None, None).decode()

    def post_json(self, path: str, body: Any) -> Any:
        return json.loads(self._send("POST", path, None, json.dumps(body).encode(), "application/json"))

    def post_bytes(self, path: str, query: Mapping[str, Any], body: bytes, content_type: str) -> Any:
        return json.loads(self._send("POST", path, query, body, content_type))

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: bytes | None,
        content_type: str | None,
    ) -> bytes:
        address = f"{self.url}{path}?{urllib.parse.urlencode(query)}" if query else f"{self.url}{path}"
        headers = self._authorization | ({"Content-Type": content_type} if content_type else {})
        request = urllib.request.Request(address, body, headers, method=method)
        try:
            with open_loopback(request, timeout=TIMEOUT_SECONDS) as response:
                content: bytes = response.read()
                return content
        except urllib.error.HTTPError as refusal:
            with refusal:
                raise DemoFailed(f"{method} {path} was refused: {_problem(refusal)}") from None
        except (urllib.error.URLError, http.client.HTTPException) as error:
            raise DemoFailed(f"{method} {path} got no response: {error}") from None


def _problem(refusal: urllib.error.HTTPError) -> str:
    """Return a problem+json answer as one line."""
    try:
        problem = json.load(refusal)
        return f"{refusal.code} {problem['code']}: {problem['detail']}"
    except (ValueError, KeyError, TypeError):
        return f"{refusal.code} {refusal.reason}"
