"""Scopes of API keys, and the declarations of routes which scope a request needs."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_ATTRIBUTE = "_bristlecone_need"


class Scope(StrEnum):
    """Permission of a key."""

    READ = "read"  #: see data sets, jobs, models, audits, sweeps and the documentation
    PREDICT = "predict"  #: predict with trained models
    TRAIN = "train"  #: upload data sets, start and cancel jobs, describe data sets and models
    ADMIN = "admin"  #: everything, also what deletes, and what decides which model answers

    def is_in(self, scopes: frozenset["Scope"]) -> bool:
        """Return whether a key with these scopes has this one."""
        return self in scopes or Scope.ADMIN in scopes


class Need(NamedTuple):
    """Scope that a route needs, None if it is open to all.

    in_browsers: whether a browser may ask its user for the key, as for pages.
    """

    scope: Scope | None
    in_browsers: bool = False


#: Need of a route that declares none.
UNDECLARED = Need(Scope.ADMIN)


def needs(scope: Scope, *, in_browsers: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Return a decorator that declares which scope the route of an endpoint needs."""

    def declare(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _ATTRIBUTE, Need(scope, in_browsers))
        return endpoint

    return declare


def open_to_all(endpoint: Endpoint) -> Endpoint:
    """Declare that the route of an endpoint needs no key."""
    setattr(endpoint, _ATTRIBUTE, Need(None))
    return endpoint


def declared_need(endpoint: object) -> Need | None:
    """Return what the route of an endpoint declares; None if it declares nothing."""
    need: Need | None = getattr(endpoint, _ATTRIBUTE, None)
    return need
