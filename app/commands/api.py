"""Command `bristlecone api`."""

import argparse
import contextlib
import os
import resource
import socket

import uvicorn

from app.http.server import server_options
from app.machine import return_freed_memory
from app.operations.api_processes import ApiProcesses
from app.operations.lasting_imports import lasting_imports
from app.operations.startup_checks import require_own_state, require_private_address, warn_if_open
from app.settings import Settings

#: How long the API waits for open connections when it stops; the supervisor waits a little longer.
GRACE_SECONDS = 8
#: Exit code of an API process that could not start, as the server library's own command has it.
STARTUP_FAILURE = 3


def run(settings: Settings, options: argparse.Namespace) -> None:
    """Run the API, in one process or in several. Raises StartRefused."""
    if options.socket is None:
        require_own_state(settings)
        require_private_address(settings)
        warn_if_open(settings)
        if settings.server.api_processes > 1:
            ApiProcesses(settings, dict(os.environ), GRACE_SECONDS + 1).run()
            return
    _run_process(settings, None if options.socket is None else [socket.socket(fileno=options.socket)])


def _run_process(settings: Settings, sockets: list[socket.socket] | None) -> None:
    """Run one API process. sockets: those that it shares with others; None to listen on its own."""
    _raise_file_limit()
    return_freed_memory()
    options = server_options(settings)
    config = uvicorn.Config("app.main:create_app", factory=True, timeout_graceful_shutdown=GRACE_SECONDS, **options)
    with lasting_imports():
        config.load()
    server = uvicorn.Server(config)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets)
    if not server.started:
        raise SystemExit(STARTUP_FAILURE)


def _raise_file_limit() -> None:
    """Allow as many open files as the administrator lets a process have: connections must not use up all of them."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
