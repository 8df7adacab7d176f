"""Run a command that starts or changes the service, and tell why it failed."""

import argparse
import sys
from collections.abc import Callable
from importlib import import_module

from pydantic import ValidationError
from sqlalchemy.exc import OperationalError

from app.demo.client import DemoFailed
from app.errors import ServiceError
from app.logs import configure_logging
from app.operations.lasting_imports import lasting_imports
from app.operations.startup_checks import StartRefused, unreachable
from app.settings import Settings, load_settings


def run(options: argparse.Namespace) -> int:
    """Run `options.command` and return the exit code: 0, or 1 if it failed."""
    configure_logging()
    try:
        settings = load_settings()
        configure_logging(settings.log_format)
        _make_home(settings)
        _run_command(settings, options)
    except ValidationError as error:
        return _fail("\n".join(_setting_error(item["loc"], item["msg"]) for item in error.errors()))
    except (StartRefused, DemoFailed, ServiceError) as error:
        return _fail(str(error))
    except OperationalError as error:
        return _fail(unreachable(error))
    except KeyboardInterrupt:
        return 130
    return 0


def _make_home(settings: Settings) -> None:
    """Make the folder of all state. Raises StartRefused if that is not possible."""
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{settings.home} cannot be the folder of the state ({error.strerror})"
        raise StartRefused(f"BRISTLECONE_HOME: {reason}; name one that this user may write") from error


def _run_command(settings: Settings, options: argparse.Namespace) -> None:
    # Only the module of this command, because the imports of all would take longer than most of them.
    with lasting_imports():
        command: Callable[[Settings, argparse.Namespace], None] = import_module(f"app.commands.{options.command}").run
    command(settings, options)


def _setting_error(location: tuple[int | str, ...], message: str) -> str:
    if not location:
        return message
    name = [part for part in location if isinstance(part, str)][-1].upper()
    variable = name if name in ("DATABASE_URL", "REDIS_URL") else f"BRISTLECONE_{name}"
    return f"{variable}: {message.removeprefix('Value error, ')}"


def _fail(message: str) -> int:
    print(f"bristlecone: {message}", file=sys.stderr)
    return 1
