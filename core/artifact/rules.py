"""The rules of a fitted booster in its artefact: their trees as any others, what their nodes say as one array more, and
their weights and what the rounds found among the facts.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.artifact.trees import Pieces
from core.boosting.boosted_classifier import BoostedClassifier, finite_numbers
from core.boosting.rules import Rule, WeightedRules
from core.exceptions import ArtifactError
from core.growth.tree_structure import Trees

#: Name of the array of what nodes say.
OUTPUTS = "rule_outputs"
#: Rules are grown on two classes, whatever the labels are.
CLASSES_OF_RULES = 2


def boosted_facts(estimator: BoostedClassifier) -> dict[str, Any]:
    """What makes a booster beside the trees and what they say, as JSON."""
    weighted = estimator.weighted_rules_
    return {
        "weights": weighted.weights.tolist(),
        "columns": weighted.columns.tolist(),
        "found": estimator.fit_facts(),
    }


def restore_boosted(estimator: BoostedClassifier, facts: dict[str, Any], trees: Trees, outputs: Pieces) -> None:
    """Give a booster, whose classes are known, its rules. Raises ArtifactError, KeyError, TypeError and ValueError."""
    n_classes = len(estimator.classes_)
    n_scores = 1 if n_classes == 2 else n_classes
    weights, columns = finite_numbers(facts["weights"]), np.array(facts["columns"])
    if not len(weights) == len(columns) == len(outputs) == len(trees) or columns.dtype != np.int64:
        raise ArtifactError("there is not one weight and one column a rule.")
    if not ((columns >= 0) & (columns < n_scores)).all() or n_classes < CLASSES_OF_RULES:
        raise ArtifactError("a rule adds to a score that does not exist.")
    rules = tuple(Rule(nodes, said) for nodes, said in zip(trees, outputs, strict=True))
    estimator.weighted_rules_ = WeightedRules(rules, weights, columns, n_scores)
    estimator.restore_found(facts["found"])


def outputs_by_tree(outputs: NDArray[Any], trees: Trees) -> Pieces:
    """The array of a file as one view a tree. Raises ArtifactError."""
    ends = np.cumsum([len(nodes.feature) for nodes in trees])
    if outputs.shape != (ends[-1],) or outputs.dtype != np.float64 or not np.isfinite(outputs).all():
        raise ArtifactError("what the rules say has the wrong shape or type, or is not finite.")
    return list(np.split(outputs, ends[:-1]))
