"""Body of a training job on real rows: splits, noise, types of labels, and test data with other categories."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import core
from app.context import ServiceContext
from app.jobs.states import JobState
from core.boosting import minimax_rounds
from core.boosting.linear_programs.minimax_program import MinimaxProgram
from tests.workers.training_runs import made, run, run_to_the_end, store
from workers.monitor import JobMonitor

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("labels", [(0, 1), (0.5, 1.5), ("no", "yes"), (False, True), (-3, 7)])
def test_labels_keep_their_type(context: ServiceContext, labels: tuple[Any, Any]) -> None:
    model = run(context, dataset_id=store(context, made(labels=labels)), model={"kind": "tree"})
    assert model.feature_schema["classes"] == list(labels)
    assert model.metrics["test"]["accuracy"] > 0.9
    estimator = core.load(context.artifact_store.path(model.artifact_sha256))
    assert estimator.classes_.tolist() == list(labels)
    assert (estimator.schema_, estimator.left_out_) == ({"target": "y"}, ("y",))
    assert [core.Column.from_json(feature) for feature in model.feature_schema["features"]] == [*estimator.columns_]


def test_noise_changes_training_labels_only(context: ServiceContext) -> None:
    dataset_id = store(context, made(2000))
    noise = {"inject": {"kind": "uniform", "rate": 0.3}}
    model = run(context, dataset_id=dataset_id, model={"kind": "tree", "loss": "misclassification"}, noise=noise)
    injected = model.noise["injected"]
    assert injected["observed_rate"] == pytest.approx(0.3, abs=0.04)
    assert injected["flipped_rows"] == round(injected["observed_rate"] * 1600)
    assert model.metrics["test"]["accuracy"] > model.metrics["train_noisy"]["accuracy"] + 0.1


def three_classes(n_rows: int = 1500) -> dict[str, list[Any]]:
    generator = np.random.default_rng(0)
    y = np.arange(n_rows) % 3
    X = generator.normal(size=(n_rows, 2)) + np.outer(3.0 * y + 0.5 * y**2, [1.0, -0.5])
    return {"x1": X[:, 0].tolist(), "x2": X[:, 1].tolist(), "y": np.array(["a", "b", "c"])[y].tolist()}


@pytest.mark.parametrize(
    ("inject", "rate"),
    [
        ({"kind": "one_sided", "class": "b", "rate": 0.3}, 0.1),
        ({"kind": "matrix", "transition": [[0.7, 0.3, 0], [0, 1, 0], [0.1, 0.2, 0.7]]}, 0.2),
        ({"kind": "class_conditional"}, None),
        ({"kind": "adversarial", "rate": 0.1}, 0.1),
    ],
    ids=str,
)
def test_the_noise_is_recorded(context: ServiceContext, inject: dict[str, Any], rate: float | None) -> None:
    dataset_id = store(context, three_classes())
    tree = {"kind": "tree", "max_depth": 4, "min_samples_leaf": 20}
    model = run(context, dataset_id=dataset_id, model=tree, noise={"inject": inject})
    injected = model.noise["injected"]
    assert {key: injected[key] for key in inject} == inject
    assert injected["observed_rate"] == injected["flipped_rows"] / 1200
    assert rate is None or injected["observed_rate"] == pytest.approx(rate, abs=0.03)
    assert injected["observed_rate"] > 0.05
    assert model.metrics["test"]["accuracy"] > 0.8
    assert model.noise["correction"] is None


def test_the_certificate_weights_pairwise_noise_by_class(context: ServiceContext) -> None:
    columns = made(2000)
    noise = {"inject": {"kind": "pairwise", "rates": [0.1, 0.3]}}
    booster = {"kind": "rmboost", "n_rounds": 3, "max_leaf_nodes": 2}
    model = run(context, dataset_id=store(context, columns), model=booster, noise=noise, evaluation={"kind": "none"})
    share = np.mean(columns["y"])
    assert model.certificate is not None
    assert model.certificate["noise_rate"] == pytest.approx(0.1 * (1 - share) + 0.3 * share)
    assert model.noise["injected"]["observed_rate"] == pytest.approx(model.certificate["noise_rate"], abs=0.04)


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_a_corrected_model_records_its_correction_and_is_less_biased(context: ServiceContext, kind: str) -> None:
    transition = [[0.55, 0.45], [0.02, 0.98]]
    request = {
        "dataset_id": store(context, made(2000)),
        "model": {"kind": "forest", "n_estimators": 20, "min_samples_leaf": 20},
    }
    noise = {"inject": {"kind": "matrix", "transition": transition}}
    correction = {"kind": kind, "transition": transition}
    plain = run(context, **request, noise=noise)
    corrected = run(context, **request, noise={**noise, "correction": correction})
    assert corrected.noise["correction"] == correction
    assert "correction" not in corrected.parameters
    assert corrected.metrics["test"]["brier"] < plain.metrics["test"]["brier"] / 2
    estimator = core.load(context.artifact_store.path(corrected.artifact_sha256))
    assert estimator.correction == correction


def test_without_evaluation_every_row_is_trained_on(context: ServiceContext) -> None:
    model = run(context, dataset_id=store(context, made()), model={"kind": "tree"}, evaluation={"kind": "none"})
    assert "test" not in model.metrics
    assert model.metrics["train_noisy"]["n_rows"] == 400


def test_columns_of_a_test_data_set_are_matched_by_name(context: ServiceContext) -> None:
    """The columns have another order, and the categories other codes; one category does not occur in training."""
    test = made(300, seed=1)
    test["colour"] = ["azure" if i < 10 else colour for i, colour in enumerate(test["colour"])]
    reordered = {name: test[name] for name in ("y", "colour", "x")}
    model = run(
        context,
        dataset_id=store(context, made(2000)),
        model={"kind": "tree"},
        evaluation={"kind": "dataset", "dataset_id": store(context, reordered)},
    )
    assert model.metrics["test"]["n_rows"] == 300
    assert model.metrics["test"]["accuracy"] > 0.95


def test_a_class_of_one_row_stays_in_training(context: ServiceContext) -> None:
    columns = made(100, labels=("a", "b"))
    columns["y"][17] = "rare"
    for seed in range(5):
        model = run(context, dataset_id=store(context, columns), model={"kind": "tree"}, seed=seed)
        assert model.feature_schema["classes"] == ["a", "b", "rare"]


def test_class_weights_are_keyed_by_the_text_of_labels(context: ServiceContext) -> None:
    model = {"kind": "tree", "max_depth": 1, "class_weight": {"0": 1.0, "1": 1000.0}}
    heavy = run(context, dataset_id=store(context, made()), model=model)
    confusion = np.array(heavy.metrics["train_noisy"]["confusion"])
    assert confusion[1, 0] == 0


def test_the_number_of_threads_does_not_change_the_bytes(context: ServiceContext) -> None:
    dataset_id = store(context, made(1000))
    digests = set()
    for threads in (1, 2, 4):
        jobs = context.settings.jobs.model_copy(update={"threads_per_job": threads})
        object.__setattr__(context, "settings", context.settings.model_copy(update={"jobs": jobs}))
        model = run(context, dataset_id=dataset_id, model={"kind": "forest", "n_estimators": 20, "loss": "ane"})
        digests.add(model.artifact_sha256)
    assert len(digests) == 1
    assert model.version == 3


def test_the_out_of_bag_score_is_reported(context: ServiceContext) -> None:
    forest = {"kind": "forest", "n_estimators": 30, "oob_score": True}
    model = run(context, dataset_id=store(context, made()), model=forest)
    assert model.fitted["oob_score"] == core.load(context.artifact_store.path(model.artifact_sha256)).oob_score_
    assert model.fitted["oob_score"] == pytest.approx(model.metrics["test"]["accuracy"], abs=0.1)


@pytest.mark.parametrize("noise_rate", [None, 0.1])
def test_a_minimax_booster_is_certified_for_the_noise_that_was_injected(
    context: ServiceContext, noise_rate: float | None
) -> None:
    noise = {"inject": noise_rate and {"kind": "uniform", "rate": noise_rate}}
    booster = {"kind": "rmboost", "n_rounds": 8, "max_leaf_nodes": 2}
    model = run(context, dataset_id=store(context, made(2000)), model=booster, noise=noise)
    estimator = core.load(context.artifact_store.path(model.artifact_sha256))
    assert model.metrics["minimax_risk"] == estimator.minimax_risk_
    assert model.metrics["risk_path"] == estimator.risk_path_.tolist()
    assert model.certificate == estimator.certificate(noise_rate=noise_rate).to_json()
    assert model.fitted["regularization"] == pytest.approx(1 / np.sqrt(1600))


def test_an_infinite_bound_is_stored_as_none(context: ServiceContext) -> None:
    model = run(context, dataset_id=store(context, made(40)), model={"kind": "rmboost", "n_rounds": 3})
    assert model.certificate is not None
    assert (model.certificate["bound"], model.certificate["is_vacuous"]) == (None, True)


def test_an_unsolved_linear_program_fails_the_job_with_a_reason(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    booster = {"kind": "rmboost", "n_rounds": 5}
    monkeypatch.setattr(minimax_rounds, "MinimaxProgram", partial(MinimaxProgram, iteration_limit=0))
    row = run_to_the_end(context, dataset_id=store(context, made()), model=booster)
    assert (row.state, row.error_code) == (JobState.FAILED, "solver_failed")
    assert row.error_message is not None
    assert "status 'Iteration limit reached'" in row.error_message
    assert "larger regularization" in row.error_message


@pytest.fixture
def fractions(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Fraction of the job that is done after each step."""
    seen: list[float] = []

    def advance(monitor: JobMonitor, completed: int) -> None:
        advance_as_always(monitor, completed)
        news = monitor.board.read_progress()
        seen.append(news["fraction"] if news else seen[-1])

    advance_as_always = JobMonitor.advance
    monkeypatch.setattr(JobMonitor, "advance", advance)
    return seen


def test_progress_of_a_booster_rises_evenly_over_all_classes(context: ServiceContext, fractions: list[float]) -> None:
    columns = made(300)
    columns["y"] = ["abc"[i % 3] for i in range(300)]
    model, evaluation = {"kind": "adaboost", "n_rounds": 5}, {"kind": "none"}
    row = run_to_the_end(context, dataset_id=store(context, columns), model=model, evaluation=evaluation)
    tree_fractions = fractions[:15]
    assert np.ptp(np.diff(tree_fractions)) < 0.001
    assert tree_fractions[-1] == pytest.approx(0.95)
    assert fractions == sorted(fractions)
    assert row.progress["fraction"] == 1.0


@pytest.mark.parametrize("selection", ["holdout", "out_of_bag"])
def test_progress_rises_evenly_whether_or_not_tuning_ends_with_a_refit(
    context: ServiceContext, selection: str, fractions: list[float]
) -> None:
    loss = {"kind": "adaptive_ne", "grid": [0, 1], "selection": selection}
    model = {"kind": "forest", "n_estimators": 10, "loss": loss}
    run(context, dataset_id=store(context, made()), model=model, evaluation={"kind": "none"})
    tree_fractions = fractions[: 20 if selection == "out_of_bag" else 30]
    assert np.ptp(np.diff(tree_fractions)) < 0.001
    assert tree_fractions[-1] == pytest.approx(0.95)
