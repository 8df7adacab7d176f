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


def test_other_code_of_the_process_is_not_announced():
    assert _stderr(_COMPILE.replace("MODULE", "'elsewhere'")) == ""


def test_the_message_can_be_turned_off():
    program = _SILENT + _COMPILE.replace("MODULE", "'core.kernels.test'")
    assert _stderr(program) == ""


@jit
def test_a_fit_whose_code_is_cached_is_silent():
    assert _stderr(_FITS).count("\n") <= 1  # compiles what the cache lacks
    assert _stderr(_FITS) == ""
