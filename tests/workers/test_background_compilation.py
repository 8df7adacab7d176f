"""Kernels of later jobs are compiled in the background, once, and that process ends with its worker."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from core import service_api
from tests.service_process import START_SECONDS, RunningService, wait_until
from workers.background_compilation import _LOCK, compile_ahead
from workers.compilation_turns import _LOCK as _JOB_LOCK
from workers.compilation_turns import are_programs_wanted, before_others

pytestmark = pytest.mark.slow

MODULE = "workers.background_compilation"


#: Kernels that fits need and predictions do not.
OF_FITS = ("growth_*", "search_*", "criteria_*", "simplex_*")


def copy_kernels(folder: Path, *missing: str) -> None:
    """Copy the compiled kernels to another cache except for some parts, so that only these are compiled."""
    compiled = service_api.kernel_cache_folder()
    assert compiled is not None
    shutil.copytree(compiled, folder / compiled.name, ignore=shutil.ignore_patterns(*missing, "compiled-ahead*"))


def marks(folder: Path) -> list[Path]:
    return list(folder.glob("kernels-*/compiled-ahead-*"))


def compilers(service: RunningService) -> list[psutil.Process]:
    return service.processes(MODULE)


def test_it_ends_with_its_worker_and_leaves_no_mark_before_it_has_finished(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    copy_kernels(folder, *OF_FITS)
    changes = {"NUMBA_CACHE_DIR": str(folder), "BRISTLECONE_COMPILE_AHEAD": "true"}
    with RunningService(tmp_path / "home", changes=changes) as service:
        [compiler] = wait_until(lambda: compilers(service), 60, "the start of the compilation")
        wait_until(lambda: compiler.nice() == 19, 30, "the lowest priority")
        [worker] = [each for each in service.processes("-m workers") if each.pid == compiler.ppid()]
        worker.send_signal(signal.SIGKILL)
        wait_until(lambda: not compiler.is_running(), 10, "the end of the compilation")
    assert not compilers(service)
    assert not marks(folder)


def test_a_marked_folder_is_left_alone(tmp_path: Path) -> None:
    program = (
        "from core import service_api\n"
        "from workers.background_compilation import _DONE, background_compilation\n"
        "import psutil\n"
        "(service_api.kernel_cache_folder() / _DONE).touch()\n"
        "with background_compilation():\n"
        "    print(len(psutil.Process().children()))\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0"]
    assert marks(tmp_path)


def test_only_one_process_compiles(tmp_path: Path) -> None:
    with (tmp_path / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        compile_ahead(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [_LOCK]


def test_it_waits_while_a_job_compiles(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys\n"
        "from core import service_api\n"
        "from workers.compilation_turns import after_jobs\n"
        "after_jobs(pathlib.Path(sys.argv[1]))\n"
        "print('begin', flush=True)\n"
        "service_api.warm_up_predictions()\n"
    )
    copy_kernels(tmp_path / "kernels", "ridge_*")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    command = [sys.executable, "-c", program, str(tmp_path)]
    with (tmp_path / _JOB_LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begin\n"
            seconds_of_cpu = _settled_seconds_of_cpu(process.pid)
            time.sleep(1)
            assert _seconds_of_cpu(process.pid) - seconds_of_cpu < 0.2
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert process.wait(START_SECONDS) == 0


def _seconds_of_cpu(pid: int) -> float:
    return float(sum(psutil.Process(pid).cpu_times()[:2]))


def _settled_seconds_of_cpu(pid: int) -> float:
    """Return the processor time of a process when it has used none for half a second."""

    def settled() -> float | None:
        before = _seconds_of_cpu(pid)
        time.sleep(0.5)
        return before if _seconds_of_cpu(pid) - before < 0.02 else None

    return wait_until(settled, 30, "the wait for the job")


def test_jobs_compile_at_the_same_time_and_before_others() -> None:
    folder = service_api.kernel_cache_folder()
    assert folder is not None
    with before_others(), (folder / _JOB_LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_job_with_linear_programs_says_that_it_wants_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_api, "kernel_cache_folder", lambda: tmp_path)
    with before_others():
        assert not are_programs_wanted(tmp_path)
    with before_others(solves_programs=True):
        assert are_programs_wanted(tmp_path)
