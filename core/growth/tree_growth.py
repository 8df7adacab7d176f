"""Growth of one tree: calls of the growth kernels, by one thread or by several that grow subtrees.

A call grows the upper part of a subtree and defers the nodes with at most half of its rows, which any thread then takes
as subtrees. The parts of the tree are joined at the end. The tree is the same for any number of threads, because each
node has a random stream of its own.
"""

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.exceptions import FitStopped
from core.growth.growth_problem import GrowthProblem
from core.kernels.criteria.catalog import Criterion
from core.kernels.growth.growth_workspace import GrowthLimits, GrowthWorkspace
from core.kernels.growth.nodes import PendingNode
from core.kernels.growth.partition import TreeRows
from core.kernels.growth.tree_nodes import LEAF, GrowingNodes, TreeNodes, compact_nodes
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

#: Subtrees of at most this many rows are grown by one thread.
_MOST_UNDIVIDED_ROWS = 4096


class GrownPart(NamedTuple):
    """Nodes of a part of a tree, numbered from 0, and its deferred nodes, whose parents are among them."""

    nodes: GrowingNodes
    deferred: list[PendingNode]
    tree_weight: float


class Place(NamedTuple):
    """Place of a subtree: the number of the part that contains its parent, and the number of the parent there."""

    part: int
    parent: int
    is_left: bool


class TreeGrowth(NamedTuple):
    """Input of the growth of one tree."""

    problem: GrowthProblem
    tree_rows: TreeRows
    criterion: Criterion
    limits: GrowthLimits
    random_state: NDArray[np.uint64]
    stop_flag: NDArray[np.uint8]

    def can_be_divided(self) -> bool:
        """Return whether the tree is large and the same in whatever order its nodes are grown.

        Best-first growth compares all leaves. If features or cuts are drawn at random, the draws depend on the order in
        which the nodes before have left the features.
        """
        considers_all = self.limits.search.max_features >= self.problem.features.codes.shape[0]
        is_best_first, draws_cuts = self.limits.max_leaf_nodes > 0, self.problem.workspaces.random_cuts
        is_large = len(self.tree_rows.rows) > _MOST_UNDIVIDED_ROWS
        return is_large and considers_all and not is_best_first and not draws_cuts

    def grow_whole(self) -> TreeNodes:
        """Grow all nodes in the calling thread. Raises FitStopped."""
        workspace = self._workspace()
        if self.limits.max_leaf_nodes:
            with np.errstate(over="ignore"):  # integer overflow of the generator is intended; without the JIT it warns
                grown = grow_best_first(
                    self.problem.features,
                    self.tree_rows,
                    self.criterion,
                    self.limits,
                    self.random_state,
                    self.stop_flag,
                    workspace,
                )
            return compact_nodes(workspace.nodes, _finished(grown).n_nodes)
        return compact_nodes(workspace.nodes, self._grow_depth_first(workspace, WHOLE_TREE).n_nodes)

    def grow_upper_part(self) -> GrownPart:
        """Grow the nodes with more than half of the rows. Raises FitStopped."""
        return self._grow_part(WHOLE_TREE._replace(deferred_rows=_deferred_rows(len(self.tree_rows.rows))))

    def grow_subtree(self, root: PendingNode, tree_weight: float) -> GrownPart:
        """Grow the subtree of a deferred node, or the upper part of a large one. Raises FitStopped."""
        # The order of features that are constant in the parent is known only in the workspace that it was grown in.
        root = root._replace(parent=-1, n_constant=0)
        uncompiled(write_pending)(self._workspace().stack, 0, root)
        return self._grow_part(TreePart(True, tree_weight, _deferred_rows(root.stop - root.start)))

    def _grow_part(self, part: TreePart) -> GrownPart:
        workspace = self._workspace()
        grown = self._grow_depth_first(workspace, part)
        nodes = GrowingNodes._make(column[: grown.n_nodes].copy() for column in workspace.nodes)
        n_positions = len(workspace.stack.seeds)
        positions = range(n_positions - grown.n_deferred, n_positions)
        deferred = [uncompiled(read_pending)(workspace.stack, position) for position in positions]
        return GrownPart(nodes, deferred, grown.tree_weight)

    def _grow_depth_first(self, workspace: GrowthWorkspace, part: TreePart) -> GrowthResult:
        with np.errstate(over="ignore"):
            grown = grow_depth_first(
                self.problem.features,
                self.tree_rows,
                self.criterion,
                self.limits,
                self.random_state,
                self.stop_flag,
                workspace,
                part,
            )
        return _finished(grown)

    def _workspace(self) -> GrowthWorkspace:
        return self.problem.workspaces.get(self.problem.features, self.problem.n_classes)


def _deferred_rows(n_rows: int) -> int:
    return n_rows // 2 if n_rows > _MOST_UNDIVIDED_ROWS else 0


def _finished(grown: GrowthResult) -> GrowthResult:
    if not grown.finished:
        raise FitStopped(STOPPED)
    return grown


def grow_in_parts(growth: TreeGrowth, n_threads: int) -> TreeNodes:
    """Grow one tree by several threads. Raises FitStopped."""
    pool = ThreadPoolExecutor(n_threads)
    try:
        parts: list[GrowingNodes] = []
        places: list[Place] = []
        running: dict[Future[GrownPart], Place] = {pool.submit(growth.grow_upper_part): Place(-1, -1, False)}
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                places.append(running.pop(future))
                part = future.result()
                for node in part.deferred:
                    place = Place(len(parts), node.parent, bool(node.is_left))
                    running[pool.submit(growth.grow_subtree, node, part.tree_weight)] = place
                parts.append(part.nodes)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    nodes = _joined(parts, places)
    return compact_nodes(nodes, len(nodes.feature))


def _joined(parts: list[GrowingNodes], places: list[Place]) -> GrowingNodes:
    """Return the nodes of all parts as one tree, whose root is the first node of the first part."""
    sizes = [len(part.feature) for part in parts]
    firsts = np.cumsum([0, *sizes[:-1]])
    nodes = GrowingNodes._make(map(np.concatenate, zip(*parts, strict=True)))
    for children in (nodes.children_left, nodes.children_right):
        children += np.where(children == LEAF, 0, np.repeat(firsts, sizes)).astype(np.int32)
    for first, place in zip(firsts[1:], places[1:], strict=True):
        children = nodes.children_left if place.is_left else nodes.children_right
        children[firsts[place.part] + place.parent] = first
    return nodes
