"""Locks of kernels: one process compiles a kernel, another one reads its code from the disk."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import PIPE

import numba
import pytest

from core.kernels.kernel_locks import KernelLocks, locked

KERNEL = "grow(float64)"
_PROGRAM = """
import sys
from numba.core import event
from core.kernels.jit import kernel

@kernel
def cube(x):
    return x * x * x

print("ready", flush=True)
sys.stdin.readline()
with event.install_recorder("numba:compile") as compiled:
    assert cube(3.0) == 27.0
print(len(compiled.buffer) // 2)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "locks"


@pytest.fixture
def locks(folder: Path) -> KernelLocks:
    return KernelLocks(folder)


def is_free(folder: Path) -> bool:
    """Return whether no kernel is locked."""
    for path in folder.iterdir():
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
    return True


def test_a_kernel_is_locked_while_it_is_compiled(locks: KernelLocks, folder: Path) -> None:
    with locks.lock(KERNEL):
        assert not is_free(folder)
    assert is_free(folder)


def test_kernels_do_not_wait_for_each_other(locks: KernelLocks, folder: Path) -> None:
    waited: list[str] = []
    with locks.lock(KERNEL), KernelLocks(folder).lock("grow(float32)", lambda: noting(waited)):
        pass
    assert not waited


def test_the_wait_for_another_process_is_limited_and_announced(locks: KernelLocks, folder: Path) -> None:
    waited: list[str] = []
    began = time.monotonic()
    with locks.lock(KERNEL), KernelLocks(folder, patience_seconds=0.2).lock(KERNEL, lambda: noting(waited)):
        assert waited == ["begin", "end"]
        assert time.monotonic() - began >= 0.2


@contextmanager
def noting(waited: list[str]) -> Iterator[None]:
    waited.append("begin")
    yield
    waited.append("end")


def test_the_function_before_a_kernel_runs_while_no_lock_is_held(locks: KernelLocks, folder: Path) -> None:
    """It may wait for a process that waits for a lock."""
    calls: list[bool] = []
    folder.mkdir()
    locks.call_before(lambda: calls.append(is_free(folder)))
    with locks.lock("outer"), locks.lock("inner"):
        pass
    assert calls == [True]


def test_a_lock_ends_after_an_error(locks: KernelLocks, folder: Path) -> None:
    with pytest.raises(KeyError), locks.lock(KERNEL):
        raise KeyError("grow")
    assert is_free(folder)


def test_a_child_process_that_was_forked_meanwhile_does_not_keep_the_lock(locks: KernelLocks, folder: Path) -> None:
    begin, end = os.pipe()
    with locks.lock(KERNEL):
        child = os.fork()
        if child == 0:
            os.read(begin, 1)
            os._exit(0)
    try:
        assert is_free(folder)
    finally:
        os.write(end, b"x")
        os.waitpid(child, 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_without_the_right_to_lock_kernels_are_compiled_nevertheless(folder: Path) -> None:
    folder.mkdir(mode=0o500)
    with KernelLocks(folder).lock(KERNEL):
        assert not list(folder.iterdir())


def test_without_a_folder_kernels_are_compiled_nevertheless(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    entered = []
    with KernelLocks(tmp_path / "file" / "locks").lock(KERNEL):
        entered.append(KERNEL)
    assert entered


def test_a_removed_folder_is_created_again(locks: KernelLocks, folder: Path) -> None:
    with locks.lock(KERNEL):
        pass
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.parent.rmdir()
    with locks.lock(KERNEL):
        assert not is_free(folder)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_of_two_processes_that_need_a_kernel_one_compiles_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(_PROGRAM)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": os.pathsep.join(sys.path)}
    with ExitStack() as stack:
        processes = [stack.enter_context(program(tmp_path / "program.py", environment)) for _ in range(2)]
        (folder,) = (tmp_path / "kernels").iterdir()
        with KernelLocks(folder / "locks").lock("__main__.cube(float64,)"):
            for process in processes:
                begin(process)
            time.sleep(1)  # until both wait, as a rule; the result does not depend on it
        outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert sorted(outputs) == ["0\n", "1\n"]


@contextmanager
def program(path: Path, environment: Mapping[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """Run a program until it is ready, and kill it in the end."""
    command = [sys.executable, str(path)]
    with subprocess.Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def begin(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_a_lock_of_a_killed_process_ends(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys\n"
        "from core.kernels.kernel_locks import locked\n"
        "with locked(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert not is_free(tmp_path)
        process.kill()
    with locked(tmp_path / "lock"):
        pass
