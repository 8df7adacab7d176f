"""Checks before a process of the service is started. Each error says how to solve the problem."""

import contextlib
import fcntl
import ipaddress
import os
import socket
from collections.abc import Iterator

from app.settings import Settings


class StartRefused(Exception):
    """The service cannot start with these settings. The message is shown on the terminal."""


def require_private_address(settings: Settings) -> None:
    """Refuse an address that other machines can reach, because the service answers requests without API keys.

    Raises:
        StartRefused: the address is not a loopback address and BRISTLECONE_ALLOW_OPEN_NETWORK is not set.
    """
    if settings.allow_open_network or is_loopback(settings.host):
        return
    raise StartRefused(
        f"BRISTLECONE_HOST={settings.host} would open the service, which needs no API key, to the network; use "
        "127.0.0.1, or set BRISTLECONE_ALLOW_OPEN_NETWORK=1 if a reverse proxy authenticates all requests"
    )


def is_loopback(host: str) -> bool:
    """Return whether `host` (a name or an address) can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def require_free_port(settings: Settings) -> None:
    """Check that the port is free, before anything is started.

    Raises:
        StartRefused: the port is in use, or the address does not belong to this machine.
    """
    try:
        addresses = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = addresses[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise StartRefused(
            f"cannot listen on {settings.host} port {settings.port} ({error.strerror}); "
            "stop the program that uses the port, or set BRISTLECONE_PORT to a free one"
        ) from error


@contextlib.contextmanager
def exclusive_home(settings: Settings) -> Iterator[None]:
    """Lock the home folder for this process. The lock ends with the process, even if the process is killed.

    Raises:
        StartRefused: another service has the lock.
    """
    for folder in (settings.home, settings.run_folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    with (settings.run_folder / "service.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise StartRefused(
                f"a service (process {lock.read().strip() or 'unknown'}) already uses {settings.home}; "
                "stop it, or set BRISTLECONE_HOME and BRISTLECONE_PORT for a second one"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
