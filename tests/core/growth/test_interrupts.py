"""Signals whose handler raises, such as Ctrl-C, while kernels run on the main thread."""

import subprocess
import sys
import typing
from importlib import import_module
from pkgutil import walk_packages

import core.kernels
from core.kernels.inner_code import KernelDispatcher

INTERRUPTED_FITS = """
import signal
import numpy as np
from core import LogitBoostClassifier, LPBoostClassifier, RMBoostClassifier, TreeClassifier

def time_out(*_):
    raise TimeoutError

def fit_for_ever(classifier):
    while True:
        classifier.fit(X, y)

signal.signal(signal.SIGALRM, time_out)
random = np.random.default_rng(0)
X = random.normal(size=(2000, 10))
y = (X[:, 0] + random.normal(size=len(X)) > 0).astype(int)
boosters = [kind(n_rounds=30) for kind in (LogitBoostClassifier, LPBoostClassifier, RMBoostClassifier)]
for classifier in (TreeClassifier(n_jobs=1), TreeClassifier(max_leaf_nodes=200), *boosters):
    classifier.fit(X[:100], y[:100])
    for _ in range(4):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            fit_for_ever(classifier)
        except TimeoutError:
            print("interrupted")
"""


def test_a_handler_that_raises_ends_a_fit_and_not_the_process() -> None:
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED_FITS], capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stdout.split()) == (0, ["interrupted"] * 20), ended.stderr


def test_kernels_return_no_named_tuples() -> None:
    """Numba crashes where a signal handler raises while it makes one."""
    modules = [import_module(found.name) for found in walk_packages(core.kernels.__path__, "core.kernels.")]
    kernels = {each for module in modules for each in vars(module).values() if type(each) is KernelDispatcher}
    assert len(kernels) > 30
    returned = {kernel.py_func.__qualname__: typing.get_type_hints(kernel.py_func)["return"] for kernel in kernels}
    assert [name for name, kind in returned.items() if hasattr(kind, "_fields")] == []
