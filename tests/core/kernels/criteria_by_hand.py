"""One criterion of each type, and its impurities and gains for given class weights, without a search."""

import numpy as np

from core.kernels.criteria.dispatch import gain_from_objective
from core.kernels.criteria.dispatch import node_impurity as impurity_with_scratch
from core.kernels.criteria.distribution import TabulatedImpurity
from core.kernels.criteria.entropy import Credal, Entropy, lifted_log_table
from core.kernels.criteria.gini import Gini, NegativeExponentialImpurity, SignedGini
from core.kernels.criteria.norm import (
    GeneralizedCrossEntropyImpurity,
    Misclassification,
    NearEntropy,
    NearMisclassification,
)
from core.kernels.criteria.powers import PowerTables, new_power_tables
from core.kernels.criteria.two_sided import Ranking, Twoing
from core.kernels.search.random_cuts import cut_objective

_NO_TABLE = np.zeros(1, dtype=np.float64)


def power_tables(a: float) -> PowerTables:
    return PowerTables(*new_power_tables(a))


#: One criterion per row of the catalog, with tables as short as possible.
ONE_OF_EACH = (
    Gini(),
    Entropy(_NO_TABLE),
    Misclassification(1.0),
    NegativeExponentialImpurity(0.5, 2),
    GeneralizedCrossEntropyImpurity(2.0, 2.0, 0.5, power_tables(0.5), _NO_TABLE, power_tables(0.0)),
    NearMisclassification(1.0 / 0.99, 100.0, 0.01),
    NearEntropy(0.001),
    TabulatedImpurity(np.array([[0.0, 1.0, 0.0, 1.0]]), 2),
    Twoing(),
    Credal(1.0, 2, lifted_log_table(1.0, 2), _NO_TABLE),
    Ranking(1.0),
    SignedGini(np.eye(2)),
)


def node_impurity(criterion, class_weights):
    return impurity_with_scratch(criterion, class_weights, np.empty_like(class_weights))


def split_gain(criterion, parent_impurity, left, right):
    objective = cut_objective(criterion, left, right, np.empty_like(left))
    return gain_from_objective(criterion, parent_impurity, objective, (left + right).sum())
