"""Error answers for bodies that are too large."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.error_handlers import MEDIA_TYPE, problem_response


class ExplainBodyLimit:
    """Middleware that replaces the bare 413 answer of the framework by a problem document that names the limit."""

    def __init__(self, app: ASGIApp, max_body_bytes: int) -> None:
        self._app = app
        self._detail = (
            f"The body is larger than {max_body_bytes} bytes (limit BRISTLECONE_MAX_BODY_BYTES); send less per request."
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        replaced = False

        async def send_explained(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start" and message["status"] == 413:
                replaced = Headers(raw=message["headers"]).get("content-type") != MEDIA_TYPE
                if replaced:
                    response = problem_response(413, "body_too_large", "Body too large", self._detail)
                    await response(scope, receive, send)
            if not replaced:
                await send(message)

        await self._app(scope, receive, send_explained)
