"""Injection of label noise for experiments."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.exceptions import InvalidNoise
from core.monitoring import FitMonitor, NullMonitor, phase_monitor
from core.noise.base import CleanRows
from core.noise.parsing import parse_noise
from core.noise.transition import TransitionMatrix
from core.randomness import Purpose, Seed, SeedTree
from core.validation.labels import EncodedLabels, class_codes, encode_labels, label_column, labels_like
from core.validation.misplaced_arguments import check_has_labels, check_no_label_is_missing

#: Name of the phase that a monitor sees.
INJECTING = "injecting"


class NoisyLabels(NamedTuple):
    """Result of `inject_noise`.

    `labels` (row,) has the dtype of y, or of `classes` where they are given, or is `EncodedLabels` as y is. `flipped`
    (row,) marks the labels that changed. `transition` is the matrix that the labels were drawn from. Adversarial noise
    is not drawn; its `transition` is the observed one.
    """

    labels: Any
    flipped: NDArray[np.bool_]
    transition: TransitionMatrix


def inject_noise(
    y: Any,
    spec: Mapping[str, Any],
    *,
    X: Any = None,
    random_state: Seed = None,
    classes: ArrayLike | None = None,
    monitor: FitMonitor | None = None,
) -> NoisyLabels:
    """Return a noisy copy of the labels y (row,). `spec` is one of

        {"kind": "uniform", "rate": 0.2}                any other class, all equally likely
        {"kind": "pairwise", "rates": [0.1, 0.3]}       two classes, one rate per class
        {"kind": "one_sided", "class": "b", "rate": 0.2}
        {"kind": "matrix", "transition": [[...], ...]}  rows and columns in the order of the sorted classes
        {"kind": "class_conditional"}                   between classes that are close to each other in X
        {"kind": "adversarial", "rate": 0.1}            the rows of X with the largest margin of a boosted model

    The last two require X (row, feature). Each row draws its own label from the transition matrix, so the number of
    flips is random, except for adversarial noise. Pass the sorted `classes` if y may lack some of them. `monitor`
    receives one phase, "injecting". Raises InvalidNoise, FitStopped, and InvalidInput for
    X, for empty y and for missing labels.
    """
    labels = _encode(y, classes)
    noise = parse_noise(spec)
    noise.check_classes(labels.classes)
    if noise.needs_features and X is None:
        raise InvalidNoise(f"noise {noise.kind!r} depends on the features; pass X with one row per label.", "kind")
    clean = CleanRows(X, labels.codes.astype(np.int64), labels.classes)
    generator = SeedTree(random_state).generator(Purpose.NOISE)
    noisy = noise.inject(clean, generator, phase_monitor(monitor or NullMonitor(), INJECTING))
    noisy_labels = labels_like(y, labels.classes, noisy.codes)
    return NoisyLabels(noisy_labels, noisy.codes != labels.codes, noisy.transition)


def check_noise(spec: Mapping[str, Any], classes: ArrayLike, n_features: int | None = None) -> None:
    """Raise InvalidNoise if `inject_noise` would refuse `spec` for labels of these sorted `classes`, whatever the rows.

    If the number of features is given, also refuse what would take too much time or memory.
    """
    noise, names = parse_noise(spec), np.asarray(classes)
    noise.check_classes(names)
    if n_features is not None:
        noise.check_size(len(names), n_features)


def injection_phases(spec: Mapping[str, Any]) -> dict[str, float]:
    """Return the phases that a monitor of `inject_noise` sees, each with its work relative to growing one tree."""
    return {INJECTING: parse_noise(spec).work_in_trees}


def expected_noise_rate(spec: Mapping[str, Any], noisy: NoisyLabels, y: Any) -> float:
    """Return the expected share of wrong labels after `inject_noise(y, spec)` returned `noisy`."""
    classes = noisy.transition.classes
    class_counts = np.bincount(class_codes(classes, y)[0], minlength=len(classes))[: len(classes)]
    return parse_noise(spec).expected_rate(noisy.transition, class_counts)


def _encode(y: Any, classes: ArrayLike | None) -> EncodedLabels:
    labels = encode_labels(label_column(y))
    check_has_labels(labels)
    check_no_label_is_missing(labels)
    if classes is None:
        return labels
    names = encode_labels(classes).classes
    position = {label: k for k, label in enumerate(names.tolist())}
    unknown = [label for label in labels.classes.tolist() if label not in position]
    if unknown:
        raise InvalidNoise(
            f"y contains the label {unknown[0]!r}, which is not one of the classes {names.tolist()}; add it to classes."
        )
    codes = np.array([position[label] for label in labels.classes.tolist()], dtype=np.int32)
    return EncodedLabels(names, codes[labels.codes])
