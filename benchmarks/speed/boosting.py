"""Fit times of boosters: AdaBoost and RMBoost against scikit-learn's AdaBoost, RMBoost against the published method."""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

import core
from benchmarks.data import Table
from benchmarks.papers.published_rmboost import PublishedRMBoost
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Settings
from benchmarks.speed.memory import peak_memory
from benchmarks.speed.timing import TimedFit, time_alternately
from core.boosting.linear_programs.minimax_program import MinimaxProgram
from core.boosting.linear_programs.regularized_duals import RegularizedDuals

N_FEATURES, N_LEAVES, N_ROUNDS = 20, 10, 100
MANY_ROWS, FEW_ROWS, FEW_ROWS_ROUNDS = 100_000, 1_000, 200
SIZES = (100_000, 200_000, 400_000, 800_000)
LARGE = 500_000
RISK_BAND = 1e-3


def synthetic_table(n_rows: int, noise: float = 0.1) -> Table:
    """Return a table of two classes of normal clusters with uniform noise in the training labels."""
    X, y = make_classification(n_rows + 20_000, N_FEATURES, n_informative=8, class_sep=0.7, flip_y=0.0, random_state=0)
    X = X.astype(np.float32)
    return Table("synthetic", X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]).with_noise(noise)


def scikit_learn_adaboost() -> AdaBoostClassifier:
    return AdaBoostClassifier(DecisionTreeClassifier(max_leaf_nodes=N_LEAVES), n_estimators=N_ROUNDS, random_state=0)


class Stopwatch:
    """Context manager that adds up the time spent in calls of the given methods."""

    def __init__(self, *methods: tuple[type, str]) -> None:
        self._methods = methods
        self.seconds = 0.0

    def __enter__(self) -> "Stopwatch":
        self._originals = [getattr(owner, name) for owner, name in self._methods]
        for (owner, name), original in zip(self._methods, self._originals, strict=True):
            setattr(owner, name, self._with_timer(original))
        return self

    def __exit__(self, *_: object) -> None:
        for (owner, name), original in zip(self._methods, self._originals, strict=True):
            setattr(owner, name, original)

    def _with_timer(self, method):
        def call(*arguments, **keywords):
            begin = time.perf_counter()
            try:
                return method(*arguments, **keywords)
            finally:
                self.seconds += time.perf_counter() - begin

        return call


def exhaustive_rmboost(settings: Settings) -> partial[core.RMBoostClassifier]:
    """Return a factory of RMBoost that stops only when no rule has an edge above lambda, or after all rounds."""
    return partial(core.RMBoostClassifier, n_rounds=N_ROUNDS, tolerance=0.0, random_state=0, n_jobs=settings.jobs)


def compare_with_adaboost(kind: str, table: Table, settings: Settings, **parameters: float) -> Row:
    booster: Callable[..., Any] = core.ESTIMATORS[kind]
    common = {"n_rounds": N_ROUNDS, "max_leaf_nodes": N_LEAVES, "random_state": 0, "n_jobs": settings.jobs}
    make = partial(booster, **common, **parameters)
    ours, theirs = TimedFit(make, table), TimedFit(scikit_learn_adaboost, table)
    times = time_alternately(ours, theirs, settings.repeats)
    note = f"{ours.estimator.n_rounds_} rounds; accuracy {ours.accuracy():.1f} % and {theirs.accuracy():.1f} %"
    workload = f"{kind}, {len(table.y):,} rows, at most {N_ROUNDS} rounds, against AdaBoost"
    return Row(workload, seconds(times.ours), seconds(times.theirs), times.speedups, Target(5.0), note)


def linear_program_share(table: Table, settings: Settings) -> Row:
    shares, durations = [], []
    for _ in range(settings.repeats):
        fit = TimedFit(exhaustive_rmboost(settings), table)
        with Stopwatch((MinimaxProgram, "solve"), (RegularizedDuals, "follow")) as watch:
            durations.append(fit())
        shares.append(watch.seconds / durations[-1])
    workload = f"share of the linear program and the regularized duals, {len(table.y):,} rows"
    return Row(workload, seconds(durations), "–", shares, Target(0.25, is_least=False))


def compare_with_published(rule_output: Literal["sign", "confidence"], table: Table, settings: Settings) -> Row:
    n_rounds = FEW_ROWS_ROUNDS if settings.rows is None else FEW_ROWS_ROUNDS // 10
    make = partial(core.RMBoostClassifier, n_rounds=n_rounds, rule_output=rule_output, tolerance=0.0, random_state=0)
    ours, theirs = TimedFit(make, table), TimedFit(partial(PublishedRMBoost, n_rounds, rule_output), table)
    times = time_alternately(ours, theirs, min(settings.repeats, 2))
    mine, published = ours.estimator, theirs.estimator
    rounds = f"rounds {mine.n_rounds_} and {published.n_rounds_}"
    note = f"R {mine.minimax_risk_:.4f} and {published.minimax_risk_:.4f}; {rounds}"
    missed = "" if mine.minimax_risk_ <= published.minimax_risk_ + RISK_BAND else "R is above the published R"
    workload = f"rmboost, {rule_output}, {len(table.y):,} rows, {n_rounds} rounds, against the published method"
    return Row(workload, seconds(times.ours), seconds(times.theirs), times.speedups, Target(30.0), note, missed)


def doublings(settings: Settings, sizes: tuple[int, ...]) -> Iterator[Row]:
    table = synthetic_table(sizes[-1])
    fits = [TimedFit(exhaustive_rmboost(settings), table.first_rows(n_rows)) for n_rows in sizes]
    durations = np.array([[fit() / fit.estimator.n_rounds_ for fit in fits] for _ in range(settings.repeats)])
    for i, n_rows in enumerate(sizes[:-1]):
        ratios = list(durations[:, i + 1] / durations[:, i])
        workload = f"rmboost, per round: {n_rows:,} → {sizes[i + 1]:,} rows"
        times = f"{seconds(durations[:, i])} → {seconds(durations[:, i + 1])}"
        yield Row(workload, times, "–", ratios, Target(2.3, is_least=False))


def memory(table: Table, settings: Settings) -> Row:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "X.npy", table.X)
        np.save(folder / "y.npy", table.y)
        peak = peak_memory(folder, "rmboost", "ours", settings._replace(trees=N_ROUNDS))
    workload, n_rows = f"rmboost, peak memory per row and round, {len(table.y):,} rows", len(table.y)
    target = Target(40.0, is_least=False, unit="bytes")
    return Row(
        workload,
        f"{peak / 2**20:.0f} MiB",
        "–",
        [peak / n_rows / N_ROUNDS],
        target,
        f"{N_ROUNDS} rounds, bins included",
    )


def large_run(settings: Settings, n_rows: int) -> Row:
    table = synthetic_table(n_rows)
    fit = TimedFit(partial(core.RMBoostClassifier, n_rounds=N_ROUNDS, random_state=0, n_jobs=settings.jobs), table)
    durations = [fit()]
    error, risk = 100 - fit.accuracy(), fit.estimator.minimax_risk_
    note = f"R {risk:.4f} with 10 % noise, held-out error {error:.1f} %, {fit.estimator.n_rounds_} rounds"
    return Row(
        f"rmboost, {n_rows:,} rows", seconds(durations), "–", durations, Target(np.inf, is_least=False, unit="s"), note
    )


def rows(settings: Settings) -> Iterator[Row]:
    scale = (settings.rows or MANY_ROWS) / MANY_ROWS
    many = synthetic_table(int(MANY_ROWS * scale))
    yield linear_program_share(many, settings)
    for rule_output in ("confidence", "sign"):
        yield compare_with_published(rule_output, synthetic_table(FEW_ROWS), settings)
    yield from doublings(settings, tuple(int(n_rows * scale) for n_rows in SIZES))
    yield memory(many, settings)
    yield large_run(settings, int(LARGE * scale))
    yield compare_with_adaboost("adaboost", many, settings)
    yield compare_with_adaboost("rmboost", many, settings, tolerance=0.0)
