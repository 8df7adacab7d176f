"""What noise and correction a data set and a model can take, before a job exists."""

from collections.abc import Iterator
from contextlib import contextmanager

import core
from app.datasets.records import DatasetRecord
from app.errors import FieldError, pointer_token
from app.jobs.errors import InvalidNoise
from app.requests.compatibility import too_many_votes
from app.requests.estimator_specs import constructor_arguments, kind_of
from app.requests.job_specs import CrossValidation, EvaluationSpec, Holdout, TrainSpec
from app.requests.label_text import label_text
from app.requests.noise_specs import InjectionSpec
from core import service_api
from core.service_api import check_enough_rows, holdout_size, largest_fold_size


def refuse_unfit_noise(spec: TrainSpec, dataset: DatasetRecord) -> None:
    """Raise InvalidNoise for all that can be known of the request's noise without the rows."""
    if spec.noise.inject is not None:
        refuse_unfit_injection(spec.noise.inject, dataset, "/noise/inject")
    if spec.noise.correction is not None:
        with _pointing_into("/noise/correction"):
            _check_correction(spec, dataset)


def refuse_unfit_injection(inject: InjectionSpec, dataset: DatasetRecord, place: str) -> None:
    """Raise InvalidNoise for noise, which the request has at `place`, that does not suit the classes and the
    number of features.
    """
    with _pointing_into(place):
        service_api.check_noise(inject.model_dump(), dataset.labels, len(dataset.features))


@contextmanager
def _pointing_into(place: str) -> Iterator[None]:
    try:
        yield
    except core.InvalidNoise as error:
        raise InvalidNoise.at(f"{place}/{error.parameter}" if error.parameter else place, str(error)) from error


def _check_correction(spec: TrainSpec, dataset: DatasetRecord) -> None:
    assert spec.noise.correction is not None, "its caller looks"
    kind = kind_of(spec.model)
    if "correction" not in {parameter.name for parameter in service_api.estimator_parameters(kind)}:
        corrected = [
            name for name in core.ESTIMATORS if "correction" in {p.name for p in service_api.estimator_parameters(name)}
        ]
        raise core.InvalidNoise(
            f"{kind!r} takes no correction: its rules are weighted by the labels as they are, and leave no class "
            f"distributions that could be corrected. Use {', '.join(corrected)}, or 'rmboost' without correction, "
            "whose guarantee counts the noise."
        )
    loss = core.parse_loss(constructor_arguments(spec.model)["loss"])
    correction = core.parse_correction(spec.noise.correction.model_dump(), loss)
    assert correction is not None, "a spec is never None"
    if correction.transition is None:
        _check_estimate(spec.evaluation, dataset)
    else:
        correction.transition.among(dataset.labels)


def _check_estimate(evaluation: EvaluationSpec, dataset: DatasetRecord) -> None:
    check_enough_rows(_fewest_training_rows(evaluation, dataset.n_rows), len(dataset.classes))
    if reason := too_many_votes(dataset):
        raise core.InvalidNoise(f"transition of correction is 'estimate', and {reason}.", "transition")


def _fewest_training_rows(evaluation: EvaluationSpec, n_rows: int) -> int:
    """Of all fits of the job."""
    if isinstance(evaluation, Holdout):
        return n_rows - holdout_size(n_rows, evaluation.test_fraction)
    if isinstance(evaluation, CrossValidation):
        return n_rows - largest_fold_size(n_rows, evaluation.folds)
    return n_rows


def classes_without_weight(spec: TrainSpec, dataset: DatasetRecord) -> Iterator[FieldError]:
    """Classes that a correction would need rows of."""
    weights = getattr(spec.model, "class_weight", None)
    if spec.noise.correction is None or not isinstance(weights, dict):
        return
    for entry in dataset.classes:
        label = label_text(entry["label"])
        if weights.get(label) == 0:
            detail = (
                "the weight is 0, and a correction needs the rows observed as each class to know what the others hide; "
                "give it a small weight"
            )
            yield FieldError(f"/model/class_weight/{pointer_token(label)}", detail)
