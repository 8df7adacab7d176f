"""Memory of the machine, and the limits of control groups that are lower."""

from pathlib import Path

import pytest

from app.machine import memory_bytes

GIBIBYTE = 2**30


@pytest.mark.parametrize(
    ("own_groups", "files"),
    [
        ("0::/service/worker\n", {"service/worker/memory.max": "1073741824"}),
        ("0::/service/worker\n", {"service/worker/memory.max": "max", "service/memory.max": "1073741824"}),
        ("0::/\n", {"memory.max": "1073741824"}),
        ("4:cpu:/x\n3:memory:/docker/1\n", {"memory/docker/1/memory.limit_in_bytes": "1073741824"}),
        ("3:memory:/docker/hidden\n", {"memory/memory.limit_in_bytes": "1073741824"}),
    ],
)
def test_the_limit_of_a_group_counts(tmp_path: Path, own_groups: str, files: dict[str, str]) -> None:
    (tmp_path / "own").write_text(own_groups)
    for name, text in files.items():
        (tmp_path / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / name).write_text(text + "\n")
    assert memory_bytes(tmp_path / "own", tmp_path / "groups") == GIBIBYTE


@pytest.mark.parametrize("limit", ["max", "9223372036854771712", "-1", ""])
def test_without_a_lower_limit_the_machine_counts(tmp_path: Path, limit: str) -> None:
    (tmp_path / "own").write_text("0::/\n")
    (tmp_path / "memory.max").write_text(limit)
    physical = memory_bytes(tmp_path / "missing", tmp_path / "missing")
    assert memory_bytes(tmp_path / "own", tmp_path) == physical > 2**28
