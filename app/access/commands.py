"""Commands `bristlecone keys create`, `list`, `revoke` and `delete`."""

import argparse
import sys
from collections.abc import Callable
from datetime import datetime, timedelta

from app.access.records import ApiKey
from app.access.service import create_key, delete_key, list_keys, revoke_key
from app.settings import Settings
from app.storage.database import own_sessions
from app.storage.orm import utc_now


def run_key_command(settings: Settings, options: argparse.Namespace) -> None:
    """Run the subcommand that was chosen. Raises KeyNotFound."""
    _COMMANDS[options.key_command](settings, options)


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


_COMMANDS: dict[str, Callable[[Settings, argparse.Namespace], None]] = {
    "create": _create,
    "list": _list,
    "revoke": _revoke,
    "delete": _delete,
}
