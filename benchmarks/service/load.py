"""Load of a complete service: `python -m benchmarks.service.load [--clients N] [--seconds S]`.

Clients send a mixture of requests, each the next one as soon as it has its answer, to a service on SQLite and the Redis
that the service starts, and to one on PostgreSQL and Redis (`BRISTLECONE_TEST_POSTGRES_URL`, `--redis`). Every answer
counts: no status above 499 but 503 is allowed, and every 429 and 503 must say when to try again.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx
import numpy as np

from benchmarks import options
from benchmarks.data import CHECKOUT
from benchmarks.service.hostile_service import HostileService, Request
from tests.databases import fresh_database, postgresql_server

MAX_BYTES = 16 * 2**30
HEADER = (
    "| request | answers | a second | median, ms | 95 %, ms | 99 %, ms | statuses | without Retry-After |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |"
)
_FEATURES = [f"x{number}" for number in range(20)]


class Kind(NamedTuple):
    """Kind of request and its share among all. `path` and `document` may contain ids of the prepared service."""

    name: str
    share: float
    method: str
    path: str
    document: Any = None


@dataclass
class Seen:
    """Answers to one kind of request."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    without_retry_after: int = 0


def kinds(dataset_id: str, model_id: str, job_id: str) -> list[Kind]:
    row = dict.fromkeys(_FEATURES, 0.5)
    query = "&".join(f"{name}=0.5" for name in _FEATURES)
    training = {"name": "load", "dataset_id": dataset_id, "model": {"kind": "tree", "max_depth": 2}}
    return [
        Kind("GET /predict", 0.40, "GET", f"/predict?model=served&{query}"),
        Kind("POST /predict, 100 rows", 0.15, "POST", "/predict", {"model": "served", "rows": [row] * 100}),
        Kind("GET /jobs", 0.10, "GET", "/jobs"),
        Kind("GET /jobs/{id}", 0.10, "GET", f"/jobs/{job_id}"),
        Kind("GET /models/{id}", 0.10, "GET", f"/models/{model_id}"),
        Kind("GET /datasets", 0.05, "GET", "/datasets"),
        Kind("PATCH /models/{id}", 0.05, "PATCH", f"/models/{model_id}", {"description": "under load"}),
        Kind("POST /train", 0.05, "POST", "/train", training),
    ]


def prepared(service: HostileService) -> list[Kind]:
    """Train the model that is served, and return the kinds of requests to its service."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {name: rng.random(500).round(6).tolist() for name in _FEATURES}
    columns["y"] = rng.integers(0, 2, 500).tolist()
    request = {
        "name": "served",
        "data": {"columns": columns, "target": "y"},
        "model": {"kind": "forest", "n_estimators": 100},
    }
    job = service.document(Request.of_json("POST", "/train", request))
    state = service.wait_for_job(job["id"])
    if state != "succeeded":
        raise SystemExit(f"the job that trains the served model ended as {state}")
    model = service.document(Request("GET", "/models/served"))
    return kinds(model["dataset_id"], model["id"], job["id"])


async def loaded(url: str, mixture: list[Kind], n_clients: int, seconds: float) -> Mapping[str, Seen]:
    """Return the answers to all clients."""
    seen: dict[str, Seen] = defaultdict(Seen)
    ends = time.monotonic() + seconds
    limits = httpx.Limits(max_connections=n_clients)
    async with httpx.AsyncClient(base_url=url, timeout=120.0, limits=limits, trust_env=False) as http:
        await asyncio.gather(*(_client(http, mixture, seed, ends, seen) for seed in range(n_clients)))
    return seen


async def _client(http: httpx.AsyncClient, mixture: list[Kind], seed: int, ends: float, seen: dict[str, Seen]) -> None:
    rng = np.random.default_rng(seed)
    shares = [kind.share for kind in mixture]
    while time.monotonic() < ends:
        kind = mixture[rng.choice(len(mixture), p=shares)]
        began = time.monotonic()
        answer = await http.request(kind.method, kind.path, json=kind.document)
        counted = seen[kind.name]
        counted.seconds.append(time.monotonic() - began)
        counted.statuses[answer.status_code] += 1
        counted.without_retry_after += answer.status_code in (429, 503) and "retry-after" not in answer.headers


def row(name: str, counted: Seen, seconds: float) -> str:
    """Return the line of the table about one kind of request."""
    percentiles = np.percentile(1000 * np.array(counted.seconds), [50, 95, 99])
    times = " | ".join(f"{value:,.0f}" for value in percentiles)
    statuses = ", ".join(f"{number} × {status}" for status, number in sorted(counted.statuses.items()))
    rate = len(counted.seconds) / seconds
    return f"| {name} | {len(counted.seconds)} | {rate:.1f} | {times} | {statuses} | {counted.without_retry_after} |"


@contextmanager
def stacks(redis_url: str) -> Iterator[dict[str, dict[str, str]]]:
    """Yield the environment of a service on each stack; the database on PostgreSQL is new."""
    with postgresql_server() as server_url, fresh_database(server_url) as database_url:
        servers = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
        yield {"SQLite, own Redis": {}, "PostgreSQL, Redis": servers}


def main() -> None:
    parser = options.program_parser("benchmarks.service.load", __doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--redis", default="redis://127.0.0.1:6379/9", help="URL of a Redis database of its own")
    arguments = parser.parse_args()
    with stacks(arguments.redis) as environments:
        for name, changes in environments.items():
            print(f"\n{name}: {arguments.clients} clients for {arguments.seconds:g} s\n\n{HEADER}")
            with HostileService(CHECKOUT, MAX_BYTES, changes) as service:
                mixture = prepared(service)
                url = f"http://127.0.0.1:{service.port}"
                seen = asyncio.run(loaded(url, mixture, arguments.clients, arguments.seconds))
                for kind in mixture:
                    print(row(kind.name, seen[kind.name], arguments.seconds), flush=True)


if __name__ == "__main__":
    main()
