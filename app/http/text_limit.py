"""Limit of the texts in JSON bodies, such as labels and names of columns: they are stored, and shown in answers."""

from collections.abc import Collection
from typing import Any

from app.errors import TextTooLong, pointer_token

#: Keys and positions from the root of a document to a value.
Path = tuple[str | int, ...]


def require_short_texts(document: Any, max_bytes: int, own_limits: Collection[Path]) -> None:
    """Raise TextTooLong if a key or a text of the document has more than `max_bytes` bytes in UTF-8.

    own_limits: paths to values that are left out with all that is in them, because other rules limit them.
    """
    waiting: list[tuple[Path, Any]] = [((), document)]
    while waiting:
        outer_path, outer = waiting.pop()
        # Matrices have rows of numbers, which need no look at each.
        if isinstance(outer, list) and set(map(type, outer)).isdisjoint((str, list, dict)):
            continue
        for key, value in outer.items() if isinstance(outer, dict) else enumerate(outer):
            path = (*outer_path, key)
            for text in (key, value):
                if isinstance(text, str) and path not in own_limits:
                    _require_short(text, path, max_bytes)
            if isinstance(value, list | dict) and path not in own_limits:
                waiting.append((path, value))


def _require_short(text: str, path: Path, max_bytes: int) -> None:
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    if n_bytes > max_bytes:
        raise TextTooLong.at(
            "".join(f"/{pointer_token(str(part))}" for part in path),
            f"{text!r:.80} has {n_bytes:,} bytes in UTF-8; the limit BRISTLECONE_MAX_TEXT_BYTES is {max_bytes}: "
            "shorten it, or raise the limit",
        )
