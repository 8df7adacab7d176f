"""Limit on the requests of one client per minute."""

import ipaddress
import time
from collections.abc import Callable, Hashable

from app.http.client_times import ClientTimes, OwnTimes
from app.http.errors import RateLimitExceeded

_WINDOW_SECONDS = 60.0
#: Host part of an IPv6 address, of which one client usually has all.
_IPV6_HOST_BITS = 64


class RequestRate:
    """Requests that a client may make: as many at once as in a minute, and then again one after the other.

    One number per client is enough (the generic cell rate algorithm): the time at which all of its requests so far
    would have been made, had they come evenly.
    """

    def __init__(
        self,
        per_minute: int,
        clock: Callable[[], float] = time.monotonic,
        open_times: Callable[[], ClientTimes] = OwnTimes,
    ) -> None:
        """per_minute: 0 for no limit. clock: the same in all processes. open_times: called at the first request."""
        self._per_minute = per_minute
        self._interval = _WINDOW_SECONDS / max(per_minute, 1)
        self._clock = clock
        self._open_times = open_times
        self._even_times: ClientTimes | None = None

    def count(self, client: Hashable) -> None:
        """Count a request. Raises RateLimitExceeded, and counts nothing, if it is one too many."""
        if not self._per_minute:
            return
        if self._even_times is None:
            self._even_times = self._open_times()
        now = self._clock()
        even_time = self._even_times.get(client)
        # Later than any request could make it: from before a restart of the machine, with which the clock begins again.
        if even_time > now + _WINDOW_SECONDS + self._interval:
            even_time = now
        next_time = max(even_time, now) + self._interval
        wait_seconds = next_time - now - _WINDOW_SECONDS
        if wait_seconds > self._interval * 1e-6:
            raise RateLimitExceeded(
                f"More than {self._per_minute} requests in a minute (limit BRISTLECONE_REQUESTS_PER_MINUTE); send "
                f"the next one in {wait_seconds:.1f} s, or ask for several rows or records in one request.",
                wait_seconds,
            )
        self._even_times.set(client, next_time)


def client_network(address: str) -> str:
    """Return what stands for the client with an address: the address, or the network of an IPv6 address."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(parsed.ipv4_mapped or ipaddress.IPv6Network((int(parsed) >> _IPV6_HOST_BITS << _IPV6_HOST_BITS, 64)))
