"""Query parameters of paged lists; `app.storage.pages` makes the pages."""

from typing import Annotated, Any, Generic, TypeVar

from fastapi import Depends, Query, Request
from pydantic import AfterValidator, BaseModel, Field

from app.errors import FieldError, Invalid
from app.storage.pages import PageQuery, SliceQuery


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("text cannot contain a NUL character; remove it")
    return text


#: Text to filter a list by. PostgreSQL cannot store a NUL character in text, nor compare text with one.
FilterText = Annotated[str, AfterValidator(_without_nul)]

T = TypeVar("T")

MAX_LIMIT = 200


class Page(BaseModel, Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last page")


def _page_query(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="most items to return")] = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the previous page")] = None,
    sort: Annotated[str, Query(description="field to sort by; `-field` sorts in descending order")] = "-created_at",
) -> PageQuery:
    refuse_unknown_names(request)
    return PageQuery(limit=limit, cursor=cursor, sort=sort)


def refuse_unknown_names(request: Request) -> None:
    """Raise Invalid if the query has unknown parameters, because a misspelled filter would return the whole list."""
    known = _query_names(request.scope["route"].dependant)
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        detail = "the parameters of this list are " + ", ".join(sorted(known))
        names = ", ".join(repr(name)[:80] for name in unknown[:10])
        raise Invalid(f"Unknown query parameters: {names}; {detail}.", [FieldError(f"query/{unknown[0]}", detail)])


def _query_names(dependant: Any) -> set[str]:
    """Return the query parameters of a route and of its dependencies."""
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*map(_query_names, dependant.dependencies))


PageParameters = Annotated[PageQuery, Depends(_page_query)]


def _slice_query(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="most items to return")] = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the previous page")] = None,
) -> SliceQuery:
    refuse_unknown_names(request)
    return SliceQuery(limit=limit, cursor=cursor)


SliceParameters = Annotated[SliceQuery, Depends(_slice_query)]
