"""Answers that the event loop gives at once, without a router, dependencies, a thread or a database.

Each belongs to a route, which answers in all other cases and by the same rules. It comes after all other middleware but
the limit of bodies, so that requests are authorized, limited, logged and counted alike.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

Header = tuple[bytes, bytes]


class ReadyAnswer(NamedTuple):
    """Complete answer. headers: with lower-case names."""

    status: int
    headers: list[Header]
    body: bytes


#: Returns the answer to a GET request, or None if its route must answer. Takes less than some milliseconds.
DirectAnswer = Callable[[Scope], ReadyAnswer | None]


class AnswerDirectly:
    """Middleware that answers GET requests of these paths without a body, if it can be done at once."""

    def __init__(self, app: ASGIApp, answers: Mapping[str, DirectAnswer]) -> None:
        self._app, self._answers = app, answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        find = self._answers.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        answer = None if find is None or _has_body(scope) else find(scope)
        if answer is None:
            await self._app(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
            await send({"type": "http.response.body", "body": answer.body})


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
