"""Label audit: which labels are probably wrong, how many, their probable classes, and which classes are confused."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.automatic.auto_classifier import AutoClassifier
from core.class_votes import winning_classes
from core.columns.encoded_table import EncodedTable
from core.columns.frames import is_frame, rows_of_frame, take_rows
from core.evaluation.holdout import SeededSplit, split_folds
from core.exceptions import InvalidInput, InvalidParameter
from core.forests.forest import ForestClassifier, GrownForest
from core.forests.noise_estimation_forest import FOREST_PARAMETERS, too_few_to_estimate
from core.groups import encode_groups
from core.monitoring import FitMonitor, fold_prefix, step_monitor
from core.noise.estimation import FittedNoise, TransitionEstimate, fit_noise
from core.noise.label_issues import LabelIssues, label_issues
from core.noise.label_probabilities import check_label_probabilities
from core.randomness import Seed
from core.registry import AnyClassifier
from core.sklearn_protocols.classifier_contract import ClassifierContract
from core.validation.labels import EncodedLabels, class_codes, encode_labels, label_column, labels_like

#: Parameters of the forest that an audit uses unless another estimator is given.
DEFAULT_AUDIT_PARAMETERS: dict[str, Any] = FOREST_PARAMETERS
#: Class weights bias the votes that noise is estimated from: every label of a class of weight 0 would look wrong.
CLASS_WEIGHT_NOT_SUPPORTED = "it is not supported in audits, which weight all rows equally; remove it"
DEFAULT_FOLDS = 5
_ESTIMATING_NOISE = "estimating noise"  # the phase after the fits


class ConfusedPair(NamedTuple):
    """Expected number of rows, of all rows, whose true class is `clean` and whose label is `given`."""

    clean: Any
    given: Any
    n_rows: float
    n_rows_error: float


class LabelAudit(NamedTuple):
    """Result of an audit. The standard errors are those of `TransitionEstimate`."""

    classes: NDArray[Any]  # (class,), the order of all arrays over classes
    n_wrong: float  # estimated number of wrong labels: the noise rate times the number of rows
    n_wrong_error: float
    n_judged: int  # rows with an out-of-sample prediction; the rest is assumed to be wrong at the same rate
    issues: LabelIssues
    noise: TransitionEstimate
    confused: tuple[ConfusedPair, ...]  # pairs of at least one expected row, largest first
    given_counts: NDArray[np.int64]  # (class,), number of rows by given label
    issue_counts: NDArray[np.int64]  # (class,), number of issues by given label
    probabilities: NDArray[np.float64]  # (row, class), out of sample; NaN for a row without a prediction
    method: str  # "out_of_bag" or "folds"
    unlabeled_suggested: Any = None  # (unlabeled row,), the most probable label in the form of y, or None


def audit_labels(
    X: Any,
    y: Any,
    estimator: ClassifierContract | None = None,
    folds: int | None = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
    monitor: FitMonitor | None = None,
    groups: Any = None,
    X_unlabeled: Any = None,
) -> LabelAudit:
    """Audit the labels y (row,) of X (row, feature) with predictions of models that were not fitted on the row.

    estimator: a classifier of this library, of which a copy is fitted; by default a forest of 200 trees with at least
        five rows per leaf.
    folds: number of stratified folds, each predicted by a model that was fitted on the others. By default, forests
        with bootstrap use their out-of-bag votes instead, and other classifiers use 5 folds.
    random_state, n_jobs: replace the estimator's own unless None. The same seed gives the same audit for any
        `n_jobs`.
    monitor: receives the phases of every fit, as listed by
        `core.service_api.audit_phases`.
    groups: (row,) any hashable values; a row then has predictions of models that were fitted on no row of its group.
    X_unlabeled: (unlabeled row, feature) rows without a label, for which labels are suggested, without other effects.

    Raises:
        InvalidInput: X, y or groups cannot be used, X has fewer than 20 rows or fewer than three times as many rows
            as classes, or all rows are in one group.
        InvalidParameter: a parameter is out of bounds, or the estimator has `class_weight`.
        FitStopped: the monitor requested a stop.
    """
    labels = encode_labels(label_column(y))
    more_rows = X_unlabeled if X_unlabeled is not None and len(X_unlabeled) else None
    model = _prepared(estimator, random_state, n_jobs)
    if reason := too_few_to_estimate(len(labels.codes), len(labels.classes)):
        raise InvalidInput(f"{reason}: audit more rows.")
    if folds is None and _leaves_rows_out(model):
        votes, method = _out_of_bag(model, X, labels, groups, more_rows, monitor), "out_of_bag"
    else:
        n_folds = _checked_folds(DEFAULT_FOLDS if folds is None else folds, len(labels.codes))
        splits = split_folds(labels.codes, n_folds, random_state, groups)
        votes, method = _by_folds(model, X, labels, groups, splits, more_rows, monitor), "folds"
    if X_unlabeled is not None and more_rows is None:
        votes = votes._replace(unlabeled=np.empty((0, len(labels.classes))))
    if monitor is not None:
        monitor.begin(_ESTIMATING_NOISE, 1, "estimates")
    rows = check_label_probabilities(votes.labeled, labels, labels.classes)
    stop_flag = None if monitor is None else monitor.stop_flag
    noise = fit_noise(rows, stop_flag, groups=encode_groups(groups, len(labels.codes)))
    return _assessed(y, labels, noise, votes, method)


def audit_phases(estimator: AnyClassifier, folds: int | None = None) -> dict[str, int]:
    """Return the phases of `audit_labels` in their order, and the work of each as a number of trees.

    Raises InvalidParameter for parameters that a fit would refuse without seeing data.
    """
    steps = [""]
    if folds is not None or not _leaves_rows_out(estimator):
        n_folds = folds or DEFAULT_FOLDS
        steps = [fold_prefix(number, n_folds) for number in range(1, n_folds + 1)]
    fits = {step + phase: n_trees for step in steps for phase, n_trees in estimator.phases().items()}
    return {**fits, _ESTIMATING_NOISE: max(1, sum(fits.values()) // 10)}


def _prepared(estimator: ClassifierContract | None, random_state: Seed, n_jobs: int | None) -> Any:
    """Return an unfitted copy with the requested seed and number of threads."""
    if estimator is None:
        estimator = ForestClassifier(**DEFAULT_AUDIT_PARAMETERS)
    if not isinstance(estimator, ClassifierContract):
        raise InvalidParameter(
            f"estimator is {estimator!r}; it must be a classifier of this library. For another model, call "
            "rank_label_issues with its out-of-sample probabilities."
        )
    parameters = estimator.get_params(deep=False)
    if parameters.get("class_weight") is not None:
        raise InvalidParameter(f"class_weight is {parameters['class_weight']!r}; {CLASS_WEIGHT_NOT_SUPPORTED}.")
    overrides = {"random_state": random_state, "n_jobs": n_jobs}
    parameters |= {name: value for name, value in overrides.items() if value is not None and name in parameters}
    return type(estimator)(**parameters)


def _leaves_rows_out(model: Any) -> bool:
    return isinstance(model, GrownForest) and bool(model.bootstrap)


class _Votes(NamedTuple):
    """Class probabilities (row, class) from models that have not seen the row's label."""

    labeled: NDArray[np.float64]
    unlabeled: NDArray[np.float64] | None


def _out_of_bag(
    model: Any, X: Any, labels: EncodedLabels, groups: Any, X_unlabeled: Any, monitor: FitMonitor | None
) -> _Votes:
    model.oob_score = True
    model.fit(X, labels, groups=groups, monitor=monitor)
    return _Votes(model.oob_decision_function_, None if X_unlabeled is None else model.predict_proba(X_unlabeled))


def _assessed(y: Any, labels: EncodedLabels, noise: FittedNoise, votes: _Votes, method: str) -> LabelAudit:
    """Return the audit of labels y (row,), which are also encoded as `labels`, with the noise that explains `votes`."""
    issues, n_rows, n_judged = label_issues(noise, y), len(labels.codes), int(noise.rows.has_votes.sum())
    return LabelAudit(
        classes=labels.classes,
        n_wrong=noise.estimate.noise_rate * n_rows,
        n_wrong_error=_error_of_count(noise.estimate, n_rows, n_judged),
        n_judged=n_judged,
        issues=issues,
        noise=noise.estimate,
        confused=_confused(noise.estimate, n_rows),
        given_counts=np.bincount(labels.codes, minlength=len(labels.classes)),
        issue_counts=np.bincount(labels.codes[issues.is_issue], minlength=len(labels.classes)),
        probabilities=votes.labeled,
        method=method,
        unlabeled_suggested=_suggested(noise, votes.unlabeled, y),
    )


def _suggested(noise: FittedNoise, votes: NDArray[np.float64] | None, y: Any) -> Any:
    """Return the most probable clean class of rows without a label, in the form of y. votes: None without a table."""
    if votes is None:
        return None
    return labels_like(y, noise.rows.classes, winning_classes(noise.model.clean_probabilities(votes)))


def _checked_folds(folds: int, n_rows: int) -> int:
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or not 2 <= folds <= n_rows:
        raise InvalidParameter(f"folds is {folds!r}; it must be an integer from 2 to {n_rows}, the number of rows.")
    return int(folds)


def _by_folds(
    model: Any,
    X: Any,
    labels: EncodedLabels,
    groups: Any,
    splits: tuple[SeededSplit, ...],
    X_unlabeled: Any,
    monitor: FitMonitor | None,
) -> _Votes:
    """Return out-of-sample probabilities, 0 for a class that is missing from the training rows. Those of unlabeled rows
    are the mean over the folds.
    """
    X = rows_of_frame(X)
    rows = X if is_frame(X) or isinstance(X, EncodedTable) else np.asarray(X)
    group_numbers = encode_groups(groups, len(labels))
    if rows.shape[:1] != labels.shape:
        raise InvalidInput(
            f"X has shape {rows.shape} and y has {len(labels)} labels; both must have the same number of rows."
        )
    probabilities = np.zeros((len(labels), len(labels.classes)))
    unlabeled = None if X_unlabeled is None else np.zeros((len(X_unlabeled), len(labels.classes)))
    for number, split in enumerate(splits, start=1):
        fold_monitor = monitor and step_monitor(monitor, fold_prefix(number, len(splits)))
        fold_groups = None if group_numbers is None else group_numbers[split.train_rows]
        model.fit(take_rows(rows, split.train_rows), labels[split.train_rows], groups=fold_groups, monitor=fold_monitor)
        columns, _ = class_codes(labels.classes, model.classes_)
        probabilities[np.ix_(split.test_rows, columns)] = _votes_on(take_rows(rows, split.test_rows), model)
        if unlabeled is not None:
            unlabeled[:, columns] += _votes_on(X_unlabeled, model) / len(splits)
    return _Votes(probabilities, unlabeled)


def _votes_on(X: Any, model: Any) -> NDArray[np.float64]:
    """Return class probabilities of X before any calibration that takes noise into account: the audit estimates it."""
    votes: NDArray[np.float64] = model.predict_votes(X) if isinstance(model, AutoClassifier) else model.predict_proba(X)
    return votes


def _error_of_count(noise: TransitionEstimate, n_rows: int, n_judged: int) -> float:
    """Return the standard error of the number of wrong labels.

    Its parts are the error of the noise rate and the variance of the number of wrong labels among rows without votes.
    """
    variance_without_votes = (n_rows - n_judged) * noise.noise_rate * (1 - noise.noise_rate)
    return float(np.sqrt((noise.noise_rate_error * n_rows) ** 2 + variance_without_votes))


def _confused(noise: TransitionEstimate, n_rows: int) -> tuple[ConfusedPair, ...]:
    clean_rows, classes = n_rows * noise.priors, noise.transition.classes
    # Python would have numbers in place of dates.
    labels = list(classes) if classes.dtype.kind == "M" else classes.tolist()
    expected = clean_rows[:, np.newaxis] * noise.transition.rows
    np.fill_diagonal(expected, 0.0)
    errors = clean_rows[:, np.newaxis] * noise.standard_error
    order = np.argsort(-expected, axis=None, kind="stable")[: int(np.count_nonzero(expected >= 1))]
    pairs = [divmod(int(cell), len(classes)) for cell in order]
    return tuple(ConfusedPair(labels[a], labels[b], float(expected[a, b]), float(errors[a, b])) for a, b in pairs)
