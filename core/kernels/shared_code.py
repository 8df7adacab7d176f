"""Kernels that other kernels call at their address, so that they are compiled once for all of these.

An inner function is a part of each kernel that calls it, and is compiled again for every loss. Code that is long and
independent of the loss is compiled and cached by itself instead. Its address differs from process to process and so
cannot be part of a compiled kernel; the caller receives it with its workspace.

The first argument of a shared kernel is a record of buffers. Numba would copy all its fields at each call, which takes
longer than a small node; here it is stored in memory once, and a call passes a pointer to it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from core.kernels.jit import address_kernel, kernel

_numba: Any = numba
_types: Any = types
_intrinsic: Any = intrinsic

_WORD_BYTES = 8


class SharedCall(NamedTuple):
    """Address of a shared kernel, and its first argument as it is stored in memory.

    The words contain the addresses of buffers, which must live as long as they do.
    """

    address: int
    words: NDArray[np.uint64]  # (word,); the argument itself if kernels are not compiled


NO_CALL = SharedCall(0, np.empty(0, dtype=np.uint64))


class SharedKernel:
    """Kernel that returns a number and is called at its address.

    function: takes a pointer to its first argument, and arguments of the types `argument_types`.
    kernel: the dispatcher.
    call: call(shared_call.address, shared_call.words, *arguments), which converts the arguments.
    """

    def __init__(self, function: Callable[..., float], *argument_types: Any) -> None:
        self.kernel, self._argument_types = address_kernel(function), argument_types
        self.call = _call_with(argument_types) if not _numba.config.DISABLE_JIT else _call_uncompiled(function)

    def with_first_argument(self, value: Any) -> SharedCall:
        """Return the call for a first argument, after compiling the kernel or loading it from the disk."""
        if _numba.config.DISABLE_JIT:
            return SharedCall(0, value)
        pointer = _types.CPointer(_numba.typeof(value))
        return SharedCall(self.kernel.address((pointer, *self._argument_types)), _stored(value))


def _call_uncompiled(function: Callable[..., float]) -> Callable[..., float]:
    """Return the call of a Python function, in which a tuple of one value takes the place of a pointer."""
    return lambda address, first_argument, *arguments: function((first_argument,), *arguments)


def _call_with(argument_types: tuple[Any, ...]) -> Any:
    """Return the call of a function at an address: (address, words of the first argument, other arguments) -> float."""

    def call(typing: Any, address: Any, words: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            called_types = (_types.voidptr, *argument_types)
            pointer = context.make_array(words)(context, builder, values[1]).data
            function_type = context.call_conv.get_function_type(_types.float64, called_types)
            function = builder.inttoptr(values[0], function_type.as_pointer())
            first = builder.bitcast(pointer, context.get_value_type(_types.voidptr))
            others = [builder.extract_value(values[2], i) for i in range(len(argument_types))]
            status, result = context.call_conv.call_function(
                builder, function, _types.float64, called_types, [first, *others]
            )
            with builder.if_then(status.is_error, likely=False):
                context.call_conv.return_status_propagate(builder, status)
            return result

        return _types.float64(_types.int64, words, _types.StarArgTuple(argument_types)), generate

    return _intrinsic(call)


@_intrinsic
def _n_words(typing: Any, value: Any) -> Any:
    """Return the words that `value` takes in memory."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        n_bytes = context.get_abi_sizeof(context.get_data_type(value))
        return context.get_constant(_types.int64, -(-n_bytes // _WORD_BYTES))

    return _types.int64(value), generate


@_intrinsic
def _store(typing: Any, value: Any, words: Any) -> Any:
    """Write `value` to `words` (word,)."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(words)(context, builder, values[1]).data
        pointer = builder.bitcast(data, context.get_data_type(value).as_pointer())
        context.pack_value(builder, value, values[0], pointer)
        return context.get_dummy_value()

    return _types.void(value, words), generate


@kernel
def _stored(value: Any) -> NDArray[np.uint64]:
    """Return `value` as it is stored in memory, (word,); its buffers are not kept alive."""
    words = np.empty(_n_words(value), dtype=np.uint64)
    _store(value, words)
    return words
