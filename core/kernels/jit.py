"""Compilation of kernels, and the location of the compiled code.

Numba's disk cache is invalidated by changes of the file that contains the cached function, and of no other: after a
change of a callee in another file the old machine code would be used. So the cache folder is named after a digest of
all source files of this package, and any edit starts a new folder. A folder is touched each time it is used. When a new
folder is created, its siblings that have not been used for a month are removed.
"""

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.extending import overload

from core.kernels.inner_code import AddressDispatcher, InnerCompiler, InnerDispatcher, KernelDispatcher
from core.kernels.kernel_locks import KernelLocks, locked

KernelFunction = TypeVar("KernelFunction", bound=Callable[..., object])

_numba: Any = numba  # its settings are defined at run time, where type checkers cannot see them

PACKAGE = Path(__file__).resolve().parent

#: Options of numba for code that creates no arrays and counts no references to them.
NO_REFERENCE_COUNTING: dict[str, Any] = {"_nrt": False}

_OPTIONS = {"nopython": True, "nogil": True, "boundscheck": None}
_CHOSEN_OPTIONS: dict[str, Any] = NO_REFERENCE_COUNTING | {"pipeline_class": InnerCompiler}

_LOCK_NAME = "saving.lock"
_LOCKS_NAME = "locks"
_PREFIX = "kernels-"
_DIGEST_CHARACTERS = 16
_MAX_UNUSED_SECONDS = 30 * 24 * 3600


def source_digest(folder: Path) -> str:
    """Return the hex digest of the paths and contents of all Python files in `folder` and its subfolders."""
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{name}:{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:_DIGEST_CHARACTERS]


def _can_hold_files(folder: Path) -> bool:
    """Create or touch `folder`; return whether files can be written to it."""
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return False
    if is_new:
        _remove_unused(folder)
    return os.access(folder, os.W_OK | os.X_OK)


def _remove_unused(current: Path) -> None:
    """Remove the siblings of `current` that have not been used for a month.

    Several processes may do this at the same time; errors mean that another one was faster.
    """
    oldest = time.time() - _MAX_UNUSED_SECONDS
    for folder in current.parent.glob(_PREFIX + "[0-9a-f]" * _DIGEST_CHARACTERS):
        with suppress(OSError):
            if folder != current and folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~\\AppData\\Local")).expanduser() / "bristlecone"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/bristlecone").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "bristlecone"


def cache_folder(package: Path = PACKAGE) -> Path | None:
    """Return the folder where the kernels of `package` are cached.

    It is None if no candidate is writable; kernels are then compiled in each process.
    """
    chosen = str(_numba.config.CACHE_DIR)
    candidates = [Path(chosen)] if chosen else [package / "__pycache__", _user_cache()]
    for base in candidates:
        folder = base / f"{_PREFIX}{source_digest(package)}"
        if _can_hold_files(folder):
            return folder
    return None


CACHE_FOLDER = None if _numba.config.DISABLE_JIT else cache_folder()

#: None without a folder: each process compiles what it needs.
LOCKS = None if CACHE_FOLDER is None else KernelLocks(CACHE_FOLDER / _LOCKS_NAME)


def _cached(function: KernelFunction, **options: Any) -> KernelFunction:
    """Return `function` compiled with numba's `options`, cached in CACHE_FOLDER.

    Fast-math is off: results must not depend on how the compiler reorders sums.
    """
    return cast(KernelFunction, _with_cache(KernelDispatcher(function, targetoptions=_OPTIONS | options)))


def _with_cache(compiled: Any) -> Any:
    """Let the dispatcher `compiled` cache machine code in CACHE_FOLDER.

    Numba reads its folder setting when a cache is made, so the setting is changed only for this moment and does not
    affect other users of numba in the process.
    """
    if CACHE_FOLDER is not None:
        before = _numba.config.CACHE_DIR
        _numba.config.CACHE_DIR = str(CACHE_FOLDER)
        try:
            compiled.enable_caching()
        finally:
            _numba.config.CACHE_DIR = before
        _lock_saving(compiled, CACHE_FOLDER / _LOCK_NAME)
        compiled.locks = LOCKS
    return compiled


def _lock_saving(compiled: Any, lock_path: Path) -> None:
    """Let only one process at a time save compiled code.

    Numba saves an index and the code that it refers to in two steps. Two processes that compile the same function for
    different types could choose the same file name, and the index of one would refer to the code of the other.
    """
    save = compiled._cache.save_overload

    def save_overload(signature: Any, data: Any) -> None:
        with locked(lock_path):
            save(signature, data)

    compiled._cache.save_overload = save_overload


def kernel(function: KernelFunction) -> KernelFunction:
    """Compile `function` without the GIL, cached on disk under CACHE_FOLDER.

    It returns named tuples as plain ones: numba makes a named tuple by calling its class and does not notice if a
    signal handler, such as that of Ctrl-C, raises there; the process would end with a segmentation fault.
    """
    return function if _numba.config.DISABLE_JIT else _cached(function)


def address_kernel(function: Callable[..., object]) -> Any:
    """Return the dispatcher of a kernel that other kernels call at its address, cached on disk under CACHE_FOLDER."""
    return _with_cache(AddressDispatcher(function, _OPTIONS | NO_REFERENCE_COUNTING))


def inner_kernel(function: KernelFunction) -> KernelFunction:
    """Compile a function that only other kernels call and that creates no arrays, as a part of each of them.

    It works on arrays owned by its caller, so it does not count references to them. In functions that unpack workspaces
    for each feature of each node, reference counting takes a third of the time of growth.
    """
    return _inner(function)


def inlined_kernel(function: KernelFunction) -> KernelFunction:
    """Compile an inner kernel that is inlined into each caller.

    For functions that pass many workspaces on to loops: in small nodes, copying the arguments would take longer than
    the loops.
    """
    return _inner(function, forceinline=True)


def _inner(function: KernelFunction, **options: Any) -> KernelFunction:
    if _numba.config.DISABLE_JIT:
        return function
    compiled: Any = InnerDispatcher(
        function, _OPTIONS | NO_REFERENCE_COUNTING | options, lambda: _cached(function, **NO_REFERENCE_COUNTING)
    )
    return cast(KernelFunction, compiled)


def uncompiled(function: Any) -> Any:
    """Return the Python function of a kernel, for `chosen_by_type` and for callers in Python."""
    return getattr(function, "py_func", function)


def chosen_by_type(function: Any, **options: Any) -> Any:
    """Return a decorator of a function that returns the implementation of `function` for the types of its arguments.

    It is called when a caller of `function` is compiled. `function` itself runs if kernels are not compiled.
    """
    chosen: Any = overload(function, strict=False, jit_options=_CHOSEN_OPTIONS | options)  # type: ignore[arg-type]
    return chosen
