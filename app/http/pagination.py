"""Query parameters of paged lists; `app.storage.pages` makes the pages."""

from typing import Annotated, Any, Generic, TypeVar

from fastapi import Depends, Query, Request
from pydantic import AfterValidator, BaseModel, Field

from app.errors import FieldError, Invalid
from app.storage.pages import PageQuery, SliceQuery


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("text cannot hold a NUL character; take it out")
    return text


#: What a list is filtered by. PostgreSQL keeps no NUL in text and refuses even to compare with one.
FilterText = Annotated[str, AfterValidator(_without_nul)]

T = TypeVar("T")

MAX_LIMIT = 200


class Page(BaseModel, Generic[T]):
    items: list[T]
    next_cursor: str | None = Field(description="pass as `cursor` for the next page; null on the last one")


def _page_query(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="how many items at most")] = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before")] = None,
    sort: Annotated[str, Query(description="field to sort by; `-field` for descending")] = "-created_at",
) -> PageQuery:
    refuse_unknown_names(request)
    return PageQuery(limit=limit, cursor=cursor, sort=sort)


def refuse_unknown_names(request: Request) -> None:
    """A misspelt filter that went unnoticed would answer with everything. Raises Invalid."""
    known = _query_names(request.scope["route"].dependant)
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        detail = "this list has no such parameter; it has " + ", ".join(sorted(known))
        names = ", ".join(repr(name)[:80] for name in unknown[:10])
        raise Invalid(f"Unknown in the query: {names}; {detail}.", [FieldError(f"query/{unknown[0]}", detail)])


def _query_names(dependant: Any) -> set[str]:
    """The query parameters of a route, those of its dependencies included."""
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*map(_query_names, dependant.dependencies))


PageParameters = Annotated[PageQuery, Depends(_page_query)]


def _slice_query(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="how many items at most")] = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before")] = None,
) -> SliceQuery:
    refuse_unknown_names(request)
    return SliceQuery(limit=limit, cursor=cursor)


SliceParameters = Annotated[SliceQuery, Depends(_slice_query)]
