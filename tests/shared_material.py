"""Reference vectors and real data sets that may lie beside the checkout; a user's clone has none of them."""

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


def shared_path(*parts: str) -> Path:
    """The path below the sibling folder `shared`; skips the calling test when it is not there."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} from a folder `shared` beside the checkout")
    return path


def reference(name: str) -> Any:
    """The parsed reference file `name` (for example "trees.json")."""
    return json.loads(shared_path("reference", name).read_text())
