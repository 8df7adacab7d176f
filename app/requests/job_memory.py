"""Memory of jobs, estimated from their request and the size of the data set before they start.

The estimates hold for labels that are noise, whose trees are the largest; see `core.memory`.
"""

from typing import Any, NamedTuple

import core
from app.requests.dataset_summary import DatasetSummary
from app.requests.errors import JobTooLarge
from app.requests.estimator_specs import EstimatorSpec
from app.requests.evaluation_specs import (
    MAX_CORRECTED_CLASSES,
    CrossValidation,
    EvaluationSpec,
    Holdout,
    NoEvaluation,
)
from app.requests.noise_specs import InjectionSpec, NoiseSpec
from app.settings import Limits
from core.service_api import (
    DEFAULT_AUDIT_FOLDS,
    MAX_LABEL_NOISE_ROWS,
    FitMemory,
    TableShape,
    fit_memory,
    holdout_size,
    noise_forest,
    scores_memory,
)

#: Libraries that a job loads, and what the allocator keeps.
_OVERHEAD_BYTES = 240 * 2**20
#: Labels, weights, groups and row numbers, for each row.
_ROW_BYTES = 60
_VALUE_BYTES = 8
#: Rounds of the booster that picks the labels of adversarial noise.
_ADVERSARIAL_ROUNDS = 100
#: Arrays (row, class) of an audit at its peak, of 8 bytes per cell.
_TABLES_OF_AUDITS = 14
#: Such arrays of rows without a label, and of test rows whose scores are corrected.
_TABLES_OF_UNLABELED, _TABLES_OF_CORRECTED_SCORES = 4, 11
#: Cells of rows and probabilities that a prediction has in memory at once, and the bytes of each: text and numbers.
PREDICTED_CELLS = 1_000_000
_BYTES_PER_PREDICTED_CELL = 64
#: The arrays of the artifact, and the layout of its trees for prediction.
_COPIES_OF_ARTIFACT = 3
_UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"))


class JobMemory(NamedTuple):
    """Estimated peak of a job in bytes, and the largest part of it in words."""

    n_bytes: int
    largest_part: str
    is_for_test_data: bool = False  #: whether the largest part is due to a separate test data set

    def check(self, limit: int | None, pointer: str | None = None) -> None:
        """Raise JobTooLarge if the estimate exceeds the limit."""
        if limit is None or self.n_bytes <= limit:
            return
        detail = (
            f"the job may need {_size(self.n_bytes)} of memory, mostly for {self.largest_part}; this installation "
            f"allows {_size(limit)} (BRISTLECONE_MAX_JOB_BYTES). Use fewer or smaller trees (max_depth, "
            "max_leaf_nodes, a larger min_samples_leaf), fewer rows, or a machine with more memory"
        )
        raise JobTooLarge(detail) if pointer is None else JobTooLarge.at(pointer, detail)


def training_memory(
    model: EstimatorSpec,
    noise: NoiseSpec,
    evaluation: EvaluationSpec,
    dataset: DatasetSummary,
    test_dataset: DatasetSummary | None,
    limits: Limits,
) -> JobMemory:
    """Return the memory of a training job. test_dataset: the one that `evaluation` names, or None."""
    shape = _shape(dataset, noise.inject)
    correction = noise.correction and {"correction": noise.correction.model_dump()}
    train, test = _training_shape(shape, evaluation), _test_shape(shape, evaluation, test_dataset)
    fit = fit_memory(_estimator(model, **(correction or {})), train, limits.job_threads)
    phases = [_fit_phase(fit, train), _scoring_phase(fit, train), *_injection_phases(noise.inject, train, limits)]
    if test is not None:
        phases.append(_scoring_phase(fit, test, test_dataset is not None))
    if not isinstance(evaluation, NoEvaluation) and shape.n_classes <= MAX_CORRECTED_CLASSES:
        phases += _corrected_score_phases(train, test, test_dataset is not None, limits, fit)
    if noise.correction is not None and noise.correction.model_dump()["transition"] == "estimate":
        phases.append(_noise_phase(train, limits, None))
    copies = 2 if isinstance(evaluation, CrossValidation) else 1
    tables = [_loaded(dataset, shape, copies, shape.n_rows)]
    if test is not None and test_dataset is not None:
        tables.append(_loaded_for_test(test_dataset, test))
    return _job(tables, phases)


def audit_memory(model: EstimatorSpec, folds: int | None, dataset: DatasetSummary, limits: Limits) -> JobMemory:
    """Return the memory of an audit."""
    shape, estimator = _shape(dataset, None), _estimator(model)
    is_out_of_bag = folds is None and getattr(estimator, "bootstrap", False)
    n_folds = folds or DEFAULT_AUDIT_FOLDS
    train = shape if is_out_of_bag else shape.with_rows(shape.n_rows * (n_folds - 1) // n_folds)
    fit = fit_memory(estimator, train, limits.job_threads)
    votes = _TABLES_OF_AUDITS * _table_of_classes(shape)
    votes += _TABLES_OF_UNLABELED * _table_of_classes(shape.with_rows(dataset.n_rows - dataset.n_labeled))
    part = f"the votes of {shape.n_classes:,} classes on {dataset.n_rows:,} rows"
    # The model of a fold is replaced when the next one is complete.
    both = fit if is_out_of_bag else fit._replace(growing=fit.growing + fit.model)
    phases = [_fit_phase(both, train), _Part(fit.model + fit.predicting + votes, _larger(fit, votes, part))]
    return _job([_loaded(dataset, shape, 1 if is_out_of_bag else 2, dataset.n_rows)], phases)


def cell_memory(
    model: EstimatorSpec, noise: InjectionSpec, test_fraction: float, dataset: DatasetSummary, limits: Limits
) -> JobMemory:
    """Return the memory of one cell of a sweep."""
    shape = _shape(dataset, noise)
    n_test = holdout_size(shape.n_rows, test_fraction)
    train, test = shape.with_rows(shape.n_rows - n_test), shape.with_rows(n_test)
    fit = fit_memory(_estimator(model), train, limits.job_threads)
    phases = [_fit_phase(fit, train), _scoring_phase(fit, test), *_injection_phases(noise, train, limits)]
    return _job([_loaded(dataset, shape, 2, shape.n_rows)], phases)


def prediction_memory(model_bytes: int, n_rows: int, n_columns: int) -> JobMemory:
    """Return the memory of a prediction. model_bytes: size of the artifact. n_columns: features and classes."""
    piece = _BYTES_PER_PREDICTED_CELL * min(n_rows * n_columns, max(PREDICTED_CELLS, n_columns))
    model = _COPIES_OF_ARTIFACT * model_bytes
    part = "the model" if model > piece else f"the {n_columns:,} features and classes of a row"
    return JobMemory(_OVERHEAD_BYTES + model + piece, part)


class _Part(NamedTuple):
    """Memory that one thing takes at some time of the job."""

    n_bytes: int
    name: str
    is_for_test_data: bool = False


class _Loaded(NamedTuple):
    """Table of a data set while it is loaded, and what is kept of it."""

    loading: _Part
    kept: _Part


def _loaded(dataset: DatasetSummary, shape: TableShape, n_copies: int, n_kept_rows: int) -> _Loaded:
    """Return the table of the training data. All rows are read, then copied with and without a label, or split.

    n_copies: of the rows with a label. n_kept_rows: rows that are kept in the first copy.
    """
    copies = "1 copy" if n_copies == 1 else f"{n_copies} copies"
    name = f"{copies} of {dataset.n_rows:,} rows of {shape.n_features:,} features"
    beside = 2 * _ROW_BYTES * dataset.n_rows
    loading = 2 * shape.with_rows(dataset.n_rows).table_bytes
    kept = shape.with_rows(n_kept_rows).table_bytes + (n_copies - 1) * shape.table_bytes
    return _Loaded(_Part(loading + beside, name), _Part(kept + beside, name))


def _loaded_for_test(dataset: DatasetSummary, labeled: TableShape) -> _Loaded:
    """Return the table of a test data set, whose codes are matched in a copy; then rows with a label are copied."""
    n_copies = 2 if dataset.n_rows == dataset.n_labeled else 3
    name = f"the test data set with {dataset.n_rows:,} rows of {labeled.n_features:,} features"
    beside = 2 * _ROW_BYTES * dataset.n_rows
    loading = n_copies * labeled.with_rows(dataset.n_rows).table_bytes + beside
    return _Loaded(_Part(loading, name, True), _Part(labeled.table_bytes + beside, name, True))


def _job(tables: list[_Loaded], phases: list[_Part]) -> JobMemory:
    """Return the largest sum of the parts that are in memory at the same time."""
    kept = [table.kept for table in tables]
    states = [[*kept[:number], table.loading] for number, table in enumerate(tables)]
    states.append([*kept, max(phases)])
    n_bytes, state = max((sum(part.n_bytes for part in state), state) for state in states)
    largest = max(state)
    return JobMemory(_OVERHEAD_BYTES + n_bytes, largest.name, largest.is_for_test_data)


def _fit_phase(fit: FitMemory, train: TableShape) -> _Part:
    workspace = f"growing trees of up to {_nodes(fit)} nodes and {train.n_classes:,} classes on {train.n_rows:,} rows"
    return _Part(fit.model + fit.growing, _larger(fit._replace(predicting=0), fit.growing, workspace))


def _scoring_phase(fit: FitMemory, scored: TableShape, is_for_test_data: bool = False) -> _Part:
    scores = scores_memory(scored)
    return _phase_beside(fit, _Part(scores, f"the scores of {_cells(scored, is_for_test_data)}", is_for_test_data))


def _corrected_score_phases(
    train: TableShape, test: TableShape | None, is_for_test_data: bool, limits: Limits, fit: FitMemory
) -> list[_Part]:
    """Return the estimate of the noise of the training labels, and its votes on the test rows."""
    rows = train.with_rows(min(train.n_rows, MAX_LABEL_NOISE_ROWS))
    phases = [_noise_phase(rows, limits, fit)]
    if test is not None:
        forest = fit_memory(noise_forest(), rows, limits.job_threads)
        votes = forest.model + forest.predicting + _TABLES_OF_CORRECTED_SCORES * _table_of_classes(test)
        name = f"the corrected scores of {_cells(test, is_for_test_data)}"
        phases.append(_phase_beside(fit, _Part(votes, name, is_for_test_data)))
    return phases


def _noise_phase(rows: TableShape, limits: Limits, beside: FitMemory | None) -> _Part:
    """Return the estimate of the noise with a forest, while a fitted model is in memory or not."""
    fit = fit_memory(noise_forest(), rows, limits.job_threads)
    n_bytes = fit.model + fit.growing + _TABLES_OF_AUDITS * _table_of_classes(rows)
    part = _Part(n_bytes, f"the estimate of the noise of {rows.n_rows:,} labels")
    return part if beside is None else _phase_beside(beside, part)


def _phase_beside(fit: FitMemory, part: _Part) -> _Part:
    """Return a phase in which the fitted model is in memory as well, named after the larger of the two."""
    kept = fit.model + fit.predicting
    name = _larger(fit, part.n_bytes, part.name)
    return _Part(kept + part.n_bytes, name, part.is_for_test_data and kept < part.n_bytes)


def _cells(scored: TableShape, is_for_test_data: bool) -> str:
    return f"{scored.n_classes:,} classes on {scored.n_rows:,} rows{' of the test data set' * is_for_test_data}"


def _table_of_classes(rows: TableShape) -> int:
    return 8 * rows.n_rows * max(2, rows.n_classes)


def _injection_phases(inject: InjectionSpec | None, train: TableShape, limits: Limits) -> list[_Part]:
    if inject is None or inject.kind not in ("adversarial", "class_conditional"):
        return []
    if inject.kind == "class_conditional":
        n_bytes = 5 * 8 * train.n_rows * train.n_features + 2 * 8 * train.n_classes * train.n_features**2
        return [_Part(n_bytes, "the distances between classes of class_conditional noise")]
    fit = fit_memory(core.LogitBoostClassifier(n_rounds=_ADVERSARIAL_ROUNDS), train, limits.job_threads)
    n_bytes = fit.model + max(fit.growing, fit.predicting + scores_memory(train))
    return [_Part(n_bytes, "the model that adversarial noise is made with")]


def _larger(fit: FitMemory, other: int, name: str) -> str:
    trees = f"{fit.n_trees:,} {'tree' if fit.n_trees == 1 else 'trees'} of up to {_nodes(fit)} nodes"
    return trees if fit.model + fit.predicting >= other else name


def _nodes(fit: FitMemory) -> str:
    return f"{2 * fit.leaves_per_tree - 1:,}"


def _training_shape(shape: TableShape, evaluation: EvaluationSpec) -> TableShape:
    """Return the rows of the largest fit; with folds, that is the fit on all rows."""
    if isinstance(evaluation, Holdout):
        return shape.with_rows(max(1, shape.n_rows - holdout_size(shape.n_rows, evaluation.test_fraction)))
    return shape


def _test_shape(
    shape: TableShape, evaluation: EvaluationSpec, test_dataset: DatasetSummary | None
) -> TableShape | None:
    """Return the labeled rows that the stored model is tested on; None without any, or with folds (smaller)."""
    if test_dataset is not None:
        return shape.with_rows(test_dataset.n_labeled)
    if isinstance(evaluation, Holdout):
        return shape.with_rows(holdout_size(shape.n_rows, evaluation.test_fraction))
    return None


def _shape(dataset: DatasetSummary, inject: InjectionSpec | None) -> TableShape:
    counts = [entry["count"] for entry in dataset.classes]
    n_classes, n_rows = len(counts), dataset.n_labeled
    shares = [count / max(1, sum(counts)) for count in counts]
    # Injected noise makes the classes more equal, at most to this.
    gini = 1 - sum(share**2 for share in shares) if inject is None else 1 - 1 / max(1, n_classes)
    return TableShape(n_rows, len(dataset.used_features), n_classes, gini, _VALUE_BYTES)


def _estimator(model: EstimatorSpec, **arguments: Any) -> Any:
    return model.estimator_class(**model.constructor_arguments(), **arguments)


def _size(n_bytes: int) -> str:
    unit, name = next(((unit, name) for unit, name in _UNITS if n_bytes >= unit), _UNITS[-1])
    return f"{n_bytes / unit:.1f} {name}"
