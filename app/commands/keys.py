"""Command `bristlecone keys`."""

import argparse

from app.access.commands import run_key_command
from app.operations.startup_checks import require_migrated
from app.settings import Settings


def run(settings: Settings, options: argparse.Namespace) -> None:
    """Make, list, revoke or delete API keys. Raises StartRefused, KeyNotFound."""
    require_migrated(settings)
    run_key_command(settings, options)
