"""Kernels that other kernels call at their address."""

import numba
import numpy as np
import pytest
from numba.core import types
from numpy.typing import NDArray

from core.kernels.jit import kernel
from core.kernels.shared_code import SharedKernel

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="calls compiled kernels")


#: Counts (call,), a factor and None; without a class of these tests, to which the cache on the disk would refer.
Buffers = tuple[NDArray[np.int64], float, None]


def add_scaled(pointer, values, position, factor):
    counts, scale, _ = pointer[0]
    counts[position] += values.shape[0]
    return scale * values.sum() / factor


SCALED = SharedKernel(add_scaled, types.float64[::1], types.int64, types.float64)
call = SCALED.call


@kernel
def call_for_each(shared, values, factor):
    total = 0.0
    for i in range(values.shape[0]):
        total += call(shared.address, shared.words, values[: i + 1], i, factor)
    return total


@pytest.fixture
def buffers() -> Buffers:
    return np.zeros(3, dtype=np.int64), 0.5, None


def test_a_shared_kernel_reads_and_writes_the_buffers_of_its_first_argument(buffers):
    shared = SCALED.with_first_argument(buffers)
    assert call_for_each(shared, np.array([1.0, 2.0, 4.0]), 2.0) == 0.5 * (1 + 3 + 7) / 2.0
    np.testing.assert_array_equal(buffers[0], [1, 2, 3])


def test_arguments_are_converted_to_the_types_of_the_shared_kernel(buffers):
    assert call_for_each(SCALED.with_first_argument(buffers), np.array([1.0, 2.0, 4.0]), 2) == 2.75


def test_an_error_of_a_shared_kernel_reaches_the_caller(buffers):
    with pytest.raises(ZeroDivisionError):
        call_for_each(SCALED.with_first_argument(buffers), np.array([1.0, 2.0, 4.0]), 0.0)


def test_each_first_argument_keeps_its_own_buffers(buffers):
    other = np.zeros(3, dtype=np.int64), 1.0, None
    first, second = SCALED.with_first_argument(buffers), SCALED.with_first_argument(other)
    assert first.address == second.address
    assert call_for_each(second, np.array([1.0, 2.0, 4.0]), 2.0) == 2 * call_for_each(
        first, np.array([1.0, 2.0, 4.0]), 2.0
    )
