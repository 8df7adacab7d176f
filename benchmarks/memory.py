"""Peak memory of a fit, each in a process of its own.

What counts is the highest resident size during the fit less the resident size just before it, when the table is loaded,
the libraries are imported and the kernels are warm. On Linux the high-water mark is reset before the fit and read from
/proc, because ru_maxrss also remembers the loading of the table and the process that started this one. Elsewhere it is
ru_maxrss, which then can only be too high.

scikit-learn works on float32: it reads such a table where it lies, and makes a copy of a float64 one, numpy's default.
We read both where they lie. So there are rows of both.
"""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from benchmarks.contenders import forests, minimax_boosters, trees, warm
from benchmarks.data import CHECKOUT, Table
from benchmarks.report import Row, Target
from benchmarks.settings import Settings

TARGET = Target(1.0, 0.5, is_least=False)
PAIRS = {"forest": forests, "tree": trees, "rmboost": minimax_boosters}


class Work(NamedTuple):
    """What is fitted on which version of a table."""

    kind: str
    noise: float = 0.0  # share of the labels
    width: str = "float32"

    def title(self, table: str) -> str:
        noise = f", {self.noise:.0%} noise".replace("%", " %") if self.noise else ""
        return f"peak memory: {self.kind}, gini{noise}, {table}, {self.width} input"


WORKS = (
    Work("forest"),
    Work("forest", noise=0.4),
    Work("forest", width="float64"),
    Work("tree"),
    Work("tree", width="float64"),
)
_MEBIBYTE = 2**20
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _forget_peak() -> bool:
    """Reset the high-water mark to the present size; whether that was possible."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return False
    return True


def _peak_bytes(was_reset: bool) -> int:
    if was_reset:
        fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure_here(folder: Path, kind: str, side: str, settings: Settings) -> int:
    """Bytes that the fit of the stored table needs on top, in this process."""
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    make = getattr(PAIRS[kind](settings, "gini"), side)
    warm(make, Table("stored", X, y, X[:10], y[:10]))
    estimator = make()
    was_reset = _forget_peak()
    before = psutil.Process().memory_info().rss
    estimator.fit(X, y)
    return _peak_bytes(was_reset) - before


def measured(folder: Path, kind: str, side: str, settings: Settings) -> int:
    question = json.dumps([str(folder), kind, side, settings.trees, settings.jobs])
    command = [sys.executable, "-m", "benchmarks.memory", question]
    answer = subprocess.run(command, check=True, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    return int(answer.stdout)


def _row(work: Work, table: Table, settings: Settings) -> Row:
    X = table.X.astype(work.width, copy=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", table.with_noise(work.noise).y)
        ours, theirs = (measured(folder, work.kind, side, settings) for side in ("ours", "theirs"))
    return Row(
        work.title(table.name),
        f"{ours / _MEBIBYTE:.0f} MiB",
        f"{theirs / _MEBIBYTE:.0f} MiB",
        [ours / theirs],
        TARGET,
        note=f"the table itself: {X.nbytes / _MEBIBYTE:.0f} MiB",
    )


def rows(settings: Settings) -> Iterator[Row]:
    for work in WORKS:
        for table in settings.tables():
            yield _row(work, table, settings)


if __name__ == "__main__":
    stored, kind, side, n_trees, n_jobs = json.loads(sys.argv[1])
    print(measure_here(Path(stored), kind, side, Settings(Path(stored), 1, n_trees, n_jobs, None)))
