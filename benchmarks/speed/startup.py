"""Startup times of a new process: the import, and the first fit compared with later fits (warm kernel cache)."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.data import CHECKOUT
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Settings

IMPORT_TARGET = Target(1.0, is_least=False, unit="s")
FIRST_FIT_TARGET = Target(0.5, is_least=False, unit="s")

OURS = ("core", "core.ForestClassifier(n_estimators=20, n_jobs=2, random_state=0)")
THEIRS = (
    "sklearn.ensemble",
    "sklearn.ensemble.RandomForestClassifier(n_estimators=20, n_jobs=2, random_state=0)",
)

# The data are created after the import is timed because they need numpy, whose import is part of it.
_PROBE = """
import time
begin = time.perf_counter()
import {module}
imported = time.perf_counter() - begin
import json, numpy
generator = numpy.random.default_rng(0)
X = generator.standard_normal((2000, 20), dtype=numpy.float32)
y = (X[:, :3].sum(axis=1) > 0).astype(int)
def fit():
    begin = time.perf_counter()
    {estimator}.fit(X, y)
    return time.perf_counter() - begin
print(json.dumps([imported] + [fit() for _ in range(6)]))
"""


def probe(module: str, estimator: str) -> tuple[float, float, float]:
    """Return the seconds of the import, the first fit and the median of five later fits in a new process."""
    script = _PROBE.format(module=module, estimator=estimator)
    command = [sys.executable, "-c", script]
    process = subprocess.run(command, check=True, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    imported, first, *later = json.loads(process.stdout)
    return imported, first, statistics.median(later)


def rows(settings: Settings) -> Iterator[Row]:
    probe(*OURS)  # fills the kernel cache if it is empty
    probe(*THEIRS)
    pairs = [(probe(*OURS), probe(*THEIRS)) for _ in range(settings.repeats)]
    ours, theirs = ([pair[side] for pair in pairs] for side in (0, 1))
    imports = [[imported for imported, _, _ in probes] for probes in (ours, theirs)]
    extra = [[first - later for _, first, later in probes] for probes in (ours, theirs)]
    yield Row("startup: import core", seconds(imports[0]), seconds(imports[1]), imports[0], IMPORT_TARGET)
    yield Row(
        "startup: first fit minus a later fit",
        seconds(extra[0]),
        seconds(extra[1]),
        extra[0],
        FIRST_FIT_TARGET,
        note=f"a later fit takes {seconds([later for _, _, later in ours])}",
    )
