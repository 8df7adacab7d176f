"""Finding wrong labels beside cleanlab with a random forest of scikit-learn, as two Markdown tables.

python -m benchmarks.audit                                # all; an hour or more on two cores, most of it theirs
python -m benchmarks.audit --tables wdbc german_numer --repeats 10
python -m benchmarks.audit --tables wdbc covertype --extra-trees
python -m benchmarks.audit --tables label_errors_mnist_test label_errors_cifar10_test

Needs cleanlab, which is no requirement of this project: `pip install cleanlab` into the environment, or into a folder
of its own that PYTHONPATH names.

First table, one line for each table and kind of noise, means over repeats with other noise: average precision of the
rows whose label was flipped, by our quality, by cleanlab's default score and by the best of its built-in scores, chosen
with the truth known; their processor time over ours, from features to scores; and the mean absolute error of the
transition matrix, ours and that of `cleanlab.count.estimate_latent`. Where humans made the errors, the true matrix is
the share of each given label in each true class. Theirs are out-of-fold probabilities of 100 trees in 5 stratified
folds.
Second table: what an audit of clean labels says, of which every issue is a false alarm.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import core
from benchmarks.data import TO_FLIP, NoData, data_folder, noises_of, read, to_flip
from benchmarks.settings import skip

try:
    from cleanlab.count import compute_confident_joint, estimate_latent
    from cleanlab.rank import get_label_quality_scores
except ImportError:
    sys.exit(
        "cleanlab is not installed, and no requirement of this project: run `pip install cleanlab`, or "
        "`pip install --target FOLDER cleanlab` and put FOLDER on PYTHONPATH."
    )

HUMAN = "cifar10n_kmeans.train"
WITH_PROBABILITIES = ("label_errors_mnist_test", "label_errors_cifar10_test")
CLEAN = ("iris", "wine", "wdbc")
#: Statuses of a row whose published label is wrong, or unclear.
_WRONG_STATUSES = (2, 3)
_BUILT_IN: tuple[tuple[str, bool], ...] = (
    ("self_confidence", False),
    ("normalized_margin", False),
    ("confidence_weighted_entropy", False),
    ("self_confidence", True),
    ("normalized_margin", True),
)

#: Judges that some tables suit better than the usual forest.
EXTRA_TREES = core.ExtraTreesClassifier(n_estimators=200, min_samples_leaf=5, bootstrap=True)

HEADER = (
    "| table | noise | precision: ours | cleanlab | its best | times as fast | matrix error: ours | cleanlab |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)
CLEAN_HEADER = "| clean table | rows | estimated wrong | issues, of 3 audits |\n| --- | --- | --- | --- |"


class Case(NamedTuple):
    """Labels of which some are wrong, both (row,), and the matrix they were drawn from, None where nobody knows."""

    X: NDArray[np.float32]
    given: NDArray[np.int64]
    true: NDArray[np.int64]
    transition: NDArray[np.float64] | None


class Result(NamedTuple):
    """One repeat; precisions in 0..1, NaN where something was not measured."""

    ours: float
    cleanlab: float
    cleanlab_best: float
    speedup: float
    our_error: float
    cleanlab_error: float


def precision(quality: NDArray[np.float64], wrong: NDArray[np.bool_]) -> float:
    return float(average_precision_score(wrong, -quality))


def cleanlab_precisions(
    given: NDArray[np.int64], probabilities: NDArray[np.float64], wrong: NDArray[Any]
) -> list[float]:
    """Of the built-in scores, the default one first."""
    return [
        precision(get_label_quality_scores(given, probabilities, method=method, adjust_pred_probs=adjusted), wrong)
        for method, adjusted in _BUILT_IN
    ]


def compared(case: Case, seed: int, arguments: argparse.Namespace) -> Result:
    jobs, judges = arguments.jobs, EXTRA_TREES if arguments.extra_trees else None
    begin = time.process_time()
    audit = core.audit_labels(case.X, case.given, judges, random_state=seed, n_jobs=jobs)
    between = time.process_time()
    forest = RandomForestClassifier(n_jobs=jobs, random_state=seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    probabilities = cross_val_predict(forest, case.X, case.given, cv=folds, method="predict_proba")
    get_label_quality_scores(case.given, probabilities)
    _, noise, _ = estimate_latent(compute_confident_joint(case.given, probabilities, calibrate=True), case.given)
    speedup = (time.process_time() - between) / (between - begin)
    wrong = case.given != case.true
    theirs = cleanlab_precisions(case.given, probabilities, wrong)
    truth = shares(case) if case.transition is None else case.transition
    errors = [float(np.abs(matrix - truth).mean()) for matrix in (audit.noise.transition.rows, noise.T)]
    return Result(precision(audit.issues.quality, wrong), theirs[0], max(theirs), speedup, *errors)


def shares(case: Case) -> NDArray[np.float64]:
    """(true, given) class; rows sum to 1."""
    n_classes = int(case.true.max()) + 1
    counts = np.bincount(case.true * n_classes + case.given, minlength=n_classes**2).reshape(n_classes, n_classes)
    return counts / counts.sum(axis=1, keepdims=True)


def flipped(folder: Path, name: str, noise: dict[str, Any], seed: int) -> Case:
    """A table with injected noise. Raises NoData."""
    X, y = to_flip(folder, name)
    noisy = core.inject_noise(y, noise, X=X, random_state=seed)
    return Case(X, noisy.labels, y, noisy.transition.rows)


def human(folder: Path, n_rows: int | None) -> Case:
    """Real errors of one human a picture. Raises NoData."""
    X, given = read(folder, HUMAN, "target_worse")
    true = read(folder, HUMAN, "target_clean")[1]
    return Case(X[:n_rows], given[:n_rows], true[:n_rows], None)


def checked_by_humans(folder: Path, name: str) -> Result:
    """Probabilities of a network instead of features; people said which labels are wrong. Raises NoData."""
    probabilities, given = read(folder, name)
    wrong = np.isin(read(folder, name, "target_status")[1], _WRONG_STATUSES)
    theirs = cleanlab_precisions(given, probabilities.astype(np.float64), wrong)
    ours = precision(core.rank_label_issues(probabilities, given).quality, wrong)
    return Result(ours, theirs[0], max(theirs), *[float("nan")] * 3)


def line(name: str, noise: str, results: list[Result]) -> str:
    means = ["" if np.isnan(value) else f"{value:.4f}" for value in np.mean(results, axis=0)]
    speed = np.mean([result.speedup for result in results])
    means[3] = "" if np.isnan(speed) else f"{speed:.1f}"
    return f"| {name} | {noise} | {' | '.join(means)} |"


def cells(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str, Callable[[], list[Result]]]]:
    """Table, noise, and how to measure."""
    for name in arguments.tables:
        if name in WITH_PROBABILITIES:
            yield name, "real", partial(results_by_humans, folder, name)
        elif name == HUMAN:
            yield name, "human", lambda: [compared(human(folder, arguments.rows), 0, arguments)]
        else:
            for noise in noises_of(name):
                shown = " ".join(map(str, noise.values()))
                yield name, shown, partial(results_over_seeds, arguments, folder, name, noise)


def results_by_humans(folder: Path, name: str) -> list[Result]:
    return [checked_by_humans(folder, name)]


def results_over_seeds(arguments: argparse.Namespace, folder: Path, name: str, noise: dict[str, Any]) -> list[Result]:
    seeds = range(arguments.repeats)
    return [compared(flipped(folder, name, noise, seed), seed, arguments) for seed in seeds]


def clean_line(folder: Path, name: str) -> str:
    X, y = read(folder, name)
    audits = [core.audit_labels(X, y, random_state=seed) for seed in range(3)]
    estimated = f"{audits[0].n_wrong:.1f} ± {audits[0].n_wrong_error:.1f}"
    return f"| {name} | {len(y)} | {estimated} | {', '.join(str(int(a.issues.is_issue.sum())) for a in audits)} |"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.audit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = [*TO_FLIP, HUMAN, *WITH_PROBABILITIES]
    parser.add_argument("--tables", nargs="*", choices=every, default=every)
    parser.add_argument("--data", type=Path, help="folder of Parquet files; ../shared/data beside the checkout if not")
    parser.add_argument("--repeats", type=int, default=1, help="draws of the noise")
    parser.add_argument("--jobs", type=int, default=2, help="threads of a fit")
    parser.add_argument("--extra-trees", action="store_true", help="audit by extremely randomised trees")
    parser.add_argument("--rows", type=int, help=f"of {HUMAN}; all unless given")
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    folder = data_folder(arguments.data)
    # Compiles the kernels outside the times.
    core.audit_labels(np.eye(20, dtype=np.float32), np.arange(20) % 2, random_state=0)
    print(HEADER, flush=True)
    for name, noise, measure in cells(arguments, folder):
        try:
            print(line(name, noise, measure()), flush=True)
        except NoData as why:
            skip(f"{name}, {noise}", why)
    print(f"\n{CLEAN_HEADER}", flush=True)
    for name in CLEAN:
        try:
            print(clean_line(folder, name), flush=True)
        except NoData as why:
            skip(name, why)


if __name__ == "__main__":
    main()
