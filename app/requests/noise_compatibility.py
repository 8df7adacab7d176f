"""Compatibility of noise and correction with a data set and a model, checked before a job is queued."""

from collections.abc import Iterator
from contextlib import contextmanager

import core
from app.errors import FieldError, pointer_token
from app.requests.compatibility import class_weights, vote_count_problem
from app.requests.dataset_summary import DatasetSummary
from app.requests.errors import InvalidNoiseRequest
from app.requests.estimator_specs import EstimatorSpec
from app.requests.evaluation_specs import CrossValidation, EvaluationSpec, Holdout
from app.requests.label_text import label_text
from app.requests.noise_specs import CorrectionSpec, InjectionSpec, NoiseSpec
from core import service_api


def check_noise_request(
    noise: NoiseSpec, model: EstimatorSpec, evaluation: EvaluationSpec, dataset: DatasetSummary
) -> None:
    """Raise InvalidNoiseRequest for whatever can be refused without reading the rows."""
    if noise.inject is not None:
        check_injection(noise.inject, dataset, "/noise/inject")
    if noise.correction is not None:
        with _pointing_below("/noise/correction"):
            _check_correction(noise.correction, model, dataset)
            if noise.correction.transition == "estimate":
                _check_estimate(evaluation, dataset)


def check_injection(inject: InjectionSpec, dataset: DatasetSummary, pointer: str) -> None:
    """Raise InvalidNoiseRequest if the noise at `pointer` of the request does not fit the classes and features."""
    with _pointing_below(pointer):
        service_api.check_noise(inject.model_dump(), dataset.labels, len(dataset.used_features))


def unweighted_class_problems(noise: NoiseSpec, model: EstimatorSpec, dataset: DatasetSummary) -> Iterator[FieldError]:
    """Yield the classes whose weight is 0 although a correction needs their rows."""
    if noise.correction is None:
        return
    weights = class_weights(model)
    for entry in dataset.classes:
        label = label_text(entry["label"])
        if weights.get(label) == 0:
            detail = (
                "the weight is 0; a correction needs rows observed as each class, to compute how many of them belong "
                "to the others: give it a small weight"
            )
            yield FieldError(f"/model/class_weight/{pointer_token(label)}", detail)


@contextmanager
def _pointing_below(pointer: str) -> Iterator[None]:
    try:
        yield
    except core.InvalidNoise as error:
        place = f"{pointer}/{error.parameter}" if error.parameter else pointer
        raise InvalidNoiseRequest.at(place, str(error)) from error


def _check_correction(correction: CorrectionSpec, model: EstimatorSpec, dataset: DatasetSummary) -> None:
    if reason := model.estimator_class.no_correction_because:
        corrected = ", ".join(kind for kind, one in core.ESTIMATORS.items() if one.no_correction_because is None)
        raise core.InvalidNoise(
            f"{model.kind!r} does not support correction, since {reason}. Use {corrected}, or {model.kind!r} without "
            "correction."
        )
    loss = core.parse_loss(model.constructor_arguments()["loss"])
    parsed = core.parse_correction(correction.model_dump(), loss)
    assert parsed is not None, "a spec is never None"
    if parsed.transition is not None:
        parsed.transition.among(dataset.labels)


def _check_estimate(evaluation: EvaluationSpec, dataset: DatasetSummary) -> None:
    service_api.check_enough_rows(_min_training_rows(evaluation, dataset.n_labeled), len(dataset.classes))
    if reason := vote_count_problem(dataset):
        raise core.InvalidNoise(f"transition of correction is 'estimate', and {reason}.", "transition")


def _min_training_rows(evaluation: EvaluationSpec, n_rows: int) -> int:
    """Return the number of training rows of the smallest fit of the job."""
    if isinstance(evaluation, Holdout):
        return n_rows - service_api.holdout_size(n_rows, evaluation.test_fraction)
    if isinstance(evaluation, CrossValidation):
        return n_rows - service_api.largest_fold_size(n_rows, evaluation.folds)
    return n_rows
