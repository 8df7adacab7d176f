"""Command `bristlecone migrate`."""

import argparse

from app.operations.startup_checks import require_older_schema
from app.settings import Settings
from app.storage.schema import upgrade_to_head


def run(settings: Settings, options: argparse.Namespace) -> None:
    """Bring the database schema up to date."""
    require_older_schema(settings)
    upgrade_to_head(settings)
