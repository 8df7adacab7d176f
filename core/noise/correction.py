"""Loss correction of trees for labels of known noise (Sztukiewicz, Good and Dubrawski; Patrini et al. 2017).

T[a, b] is the share of class a that is observed as class b, so a leaf of clean distribution v is observed as p = T' v.

    forward    grow on the observed labels, and give leaves v = T^-T p
    backward   grow on corrected labels, row b of T^-1 for a row observed as b, which are unbiased for the clean ones
               and may be negative; the mean of a leaf's is T^-T p as well

The paper prints T^-1 for T^-T, which is right for symmetric T alone. Corrected values sum to 1 and may leave the
simplex; they are averaged over trees as they are, and probabilities are cut to the simplex at the end: cut in each
leaf, they would be biased towards what is observed.

Where rows weigh c_b by their observed class, a row of clean class a weighs s_a = sum over b of T[a, b] c_b on average.
The matrix of the weighted labels is T[a, b] c_b / s_a, and the leaf values are clean distributions under the weights s.

A matrix that is not known may be estimated from the labels themselves: `core.forests.noise_estimation_forest`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidNoise, InvalidParameter
from core.growth.voting import Vote
from core.kernels.criteria.gini import SignedGini
from core.losses.base import Loss
from core.losses.catalogue import SquaredError
from core.noise.transition import TransitionMatrix, to_transition_matrix
from core.parameters import SELF_CHECKED, Help, Parameter, parameters_of

CorrectionKind = Literal["forward", "backward"]
_KINDS = ("forward", "backward")
#: In the place of a matrix: find it in the rows of the fit.
ESTIMATE = "estimate"
#: Sampling errors of leaves grow by up to the condition number.
LARGEST_CONDITION = 1000.0
_PER_UNIT = 2.0**40
#: No entry of a corrected label in a file is larger, so that sums of them stay near 1.
_LARGEST_LABEL = 1e9
_WITH_OTHER_RATES = "merge them, lower the rates"
_INSTEAD = "merge them, give the matrix if you know it"
_FORM = 'it must be a mapping such as {"kind": "forward", "transition": [[0.8, 0.2], [0.3, 0.7]]}'


class CorrectedLabels(NamedTuple):
    """How a fit corrects: `labels`[b] is the corrected label of a row observed as class b."""

    kind: CorrectionKind
    labels: NDArray[np.float64]  # (observed class, clean class), rows sum to 1

    def values(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Corrected values of nodes with observed distributions `p` (node, class): same shape, sums and order."""
        return np.asarray(p @ self.labels)

    def criterion(self) -> SignedGini:
        """What corrected labels are split by under squared loss."""
        return SignedGini(self.labels @ self.labels.T)


class Correction(NamedTuple):
    """A correction that is known to be possible for some data; without a matrix, one is to be estimated first."""

    kind: CorrectionKind
    transition: TransitionMatrix | None

    def by_estimate(self, estimated: TransitionMatrix) -> "Correction":
        """The same with a matrix that was estimated. Raises InvalidNoise for one that nothing can be corrected by."""
        return self._replace(transition=_invertible(estimated, "estimated from the labels", _INSTEAD))

    def labels_for(self, classes: NDArray[Any], class_weights: NDArray[np.float64]) -> CorrectedLabels:
        """For labels of the sorted `classes` (class,), whose rows weigh `class_weights` (class,), none zero. Raises
        InvalidNoise for a matrix of other classes.
        """
        assert self.transition is not None, "estimated by now"
        transition = self.transition.among(classes).rows
        of_clean = transition @ class_weights
        labels = np.linalg.inv(transition) * (of_clean / class_weights[:, np.newaxis])
        return CorrectedLabels(self.kind, labels)


def check_class_weights(classes: NDArray[Any], class_weights: NDArray[np.float64]) -> None:
    """Raises InvalidParameter for a class (class,) of weight zero, which no correction can do without."""
    if (class_weights == 0).any():
        label = classes.tolist()[int(np.argmin(class_weights))]
        raise InvalidParameter(
            f"class_weight of class {label!r} is 0, and a correction needs the rows observed as each class to know "
            "what the others hide; give it a small weight, or leave its rows and its part of the matrix out."
        )


def parse_correction(correction: Any, loss: Loss) -> Correction | None:
    """The correction behind {"kind": "forward" | "backward", "transition": T}, None for None. T: rows in the order of
    the sorted classes, a TransitionMatrix, or "estimate". Raises InvalidNoise for what `loss` or no data could be
    corrected by.
    """
    if correction is None:
        return None
    if not isinstance(correction, Mapping) or set(correction) != {"kind", "transition"}:
        raise InvalidNoise(f"correction is {correction!r}; {_FORM}, or None.")
    return _parse_parameters(**correction, loss=loss)


def correction_parameters() -> tuple[Parameter, ...]:
    """Return the parameters of a correction, which are the keys of its mapping."""
    return tuple(p for p in parameters_of(_parse_parameters) if p.name != "loss")


def _parse_parameters(
    kind: Annotated[
        CorrectionKind,
        SELF_CHECKED,
        Help(
            "`forward` corrects the class distributions in the leaves. `backward` grows the trees on corrected labels "
            "and requires the loss `gini`."
        ),
    ],
    transition: Annotated[
        TransitionMatrix | Sequence[Sequence[float]] | Literal["estimate"],
        SELF_CHECKED,
        Help(
            "Transition matrix of the label noise in the data, or `estimate` to estimate it from the training rows of "
            "each fit."
        ),
    ],
    *,
    loss: Loss,
) -> Correction:
    if kind not in _KINDS:
        raise InvalidNoise(f"kind of correction is {kind!r}; it must be 'forward' or 'backward'.", "kind")
    if kind == "backward" and not isinstance(loss, SquaredError):
        raise InvalidNoise(
            f"backward correction grows on label weights that may be negative, and loss {loss.kind!r} needs "
            'probabilities; choose loss "gini", or "forward", which goes with every loss.',
            "kind",
        )
    if isinstance(transition, str) and transition == ESTIMATE:
        return Correction(kind, None)
    return Correction(kind, _invertible(_given(transition), "", _WITH_OTHER_RATES))


def asks_for_estimate(correction: Mapping[str, Any] | None) -> bool:
    """Whether the matrix of a correction, as callers write it, is to be found in the rows of the fit."""
    transition = None if correction is None else correction["transition"]
    return isinstance(transition, str) and transition == ESTIMATE


def _given(transition: Any) -> TransitionMatrix:
    if isinstance(transition, str):
        raise InvalidNoise(
            f"transition of correction is {transition!r}; it must be rows, one list of numbers per class, or "
            f"{ESTIMATE!r}.",
            "transition",
        )
    return to_transition_matrix(transition)


def _invertible(transition: TransitionMatrix, origin: str, way_out: str) -> TransitionMatrix:
    condition = float(np.linalg.cond(transition.rows))
    if not condition <= LARGEST_CONDITION:
        raise InvalidNoise(
            f"the transition matrix {origin and origin + ' '}has condition number {condition:.4g}; a correction takes "
            f"at most {LARGEST_CONDITION:g}, as it multiplies sampling errors by up to that. Some classes are observed "
            f'nearly alike: {way_out}, or train without correction on a robust loss such as "ne".',
            "transition",
        )
    return transition


def leaf_vote(loss: Loss, corrected: CorrectedLabels | None) -> Vote:
    """Return how leaves vote under `loss` and a label correction, if there is one.

    If leaves vote with their class distribution, the corrected distribution is used as it is. If the vote is computed
    from it, as with the loss `gce`, it is projected onto the simplex first.
    """
    if corrected is None:
        return loss.vote
    if loss.votes_with_distribution:
        return corrected.values
    return lambda p: loss.vote(on_simplex(corrected.values(p)))


def on_simplex(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """`values` (row, class) with negatives cut to 0 and rows divided by their sums; the largest stays the largest.

    Multiples of 2**-40, about 1e-12, so that classes whose votes tie before a correction that treats them alike tie
    after it as well.
    """
    positive = np.maximum(np.rint(values * _PER_UNIT) / _PER_UNIT, 0.0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def checked_labels(kind: Any, rows: Any, n_classes: int) -> CorrectedLabels:
    """What a file says about a correction. Raises ValueError for what no fit could have made."""
    labels = np.array(rows, dtype=np.float64)
    if kind not in _KINDS or labels.shape != (n_classes, n_classes) or not np.isfinite(labels).all():
        raise ValueError("not a correction of these classes")
    largest = np.abs(labels).max()
    if largest > _LARGEST_LABEL or not np.allclose(labels.sum(axis=1), 1.0, atol=1e-12 * largest + 1e-9):
        raise ValueError("corrected labels do not sum to 1")
    return CorrectedLabels(cast(CorrectionKind, kind), labels)


def of_two_classes(correction: Any) -> Any:
    """A correction of the same kind and a known matrix for any two classes, to try it out on; None for None."""
    return correction and {**correction, "transition": [[0.9, 0.1], [0.2, 0.8]]}
