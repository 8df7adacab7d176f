"""Commands of `bristlecone`, run in the process of the test by the function that the installed program calls.

A process of its own takes a second, nearly all of it for imports; tests that are about processes start one.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from app.cli import main


@dataclass(frozen=True)
class Ended:
    """Result of a command: its exit code and the text of its standard streams."""

    returncode: int
    stdout: str
    stderr: str


#: Runs a command line.
Run = Callable[..., Ended]


def commands_in(
    environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Return a function that runs commands in this environment, which lasts until the end of the test."""
    for name in set(os.environ) - set(environment):
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> Ended:
        capfd.readouterr()
        try:
            code = main(arguments)
        except SystemExit as error:
            code = int(error.code or 0)
        return Ended(code, *capfd.readouterr())

    return run
