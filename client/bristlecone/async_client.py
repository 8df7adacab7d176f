"""Asynchronous client: the methods of `Client`, to be awaited."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import httpx

from bristlecone import predictions, progress, steps
from bristlecone.calls import Call, Steps, content_of, get, item_path, json_of, pages
from bristlecone.connection import connection_options
from bristlecone.frames import Columns
from bristlecone.handles import JobHandle, ModelHandle
from bristlecone.results import AuditReport, Dataset, SweepReport
from bristlecone.steps import ModelSpec, Spec
from bristlecone.transport import AsyncTransport

T = TypeVar("T")
Result = TypeVar("Result")
_bar = progress.chosen


class AsyncClient:
    """Connection to a service, as `Client`, for code that runs on an event loop."""

    def __init__(self, url: str | None = None, key: str | None = None, *, retries: int = 4) -> None:
        self._http = httpx.AsyncClient(**connection_options(url, key))
        self._transport = AsyncTransport(self._http, retries)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def run(self, work: Steps[T]) -> T:
        """Do steps of calls and return their result."""
        return await self._transport.run(work)

    async def upload(self, data: Any, target: str, *, name: str | None = None, **options: Any) -> Dataset:
        """Upload a file or a frame; see `Client.upload`."""
        return await self.run(steps.upload(data, target, name, options))

    async def train(
        self,
        data: Any,
        model: ModelSpec | None = None,
        *,
        target: str | None = None,
        name: str | None = None,
        noise: Spec | None = None,
        evaluation: Spec | None = None,
        seed: int = 0,
    ) -> "AsyncJob[AsyncModel]":
        """Queue the training of a model; see `Client.train`."""
        request = {"model": model, "name": name, "noise": noise, "evaluation": evaluation, "seed": seed}
        return AsyncJob(self, await self.run(steps.submit_on("/train", data, target, request)), _model_of_job)

    async def audit(
        self,
        data: Any,
        *,
        target: str | None = None,
        model: ModelSpec | None = None,
        folds: int | None = None,
        seed: int = 0,
    ) -> "AsyncJob[AuditReport]":
        """Queue an audit; see `Client.audit`."""
        request = {"model": model, "folds": folds, "seed": seed}
        return AsyncJob(self, await self.run(steps.submit_on("/audits", data, target, request)), _audit_of_job)

    async def sweep(
        self,
        data: Any,
        models: Sequence[ModelSpec],
        noise: Sequence[Spec],
        *,
        target: str | None = None,
        repeats: int = 5,
        test_fraction: float = 0.2,
        seed: int = 0,
    ) -> "AsyncJob[SweepReport]":
        """Queue a comparison of models under noise; see `Client.sweep`."""
        request = {"models": models, "noise": noise, "repeats": repeats, "test_fraction": test_fraction, "seed": seed}
        return AsyncJob(self, await self.run(steps.submit_on("/sweeps", data, target, request)), _sweep_of_job)

    async def predict(
        self,
        model: "str | AsyncModel",
        data: Any,
        *,
        output: str = "probabilities",
        respond_async: bool = False,
        **options: Any,
    ) -> Any:
        """Predict the rows of a table; see `Client.predict`."""
        request = predictions.PredictionRequest(model, data, output, options)
        if not respond_async:
            return await self.run(predictions.predict(request))

        async def table(client: AsyncClient, ended: Mapping[str, Any]) -> Any:
            return await client.run(predictions.result(ended, data))

        return AsyncJob(self, await self.run(predictions.submit(request)), table)

    async def model(self, reference: "str | AsyncModel") -> "AsyncModel":
        """Return the model with this id, name, `name:version` or `@alias`."""
        return AsyncModel(self, await self.run(json_of(get(item_path("/models", reference)))))

    async def models(self, **filters: Any) -> "list[AsyncModel]":
        """Return all models, newest first."""
        return [AsyncModel(self, raw) for raw in await self.run(pages("/models", **filters))]

    async def dataset(self, dataset_id: "str | Dataset") -> Dataset:
        """Return an uploaded data set."""
        return Dataset.from_raw(await self.run(json_of(get(item_path("/datasets", dataset_id)))))

    async def datasets(self, **filters: Any) -> list[Dataset]:
        """Return all data sets, newest first, without their columns."""
        return [Dataset.from_raw(raw) for raw in await self.run(pages("/datasets", **filters))]

    async def job(self, job_id: str) -> "AsyncJob[Any]":
        """Return a job that was queued before."""
        return AsyncJob(self, await self.run(json_of(get(item_path("/jobs", job_id)))), _result_of_job)

    async def jobs(self, **filters: Any) -> "list[AsyncJob[Any]]":
        """Return all jobs, newest first."""
        return [AsyncJob(self, raw, _result_of_job) for raw in await self.run(pages("/jobs", **filters))]

    async def audit_report(self, audit_id: str) -> AuditReport:
        """Return a finished audit, by the id of its job."""
        return await self.run(steps.audit_report(audit_id))

    async def sweep_report(self, sweep_id: str) -> SweepReport:
        """Return a comparison, by the id of its job, with the cells that are finished; also if others failed."""
        return await self.run(steps.sweep_report(sweep_id))

    async def delete_dataset(self, dataset: "str | Dataset") -> None:
        """Delete a data set that no job or model needs."""
        await self.run(json_of(Call("DELETE", item_path("/datasets", dataset))))

    async def compare(self, models: "Iterable[str | AsyncModel]") -> dict[str, Any]:
        """Return parameters, evaluation, metrics and noise of two or more models side by side, each with `differs`."""
        return await self.run(steps.comparison(models))

    async def rename_model(self, name: str, new_name: str) -> None:
        """Rename all versions of a model."""
        await self.run(steps.rename_model(name, new_name))

    async def set_default(self, name: str, version: int | None) -> None:
        """Let the bare name of a model mean this version, or with None its newest one."""
        await self.run(steps.set_default(name, version))

    async def set_alias(self, name: str, model: "str | AsyncModel") -> None:
        """Let an alias point at a version of a model; `@name` then means that version."""
        await self.run(steps.set_alias(name, model))

    async def delete_alias(self, name: str) -> None:
        """Delete an alias. The model that it points at stays."""
        await self.run(json_of(Call("DELETE", item_path("/aliases", name))))

    async def aliases(self) -> dict[str, str]:
        """Return `name:version` of the model that each alias points at."""
        return await self.run(steps.aliases())


class AsyncJob(JobHandle, Generic[Result]):
    """Job in the background. `raw` is the job when it was last asked for."""

    def __init__(
        self, client: AsyncClient, raw: dict[str, Any], result: Callable[[AsyncClient, Any], Awaitable[Result]]
    ) -> None:
        self._client, self.raw, self._result = client, raw, result

    async def refresh(self) -> Self:
        """Ask for the job again."""
        self.raw = await self._client.run(json_of(get(f"/jobs/{self.id}")))
        return self

    async def wait(self, timeout_seconds: float | None = None, *, progress: bool | None = None) -> Result:
        """Wait until the job has ended, and return its result; see `Job.wait`."""
        self.raw = await self._client.run(steps.wait(self.id, _bar(progress), timeout_seconds))
        return await self._result(self._client, self.raw)

    async def delete(self) -> None:
        """Delete a job that has ended, with its report. A model that it trained stays."""
        await self._client.run(json_of(Call("DELETE", f"/jobs/{self.id}")))

    async def cancel(self) -> Self:
        """Ask the job to stop."""
        self.raw = await self._client.run(json_of(Call("POST", f"/jobs/{self.id}/cancel", is_repeatable=True)))
        return self


@dataclass(frozen=True, repr=False)
class AsyncModel(ModelHandle):
    """One version of a trained model; see `Model`."""

    _client: AsyncClient
    raw: dict[str, Any]

    async def predict(
        self, data: Any, *, output: str = "probabilities", respond_async: bool = False, **options: Any
    ) -> Any:
        """Predict the rows of a table, as `Client.predict` does."""
        return await self._client.predict(self.id, data, output=output, respond_async=respond_async, **options)

    async def importances(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the importances of the features; see `Model.importances`."""
        return await self._client.run(pages(f"/models/{self.id}/importances", limit, key="features"))

    async def describe(self, description: str | None = None, tags: Sequence[str] | None = None) -> Self:
        """Set the description, the tags or both, and return the model.

        None leaves a field as it is; an empty text or list removes what it has.
        """
        changes = {"description": description, "tags": tags}
        return replace(self, raw=await self._client.run(steps.changed_model(f"/models/{self.id}", changes)))

    async def artifact(self) -> bytes:
        """Return the fitted estimator as the bytes of a file, which `bristlecone.load` reads."""
        return await self._client.run(content_of(get(f"/models/{self.id}/artifact")))

    async def delete(self) -> None:
        """Delete this version."""
        await self._client.run(json_of(Call("DELETE", f"/models/{self.id}")))


async def _model_of_job(client: AsyncClient, job: Mapping[str, Any]) -> AsyncModel:
    return AsyncModel(client, await client.run(steps.model_of_job(job)))


async def _audit_of_job(client: AsyncClient, job: Mapping[str, Any]) -> AuditReport:
    return await client.run(steps.audit_report(str(job["id"])))


async def _sweep_of_job(client: AsyncClient, job: Mapping[str, Any]) -> SweepReport:
    return await client.run(steps.sweep_report(str(job["id"])))


async def _columns_of_job(client: AsyncClient, job: Mapping[str, Any]) -> Columns:
    columns: Columns = await client.run(predictions.result(job, None))
    return columns


async def _result_of_job(client: AsyncClient, job: Mapping[str, Any]) -> Any:
    kinds: dict[str, Callable[[AsyncClient, Any], Awaitable[Any]]] = {
        "train": _model_of_job,
        "audit": _audit_of_job,
        "sweep": _sweep_of_job,
        "predict": _columns_of_job,
    }
    return await kinds[str(job["kind"])](client, job)
