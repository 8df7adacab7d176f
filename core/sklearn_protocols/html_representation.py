"""HTML representation of estimators in notebooks: scikit-learn's diagram.

scikit-learn is imported when a notebook asks for the representation; see `core.sklearn_protocols.classifier_contract`.
"""

from collections.abc import Callable
from typing import Any


class HtmlRepresentation:
    """Representations that notebooks look for. `sklearn.set_config(display="text")` turns the diagram off."""

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Function that returns the diagram. Raises AttributeError if it is turned off, as notebooks expect."""
        if not _shows_diagrams():
            raise AttributeError("_repr_html_ is defined only if the option 'display' of scikit-learn is 'diagram'")
        return self._diagram

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the representations by media type."""
        text = {"text/plain": repr(self)}
        return {**text, "text/html": self._diagram()} if _shows_diagrams() else text

    def _diagram(self) -> str:
        from sklearn.utils import estimator_html_repr  # noqa: PLC0415

        html: str = estimator_html_repr(self)
        return html


def _shows_diagrams() -> bool:
    from sklearn import get_config  # noqa: PLC0415

    return bool(get_config()["display"] == "diagram")
