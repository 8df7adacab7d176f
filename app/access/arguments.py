"""Arguments of `bristlecone keys`. Imports nothing that takes long, because every command parses with it."""

import argparse
import uuid

from app.access.scopes import Scope

MAX_NAME_CHARACTERS = 200
_MAX_DAYS = 36_500


def add_key_commands(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands; each sets `key_command` to its name, which `app.access.commands` runs."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    create = commands.add_parser("create", help="make a key, and print it: it cannot be shown again")
    create.add_argument("--name", required=True, type=_name, help="who or what uses the key, for logs")
    create.add_argument(
        "--scope", required=True, action="append", type=_scope, dest="scopes", metavar="SCOPE",
        help=f"what the key allows, repeatable: {', '.join(Scope)}",
    )  # fmt: skip
    create.add_argument("--expires-days", type=_days, metavar="D", help="days after which the key ends; default: never")
    create.set_defaults(key_command="create")
    commands.add_parser("list", help="show all keys, without their secrets").set_defaults(key_command="list")
    revoke = commands.add_parser("revoke", help="end a key; processes notice within two seconds")
    revoke.add_argument("id", type=_key_id, help="id of the key, which `list` shows")
    revoke.set_defaults(key_command="revoke")
    delete = commands.add_parser("delete", help="forget a key that was revoked or has expired")
    delete.add_argument("id", type=_key_id, help="id of the key, which `list` shows")
    delete.set_defaults(key_command="delete")


def _name(text: str) -> str:
    if not text.strip() or len(text) > MAX_NAME_CHARACTERS or not text.isprintable():
        rule = f"it must have 1 to {MAX_NAME_CHARACTERS} printable characters"
        raise argparse.ArgumentTypeError(f"the name is {text!r:.80}; {rule}")
    return text


def _scope(text: str) -> Scope:
    try:
        return Scope(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"the scope is {text!r:.80}; it must be one of {', '.join(Scope)}") from None


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days <= _MAX_DAYS:
        raise argparse.ArgumentTypeError(f"the lifetime is {text!r:.80} days; it must be above 0, at most {_MAX_DAYS}")
    return days


def _key_id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        rule = "it must be an id that `bristlecone keys list` shows, not the key itself"
        raise argparse.ArgumentTypeError(f"the id is {text[:4]!r}…; {rule}") from None
