"""Comparison of a test data set with the training data."""

from app.datasets.percent_signs import is_from_text, percent_mismatch, percent_signs
from app.datasets.records import DatasetRecord
from app.errors import some_of


def mismatch(training: DatasetRecord, test: DatasetRecord) -> str | None:
    """Return the reason why models of `training` cannot be scored on `test`, or None."""
    if (training.sha256, training.target) == (test.sha256, test.target):
        return (
            "the test data set has the content of the training data, on which a model is nearly always right; upload "
            "other rows, or leave `evaluation` out to hold out a part of these"
        )
    training_kinds = {feature["name"]: feature["kind"] for feature in training.used_features}
    # A column that a small test set leaves out, say because it is constant there, is still stored.
    test_kinds = {feature["name"]: feature.get("detected", feature["kind"]) for feature in test.features}
    missing = [name for name in training_kinds if name not in test_kinds]
    if missing:
        return f"the test data set lacks {some_of(missing)}; it must have every feature of the training data"
    different = [name for name in training_kinds if training_kinds[name] != test_kinds[name]]
    if different:
        name = different[0]
        return (
            f"the feature {name!r:.100} is {test_kinds[name]} in the test data set and {training_kinds[name]} in the "
            "training data; upload the test data with `types` that match"
        )
    return _percents(training, test) or _unknown_classes(training, test)


def _percents(training: DatasetRecord, test: DatasetRecord) -> str | None:
    used = {feature["name"] for feature in training.used_features}
    signs = {name: has_sign for name, has_sign in percent_signs(training).items() if name in used}
    return percent_mismatch(signs, test, is_from_text(training))


def _unknown_classes(training: DatasetRecord, test: DatasetRecord) -> str | None:
    labels = [entry["label"] for entry in training.classes]
    unknown = [entry["label"] for entry in test.classes if entry["label"] not in labels]
    if not unknown:
        return None
    finding = f"the test data set has classes that the training data lacks: {some_of(unknown)}"
    are_texts = {isinstance(label, str) for label in labels}
    if are_texts.isdisjoint(isinstance(label, str) for label in unknown):
        here, there = ("text", "numbers") if True in are_texts else ("numbers", "text")
        return (
            f"{finding}; they are {there}, and those of the training data are {here}, such as {labels[0]!r:.100}. "
            "Upload both with labels of one type: the type `categorical` of `types` makes the target text"
        )
    return f"{finding}; remove their rows"
