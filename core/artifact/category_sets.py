"""Sets of categories of the trees of an artifact: their arrays in the file, and their checks.

The sets of a tree are written one after the other, as `core.kernels.growth.category_sets` stores them. A file is
checked so that each split of a categorical feature, and no other node, has one set of categories that exist.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.artifact.pieces import Pieces, check_offsets, offsets
from core.exceptions import ArtifactError
from core.growth.tree_structure import Trees
from core.kernels.growth.category_sets import BLOCK_BITS
from core.kernels.growth.tree_nodes import NO_FEATURE, TreeNodes

_OFFSETS, _BLOCK_OFFSETS = "category_offsets", "category_block_offsets"
_NODES, _SIZES, _BLOCKS = "category_nodes", "category_set_sizes", "category_blocks"
_DTYPES = {_NODES: np.int32, _SIZES: np.int32, _BLOCKS: np.uint64}
CATEGORY_ARRAYS = frozenset({_OFFSETS, _BLOCK_OFFSETS, *_DTYPES})


def category_arrays(trees: Trees) -> dict[str, Pieces]:
    """Return the arrays of the file by name, in their order."""
    return {
        _OFFSETS: [offsets([len(nodes.category_nodes) for nodes in trees])],
        _BLOCK_OFFSETS: [offsets([len(nodes.category_blocks) for nodes in trees])],
        **{name: [getattr(nodes, name) for nodes in trees] for name in _DTYPES},
    }


def without_categories(n_trees: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file whose trees split no categories."""
    none = np.zeros(n_trees + 1, dtype=np.int64)
    return {_OFFSETS: none, _BLOCK_OFFSETS: none, **{name: np.empty(0, dtype) for name, dtype in _DTYPES.items()}}


def split_category_arrays(arrays: Mapping[str, NDArray[Any]], n_offsets: int) -> list[dict[str, NDArray[Any]]]:
    """Return the arrays of each tree as views. Raises ArtifactError."""
    for name, dtype in _DTYPES.items():
        if arrays[name].ndim != 1 or arrays[name].dtype != dtype:
            raise ArtifactError(f"array {name!r} has the wrong shape or type.")
    check_offsets(_OFFSETS, arrays[_OFFSETS], len(arrays[_NODES]), np.greater_equal)
    check_offsets(_BLOCK_OFFSETS, arrays[_BLOCK_OFFSETS], len(arrays[_BLOCKS]), np.greater_equal)
    if len(arrays[_SIZES]) != len(arrays[_NODES]):
        raise ArtifactError("the numbers of splits of categories and of their sets differ.")
    if not len(arrays[_OFFSETS]) == len(arrays[_BLOCK_OFFSETS]) == n_offsets:
        raise ArtifactError("the numbers of node offsets and category offsets differ.")
    return [
        {_NODES: arrays[_NODES][a:b], _SIZES: arrays[_SIZES][a:b], _BLOCKS: arrays[_BLOCKS][c:d]}
        for (a, b), (c, d) in zip(
            pairwise(arrays[_OFFSETS].tolist()), pairwise(arrays[_BLOCK_OFFSETS].tolist()), strict=True
        )
    ]


def check_category_sets(
    nodes: TreeNodes, is_categorical: NDArray[np.bool_] | None, n_categories: NDArray[np.int64] | None
) -> None:
    """Raise ArtifactError unless the splits of categorical features (feature,) have sets of existing categories."""
    is_inner = nodes.feature != NO_FEATURE
    splits_categories = np.zeros(len(is_inner), dtype=bool)
    if is_categorical is not None:
        splits_categories[is_inner] = is_categorical[nodes.feature[is_inner]]
    with_set = np.flatnonzero(splits_categories)
    if not (np.isnan(nodes.threshold) == splits_categories).all() or not np.array_equal(nodes.category_nodes, with_set):
        raise ArtifactError("a threshold is not a number, or a split of categories has no set of categories.")
    sizes = nodes.category_set_sizes.astype(np.int64)
    if not (sizes > 0).all() or sizes.sum() != len(nodes.category_blocks):
        raise ArtifactError("the sizes of the sets of categories do not cover their blocks.")
    if n_categories is not None and len(with_set):
        _check_blocks(nodes.category_blocks, sizes, n_categories[nodes.feature[with_set]])


def _check_blocks(blocks: NDArray[np.uint64], sizes: NDArray[np.int64], n_categories: NDArray[np.int64]) -> None:
    """Raise ArtifactError unless the blocks of each set ascend, are not empty and have categories below its number."""
    numbers, bits = (blocks >> np.uint64(BLOCK_BITS)).astype(np.int64), blocks & np.uint64(2**BLOCK_BITS - 1)
    set_of_block = np.repeat(np.arange(len(sizes)), sizes)
    if not ((np.diff(numbers) > 0) | (np.diff(set_of_block) > 0)).all() or not bits.all():
        raise ArtifactError("the blocks of a set of categories are empty or not in ascending order.")
    highest = numbers * BLOCK_BITS + np.frexp(bits.astype(np.float64))[1] - 1
    if not (highest < n_categories[set_of_block]).all():
        raise ArtifactError("a set contains a category that does not exist.")
