"""Hand-made features and plain Python versions of parts of the split search, shared by the tests of the search."""

from itertools import count

import numpy as np

from core.growth.binning import bin_features
from core.kernels.features import BinnedFeatures
from core.kernels.growth.tree_nodes import LEAF, GrowingNodes
from core.kernels.search import packed_sums
from core.kernels.search.node_codes import NodeRows

WIDTHS = [np.uint8, np.uint16, np.uint32]


def binned_features(codes, n_bins=None):
    """Return the features of a matrix of codes (feature, row) of any width; a bin of code c holds the value c."""
    n_bins = np.full(len(codes), codes.max() + 1) if n_bins is None else np.asarray(n_bins)
    values = np.concatenate([np.arange(n, dtype=np.float64) for n in n_bins])
    return BinnedFeatures(
        codes=np.ascontiguousarray(codes),
        codes_by_row=np.ascontiguousarray(codes.T),
        n_bins=n_bins.astype(np.int64),
        bin_offsets=np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64),
        bin_low=values,
        bin_high=values,
        is_categorical=np.zeros(len(codes), dtype=np.uint8),
    )


def bin_features_as(width):
    """Return `bin_features` with codes of the given width, whether the data need it or not."""

    def binned(*arguments):
        narrow = bin_features(*arguments)
        wide = binned_features(narrow.codes.astype(width), narrow.n_bins)
        return wide._replace(bin_low=narrow.bin_low, bin_high=narrow.bin_high)

    return binned


def node_with_rows(classes, weights):
    """Return all rows 0, 1, ... as one node."""
    rows = np.arange(len(classes), dtype=np.uint32)
    return NodeRows(rows, np.asarray(classes, dtype=np.uint16), np.asarray(weights, dtype=np.float64))


def packed_rows(classes, weights, n_classes):
    """Return the rows with their words, which are undefined if the rows cannot be packed."""
    words = np.empty(len(classes), dtype=np.uint64)
    n_fitting = packed_sums.pack_weights(classes, weights, n_classes, words)
    return packed_sums.PackedRows(words, np.arange(n_classes), n_fitting, packed_sums.bits_per_class(n_classes))


def class_weights_by_code(codes, classes, weights):
    """Return {(code, class): weight} in plain Python."""
    table: dict[tuple[int, int], float] = {}
    for code, k, weight in zip(codes, classes, weights, strict=True):
        table[int(code), int(k)] = table.get((int(code), int(k)), 0.0) + float(weight)
    return table


def goes_left(code, last_left_code, missing_code, missing_goes_left):
    return missing_goes_left if code == missing_code else code <= last_left_code


def allowed_codes(codes, missing_code, min_rows, missing_goes_left):
    """Return the codes after which a cut leaves at least `min_rows` rows on both sides."""
    present = list(range(min(codes), missing_code))
    counts = [sum(goes_left(code, c, missing_code, missing_goes_left) for code in codes) for c in present]
    return {c for c, n in zip(present, counts, strict=True) if min(n, len(codes) - n) >= min_rows}


def renumbered(nodes, numbers):
    """Return the same tree with node i renumbered to numbers[i]."""
    result = GrowingNodes(*(np.empty_like(column) for column in nodes))
    for column, target in zip(nodes, result, strict=True):
        np.asarray(target)[numbers] = column
    for children in (result.children_left, result.children_right):
        inner = children != LEAF
        children[inner] = numbers[children[inner]]
    return result


def preorder(nodes, node=0):
    """Return the old numbers in preorder, by recursion."""
    if nodes.children_left[node] == LEAF:
        return [node]
    return [node, *preorder(nodes, nodes.children_left[node]), *preorder(nodes, nodes.children_right[node])]


def risk_decreases(tree):
    """Return the decrease of the training risk by the split of each inner node, from the stored impurities."""
    mass = tree.weighted_n_node_samples * tree.impurity
    inner = np.flatnonzero(tree.children_left != LEAF)
    decreases = mass[inner] - mass[tree.children_left[inner]] - mass[tree.children_right[inner]]
    return dict(zip(inner.tolist(), (decreases / tree.weighted_n_node_samples[0]).tolist(), strict=True))


def splits_best_first(tree, max_leaf_nodes):
    """Return the inner nodes of a fully grown tree that best-first growth splits, in its order.

    The node with the largest decrease is split first, and of equal ones the oldest.
    """
    decreases, numbers = risk_decreases(tree), count()
    leaves = [(0, next(numbers))]
    split_nodes: list[int] = []
    while len(split_nodes) < max_leaf_nodes - 1:
        splittable = [(age, node) for node, age in leaves if node in decreases]
        if not splittable:
            break
        largest = max(decreases[node] for _, node in splittable)
        age, node = min(pair for pair in splittable if decreases[pair[1]] > largest - 1e-12)
        leaves.remove((node, age))
        leaves += [(tree.children_left[node], next(numbers)), (tree.children_right[node], next(numbers))]
        split_nodes.append(node)
    return split_nodes
