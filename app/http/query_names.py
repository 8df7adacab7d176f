"""Refusal of query parameters that a route would ignore silently: misspelled ones, and repeated ones."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_origin

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency

from app.errors import MAX_LISTED, FieldError, Invalid, many_unknown, nearest, pointer_token, some_of

#: Returns the query parameters that a request may have beside the declared ones; None if any name can be one.
QueryNames = Callable[[Request], frozenset[str] | None]


class _OwnQuery:
    """Dependency that does nothing; it marks a route that reads query parameters itself.

    finds_repeated: whether the route also refuses those that are given twice.
    """

    def __init__(self, names: QueryNames, finds_repeated: bool) -> None:
        self.names, self.finds_repeated = names, finds_repeated

    async def __call__(self) -> None:
        """Return None."""


def own_query(names: QueryNames, *, finds_repeated: bool = False) -> Dependency:
    """Return the dependency of a route that reads query parameters with these names itself.

    finds_repeated: whether the route knows which of them may be repeated, and refuses the others.
    """
    dependency: Dependency = Depends(_OwnQuery(names, finds_repeated))
    return dependency


async def refuse_ignored_parameters(request: Request) -> None:
    """Raise Invalid if the query has parameters that the route of the request does not have, or a value too many."""
    dependant = request.scope["route"].dependant
    _refuse_unknown(request, _known_names(request, dependant))
    _refuse_repeated(request, dependant)


def _refuse_unknown(request: Request, known: set[str] | None) -> None:
    unknown = [] if known is None else [name for name in request.query_params if name not in known]
    if unknown:
        if sentence := many_unknown(unknown, known or (), "query parameters"):
            raise Invalid.at("query", f"{sentence}.")
        rule = f"the query parameters here are {', '.join(sorted(known or ()))}" if known else "none can be given here"
        errors = [
            FieldError(f"query/{pointer_token(name)}", f"the parameter is unknown; {rule}{nearest(name, known or ())}")
            for name in unknown[:MAX_LISTED]
        ]
        detail = f"Unknown query parameters: {some_of(unknown)}; {rule}. Remove them or correct their spelling."
        raise Invalid(detail, errors)


def _refuse_repeated(request: Request, dependant: Any) -> None:
    """Raise Invalid for a parameter that has one value and is given several, of which the last would be taken."""
    own = [part.call for part in _parts(dependant) if isinstance(part.call, _OwnQuery)]
    if any(query.finds_repeated for query in own):
        return
    single = {
        parameter.alias
        for part in _parts(dependant)
        for parameter in part.query_params
        if not _takes_many(parameter.field_info.annotation)
    }
    single.update(*(query.names(request) or () for query in own))
    counts = Counter(name for name, _ in request.query_params.multi_items())
    for name in sorted(single):
        if counts[name] > 1:
            detail = f"{name} is given {counts[name]} times; it has one value, send it once"
            raise Invalid.at(f"query/{pointer_token(name)}", detail)


def _takes_many(annotation: Any) -> bool:
    """Return whether a parameter with this annotation is a list, or may be one."""
    return get_origin(annotation) is list or any(map(_takes_many, get_args(annotation)))


def _parts(dependant: Any) -> Iterator[Any]:
    """Yield a route or dependency and, at any depth, its dependencies."""
    yield dependant
    for dependency in dependant.dependencies:
        yield from _parts(dependency)


def _known_names(request: Request, dependant: Any) -> set[str] | None:
    """Return the query parameters of a route and of its dependencies; None if any name can be one."""
    names = {parameter.alias for parameter in dependant.query_params}
    parts = [_known_names(request, dependency) for dependency in dependant.dependencies]
    if isinstance(dependant.call, _OwnQuery):
        parts.append(_as_set(dependant.call.names(request)))
    known = [part for part in parts if part is not None]
    return names.union(*known) if len(known) == len(parts) else None


def _as_set(names: frozenset[str] | None) -> set[str] | None:
    return None if names is None else set(names)
