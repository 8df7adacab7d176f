"""From a request's model to an estimator that is ready to be fitted."""

import logging
import time
from typing import Any

from numpy.typing import NDArray

import core
from app.requests.estimator_specs import ModelSpec, constructor_arguments, kind_of
from app.requests.label_text import label_text
from app.requests.noise_specs import InjectionSpec
from core import service_api
from workers.monitor import JobMonitor

log = logging.getLogger(__name__)

#: Loading kernels from the disk takes less.
COMPILING_SECONDS = 1.0


def estimator_of(model: ModelSpec, labels: NDArray[Any], seed: int, n_jobs: int, **further: Any) -> Any:
    """The unfitted estimator for labels of the classes `labels` (class,); `further` are constructor arguments."""
    arguments = constructor_arguments(model)
    if isinstance(arguments["class_weight"], dict):
        of_text = dict(zip(map(label_text, labels.tolist()), labels.tolist(), strict=True))
        arguments["class_weight"] = {of_text[text]: weight for text, weight in arguments["class_weight"].items()}
    estimator_class: Any = core.ESTIMATORS[kind_of(model)]
    return estimator_class(**arguments, **further, random_state=seed, n_jobs=n_jobs)


def phases_of(model: ModelSpec, inject: InjectionSpec | None, **further: Any) -> dict[str, float]:
    """What a monitor hears of while noise is put in and the model is fitted: the phases in their order, and how much
    work each is, in trees; `further` are constructor arguments.
    """
    injecting = {} if inject is None else service_api.injection_phases(inject.model_dump())
    return injecting | core.ESTIMATORS[kind_of(model)](**constructor_arguments(model), **further).phases()


def warm_up(estimator: Any, monitor: JobMonitor) -> None:
    """Compile what no job on this machine has needed so far, so that the time of the fit is the fit's."""
    monitor.begin("compiling", 1, "fits")
    began = time.perf_counter()
    service_api.warm_up_fit(estimator)
    seconds = time.perf_counter() - began
    if seconds > COMPILING_SECONDS:
        kind = core.parse_loss(estimator.loss).kind
        log.info("made loss %r ready in %.1f s; what was compiled stays on this machine's disk", kind, seconds)
