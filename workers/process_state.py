"""State of another process, as the kernel of the system tells it."""

from pathlib import Path

#: Stopped by a signal or by a debugger.
_STOPPED = ("T", "t")


def is_stopped(pid: int) -> bool:
    """Return whether a process was stopped and has not been continued; False where the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    # The name of the program comes before the state and can itself contain parentheses and spaces.
    return stat.rpartition(")")[2].split()[0] in _STOPPED
