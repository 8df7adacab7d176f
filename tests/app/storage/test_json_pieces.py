"""JSON texts in pieces: joined, they are what the standard library makes, and no piece takes long."""

import hashlib
import json
from typing import Any

import pytest

from app.storage.json_pieces import VALUES_PER_PIECE, canonical_sha256, json_pieces, json_text

#: Sixteen characters of text count as one value, and each is written as at most six.
MAX_PIECE_CHARACTERS = 100 * VALUES_PER_PIECE
MANY = 3 * VALUES_PER_PIECE + 1

VALUES: dict[str, Any] = {
    "nothing": None,
    "empty": {"list": [], "object": {}},
    "matrix": {"kind": "matrix", "transition": [[1 / number] * 700 for number in range(1, 40)]},
    "numbers": [1e300, -2.2250738585072014e-308, 10**30, True, None] * MANY,
    "texts": ["ü\u2028\ud800 and more"] * MANY,
    "small lists": [[]] * MANY,
    "small objects": [{"b": 1, "a": ["x", 2.5]}] * MANY,
    "keys": {f"key {number % 7} of {number}": number for number in range(MANY)},
    "keys of numbers": {number: [number] for number in range(MANY)},
    "deep": [[[[[number] * 300 for number in range(20)]]], (1, 2), "end"],
    "a large value among small ones": {"z": 1, "b": list(range(MANY)), "a": {"c": [0.5] * MANY, "b": ""}, "c": 2},
}


@pytest.mark.parametrize("name", VALUES)
def test_the_text_is_that_of_the_standard_library(name: str) -> None:
    value = VALUES[name]
    assert json_text(value) == json.dumps(value)
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    assert canonical_sha256(value) == hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize("name", VALUES)
def test_pieces_are_short(name: str) -> None:
    pieces = list(json_pieces(VALUES[name]))
    assert max(map(len, pieces)) <= MAX_PIECE_CHARACTERS
    assert len(pieces) < 50 + len(json.dumps(VALUES[name])) / VALUES_PER_PIECE


def test_digests_of_stored_jobs_stay() -> None:
    request = {"name": "ü", "model": {"kind": "tree", "max_depth": None}, "seed": 0, "rate": 1e-5}
    assert canonical_sha256(request) == "749a7d88376c870e95a0e6f5fbeab4bc1f100f5bbe7594268b6dbf622e15120d"
