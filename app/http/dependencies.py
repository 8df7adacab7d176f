"""What endpoints ask FastAPI for: the process's context.

Sessions are not dependencies. One that a dependency opens holds a database connection while its request waits for
another thread of the pool; with enough requests at once, all connections are held by requests that wait for threads
and all threads by requests that wait for connections. So endpoints open a session where they use it.
"""

from typing import Annotated

from fastapi import Depends, Request

from app.context import ServiceContext


def service_context(request: Request) -> ServiceContext:
    context: ServiceContext = request.app.state.context
    return context


Context = Annotated[ServiceContext, Depends(service_context)]
