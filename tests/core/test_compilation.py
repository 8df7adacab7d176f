"""The first fit that has to compile says so on standard error, once, and can be silenced."""

import os
import subprocess
import sys

import pytest

jit = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")

_FITS = "import core; [core.TreeClassifier(max_depth=1).fit([[0.0], [1.0]], ['n', 'y']) for _ in range(2)]"
_SILENT = "import logging; logging.getLogger('core.compilation').setLevel('ERROR');"
#: Functions that compile in an instant, in place of the kernels, which would take minutes.
_COMPILE = """
import numba
from core.compilation import announce_compilation
announce_compilation()
announce_compilation()

def double(x):
    return 2 * x

def halve(x):
    return x / 2

for function in (double, halve):
    function.__module__ = MODULE
    numba.njit(function)(3)
"""


def _stderr(program: str) -> str:
    run = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True)
    return run.stderr


@jit
def test_one_line_for_the_first_compilation():
    program = _COMPILE.replace("MODULE", "'core.kernels.test'")
    text = _stderr(program)
    assert text.startswith("Compiling the code of this kind of fit.")
    assert text.count("\n") == 1


@jit
def test_seconds_of_kernels_and_their_callees_are_counted_once():
    program = """
import time
import numba
from core import service_api
from core.compilation import measure_compilation
measure_compilation()
measure_compilation()

def share_of_time(module):
    @numba.njit
    def inner(x):
        return 2 * x

    def outer(x):
        return inner(x) + 1

    outer.__module__ = inner.py_func.__module__ = module
    before, began = service_api.compile_seconds(), time.perf_counter()
    numba.njit(outer)(3)
    return (service_api.compile_seconds() - before) / (time.perf_counter() - began)

print(share_of_time("elsewhere"), share_of_time("core.kernels.test"))
"""
    elsewhere, kernels = map(float, subprocess.check_output([sys.executable, "-c", program], text=True).split())
    assert elsewhere == 0.0
    assert 0.0 < kernels <= 1.0


@jit
def test_steps_are_reported_when_their_first_kernel_is_compiled():
    program = """
import numba
from core.compilation import reporting_steps

def compile_in(module):
    def double(x):
        return 2 * x
    double.__module__ = module
    numba.njit(double)(3)

steps = ["binning", "tree growth with gini", "tree growth with ne", "predictions"]
with reporting_steps(steps, lambda step, completed: print(step, completed)) as begin_fit:
    begin_fit("gini")
    compile_in("core.kernels.growth.binning")
    compile_in("core.kernels.growth.trees")
    compile_in("core.kernels.search.splitting")
    begin_fit("ne")
    compile_in("core.kernels.growth.trees")
    compile_in("core.kernels.simplex.primal")
    compile_in("elsewhere")
    compile_in("core.kernels.prediction.traversal")
compile_in("core.kernels.growth.trees")
"""
    lines = subprocess.check_output([sys.executable, "-c", program], text=True).splitlines()
    assert lines == ["binning 0", "tree growth with gini 1", "tree growth with ne 2", "predictions 3"]


@jit
def test_the_wait_for_another_process_is_announced_reported_and_measured(tmp_path):
    program = """
import numba, sys
from pathlib import Path
from core.compilation import announce_compilation, compile_seconds, reporting_steps
from core.kernels import jit
from core.kernels.kernel_locks import KernelLocks

def double(x):
    return 2 * x

double.__module__ = "core.kernels.growth.trees"
kernel = jit.kernel(double)
kernel(3)
other_process = KernelLocks(Path(sys.argv[1]))
waiting = jit.kernel(double)  # its code is on the disk now
waiting.locks = KernelLocks(Path(sys.argv[1]), patience_seconds=0.2)
announce_compilation()
with reporting_steps(["tree growth with gini"], lambda step, completed: print(step, completed)) as begin_fit:
    begin_fit("gini")
    with other_process.lock("core.kernels.growth.trees.double(int64,)"):
        waiting(3)
print(compile_seconds() >= 0.2)
"""
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "locks")]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["tree growth with gini 0", "True"]
    assert "Compiling the code" in run.stderr


def test_other_code_of_the_process_is_not_announced_and_the_message_can_be_turned_off():
    kernels, elsewhere = (_COMPILE.replace("MODULE", module) for module in ("'core.kernels.test'", "'elsewhere'"))
    assert _stderr(elsewhere + _SILENT + kernels) == ""


@jit
def test_a_fit_whose_code_is_cached_is_silent():
    assert _stderr(_FITS).count("\n") <= 1  # compiles what the cache lacks
    assert _stderr(_FITS) == ""
