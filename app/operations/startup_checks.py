"""Checks before a process of the service is started. Each error says how to solve the problem."""

import contextlib
import fcntl
import ipaddress
import logging
import os
import socket
from collections.abc import Iterator

from sqlalchemy.exc import OperationalError

from app.access.service import has_keys
from app.settings import Settings
from app.storage.database import own_sessions
from app.storage.schema_version import migration_fault, schema_fault
from app.storage.store_id import OtherStore, join_store

log = logging.getLogger(__name__)


class StartRefused(Exception):
    """The service cannot start with these settings. The message is shown on the terminal."""


def unreachable(error: OperationalError) -> str:
    """Return one line about a database that does not answer."""
    reason = " ".join(str(error.orig).split())
    return f"the database does not answer ({reason:.300}); start it, or correct DATABASE_URL"


def require_migrated(settings: Settings) -> None:
    """Refuse a database whose schema is not the one of this version.

    Raises:
        StartRefused: the newest migration was not run, or a newer one was.
    """
    if fault := schema_fault(settings):
        raise StartRefused(fault)


def require_older_schema(settings: Settings) -> None:
    """Refuse to migrate a database that a newer version has migrated. Raises StartRefused."""
    if fault := migration_fault(settings):
        raise StartRefused(fault)


def require_own_state(settings: Settings) -> None:
    """Refuse a database that was not migrated, or that belongs to another folder.

    Raises:
        StartRefused: either is the case.
    """
    require_migrated(settings)
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    folders = (settings.datasets_folder, settings.artifacts_folder, settings.issues_folder, settings.predictions_folder)
    with own_sessions(settings.database) as sessions:
        try:
            join_store(sessions, settings.home, folders)
        except OtherStore as error:
            raise StartRefused(str(error)) from error


def require_private_address(settings: Settings) -> None:
    """Refuse an address that other machines can reach while the service answers requests without API keys.

    Raises:
        StartRefused: the address is not a loopback address, there are no keys, and BRISTLECONE_ALLOW_OPEN_NETWORK is
            not set.
    """
    if settings.allow_open_network or is_loopback(settings.host) or has_keys(settings.database):
        return
    raise StartRefused(
        f"BRISTLECONE_HOST={settings.host} would open the service to the network, and no API key exists, so that "
        "everybody may do everything; run bristlecone migrate and bristlecone keys create first, or use 127.0.0.1, or "
        "set BRISTLECONE_ALLOW_OPEN_NETWORK=1 if a reverse proxy authenticates all requests"
    )


def warn_if_open(settings: Settings) -> None:
    """Log that requests need no key, if none exists."""
    if not has_keys(settings.database):
        where = "on the loopback interface only" if is_loopback(settings.host) else f"on {settings.host}"
        log.warning(
            "no API key exists, so that every request is answered, %s; bristlecone keys create makes a key", where
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
    listening_socket(settings).close()


def listening_socket(settings: Settings) -> socket.socket:
    """Return a socket that is bound to the address of the service, and does not listen yet.

    Raises:
        StartRefused: the port is in use, or the address does not belong to this machine.
    """
    try:
        addresses = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = addresses[0]
        with contextlib.ExitStack() as on_error:
            bound = on_error.enter_context(socket.socket(family, kind, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            on_error.pop_all()
            return bound
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
