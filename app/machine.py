"""Limits of the machine or the container that this process runs on, and how its allocator keeps freed memory."""

import ctypes
import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

#: `sun_path` holds 108 bytes on Linux and 104 on macOS; longer sockets cannot be bound.
MAX_SOCKET_PATH_BYTES = 100
#: Share of the memory that jobs may take together.
_SHARE_OF_JOBS = 0.8
_CGROUPS = Path("/sys/fs/cgroup")
#: Limit files of both versions of control groups. In a container, its own group is mounted at the root.
_LIMIT_FILES = ("memory.max", "memory.limit_in_bytes", "memory/memory.limit_in_bytes")

#: Parameters of `mallopt` (malloc.h), and their values.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_LARGE_BLOCK_BYTES = 1024**2
_MAX_ARENAS = 2


def memory_for_jobs() -> int:
    """Return the bytes that all jobs on this machine or in this container may take together."""
    return int(_SHARE_OF_JOBS * memory_bytes())


def memory_bytes(own_groups: Path = Path("/proc/self/cgroup"), mounted: Path = _CGROUPS) -> int:
    """Return the memory of the machine, or the limit of a control group of this process if that is lower."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *_limits(own_groups, mounted)])


def _limits(own_groups: Path, mounted: Path) -> list[int]:
    found = [_number(folder / name) for folder in _group_folders(own_groups, mounted) for name in _LIMIT_FILES]
    return [limit for limit in found if limit is not None]


def _group_folders(own_groups: Path, mounted: Path) -> list[Path]:
    """Return the folders of the groups of this process and of all groups that contain them."""
    folders = {mounted}
    for line in _text(own_groups).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        group = mounted / controllers / path.lstrip("/")
        folders |= {group, *(parent for parent in group.parents if parent.is_relative_to(mounted))}
    return sorted(folders)


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdecimal() and int(text) > 0 else None  # "max" means that there is no limit


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def short_socket_path(home: Path) -> Path:
    """Return the path of the broker's socket, which is outside of `home` if that path would be too long."""
    path = home / "run" / "redis.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"bristlecone-{os.getuid()}-{digest}" / "redis.sock"


def return_freed_memory() -> None:
    """Let the allocator of glibc give large blocks back to the system when they are freed.

    By default it keeps up to 64 MB in each of many arenas, of which every thread that reads a large row uses one. On
    other systems this does nothing.
    """
    with suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        for option in (_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD):
            mallopt(option, _LARGE_BLOCK_BYTES)
        mallopt(_M_ARENA_MAX, _MAX_ARENAS)
