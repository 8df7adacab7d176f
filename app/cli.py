"""Command line of the service and of its client: `bristlecone`."""

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module

from app.access.arguments import add_key_commands
from app.operations.lasting_imports import lasting_imports
from bristlecone import command_line

#: Commands that start or change the service, with what they do.
_SERVICE_COMMANDS = {
    "serve": "run the API, a worker and, unless REDIS_URL is set, a private Redis, until Ctrl-C",
    "api": "run only the API",
    "worker": "run only a worker",
    "migrate": "bring the database schema up to date",
    "keys": "make, list, revoke and delete API keys",
    "demo": "start a service, compare models trained on noisy labels, and audit the labels",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code: 0, 1 if the command failed, 2 if the command line is wrong."""
    options = _parser().parse_args(arguments)
    if "client_command" in options:
        return command_line.run(options)
    # Only now, because the imports of the service take longer than most commands of the client.
    with lasting_imports():
        run: Callable[[argparse.Namespace], int] = import_module("app.service_commands").run
    return run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bristlecone", description="Train and serve tree models on data with unreliable labels."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, line in _SERVICE_COMMANDS.items():
        subparser = commands.add_parser(name, help=line, description=line)
        subparser.set_defaults(command=name)
        if name == "demo":
            subparser.add_argument("--exit", action="store_true", help="stop the service at the end")
        if name == "api":
            subparser.add_argument("--socket", type=int, help=argparse.SUPPRESS)
        if name == "keys":
            add_key_commands(subparser)
    command_line.add_commands(commands)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
