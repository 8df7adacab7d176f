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
