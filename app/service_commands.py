"""Commands that start or change the service."""

import argparse
import contextlib
import gc
import os
import resource
import socket
import sys
from collections.abc import Callable

import uvicorn
from pydantic import ValidationError
from sqlalchemy.exc import OperationalError

from app.access.commands import run_key_command
from app.demo.client import DemoFailed
from app.demo.story import run_demo
from app.errors import ServiceError
from app.http.server import server_options
from app.logs import configure_logging
from app.machine import return_freed_memory
from app.operations.api_processes import ApiProcesses
from app.operations.startup_checks import (
    StartRefused,
    require_migrated,
    require_own_state,
    require_private_address,
    unreachable,
    warn_if_open,
)
from app.operations.supervisor import serve
from app.settings import Settings, load_settings
from app.storage.schema import upgrade_to_head

#: How long the API waits for open connections when it stops; the supervisor waits a little longer.
API_GRACE_SECONDS = 8
#: Exit code of an API process that could not start, as the server library's own command has it.
STARTUP_FAILURE = 3


def run(options: argparse.Namespace) -> int:
    """Run `options.command` and return the exit code: 0, or 1 if it failed."""
    # Without what was imported, which lives to the end. The last collection would be a third of a short command's time.
    gc.freeze()
    configure_logging()
    try:
        settings = load_settings()
        configure_logging(settings.log_format)
        _COMMANDS[options.command](settings, options)
    except ValidationError as error:
        return _fail("\n".join(_setting_error(item["loc"], item["msg"]) for item in error.errors()))
    except (StartRefused, DemoFailed, ServiceError) as error:
        return _fail(str(error))
    except OperationalError as error:
        return _fail(unreachable(error))
    except KeyboardInterrupt:
        return 130
    return 0


def _serve(settings: Settings, options: argparse.Namespace) -> None:
    serve(settings)


def _api(settings: Settings, options: argparse.Namespace) -> None:
    if options.socket is None:
        require_own_state(settings)
        require_private_address(settings)
        warn_if_open(settings)
        if settings.server.api_processes > 1:
            ApiProcesses(settings, dict(os.environ), API_GRACE_SECONDS + 1).run()
            return
    _run_api_process(settings, None if options.socket is None else [socket.socket(fileno=options.socket)])


def _run_api_process(settings: Settings, sockets: list[socket.socket] | None) -> None:
    """Run one API process. sockets: those that it shares with others; None to listen on its own."""
    _raise_file_limit()
    return_freed_memory()
    options = server_options(settings)
    config = uvicorn.Config("app.main:create_app", factory=True, timeout_graceful_shutdown=API_GRACE_SECONDS, **options)
    config.load()
    _freeze_imported_objects()
    server = uvicorn.Server(config)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets)
    if not server.started:
        raise SystemExit(STARTUP_FAILURE)


def _freeze_imported_objects() -> None:
    """Exempt the objects of modules and routes, which live as long as the process, from garbage collection.

    A full collection that visits them stops all requests for more than a tenth of a second.
    """
    gc.collect()
    gc.freeze()


def _raise_file_limit() -> None:
    """Allow as many open files as the administrator lets a process have: connections must not use up all of them."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _worker(settings: Settings, options: argparse.Namespace) -> None:
    # Run as a program: the package `app` does not import `workers`.
    os.execv(sys.executable, [sys.executable, "-m", "workers"])


def _migrate(settings: Settings, options: argparse.Namespace) -> None:
    upgrade_to_head(settings)


def _keys(settings: Settings, options: argparse.Namespace) -> None:
    require_migrated(settings)
    run_key_command(settings, options)


def _demo(settings: Settings, options: argparse.Namespace) -> None:
    run_demo(settings, exit_when_done=options.exit)


_COMMANDS: dict[str, Callable[[Settings, argparse.Namespace], None]] = {
    "serve": _serve,
    "api": _api,
    "worker": _worker,
    "migrate": _migrate,
    "keys": _keys,
    "demo": _demo,
}


def _setting_error(location: tuple[int | str, ...], message: str) -> str:
    if not location:
        return message
    name = str(location[-1]).upper()
    variable = name if name in ("DATABASE_URL", "REDIS_URL") else f"BRISTLECONE_{name}"
    return f"{variable}: {message}"


def _fail(message: str) -> int:
    print(f"bristlecone: {message}", file=sys.stderr)
    return 1
