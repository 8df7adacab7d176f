"""Rules of a fitted booster in its artifact.

Their trees are stored like any others, the outputs of their nodes as one more array, and their weights and the results
of the rounds in the header.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.artifact.pieces import Pieces
from core.boosting.boosted_classifier import BoostedClassifier, parse_numbers
from core.boosting.rules import Rule, WeightedRules
from core.exceptions import ArtifactError
from core.growth.tree_structure import Trees

#: Name of the array with the output of every node.
OUTPUTS = "rule_outputs"
#: Limit on outputs and weights. Fits stay far below it, and sums and squares of scores stay finite.
_LARGEST = 2.0**100
#: Rules are grown on two classes, however many classes the labels have.
N_RULE_CLASSES = 2


def booster_metadata(estimator: BoostedClassifier) -> dict[str, Any]:
    """Return the state of a booster except its trees and their outputs, as JSON values."""
    weighted = estimator.weighted_rules_
    return {
        "weights": weighted.weights.tolist(),
        "columns": weighted.columns.tolist(),
        "found": estimator.fitted_attributes(),
    }


def restore_booster(estimator: BoostedClassifier, metadata: dict[str, Any], trees: Trees, outputs: Pieces) -> None:
    """Give a booster whose classes are set its rules. Raises ArtifactError, KeyError, TypeError and ValueError."""
    n_classes = len(estimator.classes_)
    n_scores = 1 if n_classes == 2 else n_classes
    weights, columns = parse_numbers(metadata["weights"]), np.array(metadata["columns"])
    if not len(weights) == len(columns) == len(outputs) == len(trees) or columns.dtype != np.int64:
        raise ArtifactError("the numbers of rules, weights, columns and outputs differ.")
    if not ((columns >= 0) & (columns < n_scores)).all() or n_classes < N_RULE_CLASSES:
        raise ArtifactError("a rule contributes to a score that does not exist.")
    if not (np.abs(weights) <= _LARGEST).all():
        raise ArtifactError("the weight of a rule is too large for a score to be finite.")
    rules = tuple(Rule(nodes, output) for nodes, output in zip(trees, outputs, strict=True))
    estimator.weighted_rules_ = WeightedRules(rules, weights, columns, n_scores)
    estimator.restore_fitted_attributes(metadata["found"])


def split_by_tree(outputs: NDArray[Any], trees: Trees) -> Pieces:
    """Return the array of a file as one view per tree. Raises ArtifactError."""
    ends = np.cumsum([len(nodes.feature) for nodes in trees])
    if outputs.shape != (ends[-1],) or outputs.dtype != np.float64 or not (np.abs(outputs) <= _LARGEST).all():
        raise ArtifactError("the outputs of the rules have the wrong shape or type, or are too large.")
    return list(np.split(outputs, ends[:-1]))
