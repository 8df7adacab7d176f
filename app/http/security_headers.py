"""Headers that tell browsers to do as little as possible with an answer."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = b"content-security-policy"
#: Of all answers. Data needs nothing; a page declares what it needs in a policy of its own.
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (_POLICY, b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
)
_WITHOUT_POLICY = tuple(header for header in SECURITY_HEADERS if header[0] != _POLICY)


class AddSecurityHeaders:
    """Middleware that adds the headers to every answer, but no second policy to a page that has one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                has_policy = any(name == _POLICY for name, _ in headers)
                message["headers"] = [*headers, *(_WITHOUT_POLICY if has_policy else SECURITY_HEADERS)]
            await send(message)

        await self._app(scope, receive, send_with_headers)
