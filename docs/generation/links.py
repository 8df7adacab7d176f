"""Links of Markdown files, as they have to be in a page of the site."""

import re
from os.path import relpath
from pathlib import Path
from typing import NamedTuple

_LINK = re.compile(r"\]\((?P<target>(?!\w+:|#)[^)#\s]+)")


class Site(NamedTuple):
    """The folder of the pages, and the address under which the repository's other files can be read."""

    folder: Path
    repository_files_url: str


def relocate(text: str, source: Path, page: Path, site: Site) -> str:
    """Return the text of the file `source` with its links as they lead from `page`.

    Links to files of the repository outside of the site's folder lead to the hosting platform.
    """

    def link(found: re.Match[str]) -> str:
        target = (source.parent / found["target"]).resolve()
        if target.is_relative_to(site.folder):
            return f"]({relpath(target, page.parent)}"
        if target.is_relative_to(site.folder.parent) and target.exists():
            return f"]({site.repository_files_url}/{target.relative_to(site.folder.parent)}"
        return found[0]

    return _LINK.sub(link, text)
