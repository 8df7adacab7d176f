"""Resources that endpoints of trained models depend on."""

from typing import Annotated, Protocol

from fastapi import Depends

from app.http.dependencies import Resources, resources
from app.trained_models.store import ArtifactStore


class ModelResources(Resources, Protocol):
    """Resources of an endpoint that uses the service of trained models."""

    @property
    def artifact_store(self) -> ArtifactStore: ...


Context = Annotated[ModelResources, Depends(resources)]
