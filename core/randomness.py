"""Independent random streams derived from `random_state`, one per purpose and one per tree."""

from collections.abc import Sequence
from enum import IntEnum
from numbers import Integral

import numpy as np
from numpy.random import Generator, RandomState, SeedSequence
from numpy.typing import NDArray

from core.exceptions import InvalidParameter

Seed = int | RandomState | Generator | None


class Purpose(IntEnum):
    """Purposes of random streams. The values are part of the meaning of a seed and never change."""

    GROWTH = 0  #: bootstrap and feature draws of the trees
    HOLDOUT = 1  #: which rows are held out
    NOISE = 2  #: which labels are flipped
    RESAMPLING = 3  #: rows drawn by weight for the rules of a booster
    FOLDS = 4  #: assignment of rows to folds; with the number of a fold, the seed of its noise and fit
    ESTIMATION = 5  #: bootstrap and feature draws of the noise-estimation forest
    REPEATS = 6  #: with the number of a repeat, the seed of its holdout, noise and fit
    LABEL_NOISE = 7  #: rows and forest of the estimate that scores on noisy labels are corrected with
    PERMUTATION = 8  #: order of the values of a feature whose importance is measured
    SEARCH = 9  #: bootstrap and feature draws of the search, by family and by repetition of families that lead again
    SEARCH_ROWS = 10  #: rows that candidates are compared on
    DRAWN_LABELS = 11  #: with the numbers of a member and a tree, the labels that the tree is grown on
    LANDMARKS = 12  #: rows that a kernel ridge regression compares others with


def _entropy(random_state: Seed) -> int | None:
    if random_state is None:
        return None
    if isinstance(random_state, RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, Generator):
        return int(random_state.integers(0, 2**63 - 1))
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    raise InvalidParameter(
        f"random_state is {random_state!r}; it must be None, an integer of at least 0, "
        "a numpy Generator or a RandomState."
    )


class SeedTree:
    """Random streams of one fit. The same stream always has the same numbers, even if the seed is None."""

    def __init__(self, random_state: Seed) -> None:
        """Start the streams from `random_state`.

        Raises InvalidParameter unless it is None, an integer of at least 0, a numpy Generator or a RandomState.
        """
        self._root = SeedSequence(_entropy(random_state))

    def _child(self, keys: Sequence[int]) -> SeedSequence:
        return SeedSequence(self._root.entropy, spawn_key=tuple(keys))

    def generator(self, purpose: Purpose) -> Generator:
        """Return the numpy generator of `purpose`."""
        return np.random.default_rng(self._child([purpose]))

    def fold_seed(self, fold: int) -> int:
        """Return the seed of fold number `fold`, which is independent of those of other folds."""
        return self._seed(Purpose.FOLDS, fold)

    def repeat_seed(self, repeat: int) -> int:
        """Return the seed of repeat number `repeat` of an experiment."""
        return self._seed(Purpose.REPEATS, repeat)

    def _seed(self, purpose: Purpose, number: int) -> int:
        return int(self._child([purpose, number]).generate_state(1, np.uint64)[0])

    def kernel_states(self, n_trees: int, purpose: Purpose = Purpose.GROWTH) -> NDArray[np.uint64]:
        """Return one generator state of the kernels per tree, uint64 (tree, 1); row t does not depend on n_trees."""
        states = [self.kernel_state(t, purpose) for t in range(n_trees)]
        return np.array(states, dtype=np.uint64).reshape(n_trees, 1)

    def member_states(self, n_trees: int, purpose: Purpose, member: int) -> NDArray[np.uint64]:
        """Return one generator state of the kernels per tree of member number `member`, uint64 (tree, 1)."""
        states = [self._child([purpose, member, tree]).generate_state(1, np.uint64) for tree in range(n_trees)]
        return np.array(states, dtype=np.uint64).reshape(n_trees, 1)

    def member_generator(self, purpose: Purpose, member: int, tree: int) -> Generator:
        """Return the numpy generator of `purpose` for one tree of member number `member`."""
        return np.random.default_rng(self._child([purpose, member, tree]))

    def kernel_state(self, tree: int, purpose: Purpose = Purpose.GROWTH) -> NDArray[np.uint64]:
        """Return the generator state of one tree, uint64 (1,)."""
        return self._child([purpose, tree]).generate_state(1, np.uint64).astype(np.uint64, copy=False)
