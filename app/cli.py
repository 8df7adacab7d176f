"""The command `bristlecone`: every way to start a part of the service."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

import uvicorn
from pydantic import ValidationError

from app.demo.client import DemoFailed
from app.demo.story import run_demo
from app.logs import configure_logging
from app.operations.startup_checks import StartRefused, require_private_address
from app.operations.supervisor import serve
from app.settings import Settings, load_settings
from app.storage.schema import upgrade_to_head

#: A request line with a value for each of ten thousand columns still fits.
LONGEST_REQUEST_HEAD_BYTES = 1024**2
#: Open connections get this long when the API stops; the supervisor waits a little longer.
API_GRACE_SECONDS = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code: 0, 1 when it could not be done, 2 for a wrong command line."""
    options = _parser().parse_args(arguments)
    configure_logging()
    command: Callable[[Settings, argparse.Namespace], None] = options.command
    try:
        command(load_settings(), options)
    except ValidationError as error:
        return _fail("\n".join(_setting_fault(fault["loc"], fault["msg"]) for fault in error.errors()))
    except (StartRefused, DemoFailed) as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bristlecone", description="Train and serve tree models on data whose labels cannot be fully trusted."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, line in _COMMANDS:
        subparser = commands.add_parser(name, help=line, description=line)
        subparser.set_defaults(command=command)
        if name == "demo":
            subparser.add_argument("--exit", action="store_true", help="stop the service at the end")
    return parser


def _serve(settings: Settings, options: argparse.Namespace) -> None:
    serve(settings)


def _api(settings: Settings, options: argparse.Namespace) -> None:
    require_private_address(settings)
    # Requests are logged by the service itself, which leaves out query strings: they hold people's data.
    uvicorn.run(
        "app.main:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        log_config=None,
        timeout_graceful_shutdown=API_GRACE_SECONDS,
        h11_max_incomplete_event_size=LONGEST_REQUEST_HEAD_BYTES,
    )


def _worker(settings: Settings, options: argparse.Namespace) -> None:
    # Another program, not an import: the API's package knows nothing of the workers'.
    os.execv(sys.executable, [sys.executable, "-m", "workers"])


def _migrate(settings: Settings, options: argparse.Namespace) -> None:
    upgrade_to_head(settings)


def _demo(settings: Settings, options: argparse.Namespace) -> None:
    run_demo(settings, exit_when_done=options.exit)


_COMMANDS = (
    ("serve", _serve, "run API, worker and, without REDIS_URL, a private Redis until Ctrl-C"),
    ("api", _api, "run the API alone"),
    ("worker", _worker, "run one worker alone"),
    ("migrate", _migrate, "bring the database schema up to date, then end"),
    ("demo", _demo, "start a service, train three models on noisy labels and compare them"),
)


def _setting_fault(location: tuple[int | str, ...], message: str) -> str:
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
