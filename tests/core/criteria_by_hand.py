"""What a criterion says of class weights, without a search: impurity of a node, gain of two sides."""

import numpy as np

from core.kernels.dispatch import gain_of_children
from core.kernels.dispatch import node_impurity as impurity_on_workspace
from core.kernels.random_cuts import children_of


def node_impurity(criterion, class_weights):
    return impurity_on_workspace(criterion, class_weights, np.empty_like(class_weights))


def split_gain(criterion, parent_impurity, left, right):
    children = children_of(criterion, left, right, np.empty_like(left))
    return gain_of_children(criterion, parent_impurity, children, (left + right).sum())
