"""Trees and forests for data whose labels cannot be fully trusted: arrays in, arrays out."""

from core.artifact.format import load, save
from core.audit import AUDITING_FOREST, ConfusedPair, LabelAudit, audit_labels, audit_phases
from core.boosting.additive import AdaBoostClassifier, GentleBoostClassifier, LogitBoostClassifier
from core.boosting.brownboost import BrownBoostClassifier
from core.boosting.certificate import Certificate
from core.boosting.lpboost import LPBoostClassifier
from core.boosting.rmboost import RMBoostClassifier
from core.boosting.robustboost import RobustBoostClassifier
from core.boosting.rules import Rule
from core.evaluation import ScoreSpread, evaluate, spread_of_scores
from core.exceptions import (
    ArtifactError,
    CoreError,
    FitStopped,
    InvalidInput,
    InvalidLoss,
    InvalidNoise,
    InvalidParameter,
    SolverFailed,
    UnsupportedArtifact,
)
from core.fit_summary import Findings
from core.forests.forest import ExtraTreesClassifier, ForestClassifier
from core.forests.tree import TreeClassifier
from core.growth.tree_structure import Tree
from core.holdout import Fold, Holdout, repeated_holdouts, split_folds, split_holdout
from core.losses.base import Loss
from core.losses.catalogue import (
    LOSSES,
    AdaptiveNegativeExponential,
    CredalEntropy,
    CrossEntropy,
    GeneralizedCrossEntropy,
    MeanAbsoluteError,
    NegativeExponential,
    RankingGain,
    RootGini,
    SquaredError,
    TwoingGain,
    ZeroOne,
)
from core.losses.distribution_loss import DistributionLoss
from core.losses.parsing import loss_parameters, parse_loss
from core.monitoring import FitMonitor, fold_step, of_step
from core.noise.class_conditional import class_conditional_transition
from core.noise.correction import Correction, parse_correction
from core.noise.estimation import TransitionEstimate, estimate_transition
from core.noise.injection import NoisyLabels, check_noise, inject_noise, noise_parameters
from core.noise.kinds import NOISE_KINDS
from core.noise.label_issues import LabelIssues, rank_label_issues
from core.noise.transition import TransitionMatrix
from core.parameters import Alternative, Bounds, Parameter
from core.registry import ESTIMATORS, kind_of, parameters
from core.warmup import warm_up, warm_up_fit, warm_up_predictions

__all__ = [
    "AUDITING_FOREST",
    "ESTIMATORS",
    "LOSSES",
    "NOISE_KINDS",
    "AdaBoostClassifier",
    "AdaptiveNegativeExponential",
    "Alternative",
    "ArtifactError",
    "Bounds",
    "BrownBoostClassifier",
    "Certificate",
    "ConfusedPair",
    "CoreError",
    "Correction",
    "CredalEntropy",
    "CrossEntropy",
    "DistributionLoss",
    "ExtraTreesClassifier",
    "Findings",
    "FitMonitor",
    "FitStopped",
    "Fold",
    "ForestClassifier",
    "GeneralizedCrossEntropy",
    "GentleBoostClassifier",
    "Holdout",
    "InvalidInput",
    "InvalidLoss",
    "InvalidNoise",
    "InvalidParameter",
    "LPBoostClassifier",
    "LabelAudit",
    "LabelIssues",
    "LogitBoostClassifier",
    "Loss",
    "MeanAbsoluteError",
    "NegativeExponential",
    "NoisyLabels",
    "Parameter",
    "RMBoostClassifier",
    "RankingGain",
    "RobustBoostClassifier",
    "RootGini",
    "Rule",
    "ScoreSpread",
    "SolverFailed",
    "SquaredError",
    "TransitionEstimate",
    "TransitionMatrix",
    "Tree",
    "TreeClassifier",
    "TwoingGain",
    "UnsupportedArtifact",
    "ZeroOne",
    "audit_labels",
    "audit_phases",
    "check_noise",
    "class_conditional_transition",
    "estimate_transition",
    "evaluate",
    "fold_step",
    "inject_noise",
    "kind_of",
    "load",
    "loss_parameters",
    "noise_parameters",
    "of_step",
    "parameters",
    "parse_correction",
    "parse_loss",
    "rank_label_issues",
    "repeated_holdouts",
    "save",
    "split_folds",
    "split_holdout",
    "spread_of_scores",
    "warm_up",
    "warm_up_fit",
    "warm_up_predictions",
]
