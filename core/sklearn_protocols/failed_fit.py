"""Restoration of an estimator whose fit fails."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from core.exceptions import SolverFailed

Estimator = TypeVar("Estimator")
Arguments = ParamSpec("Arguments")
Fit = Callable[Concatenate[Estimator, Arguments], Estimator]


def undone_if_it_fails(fit: Fit[Estimator, Arguments]) -> Fit[Estimator, Arguments]:
    """Let a method `fit` restore all attributes of the estimator if it raises an error.

    Otherwise the columns of new data would stay beside the trees of an earlier fit, and predictions would be those of
    other features. `SolverFailed` is raised by complete fits, whose result is that of the last optimum.
    """

    @wraps(fit)
    def fit_or_restore(self: Estimator, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Estimator:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except SolverFailed:
            raise
        except BaseException:
            # Never without an attribute, because other threads may predict.
            vars(self).update(before)
            for name in vars(self).keys() - before.keys():
                delattr(self, name)
            raise

    return fit_or_restore
