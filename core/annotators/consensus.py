"""Consensus of annotators: the probable true class of each item, and how often each annotator is right."""

import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.annotators.answers import UNKNOWN, Answers, check_answers
from core.call_site import stack_level_of_user
from core.class_votes import rows_with_votes, winning_classes
from core.exceptions import InvalidInput, InvalidParameter
from core.validation.probabilities import normalized_rows, probability_table

if TYPE_CHECKING:
    from core.annotators.annotator_quality import AnnotatorQuality
    from core.annotators.expectation_maximization import FittedAnswers

#: Names that `method` of `consensus` may have.
CONSENSUS_METHODS = ("majority", "one_coin", "dawid_skene", "glad", "with_features")
#: Share of the items that need a second answer, or a known label, so that annotators can be compared.
_MIN_COMPARED_SHARE = 0.1


class Consensus(NamedTuple):
    """Labels that follow from the answers of several annotators. Arrays over items, annotators and classes have the
    order of these three fields.
    """

    items: NDArray[Any]  # (item,), sorted
    annotators: NDArray[Any]  # (annotator,), sorted
    classes: NDArray[Any]  # (class,), sorted
    labels: NDArray[Any]  # (item,), the most probable class; ties go to the first class
    probabilities: NDArray[np.float64]  # (item, class)
    n_answers: NDArray[np.int64]  # (item,)
    #: (annotator,), number of answers of each annotator
    n_answers_given: NDArray[np.int64]
    #: (annotator, true class, answered class), rows sum to 1
    confusion: NDArray[np.float64]
    confusion_error: NDArray[np.float64]  # standard errors of the confusion matrices
    reliability: NDArray[np.float64]  # (annotator,), share of the answers that are right
    reliability_error: NDArray[np.float64]  # standard errors of the reliabilities
    #: How many times larger than for independent answers the variance of the number of right answers to an item is.
    dispersion: float
    #: (iteration,), of all answers; empty for `majority`. It may fall, since it does not include the priors.
    log_likelihood: NDArray[np.float64]
    converged: bool
    method: str


def consensus(
    answers: Any,
    n_classes: int | None = None,
    method: str = "dawid_skene",
    probabilities: ArrayLike | None = None,
    gold: Mapping[Any, Any] | None = None,
) -> Consensus:
    """Return the probable true class of each item that several annotators labeled, and how often they are right.

    answers: three columns (answer,): the item, the annotator and the label of each answer, of any sortable values. An
        annotator answers an item once; not every annotator answers every item.
    n_classes: number of classes, if some may lack answers; labels are then integers from 0 to n_classes - 1.
    method: "majority" (shares of the answers), "one_coin" (each annotator is right with one probability), "dawid_skene"
        (each annotator has a confusion matrix; Dawid & Skene 1979), "glad" (abilities of annotators and difficulties of
        items; Whitehill et al. 2009), or "with_features" ("dawid_skene" together with `probabilities`).
    probabilities: (item, class) predicted from the features of the items, in the order of the sorted items and classes,
        for "with_features" only. They have to be out of sample, such as the out-of-bag probabilities of a forest that
        was fitted on the labels of a majority. A row with NaN has no prediction. They are calibrated.
    gold: true labels of some items, {item: label}.

    The models take answers to an item to be independent, which makes them overconfident where annotators err on the
    same items. The probabilities and the standard errors allow for it by the dispersion. No result depends on the order
    of the answers.

    A UserWarning tells that the iterations have not converged, or that hardly any item has two answers.

    Raises:
        InvalidInput: the answers, the probabilities or gold cannot be used.
        InvalidParameter: the method or n_classes is not valid, or the method does not fit the other arguments.
    """
    from core.annotators.methods import apply_method  # noqa: PLC0415  (it imports SciPy, which takes 0.4 seconds)

    _check_method(method, probabilities)
    checked = check_answers(answers, n_classes, gold)
    if method != "majority":
        _check_comparable(checked)
    predictions = None if probabilities is None else _checked_predictions(probabilities, checked)
    fitted, quality = apply_method(checked, method, predictions)
    if not fitted.converged:
        n_iterations = len(fitted.log_likelihood)
        _warn(f"the consensus has not converged after {n_iterations} iterations; its probabilities may still change.")
    return _assembled(checked, fitted, quality, method)


def _assembled(answers: Answers, fitted: "FittedAnswers", quality: "AnnotatorQuality", method: str) -> Consensus:
    return Consensus(
        items=answers.items,
        annotators=answers.annotators,
        classes=answers.classes,
        labels=answers.classes[winning_classes(fitted.probabilities)],
        probabilities=fitted.probabilities,
        n_answers=answers.sum_by_item().astype(np.int64),
        n_answers_given=answers.sum_by_annotator().astype(np.int64),
        **quality._asdict(),
        dispersion=fitted.dispersion,
        log_likelihood=fitted.log_likelihood,
        converged=fitted.converged,
        method=method,
    )


def _check_method(method: Any, probabilities: ArrayLike | None) -> None:
    if not isinstance(method, str) or method not in CONSENSUS_METHODS:
        near = get_close_matches(str(method).lower(), CONSENSUS_METHODS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise InvalidParameter(f"method is {method!r:.100}; it must be one of {', '.join(CONSENSUS_METHODS)}{hint}")
    if (method == "with_features") != (probabilities is not None):
        passed = "no probabilities" if probabilities is None else "probabilities"
        raise InvalidParameter(
            f"method is {method!r} with {passed}; pass probabilities predicted from the features of the items for "
            "'with_features', and for no other method."
        )


def _check_comparable(answers: Answers) -> None:
    """Raise InvalidInput if no answer can be compared with another one or a known label; warn if hardly any can."""
    n_items = len(answers.items)
    n_compared = int(np.count_nonzero((answers.sum_by_item() > 1) | (answers.true_class != UNKNOWN)))
    if not n_compared:
        raise InvalidInput(
            "no item of answers has more than one answer, so that it cannot be estimated how often annotators are "
            "right; ask for more answers, pass gold=, or audit the labels together with the features of the items "
            "(audit_labels)."
        )
    if n_compared < _MIN_COMPARED_SHARE * n_items:
        _warn(
            f"only {n_compared} of {n_items} items have a second answer or a known label, from which it can hardly be "
            "estimated how often annotators are right; ask for more answers, pass gold=, or use method='majority'."
        )


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=stack_level_of_user())


def _checked_predictions(probabilities: ArrayLike, answers: Answers) -> NDArray[np.float64]:
    if np.ma.is_masked(probabilities):
        raise InvalidInput("probabilities have masked values; use NaN in all columns of a row without a prediction.")
    table = probability_table(probabilities)
    shape = (len(answers.items), answers.n_classes)
    if table.shape != shape:
        raise InvalidInput(
            f"probabilities has shape {table.shape}; it must be {shape}, one row for each item and one column for each "
            "class, both sorted. A class that the model has not seen needs a column of zeros."
        )
    has_votes = rows_with_votes(table)
    table[~has_votes] = np.nan
    return normalized_rows(table, has_votes)
