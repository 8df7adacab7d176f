"""Resources that endpoints of predictions depend on."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Protocol

from fastapi import Depends, Request

from app.datasets.store import DatasetStore
from app.http.dependencies import resources
from app.http.memory_budget import MemoryBudget
from app.predictions.answer_cost import AnswerCost
from app.predictions.batch_reader import BatchReader
from app.predictions.intake import Intake
from app.predictions.job_intake import JobIntake
from app.predictions.row_children import RowChildren
from app.predictions.row_sources import RowSources
from app.predictions.service import PredictionService, ServedModels
from app.predictions.store import PredictionStore, RowsStore
from app.predictions.tensor_intake import TensorIntake
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


async def _row_sources(context: Context) -> RowSources:
    return RowSources(context.sessions, context.dataset_store)


Sources = Annotated[RowSources, Depends(_row_sources)]


async def _row_children(request: Request, context: Context) -> RowChildren:
    return RowChildren(context.settings.limits, request.app.state.row_readers)


Children = Annotated[RowChildren, Depends(_row_children)]


async def _batch_reader(
    request: Request, context: Context, predictions: Service, children: Children, memory: Memory
) -> BatchReader:
    disk: MemoryBudget = request.app.state.large_answers.disk
    return BatchReader(context.settings, predictions, children, memory.sent, disk)


Reader = Annotated[BatchReader, Depends(_batch_reader)]


async def _rows_intake(context: Context, predictions: Service, sources: Sources, reader: Reader) -> Intake:
    return Intake(context.settings, predictions, sources, reader)


async def _tensor_intake(context: Context, predictions: Service, reader: Reader) -> TensorIntake:
    return TensorIntake(context.settings, predictions, reader)


async def _job_intake(
    context: Context, predictions: Service, sources: Sources, children: Children, memory: Memory
) -> JobIntake:
    settings, sessions, store = context.settings, context.sessions, context.rows_store
    return JobIntake(settings, sessions, predictions, sources, children, store, memory.sent)


RowsIntake = Annotated[Intake, Depends(_rows_intake)]
TensorsIntake = Annotated[TensorIntake, Depends(_tensor_intake)]
JobRowsIntake = Annotated[JobIntake, Depends(_job_intake)]
