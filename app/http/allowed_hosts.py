"""Names under which the service answers.

A page of any site can let its own name resolve to 127.0.0.1 (DNS rebinding). A browser then takes this service for that
site, and lets the page read its answers. So the service answers only under names that are known to be its own.
"""

import ipaddress
from fnmatch import fnmatchcase
from functools import lru_cache

from starlette.types import Scope

from app.http.errors import HostNotAllowed
from app.http.raw_headers import header
from app.http.refusal import HEALTH_PATHS

#: In characters; names in the domain name system are shorter (RFC 1035).
_LONGEST_NAME = 255


class AllowedHosts:
    """Check of the Host header. Health routes are answered under any name: load balancers use addresses as names."""

    def __init__(self, bound_host: str, patterns: tuple[str, ...]) -> None:
        """patterns: names such as `api.example.org`, `*.example.org` for all names below it, or `*` for every name."""
        self._names = ("localhost", bound_host.lower(), *patterns)
        # Clients use few names, and comparing one takes longer than the rest of this check.
        self._remembered = lru_cache(maxsize=256)(self._is_own_name)

    def __call__(self, scope: Scope) -> HostNotAllowed | None:
        host = header(scope, b"host") or ""
        name = host_name(host)
        if scope["path"] in HEALTH_PATHS or self._is_allowed(name, scope):
            return None
        asked = f"asks for the host {host!r:.100}" if host else "has no Host header"
        return HostNotAllowed.at(
            "header/Host",
            f"The request {asked}; the service answers under the names of this machine's loopback interface and those "
            "in BRISTLECONE_ALLOWED_HOSTS; use one of these, or add the name to the setting if it is the service's.",
        )

    def _is_allowed(self, name: str, scope: Scope) -> bool:
        return len(name) <= _LONGEST_NAME and (self._remembered(name) or _is_arrival(name, scope))

    def _is_own_name(self, name: str) -> bool:
        """Return whether the name is one of the service, or an address of the loopback interface."""
        if any(fnmatchcase(name, pattern) for pattern in self._names):
            return bool(name)
        address = _address(name)
        return address is not None and address.is_loopback


def _is_arrival(name: str, scope: Scope) -> bool:
    """Return whether the name is the address at which the connection arrived.

    No other site can make a browser call the service by an address.
    """
    arrived_at, _ = scope.get("server") or ("", 0)
    return bool(name == arrived_at and _address(name) is not None)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def host_name(host: str) -> str:
    """Return the name or address in a Host header or an entry of the settings, without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")
