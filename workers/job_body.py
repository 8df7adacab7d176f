"""Interface between the body of a job and the code that runs it."""

from typing import Any, Protocol

from sqlalchemy.orm import Session

from app.context import ServiceContext
from app.jobs.lease import Claim
from workers.monitor import JobMonitor


class StorableResult(Protocol):
    """Result of a job body, not yet in the database."""

    def store(self, session: Session, context: ServiceContext) -> dict[str, Any]:
        """Write the result in the transaction that ends the job.

        Returns the columns of the job's row that refer to the result.
        """


class JobBody(Protocol):
    """Function that does the work of one kind of job."""

    def __call__(self, context: ServiceContext, claim: Claim, monitor: JobMonitor, /) -> StorableResult: ...
