"""One criterion of each type, and what it says of class weights without a search."""

import numpy as np

from core.kernels.criteria.dispatch import gain_of_children
from core.kernels.criteria.dispatch import node_impurity as impurity_on_workspace
from core.kernels.criteria.distribution import TabulatedImpurity
from core.kernels.criteria.entropy import Credal, Entropy, lifted_log_table
from core.kernels.criteria.gini import Gini, NegativeExponentialImpurity, SignedGini, SqrtGini
from core.kernels.criteria.norm import (
    GeneralizedCrossEntropyImpurity,
    Misclassification,
    NearEntropy,
    NearMisclassification,
)
from core.kernels.criteria.powers import new_power_tables
from core.kernels.criteria.two_sided import Ranking, Twoing
from core.kernels.search.random_cuts import children_of

_NO_TABLE = np.zeros(1, dtype=np.float64)

#: Tables are as short as they can be.
ONE_OF_EACH = (
    Gini(),
    Entropy(_NO_TABLE),
    Misclassification(1.0),
    SqrtGini(2),
    NegativeExponentialImpurity(0.5, 2),
    GeneralizedCrossEntropyImpurity(2.0, 2.0, 0.5, new_power_tables(0.5), _NO_TABLE, new_power_tables(0.0)),
    NearMisclassification(1.0 / 0.99, 100.0, 0.01),
    NearEntropy(0.001),
    TabulatedImpurity(np.array([[0.0, 1.0, 0.0, 1.0]]), 2),
    Twoing(),
    Credal(1.0, 2, lifted_log_table(1.0, 2), _NO_TABLE),
    Ranking(1.0),
    SignedGini(np.eye(2)),
)


def node_impurity(criterion, class_weights):
    return impurity_on_workspace(criterion, class_weights, np.empty_like(class_weights))


def split_gain(criterion, parent_impurity, left, right):
    children = children_of(criterion, left, right, np.empty_like(left))
    return gain_of_children(criterion, parent_impurity, children, (left + right).sum())
