"""Resources that endpoints of audits depend on."""

from typing import Annotated, Protocol

from fastapi import Depends

from app.audits.store import IssueStore
from app.datasets.dependencies import DatasetResources
from app.http.dependencies import resources


class AuditResources(DatasetResources, Protocol):
    """Resources of an endpoint that uses the service of audits."""

    @property
    def issue_store(self) -> IssueStore: ...


Context = Annotated[AuditResources, Depends(resources)]
