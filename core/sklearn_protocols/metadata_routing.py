"""scikit-learn's metadata routing: which arguments of `fit` and `score` a search or a pipeline passes on.

scikit-learn is imported by the methods, which only its users call; see `core.sklearn_protocols.classifier_contract`.
"""

from copy import deepcopy
from typing import Any, Self

#: Default of all requests, which leaves them as they are; the value is that of scikit-learn.
UNCHANGED = "$UNCHANGED$"

#: True: pass the argument on; False: do not; None: raise if it is given; text: the name under which it is given.
MetadataChoice = bool | str | None


class Requests(dict[str, dict[str, MetadataChoice]]):
    """Choice for each argument of each method; plain values, so that an estimator holds no objects of scikit-learn."""

    def __sklearn_clone__(self) -> "Requests":
        """Return a copy for the clone of an estimator."""
        return Requests(deepcopy(dict(self)))


_NO_REQUESTS = Requests(
    fit={"sample_weight": None, "groups": None, "monitor": None},
    score={"sample_weight": None},
)


class MetadataRouting:
    """Requests for metadata. An estimator without requests has no attribute for them."""

    #: The name under which `sklearn.clone` looks for requests.
    _metadata_request: Requests

    def set_fit_request(
        self,
        *,
        sample_weight: MetadataChoice = UNCHANGED,
        groups: MetadataChoice = UNCHANGED,
        monitor: MetadataChoice = UNCHANGED,
    ) -> Self:
        """Set which arguments scikit-learn's searches and pipelines pass to `fit`, and return the estimator.

        Requires `sklearn.set_config(enable_metadata_routing=True)`; raises RuntimeError without it.
        """
        return self._request("fit", sample_weight=sample_weight, groups=groups, monitor=monitor)

    def set_score_request(self, *, sample_weight: MetadataChoice = UNCHANGED) -> Self:
        """Set whether scikit-learn's searches and pipelines pass `sample_weight` to `score`; see `set_fit_request`."""
        return self._request("score", sample_weight=sample_weight)

    def get_metadata_routing(self) -> Any:
        """Return the requests as a `sklearn.utils.metadata_routing.MetadataRequest`."""
        from sklearn.utils.metadata_routing import MetadataRequest  # noqa: PLC0415  (see the module's docstring)

        routing = MetadataRequest(owner=self)
        for method, choices in self._requests().items():
            for argument, choice in choices.items():
                getattr(routing, method).add_request(param=argument, alias=choice)
        return routing

    def _requests(self) -> Requests:
        return self._metadata_request if hasattr(self, "_metadata_request") else _NO_REQUESTS

    def _request(self, method: str, **choices: MetadataChoice) -> Self:
        from sklearn import get_config  # noqa: PLC0415

        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "This method is only available when metadata routing is enabled. You can enable it using "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        current = self._requests()
        changed = {argument: choice for argument, choice in choices.items() if choice != UNCHANGED}
        self._metadata_request = Requests({**current, method: {**current[method], **changed}})
        self.get_metadata_routing()  # raises ValueError for a choice that scikit-learn does not know
        return self
