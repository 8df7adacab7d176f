"""Command `bristlecone migrate`."""

import argparse

from app.settings import Settings
from app.storage.schema import upgrade_to_head


def run(settings: Settings, options: argparse.Namespace) -> None:
    """Bring the database schema up to date."""
    upgrade_to_head(settings)
