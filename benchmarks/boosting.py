"""Boosters: AdaBoost beside scikit-learn's, and robust minimax boosting beside that and beside the published way."""

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
from benchmarks.memory import measured
from benchmarks.published_rmboost import PublishedRMBoost
from benchmarks.report import Row, Target, seconds
from benchmarks.settings import Settings
from benchmarks.timing import TimedFit, in_turns
from core.boosting.linear_programs.minimax_program import MinimaxProgram
from core.boosting.linear_programs.regularized_duals import RegularizedDuals

N_FEATURES, N_LEAVES, N_ROUNDS = 20, 10, 100
MANY_ROWS, FEW_ROWS, FEW_ROWS_ROUNDS = 100_000, 1_000, 200
SIZES = (100_000, 200_000, 400_000, 800_000)
LARGE = 500_000
RISK_BAND = 1e-3


def made(n_rows: int, noise: float = 0.1) -> Table:
    """Two classes of normal clusters, with uniform noise in the training labels."""
    X, y = make_classification(n_rows + 20_000, N_FEATURES, n_informative=8, class_sep=0.7, flip_y=0.0, random_state=0)
    X = X.astype(np.float32)
    return Table("made", X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]).with_noise(noise)


def their_adaboost() -> AdaBoostClassifier:
    return AdaBoostClassifier(DecisionTreeClassifier(max_leaf_nodes=N_LEAVES), n_estimators=N_ROUNDS, random_state=0)


class Stopwatch:
    """The time that calls of some methods take, while it is open."""

    def __init__(self, *methods: tuple[type, str]) -> None:
        self._methods = methods
        self.seconds = 0.0

    def __enter__(self) -> "Stopwatch":
        self._originals = [getattr(owner, name) for owner, name in self._methods]
        for (owner, name), original in zip(self._methods, self._originals, strict=True):
            setattr(owner, name, self._timed(original))
        return self

    def __exit__(self, *_: object) -> None:
        for (owner, name), original in zip(self._methods, self._originals, strict=True):
            setattr(owner, name, original)

    def _timed(self, method):
        def timed(*arguments, **named):
            begin = time.perf_counter()
            try:
                return method(*arguments, **named)
            finally:
                self.seconds += time.perf_counter() - begin

        return timed


def all_rounds(settings: Settings) -> partial[core.RMBoostClassifier]:
    """No end before an edge of lambda."""
    return partial(core.RMBoostClassifier, n_rounds=N_ROUNDS, tolerance=0.0, random_state=0, n_jobs=settings.jobs)


def beside_adaboost(kind: str, table: Table, settings: Settings, **more: float) -> Row:
    booster: Callable[..., Any] = core.ESTIMATORS[kind]
    make = partial(booster, n_rounds=N_ROUNDS, max_leaf_nodes=N_LEAVES, random_state=0, n_jobs=settings.jobs, **more)
    ours, theirs = TimedFit(make, table), TimedFit(their_adaboost, table)
    times = in_turns(ours, theirs, settings.repeats)
    note = f"{ours.estimator.n_rounds_} rounds; right {ours.accuracy():.1f} % and {theirs.accuracy():.1f} %"
    work = f"{kind}, {len(table.y):,} rows, at most {N_ROUNDS} rounds, beside AdaBoost"
    return Row(work, seconds(times.ours), seconds(times.theirs), times.speedups, Target(5.0), note)


def share_of_program(table: Table, settings: Settings) -> Row:
    shares, taken = [], []
    for _ in range(settings.repeats):
        fit = TimedFit(all_rounds(settings), table)
        with Stopwatch((MinimaxProgram, "solve"), (RegularizedDuals, "follow")) as watch:
            taken.append(fit())
        shares.append(watch.seconds / taken[-1])
    work = f"share of the linear program and the regularized duals, {len(table.y):,} rows"
    return Row(work, seconds(taken), "–", shares, Target(0.25, is_least=False))


def beside_published(rule_output: Literal["sign", "confidence"], table: Table, settings: Settings) -> Row:
    n_rounds = FEW_ROWS_ROUNDS
    make = partial(core.RMBoostClassifier, n_rounds=n_rounds, rule_output=rule_output, tolerance=0.0, random_state=0)
    ours, theirs = TimedFit(make, table), TimedFit(partial(PublishedRMBoost, n_rounds, rule_output), table)
    times = in_turns(ours, theirs, min(settings.repeats, 2))
    mine, published = ours.estimator, theirs.estimator
    rounds = f"rounds {mine.n_rounds_} and {published.n_rounds_}"
    note = f"R {mine.minimax_risk_:.4f} and {published.minimax_risk_:.4f}; {rounds}"
    failed = "" if mine.minimax_risk_ <= published.minimax_risk_ + RISK_BAND else "R is above theirs"
    work = f"rmboost, {rule_output}, {len(table.y):,} rows, {n_rounds} rounds, beside the published way"
    return Row(work, seconds(times.ours), seconds(times.theirs), times.speedups, Target(30.0), note, failed)


def doublings(settings: Settings, sizes: tuple[int, ...]) -> Iterator[Row]:
    table = made(sizes[-1])
    fits = [TimedFit(all_rounds(settings), table.first_rows(n_rows)) for n_rows in sizes]
    taken = np.array([[fit() / fit.estimator.n_rounds_ for fit in fits] for _ in range(settings.repeats)])
    for i, n_rows in enumerate(sizes[:-1]):
        ratios, work = list(taken[:, i + 1] / taken[:, i]), f"rmboost, a round: {n_rows:,} → {sizes[i + 1]:,} rows"
        shown = f"{seconds(taken[:, i])} → {seconds(taken[:, i + 1])}"
        yield Row(work, shown, "–", ratios, Target(2.3, is_least=False))


def memory(table: Table, settings: Settings) -> Row:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "X.npy", table.X)
        np.save(folder / "y.npy", table.y)
        peak = measured(folder, "rmboost", "ours", settings._replace(trees=N_ROUNDS))
    work, n_rows = f"rmboost, peak memory a row and round, {len(table.y):,} rows", len(table.y)
    target = Target(40.0, is_least=False, unit="bytes")
    return Row(
        work, f"{peak / 2**20:.0f} MiB", "–", [peak / n_rows / N_ROUNDS], target, f"{N_ROUNDS} rounds, bins included"
    )


def large_run(settings: Settings, n_rows: int) -> Row:
    table = made(n_rows)
    fit = TimedFit(partial(core.RMBoostClassifier, n_rounds=N_ROUNDS, random_state=0, n_jobs=settings.jobs), table)
    taken = [fit()]
    error, risk = 100 - fit.accuracy(), fit.estimator.minimax_risk_
    note = f"R {risk:.4f} with 10 % noise, held-out error {error:.1f} %, {fit.estimator.n_rounds_} rounds"
    return Row(f"rmboost, {n_rows:,} rows", seconds(taken), "–", taken, Target(np.inf, is_least=False, unit="s"), note)


def rows(settings: Settings) -> Iterator[Row]:
    shrink = (settings.rows or MANY_ROWS) / MANY_ROWS
    many = made(int(MANY_ROWS * shrink))
    yield share_of_program(many, settings)
    for rule_output in ("confidence", "sign"):
        yield beside_published(rule_output, made(FEW_ROWS), settings)
    yield from doublings(settings, tuple(int(n_rows * shrink) for n_rows in SIZES))
    yield memory(many, settings)
    yield large_run(settings, int(LARGE * shrink))
    yield beside_adaboost("adaboost", many, settings)
    yield beside_adaboost("rmboost", many, settings, tolerance=0.0)
