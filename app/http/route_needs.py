"""Scopes that the routes of an application need, known before the router runs."""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from fastapi.routing import APIRouter, iter_route_contexts

from app.access.scopes import UNDECLARED, Need, declared_need

#: Key, in the state of a request, of the template of its path: `/jobs/{job_id}`.
ROUTE = "route"


class KnownRoute(NamedTuple):
    """Route as far as it matters here. methods: None for all. need: None if the route declares nothing."""

    path: str
    methods: Collection[str] | None
    pattern: re.Pattern[str]
    need: Need | None

    def takes(self, method: str, path: str) -> bool:
        return (self.methods is None or method in self.methods) and self.pattern.match(path) is not None


def known_routes(router: APIRouter) -> Iterator[KnownRoute]:
    """Yield all routes in the order in which they are tried."""
    for route in iter_route_contexts(router.routes):
        # A kind of route without a pattern raises AttributeError here, before anything is served.
        yield KnownRoute(route.path or "", route.methods, route.path_regex, declared_need(route.endpoint))


class Reached(NamedTuple):
    """Route that a request reaches. path: its template."""

    path: str
    need: Need


class RouteNeeds:
    """Routes and their needs by method and path. Paths without parameters cost one look-up."""

    def __init__(self, router: APIRouter) -> None:
        self._router = router
        self._n_read = -1
        self._routes: list[KnownRoute] = []
        self._fixed: dict[tuple[str, str], Reached | None] = {}

    def of(self, method: str, path: str) -> Reached | None:
        """Return the route that a request reaches; None if it reaches none."""
        if self._n_read != len(self._router.routes):
            self._read()
        method = "GET" if method == "HEAD" else method
        if (method, path) in self._fixed:
            return self._fixed[method, path]
        return self._first(method, path)

    def _read(self) -> None:
        self._n_read = len(self._router.routes)
        self._routes = list(known_routes(self._router))
        self._fixed = {
            (method, route.path): self._first(method, route.path)
            for route in self._routes
            if "{" not in route.path
            for method in route.methods or ()
        }

    def _first(self, method: str, path: str) -> Reached | None:
        reached = (Reached(route.path, route.need or UNDECLARED) for route in self._routes if route.takes(method, path))
        return next(reached, None)
