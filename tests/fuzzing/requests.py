"""Fuzzer of requests: `python -m tests.fuzzing.requests --cases 15000 --seed 1`.

Half of the cases come from schemathesis, with all of its checks, by the OpenAPI document, beside those with which it
covers each constraint of the document once. The others are requests that no client library sends
(`tests.fuzzing.hostile_requests`). All go to a real service. At the end it must be alive, without a traceback in its
log, and its memory must not have grown with the number of requests.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzzing.hostile_requests import HostileRequests, Target
from tests.service_process import RunningService

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
#: Covering each constraint of the document takes some ten thousand requests.
CASES_WITH_COVERAGE = 5_000
MEBIBYTE = 2**20
SETTINGS = {
    # The fuzzers are about requests, not about the work that some of them queue.
    "BRISTLECONE_MAX_QUEUED_JOBS": "20",
    # Requests that end too early are cases too, which should not take long, but longer than a busy client pauses.
    "BRISTLECONE_HEADER_SECONDS": "3",
    "BRISTLECONE_BODY_IDLE_SECONDS": "3",
}
#: More than the API holds on to after any request: compiled validators, threads, buffers of the allocator.
MOST_GROWTH_BYTES = 300 * MEBIBYTE
#: Requests after which everything that is made once has been made.
WARM_UP_CASES = 100


def run_schemathesis(service: RunningService, cases: int, seed: int) -> str:
    """Return the summary of a run with about so many cases, after which only requests with a key are answered.

    Raises AssertionError with the report if a check failed.
    """
    # Its checks include that no route can be used without a key, or with an invented one.
    n_cases = max(1, cases // n_operations(service))
    key = created_key(service)
    phases = "examples,coverage,fuzzing" if cases >= CASES_WITH_COVERAGE else "fuzzing"
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIGURATION), "run"),
        f"{service.url}/openapi.json",
        *("--checks", "all", "--phases", phases, "--continue-on-failure", "--no-color", "--seed", str(seed)),
        *("--max-examples", str(n_cases), "--header", f"Authorization: Bearer {key}"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": "tests.fuzzing.schemathesis_hooks"}
    run = subprocess.run(command, capture_output=True, text=True, cwd=service.home, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout.partition("Test cases:")[2]


def created_key(service: RunningService) -> str:
    """Return a new key that allows everything."""
    command = [sys.executable, "-m", "app.cli", "keys", "create", "--name", "fuzzer", "--scope", "admin"]
    created = subprocess.run(command, capture_output=True, text=True, env=service.environment, check=True)
    return created.stdout.strip()


def n_operations(service: RunningService) -> int:
    _, document = service.request("GET", "/openapi.json")
    return sum(len(operations) for operations in document["paths"].values())


def run_hostile(service: RunningService, first: int, last: int, seed: int) -> Counter[str]:
    """Send the cases with these numbers. Return how many answers had each status and code."""
    target = Target(service.port, *prepared(service))
    requests = HostileRequests(target, seed)
    with ThreadPoolExecutor(4) as pool:
        return Counter(pool.map(requests.check, range(first, last)))


def prepared(service: RunningService) -> tuple[str, str]:
    """Return the ids of a data set and of a model that requests refer to."""
    rows = [{"x": number % 7, "c": "abc"[number % 3], "y": ["no", "yes"][number % 2]} for number in range(60)]
    columns = {name: [row[name] for row in rows] for name in ("x", "c", "y")}
    body = {"name": "m", "data": {"columns": columns, "target": "y"}, "model": {"kind": "tree"}}
    status, job = service.request("POST", "/train", body)
    assert status == 202, job
    ended = service.wait_for_job(job["id"])
    assert ended["state"] == "succeeded", ended
    return str(job["request"]["dataset_id"]), str(ended["model_id"])


def api_bytes(service: RunningService) -> int:
    """Return the memory of the API process."""
    [api] = service.processes("app.cli api")
    return int(api.memory_info().rss)


def run(home: Path, cases: int, seed: int) -> Counter[str]:
    """Run all cases against a new service. Raises AssertionError for the first that shows a fault."""
    with RunningService(home, changes=SETTINGS) as service:
        outcomes = run_hostile(service, 0, WARM_UP_CASES, seed)
        before = api_bytes(service)
        outcomes += run_hostile(service, WARM_UP_CASES, max(cases // 2, WARM_UP_CASES), seed)
        summary = run_schemathesis(service, cases // 2, seed)
        grown = api_bytes(service) - before
        assert service.request("GET", "/healthz")[0] == 200
        print(f"schemathesis: {summary.strip()}")
        print(f"memory of the API: {before / MEBIBYTE:.0f} MiB, then {grown / MEBIBYTE:+.0f} MiB")
        assert grown < MOST_GROWTH_BYTES, f"the API grew by {grown / MEBIBYTE:.0f} MiB"
    assert "Traceback" not in service.log.read_text(), f"there is a traceback in {service.log}"
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=15_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.nice(5)
    home = Path(tempfile.mkdtemp(prefix="bristlecone-fuzzing-")) / "home"
    outcomes = run(home, options.cases, options.seed)
    for outcome, count in outcomes.most_common():
        print(f"{count:7} {outcome}")


if __name__ == "__main__":
    main()
