"""Order of the rows of a node after its split: left rows first."""

from typing import Any

from numpy.typing import NDArray

from core.kernels.features import BinnedFeatures
from core.kernels.growth.growth_workspace import GrowthWorkspace
from core.kernels.growth.partition import TreeRows, partition
from core.kernels.jit import inlined_kernel, inner_kernel
from core.kernels.search.categorical_cuts import rank_codes
from core.kernels.search.node_codes import mark_up_to
from core.kernels.search.packed_sums import PackedRows
from core.kernels.search.splitting import Split


@inlined_kernel
def order_rows(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    packed: PackedRows | None,
    start: int,
    stop: int,
    split: Split,
    codes: NDArray[Any],
    workspace: GrowthWorkspace,
) -> int:
    """Order rows[start:stop] left | right, whose codes or ranks are `codes`; return the number that go left."""
    also_left = features.n_bins[split.feature] if split.missing_goes_left else split.last_left_code
    goes_left = workspace.search.scan.goes_left
    n_left = mark_up_to(codes, stop - start, split.last_left_code, also_left, goes_left)
    partition(goes_left, tree_rows, packed, start, stop, workspace.spare)
    return n_left


@inner_kernel
def order_by_category(
    features: BinnedFeatures,
    tree_rows: TreeRows,
    packed: PackedRows | None,
    start: int,
    stop: int,
    split: Split,
    buffer: int,
    workspace: GrowthWorkspace,
) -> int:
    """Order the rows by a split of categories, whose ranks are known only now; return the number that go left."""
    codes = workspace.search.codes[buffer]
    if packed is None:
        rank_codes(codes, stop - start, workspace.search.categories.ranks[buffer])
    return order_rows(features, tree_rows, packed, start, stop, split, codes, workspace)
