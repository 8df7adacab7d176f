"""Large requests for jobs, many at once, are no burden for the memory of the service."""

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.service_process import RunningService
from tests.service_watch import MAX_GROWTH_BYTES, Watch

NUMBERS = b",".join([b"0.123456789"] * 400_000)
COLUMNS = b'{"data": {"target": "y", "columns": {"x": [%b], "y": [1]}}, "model": {"kind": "tree"}}' % NUMBERS
ROW = b"[%b]" % b",".join([b"0.0010000000000000"] * 1_000)
NOISE = b'{"inject": {"kind": "matrix", "transition": [%b]}}' % b",".join([ROW] * 1_000)
UNKNOWN = b'"dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11"'
MATRIX = b'{%b, "model": {"kind": "tree"}, "noise": %b}' % (UNKNOWN, NOISE)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory that processes share is known on Linux only")
def test_memory_stays_bounded(tmp_path: Path) -> None:
    with RunningService(tmp_path / "home") as service:
        for body, n_requests, refusal in ((COLUMNS, 20, "unequal_columns"), (MATRIX, 8, "dataset_not_found")):
            with Watch(service) as watch, ThreadPoolExecutor(n_requests) as threads:
                codes = Counter(threads.map(_code, [service] * n_requests, [body] * n_requests))
            print(f"{n_requests} bodies of {len(body)} bytes: {dict(codes)}, {watch}")  # noqa: T201
            assert set(codes) <= {refusal, "memory_busy"}
            assert codes[refusal] > 0
            assert watch.growth_bytes < MAX_GROWTH_BYTES
            assert watch.n_unanswered == 0


def _code(service: RunningService, body: bytes) -> str:
    return str(service.request("POST", "/train", body, {"Content-Type": "application/json"})[1]["code"])
