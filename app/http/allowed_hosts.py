"""Names under which the service answers.

A page of any site can let its own name resolve to 127.0.0.1 (DNS rebinding). A browser then takes this service for that
site, and lets the page read its answers. So the service answers only under names that are known to be its own.
"""

import ipaddress
from fnmatch import fnmatchcase

from starlette.datastructures import Headers
from starlette.types import Scope

from app.http.errors import HostNotAllowed
from app.http.refusal import HEALTH_PATHS


class AllowedHosts:
    """Check of the Host header. Health routes are answered under any name: load balancers use addresses as names."""

    def __init__(self, bound_host: str, patterns: tuple[str, ...]) -> None:
        """patterns: names such as `api.example.org`, `*.example.org` for all names below it, or `*` for every name."""
        self._names = ("localhost", bound_host.lower(), *patterns)

    def __call__(self, scope: Scope) -> HostNotAllowed | None:
        header = Headers(scope=scope).get("host", "")
        name = host_name(header)
        if scope["path"] in HEALTH_PATHS or self._is_allowed(name, scope):
            return None
        asked = f"asks for the host {header!r:.100}" if header else "has no Host header"
        return HostNotAllowed.at(
            "header/Host",
            f"The request {asked}; the service answers under the names of this machine's loopback interface and those "
            "in BRISTLECONE_ALLOWED_HOSTS; use one of these, or add the name to the setting if it is the service's.",
        )

    def _is_allowed(self, name: str, scope: Scope) -> bool:
        if any(fnmatchcase(name, pattern) for pattern in self._names):
            return bool(name)
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # No other site can make a browser call it by an address. The connection arrived at this one.
        arrived_at, _ = scope.get("server") or ("", 0)
        return address.is_loopback or name == arrived_at


def host_name(host: str) -> str:
    """Return the name or address in a Host header or an entry of the settings, without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")
