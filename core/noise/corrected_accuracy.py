"""Accuracy on the true labels, from noisy labels and their transition matrix.

With T[a, b] = P(label b | clean class a), the backward-corrected 0-1 loss of a row with label b that is predicted as t
is the sum over a of T^-1[b, a] 1(t != a). Its mean is an unbiased estimate of the error on the true labels (Natarajan,
Dhillon, Ravikumar and Tewari 2013, "Learning with noisy labels", lemma 1). In terms of the shares M (label, predicted)
and J (clean, predicted) of the rows it says J = T^-T M; the trace of J is the accuracy.

The inverse multiplies the sampling error, up to five times for two classes with 40 % wrong labels. Out-of-sample class
probabilities of the rows estimate the same J with a much smaller sampling error: the mean of the posterior distribution
of the clean class. They may be biased, as calibrated probabilities of a model are. The difference D of the two
estimates is the bias plus its sampling error. The bias is taken to be normal around 0. Its standard deviation is known
from other tables, and larger if D exceeds two of its standard errors. The estimate is that of the probabilities plus D
times the share of the bias in the variance of D: large tests are decided by the labels, small ones by the
probabilities, unless the labels contradict them.

Standard errors have these parts: the variation between rows; the parameters of the noise, by the delta method; and what
remains of the bias.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidInput
from core.monitoring import stop_point
from core.noise.correction import check_invertible
from core.noise.estimation import MAX_STANDARD_ERROR, FittedNoise, TransitionEstimate
from core.noise.noise_models import noise_pattern, rate_derivative
from core.noise.transition import TransitionMatrix, to_transition_matrix
from core.validation.labels import Labels, class_codes, encode_labels, label_column, label_values
from core.validation.misplaced_arguments import check_label_types, check_no_label_is_missing

#: Standard deviation of the bias of an accuracy that follows from calibrated probabilities.
_BIAS_SD = 0.02
#: How much larger the bias is for the error of a single class.
_CLASS_BIAS_RATIO = 2.5
#: Multiple of its standard error by which a difference shows bias.
_EVIDENT = 2.0
#: Entries (row, class) that the gradients of the errors of single classes are averaged over.
_GRADIENT_ENTRIES = 2**18

Table = NDArray[np.float64]  # (clean, predicted)


class CorrectedAccuracy(NamedTuple):
    """Estimated accuracy and errors of predictions on the true labels, each with its standard error.

    The standard errors refer to new rows like these. Assumptions: the matrix describes the labels of these rows, and
    within a class, which labels are wrong does not depend on the features.
    """

    accuracy: float
    standard_error: float
    classes: NDArray[Any]  # (class,)
    class_errors: NDArray[np.float64]  # (class,), share of wrong predictions of each true class; NaN without rows
    class_standard_errors: NDArray[np.float64]  # (class,)


def corrected_accuracy(y_noisy: Any, y_pred: Any, transition: Any) -> CorrectedAccuracy:
    """Estimate the accuracy of the predictions `y_pred` (row,) on the true labels of rows with noisy labels `y_noisy`
    (row,), which the model has not been fitted on.

    transition: TransitionMatrix of these labels, rows of numbers in the order of the sorted classes 0..K-1, or a
        TransitionEstimate, whose errors then count in the standard errors.

    The estimate is unbiased if the matrix is right, and not limited to 0..1 before it is clipped. If there are features
    as well, `core.estimate_label_noise` gives estimates with much smaller errors. Raises InvalidInput, and InvalidNoise
    for an ill-conditioned matrix.
    """
    estimate = transition if isinstance(transition, TransitionEstimate) else None
    given, predictions = label_column(y_noisy), label_column(y_pred)
    if len(given) != len(predictions) or not len(given):
        raise InvalidInput(
            f"y_noisy has {len(given)} labels and y_pred has {len(predictions)}; pass at least one row, with one of "
            "each."
        )
    for column in (given, predictions):
        check_no_label_is_missing(column)
    check_label_types(label_values(predictions), label_values(given))
    matrix = _matrix_of(given, predictions, to_transition_matrix(estimate.transition if estimate else transition))
    check_invertible(matrix, "", "merge them, or evaluate on fewer classes")
    (labels, _), (predicted, _) = (class_codes(matrix.classes, column) for column in (given, predictions))
    inverse = _inverse(matrix.rows)
    table = backward_table(inverse, labels, predicted, 1.0 / len(labels))

    def error(coefficients: Table) -> float:
        row_values = _backward_values(coefficients, inverse, labels, predicted)
        variance = row_values.var() / len(labels)
        return float(np.sqrt(variance + _matrix_variance(_cell_gradient(coefficients, table, inverse), estimate)))

    return _result(matrix.classes, table, error, error)


def assisted_accuracy(
    noise: FittedNoise, probabilities: NDArray[np.float64], labels: NDArray[np.int64], predicted: NDArray[np.int64]
) -> CorrectedAccuracy:
    """Return the corrected accuracy of rows with out-of-sample class probabilities (row, class), with the noise that
    was fitted to rows like them. `labels` and `predicted` (row,) are class numbers.
    """
    rows = _AssistedRows(noise, probabilities, labels, predicted)
    bias = rows.bias(np.eye(len(noise.model.transition)))
    class_bias, some_rows = bias._replace(sd=_CLASS_BIAS_RATIO * bias.sd), rows.some()
    return _result(
        noise.rows.classes,
        rows.table(bias.share),
        lambda coefficients: rows.standard_error(coefficients, bias, len(labels)),
        lambda coefficients: some_rows.standard_error(coefficients, class_bias, len(labels)),
    )


class _Bias(NamedTuple):
    """Bias of the probabilities: its standard deviation, and its share in the variance of the difference."""

    sd: float
    share: float


class _AssistedRows:
    """Rows with both estimates of linear functions of the table J, which are the sums of J times coefficients."""

    def __init__(
        self, noise: FittedNoise, probabilities: NDArray[np.float64], labels: NDArray[np.int64], predicted: NDArray[Any]
    ) -> None:
        self._noise, self._probabilities, self._labels, self._predicted = noise, probabilities, labels, predicted
        self._posterior = noise.model.posterior(probabilities, labels)
        self._inverse = _inverse(noise.model.transition)
        self._backward = backward_table(self._inverse, labels, predicted, 1.0 / len(labels))

    def some(self) -> "_AssistedRows":
        """Return evenly spaced rows, few enough for a gradient per class."""
        step = -(-self._posterior.size // _GRADIENT_ENTRIES)
        if step == 1:
            return self
        parts = (self._probabilities[::step], self._labels[::step], self._predicted[::step])
        return _AssistedRows(self._noise, *parts)

    def table(self, share: float) -> Table:
        """Return the table with `share` of the difference between both estimates."""
        assisted = np.zeros_like(self._backward)
        np.add.at(assisted.T, self._predicted, self._posterior / len(self._labels))
        return assisted + share * (self._backward - assisted)

    def bias(self, coefficients: Table) -> _Bias:
        """Return the bias that the difference of both estimates shows."""
        assisted, backward = self._values(coefficients)
        gradient = self._backward_gradient(coefficients) - self._assisted_gradient(coefficients, assisted)
        error = (backward - assisted).var() / len(assisted) + gradient @ self._noise.covariance @ gradient
        error += self._pattern_variance(coefficients)
        variance = max(_BIAS_SD**2, float((backward - assisted).mean() ** 2 - _EVIDENT**2 * error))
        return _Bias(float(np.sqrt(variance)), float(variance / (variance + error)))

    def standard_error(self, coefficients: Table, bias: _Bias, n_rows: int) -> float:
        """Return the standard error for `n_rows` rows like these."""
        assisted, backward = self._values(coefficients)
        values = assisted + bias.share * (backward - assisted)
        # If the classes were known, a row would have the value of its clean class instead of its mean.
        squares = np.einsum("ka,ka->k", self._posterior, coefficients.T[self._predicted] ** 2)
        sampling = max(values.var(), float(squares.mean() - assisted.mean() ** 2)) / n_rows
        assisted_gradient = self._assisted_gradient(coefficients, assisted)
        gradient = assisted_gradient + bias.share * (self._backward_gradient(coefficients) - assisted_gradient)
        parameters = gradient @ self._noise.covariance @ gradient
        parameters += bias.share**2 * self._pattern_variance(coefficients)
        return float(np.sqrt(sampling + parameters + ((1 - bias.share) * bias.sd) ** 2))

    def _values(self, coefficients: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return both estimates of each row, each (row,)."""
        assisted = np.einsum("ka,ka->k", self._posterior, coefficients.T[self._predicted])
        return assisted, _backward_values(coefficients, self._inverse, self._labels, self._predicted)

    def _assisted_gradient(self, coefficients: Table, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of the mean of `values` (row,) in the parameters of the noise, (parameter,)."""
        model = self._noise.model
        # in the logarithms of the joint probabilities of the clean class and the label, (row, class)
        scores = self._posterior * (coefficients.T[self._predicted] - values[:, np.newaxis])
        in_rates = (scores * model.log_rate_derivative()[self._labels]).mean(axis=0)
        in_calibration = model.calibration.gradient(model.evidence(self._probabilities), scores).mean(axis=0)
        return np.concatenate([in_rates, in_calibration])

    def _backward_gradient(self, coefficients: Table) -> NDArray[np.float64]:
        cells = _cell_gradient(coefficients, self._backward, self._inverse)
        in_rates = (cells * rate_derivative(self._noise.model.transition)).sum(axis=1)
        return np.concatenate([in_rates, np.zeros(2 * len(in_rates))])

    def _pattern_variance(self, coefficients: Table) -> float:
        return _pattern_variance(_cell_gradient(coefficients, self._backward, self._inverse), self._noise.estimate)


def _matrix_of(labels: Labels, predictions: Labels, matrix: TransitionMatrix) -> TransitionMatrix:
    """Return the matrix with the classes of these labels, which it may have in addition to others."""
    classes = encode_labels(np.concatenate([encode_labels(column).classes for column in (labels, predictions)])).classes
    return matrix if set(classes.tolist()) <= set(matrix.classes.tolist()) else matrix.among(classes)


def backward_table(
    inverse: NDArray[np.float64],
    labels: NDArray[np.int64],
    predicted: NDArray[np.int64],
    row_shares: NDArray[np.float64] | float,
) -> Table:
    """Return J = T^-T M, float64 (clean, predicted).

    `inverse` (noisy, clean) is that of T, or its pseudo-inverse. `labels` and `predicted` (row,) are class numbers;
    `row_shares` (row,), or one number for all rows, sum to 1 over the rows.
    """
    observed = np.zeros_like(inverse)
    np.add.at(observed, (labels, predicted), row_shares)
    return np.asarray(inverse.T @ observed)


def _inverse(transition: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.inv(transition), dtype=np.float64)


def _backward_values(
    coefficients: Table, inverse: NDArray[np.float64], labels: NDArray[np.int64], predicted: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the corrected value of each row, (row,)."""
    return np.asarray((inverse @ coefficients)[labels, predicted])


def _cell_gradient(coefficients: Table, table: Table, inverse: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gradient of the sum of J times coefficients in the cells of T, (clean, noisy)."""
    return np.asarray(-table @ coefficients.T @ inverse.T)


def _matrix_variance(cells: NDArray[np.float64], estimate: TransitionEstimate | None) -> float:
    """Return the variance that an estimated matrix adds, from the gradient in its cells."""
    if estimate is None:
        return 0.0
    gradient = (cells * rate_derivative(estimate.transition.rows)).sum(axis=1)
    return float(gradient @ estimate.rate_covariance @ gradient) + _pattern_variance(cells, estimate)


def _pattern_variance(cells: NDArray[np.float64], estimate: TransitionEstimate) -> float:
    """Return the variance that the patterns of wrong labels add, beside the noise rates."""
    variances = estimate.standard_error**2
    by_rate = noise_pattern(estimate.transition.rows) ** 2 * np.diag(estimate.rate_covariance)[:, np.newaxis]
    by_pattern = np.maximum(variances - by_rate, 0.0)
    np.fill_diagonal(by_pattern, 0.0)
    # A pattern sums to 1, so that only differences between the cells of a row matter.
    weights = noise_pattern(estimate.transition.rows)
    centered = cells - (cells * weights).sum(axis=1, keepdims=True)
    return float((centered**2 * by_pattern).sum())


def _result(classes: NDArray[Any], table: Table, accuracy_error: Any, class_error: Any) -> CorrectedAccuracy:
    """Return the record of a table. Both functions return the standard error of a linear function of it."""
    n_classes = len(classes)
    totals, errors, standard_errors = table.sum(axis=1), np.full(n_classes, np.nan), np.full(n_classes, np.nan)
    for k in np.flatnonzero(totals > 0):
        stop_point()
        right = table[k, k] / totals[k]
        coefficients = np.zeros_like(table)
        coefficients[k] = (np.eye(n_classes)[k] - right) / totals[k]
        errors[k], standard_errors[k] = 1.0 - right, min(class_error(coefficients), MAX_STANDARD_ERROR)
    return CorrectedAccuracy(
        float(np.clip(np.trace(table), 0.0, 1.0)),
        min(float(accuracy_error(np.eye(n_classes))), MAX_STANDARD_ERROR),
        classes,
        np.clip(errors, 0.0, 1.0),
        standard_errors,
    )
