"""Place of the call that a warning is about."""

import sys


def stack_level_of_user() -> int:
    """Return the `stacklevel` with which a warning of the calling function names the first caller outside `core`."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "core":
        level, frame = level + 1, frame.f_back
    return level
