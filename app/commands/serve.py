"""Command `bristlecone serve`."""

import argparse

from app.operations.supervisor import serve
from app.settings import Settings


def run(settings: Settings, options: argparse.Namespace) -> None:
    """Run the API, a worker and, unless REDIS_URL is set, a private Redis. Raises StartRefused."""
    serve(settings)
