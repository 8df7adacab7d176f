"""Headers of requests and answers, for middleware that every request passes.

`starlette.datastructures.Headers` takes several times as long for one name.
"""

from starlette.types import Message, Scope


def header(message: Message | Scope, name: bytes) -> str | None:
    """Return the first value of a header, or None if there is none. name: in lower case."""
    for key, value in message["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None
