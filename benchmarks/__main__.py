"""Command that runs the benchmarks: ratios of speed and memory as one Markdown table, and programs with own tables.

python -m benchmarks                            # everything; most of a day on two cores, continues when repeated
python -m benchmarks --quick                    # everything on few rows, in minutes; the figures are not meaningful
python -m benchmarks speed                      # all ratios of speed and memory; about 15 minutes on two cores
python -m benchmarks fit predict --repeats 1
python -m benchmarks tree_losses comparison

Ratios are computed within each repeat, so they depend less on the machine than absolute times. Messages are written
to standard error.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import sklearn

from benchmarks import options
from benchmarks.data import DATA_VARIABLE, data_folder
from benchmarks.programs import PROGRAMS
from benchmarks.report import HEADER
from benchmarks.settings import Settings, skip
from benchmarks.speed import automatic, boosting, fit, losses, memory, other_forests, predict, scaling, startup
from core import service_api

#: Subjects of the table of ratios.
SUBJECTS = {
    "startup": startup.rows,
    "fit": fit.rows,
    "other_forests": other_forests.rows,
    "losses": losses.rows,
    "predict": predict.rows,
    "automatic": automatic.rows,
    "memory": memory.rows,
    "scaling": scaling.rows,
    "boosting": boosting.rows,
}
ALL_SUBJECTS = "speed"
QUICK = {"repeats": 1, "trees": 5, "rows": 2_000}


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = options.program_parser("benchmarks", __doc__)
    names = (*SUBJECTS, ALL_SUBJECTS, *PROGRAMS)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(names)}; default: all")
    parser.add_argument("--quick", action="store_true", help="few rows and repeats, to see that everything works")
    options.add_data(parser)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100, help="trees per forest")
    options.add_jobs(parser)
    parser.add_argument("--rows", type=int, help="maximum number of training rows per table; default: all")
    arguments = parser.parse_args(words)
    for name in arguments.names:
        if name not in names:
            parser.error(f"{name!r} is not a benchmark; choose from {', '.join(names)}")
    if arguments.quick:
        vars(arguments).update(QUICK)
    return arguments


def print_ratios(subjects: list[str], settings: Settings) -> None:
    """Print the table of ratios."""
    service_api.warm_up()
    print(
        f"scikit-learn {sklearn.__version__}, numpy {np.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()}; {settings.trees} trees, {settings.jobs} threads, at most {settings.repeats} repeats\n"
    )
    print(HEADER, flush=True)
    for subject in subjects:
        for row in SUBJECTS[subject](settings):
            print(row.markdown(), flush=True)


def run_program(name: str, is_quick: bool, folder: Path) -> None:
    """Run a program in a new process; quick runs write into a temporary folder. A failure is reported."""
    print(f"\n## {name}\n", flush=True)
    program = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as scratch:
        words = program.quick_words(Path(scratch)) if is_quick else list(program.words)
        command = [sys.executable, "-m", program.module, *words]
        done = subprocess.run(command, check=False, env=os.environ | {DATA_VARIABLE: str(folder)})
    if done.returncode:
        skip(name, f"it ended with exit code {done.returncode}")


def main() -> None:
    arguments = parse_arguments()
    folder = data_folder(arguments.data)
    names = arguments.names or [ALL_SUBJECTS, *PROGRAMS]
    subjects = list(SUBJECTS) if ALL_SUBJECTS in names else [name for name in SUBJECTS if name in names]
    if arguments.quick:
        print("Quick run on few rows: it shows that everything works. Its figures and verdicts mean nothing.\n")
    if subjects:
        print_ratios(subjects, Settings(folder, arguments.repeats, arguments.trees, arguments.jobs, arguments.rows))
    for name in PROGRAMS:
        if name in names:
            run_program(name, arguments.quick, folder)
    print("done", file=sys.stderr)


if __name__ == "__main__":
    main()
