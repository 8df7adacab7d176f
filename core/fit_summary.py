"""Fit summary, in one shape for all kinds of estimators."""

from typing import Any, NamedTuple

from core.growth.tree_structure import Trees
from core.losses.base import Loss


class FitSummary(NamedTuple):
    """Results of a fit, as JSON values."""

    fitted: dict[str, Any]  #: the loss, the number of nodes, and values that the fit chose
    metrics: dict[str, Any]  #: performance measures that the fit computes itself: numbers and lists of numbers
    certificate: dict[str, Any] | None  #: bound on the error on unseen data


def growth_summary(loss: Loss, trees: Trees) -> dict[str, Any]:
    """Return the part of the summary that all fits of trees share."""
    return {"loss": loss.to_json(), "node_count": sum(len(nodes.feature) for nodes in trees)}
