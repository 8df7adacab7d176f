"""Effect of groups on a table with every row written three times, as a Markdown table.

python -m benchmarks.accuracy.groups                               # about a minute on two cores

A fifth of the labels of a table are changed; then every training row is written three times, with the same label. A
forest that is not told which rows are copies has seen the other copies of each row that it leaves out. "True" is the
accuracy on held-out rows with labels of the same noise, and the actual share of wrong training labels. "Found" is the
share of the wrong labels that the audit flags.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.settings import clean_tables

TABLES = ("optdigits", "wdbc", "vehicle", "german_numer")
COPIES = 3
HEADER = (
    "| table | accuracy: true | out of bag | with groups | wrong labels: true | audit | with groups "
    "| found | with groups |\n|" + " --- |" * 9
)


def line(name: str, X: NDArray[Any], y: NDArray[Any], jobs: int) -> str:
    noisy = core.inject_noise(y, {"kind": "uniform", "rate": 0.2}, random_state=0).labels
    train, test = core.split_holdout(y, 0.3, random_state=0)
    rows = np.repeat(train, COPIES)
    wrong = (noisy != y)[rows]
    scores, rates, found = [], [], []
    for groups in (None, rows):
        forest = core.ForestClassifier(oob_score=True, random_state=0, n_jobs=jobs).fit(
            X[rows], noisy[rows], None, groups
        )
        audit = core.audit_labels(X[rows], noisy[rows], random_state=0, n_jobs=jobs, groups=groups)
        scores.append(f"{forest.oob_score_:.3f}")
        rates.append(f"{audit.noise.noise_rate:.3f} ± {audit.noise.noise_rate_error:.3f}")
        found.append(f"{audit.issues.is_issue[wrong].mean():.0%}")
    true = np.mean(forest.predict(X[test]) == noisy[test])
    cells = [f"{true:.3f}", *scores, f"{wrong.mean():.3f}", *rates, *found]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = options.program_parser("benchmarks.accuracy.groups", __doc__)
    options.add_data(parser)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=TABLES)
    options.add_jobs(parser)
    arguments = parser.parse_args()
    print(HEADER, flush=True)
    for name, X, y in clean_tables(arguments.data, arguments.tables):
        print(line(name, X, y, arguments.jobs), flush=True)


if __name__ == "__main__":
    main()
