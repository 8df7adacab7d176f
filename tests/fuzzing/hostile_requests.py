"""Requests that no client library sends, and what every answer to them must be.

A case depends on the seed and its number alone.
"""

import gzip
import json
import re
import socket
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.fuzzing.hostile_texts import (
    BYTES,
    DOCUMENTS,
    HEADERS,
    JSON_TEXTS,
    MEDIA_TYPES,
    METHODS,
    NAMES,
    OPERATIONS,
    PATHS,
    VALUES,
)

ERRORS_PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
CODES = frozenset(re.findall(r"^\| `(\w+)` \|", ERRORS_PAGE.read_text(), flags=re.MULTILINE))
#: Faults that the service reports about itself: the only answers from 500 on that are no bugs.
OWN_FAULTS = frozenset({503, 507})
PATIENCE_SECONDS = 120.0
#: An error names at most some values, each cut.
MOST_ERROR_BYTES = 64 * 1024


@dataclass(frozen=True)
class Target:
    """Service under test, with a data set and a model that requests can name."""

    port: int
    dataset_id: str
    model_id: str

    def named(self, text: str) -> str:
        return text.replace("{dataset}", self.dataset_id).replace("{model}", self.model_id)


class HostileRequests:
    """Numbered requests to one service."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target, self._seed = target, seed

    def check(self, number: int) -> str:
        """Send a request; return the status and the code of its answer. Raises AssertionError if that shows a fault."""
        request = self.request(number)
        answer = exchange(self._target.port, request)
        try:
            return judge(answer)
        except AssertionError as error:
            shown = (
                f"case {number} of seed {self._seed}: {error}\nrequest: {request[:2000]!r}\nanswer: {answer[:2000]!r}"
            )
            raise AssertionError(shown) from error

    def request(self, number: int) -> bytes:
        rng = np.random.default_rng((self._seed, number))
        method, path = pick(rng, OPERATIONS) if rng.random() < 0.7 else (pick(rng, METHODS), pick(rng, PATHS))
        pairs = [f"{pick(rng, NAMES)}={pick(rng, VALUES)}" for _ in range(rng.integers(4))]
        target = self._target.named(path + ("?" + "&".join(pairs) if pairs else ""))
        lines = [pick(rng, HEADERS) for _ in range(rng.integers(3))]
        body = b""
        if method not in ("GET", "HEAD") or rng.random() < 0.1:
            body = self._body(rng)
            lines += framing(rng, body)
            body = chunked(body) if lines[-1].startswith(b"Transfer") else body
        head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".encode()
        request = head + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body
        return request[: rng.integers(len(request))] if rng.random() < 0.02 else request

    def _body(self, rng: np.random.Generator) -> bytes:
        if rng.random() < 0.3:
            return pick(rng, BYTES)
        text = self._target.named(json.dumps(pick(rng, DOCUMENTS)))
        values = list(re.finditer(r'"[^"]*"|\d+(\.\d+)?|\{\}', text))
        for match in sorted(rng.permutation(len(values))[: rng.integers(3)], reverse=True):
            text = text[: values[match].start()] + pick(rng, JSON_TEXTS) + text[values[match].end() :]
        content = text.encode("utf-8", "surrogatepass")
        return content[: rng.integers(len(content))] if rng.random() < 0.1 else content


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def framing(rng: np.random.Generator, body: bytes) -> list[bytes]:
    """Return the headers that describe a body: mostly JSON and its length, in that order."""
    media_type = "application/json" if rng.random() < 0.6 else pick(rng, MEDIA_TYPES)
    length = b"Transfer-Encoding: chunked" if rng.random() < 0.1 else b"Content-Length: %d" % len(body)
    return [b"Content-Type: " + media_type.encode(), length]


def chunked(body: bytes) -> bytes:
    parts = [body[start : start + 1000] for start in range(0, len(body), 1000)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def exchange(port: int, request: bytes) -> bytes:
    """Send the bytes on a new connection and no more; return all that comes until the service closes it."""
    received = bytearray()
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as connection:
        try:
            connection.sendall(request)
            while part := connection.recv(65536):
                received += part
        except ConnectionError:
            pass  # The service may answer and close before it has read everything.
    return bytes(received)


def judge(answer: bytes) -> str:
    """Return the status and code of an answer. Raises AssertionError if it breaks a promise."""
    while answer.startswith(b"HTTP/1.1 100"):
        answer = answer.partition(b"\r\n\r\n")[2]
    if not answer:
        return "closed without an answer"
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    assert status < 500 or status in OWN_FAULTS, f"status {status}"
    assert b"location" not in headers or headers[b"location"].startswith(b"/"), "a redirect to another host"
    if status < 400 or not body:
        return str(status)
    content_type = headers[b"content-type"]
    # The second form is that of the Open Inference Protocol.
    assert content_type in (b"application/problem+json", b"application/json"), content_type
    assert len(body) <= MOST_ERROR_BYTES, f"an error of {len(body)} bytes"
    problem = json.loads(gzip.decompress(body) if headers.get(b"content-encoding") == b"gzip" else body)
    if content_type == b"application/json":
        assert set(problem) in ({"error"}, {"ready"}, {"status", "checks", "oldest_queued_seconds"}), problem
        return str(status)
    assert problem["status"] == status
    assert problem["code"] in CODES, problem["code"]
    return f"{status} {problem['code']}"
