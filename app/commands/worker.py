"""Command `bristlecone worker`."""

import argparse
import os
import sys

from app.settings import Settings


def run(settings: Settings, options: argparse.Namespace) -> None:
    """Replace this process with a worker, a program of its own: the package `app` does not import `workers`."""
    os.execv(sys.executable, [sys.executable, "-m", "workers"])
