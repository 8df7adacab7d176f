"""Compilation that a first job waits for: `python -m benchmarks.service.first_jobs [NAME …]`.

For each model, a copy of this checkout without compiled code is started, and one job is sent as soon as the service
takes jobs. Its phases tell how long it waits for compilation; what the worker and its background process compile before
is not part of it, and competes for the processors as on any first start. The target is 10 s.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import options
from benchmarks.data import CHECKOUT
from benchmarks.service.hostile_service import HostileService, Request

TARGET_SECONDS = 10.0
MAX_BYTES = 16 * 2**30
HEADER = "| first job | start of the service | compiling | whole job | target |\n" + "| --- " * 5 + "|"
PACKAGES = ("app", "core", "workers", "migrations")
_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 300.0

#: Models of POST /train by the name of the row; "categories" has a categorical feature.
MODELS: dict[str, Mapping[str, Any] | None] = {
    "auto (default)": None,
    "forest": {"kind": "forest"},
    "adaptive_ne": {"kind": "forest", "loss": "adaptive_ne"},
    "gce": {"kind": "forest", "loss": "gce"},
    "rmboost": {"kind": "rmboost", "n_rounds": 20},
    "categories": {"kind": "forest"},
    "auto, categories": None,
    "adaptive_ne, categories": {"kind": "forest", "loss": "adaptive_ne"},
}


class FirstJob(NamedTuple):
    """Seconds of a first job. start: until the service was ready for it. compiling: as its phases tell."""

    start: float
    compiling: float
    whole: float


def main() -> None:
    parser = options.program_parser("benchmarks.service.first_jobs", __doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(MODELS)}; default: all")
    names = parser.parse_args().names or list(MODELS)
    print(HEADER)
    for name in names:
        job = first_job(MODELS[name], with_categories="categories" in name)
        kept = "met" if job.compiling <= TARGET_SECONDS else "missed"
        print(f"| {name} | {job.start:.1f} s | {job.compiling:.1f} s | {job.whole:.1f} s | {kept} |", flush=True)


def first_job(model: Mapping[str, Any] | None, with_categories: bool) -> FirstJob:
    """Return the times of a job of a service that has compiled nothing before its start."""
    with tempfile.TemporaryDirectory(prefix="first-jobs-") as folder:
        checkout = copy_without_compiled_code(Path(folder))
        began = time.monotonic()
        with HostileService(checkout, MAX_BYTES, {"BRISTLECONE_COMPILE_AHEAD": "true"}) as service:
            ready = time.monotonic()
            upload = Request("POST", "/datasets?target=y", small_table(with_categories), "text/csv")
            request = {"dataset_id": service.document(upload)["id"], **({} if model is None else {"model": model})}
            job_id = service.document(Request.of_json("POST", "/train", request))["id"]
            compiling = sum(time_in_phase for phase, time_in_phase in phases(service, job_id) if "compiling" in phase)
            return FirstJob(ready - began, compiling, time.monotonic() - ready)


def copy_without_compiled_code(folder: Path) -> Path:
    """Return a copy of the packages of this checkout."""
    for package in PACKAGES:
        shutil.copytree(CHECKOUT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def small_table(with_categories: bool, n_rows: int = 300) -> bytes:
    """Return a CSV file with few rows, whose fits take far less time than their compilation."""
    rng = np.random.default_rng(0)
    colors = rng.choice(["red", "green", "blue"], n_rows) if with_categories else rng.random(n_rows)
    rows = zip(rng.random((n_rows, 2)), colors, rng.choice(["yes", "no"], n_rows), strict=True)
    return "".join(["a,b,c,y\n", *(f"{x[0]},{x[1]},{color},{label}\n" for x, color, label in rows)]).encode()


def phases(service: HostileService, job_id: str) -> Iterator[tuple[str, float]]:
    """Yield the phases of a job, as short pieces, with their seconds. Raises SystemExit if it does not succeed."""
    deadline, before = time.monotonic() + _PATIENCE_SECONDS, time.monotonic()
    while (now := time.monotonic()) < deadline:
        job = service.document(Request("GET", f"/jobs/{job_id}"))
        yield str(job["progress"]["phase"]), now - before
        before = now
        if job["state"] == "succeeded":
            return
        if job["state"] in ("failed", "cancelled"):
            raise SystemExit(f"the job ended as {job['state']}: {job}")
        time.sleep(_POLL_SECONDS)
    raise SystemExit(f"the job did not end within {_PATIENCE_SECONDS:.0f} s")


if __name__ == "__main__":
    main()
