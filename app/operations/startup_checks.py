"""What must hold before a process of the service is started; each refusal names the way out."""

import contextlib
import fcntl
import ipaddress
import os
import socket
from collections.abc import Iterator

from app.settings import Settings


class StartRefused(Exception):
    """The service cannot start as it is set up; the message is for the person at the terminal."""


def require_private_address(settings: Settings) -> None:
    """Without API keys the service answers everybody who reaches it, so nobody else may reach it.

    Raises:
        StartRefused: the address is not a loopback one and BRISTLECONE_ALLOW_OPEN_NETWORK is not set.
    """
    if settings.allow_open_network or is_loopback(settings.host):
        return
    raise StartRefused(
        f"BRISTLECONE_HOST={settings.host} would open the service, which asks for no key, to the network; "
        "use 127.0.0.1, or set BRISTLECONE_ALLOW_OPEN_NETWORK=1 if something in front of it decides who may come in"
    )


def is_loopback(host: str) -> bool:
    """Whether `host` (a name or an address) can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def require_free_port(settings: Settings) -> None:
    """Find out before anything is started that nobody else listens.

    Raises:
        StartRefused: the port is taken, or the address is not one of this machine.
    """
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise StartRefused(
            f"cannot listen on {settings.host} port {settings.port} ({error.strerror}); "
            "stop what listens there, or set BRISTLECONE_PORT to a free port"
        ) from error


@contextlib.contextmanager
def exclusive_home(settings: Settings) -> Iterator[None]:
    """Hold the home folder for this process alone; the lock ends with the process, however it ends.

    Raises:
        StartRefused: another service holds it.
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
