"""Growth of one tree: calls of the growth kernels, for the whole tree or for parts of it that several threads grow.

A call grows the upper part of a subtree and defers large nodes with at most half of its rows. Any thread then grows
them as subtrees. Each node has a random stream of its own, and each part searches the features in their order at first,
so that the tree is the same whoever grows a part.
"""

import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import FitStopped
from core.growth.growth_problem import GrowthProblem
from core.kernels.criteria.catalog import Criterion
from core.kernels.features import BinnedFeatures
from core.kernels.growth.growth_workspace import GrowthLimits, GrowthWorkspace
from core.kernels.growth.nodes import PendingNode
from core.kernels.growth.partition import TreeRows
from core.kernels.growth.tree_nodes import LEAF, GrowingNodes, TreeNodes, compact_nodes, new_growing_nodes
from core.kernels.growth.trees import (
    WHOLE_TREE,
    GrowthResult,
    TreePart,
    grow_best_first,
    grow_depth_first,
    read_pending,
    write_pending,
)
from core.kernels.jit import uncompiled
from core.monitoring import STOPPED

#: Trees and subtrees of at most this many rows are grown in one call.
_MOST_UNDIVIDED_ROWS = 4096
#: Smaller nodes are not worth a call of their own.
_FEWEST_DEFERRED_ROWS = 1024


#: Arguments that both growth kernels have in common, before the workspace.
_Arguments = tuple[BinnedFeatures, TreeRows, Criterion, GrowthLimits, NDArray[np.uint64], NDArray[np.uint8]]


class PartsOfTree:
    """Nodes of the parts that have been grown, in the order in which the parts ended."""

    def __init__(self, n_rows: int, n_classes: int) -> None:
        self.nodes = new_growing_nodes(2 * n_rows, n_classes)
        self.n_nodes = 0
        self.tree_weight = 0.0
        self._lock = threading.Lock()

    def add(self, part: GrowingNodes, n_nodes: int, parent: int, is_left: int) -> int:
        """Copy the first `n_nodes` of a part and return the number of its root, which is linked to `parent` unless that
        is -1.
        """
        with self._lock:
            first, self.n_nodes = self.n_nodes, self.n_nodes + n_nodes
        for name, column in self.nodes._asdict().items():
            column[first : first + n_nodes] = getattr(part, name)[:n_nodes]
        for children in (self.nodes.children_left, self.nodes.children_right):
            own = children[first : first + n_nodes]
            own[own != LEAF] += first
        if parent >= 0:
            (self.nodes.children_left if is_left else self.nodes.children_right)[parent] = first
        return first


class TreeGrowth(NamedTuple):
    """Input of the growth of one tree."""

    problem: GrowthProblem
    tree_rows: TreeRows
    criterion: Criterion
    limits: GrowthLimits
    random_state: NDArray[np.uint64]
    stop_flag: NDArray[np.uint8]

    def grow(self, n_threads: int) -> TreeNodes:
        """Grow the tree. Raises FitStopped."""
        if self._is_divided():
            return _grow_in_parts(self, n_threads)
        workspace = self._workspace()
        grown = self._grow_best_first(workspace) if self.limits.max_leaf_nodes else self._grow(workspace, WHOLE_TREE)
        return compact_nodes(workspace.nodes, grown.n_nodes)

    def _is_divided(self) -> bool:
        """Return whether the tree is grown in parts, which must not depend on the number of threads: the order in which
        a node searches the features decides between splits that are equally good up to rounding.

        Best-first growth compares all leaves. If features or cuts are drawn at random, the draws depend on the order in
        which the nodes before have left the features.
        """
        considers_all = self.limits.search.max_features >= self.problem.features.codes.shape[0]
        is_best_first, draws_cuts = self.limits.max_leaf_nodes > 0, self.problem.workspaces.random_cuts
        is_large = len(self.tree_rows.rows) > _MOST_UNDIVIDED_ROWS
        return is_large and considers_all and not is_best_first and not draws_cuts

    def grow_upper_part(self, parts: PartsOfTree) -> list[PendingNode]:
        """Grow the root and what is not deferred; return the deferred nodes. Raises FitStopped."""
        part = _part(len(self.tree_rows.rows), WHOLE_TREE)
        workspace = self._workspace()
        grown = self._grow(workspace, part)
        parts.tree_weight = grown.tree_weight
        return _collected(workspace, grown, parts, -1, 0)

    def grow_subtree(self, root: PendingNode, parts: PartsOfTree) -> list[PendingNode]:
        """Grow the subtree of a deferred node, or its upper part; return the deferred nodes. Raises FitStopped."""
        workspace = self._workspace()
        # Which features are constant in the parent is known only in the workspace that it was grown in.
        uncompiled(write_pending)(workspace.stack, 0, root._replace(parent=-1, n_constant=0))
        part = _part(root.stop - root.start, WHOLE_TREE._replace(is_subtree=True, tree_weight=parts.tree_weight))
        return _collected(workspace, self._grow(workspace, part), parts, root.parent, root.is_left)

    def _grow(self, workspace: GrowthWorkspace, part: TreePart) -> GrowthResult:
        with np.errstate(over="ignore"):  # integer overflow of the generator is intended; without the JIT it would warn
            return _finished(GrowthResult(*grow_depth_first(*self._arguments(), workspace, part)))

    def _grow_best_first(self, workspace: GrowthWorkspace) -> GrowthResult:
        with np.errstate(over="ignore"):
            return _finished(GrowthResult(*grow_best_first(*self._arguments(), workspace)))

    def _arguments(self) -> _Arguments:
        return self.problem.features, *self[1:]

    def _workspace(self) -> GrowthWorkspace:
        return self.problem.workspaces.get(self.problem.features, self.problem.n_classes)


def _part(n_rows: int, part: TreePart) -> TreePart:
    """Return the part of a subtree of `n_rows` rows that one call grows."""
    if n_rows <= _MOST_UNDIVIDED_ROWS:
        return part
    return part._replace(fewest_deferred_rows=_FEWEST_DEFERRED_ROWS, most_deferred_rows=n_rows // 2)


def _finished(grown: GrowthResult) -> GrowthResult:
    if not grown.finished:
        raise FitStopped(STOPPED)
    return grown


def _collected(
    workspace: GrowthWorkspace, grown: GrowthResult, parts: PartsOfTree, parent: int, is_left: int
) -> list[PendingNode]:
    """Add the nodes of a part to `parts`; return its deferred nodes, whose parents are numbered as there."""
    first = parts.add(workspace.nodes, grown.n_nodes, parent, is_left)
    n_positions = len(workspace.stack.seeds)
    positions = range(n_positions - grown.n_deferred, n_positions)
    deferred = (uncompiled(read_pending)(workspace.stack, position) for position in positions)
    return [node._replace(parent=first + node.parent) for node in deferred]


def _grow_in_parts(growth: TreeGrowth, n_threads: int) -> TreeNodes:
    """Grow one tree part by part. Raises FitStopped."""
    parts = PartsOfTree(len(growth.tree_rows.rows), growth.problem.n_classes)
    deferred = growth.grow_upper_part(parts)
    if n_threads > 1:
        _grow_subtrees_in_threads(growth, deferred, parts, n_threads)
    else:
        while deferred:
            deferred += growth.grow_subtree(deferred.pop(), parts)
    return compact_nodes(parts.nodes, parts.n_nodes)


def _grow_subtrees_in_threads(
    growth: TreeGrowth, deferred: list[PendingNode], parts: PartsOfTree, n_threads: int
) -> None:
    pool = ThreadPoolExecutor(n_threads)
    try:
        running = {pool.submit(growth.grow_subtree, node, parts) for node in deferred}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            further = [node for future in done for node in future.result()]
            running |= {pool.submit(growth.grow_subtree, node, parts) for node in further}
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
