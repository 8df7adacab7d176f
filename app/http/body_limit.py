"""Says which limit a body has passed; the framework refuses such a body with a bare 413 of its own."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.error_handlers import MEDIA_TYPE, problem_response


class ExplainBodyLimit:
    """Replaces a 413 that is no problem document yet by one that names `max_body_bytes`."""

    def __init__(self, app: ASGIApp, max_body_bytes: int) -> None:
        self._app = app
        self._detail = (
            f"The body is larger than {max_body_bytes} bytes (limit BRISTLECONE_MAX_BODY_BYTES); send less at once."
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
