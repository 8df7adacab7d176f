"""Resources that endpoints of predictions depend on."""

from typing import Annotated, Protocol

from fastapi import Depends

from app.http.dependencies import resources
from app.predictions.cache import LeastRecentlyUsed
from app.predictions.service import PredictionService, ServedModel
from app.trained_models.dependencies import ModelResources


class PredictionResources(ModelResources, Protocol):
    """Resources of an endpoint that predicts."""

    @property
    def served_models(self) -> LeastRecentlyUsed[ServedModel]: ...


Context = Annotated[PredictionResources, Depends(resources)]


async def _prediction_service(context: Context) -> PredictionService:
    return PredictionService(context.sessions, context.artifact_store, context.served_models)


Service = Annotated[PredictionService, Depends(_prediction_service)]
