"""Columns of lists of trained models, without values that grow with the number of classes, columns or folds."""

from sqlalchemy import case
from sqlalchemy.orm import defer, with_expression

from app.storage.json_columns import json_length, json_part, json_without
from app.trained_models.tables import TrainedModelRow

_SCORED = ("test", "test_sd", "train_noisy", "train_noisy_sd")
#: Metrics that are not numbers.
LARGE_METRICS = (
    *((rows, "confusion") for rows in _SCORED),
    ("test_corrected", "classes"),
    ("test_corrected", "transition"),
    ("folds",),
    ("class_risks",),
    ("risk_path",),
)
_MATRICES = (("injected", "transition"), ("estimated", "transition"))
_CORRECTION = ("correction", "transition")
_NOISE, _SCHEMA = TrainedModelRow.noise, TrainedModelRow.feature_schema
#: The transition of a correction can also be the text "estimate".
_SLIM_NOISE = case(
    (json_length(_NOISE, *_CORRECTION).is_(None), json_without(_NOISE, *_MATRICES)),
    else_=json_without(_NOISE, *_MATRICES, _CORRECTION),
)
_LARGE = (
    TrainedModelRow.importances,
    TrainedModelRow.parameters,
    TrainedModelRow.metrics,
    TrainedModelRow.fitted,
    _NOISE,
    _SCHEMA,
)

#: Options of a query for `TrainedModelItemRecord`.
SLIM = (
    *(defer(column, raiseload=True) for column in _LARGE),
    with_expression(TrainedModelRow.slim_parameters, json_without(TrainedModelRow.parameters, ("class_weight",))),
    with_expression(TrainedModelRow.slim_metrics, json_without(TrainedModelRow.metrics, *LARGE_METRICS)),
    with_expression(TrainedModelRow.slim_noise, _SLIM_NOISE),
    with_expression(TrainedModelRow.slim_fitted, json_without(TrainedModelRow.fitted, ("choice", "leaderboard"))),
    with_expression(TrainedModelRow.target, json_part(_SCHEMA, "target")),
    with_expression(TrainedModelRow.n_classes, json_length(_SCHEMA, "classes")),
    with_expression(TrainedModelRow.n_features, json_length(_SCHEMA, "features")),
)
