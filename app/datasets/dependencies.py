"""Resources that endpoints which read or write data sets depend on."""

import uuid
from typing import Annotated, Protocol

from fastapi import Depends, Path, Query

from app.datasets.service import id_of
from app.datasets.store import DatasetStore
from app.http.dependencies import Resources, resources
from app.requests.dataset_reference import REFERENCE_FORMS, DatasetReference
from app.telemetry.instruments import Instruments


class DatasetResources(Resources, Protocol):
    """Resources of an endpoint that uses the service of data sets."""

    @property
    def dataset_store(self) -> DatasetStore: ...

    @property
    def instruments(self) -> Instruments: ...


Context = Annotated[DatasetResources, Depends(resources)]


def _dataset_id(
    dataset_id: Annotated[DatasetReference, Path(description=REFERENCE_FORMS)], context: Context
) -> uuid.UUID:
    return id_of(context.sessions, dataset_id, "path/dataset_id")


#: The data set of the path, which may be named.
DatasetId = Annotated[uuid.UUID, Depends(_dataset_id)]


def _filtered_dataset_id(
    context: Annotated[Resources, Depends(resources)],
    dataset_id: Annotated[
        DatasetReference | None, Query(description=f"return only items on this data set. {REFERENCE_FORMS}")
    ] = None,
) -> uuid.UUID | None:
    return None if dataset_id is None else id_of(context.sessions, dataset_id, "query/dataset_id")


#: The data set that a list is filtered by, which may be named; None = any. Raises DatasetNotFound for an unknown name;
#: an unknown id is that of a deleted data set, of which jobs remain.
DatasetFilter = Annotated[uuid.UUID | None, Depends(_filtered_dataset_id)]
