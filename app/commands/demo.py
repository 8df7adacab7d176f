"""Command `bristlecone demo`."""

import argparse

from app.demo.story import run_demo
from app.settings import Settings


def run(settings: Settings, options: argparse.Namespace) -> None:
    """Start a service, compare models and audit labels. Raises StartRefused, DemoFailed."""
    run_demo(settings, exit_when_done=options.exit)
