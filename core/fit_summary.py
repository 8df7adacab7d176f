"""What a fit found out beside what it predicts, in one shape for every kind of estimator."""

from typing import Any, NamedTuple

from core.growth.tree_structure import Trees
from core.losses.base import Loss


class FitSummary(NamedTuple):
    """What a fit found out, as JSON values."""

    facts: dict[str, Any]  #: for people who compare models: the loss, the number of nodes, what was chosen
    metrics: dict[str, Any]  #: how good the fit says that it is: numbers, and lists of them
    certificate: dict[str, Any] | None  #: what it guarantees about rows that it has not seen


def growth_summary(loss: Loss, trees: Trees) -> dict[str, Any]:
    """What can be said of any fit that grows trees."""
    return {"loss": loss.to_json(), "node_count": sum(len(nodes.feature) for nodes in trees)}
