"""Leaves that rows reach, and the nodes on their way, with scikit-learn's meaning of `apply` and `decision_path`."""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.growth.growing import thread_count
from core.growth.tree_structure import Tree, Trees
from core.kernels.growth.tree_nodes import TreeNodes
from core.kernels.prediction.traversal import find_leaves
from core.validation.training_data import prediction_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_NO_PARENT = -1


class _Fitted(Protocol):
    @property
    def trees_(self) -> Trees: ...

    @property
    def n_jobs(self) -> int | None: ...

    def _check_is_fitted(self, attribute: str) -> None: ...


class EnsemblePaths:
    """Methods of a classifier of several trees that return leaves and paths of rows."""

    def apply(self: _Fitted, X: Any) -> NDArray[np.int64]:
        """Return the leaf of each row of X in each tree, int64 (row, tree), as a node number of the tree."""
        self._check_is_fitted("trees_")
        return leaves_of_trees(self.trees_, prediction_rows(self, X), thread_count(self.n_jobs))

    def decision_path(self: _Fitted, X: Any) -> "tuple[csr_matrix, NDArray[np.int64]]":
        """Return the nodes that each row of X passes in all trees, as scikit-learn's forests do.

        The first result is a sparse indicator (row, node), in which the nodes of tree k have the columns from
        n_nodes_ptr[k] to n_nodes_ptr[k + 1]. The second result is n_nodes_ptr, int64 (tree + 1,).
        """
        self._check_is_fitted("trees_")
        return decision_paths(self.trees_, prediction_rows(self, X))


def leaves_of_trees(trees: Trees, X: NDArray[Any], n_threads: int = 1) -> NDArray[np.int64]:
    """Return the leaf of each row of X (row, feature) in each tree, int64 (row, tree)."""
    rows = np.array(X, order="C")
    leaves = np.empty((len(trees), len(rows)), dtype=np.int32)

    def fill(tree: int) -> None:
        find_leaves(rows, trees[tree], leaves[tree])

    with ThreadPoolExecutor(max(1, min(n_threads, len(trees)))) as pool:
        list(pool.map(fill, range(len(trees))))
    return leaves.T.astype(np.int64)


def decision_paths(trees: Trees, X: NDArray[Any]) -> "tuple[csr_matrix, NDArray[np.int64]]":
    """Return an indicator (row, node of any tree) of the nodes that rows pass, and the first node of each tree.

    The second result, int64 (tree + 1,), ends with the number of nodes.
    """
    from scipy.sparse import csr_matrix, hstack  # noqa: PLC0415  (a slow import that only few callers need)

    leaves = leaves_of_trees(trees, X)
    first_nodes = np.concatenate([[0], np.cumsum([len(nodes.feature) for nodes in trees])]).astype(np.int64)
    indicators = [csr_matrix(_path_arrays(nodes, at), shape=(len(X), len(nodes.feature)))
                  for nodes, at in zip(trees, leaves.T, strict=True)]  # fmt: skip
    return csr_matrix(hstack(indicators)), first_nodes


def _path_arrays(
    nodes: TreeNodes, leaves: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return data, indices and indptr of the compressed rows; leaves (row,). Nodes of a row are in ascending order."""
    parents = _parents(nodes)
    depths = _depths(parents)
    ends = np.cumsum(depths[leaves] + 1)
    indices = np.empty(int(ends[-1]), dtype=np.int64)
    here, place = leaves, ends - 1
    while len(here):
        indices[place] = here
        has_parent = parents[here] != _NO_PARENT
        here, place = parents[here][has_parent], place[has_parent] - 1
    return np.ones(len(indices), dtype=np.int64), indices, np.concatenate([[0], ends])


def _parents(nodes: TreeNodes) -> NDArray[np.int64]:
    """Return the parent of each node, (node,); that of the root is -1."""
    tree = Tree(nodes, n_features=0)
    parents = np.full(tree.node_count, _NO_PARENT, dtype=np.int64)
    for children in (tree.children_left, tree.children_right):
        inner = np.flatnonzero(children > 0)
        parents[children[inner]] = inner
    return parents


def _depths(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of edges from the root to each node, (node,)."""
    depths = np.zeros(len(parents), dtype=np.int64)
    here = parents
    while (here != _NO_PARENT).any():
        depths += here != _NO_PARENT
        here = np.where(here == _NO_PARENT, _NO_PARENT, parents[here])
    return depths
