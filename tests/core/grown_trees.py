"""Fitted trees as tests compare them."""


def node_bytes(model):
    """Every array of every tree, in order."""
    return [array.tobytes() for nodes in model.trees_ for array in nodes]
