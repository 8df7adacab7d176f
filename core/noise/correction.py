"""Loss correction of trees for label noise with a known transition matrix (Sztukiewicz, Good and Dubrawski; Patrini et
al. 2017).

T[a, b] is the share of class a that is observed as class b, so a leaf with clean distribution v has the observed
distribution p = T' v.

    forward    grow on the observed labels; the leaf values are v = T^-T p
    backward   grow on corrected labels: row b of T^-1 for a row observed as b. They are unbiased for the clean labels
               and may be negative. Their mean in a leaf is also T^-T p

The paper prints T^-1 instead of T^-T, which is correct only for a symmetric T. Corrected values sum to 1 but may lie
outside the simplex. They are averaged over trees unchanged, and probabilities are clipped to the simplex at the end.
Clipping in each leaf would bias them towards the observed distribution.

If rows have the weight c_b by their observed class, a row of clean class a has the mean weight s_a = sum over b of
T[a, b] c_b. The transition matrix of the weighted labels is T[a, b] c_b / s_a, and the leaf values are clean
distributions under the weights s.

If the matrix is not known, it can be estimated from the labels: see `core.forests.noise_estimation_forest`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from core.exceptions import InvalidNoise, InvalidParameter
from core.growth.voting import Vote
from core.kernels.criteria.gini import SignedGini
from core.kernels.row_scans import clip_rows_to_simplex
from core.losses.base import Loss
from core.losses.catalog import SquaredError
from core.noise.transition import TransitionMatrix, to_transition_matrix
from core.parameters import SELF_CHECKED, Help, Parameter, parameters_of

CorrectionKind = Literal["forward", "backward"]
_KINDS = ("forward", "backward")
#: Value in place of a matrix that is to be estimated from the training rows.
ESTIMATE = "estimate"
#: A correction multiplies sampling errors by up to the condition number of the matrix.
MAX_CONDITION = 1000.0
_STEPS_PER_UNIT = 2.0**40
#: Limit on the entries of corrected labels in a file, so that rounding keeps their sums near 1.
_MAX_LABEL = 1e9
_WAY_OUT_OF_GIVEN = "merge them, use lower rates"
_WAY_OUT_OF_ESTIMATE = "merge them, pass the matrix if it is known"
_FORM = 'it must be a mapping such as {"kind": "forward", "transition": [[0.8, 0.2], [0.3, 0.7]]}'


class CorrectedLabels(NamedTuple):
    """Corrected labels of a fit: `labels`[b] replaces the label of a row that is observed as class b."""

    kind: CorrectionKind
    labels: NDArray[np.float64]  # (observed class, clean class), rows sum to 1

    def values(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the corrected values of nodes with observed distributions `p` (node, class), same shape and sums."""
        return np.asarray(p @ self.labels)

    def criterion(self) -> SignedGini:
        """Return the split criterion of corrected labels under squared loss."""
        return SignedGini(self.labels @ self.labels.T)


class Correction(NamedTuple):
    """Validated correction. If `transition` is None, it is estimated from the training rows."""

    kind: CorrectionKind
    transition: TransitionMatrix | None

    def with_estimate(self, estimated: TransitionMatrix) -> "Correction":
        """Return this correction with an estimated matrix. Raises InvalidNoise if the matrix is ill-conditioned."""
        return self._replace(transition=check_invertible(estimated, "estimated from the labels", _WAY_OUT_OF_ESTIMATE))

    def corrected_labels(self, classes: NDArray[Any], class_weights: NDArray[np.float64]) -> CorrectedLabels:
        """Return the corrected labels of the sorted `classes` (class,), whose rows have the weights `class_weights`
        (class,), all positive. Raises InvalidNoise for a matrix of other classes.
        """
        assert self.transition is not None, "the caller has estimated the matrix"
        transition = self.transition.among(classes).rows
        clean_weights = transition @ class_weights
        labels = np.linalg.inv(transition) * (clean_weights / class_weights[:, np.newaxis])
        return CorrectedLabels(self.kind, labels)


def check_class_weights(classes: NDArray[Any], class_weights: NDArray[np.float64]) -> None:
    """Raise InvalidParameter if one of the classes (class,) has weight zero."""
    if (class_weights == 0).any():
        label = classes.tolist()[int(np.argmin(class_weights))]
        raise InvalidParameter(
            f"class_weight of class {label!r} is 0; a correction requires rows of every observed class. Use a small "
            "weight, or remove the class from the data and from the matrix."
        )


def parse_correction(correction: Any, loss: Loss) -> Correction | None:
    """Return the correction that {"kind": "forward" | "backward", "transition": T} describes, or None for None.

    T is a list of rows in the order of the sorted classes, a TransitionMatrix, or "estimate". Raises InvalidNoise if
    the correction is not valid or not possible with `loss`.
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
            f"kind of correction is 'backward' and the loss is {loss.kind!r}; backward correction grows trees on label "
            'weights that may be negative and requires loss "gini". Use that loss, or "forward", which supports every '
            "loss.",
            "kind",
        )
    if isinstance(transition, str) and transition == ESTIMATE:
        return Correction(kind, None)
    return Correction(kind, check_invertible(_parse_matrix(transition), "", _WAY_OUT_OF_GIVEN))


def is_estimated(correction: Mapping[str, Any] | None) -> bool:
    """Return whether a correction, in the form of a mapping, has its matrix estimated from the training rows."""
    transition = None if correction is None else correction["transition"]
    return isinstance(transition, str) and transition == ESTIMATE


def _parse_matrix(transition: Any) -> TransitionMatrix:
    if isinstance(transition, str):
        raise InvalidNoise(
            f"transition of correction is {transition!r}; it must be a list of rows, one list of numbers per class, or "
            f"{ESTIMATE!r}.",
            "transition",
        )
    return to_transition_matrix(transition)


def check_invertible(transition: TransitionMatrix, origin: str, way_out: str) -> TransitionMatrix:
    """Return the matrix. Raises InvalidNoise if its condition number is above `MAX_CONDITION`.

    origin: words of the message that say where the matrix comes from, or "" if the caller has given it.
    way_out: words of the message that say what to do about it.
    """
    condition = float(np.linalg.cond(transition.rows))
    if not condition <= MAX_CONDITION:
        raise InvalidNoise(
            f"the transition matrix {origin and origin + ' '}has condition number {condition:.4g}; it must be at most "
            f"{MAX_CONDITION:g}, because a correction multiplies sampling errors by up to this number. Some classes "
            "have nearly the same distribution of observed labels: "
            f'{way_out}, or train without correction and with a robust loss such as "ne".',
            "transition",
        )
    return transition


def leaf_vote(loss: Loss, corrected: CorrectedLabels | None) -> Vote:
    """Return how leaves vote under `loss` and a label correction, if there is one.

    If leaves vote with their class distribution, the corrected distribution is used as it is. If the vote is computed
    from it, as with the loss `gce`, it is clipped to the simplex first.
    """
    if corrected is None:
        return loss.vote
    if loss.votes_with_distribution:
        return corrected.values
    return lambda p: loss.vote(clip_to_simplex(corrected.values(p)))


def clip_to_simplex(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `values` (row, class) with negative entries set to 0 and rows divided by their sums.

    The largest entry stays the largest. Values are rounded to multiples of 2**-40, about 1e-12, so that classes whose
    votes tie before a correction that treats them equally also tie after it.
    """
    clipped = np.array(values, order="C")
    clip_rows_to_simplex(clipped, _STEPS_PER_UNIT)
    return clipped


def parse_corrected_labels(kind: Any, rows: Any, n_classes: int) -> CorrectedLabels:
    """Return the corrected labels stored in a file. Raises ValueError if no fit can have produced them."""
    labels = np.array(rows, dtype=np.float64)
    if kind not in _KINDS or labels.shape != (n_classes, n_classes) or not np.isfinite(labels).all():
        raise ValueError("not a correction of these classes")
    largest = np.abs(labels).max()
    if largest > _MAX_LABEL or not np.allclose(labels.sum(axis=1), 1.0, atol=1e-12 * largest + 1e-9):
        raise ValueError("corrected labels do not sum to 1")
    return CorrectedLabels(cast(CorrectionKind, kind), labels)


def two_class_correction(correction: Any) -> Any:
    """Return a correction of the same kind with a fixed matrix of two classes, for warm-up fits; None for None."""
    return correction and {**correction, "transition": [[0.9, 0.1], [0.2, 0.8]]}
