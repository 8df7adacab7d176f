"""Kernels of later jobs are compiled in the background, once, and that process ends with its worker."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.service_process import RunningService, wait_until
from workers.background_compilation import _LOCK, compile_ahead

MODULE = "workers.background_compilation"


def marks(folder: Path) -> list[Path]:
    return list(folder.glob("kernels-*/compiled-ahead-*"))


def compilers(service: RunningService) -> list[psutil.Process]:
    return service.processes(MODULE)


def test_it_ends_with_its_worker_and_leaves_no_mark_before_it_has_finished(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
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
