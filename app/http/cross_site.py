"""Requests that pages of other sites make in the browser of a user who can reach the service."""

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from app.http.error_handlers import error_response
from app.http.errors import CrossSiteRequest

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
#: `none`: a user did it, for example by typing the address.
_OWN_REQUESTS = frozenset({"same-origin", "none"})
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}

_REQUEST_HEADERS = (
    "Authorization", "Cache-Control", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID",
    "Prefer", "Traceparent", "X-Request-Id",
)  # fmt: skip
_ANSWER_HEADERS = (
    "Allow", "Content-Disposition", "ETag", "Location", "Preference-Applied", "Retry-After", "WWW-Authenticate",
    "X-Request-Id",
)  # fmt: skip


class CrossSite:
    """Check of requests that could change something.

    A browser names the page that makes such a request: in Sec-Fetch-Site, which no script can set, and in Origin, which
    older browsers send too. Programs send neither, and pass.
    """

    def __init__(self, origins: Collection[str]) -> None:
        """origins: pages of other sites that may use the service; `*` stands for all."""
        self._origins = origins

    def __call__(self, scope: Scope) -> CrossSiteRequest | None:
        if scope["method"] in _SAFE_METHODS:
            return None
        headers = Headers(scope=scope)
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if self._is_allowed(origin) or _is_own(origin, site, headers):
            return None
        page = f"of the origin {origin!r:.100}" if origin else f"with Sec-Fetch-Site: {site!r:.40}"
        return CrossSiteRequest.at(
            "header/Origin" if origin else "header/Sec-Fetch-Site",
            f"A page {page} asks for {scope['method'][:20]}, which only pages of this service may do; add it to "
            "BRISTLECONE_CORS_ORIGINS if the page may use the service.",
        )

    def _is_allowed(self, origin: str | None) -> bool:
        return "*" in self._origins or origin in self._origins


def _is_own(origin: str | None, site: str | None, headers: Headers) -> bool:
    """Return whether no page of another origin made the request. Another port is another origin on the same site."""
    if site is not None:
        # A reverse proxy may send another Host than the browser did, so that Origin could not be compared.
        return site in _OWN_REQUESTS
    if origin is None:
        return True
    scheme, _, address = origin.lower().partition("://")
    port = _DEFAULT_PORTS.get(scheme, "")
    return bool(address) and address.removesuffix(port) == headers.get("host", "").lower().removesuffix(port)


class AllowOrigins(CORSMiddleware):
    """Middleware that tells browsers which pages of other sites may use the service."""

    def __init__(self, app: ASGIApp, origins: Collection[str]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=_REQUEST_HEADERS,
            expose_headers=_ANSWER_HEADERS,
            allow_private_network=True,
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code == 200:
            headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
            return Response(status_code=204, headers=headers)
        detail = (
            f"The origin {request_headers['origin']!r:.100} may not use the service, or not with this method or these "
            "headers; BRISTLECONE_CORS_ORIGINS lists the origins that may."
        )
        return error_response(CrossSiteRequest.at("header/Origin", detail))
