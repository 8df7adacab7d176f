"""The session in the guide on the client prints what the guide says."""

import doctest
import re
import sys

import pytest

from docs.generation.committed import DOCS
from tests.service_process import RunningService

PAGE = (DOCS / "how-to" / "use-the-client.md").read_text(encoding="utf-8")


class _Terminal:
    """Standard error that goes where standard output goes, as at a terminal."""

    def write(self, text: str) -> None:
        sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()


class _LastDrawn(doctest.OutputChecker):
    """Comparison with what a terminal shows in the end, where lines are drawn anew."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        shown = "\n".join(line.rpartition("\r")[2].rstrip() for line in got.split("\n"))
        return super().check_output(want, shown, optionflags)


def test_the_session_prints_what_the_guide_says(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRISTLECONE_URL", service.url)
    monkeypatch.setattr(sys, "stderr", _Terminal())
    [session] = re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    examples = doctest.DocTestParser().get_doctest(session, {}, "session", "use-the-client.md", 0)
    report: list[str] = []
    results = doctest.DocTestRunner(_LastDrawn(), verbose=False).run(examples, out=report.append)
    assert results.failed == 0, "".join(report)
    assert results.attempted > 15
