"""Command that measures every workload with a target against scikit-learn and prints one Markdown table.

python -m benchmarks                            # all subjects; about 15 minutes on two cores
python -m benchmarks fit predict --repeats 1
python -m benchmarks fit --trees 5 --rows 5000  # a quick trial with little statistical value

Ratios are computed within each repeat, so they depend less on the machine than absolute times. Messages are written
to standard error.
"""

import argparse
import platform
import sys
from pathlib import Path

import numpy as np
import sklearn

from benchmarks.data import data_folder
from benchmarks.report import HEADER
from benchmarks.settings import Settings
from benchmarks.speed import boosting, fit, losses, memory, predict, scaling, startup
from core import service_api

SUBJECTS = {
    "startup": startup.rows,
    "fit": fit.rows,
    "losses": losses.rows,
    "predict": predict.rows,
    "memory": memory.rows,
    "scaling": scaling.rows,
    "boosting": boosting.rows,
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"any of {', '.join(SUBJECTS)}; default: all")
    parser.add_argument(
        "--data", type=Path, help="folder of Parquet files; default: BRISTLECONE_DATA or ../shared/data"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100, help="trees per forest")
    parser.add_argument("--jobs", type=int, default=2, help="threads per fit")
    parser.add_argument("--rows", type=int, help="maximum number of training rows per table; default: all")
    arguments = parser.parse_args()
    for subject in arguments.subjects:
        if subject not in SUBJECTS:
            parser.error(f"{subject!r} is not a subject; choose from {', '.join(SUBJECTS)}")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    settings = Settings(data_folder(arguments.data), arguments.repeats, arguments.trees, arguments.jobs, arguments.rows)
    service_api.warm_up()
    print(
        f"scikit-learn {sklearn.__version__}, numpy {np.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()}; {settings.trees} trees, {settings.jobs} threads, at most {settings.repeats} repeats\n"
    )
    print(HEADER, flush=True)
    for subject in arguments.subjects or SUBJECTS:
        for row in SUBJECTS[subject](settings):
            print(row.markdown(), flush=True)
    print("done", file=sys.stderr)


if __name__ == "__main__":
    main()
