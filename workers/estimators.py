"""Estimators built from the `model` field of a request."""

import logging
import time
from typing import Any

from numpy.typing import NDArray

import core
from app.requests.estimator_specs import EstimatorSpec
from app.requests.label_text import label_text
from app.requests.noise_specs import InjectionSpec
from core import service_api
from workers.compilation_turns import before_others
from workers.monitor import JobMonitor

log = logging.getLogger(__name__)

#: Warm-ups that take longer have compiled kernels; loading compiled ones from the disk takes less.
_COMPILATION_SECONDS = 1.0


def build_estimator(model: EstimatorSpec, classes: NDArray[Any], seed: int, n_jobs: int, **arguments: Any) -> Any:
    """Return the unfitted estimator for labels of these `classes` (class,).

    `arguments` are constructor arguments that the request does not carry in its `model`.
    """
    own_arguments = model.constructor_arguments()
    if isinstance(own_arguments["class_weight"], dict):
        labels = dict(zip(map(label_text, classes.tolist()), classes.tolist(), strict=True))
        weights = {labels[text]: weight for text, weight in own_arguments["class_weight"].items()}
        own_arguments["class_weight"] = weights
    return model.estimator_class(**own_arguments, **arguments, random_state=seed, n_jobs=n_jobs)


def fit_work(model: EstimatorSpec, inject: InjectionSpec | None, **arguments: Any) -> dict[str, float]:
    """Return the phases of noise injection and fit in their order, each with its work in units of one tree.

    `arguments` are constructor arguments that the request does not carry in its `model`.
    """
    injection = {} if inject is None else service_api.injection_phases(inject.model_dump())
    estimator = model.estimator_class(**model.constructor_arguments(), **arguments)
    return injection | dict(estimator.phases())


def compile_kernels(X: core.EncodedTable, monitor: JobMonitor, estimator: Any, *others: Any) -> None:
    """Compile the kernels that no earlier job on this machine has needed, so that the fit time excludes compilation.

    X: rows of the data set, whose columns decide on the types. `others` are further estimators that the job fits.
    """
    estimators = [estimator, *others]
    steps = service_api.compilation_steps(estimators)
    monitor.begin("compiling", len(steps), "steps")
    started = time.perf_counter()
    n_categories = max((len(column.categories or ()) for column in X.columns), default=0)
    with before_others(solves_programs=service_api.LINEAR_PROGRAMS in steps):
        service_api.warm_up_fits(estimators, n_categories, monitor.stop_flag, monitor.begin_step)
    seconds = time.perf_counter() - started
    if seconds > _COMPILATION_SECONDS:
        kind = service_api.estimator_kind(estimator)
        log.info("compiled the kernels of model %r in %.1f s; they are cached on disk", kind, seconds)
