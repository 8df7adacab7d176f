"""Noise of the labels of a table, estimated without any model in question, and accuracy of models on the true labels.

A noise-estimation forest votes on every row without having seen it. The noise that explains its votes and the labels
also gives the probability of each true class of each row, with which the predictions of other models are compared (see
`core.noise.corrected_accuracy`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.class_votes import rows_with_votes
from core.columns.frames import rows_of_frame, take_rows
from core.exceptions import InvalidInput
from core.forests.forest import ForestClassifier
from core.forests.noise_estimation_forest import FOREST_PARAMETERS, too_few_to_estimate
from core.groups import draw_rows, encode_groups
from core.monitoring import FitMonitor, phase_monitor, stop_flag_of_block
from core.noise.corrected_accuracy import CorrectedAccuracy, assisted_accuracy
from core.noise.correction import check_invertible
from core.noise.estimation import FittedNoise, TransitionEstimate, fit_noise
from core.noise.label_probabilities import LabelProbabilities
from core.noise.transition import to_transition_matrix
from core.randomness import Purpose, Seed, SeedTree
from core.validation.labels import class_codes, encode_labels, label_column, listed_codes
from core.validation.misplaced_arguments import check_is_table

#: Name of the phase that a monitor sees.
ESTIMATING_LABEL_NOISE = "estimating label noise"
#: Rows that the forest grows on. More rows make the estimate hardly better and cost time in proportion.
MAX_ROWS = 20_000
_CLASSES_ARGUMENT = "classes= of estimate_label_noise"  # where all classes can be named


class LabelNoise(NamedTuple):
    """Noise of the labels of a table, and the forest that it was estimated with."""

    forest: ForestClassifier
    fitted: FittedNoise  # with the votes on the rows of the estimate
    row_numbers: NDArray[np.int64]  # of these rows in the table, ascending
    n_rows: int  # of the table

    @property
    def estimate(self) -> TransitionEstimate:
        """Estimate of the noise; with a given matrix, that matrix without errors."""
        return self.fitted.estimate

    def accuracy_on_own_rows(self, y_pred: Any) -> CorrectedAccuracy:
        """Return the corrected accuracy of predictions (row,) for the rows of the table, each from a model that has
        not been fitted on the row, such as those of folds. Only the rows of the estimate count.

        Raises InvalidInput, also if the labels do not identify the noise.
        """
        predicted = label_column(y_pred)
        if len(predicted) != self.n_rows:
            raise InvalidInput(
                f"y_pred has {len(predicted)} predictions for a table of {self.n_rows} rows; pass one for each row."
            )
        return _accuracy(self.fitted, self.fitted.rows, predicted[self.row_numbers])

    def accuracy_on(self, X: Any, y: Any, y_pred: Any) -> CorrectedAccuracy:
        """Return the corrected accuracy of predictions (row,) for other rows X (row, feature), whose labels y (row,)
        have the same noise. Raises InvalidInput, also if the labels do not identify the noise.
        """
        return _accuracy(self.fitted, self._votes_on(X, y), y_pred)

    def for_other_labels(self, X: Any, y: Any) -> "LabelNoise":
        """Return the noise of the labels y (row,) of other rows X (row, feature), which may differ from that of the
        rows of this estimate. Raises InvalidInput for too few rows.
        """
        rows = self._votes_on(X, y)
        _check_enough(len(rows.codes), len(rows.classes))
        n_rows = len(rows.codes)
        return LabelNoise(self.forest, fit_noise(rows, stop_flag_of_block()), np.arange(n_rows), n_rows)

    def _votes_on(self, X: Any, y: Any) -> LabelProbabilities:
        classes, labels = self.fitted.rows.classes, label_column(y)
        codes = listed_codes(classes, labels, _CLASSES_ARGUMENT)
        probabilities = self.forest.predict_proba(X)
        _check_equal_lengths(len(probabilities), len(labels))
        votes = _in_columns(probabilities, self.forest.classes_, classes)
        return LabelProbabilities(votes, codes, classes, np.ones(len(codes), dtype=bool))


def estimate_label_noise(
    X: Any,
    y: Any,
    transition: Any = None,
    groups: Any = None,
    classes: Any = None,
    random_state: Seed = None,
    n_jobs: int | None = None,
    monitor: FitMonitor | None = None,
) -> LabelNoise:
    """Estimate the noise of the labels y (row,) of X (row, feature).

    transition: the matrix if it is known: TransitionMatrix, or rows in the order of the sorted classes.
    groups: (row,) any hashable values; the votes on a row are of trees that have not seen its group.
    classes: (class,) the sorted classes if y may lack some of them.
    monitor: receives one phase, `label_noise_phases`.

    At most 20,000 rows, drawn at random, are used. Raises InvalidInput for fewer than 20 rows, for fewer than
    three times as many rows as classes, and for X and y of different lengths, TypeError for a sparse matrix,
    InvalidNoise for an ill-conditioned matrix, and FitStopped.
    """
    names = encode_labels(y if classes is None else classes).classes
    check_is_table(X)
    rows, labels = rows_of_frame(X), label_column(y)
    _check_equal_lengths(len(rows), len(labels))
    if classes is not None:
        listed_codes(names, labels, _CLASSES_ARGUMENT)
    _check_enough(len(labels), len(names))
    given = None if transition is None else to_transition_matrix(transition).among(names)
    if given is not None:
        check_invertible(given, "", "merge them, or give the matrix with fewer classes")
    generator, group_numbers = SeedTree(random_state).generator(Purpose.LABEL_NOISE), encode_groups(groups, len(labels))
    drawn = draw_rows(len(labels), MAX_ROWS, group_numbers, generator)
    drawn_groups = None if group_numbers is None else group_numbers[drawn]
    forest = noise_forest(int(generator.integers(2**31)), n_jobs)
    phase = monitor and phase_monitor(monitor, ESTIMATING_LABEL_NOISE)
    forest.fit(take_rows(rows, drawn), labels[drawn], groups=drawn_groups, monitor=phase)
    votes = _in_columns(forest.oob_decision_function_, forest.classes_, names)
    has_votes = rows_with_votes(votes)
    voted = LabelProbabilities(votes, class_codes(names, labels[drawn])[0], names, has_votes)
    fitted = fit_noise(voted, monitor.stop_flag if monitor else None, given, drawn_groups)
    return LabelNoise(forest, fitted, drawn, len(labels))


def noise_forest(random_state: Seed = None, n_jobs: int | None = None) -> ForestClassifier:
    """Return the unfitted forest of `estimate_label_noise`."""
    return ForestClassifier(**FOREST_PARAMETERS, oob_score=True, random_state=random_state, n_jobs=n_jobs)


def label_noise_phases() -> dict[str, int]:
    """Return the phase of `estimate_label_noise`, with its work as a number of trees."""
    return {ESTIMATING_LABEL_NOISE: FOREST_PARAMETERS["n_estimators"]}


def _check_equal_lengths(n_rows: int, n_labels: int) -> None:
    if n_rows != n_labels:
        raise InvalidInput(f"X has {n_rows} rows and y {n_labels} labels; pass one label for each row.")


def _check_enough(n_rows: int, n_classes: int) -> None:
    if reason := too_few_to_estimate(n_rows, n_classes):
        known = "a transition matrix that is known (in Python: corrected_accuracy)"
        raise InvalidInput(f"{reason}; use more rows, or {known}.")


def _in_columns(votes: NDArray[np.float64], own: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return votes (row, own class) as (row, class), 0 for classes that are missing."""
    table = np.zeros((len(votes), len(classes)))
    table[:, class_codes(classes, own)[0]] = votes
    return table


def _accuracy(noise: FittedNoise, rows: LabelProbabilities, y_pred: Any) -> CorrectedAccuracy:
    predicted, n_unknown = class_codes(rows.classes, label_column(y_pred))
    if len(predicted) != len(rows.codes) or n_unknown:
        raise InvalidInput(
            f"y_pred has {len(predicted)} predictions, {n_unknown} of them of unknown classes; pass one for each of "
            f"the {len(rows.codes)} rows, of the classes {rows.classes.tolist()}."
        )
    if not noise.estimate.identification.is_identified:
        raise InvalidInput(f"{noise.estimate.identification.warning}.")
    has_votes = rows.has_votes
    if not has_votes.any():
        raise InvalidInput("no row has an out-of-sample vote; pass rows of more groups.")
    return assisted_accuracy(noise, rows.probabilities[has_votes], rows.codes[has_votes], predicted[has_votes])
