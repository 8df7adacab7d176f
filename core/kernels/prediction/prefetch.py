"""Prefetch instructions for the processor."""

from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

_numba: Any = numba  # its settings are defined at run time, where type checkers cannot see them
_cgutils: Any = cgutils


@intrinsic
def _prefetched(typing_context: Any, array: Any, index: Any) -> Any:
    """Emit LLVM's `llvm.prefetch` for the address of array[index]: read, keep in all caches, data."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), _cgutils.voidptr_t)
        flag = ir.IntType(32)
        hint = _cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [_cgutils.voidptr_t, flag, flag, flag]), "llvm.prefetch.p0"
        )
        builder.call(hint, [address, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return numba.types.void(array, index), emit


def _nothing(array: NDArray[Any], index: Any) -> None:
    """Do nothing, as a prefetch does not change the result."""


#: prefetch(array, index) starts to load array[index]; the array (item,) is C contiguous, and any index is allowed.
prefetch: Any = _nothing if _numba.config.DISABLE_JIT else _prefetched
