"""Memory that a loaded model holds."""

import gc
import mmap
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType)


def held_bytes(*values: Any) -> int:
    """Return the bytes that values and all that they refer to hold together.

    Classes and functions do not count, and a file that is mapped into memory counts once, however many arrays show it.
    """
    seen: set[int] = set()
    waiting = list(values)
    total = 0
    while waiting:
        value = waiting.pop()
        if id(value) not in seen and not isinstance(value, _CODE):
            seen.add(id(value))
            total += _own_bytes(value)
            waiting.extend(_parts(value))
    return total


def _own_bytes(value: Any) -> int:
    if isinstance(value, mmap.mmap):
        return len(value)
    if isinstance(value, pa.Array):
        return int(value.get_total_buffer_size())
    return sys.getsizeof(value)


def _parts(value: Any) -> Iterable[Any]:
    # Arrays and views do not tell the garbage collector what they show.
    if isinstance(value, np.ndarray):
        return [] if value.base is None else [value.base]
    if isinstance(value, memoryview):
        return [value.obj]
    return gc.get_referents(value)
