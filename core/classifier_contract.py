"""scikit-learn's contract of a classifier, implemented without its base classes.

Importing them would take three times as long as importing the rest of this library. scikit-learn is imported only for
its tags and for the error of an unfitted classifier.
"""

import inspect
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidInput
from core.validation.training_data import class_codes, label_column, row_weights


class ClassifierContract:
    """Base of all classifiers: parameters by name, score and tags. Subclasses store constructor arguments unchanged."""

    #: Minimum number of classes that have rows of positive weight.
    min_classes: ClassVar[int] = 1

    classes_: NDArray[Any]

    @classmethod
    def _parameter_defaults(cls) -> dict[str, Any]:
        return {p.name: p.default for p in inspect.signature(cls).parameters.values()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor arguments unchanged; `deep` has no effect because none of them is an estimator."""
        return {name: getattr(self, name) for name in self._parameter_defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set some arguments, which `fit` checks. Raises ValueError for an unknown name."""
        known = self._parameter_defaults()
        for name in params:
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {list(known)!r}."
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self._parameter_defaults()
        changed = [(name, value) for name, value in self.get_params().items() if value is not defaults[name]]
        shown = [f"{name}={value!r}" for name, value in changed if repr(value) != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(shown)})"

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row of X."""
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows X with labels y, weighted by `sample_weight`. Raises InvalidInput."""
        labels = self.predict(X)
        predicted, _ = class_codes(self.classes_, labels)
        codes, _ = class_codes(self.classes_, label_column(y))
        if len(codes) != len(predicted):
            raise InvalidInput(f"X has {len(predicted)} rows and y has {len(codes)} labels; the numbers must be equal.")
        weights = row_weights(sample_weight, len(codes))
        return float(np.average(predicted == codes, weights=weights))

    def _check_is_fitted(self, attribute: str) -> None:
        if not hasattr(self, attribute):
            from sklearn.exceptions import NotFittedError  # noqa: PLC0415  (see the module's docstring)

            name = type(self).__name__
            raise NotFittedError(f"This {name} instance is not fitted yet; call 'fit' before it is used.")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # noqa: PLC0415

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(allow_nan=True),
        )
