"""What endpoints ask FastAPI for: the process's context and a session that commits before the answer is sent."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.orm import Session

from app.context import ServiceContext
from app.database import reading, writing


def service_context(request: Request) -> ServiceContext:
    context: ServiceContext = request.app.state.context
    return context


Context = Annotated[ServiceContext, Depends(service_context)]


def _read_session(context: Context) -> Iterator[Session]:
    with reading(context.sessions) as session:
        yield session


def _write_session(context: Context) -> Iterator[Session]:
    with writing(context.sessions) as session:
        yield session


# scope="function": the commit must have happened before a client reads the answer.
ReadSession = Annotated[Session, Depends(_read_session, scope="function")]
WriteSession = Annotated[Session, Depends(_write_session, scope="function")]
