"""Second public module of `core`: what a service needs in addition to the estimators.

- Parameters of estimators, losses, noise and corrections as data, from which request schemas and forms are derived.
- Phases of fits and audits, and monitors that report them.
- Checks of a request before any row is read, and estimates of the memory that a fit takes.
- Text of cells and columns read as numbers, dates, booleans and categories.
- Predictions of single rows, and the layouts of trees for predictions.
- Estimates of the label noise that scores are corrected with.
- Names of scores, and sizes of holdouts and folds.
- Importances and nodes of fitted trees.
- Compilation of kernels before the first fit.
"""

from core.class_votes import winning_classes
from core.columns.arrow_types import is_number, is_text, plain_array
from core.columns.cells import CellFault, encode_cell, text_encoder
from core.columns.column import EncodedCells
from core.columns.datetimes import parse_datetimes, seconds_of_temporal
from core.columns.texts import (
    ParsedTexts,
    clean_texts,
    parse_booleans,
    parse_numbers,
    with_hyphens,
    without_null_numbers,
)
from core.compilation import LINEAR_PROGRAMS, call_before_compilation, compile_seconds, kernel_cache_folder
from core.evaluation.holdout import holdout_size, largest_fold_size
from core.evaluation.metrics import SCORES
from core.forests.noise_estimation_forest import check_enough_rows, too_few_to_estimate
from core.growth.voting import prediction_layouts
from core.inspection.importances import PERMUTING, impurity_importances, permutation_importances, split_features
from core.inspection.node_records import InspectedTree, NodeRecord, SplitRecord
from core.label_quality.audit import CLASS_WEIGHT_NOT_SUPPORTED, DEFAULT_AUDIT_PARAMETERS, audit_phases
from core.label_quality.audit import DEFAULT_FOLDS as DEFAULT_AUDIT_FOLDS
from core.label_quality.label_noise import MAX_ROWS as MAX_LABEL_NOISE_ROWS
from core.label_quality.label_noise import label_noise_phases, noise_forest
from core.losses.parsing import loss_parameters
from core.memory import FitMemory, TableShape, fit_memory, scores_memory
from core.monitoring import FitMonitor, fold_prefix, step_monitor, stopping_with
from core.noise.correction import correction_parameters
from core.noise.injection import check_noise, expected_noise_rate, injection_phases
from core.noise.parsing import noise_parameters
from core.parameters import Alternative, Bounds, Parameter
from core.registry import estimator_kind, estimator_parameters
from core.row_prediction import RowPredictor, row_predictor
from core.validation.training_data import MAX_TOTAL_WEIGHT, MIN_TOTAL_WEIGHT
from core.warmup.kernels import compilation_steps, warm_up, warm_up_fit, warm_up_fits, warm_up_predictions
from core.warmup.usual_fits import warm_up_default_fit, warm_up_demo, warm_up_later_fits, warm_up_shared_kernels

__all__ = [
    "CLASS_WEIGHT_NOT_SUPPORTED",
    "DEFAULT_AUDIT_FOLDS",
    "DEFAULT_AUDIT_PARAMETERS",
    "LINEAR_PROGRAMS",
    "MAX_LABEL_NOISE_ROWS",
    "MAX_TOTAL_WEIGHT",
    "MIN_TOTAL_WEIGHT",
    "PERMUTING",
    "SCORES",
    "Alternative",
    "Bounds",
    "CellFault",
    "EncodedCells",
    "FitMemory",
    "FitMonitor",
    "InspectedTree",
    "NodeRecord",
    "Parameter",
    "ParsedTexts",
    "RowPredictor",
    "SplitRecord",
    "TableShape",
    "audit_phases",
    "call_before_compilation",
    "check_enough_rows",
    "check_noise",
    "clean_texts",
    "compilation_steps",
    "compile_seconds",
    "correction_parameters",
    "encode_cell",
    "estimator_kind",
    "estimator_parameters",
    "expected_noise_rate",
    "fit_memory",
    "fold_prefix",
    "holdout_size",
    "impurity_importances",
    "injection_phases",
    "is_number",
    "is_text",
    "kernel_cache_folder",
    "label_noise_phases",
    "largest_fold_size",
    "loss_parameters",
    "noise_forest",
    "noise_parameters",
    "parse_booleans",
    "parse_datetimes",
    "parse_numbers",
    "permutation_importances",
    "plain_array",
    "prediction_layouts",
    "row_predictor",
    "scores_memory",
    "seconds_of_temporal",
    "split_features",
    "step_monitor",
    "stopping_with",
    "text_encoder",
    "too_few_to_estimate",
    "warm_up",
    "warm_up_default_fit",
    "warm_up_demo",
    "warm_up_fit",
    "warm_up_fits",
    "warm_up_later_fits",
    "warm_up_predictions",
    "warm_up_shared_kernels",
    "winning_classes",
    "with_hyphens",
    "without_null_numbers",
]
