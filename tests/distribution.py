"""Distribution of tests to parallel processes: by file, except that files which share a service stay together."""

import re

from xdist.scheduler import LoadFileScheduling

#: Part of the ids of tests that use a shared service, with the name of its database.
SHARED_SERVICE = "service on "
#: Folders whose files share a service.
_FOLDERS = ("tests/client/",)


class BySharedService(LoadFileScheduling):  # type: ignore[misc]
    """Scheduler that gives all tests of one scope to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """Return the file of a test, or the service that it shares with tests of other files."""
    if shared := re.search(rf"{SHARED_SERVICE}\w+", nodeid):
        return shared[0]
    file = nodeid.partition("::")[0]
    return next((folder for folder in _FOLDERS if file.startswith(folder)), file)
