"""Memory of a fit, estimated from the size of the table and the parameters, before any row is read.

The number of nodes decides. It is estimated for labels that do not depend on the features at all: trees of noise are
the largest, and clean data may give trees a hundred times smaller. The shares of leaves that such trees have were
measured; `benchmarks.service.job_memory` compares the estimates with jobs.
"""

from typing import Any, NamedTuple

from core.automatic.auto_classifier import AutoClassifier
from core.automatic.candidates import FAMILIES, TREES_PER_FAMILY
from core.automatic.members import N_TREES
from core.automatic.search import MAX_SEARCH_ROWS, N_CHOSEN
from core.boosting.boosted_classifier import BoostedClassifier
from core.boosting.lpboost import LPBoostClassifier
from core.boosting.rmboost import RMBoostClassifier
from core.forests.forest import ExtraTreesClassifier, GrownForest
from core.kernel_ridge.fitting import MAX_FEATURES, MAX_LANDMARKS
from core.losses.parsing import parse_loss
from core.registry import AnyClassifier

#: Arrays of one node of a stored tree, and what Python needs for one tree.
_NODE_BYTES, _TREE_BYTES = 37, 2_500
#: One node while its tree grows, without a number per class; and the maps that put the nodes in order.
_GROWING_NODE_BYTES = 41 + 12
#: Buffers of one thread for each row: the rows of the tree with labels and weights, their copies, and sample counts.
_ROW_BYTES_PER_THREAD = 130
#: Arrays over the rows that a fit holds: weights, labels, and scores or shares of a booster.
_ROW_BYTES = 150
#: Columns that are binned at a time, each sorted as float64.
_COLUMNS_AT_ONCE = 16
#: One inner node in the layout for predictions.
_LAYOUT_NODE_BYTES = 24
#: One number of the linear program of LPBoost, which is dense, while its dictionary is computed again.
_SIMPLEX_CELL_BYTES = 48
#: One threshold between two values; with exact bins, there can be as many as values.
_THRESHOLD_BYTES = 8
#: Arrays (row, class) that scores take at their peak, and those that out-of-bag votes take.
_TABLES_OF_SCORES, _TABLES_OF_VOTES = 9, 4
#: Arrays (row, class) that the probabilities of true classes and the labels drawn from them take.
_TABLES_OF_DRAWING = 8
#: Arrays (row, landmark) of a kernel ridge regression, with the sums over its blocks of rows, and copies of the rows.
_TABLES_OF_RIDGE, _COPIES_OF_RIDGE = 3, 3
#: Number and leaf of each row that a tree leaves out, 12 bytes for 37 % of the rows of the table.
_LEFT_OUT_BYTES = 5
#: Share of the rows that a bootstrap sample contains.
_DRAWN = 0.64
#: Leaves for each row of a leaf that `min_samples_leaf` allows: splits are rarely even.
_FILLED = 0.85


class TableShape(NamedTuple):
    """Size of a training table."""

    n_rows: int
    n_features: int
    n_classes: int
    gini: float  #: probability that two labels drawn at random differ
    value_bytes: int = 8  #: of one number of X

    @property
    def table_bytes(self) -> int:
        """Size of X."""
        return self.n_rows * self.n_features * self.value_bytes

    def with_rows(self, n_rows: int) -> "TableShape":
        """Return the shape of a table with another number of the same rows."""
        return self._replace(n_rows=n_rows)


class FitMemory(NamedTuple):
    """Memory of one fit in bytes, without X."""

    model: int  #: of the fitted estimator
    growing: int  #: at the peak of the fit in addition to the model
    predicting: int  #: of the layout for predictions
    n_trees: int
    leaves_per_tree: int


def fit_memory(estimator: AnyClassifier, shape: TableShape, n_threads: int) -> FitMemory:
    """Return the memory of fitting an unfitted estimator to a table of this shape."""
    if isinstance(estimator, BoostedClassifier):
        return _booster_memory(estimator, shape, n_threads)
    if isinstance(estimator, AutoClassifier):
        return _search_memory(shape, n_threads)
    return _forest_memory(estimator, shape, n_threads)


def scores_memory(shape: TableShape) -> int:
    """Return the bytes that scoring the rows of a table takes, without X."""
    return _TABLES_OF_SCORES * _table_of_classes(shape)


def _table_of_classes(shape: TableShape) -> int:
    return 8 * shape.n_rows * max(2, shape.n_classes)


def _forest_memory(estimator: Any, shape: TableShape, n_threads: int) -> FitMemory:
    is_forest = isinstance(estimator, GrownForest)
    n_trees = int(estimator.n_estimators) if is_forest else 1
    n_leaves = _leaves(estimator, shape, is_forest and bool(estimator.bootstrap))
    n_mixed = 0 if _grows_pure(estimator) else n_leaves
    trees = n_trees * _tree_bytes(n_leaves, n_mixed, shape.n_classes)
    threads = min(n_threads, n_trees) * _thread_bytes(shape, n_leaves, shape.n_classes, 1)
    if not is_forest:  # threads grow parts of one tree
        threads += (n_threads - 1) * _ROW_BYTES_PER_THREAD * shape.n_rows
    growing = _codes_bytes(estimator, shape) + _ROW_BYTES * shape.n_rows
    growing += max(threads, _binning_bytes(shape, n_threads))
    tuning = parse_loss(estimator.loss).tuning
    if is_forest and (estimator.oob_score or tuning is not None):
        growing += _TABLES_OF_VOTES * _table_of_classes(shape)
    if tuning is not None:
        growing += trees  # the best trees so far, and those of one candidate
    is_dense = n_mixed or estimator.correction is not None or not parse_loss(estimator.loss).votes_with_distribution
    dense = n_trees * n_leaves * (2 * 8 * shape.n_classes + _LAYOUT_NODE_BYTES) if is_dense else 0
    layout = n_trees * (n_leaves * _LAYOUT_NODE_BYTES + 8 * shape.n_classes) + dense
    return FitMemory(trees, growing, layout, n_trees, n_leaves)


def _search_memory(shape: TableShape, n_threads: int) -> FitMemory:
    """Return the memory of an automatic classifier. The leaves of its members are unknown before the search, so those
    that take most memory are assumed.

    At its peak, the search has in memory:

    - a copy of the rows that candidates are compared on;
    - the trees of every family, and those of one family that is grown again because it leads more than once;
    - for each of these trees, the leaves of the rows that it leaves out;
    - arrays of votes (row, class): one for each of the best candidates, one for the candidate that is scored, one for
      each half of its trees, and one for the sum of the halves.

    The pruned trees of the best candidates are not added to these: either the model consists of them, or they are
    freed before the trees of the model grow. These may grow on labels that are drawn from probabilities (row, class).
    """
    members = _largest_forest(N_TREES, shape, n_threads)
    part = shape.with_rows(min(shape.n_rows, MAX_SEARCH_ROWS))
    n_searched = (len(FAMILIES) + 1) * TREES_PER_FAMILY
    searched = _largest_forest(n_searched, part, n_threads)
    n_votes = N_CHOSEN + 4
    searching = (
        searched.model
        + _LEFT_OUT_BYTES * n_searched * part.n_rows
        + n_votes * _table_of_classes(part)
        + searched.growing
        + part.table_bytes
    )
    n_compared = min(MAX_FEATURES, shape.n_features)
    ridge = 8 * part.n_rows * (_TABLES_OF_RIDGE * MAX_LANDMARKS + _COPIES_OF_RIDGE * n_compared)
    ridge += _TABLES_OF_VOTES * _table_of_classes(part)
    drawing = _TABLES_OF_DRAWING * _table_of_classes(shape) + shape.table_bytes
    return members._replace(growing=searching + ridge + members.growing + drawing)


def _largest_forest(n_trees: int, shape: TableShape, n_threads: int) -> FitMemory:
    """Return the largest memory of a candidate: leaves of one row are more, larger leaves keep their distributions."""
    fits = [
        _forest_memory(
            ExtraTreesClassifier(n_estimators=n_trees, bootstrap=True, oob_score=True, min_samples_leaf=size),
            shape,
            n_threads,
        )
        for size in (1, 2)
    ]
    return FitMemory(*(max(values) for values in zip(*fits, strict=True)))


def _booster_memory(estimator: Any, shape: TableShape, n_threads: int) -> FitMemory:
    n_problems = 1 if shape.n_classes == 2 else shape.n_classes
    n_rounds, n_scores = int(estimator.n_rounds), n_problems
    n_rules = n_rounds * n_problems
    n_leaves = _leaves(estimator, shape._replace(gini=0.5), False)
    rules = n_rules * (_tree_bytes(n_leaves, n_leaves, 2) + 16 * n_leaves)
    n_copies = 2
    growing = _codes_bytes(estimator, shape) + 2 * _ROW_BYTES * shape.n_rows
    growing += max(_thread_bytes(shape, n_leaves, 2, n_copies), _binning_bytes(shape, n_threads))
    if isinstance(estimator, RMBoostClassifier | LPBoostClassifier):
        growing += shape.n_rows * n_rounds * 3 // 2 + 100 * n_rounds**2  # leaves of each rule, and the linear program
    if isinstance(estimator, LPBoostClassifier):
        growing += _SIMPLEX_CELL_BYTES * shape.n_rows * n_rounds
    layout = n_rules * n_leaves * (2 * 8 * n_scores + 2 * _LAYOUT_NODE_BYTES)
    return FitMemory(rules, growing, layout, n_rules, n_leaves)


def _leaves(estimator: Any, shape: TableShape, is_bootstrapped: bool) -> int:
    """Return the number of leaves of one tree on labels of noise."""
    n_rows = _DRAWN * shape.n_rows if is_bootstrapped else shape.n_rows
    if getattr(estimator, "splitter", "best") == "random":
        share = min(2.8 * shape.gini, 0.3 + 0.67 * shape.gini)
    else:
        share = min(1.4 * shape.gini, 0.15 + 0.75 * shape.gini)
    limits = [share * n_rows, _FILLED * n_rows / int(estimator.min_samples_leaf)]
    if estimator.max_leaf_nodes:
        limits.append(int(estimator.max_leaf_nodes))
    if estimator.max_depth is not None:
        limits.append(2 ** min(int(estimator.max_depth), 62))
    return max(1, int(min(limits)))


def _grows_pure(estimator: Any) -> bool:
    """Return whether trees grow until all leaves have one class."""
    return (
        int(estimator.min_samples_leaf) == 1
        and estimator.max_depth is None
        and not estimator.max_leaf_nodes
        and not estimator.min_risk_decrease
    )


def _tree_bytes(n_leaves: int, n_mixed: int, n_classes: int) -> int:
    return _TREE_BYTES + (2 * n_leaves - 1) * _NODE_BYTES + 8 * n_mixed * n_classes


def _thread_bytes(shape: TableShape, n_leaves: int, n_classes: int, n_copies: int) -> int:
    nodes = 2 * n_leaves * (_GROWING_NODE_BYTES + 8 * n_classes)
    return n_copies * _ROW_BYTES_PER_THREAD * shape.n_rows + nodes


def _codes_bytes(estimator: Any, shape: TableShape) -> int:
    """Return the size of the binned features, which are stored twice, and of the thresholds."""
    if estimator.max_bins is None:
        return shape.n_rows * shape.n_features * (2 * 4 + _THRESHOLD_BYTES)
    return 2 * shape.n_rows * shape.n_features * (1 if int(estimator.max_bins) <= 256 else 2)


def _binning_bytes(shape: TableShape, n_threads: int) -> int:
    """Return the size of the columns that are being binned, before any tree grows."""
    threads = min(n_threads, -(-shape.n_features // _COLUMNS_AT_ONCE))
    columns = min(_COLUMNS_AT_ONCE, shape.n_features) * shape.value_bytes + 3 * 8
    return threads * shape.n_rows * columns
