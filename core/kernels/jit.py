"""The one way to compile a kernel, and where compiled code is kept.

Numba's disk cache watches the file of the function it caches and nothing else: a change in a callee in another file
goes unseen and the old machine code keeps running. So the folder of the cache is named after a digest of every source
file in this package, and an edit anywhere here starts a fresh folder. A folder is touched each time it is used; whoever
starts a fresh one removes its siblings that nobody has touched for a month.
"""

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

KernelFunction = TypeVar("KernelFunction", bound=Callable[..., object])

_numba: Any = numba  # its settings are made at run time, where a type checker cannot see them

PACKAGE = Path(__file__).resolve().parent

#: Options of numba for code that makes no arrays and counts no references to them.
NO_COUNTING = {"_nrt": False}

_LOCK_NAME = "saving.lock"
_PREFIX = "kernels-"
_DIGEST_CHARACTERS = 16
_KEPT_SECONDS = 30 * 24 * 3600


def source_digest(folder: Path) -> str:
    """Return the hex digest of the paths and contents of all Python files in `folder` and its subfolders."""
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{name}:{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:_DIGEST_CHARACTERS]


def _can_hold_files(folder: Path) -> bool:
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
    """Processes may race: each removes what it still finds, and errors mean that another one was faster."""
    oldest = time.time() - _KEPT_SECONDS
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
    """Where the kernels of `package` are cached; None when no candidate can be written (kernels then compile each
    start).
    """
    chosen = str(_numba.config.CACHE_DIR)
    candidates = [Path(chosen)] if chosen else [package / "__pycache__", _user_cache()]
    for base in candidates:
        folder = base / f"{_PREFIX}{source_digest(package)}"
        if _can_hold_files(folder):
            return folder
    return None


CACHE_FOLDER = None if _numba.config.DISABLE_JIT else cache_folder()


def _compiled(function: KernelFunction, **options: Any) -> KernelFunction:
    """Numba reads its folder setting while the decorator runs, so the setting is changed for that moment only and other
    users of numba in the process keep theirs. Fast-math stays off: results must not depend on how the compiler
    reorders sums.
    """
    before = _numba.config.CACHE_DIR
    _numba.config.CACHE_DIR = str(CACHE_FOLDER or before)
    try:
        compiled: KernelFunction = _numba.njit(cache=CACHE_FOLDER is not None, nogil=True, **options)(function)
    finally:
        _numba.config.CACHE_DIR = before
    if CACHE_FOLDER is not None:
        _save_alone(compiled, CACHE_FOLDER / _LOCK_NAME)
    return compiled


def _save_alone(compiled: Any, lock_path: Path) -> None:
    """Let one process at a time save compiled code.

    Numba saves an index and the code that it names in two steps. Two processes that compile the same function for
    different types could each choose the same name, and leave an index that gives one the code of the other.
    """
    save = compiled._cache.save_overload

    def save_overload(signature: Any, data: Any) -> None:
        with lock_path.open("a") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file closes
            save(signature, data)

    compiled._cache.save_overload = save_overload


def kernel(function: KernelFunction) -> KernelFunction:
    """Compile `function` without the GIL, cached on disk under CACHE_FOLDER."""
    return _compiled(function)


def inner_kernel(function: KernelFunction) -> KernelFunction:
    """The same for a function that only other kernels call and that makes no arrays of its own.

    It works on arrays that its caller holds, so it counts no references to them. Where a function takes workspaces
    apart at every feature of every node, counting takes a third of the time of growth.
    """
    return _compiled(function, **NO_COUNTING)


def inlined_kernel(function: KernelFunction) -> KernelFunction:
    """An inner kernel that becomes part of each caller: for functions that hand many workspaces on to loops, where the
    copies of the arguments would take longer than the loops do in small nodes.
    """
    return _compiled(function, inline="always", **NO_COUNTING)
