"""Optional reference vectors and real data sets next to the checkout; a clone of the repository does not have them."""

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


def shared_path(*parts: str) -> Path:
    """Return a path in the sibling folder `shared`; skip the calling test if it does not exist."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} from a folder `shared` next to the checkout")
    return path


def reference(name: str) -> Any:
    """Return the parsed reference file `name`, such as "trees.json"."""
    return json.loads(shared_path("reference", name).read_text())
