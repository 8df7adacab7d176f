"""scikit-learn's contract of a classifier, implemented without its base classes.

Importing them would take three times as long as importing the rest of this library. scikit-learn is imported only for
its tags, its metadata routing, its diagrams, and for the error of an unfitted classifier.
"""

import inspect
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from core.columns.column import Column
from core.parameters import parameters_of
from core.sklearn_protocols.html_representation import HtmlRepresentation
from core.sklearn_protocols.metadata_routing import MetadataRouting
from core.sklearn_protocols.nested_parameters import is_nested, nested_values, unknown_names, with_nested_values
from core.validation.labels import EncodedLabels, class_codes, label_column, label_values
from core.validation.misplaced_arguments import check_equal_lengths, check_label_types, check_no_label_is_missing
from core.validation.training_data import check_some_weight, row_weights


class ClassifierContract(MetadataRouting, HtmlRepresentation):
    """Base of all classifiers: parameters by name, score and tags. Subclasses store constructor arguments unchanged."""

    #: Minimum number of classes that have rows of positive weight.
    min_classes: ClassVar[int] = 1
    #: Most trees of a fitted classifier; None if a parameter sets their number.
    most_trees: ClassVar[int | None] = None
    #: Reason why there is no parameter `correction`; None if there is one.
    no_correction_because: ClassVar[str | None] = None

    classes_: NDArray[Any]
    #: How the cells of each feature became numbers; None if X was an array.
    columns_: tuple[Column, ...] | None = None
    #: Names of columns that a frame to predict may have beside the features.
    left_out_: tuple[str, ...] = ()

    @classmethod
    def _parameter_defaults(cls) -> dict[str, Any]:
        return {p.name: p.default for p in inspect.signature(cls).parameters.values()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor arguments unchanged and, if `deep`, the parameters of a loss as `loss__NAME`."""
        params = {name: getattr(self, name) for name in self._parameter_defaults()}
        return {**params, **nested_values(params.get("loss"))} if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set some arguments, which `fit` checks; `loss__NAME` sets a parameter of the loss.

        Raises ValueError for an unknown name, and then sets none.
        """
        nested = {name: value for name, value in params.items() if is_nested(name)}
        own = {name: value for name, value in params.items() if name not in nested}
        loss = own.get("loss", getattr(self, "loss", None))
        unknown = [name for name in own if name not in self._parameter_defaults()] + unknown_names(loss, list(nested))
        if unknown:
            known = [*self._parameter_defaults(), *nested_values(loss)]
            raise ValueError(f"Invalid parameter {unknown[0]!r} for estimator {self}. Valid parameters are: {known!r}.")
        if nested:
            own["loss"] = with_nested_values(loss, nested)
        for name, value in own.items():
            setattr(self, name, value)
        return self

    def _check_parameters(self) -> None:
        """Check each parameter by itself. Raises InvalidParameter."""
        for parameter in parameters_of(type(self)):
            parameter.check(getattr(self, parameter.argument), type(self).__name__)

    def __repr__(self) -> str:
        defaults = self._parameter_defaults()
        changed = [(name, value) for name, value in self.get_params(deep=False).items() if value is not defaults[name]]
        shown = [f"{name}={value!r}" for name, value in changed if repr(value) != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(shown)})"

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X with the highest probability or score; ties go to the class that comes
        first in `classes_`.
        """
        winners = self._winners(X)  # before `classes_` is read, because it checks whether the estimator is fitted
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    def predict_encoded(self, X: Any) -> EncodedLabels:
        """Return what `predict` does as class numbers, which take the same memory for labels of any length."""
        winners = self._winners(X)
        return EncodedLabels(self.classes_, winners)

    def _winners(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the predicted class of each row of X."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities (row, class), with columns in the order of `classes_`."""
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the natural logarithm of `predict_proba`, (row, class); minus infinity for a probability of 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows X with labels y, weighted by `sample_weight`. Raises InvalidInput."""
        predicted, given = self._winners(X), label_column(y)
        check_no_label_is_missing(given)
        check_label_types(self.classes_, label_values(given))
        codes, _ = class_codes(self.classes_, given)
        check_equal_lengths(len(predicted), len(codes))
        weights = row_weights(sample_weight, len(codes))
        check_some_weight(weights)
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
