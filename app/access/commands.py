"""Commands `bristlecone keys create`, `list`, `revoke` and `delete`."""

import argparse
import sys
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from app.access.records import ApiKey
from app.access.scopes import Scope
from app.access.service import create_key, delete_key, list_keys, revoke_key
from app.settings import Settings
from app.storage.database import own_sessions
from app.storage.orm import utc_now

MAX_NAME_CHARACTERS = 200
_MAX_DAYS = 36_500


def add_key_commands(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands; each sets `key_command` to the function that runs it."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    create = commands.add_parser("create", help="make a key, and print it: it cannot be shown again")
    create.add_argument("--name", required=True, type=_name, help="who or what uses the key, for logs")
    create.add_argument(
        "--scope", required=True, action="append", type=_scope, dest="scopes", metavar="SCOPE",
        help=f"what the key allows, repeatable: {', '.join(Scope)}",
    )  # fmt: skip
    create.add_argument("--expires-days", type=_days, metavar="D", help="days after which the key ends; default: never")
    create.set_defaults(key_command=_create)
    commands.add_parser("list", help="show all keys, without their secrets").set_defaults(key_command=_list)
    revoke = commands.add_parser("revoke", help="end a key; processes notice within two seconds")
    revoke.add_argument("id", type=_key_id, help="id of the key, which `list` shows")
    revoke.set_defaults(key_command=_revoke)
    delete = commands.add_parser("delete", help="forget a key that was revoked or has expired")
    delete.add_argument("id", type=_key_id, help="id of the key, which `list` shows")
    delete.set_defaults(key_command=_delete)


def run_key_command(settings: Settings, options: argparse.Namespace) -> None:
    """Run the subcommand that was chosen. Raises KeyNotFound."""
    command: Callable[[Settings, argparse.Namespace], None] = options.key_command
    command(settings, options)


def _create(settings: Settings, options: argparse.Namespace) -> None:
    lifetime = None if options.expires_days is None else timedelta(days=options.expires_days)
    with own_sessions(settings.database) as sessions:
        key, secret = create_key(sessions, options.name, set(options.scopes), lifetime)
    print(secret, flush=True)
    ends = "never expires" if key.expires_at is None else f"expires at {_shown(key.expires_at)}"
    print(
        f"This is the key {key.name!r} ({', '.join(sorted(key.scopes))}; id {key.id}); it {ends}. It cannot be shown "
        "again. Send it as Authorization: Bearer KEY.",
        file=sys.stderr,
    )


def _list(settings: Settings, options: argparse.Namespace) -> None:
    with own_sessions(settings.database) as sessions:
        keys = list_keys(sessions)
    rows = [("ID", "NAME", "SCOPES", "CREATED", "LAST USED", "STATE"), *map(_row, keys)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(key: ApiKey) -> tuple[str, ...]:
    until = "valid" if key.expires_at is None else f"valid until {_shown(key.expires_at)}"
    scopes = ",".join(sorted(key.scopes))
    used = "-" if key.last_used_at is None else _shown(key.last_used_at)
    return (str(key.id), key.name, scopes, _shown(key.created_at), used, key.end(utc_now()) or until)


def _revoke(settings: Settings, options: argparse.Namespace) -> None:
    with own_sessions(settings.database) as sessions:
        key = revoke_key(sessions, options.id)
    print(f"The key {key.name!r} (id {key.id}) {key.end(utc_now())}.", file=sys.stderr)


def _delete(settings: Settings, options: argparse.Namespace) -> None:
    with own_sessions(settings.database) as sessions:
        key = delete_key(sessions, options.id)
    print(f"The key {key.name!r} (id {key.id}) was deleted.", file=sys.stderr)


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


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
