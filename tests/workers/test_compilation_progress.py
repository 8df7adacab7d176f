"""The phase `compiling` shows what is compiled and how far it is, without a change of weights and kinds of phases."""

import os
import time
from collections.abc import Callable
from typing import Any

import numba
import pytest

from core.compilation import reporting_steps
from workers.job_board import JobBoard
from workers.monitor import JobMonitor, PhaseKind

STEPS = ["binning", "tree growth with ne", "predictions"]


def shown(monitor: JobMonitor) -> tuple[Any, ...]:
    progress = monitor.board.read_progress()
    assert progress is not None
    return tuple(progress[key] for key in ("phase", "completed", "total", "unit", "fraction"))


def eta_seconds(monitor: JobMonitor) -> Any:
    progress = monitor.board.read_progress()
    assert progress is not None
    return progress["eta_seconds"]


def compile_kernel_of(module: str) -> None:
    """Compile a function that takes an instant, in place of a kernel."""

    def double(x: int) -> int:
        return 2 * x

    double.__module__ = module
    compiled: Callable[[int], int] = numba.njit(double)
    compiled(3)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_the_step_that_is_compiled_is_shown_with_the_phase() -> None:
    monitor = JobMonitor(JobBoard())
    monitor.plan({"loading": 1.0, "compiling": 3.0, "growing": 6.0})
    monitor.begin("compiling", len(STEPS), "steps")
    assert shown(monitor) == ("compiling", 0, 3, "steps", 0.1)
    with reporting_steps(STEPS, monitor.begin_step) as begin_fit:
        begin_fit("ne")
        compile_kernel_of("core.kernels.growth.trees")
        assert shown(monitor) == ("compiling: tree growth with ne", 1, 3, "steps", 0.2)
        compile_kernel_of("core.kernels.prediction.traversal")
        assert shown(monitor) == ("compiling: predictions", 2, 3, "steps", 0.3)
    monitor.begin("growing", 10, "trees")
    assert shown(monitor) == ("growing", 0, 10, "trees", 0.4)


def test_the_estimate_of_the_remaining_time_leaves_compilation_out() -> None:
    monitor = JobMonitor(JobBoard())
    monitor.plan({"loading": 0.02, "compiling": 0.01, "growing": 0.97})
    monitor.begin("compiling", len(STEPS), "steps")
    monitor.begin_step("tree growth with ne", 1)
    time.sleep(1.0)
    assert eta_seconds(monitor) is None
    monitor.begin("growing", 100, "trees")
    assert eta_seconds(monitor) < 15  # 32 if the second counted


def test_the_time_of_a_step_counts_as_compilation() -> None:
    monitor = JobMonitor(JobBoard())
    with monitor.body_running():
        monitor.begin("compiling", len(STEPS), "steps")
        monitor.begin_step("tree growth with ne", 1)
    assert set(monitor.seconds()) == {PhaseKind.COMPILING}
    assert [phase for phase, _ in monitor.timings()] == ["compiling"]
