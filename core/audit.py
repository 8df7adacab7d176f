"""An audit of labels: how many are probably wrong, which, what they should be, and which classes are confused."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.classifier_contract import ClassifierContract
from core.exceptions import InvalidInput, InvalidParameter
from core.forests.forest import ForestClassifier, GrownForest
from core.forests.noise_estimation_forest import JUDGES, ROWS_A_LEAF, too_few_to_judge
from core.holdout import SeededSplit, split_folds
from core.monitoring import FitMonitor, fold_prefix, step_monitor
from core.noise.estimation import TransitionEstimate, fit_noise
from core.noise.given_probabilities import given_probabilities
from core.noise.label_issues import LabelIssues, issues_under
from core.randomness import Seed
from core.registry import AnyClassifier
from core.validation.training_data import EncodedLabels, class_codes, encode_labels, label_column

#: Of the forest that audits unless another estimator is given.
DEFAULT_AUDIT_PARAMETERS: dict[str, Any] = {"n_estimators": JUDGES, "min_samples_leaf": ROWS_A_LEAF}
#: Noise is told from votes, and weights tilt them: every label of a class that weighs nothing would look wrong.
CLASS_WEIGHT_NOT_SUPPORTED = "an audit asks which labels are right as they are, and counts every row once: leave it out"
_USUAL_FOLDS = 5
_JUDGING = "judging"  # the phase after the fits


class ConfusedPair(NamedTuple):
    """Rows whose label should probably be `clean` and is `given`, of all rows."""

    clean: Any
    given: Any
    n_rows: float
    n_rows_error: float


class LabelAudit(NamedTuple):
    """Standard errors are those of `TransitionEstimate`."""

    classes: NDArray[Any]  # (class,), the order of all arrays over classes
    n_wrong: float  # how many labels are probably wrong: the noise rate times the rows
    n_wrong_error: float
    n_judged: int  # rows that have a verdict; the others are taken to be wrong as often
    issues: LabelIssues
    noise: TransitionEstimate
    confused: tuple[ConfusedPair, ...]  # one expected row or more, most rows first
    given_counts: NDArray[np.int64]  # (class,), rows by given label
    issue_counts: NDArray[np.int64]  # (class,), issues by given label
    probabilities: NDArray[np.float64]  # (row, class), out of sample; NaN for a row that has none
    method: str  # "out_of_bag" or "folds"


def audit_labels(
    X: Any,
    y: Any,
    estimator: ClassifierContract | None = None,
    folds: int | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
    monitor: FitMonitor | None = None,
) -> LabelAudit:
    """Judge the labels y (row,) of X (row, feature) by what models say of rows whose labels they did not see.

    `estimator` is a classifier of this library, of which a copy is fitted; a forest of 200 trees with at least five
    rows a leaf if none is given. Forests with bootstrap judge by out-of-bag votes; other classifiers, and all when
    `folds` is given, by `folds` stratified parts (5), each judged by a model of the others. `random_state` and `n_jobs`
    replace the estimator's own unless None. `monitor` hears of every fit, as `audit_phases` says. The same seed gives
    the same audit for any `n_jobs`. Raises InvalidInput, of fewer than 20 rows or 3 a class too, InvalidParameter, of
    `class_weight` too, and FitStopped.
    """
    labels = encode_labels(label_column(y))
    model = _prepared(estimator, random_state, n_jobs)
    if reason := too_few_to_judge(len(labels.codes), len(labels.classes)):
        raise InvalidInput(f"{reason}: audit more rows.")
    if folds is None and _leaves_rows_out(model):
        probabilities, method = _out_of_bag(model, X, y, monitor), "out_of_bag"
    else:
        n_folds = _checked_folds(_USUAL_FOLDS if folds is None else folds, len(labels.codes))
        parts = split_folds(labels.codes, n_folds, random_state)
        probabilities, method = _by_folds(model, X, labels, parts, monitor), "folds"
    if monitor is not None:
        monitor.begin(_JUDGING, 1, "tables")
    given = given_probabilities(probabilities, labels.classes[labels.codes], labels.classes)
    noise = fit_noise(given, monitor.stop_flag if monitor is not None else None)
    issues, n_rows, n_judged = issues_under(noise), len(labels.codes), int(given.voted.sum())
    return LabelAudit(
        labels.classes,
        noise.estimate.noise_rate * n_rows,
        _error_of_count(noise.estimate, n_rows, n_judged),
        n_judged,
        issues,
        noise.estimate,
        _confused(noise.estimate, n_rows),
        np.bincount(labels.codes, minlength=len(labels.classes)),
        np.bincount(labels.codes[issues.is_issue], minlength=len(labels.classes)),
        probabilities,
        method,
    )


def audit_phases(estimator: AnyClassifier, folds: int | None = None) -> dict[str, int]:
    """What a monitor of `audit_labels` will hear of: the phases in their order, and how much work each is, in trees.

    Raises InvalidParameter for what a fit would refuse before it has seen data.
    """
    steps = [""]
    if folds is not None or not _leaves_rows_out(estimator):
        n_folds = folds or _USUAL_FOLDS
        steps = [fold_prefix(number, n_folds) for number in range(1, n_folds + 1)]
    fits = {step + phase: n_trees for step in steps for phase, n_trees in estimator.phases().items()}
    return {**fits, _JUDGING: max(1, sum(fits.values()) // 10)}


def _prepared(estimator: ClassifierContract | None, random_state: Seed, n_jobs: int | None) -> Any:
    """An unfitted copy with the seed and threads asked for."""
    if estimator is None:
        estimator = ForestClassifier(**DEFAULT_AUDIT_PARAMETERS)
    if not isinstance(estimator, ClassifierContract):
        raise InvalidParameter(
            f"estimator is {estimator!r}; give a classifier of this library, or call rank_label_issues with "
            "out-of-sample probabilities of your own."
        )
    parameters = estimator.get_params(deep=False)
    if parameters.get("class_weight") is not None:
        raise InvalidParameter(f"class_weight is {parameters['class_weight']!r}; {CLASS_WEIGHT_NOT_SUPPORTED}.")
    asked = {"random_state": random_state, "n_jobs": n_jobs}
    parameters |= {name: value for name, value in asked.items() if value is not None and name in parameters}
    return type(estimator)(**parameters)


def _leaves_rows_out(model: Any) -> bool:
    return isinstance(model, GrownForest) and bool(model.bootstrap)


def _out_of_bag(model: Any, X: Any, y: Any, monitor: FitMonitor | None) -> NDArray[np.float64]:
    model.oob_score = True
    votes: NDArray[np.float64] = model.fit(X, y, monitor=monitor).oob_decision_function_
    return votes


def _checked_folds(folds: int, n_rows: int) -> int:
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or not 2 <= folds <= n_rows:
        raise InvalidParameter(
            f"folds is {folds!r}; it must be an integer of 2 at least and {n_rows} at most, the rows."
        )
    return int(folds)


def _by_folds(
    model: Any, X: Any, labels: EncodedLabels, parts: tuple[SeededSplit, ...], monitor: FitMonitor | None
) -> NDArray[np.float64]:
    """Probabilities by models that never saw the row, (row, class); 0 for a class that all training rows lack."""
    rows, y = np.asarray(X), labels.classes[labels.codes]
    if rows.shape[:1] != y.shape:
        raise InvalidInput(f"X has shape {rows.shape} and y has {len(y)} labels; they must have as many rows.")
    probabilities = np.zeros((len(y), len(labels.classes)))
    for number, part in enumerate(parts, start=1):
        step = monitor and step_monitor(monitor, fold_prefix(number, len(parts)))
        model.fit(rows[part.train_rows], y[part.train_rows], monitor=step)
        columns, _ = class_codes(labels.classes, model.classes_)
        probabilities[np.ix_(part.test_rows, columns)] = model.predict_proba(rows[part.test_rows])
    return probabilities


def _error_of_count(noise: TransitionEstimate, n_rows: int, n_judged: int) -> float:
    """Of how many labels are wrong: of the rate, and of the draw of the rows without a verdict."""
    of_others = (n_rows - n_judged) * noise.noise_rate * (1 - noise.noise_rate)
    return float(np.sqrt((noise.noise_rate_error * n_rows) ** 2 + of_others))


def _confused(noise: TransitionEstimate, n_rows: int) -> tuple[ConfusedPair, ...]:
    clean_rows, classes = n_rows * noise.priors, noise.transition.classes.tolist()
    expected = clean_rows[:, np.newaxis] * noise.transition.rows
    np.fill_diagonal(expected, 0.0)
    errors = clean_rows[:, np.newaxis] * noise.standard_error
    order = np.argsort(-expected, axis=None, kind="stable")[: int(np.count_nonzero(expected >= 1))]
    pairs = [divmod(int(cell), len(classes)) for cell in order]
    return tuple(ConfusedPair(classes[a], classes[b], float(expected[a, b]), float(errors[a, b])) for a, b in pairs)
