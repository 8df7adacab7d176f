"""Compilation and caching of kernels, and small kernels compared with plain Python versions."""

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.extending import is_jitted

import core.kernels
from core.growth.binning import bin_features
from core.kernels import jit, random_state
from core.kernels.criteria import dispatch
from core.kernels.growth import partition
from core.kernels.inner_code import InnerDispatcher
from core.kernels.search import node_codes, splitting
from core.kernels.search.packed_sums import PackedRows
from tests.core.kernels.criteria_by_hand import ONE_OF_EACH

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(core.kernels.__path__, prefix="core.kernels.")
    if not module.ispkg
]
KERNELS = {
    f"{module.__name__}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if is_jitted(value) and value.py_func.__module__ == module.__name__
}
needs_jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="looks at compiled kernels")


@needs_jit
def test_kernels_are_discovered():
    assert {
        "core.kernels.growth.trees.grow_depth_first",
        "core.kernels.prediction.traversal.mean_leaf_values",
    } <= KERNELS.keys()


@needs_jit
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_releases_the_gil_is_cached_and_has_no_fastmath(name):
    kernel = KERNELS[name]
    assert kernel.targetoptions["nogil"] is True
    assert not kernel.targetoptions.get("fastmath", False)
    assert not kernel.targetoptions.get("parallel", False)
    if not isinstance(kernel, InnerDispatcher):  # whose code is cached in the kernels that call it
        assert jit.CACHE_FOLDER in Path(kernel.stats.cache_path).parents


def test_numba_is_used_only_in_the_module_jit():
    for path in jit.PACKAGE.rglob("*.py"):
        text = path.read_text()
        uses_numba = any(word in text for word in ["njit", "@numba", "numba.jit", "prange"])
        assert path.name in {"jit.py", "inner_code.py"} or not uses_numba, path


def test_other_users_of_numba_keep_their_cache_folder():
    assert str(jit.CACHE_FOLDER) != numba.config.CACHE_DIR


def test_editing_any_kernel_file_changes_the_folder(tmp_path):
    package = tmp_path / "kernels"
    shutil.copytree(jit.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = jit.cache_folder(package)
    assert before == jit.cache_folder(package)
    with (package / "row_scans.py").open("a") as file:
        file.write("\n# changed\n")
    assert jit.cache_folder(package) != before


def test_editing_a_kernel_file_in_a_subfolder_changes_the_folder(tmp_path):
    package = tmp_path / "kernels"
    shutil.copytree(jit.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    nested = package / "nested" / "deeper"
    nested.mkdir(parents=True)
    before = jit.cache_folder(package)
    (nested / "formula.py").write_text("constant = 1\n")
    with_file = jit.cache_folder(package)
    (nested / "formula.py").write_text("constant = 2\n")
    edited = jit.cache_folder(package)
    (nested / "formula.py").rename(package / "nested" / "formula.py")
    assert len({before, with_file, edited, jit.cache_folder(package)}) == 4


def test_new_cache_folder_removes_folders_unused_for_a_month(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    package = tmp_path / "package"
    package.mkdir()
    (package / "code.py").write_text("x = 1")
    cache = package / "__pycache__"
    names = {"old": f"kernels-{0:016x}", "young": f"kernels-{1:016x}", "foreign": "kernels-of-another"}
    for name in names.values():
        (cache / name / "inner").mkdir(parents=True)
        (cache / name / "inner" / "code.nbi").touch()
    for name, days in {"old": 31, "young": 29, "foreign": 400}.items():
        used = time.time() - days * 24 * 3600
        os.utime(cache / names[name], (used, used))
    current = jit.cache_folder(package)
    assert {folder.name for folder in cache.iterdir()} == {names["young"], names["foreign"], current.name}
    os.utime(current, (0, 0))
    assert jit.cache_folder(package) == current
    assert time.time() - current.stat().st_mtime < 60


def copy_compiler(package):
    """Make a package of kernels that knows nothing of those of `core`."""
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("jit.py", "inner_code.py", "kernel_locks.py"):
        (package / name).write_text((jit.PACKAGE / name).read_text().replace("core.kernels.", f"{package.name}."))


CALLEE = """
from cached.jit import kernel
@kernel
def callee(x):
    return x + {constant}
"""
CALLER = """
from cached.jit import kernel
from cached.callee import callee
@kernel
def caller(x):
    return callee(x)
"""


@needs_jit
@pytest.mark.parametrize("has_environment_variable", [True, False], ids=["NUMBA_CACHE_DIR", "next to the source"])
def test_edited_callee_in_another_file_takes_effect(tmp_path, has_environment_variable):
    package = tmp_path / "cached"
    copy_compiler(package)
    (package / "caller.py").write_text(CALLER)
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {"PYTHONPATH": str(tmp_path)}
    environment |= {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if has_environment_variable else {}
    program = "from cached.caller import caller; print(caller(1), sum(caller.stats.cache_hits.values()))"
    outputs = []
    for constant in [1, 1, 100]:
        (package / "callee.py").write_text(CALLEE.format(constant=constant))
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        outputs.append(run.stdout.split())
    assert outputs == [["2", "0"], ["2", "1"], ["101", "0"]]
    base = tmp_path / "cache" if has_environment_variable else package / "__pycache__"
    assert len(list(base.glob("kernels-*"))) == 2


FUNCTION_OF_SEVERAL_TYPES = """
import sys
from cached.jit import kernel
@kernel
def total(a, b, c):
    return a + b + c
values = {"int": 1, "float": 0.5, "complex": 1j}
for one in sys.argv[1:]:
    print(total(*(values[name] for name in one.split(","))))
"""


@needs_jit
def test_concurrent_compilations_of_one_function_keep_their_code_apart(tmp_path):
    package = tmp_path / "cached"
    copy_compiler(package)
    (package / "sums.py").write_text(FUNCTION_OF_SEVERAL_TYPES)
    names = ["int", "float", "complex"]
    calls = [f"{a},{b},{c}" for a in names for b in names for c in names]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    program = [sys.executable, "-m", "cached.sums"]
    orders = [calls, calls[::-1]]
    running = [subprocess.Popen([*program, *order], env=environment, stdout=subprocess.PIPE) for order in orders]
    first, second = (process.communicate()[0].split() for process in running)
    again = subprocess.run([*program, *calls], env=environment, capture_output=True, check=True).stdout.split()
    assert len(first) == len(calls)
    assert first == second[::-1] == again


def test_kernels_run_without_compilation():
    program = """
import numpy as np, core
X = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 0.0], [3.0, 1.0]])
y = [0, 0, 1, 1]
for loss in core.LOSSES:
    forest = core.ForestClassifier(n_estimators=3, loss=loss, max_bins=2, random_state=0).fit(X, y)
    print(loss, forest.predict_proba(X).round(12).tolist())
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            env=os.environ | {"NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("1", "0")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == len(core.LOSSES)


def test_search_and_growth_do_not_depend_on_any_criterion():
    names = {type(criterion).__name__ for criterion in ONE_OF_EACH}
    searching = [module for module in MODULES if module.__name__.split(".")[2] in ("search", "growth")]
    for module in [*searching, dispatch]:
        text = Path(module.__file__).read_text()
        assert not [name for name in names if f"{name}(" in text or f"import {name}" in text]
    assert len(names) == len(ONE_OF_EACH)


def test_midpoints_separate_two_values():
    for below, above in [(0.0, 1.0), (-1e308, 1e308), (1.0, np.nextafter(1.0, 2.0)), (-5e-324, 0.0), (0.0, 5e-324)]:
        assert below <= splitting.midpoint(below, above) < above
    assert splitting.midpoint(1.0, 2.0) == 1.5


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("packs", [False, True])
def test_partition_is_stable_and_moves_all_arrays_of_rows_together(missing_left, packs):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, size=50).astype(np.uint8)  # 5 = missing
    rows = rng.permutation(50).astype(np.uint32)
    tree_rows = partition.TreeRows(rows.copy(), (rows * 2).astype(np.uint16), rows * 3.0)
    packed = PackedRows(rows.astype(np.uint64) * np.uint64(4), np.arange(1), 20 if packs else 0, 32)
    goes_left = np.empty(40, dtype=np.uint8)
    cut = 5 + node_codes.mark_up_to(codes[rows[5:45]], 40, 2, 5 if missing_left else 2, goes_left)
    partition.partition(goes_left, tree_rows, packed, 5, 45, partition.new_spare_rows(50))
    inside = rows[5:45].tolist()
    left = [r for r in inside if codes[r] <= 2 or (missing_left and codes[r] == 5)]
    right = [r for r in inside if r not in set(left)]
    assert tree_rows.rows.tolist() == [*rows[:5], *left, *right, *rows[45:]]
    assert cut == 5 + len(left)
    if packs:
        np.testing.assert_array_equal(packed.words, tree_rows.rows * 4)
    else:
        np.testing.assert_array_equal(tree_rows.labels, tree_rows.rows * 2)
        np.testing.assert_array_equal(tree_rows.weights, tree_rows.rows * 3.0)


def test_random_numbers_match_the_published_generator():
    state = np.array([1234567], dtype=np.uint64)
    with np.errstate(over="ignore"):
        words = [int(random_state.next_word(state)) for _ in range(3)]
    assert words == [splitmix64(1234567 + (i + 1) * 0x9E3779B97F4A7C15) for i in range(3)]


def splitmix64(word):
    """Return the mixed word, computed with integers of any size."""
    word %= 2**64
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def test_draws_are_uniform():
    state = np.array([7], dtype=np.uint64)
    draws = np.bincount([random_state.next_below(state, 10) for _ in range(20_000)], minlength=10)
    assert len(draws) == 10
    assert abs(draws - 2000).max() < 200
    assert random_state.bootstrap_counts(state, 1000).sum() == 1000


@pytest.mark.parametrize("n_distinct", [1, 2, 255, 256])
@pytest.mark.parametrize("missing", [False, True])
def test_few_distinct_values_are_binned_without_loss(n_distinct, missing):
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(size=n_distinct))
    column = rng.permutation(np.concatenate([values, rng.choice(values, 500), [np.nan] * (5 * missing)]))
    bins = bin_features(column[:, np.newaxis], 256)
    assert bins.n_bins.tolist() == [n_distinct]
    np.testing.assert_array_equal(bins.bin_low, values)
    decoded = np.append(bins.bin_low, np.nan)[bins.codes[0].astype(int)]
    np.testing.assert_array_equal(decoded, column)
    assert bins.codes.dtype == (np.uint16 if missing and n_distinct == 256 else np.uint8)


@pytest.mark.parametrize("max_bins", [2, 16, 255, 256])
@pytest.mark.parametrize("missing", [0, 40])
def test_many_distinct_values_share_bins_of_nearly_equal_size(max_bins, missing):
    rng = np.random.default_rng(1)
    column = np.concatenate([rng.normal(size=3000), np.zeros(900), np.full(missing, np.nan)])
    bins = bin_features(rng.permutation(column)[:, np.newaxis], max_bins)
    low, high, codes = bins.bin_low, bins.bin_high, bins.codes[0]
    max_bins = min(max_bins, 255) if missing else max_bins
    assert bins.n_bins[0] == max_bins
    assert bins.codes.dtype == np.uint8
    assert (low <= high).all()
    assert (high[:-1] < low[1:]).all()
    counts = np.bincount(codes.astype(int))
    assert len(counts) == max_bins + (missing > 0)
    if missing:
        assert counts[max_bins] == missing
    heavy = np.flatnonzero((low <= 0) & (high >= 0))[0]
    assert np.delete(counts[:max_bins], heavy).max() <= max(2 * 3900 / max_bins, 2)


def test_equal_zeros_share_a_bin():
    assert bin_features(np.array([[-0.0], [0.0], [1.0]]), 256).n_bins.tolist() == [2]
