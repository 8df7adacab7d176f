"""Middleware that lets requests pass whose key has the scope that their route needs.

It runs before any of the body is read, and needs no session and no thread while the keys are known.
"""

import base64
import binascii
from typing import NamedTuple

from fastapi.routing import APIRouter
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access.errors import Forbidden, Unauthenticated
from app.access.key_ring import KeyRing, KeysUnknown
from app.access.records import ApiKey
from app.access.scopes import Need
from app.errors import ServiceError
from app.http.error_handlers import UNCHANGED, error_response
from app.http.errors import DatabaseUnavailable
from app.http.request_rate import RequestRate, client_network
from app.http.route_needs import ROUTE, RouteNeeds
from app.storage.orm import utc_now

HOW = "send a key as Authorization: Bearer KEY; bristlecone keys create makes one"
_BEARER = 'Bearer realm="bristlecone"'
_BASIC = 'Basic realm="Bristlecone: any user name, and an API key as the password", charset="UTF-8"'


class Authorize:
    """Middleware for requests over HTTP. While no key was ever created, all of them pass.

    Routes find the name of the key in `request.state.actor`, which is None without a key.
    """

    def __init__(self, app: ASGIApp, router: APIRouter, rate: RequestRate | None = None) -> None:
        """rate: limit for each key, and for each address without a key; None for no limit."""
        self._app = app
        self._needs = RouteNeeds(router)
        self._rate = rate or RequestRate(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["actor"] = None
        reached = self._needs.of(scope["method"], scope["path"])
        need = None if reached is None else reached.need
        if reached is not None:
            state[ROUTE] = reached.path
        try:
            if need is None or need.scope is not None:
                key = await self._counted(scope, need)
                if key is not None:
                    state["actor"], state["key_id"] = key.name, key.id
                    _require(key, need, scope)
        except ServiceError as error:
            await _refuse(error, need, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _counted(self, scope: Scope, need: Need | None) -> ApiKey | None:
        """Return the key of a request, which counts for its key, or for its address without a valid one."""
        try:
            key = await _identified(scope, need)
        except Unauthenticated:
            self._rate.count(_address(scope))
            raise
        self._rate.count(_address(scope) if key is None else key.id)
        return key


def _address(scope: Scope) -> str:
    host, _ = scope.get("client") or ("", 0)
    return client_network(host)


async def _identified(scope: Scope, need: Need | None) -> ApiKey | None:
    """Return the key of a request; None if the service is open. Raises Unauthenticated, DatabaseUnavailable."""
    ring: KeyRing = scope["app"].state.key_ring
    given = _credentials(scope)
    is_usable = given is not None and (given.scheme == b"bearer" or (need is not None and need.in_browsers))
    try:
        key = await ring.find(given.secret if given is not None and is_usable else None)
    except KeysUnknown as error:
        raise DatabaseUnavailable(UNCHANGED) from error
    if key is None:
        if ring.is_empty:
            return None
        raise Unauthenticated(_reason(given, is_usable))
    if end := key.end(utc_now()):
        raise Unauthenticated(f"The API key {key.name!r} (id {key.id}) {end}; {HOW}.")
    ring.note_use(key)
    return key


class _Credentials(NamedTuple):
    """Credentials of a request. scheme: in lower case."""

    scheme: bytes
    secret: bytes


def _credentials(scope: Scope) -> _Credentials | None:
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, secret = value.partition(b" ")
            scheme = scheme.lower()
            return _Credentials(scheme, _password(secret) if scheme == b"basic" else secret.strip())
    return None


def _password(encoded: bytes) -> bytes:
    try:
        return base64.b64decode(encoded.strip(), validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def _reason(given: _Credentials | None, is_usable: bool) -> str:
    if given is None:
        return f"The request has no API key; {HOW}."
    if not is_usable:
        return f"The Authorization header has the scheme {given.scheme.decode('latin-1')!r:.40}; {HOW}."
    return f"The API key is not known here; check that it is complete and belongs to this service, or {HOW}."


def _require(key: ApiKey, need: Need | None, scope: Scope) -> None:
    """Raise Forbidden if the key lacks the scope."""
    if need is None or need.scope is None or need.scope.is_in(key.scopes):
        return
    raise Forbidden(
        f"{scope['method']:.20} needs the scope {need.scope.value!r} here, and the API key {key.name!r} "
        f"(id {key.id}) has {', '.join(sorted(key.scopes))}; use a key with that scope."
    )


async def _refuse(error: ServiceError, need: Need | None, scope: Scope, receive: Receive, send: Send) -> None:
    response = error_response(error)
    if isinstance(error, Unauthenticated):
        is_invalid = any(name == b"authorization" for name, _ in scope["headers"])
        response.headers["WWW-Authenticate"] = _BEARER + (', error="invalid_token"' if is_invalid else "")
        if need is not None and need.in_browsers:
            response.headers.append("WWW-Authenticate", _BASIC)
    elif isinstance(error, Forbidden) and need is not None and need.scope is not None:
        challenge = f'{_BEARER}, error="insufficient_scope", scope="{need.scope.value}"'
        response.headers["WWW-Authenticate"] = challenge
    await response(scope, receive, send)
