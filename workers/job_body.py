"""Interface between the body of a job and the code that runs it."""

from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy.orm import Session

from app.context import ServiceContext
from app.jobs.lease import Claim
from app.storage.content_store import StagedFile
from workers.monitor import JobMonitor


class StorableResult(Protocol):
    """Result of a job body, not yet in the database."""

    @property
    def files(self) -> Sequence[StagedFile]:
        """Files of the result, which are published if the job succeeds and discarded in any case."""

    def store(self, session: Session, context: ServiceContext) -> dict[str, Any]:
        """Write the result in the transaction that ends the job, and take the locks of the files.

        Returns the columns of the job's row that refer to the result.
        """


class JobBody(Protocol):
    """Function that does the work of one kind of job."""

    def __call__(self, context: ServiceContext, claim: Claim, monitor: JobMonitor, /) -> StorableResult: ...
