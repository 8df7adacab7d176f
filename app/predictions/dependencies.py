"""Resources that endpoints of predictions depend on."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Protocol

from fastapi import Depends, Request

from app.datasets.store import DatasetStore
from app.http.dependencies import resources
from app.http.memory_budget import MemoryBudget
from app.predictions.answer_cost import AnswerCost
from app.predictions.intake import Intake
from app.predictions.service import PredictionService, ServedModels
from app.predictions.store import PredictionStore, RowsStore
from app.telemetry.instruments import Instruments
from app.trained_models.dependencies import ModelResources


class PredictionResources(ModelResources, Protocol):
    """Resources of an endpoint that predicts."""

    @property
    def dataset_store(self) -> DatasetStore: ...

    @property
    def rows_store(self) -> RowsStore: ...

    @property
    def prediction_store(self) -> PredictionStore: ...

    @property
    def served_models(self) -> ServedModels: ...

    @property
    def instruments(self) -> Instruments: ...


async def _answer_memory(request: Request) -> AsyncIterator["AnswerMemory"]:
    async with AsyncExitStack() as taken:
        yield AnswerMemory(request.app.state.answer_memory, taken)


class AnswerMemory:
    """Memory for a large answer, which is given back when the answer was sent. sent: ends at that moment."""

    def __init__(self, budget: MemoryBudget, taken: AsyncExitStack) -> None:
        self._budget = budget
        self.sent = taken

    async def take(self, cost: AnswerCost) -> None:
        """Take the memory of an answer. Small answers need none. Raises MemoryBusy."""
        if cost.memory_bytes:
            await self.sent.enter_async_context(self._budget.taken(cost.memory_bytes))


Memory = Annotated[AnswerMemory, Depends(_answer_memory)]
Context = Annotated[PredictionResources, Depends(resources)]


async def _prediction_service(context: Context) -> PredictionService:
    return PredictionService(context.sessions, context.artifact_store, context.served_models, context.instruments)


Service = Annotated[PredictionService, Depends(_prediction_service)]


async def _rows_intake(request: Request, context: Context, predictions: Service, memory: Memory) -> Intake:
    state = request.app.state
    return Intake(
        context.settings,
        context.sessions,
        predictions,
        context.dataset_store,
        memory.sent,
        state.large_answers.disk,
        state.row_readers,
    )


RowsIntake = Annotated[Intake, Depends(_rows_intake)]
