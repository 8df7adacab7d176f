"""Functions that are compiled as parts of the kernels that call them."""

import numba
import numpy as np
import pytest

from core import TreeClassifier
from core.kernels.growth.trees import grow_depth_first
from core.kernels.inner_code import QuickFlags
from core.kernels.jit import chosen_by_type, inlined_kernel, inner_kernel, kernel

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="looks at compiled kernels")


@inner_kernel
def add_to_all(values, added):
    for i in range(values.shape[0]):
        values[i] += added


@inlined_kernel
def add_twice(values, added):
    add_to_all(values, added)
    add_to_all(values, added)
    return values.shape[0] + added


def add_by_type(values, added):
    return add_twice(values, int(added))


@chosen_by_type(add_by_type)
def choose_addition(values, added):
    return add_by_type if isinstance(added, numba.types.Float) else uncompiled_addition


def uncompiled_addition(values, added):
    return -1


@kernel
def add_in_kernel(values, added):
    return add_twice(values, 1) + add_twice(values, added)


@kernel
def add_by_choice(values):
    return add_by_type(values, 2.0), add_by_type(values, 2)


@pytest.fixture(scope="module")
def compiled():
    """Return the compiled code of add_in_kernel; a kernel from the disk cache has no inner functions any more."""
    add_in_kernel(np.arange(3.0), 10)
    add_in_kernel.recompile()
    (result,) = add_in_kernel.overloads.values()
    return result


def test_kernels_run_the_code_of_their_inner_functions():
    values = np.arange(3.0)
    assert add_in_kernel(values, 10) == (3 + 1) + (3 + 10)
    assert values.tolist() == [22.0, 23.0, 24.0]
    assert add_by_choice(values) == (3 + 2, -1)
    assert values.tolist() == [26.0, 27.0, 28.0]


def test_inner_functions_are_compiled_once_for_literals_and_variables(compiled):
    assert len(add_twice.overloads) == len(add_to_all.overloads) == 1


def test_inner_functions_have_neither_wrappers_nor_machine_code(compiled):
    for inner in (add_to_all, add_twice):
        (result,) = inner.overloads.values()
        assert result.library.get_pointer_to_function(result.fndesc.llvm_func_name) == 0
        assert not any("cpython" in function.name for function in result.library.get_defined_functions())


def test_inner_functions_can_be_called_from_python():
    values = np.zeros(2)
    assert add_twice(values, 3) == 5
    assert values.tolist() == [6.0, 6.0]


def test_loops_of_inner_functions_are_vectorized_in_their_kernels(compiled):
    """The speed of fits depends on it; the type of several numbers that are added at once shows in the code."""
    assert "x double>" in compiled.library.get_llvm_str()


def test_one_kernel_grows_trees_on_numbers_and_on_categories():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    TreeClassifier(max_depth=2).fit(X, y)
    n_compiled = len(grow_depth_first.overloads)
    TreeClassifier(max_depth=2, categorical_features=[1]).fit(X, y)
    assert len(grow_depth_first.overloads) == n_compiled


def test_options_of_compilation_are_compared_as_numba_compares_them():
    """Numba finds compiled functions by them, and one that is set to its default is the same as one that is not set."""
    unset, default, other = QuickFlags(), QuickFlags(), QuickFlags()
    default.nrt = unset.nrt
    other.nrt = not unset.nrt
    assert unset == default
    assert hash(unset) == hash(default)
    assert unset != other
