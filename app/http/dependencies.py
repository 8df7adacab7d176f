"""Resources of the process as FastAPI dependencies of endpoints.

The composition root (`app.main`) opens the resources and stores them in the application's state. It is never imported
from here: each noun declares, as a protocol, the resources that its endpoints need.

Sessions are not dependencies. A session that a dependency opens holds a database connection while its request waits
for another thread of the pool. With enough requests at once, all connections are held by requests that wait for
threads, and all threads by requests that wait for connections. So endpoints open a session where they use it.
"""

from typing import Annotated, Any, Protocol

from fastapi import Depends, Request

from app.settings import Settings
from app.storage.database import SessionFactory


class Resources(Protocol):
    """Resources that every endpoint can use."""

    @property
    def settings(self) -> Settings: ...

    @property
    def sessions(self) -> SessionFactory: ...


async def resources(request: Request) -> Any:
    """Return the resources that the composition root has opened. `app.main` checks their type against all protocols."""
    # Async, so that it runs without a thread of the pool.
    return request.app.state.context


Context = Annotated[Resources, Depends(resources)]


async def _actor(request: Request) -> str | None:
    # Nothing sets it in an application without authorization.
    actor: str | None = getattr(request.state, "actor", None)
    return actor


#: Name of the API key of the request, for logs of what was done; None without a key.
Actor = Annotated[str | None, Depends(_actor)]
