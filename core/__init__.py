"""Decision trees, forests and boosters that are robust to label noise, and audits of labels.

This is the door for notebooks. Programs that offer these estimators to others, such as a service, find what they need
beside it in `core.service_api`.
"""

from core.annotators.consensus import CONSENSUS_METHODS, Consensus, consensus
from core.artifact.format import load, save
from core.automatic.auto_classifier import AutoClassifier
from core.automatic.candidates import Candidate
from core.automatic.decision import Choice
from core.automatic.scores import ScoredCandidate
from core.boosting.additive import AdaBoostClassifier, GentleBoostClassifier, LogitBoostClassifier
from core.boosting.brownboost import BrownBoostClassifier
from core.boosting.certificate import Certificate
from core.boosting.lpboost import LPBoostClassifier
from core.boosting.rmboost import RMBoostClassifier
from core.boosting.robustboost import RobustBoostClassifier
from core.boosting.rules import Rule
from core.columns.column import Column, ColumnKind
from core.columns.encoded_table import EncodedTable
from core.columns.frames import encode_frame
from core.columns.reading import MISSING_TEXTS, TextReading
from core.evaluation.holdout import HoldoutSplit, SeededSplit, repeated_holdouts, split_folds, split_holdout
from core.evaluation.metrics import ScoreSpread, evaluate, spread_of_scores
from core.exceptions import (
    ArtifactError,
    CoreError,
    FitStopped,
    InvalidInput,
    InvalidLoss,
    InvalidNoise,
    InvalidParameter,
    SolverFailed,
    TooFewGroups,
    UnsupportedArtifact,
)
from core.fit_summary import FitSummary
from core.forests.forest import ExtraTreesClassifier, ForestClassifier
from core.forests.tree import TreeClassifier
from core.growth.tree_structure import Tree
from core.inspection.export_text import export_text
from core.inspection.plot_tree import plot_tree
from core.label_quality.audit import ConfusedPair, LabelAudit, audit_labels
from core.label_quality.label_noise import LabelNoise, estimate_label_noise
from core.losses.base import Loss
from core.losses.catalog import (
    LOSSES,
    AdaptiveNegativeExponential,
    CredalEntropy,
    CrossEntropy,
    GeneralizedCrossEntropy,
    MeanAbsoluteError,
    NegativeExponential,
    RankingGain,
    SqrtGini,
    SquaredError,
    TwoingGain,
    ZeroOne,
)
from core.losses.distribution_loss import DistributionLoss
from core.losses.parsing import parse_loss
from core.monitoring import FitMonitor
from core.noise.class_conditional import class_conditional_transition
from core.noise.corrected_accuracy import CorrectedAccuracy, corrected_accuracy
from core.noise.correction import Correction, parse_correction
from core.noise.estimation import TransitionEstimate, estimate_transition
from core.noise.injection import NoisyLabels, inject_noise
from core.noise.kinds import NOISE_KINDS
from core.noise.label_issues import LabelIssues, rank_label_issues
from core.noise.transition import TransitionMatrix
from core.registry import ESTIMATORS
from core.validation.labels import EncodedLabels

__all__ = [
    "CONSENSUS_METHODS",
    "ESTIMATORS",
    "LOSSES",
    "MISSING_TEXTS",
    "NOISE_KINDS",
    "AdaBoostClassifier",
    "AdaptiveNegativeExponential",
    "ArtifactError",
    "AutoClassifier",
    "BrownBoostClassifier",
    "Candidate",
    "Certificate",
    "Choice",
    "Column",
    "ColumnKind",
    "ConfusedPair",
    "Consensus",
    "CoreError",
    "CorrectedAccuracy",
    "Correction",
    "CredalEntropy",
    "CrossEntropy",
    "DistributionLoss",
    "EncodedLabels",
    "EncodedTable",
    "ExtraTreesClassifier",
    "FitMonitor",
    "FitStopped",
    "FitSummary",
    "ForestClassifier",
    "GeneralizedCrossEntropy",
    "GentleBoostClassifier",
    "HoldoutSplit",
    "InvalidInput",
    "InvalidLoss",
    "InvalidNoise",
    "InvalidParameter",
    "LPBoostClassifier",
    "LabelAudit",
    "LabelIssues",
    "LabelNoise",
    "LogitBoostClassifier",
    "Loss",
    "MeanAbsoluteError",
    "NegativeExponential",
    "NoisyLabels",
    "RMBoostClassifier",
    "RankingGain",
    "RobustBoostClassifier",
    "Rule",
    "ScoreSpread",
    "ScoredCandidate",
    "SeededSplit",
    "SolverFailed",
    "SqrtGini",
    "SquaredError",
    "TextReading",
    "TooFewGroups",
    "TransitionEstimate",
    "TransitionMatrix",
    "Tree",
    "TreeClassifier",
    "TwoingGain",
    "UnsupportedArtifact",
    "ZeroOne",
    "audit_labels",
    "class_conditional_transition",
    "consensus",
    "corrected_accuracy",
    "encode_frame",
    "estimate_label_noise",
    "estimate_transition",
    "evaluate",
    "export_text",
    "inject_noise",
    "load",
    "parse_correction",
    "parse_loss",
    "plot_tree",
    "rank_label_issues",
    "repeated_holdouts",
    "save",
    "split_folds",
    "split_holdout",
    "spread_of_scores",
]
