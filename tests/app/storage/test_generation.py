"""Number that processes share."""

import subprocess
import sys

from app.storage.generation import Generation


def test_a_change_by_another_process_is_seen_at_once(tmp_path):
    path = tmp_path / "generation"
    here = Generation(path)
    seen = [here.current()]
    change = "import sys; from pathlib import Path; from app.storage.generation import Generation as G"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", f"{change}; G(Path(sys.argv[1])).change()", str(path)], check=True)
        seen.append(here.current())
    assert len(set(seen)) == 3
    assert Generation(path).current() == seen[-1]


def test_the_file_is_written_so_that_a_change_needs_no_further_space(tmp_path):
    """A write to a mapped hole of a file ends the process if the disk is full."""
    path = tmp_path / "generation"
    Generation(path)
    assert path.stat().st_blocks > 0
