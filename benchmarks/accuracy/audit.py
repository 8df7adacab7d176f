"""Comparison of label audits with cleanlab on a scikit-learn random forest, as two Markdown tables.

python -m benchmarks.accuracy.audit                                # all; over an hour on two cores, mostly cleanlab's
python -m benchmarks.accuracy.audit --tables wdbc german_numer --repeats 10
python -m benchmarks.accuracy.audit --tables wdbc covertype --extra-trees
python -m benchmarks.accuracy.audit --tables label_errors_mnist_test label_errors_cifar10_test

Requires cleanlab, which is not a dependency of this project: run `pip install cleanlab`, or install it into a separate
folder and add that folder to PYTHONPATH.

The first table has one line per data set and noise model. Its values are means over repeats with new noise draws:
the average precision of ranking flipped labels by our quality score, by cleanlab's default score and by the best of its
built-in scores (selected with the true labels); cleanlab's processor time divided by ours, from features to scores; and
the mean absolute error of the transition matrix, ours and that of `cleanlab.count.estimate_latent`. For human label
errors, the true matrix contains the observed frequency of each label in each true class. cleanlab uses out-of-fold
probabilities of 100 trees in 5 stratified folds.
The second table shows audits of clean labels, where every issue is a false alarm.
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
from benchmarks import options
from benchmarks.data import CLEAN_TABLES, MissingData, data_folder, noise_specs, read, read_clean
from benchmarks.settings import skip

try:
    from cleanlab.count import compute_confident_joint, estimate_latent
    from cleanlab.rank import get_label_quality_scores
except ImportError:
    compute_confident_joint = None

HUMAN = "cifar10n_kmeans.train"
WITH_PROBABILITIES = ("label_errors_mnist_test", "label_errors_cifar10_test")
CLEAN = ("iris", "wine", "wdbc")
#: Values of `target_status` for rows whose published label is wrong or ambiguous.
_WRONG_STATUSES = (2, 3)
_NO_CLEANLAB = (
    "cleanlab is not installed (it is not a dependency of this project); run `pip install cleanlab`, or "
    "`pip install --target FOLDER cleanlab` and add FOLDER to PYTHONPATH."
)
_BUILT_IN: tuple[tuple[str, bool], ...] = (
    ("self_confidence", False),
    ("normalized_margin", False),
    ("confidence_weighted_entropy", False),
    ("self_confidence", True),
    ("normalized_margin", True),
)

#: Noise-estimation forest that is more accurate than the default one on some tables.
EXTRA_TREES = core.ExtraTreesClassifier(n_estimators=200, min_samples_leaf=5, bootstrap=True)

HEADER = (
    "| table | noise | precision: ours | cleanlab | cleanlab's best | speedup | matrix error: ours | cleanlab |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)
CLEAN_HEADER = "| clean table | rows | estimated wrong labels | issues in 3 audits |\n| --- | --- | --- | --- |"


class Case(NamedTuple):
    """Rows with noisy and true labels (row,) and the true transition matrix, or None if it is unknown."""

    X: NDArray[np.float32]
    labels: NDArray[np.int64]
    true_labels: NDArray[np.int64]
    transition: NDArray[np.float64] | None


class Result(NamedTuple):
    """Measurements of one repeat; precisions are in 0..1, NaN marks values that were not measured."""

    ours: float
    cleanlab: float
    cleanlab_best: float
    speedup: float
    our_error: float
    cleanlab_error: float


def precision(quality: NDArray[np.float64], wrong: NDArray[np.bool_]) -> float:
    return float(average_precision_score(wrong, -quality))


def cleanlab_precisions(
    labels: NDArray[np.int64], probabilities: NDArray[np.float64], wrong: NDArray[Any]
) -> list[float]:
    """Return the average precision of each built-in score, the default score first."""
    return [
        precision(get_label_quality_scores(labels, probabilities, method=method, adjust_pred_probs=adjusted), wrong)
        for method, adjusted in _BUILT_IN
    ]


def compare(case: Case, seed: int, arguments: argparse.Namespace) -> Result:
    jobs, estimator = arguments.jobs, EXTRA_TREES if arguments.extra_trees else None
    begin = time.process_time()
    audit = core.audit_labels(case.X, case.labels, estimator, random_state=seed, n_jobs=jobs)
    between = time.process_time()
    forest = RandomForestClassifier(n_jobs=jobs, random_state=seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    probabilities = cross_val_predict(forest, case.X, case.labels, cv=folds, method="predict_proba")
    get_label_quality_scores(case.labels, probabilities)
    _, noise, _ = estimate_latent(compute_confident_joint(case.labels, probabilities, calibrate=True), case.labels)
    speedup = (time.process_time() - between) / (between - begin)
    wrong = case.labels != case.true_labels
    theirs = cleanlab_precisions(case.labels, probabilities, wrong)
    true_transition = label_frequencies(case) if case.transition is None else case.transition
    errors = [float(np.abs(matrix - true_transition).mean()) for matrix in (audit.noise.transition.rows, noise.T)]
    return Result(precision(audit.issues.quality, wrong), theirs[0], max(theirs), speedup, *errors)


def label_frequencies(case: Case) -> NDArray[np.float64]:
    """Return the frequency of each label in each true class, (true class, label); rows sum to 1."""
    n_classes = int(case.true_labels.max()) + 1
    pairs = case.true_labels * n_classes + case.labels
    counts = np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)
    return counts / counts.sum(axis=1, keepdims=True)


def case_with_noise(folder: Path, name: str, noise: dict[str, Any], seed: int) -> Case:
    """Return a table with injected noise. Raises MissingData."""
    X, y = read_clean(folder, name)
    noisy = core.inject_noise(y, noise, X=X, random_state=seed)
    return Case(X, noisy.labels, y, noisy.transition.rows)


def case_with_human_errors(folder: Path, n_rows: int | None) -> Case:
    """Return images with one human annotation each. Raises MissingData."""
    X, labels = read(folder, HUMAN, "target_worse")
    true_labels = read(folder, HUMAN, "target_clean")[1]
    return Case(X[:n_rows], labels[:n_rows], true_labels[:n_rows], None)


def compare_human_checked(folder: Path, name: str) -> Result:
    """Rank human-checked labels by our quality and by cleanlab's scores, from stored probabilities of a neural network.

    Raises MissingData.
    """
    probabilities, labels = read(folder, name)
    wrong = np.isin(read(folder, name, "target_status")[1], _WRONG_STATUSES)
    theirs = cleanlab_precisions(labels, probabilities.astype(np.float64), wrong)
    ours = precision(core.rank_label_issues(probabilities, labels).quality, wrong)
    return Result(ours, theirs[0], max(theirs), *[float("nan")] * 3)


def line(name: str, noise: str, results: list[Result]) -> str:
    means = ["" if np.isnan(value) else f"{value:.4f}" for value in np.mean(results, axis=0)]
    speed = np.mean([result.speedup for result in results])
    means[3] = "" if np.isnan(speed) else f"{speed:.1f}"
    return f"| {name} | {noise} | {' | '.join(means)} |"


def cells(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str, Callable[[], list[Result]]]]:
    """Yield the table, the noise and the measurement of each line."""
    for name in arguments.tables:
        if name in WITH_PROBABILITIES:
            yield name, "real", partial(results_for_human_checked, folder, name)
        elif name == HUMAN:
            yield name, "human", lambda: [compare(case_with_human_errors(folder, arguments.rows), 0, arguments)]
        else:
            for noise in noise_specs(name):
                title = " ".join(map(str, noise.values()))
                yield name, title, partial(results_over_seeds, arguments, folder, name, noise)


def results_for_human_checked(folder: Path, name: str) -> list[Result]:
    return [compare_human_checked(folder, name)]


def results_over_seeds(arguments: argparse.Namespace, folder: Path, name: str, noise: dict[str, Any]) -> list[Result]:
    seeds = range(arguments.repeats)
    return [compare(case_with_noise(folder, name, noise, seed), seed, arguments) for seed in seeds]


def clean_line(folder: Path, name: str) -> str:
    X, y = read(folder, name)
    audits = [core.audit_labels(X, y, random_state=seed) for seed in range(3)]
    estimated = f"{audits[0].n_wrong:.1f} ± {audits[0].n_wrong_error:.1f}"
    return f"| {name} | {len(y)} | {estimated} | {', '.join(str(int(a.issues.is_issue.sum())) for a in audits)} |"


def parse_arguments() -> argparse.Namespace:
    parser = options.program_parser("benchmarks.accuracy.audit", __doc__)
    tables = [*CLEAN_TABLES, HUMAN, *WITH_PROBABILITIES]
    parser.add_argument("--tables", nargs="*", choices=tables, default=tables)
    options.add_data(parser)
    parser.add_argument("--repeats", type=int, default=1, help="number of noise draws")
    options.add_jobs(parser)
    parser.add_argument("--extra-trees", action="store_true", help="use extremely randomized trees for the audit")
    parser.add_argument("--rows", type=int, help=f"maximum number of rows of {HUMAN}; default: all")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    if compute_confident_joint is None:
        sys.exit(_NO_CLEANLAB)
    folder = data_folder(arguments.data)
    # Compile the kernels before anything is timed.
    core.audit_labels(np.eye(20, dtype=np.float32), np.arange(20) % 2, random_state=0)
    print(HEADER, flush=True)
    for name, noise, measure in cells(arguments, folder):
        try:
            print(line(name, noise, measure()), flush=True)
        except MissingData as error:
            skip(f"{name}, {noise}", error)
    print(f"\n{CLEAN_HEADER}", flush=True)
    for name in CLEAN:
        try:
            print(clean_line(folder, name), flush=True)
        except MissingData as error:
            skip(name, error)


if __name__ == "__main__":
    main()
