"""The few HTTP requests of the demo, with nothing but the standard library: what any client could do."""

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
    """The demo cannot go on; the message is for the person at the terminal."""


class DemoClient:
    def __init__(self, url: str) -> None:
        self.url = url

    def ready(self) -> bool:
        """Whether the service takes requests; false while it starts."""
        try:
            self.get("/readyz")
        except (DemoFailed, OSError):
            return False
        return True

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        return self._send("GET", path, query, None, None)

    def post_json(self, path: str, body: Any) -> Any:
        return self._send("POST", path, None, json.dumps(body).encode(), "application/json")

    def post_bytes(self, path: str, query: Mapping[str, Any], body: bytes, content_type: str) -> Any:
        return self._send("POST", path, query, body, content_type)

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: bytes | None,
        content_type: str | None,
    ) -> Any:
        address = f"{self.url}{path}?{urllib.parse.urlencode(query)}" if query else f"{self.url}{path}"
        headers = {"Content-Type": content_type} if content_type else {}
        request = urllib.request.Request(address, body, headers, method=method)
        try:
            with open_loopback(request, timeout=TIMEOUT_SECONDS) as response:
                return json.load(response)
        except urllib.error.HTTPError as refusal:
            with refusal:
                raise DemoFailed(f"{method} {path} was refused: {_problem(refusal)}") from None
        except (urllib.error.URLError, http.client.HTTPException) as error:
            raise DemoFailed(f"{method} {path} got no answer: {error}") from None


def _problem(refusal: urllib.error.HTTPError) -> str:
    """What problem+json says, as one line."""
    try:
        problem = json.load(refusal)
        return f"{refusal.code} {problem['code']}: {problem['detail']}"
    except (ValueError, KeyError, TypeError):
        return f"{refusal.code} {refusal.reason}"
