"""Peak memory of fits, each measured in a new process.

The measurement is the highest resident size during the fit minus the resident size just before it, when the table is
loaded, the libraries are imported and the kernels are compiled. On Linux the high-water mark is reset before the fit
and read from /proc, because ru_maxrss also includes loading the table and the parent process. Other systems use
ru_maxrss, which can only overestimate.

scikit-learn works on float32: it uses float32 tables in place and copies float64 tables, the default of numpy. Our
estimators use both in place. The report therefore contains both types.
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

from benchmarks.data import CHECKOUT, Table
from benchmarks.report import Row, Target
from benchmarks.settings import Settings
from benchmarks.speed.contenders import forests, minimax_boosters, trees, warm_up

TARGET = Target(1.0, 0.5, is_least=False)
PAIRS = {"forest": forests, "tree": trees, "rmboost": minimax_boosters}


class Workload(NamedTuple):
    """Estimator and the type and noise of its training table."""

    kind: str
    noise: float = 0.0  # rate
    width: str = "float32"

    def title(self, table: str) -> str:
        noise = f", {self.noise:.0%} noise".replace("%", " %") if self.noise else ""
        return f"peak memory: {self.kind}, gini{noise}, {table}, {self.width} input"


WORKLOADS = (
    Workload("forest"),
    Workload("forest", noise=0.4),
    Workload("forest", width="float64"),
    Workload("tree"),
    Workload("tree", width="float64"),
)
_MEBIBYTE = 2**20
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _reset_peak() -> bool:
    """Reset the high-water mark to the current size; return False if the system does not support it."""
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
    """Return the additional bytes that a fit of the stored table needs in this process."""
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    make = getattr(PAIRS[kind](settings, "gini"), side)
    warm_up(make, Table("stored", X, y, X[:10], y[:10]))
    estimator = make()
    was_reset = _reset_peak()
    before = psutil.Process().memory_info().rss
    estimator.fit(X, y)
    return _peak_bytes(was_reset) - before


def peak_memory(folder: Path, kind: str, side: str, settings: Settings) -> int:
    """Return the additional bytes that a fit of the stored table needs, measured in a new process."""
    arguments = json.dumps([str(folder), kind, side, settings.trees, settings.jobs])
    command = [sys.executable, "-m", "benchmarks.speed.memory", arguments]
    process = subprocess.run(command, check=True, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    return int(process.stdout)


def _row(workload: Workload, table: Table, settings: Settings) -> Row:
    X = table.X.astype(workload.width, copy=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", table.with_noise(workload.noise).y)
        ours, theirs = (peak_memory(folder, workload.kind, side, settings) for side in ("ours", "theirs"))
    return Row(
        workload.title(table.name),
        f"{ours / _MEBIBYTE:.0f} MiB",
        f"{theirs / _MEBIBYTE:.0f} MiB",
        [ours / theirs],
        TARGET,
        note=f"size of the table: {X.nbytes / _MEBIBYTE:.0f} MiB",
    )


def rows(settings: Settings) -> Iterator[Row]:
    for workload in WORKLOADS:
        for table in settings.tables():
            yield _row(workload, table, settings)


if __name__ == "__main__":
    stored, kind, side, n_trees, n_jobs = json.loads(sys.argv[1])
    print(measure_here(Path(stored), kind, side, Settings(Path(stored), 1, n_trees, n_jobs, None)))
