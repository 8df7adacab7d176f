"""A small run of the fuzzer of requests; `python -m tests.fuzzing.requests` makes a long one."""

from pathlib import Path

import pytest

from tests.fuzzing.hostile_requests import judge
from tests.fuzzing.requests import run

pytestmark = pytest.mark.slow


def test_no_request_shows_a_fault(tmp_path: Path) -> None:
    outcomes = run(tmp_path / "home", cases=400, seed=0)
    assert len(outcomes) >= 10


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/problem+json\r\n\r\n{}",
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nno",
        b'HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n\r\n{"status": 400, "code": "new"}',
        b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://evil.example/jobs\r\n\r\n",
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n\r\n" + b"x" * 100_000,
    ],
)
def test_faults_are_noticed(answer: bytes) -> None:
    with pytest.raises(AssertionError):
        judge(answer)
