"""Time from `POST /jobs/{id}/cancel` to `cancelled`: `python -m benchmarks.service.cancel_latency [--repeats N]`.

Each job runs alone in a service of this checkout, and is cancelled at random moments of the phase that is named. The
kernels of a job are compiled beforehand, by a small job with the same model. The target is 2 s: renewals of the lease,
which bring the request to the worker, are a second apart.
"""

import io
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import options
from benchmarks.data import CHECKOUT
from benchmarks.service.hostile_service import HostileService, Request

MAX_BYTES = 16 * 2**30
TARGET_SECONDS = 2.0
_PATIENCE_SECONDS = 600.0
_POLL_SECONDS = 0.01
HEADER = "| job | phase | median | longest | target |\n" + "| --- " * 5 + "|"


class Case(NamedTuple):
    """Job that is cancelled while the name of its phase contains `phase`, up to so many seconds after it has begun."""

    name: str
    rows: str
    phase: str
    request: Mapping[str, Any]
    within_seconds: float = 3.0


CASES = [
    Case("forest of 20 trees", "many", "growing", {"model": {"kind": "forest", "n_estimators": 20}}),
    Case(
        "scores of a forest of 200 trees",
        "few",
        "scoring",
        {"model": {"kind": "forest", "n_estimators": 200}, "evaluation": {"kind": "holdout", "test_fraction": 0.5}},
        within_seconds=0.5,
    ),
    Case("exact-bins tree", "many", "growing", {"model": {"kind": "tree", "max_bins": None}}),
    Case(
        "adversarial injection",
        "many",
        "",
        {"model": {"kind": "tree"}, "noise": {"inject": {"kind": "adversarial", "rate": 0.1}}},
        within_seconds=20.0,
    ),
]
#: Rows and features of a table.
TABLES = {"small": (500, 50), "few": (200_000, 50), "many": (1_000_000, 50)}


def main() -> None:
    parser = options.program_parser("benchmarks.service.cancel_latency", __doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    moments = np.random.default_rng(0)
    with HostileService(CHECKOUT, MAX_BYTES) as service:
        datasets = {name: _uploaded(service, *size) for name, size in TABLES.items()}
        print(HEADER)
        for case in CASES:
            service.wait_for_job(_submitted(service, datasets["small"], case, 0))
            times = [_measured(service, datasets[case.rows], case, seed, moments) for seed in range(1, repeats + 1)]
            name = f"{case.name}, {TABLES[case.rows][0]:,} × {TABLES[case.rows][1]}"
            longest = max(times)
            kept = "met" if longest <= TARGET_SECONDS else "missed"
            print(
                f"| {name} | {case.phase or 'any'} | {np.median(times):.2f} s | {longest:.2f} s | {kept} |", flush=True
            )


def _uploaded(service: HostileService, n_rows: int, n_features: int) -> str:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n_features, n_rows)).astype(np.float32)
    labels = (values[0] + values[1] * values[2] + rng.normal(size=n_rows) > 0).astype(np.int8)
    table = pa.table({f"x{number}": column for number, column in enumerate(values)} | {"y": labels})
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=10_000)
    content_type = "application/vnd.apache.parquet"
    request = Request("POST", f"/datasets?target=y&name=t{n_rows}", out.getvalue(), content_type)
    return str(service.document(request)["id"])


def _submitted(service: HostileService, dataset_id: str, case: Case, seed: int) -> str:
    body = {"name": "cancelled", "dataset_id": dataset_id, "seed": seed, **case.request}
    return str(service.document(Request.of_json("POST", "/train", body))["id"])


def _measured(service: HostileService, dataset_id: str, case: Case, seed: int, moments: np.random.Generator) -> float:
    """Return the seconds from the request to cancel a new job to its end."""
    job_id = _submitted(service, dataset_id, case, seed)
    _wait_for_phase(service, job_id, case.phase)
    time.sleep(float(moments.uniform(0, case.within_seconds)))
    began = time.monotonic()
    service.document(Request("POST", f"/jobs/{job_id}/cancel"))
    while (state := _job(service, job_id)["state"]) == "cancelling":
        time.sleep(_POLL_SECONDS)
    if state != "cancelled":
        raise SystemExit(f"the job of {case.name!r} ended as {state!r}; its phase is too short to be cancelled in")
    return time.monotonic() - began


def _wait_for_phase(service: HostileService, job_id: str, phase: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        job = _job(service, job_id)
        current = (job["progress"] or {}).get("phase") or ""
        if job["state"] == "running" and current not in ("", "loading", "compiling") and phase in current:
            return
        if job["state"] not in ("queued", "running"):
            raise SystemExit(f"the job ended as {job['state']!r} before its phase {phase!r}: {job['error']}")
        time.sleep(0.05)
    raise SystemExit(f"the phase {phase!r} did not begin")


def _job(service: HostileService, job_id: str) -> Any:
    return service.document(Request("GET", f"/jobs/{job_id}"))


if __name__ == "__main__":
    main()
