"""Parameters of POST /predict, which the body and the query can have."""

from collections.abc import Mapping
from typing import Any

from app.predictions.errors import DuplicateName, pointer
from app.predictions.forms import RESERVED


def with_parameters(document: Any, query: Mapping[str, str]) -> Any:
    """Return the JSON document of a body, completed by the parameters in the query.

    Raises:
        DuplicateName: the body and the query have the same parameter.
    """
    if not isinstance(document, dict):
        return document
    parameters = {name: query[name] for name in RESERVED if name in query}
    for name in parameters:
        if name in document:
            raise DuplicateName.at(pointer(name), f"{name!r:.100} occurs twice; give it once")
    return {**parameters, **document}
