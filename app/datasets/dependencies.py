"""Resources that endpoints which read or write data sets depend on."""

from typing import Annotated, Protocol

from fastapi import Depends

from app.datasets.store import DatasetStore
from app.http.dependencies import Resources, resources


class DatasetResources(Resources, Protocol):
    """Resources of an endpoint that uses the service of data sets."""

    @property
    def dataset_store(self) -> DatasetStore: ...


Context = Annotated[DatasetResources, Depends(resources)]
