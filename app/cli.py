"""Command line of the service: `bristlecone`."""

import argparse
import contextlib
import os
import resource
import socket
import sys
from collections.abc import Callable, Sequence

import uvicorn
from pydantic import ValidationError
from sqlalchemy.exc import OperationalError

from app.access.commands import add_key_commands, run_key_command
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
from bristlecone import command_line

#: How long the API waits for open connections when it stops; the supervisor waits a little longer.
API_GRACE_SECONDS = 8
#: Exit code of an API process that could not start, as the server library's own command has it.
STARTUP_FAILURE = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code: 0, 1 if the command failed, 2 if the command line is wrong."""
    options = _parser().parse_args(arguments)
    if "client_command" in options:
        return command_line.run(options)
    configure_logging()
    command: Callable[[Settings, argparse.Namespace], None] = options.command
    try:
        settings = load_settings()
        configure_logging(settings.log_format)
        command(settings, options)
    except ValidationError as error:
        return _fail("\n".join(_setting_error(item["loc"], item["msg"]) for item in error.errors()))
    except (StartRefused, DemoFailed, ServiceError) as error:
        return _fail(str(error))
    except OperationalError as error:
        return _fail(unreachable(error))
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bristlecone", description="Train and serve tree models on data with unreliable labels."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, line in _COMMANDS:
        subparser = commands.add_parser(name, help=line, description=line)
        subparser.set_defaults(command=command)
        if name == "demo":
            subparser.add_argument("--exit", action="store_true", help="stop the service at the end")
        if name == "api":
            subparser.add_argument("--socket", type=int, help=argparse.SUPPRESS)
        if name == "keys":
            add_key_commands(subparser)
    command_line.add_commands(commands)
    return parser


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


_COMMANDS = (
    ("serve", _serve, "run the API, a worker and, unless REDIS_URL is set, a private Redis, until Ctrl-C"),
    ("api", _api, "run only the API"),
    ("worker", _worker, "run only a worker"),
    ("migrate", _migrate, "bring the database schema up to date"),
    ("keys", _keys, "make, list, revoke and delete API keys"),
    ("demo", _demo, "start a service, compare models trained on noisy labels, and audit the labels"),
)


def _setting_error(location: tuple[int | str, ...], message: str) -> str:
    if not location:
        return message
    name = str(location[-1]).upper()
    variable = name if name in ("DATABASE_URL", "REDIS_URL") else f"BRISTLECONE_{name}"
    return f"{variable}: {message}"


def _fail(message: str) -> int:
    print(f"bristlecone: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
