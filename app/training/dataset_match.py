"""Comparison of a test data set with the training data."""

from app.datasets.records import DatasetRecord
from app.errors import some_of


def mismatch(training: DatasetRecord, test: DatasetRecord) -> str | None:
    """Return the reason why models of `training` cannot be scored on `test`, or None."""
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
    labels = {entry["label"] for entry in training.classes}
    unknown = [entry["label"] for entry in test.classes if entry["label"] not in labels]
    if unknown:
        return f"the test data set has classes that the training data lacks: {some_of(unknown)}; remove their rows"
    return None
