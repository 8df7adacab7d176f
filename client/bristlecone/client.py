"""Blocking client: `Client`, its jobs and its models."""

from collections.abc import Iterable, Mapping, Sequence
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
from bristlecone.transport import Transport

T = TypeVar("T")
Result = TypeVar("Result")
_bar = progress.chosen


class Client:
    """Connection to a service.

    url: address, by default that of `BRISTLECONE_URL`, else http://127.0.0.1:8000. key: API key, by default that of
    `BRISTLECONE_API_KEY`. retries: how often a call is sent again after a lost connection or an answer 429 or 503; jobs
    are queued once nevertheless.

    Methods raise `ServiceError` with the `code` of a refusal, and `ConnectionFailed`.
    """

    def __init__(self, url: str | None = None, key: str | None = None, *, retries: int = 4) -> None:
        self._http = httpx.Client(**connection_options(url, key))
        self._transport = Transport(self._http, retries)

    @property
    def url(self) -> str:
        """Address of the service."""
        return str(self._http.base_url).rstrip("/")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, work: Steps[T]) -> T:
        """Do steps of calls and return their result."""
        return self._transport.run(work)

    def upload(self, data: Any, target: str, *, name: str | None = None, **options: Any) -> Dataset:
        """Upload a file (CSV, TSV, NDJSON, JSON, Parquet, Arrow, Excel; by its path) or a frame.

        target: column with the labels. options: fields of `POST /datasets`, such as `exclude=["id"]`, `weight=`,
        `group=`, `types={"zip": "categorical"}`, `nulls=["-"]` or `nulls={"income": ["-9999"]}`.
        """
        return self.run(steps.upload(data, target, name, options))

    def train(
        self,
        data: Any,
        model: ModelSpec | None = None,
        *,
        target: str | None = None,
        name: str | None = None,
        noise: Spec | None = None,
        evaluation: Spec | None = None,
        seed: int = 0,
    ) -> "Job[Model]":
        """Queue the training of a model, for example `{"kind": "forest", "loss": "adaptive_ne"}` or `"forest"`; by
        default of `auto`, which chooses forests by their accuracy on the data.

        data: an uploaded data set, its id or name, or with `target` a path or a frame to upload first.
        """
        request = {"model": model, "name": name, "noise": noise, "evaluation": evaluation, "seed": seed}
        return Job(self, self.run(steps.submit_on("/train", data, target, request)), _model_of_job)

    def audit(
        self,
        data: Any,
        *,
        target: str | None = None,
        model: ModelSpec | None = None,
        folds: int | None = None,
        seed: int = 0,
    ) -> "Job[AuditReport]":
        """Queue an audit: how many labels are wrong, and which. data: as in `train`."""
        request = {"model": model, "folds": folds, "seed": seed}
        return Job(self, self.run(steps.submit_on("/audits", data, target, request)), _audit_of_job)

    def sweep(
        self,
        data: Any,
        models: Sequence[ModelSpec],
        noise: Sequence[Spec],
        *,
        target: str | None = None,
        repeats: int = 5,
        test_fraction: float = 0.2,
        seed: int = 0,
    ) -> "Job[SweepReport]":
        """Queue a comparison of models under noise. data: as in `train`."""
        request = {"models": models, "noise": noise, "repeats": repeats, "test_fraction": test_fraction, "seed": seed}
        return Job(self, self.run(steps.submit_on("/sweeps", data, target, request)), _sweep_of_job)

    def predict(
        self,
        model: "str | Model",
        data: Any,
        *,
        output: str = "probabilities",
        respond_async: bool = False,
        **options: Any,
    ) -> Any:
        """Predict the rows of a table and return a table of its kind: `label`, and `p.CLASS` for each class.

        model: id, name, `name:version` or `@alias`. data: a frame, a dict of columns, a list of rows, or an uploaded
        data set. output: `labels` leaves the probabilities out. respond_async: return a job instead, whose `wait`
        returns the table. options: of `POST /predict`, such as `on_unknown="missing"`, `on_missing="missing"`,
        `extra="ignore"`.
        """
        request = predictions.PredictionRequest(model, data, output, options)
        if not respond_async:
            return self.run(predictions.predict(request))
        job = self.run(predictions.submit(request))
        return Job(self, job, lambda client, ended: client.run(predictions.result(ended, data)))

    def model(self, reference: "str | Model") -> "Model":
        """Return the model with this id, name, `name:version` or `@alias`."""
        return Model(self, self.run(json_of(get(item_path("/models", reference)))))

    def models(self, **filters: Any) -> "list[Model]":
        """Return all models, newest first. filters: of `GET /models`, such as `sort="-metrics.test.accuracy"`.

        With `limit=3`, return the first three only; so do `datasets` and `jobs`.
        """
        return [Model(self, raw) for raw in self.run(pages("/models", **filters))]

    def dataset(self, dataset_id: "str | Dataset") -> Dataset:
        """Return an uploaded data set."""
        return Dataset.from_raw(self.run(json_of(get(item_path("/datasets", dataset_id)))))

    def datasets(self, **filters: Any) -> list[Dataset]:
        """Return all data sets, newest first, without their columns."""
        return [Dataset.from_raw(raw) for raw in self.run(pages("/datasets", **filters))]

    def job(self, job_id: str) -> "Job[Any]":
        """Return a job that was queued before."""
        return Job(self, self.run(json_of(get(item_path("/jobs", job_id)))), _result_of_job)

    def jobs(self, **filters: Any) -> "list[Job[Any]]":
        """Return all jobs, newest first. filters: of `GET /jobs`, such as `state="running"`."""
        return [Job(self, raw, _result_of_job) for raw in self.run(pages("/jobs", **filters))]

    def audit_report(self, audit_id: str) -> AuditReport:
        """Return a finished audit, by the id of its job."""
        return self.run(steps.audit_report(audit_id))

    def sweep_report(self, sweep_id: str) -> SweepReport:
        """Return a comparison, by the id of its job, with the cells that are finished; also if others failed."""
        return self.run(steps.sweep_report(sweep_id))

    def delete_dataset(self, dataset: "str | Dataset") -> None:
        """Delete a data set that no job or model needs."""
        self.run(json_of(Call("DELETE", item_path("/datasets", dataset))))

    def compare(self, models: "Iterable[str | Model]") -> dict[str, Any]:
        """Return parameters, evaluation, metrics and noise of two or more models side by side, each with `differs`."""
        return self.run(steps.comparison(models))

    def rename_model(self, name: str, new_name: str) -> None:
        """Rename all versions of a model."""
        self.run(steps.rename_model(name, new_name))

    def set_default(self, name: str, version: int | None) -> None:
        """Let the bare name of a model mean this version, or with None its newest one."""
        self.run(steps.set_default(name, version))

    def set_alias(self, name: str, model: "str | Model") -> None:
        """Let an alias point at a version of a model; `@name` then means that version."""
        self.run(steps.set_alias(name, model))

    def delete_alias(self, name: str) -> None:
        """Delete an alias. The model that it points at stays."""
        self.run(json_of(Call("DELETE", item_path("/aliases", name))))

    def aliases(self) -> dict[str, str]:
        """Return `name:version` of the model that each alias points at."""
        return self.run(steps.aliases())


class Job(JobHandle, Generic[Result]):
    """Job in the background. `raw` is the job when it was last asked for."""

    def __init__(self, client: Client, raw: dict[str, Any], result: Any) -> None:
        self._client, self.raw, self._result = client, raw, result

    def refresh(self) -> Self:
        """Ask for the job again."""
        self.raw = self._client.run(json_of(get(f"/jobs/{self.id}")))
        return self

    def wait(self, timeout_seconds: float | None = None, *, progress: bool | None = None) -> Result:
        """Wait until the job has ended, and return its result: a model, an audit, a sweep or a table of predictions.

        progress: whether a bar is drawn; None means at a terminal. Raises JobFailed, or TimeoutError, after which the
        job goes on.
        """
        self.raw = self._client.run(steps.wait(self.id, _bar(progress), timeout_seconds))
        result: Result = self._result(self._client, self.raw)
        return result

    def delete(self) -> None:
        """Delete a job that has ended, with its report. A model that it trained stays."""
        self._client.run(json_of(Call("DELETE", f"/jobs/{self.id}")))

    def cancel(self) -> Self:
        """Ask the job to stop."""
        self.raw = self._client.run(json_of(Call("POST", f"/jobs/{self.id}/cancel", is_repeatable=True)))
        return self


@dataclass(frozen=True, repr=False)
class Model(ModelHandle):
    """One version of a trained model. `raw` is the answer of the service; in lists, without features and matrices."""

    _client: Client
    raw: dict[str, Any]

    def predict(self, data: Any, *, output: str = "probabilities", respond_async: bool = False, **options: Any) -> Any:
        """Predict the rows of a table, as `Client.predict` does."""
        return self._client.predict(self.id, data, output=output, respond_async=respond_async, **options)

    def importances(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the importances of the features, the most important by impurity first: `feature`, `impurity`,
        `permutation`, and the standard deviations of both.
        """
        return self._client.run(pages(f"/models/{self.id}/importances", limit, key="features"))

    def describe(self, description: str | None = None, tags: Sequence[str] | None = None) -> Self:
        """Set the description, the tags or both, and return the model.

        None leaves a field as it is; an empty text or list removes what it has.
        """
        changes = {"description": description, "tags": tags}
        return replace(self, raw=self._client.run(steps.changed_model(f"/models/{self.id}", changes)))

    def save(self, path: str) -> None:
        """Write the fitted estimator to a file, which `bristlecone.load` reads where the library is installed."""
        content = self._client.run(content_of(get(f"/models/{self.id}/artifact")))
        with open(path, "wb") as file:
            file.write(content)

    def delete(self) -> None:
        """Delete this version."""
        self._client.run(json_of(Call("DELETE", f"/models/{self.id}")))


def _model_of_job(client: Client, job: Mapping[str, Any]) -> Model:
    return Model(client, client.run(steps.model_of_job(job)))


def _audit_of_job(client: Client, job: Mapping[str, Any]) -> AuditReport:
    return client.run(steps.audit_report(str(job["id"])))


def _sweep_of_job(client: Client, job: Mapping[str, Any]) -> SweepReport:
    return client.run(steps.sweep_report(str(job["id"])))


def _columns_of_job(client: Client, job: Mapping[str, Any]) -> Columns:
    columns: Columns = client.run(predictions.result(job, None))
    return columns


def _result_of_job(client: Client, job: Mapping[str, Any]) -> Any:
    kinds = {"train": _model_of_job, "audit": _audit_of_job, "sweep": _sweep_of_job, "predict": _columns_of_job}
    return kinds[str(job["kind"])](client, job)
