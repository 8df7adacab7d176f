"""Check of an error answer."""

from typing import Any


def problem(response: Any, status: int, code: str) -> Any:
    """Return the body of an answer that is a problem with this status and code."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == code
    return response.json()
