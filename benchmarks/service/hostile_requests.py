"""Command that sends small requests that could hurt to a service, and prints one Markdown table of what they did.

python -m benchmarks.service.hostile_requests                        # all cases; about ten minutes on two cores
python -m benchmarks.service.hostile_requests matrices nested
python -m benchmarks.service.hostile_requests --checkout ../before   # the service of another checkout

Each case has a service of its own, with a new home. Memory is the peak above that of the idle service, of the API and
of the worker, each with its child processes; the time of the health check is the longest one during a step. A case
whose service takes more than `--limit` GiB is stopped, so that it does not take all memory of the machine.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks import options
from benchmarks.data import CHECKOUT
from benchmarks.service.hostile_cases import CASES
from benchmarks.service.hostile_service import MEBIBYTE, Answer, HostileService, Measurement

HEADER = (
    "| request | answer | bytes of the answer | API, MiB above idle | worker, MiB above idle | seconds | "
    "longest health check, s |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |"
)


def row(title: str, measured: Measurement) -> str:
    """Return the line of the table about one step."""
    answered = "stopped" if measured.stopped else _outcomes(measured.answers)
    n_bytes = max((answer.n_bytes for answer in measured.answers), default=0)
    memory = (measured.api_bytes / MEBIBYTE, measured.worker_bytes / MEBIBYTE)
    cells = (f"{n_bytes:,}", *(f"{value:,.0f}" for value in memory), f"{measured.seconds:.1f}")
    return f"| {title} | {answered} | {' | '.join(cells)} | {measured.health_seconds:.2f} |"


def _outcomes(answers: Iterable[Answer]) -> str:
    counts = Counter(answer.outcome for answer in answers)
    return ", ".join(outcome if count == 1 else f"{count} × {outcome}" for outcome, count in counts.items())


def run(name: str, checkout: Path, max_bytes: int) -> None:
    """Print the lines of one case."""
    with HostileService(checkout, max_bytes) as service:
        for title, step in CASES[name](service):
            measured = service.measure(step)
            print(row(title, measured), flush=True)
            if measured.stopped:
                return


def main() -> None:
    parser = options.program_parser("benchmarks.service.hostile_requests", __doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"any of {', '.join(CASES)}; default: all")
    parser.add_argument("--checkout", type=Path, default=CHECKOUT, help="folder of the service; default: this one")
    parser.add_argument("--limit", type=float, default=6.0, help="GiB that a process may take; default: 6")
    arguments = parser.parse_args()
    if unknown := set(arguments.cases) - set(CASES):
        parser.error(f"{', '.join(sorted(unknown))}: not a case; choose from {', '.join(CASES)}")
    print(HEADER, flush=True)
    for name in arguments.cases or CASES:
        print(name, file=sys.stderr)
        run(name, arguments.checkout.resolve(), int(arguments.limit * 1024 * MEBIBYTE))


if __name__ == "__main__":
    main()
