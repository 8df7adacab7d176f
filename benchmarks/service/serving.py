"""Requests per second of the service beside those of a bare FastAPI application, measured by wrk in turns.

python -m benchmarks.service.serving                                  # about two minutes
python -m benchmarks.service.serving --checkout ../other --repeats 1  # another version of the service
python -m benchmarks.service.serving --loop asyncio --http h11        # another event loop or parser of the bare one

The service runs as `bristlecone serve` does, with one API process. The bare application runs on plain uvicorn without
an access log. `GET /predict` asks a forest of 100 trees for one row of 20 features, in turn for 500 different rows.
The share of a repeat is the rate over that of the bare asynchronous route in the same repeat. The p99 is that at half
of the rate of the same route and repeat. The processor time of the server for one request depends less on what else
the machine does.
"""

import argparse
import contextlib
import importlib.util
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks import options
from benchmarks.data import CHECKOUT
from benchmarks.service.hostile_service import MEBIBYTE, HostileService, Request
from benchmarks.service.wrk import HOW_TO_GET, Load, full_load, is_installed, partial_load

N_FEATURES, N_TREES, N_TRAINING_ROWS = 20, 100, 2000
N_DIFFERENT_ROWS = 500
BARE = "bare, async route"
SHARE_TARGET, P99_TARGET = 0.5, 4.0
_HEADER = (
    "| route | requests/s | share of the bare async route: min – median – max | processor time, µs | "
    "p99 at half load, ms | p99 over that of the bare async route |\n| --- | --- | --- | --- | --- | --- |"
)


@dataclass
class Route:
    """Route under load, and its results, one per repeat."""

    name: str
    port: int
    paths: Sequence[str]
    full: list[Load] = field(default_factory=list)
    half: list[Load] = field(default_factory=list)
    #: Seconds of the processor for one request.
    processor: list[float] = field(default_factory=list)

    def warm_up(self) -> None:
        full_load(f"http://127.0.0.1:{self.port}", self.paths, 1)

    def measure(self, seconds: int) -> None:
        url, servers = f"http://127.0.0.1:{self.port}", _listening(self.port)
        before = _processor_seconds(servers)
        load = full_load(url, self.paths, seconds)
        self.processor.append((_processor_seconds(servers) - before) / (load.requests_per_second * seconds))
        self.full.append(load)
        self.half.append(partial_load(url, self.paths, seconds, load.requests_per_second / 2))


def _listening(port: int) -> list[psutil.Process]:
    """Return the processes that accept connections at a port."""
    addresses = psutil.net_connections("tcp")
    pids = {one.pid for one in addresses if one.status == psutil.CONN_LISTEN and one.laddr[1:] == (port,)}
    return [psutil.Process(pid) for pid in pids if pid]


def _processor_seconds(processes: Sequence[psutil.Process]) -> float:
    times = [process.cpu_times() for process in processes]
    return sum(time.user + time.system for time in times)


def parse_arguments() -> argparse.Namespace:
    parser = options.program_parser("benchmarks.service.serving", __doc__)
    parser.add_argument("--checkout", type=Path, default=CHECKOUT, help="version of the service; default: this one")
    parser.add_argument("--seconds", type=int, default=4, help="length of each run of wrk")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--loop", default="auto", help="event loop of the bare application: auto, asyncio or uvloop")
    parser.add_argument("--http", default="auto", help="parser of the bare application: auto, h11 or httptools")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    if not is_installed():
        print(f"skipped: {HOW_TO_GET}")
        return
    with HostileService(arguments.checkout.resolve(), 64 * 1024 * MEBIBYTE) as service, _bare(arguments) as bare:
        routes = [*_bare_routes(bare), *_service_routes(service)]
        for route in routes:
            route.warm_up()
        for _ in range(arguments.repeats):
            for route in routes:
                route.measure(arguments.seconds)
        _print_table(routes, arguments)


@contextlib.contextmanager
def _bare(arguments: argparse.Namespace) -> Iterator[int]:
    """Run the bare application and yield its port."""
    port = HostileService(CHECKOUT, 0).port
    command = [sys.executable, "-m", "uvicorn", "benchmarks.service.bare_app:app", "--port", str(port)]
    command += ["--loop", arguments.loop, "--http", arguments.http, "--no-access-log", "--log-level", "warning"]
    process = subprocess.Popen(command, cwd=CHECKOUT)
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


def _bare_routes(port: int) -> list[Route]:
    return [Route(BARE, port, ["/async"]), Route("bare, sync route", port, ["/sync"])]


def _service_routes(service: HostileService) -> list[Route]:
    _train_forest(service)
    return [
        Route("GET /healthz", service.port, ["/healthz"]),
        Route("GET /predict", service.port, _predictions()),
    ]


def _train_forest(service: HostileService) -> None:
    X = np.random.default_rng(0).normal(size=(N_TRAINING_ROWS, N_FEATURES))
    columns: dict[str, Any] = {f"x{j}": X[:, j].tolist() for j in range(N_FEATURES)}
    columns["y"] = np.where(X[:, :3].sum(axis=1) > 0, "good", "bad").tolist()
    body = {
        "name": "speed",
        "data": {"columns": columns, "target": "y"},
        "model": {"kind": "forest", "n_estimators": N_TREES},
        "seed": 0,
    }
    job = service.document(Request.of_json("POST", "/train", body))
    if (state := service.wait_for_job(job["id"])) != "succeeded":
        raise SystemExit(f"the job that trains the forest is {state}")


def _predictions() -> list[str]:
    rows = np.random.default_rng(1).normal(size=(N_DIFFERENT_ROWS, N_FEATURES))
    return ["/predict?model=speed&" + "&".join(f"x{j}={value:.4f}" for j, value in enumerate(row)) for row in rows]


def _print_table(routes: Sequence[Route], arguments: argparse.Namespace) -> None:
    bare = routes[0]
    print(
        f"The bare application uses {_resolved(arguments)}. {arguments.repeats} repeats of {arguments.seconds:g} s.\n"
    )
    print(_HEADER)
    for route in routes:
        rates = [load.requests_per_second for load in route.full]
        slowest = [load.p99_seconds for load in route.half]
        shares = [rate / other.requests_per_second for rate, other in zip(rates, bare.full, strict=True)]
        ratios = [p99 / other.p99_seconds for p99, other in zip(slowest, bare.half, strict=True)]
        p99, processor = 1000 * statistics.median(slowest), 1e6 * statistics.median(route.processor)
        cells = (route.name, f"{statistics.median(rates):,.0f}", _spread(shares), f"{processor:.0f}", f"{p99:.2f}")
        print(f"| {' | '.join(cells)} | {_spread(ratios)} |")
    print(f"\nTargets of GET /predict: a share of at least {SHARE_TARGET}, and a p99 ratio below {P99_TARGET:g}.")


def _resolved(arguments: argparse.Namespace) -> str:
    """Return the loop and parser that uvicorn takes."""
    defaults = {"loop": ("uvloop", "asyncio"), "http": ("httptools", "h11")}
    chosen = []
    for option, (preferred, other) in defaults.items():
        is_there = importlib.util.find_spec(preferred) is not None
        given = getattr(arguments, option)
        chosen.append((preferred if is_there else other) if given == "auto" else given)
    return f"the event loop {chosen[0]} and the parser {chosen[1]}"


def _spread(values: Sequence[float]) -> str:
    return " – ".join(f"{value:.2f}" for value in (min(values), statistics.median(values), max(values)))


if __name__ == "__main__":
    main()
