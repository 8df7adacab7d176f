"""Fitted trees as tests compare them."""

import numpy as np


def node_bytes(model):
    """Every array of every tree, in order."""
    return [array.tobytes() for nodes in model.trees_ for array in nodes]


def at_all_nodes(model, column):
    """One column of the trees' nodes, tree after tree."""
    return np.concatenate([getattr(nodes, column) for nodes in model.trees_])


def at_roots(model, column):
    """One column of the trees' nodes at the root of each tree."""
    return np.array([getattr(nodes, column)[0] for nodes in model.trees_])
