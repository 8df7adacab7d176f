"""Methods of both clients, as steps of calls."""

import contextlib
import inspect
import io
import itertools
import json
import time
import traceback
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from bristlecone.calls import Call, Steps, get, item_path, pages, reference_to
from bristlecone.errors import BristleconeError, DataWarning, JobFailed
from bristlecone.frames import as_file
from bristlecone.media_types import COMPRESSIONS, UPLOADED, media_type_of
from bristlecone.progress import Progress
from bristlecone.results import AuditReport, Dataset, SweepReport

T = TypeVar("T")
Spec = Mapping[str, Any]
#: Kind and parameters of a model, or the kind alone.
ModelSpec = Spec | str
ENDED = frozenset({"succeeded", "failed", "cancelled"})
#: Seconds of one long poll; the bar is drawn anew after each.
_POLL_SECONDS = 1
_PACKAGE = Path(__file__).parent


def upload(source: Any, target: str, name: str | None, options: Mapping[str, Any]) -> Steps[Dataset]:
    """Upload a file or a frame."""
    query = {"target": target, "name": name, **options}
    query = {key: _field(value) for key, value in query.items() if value is not None}
    call = _upload_file(Path(source), query) if isinstance(source, str | Path) else _upload_frame(source, query)
    return Dataset.from_raw((yield call).json)


def _field(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_field(item) for item in value]
    return json.dumps(value) if isinstance(value, Mapping) else value


def _upload_file(path: Path, query: dict[str, Any]) -> Call:
    media_type = media_type_of(path.name, UPLOADED, compressed=COMPRESSIONS, way_out="; or pass a data frame")
    encoding = COMPRESSIONS.get(path.suffix.lower())
    headers = {"Content-Type": media_type} | ({"Content-Encoding": encoding} if encoding else {})
    return _upload_call({"name": path.name} | query, headers, lambda: path.open("rb"))


def _upload_frame(frame: Any, query: dict[str, Any]) -> Call:
    content, media_type = as_file(frame)
    return _upload_call({"name": "frame"} | query, {"Content-Type": media_type}, lambda: io.BytesIO(content))


def _upload_call(query: dict[str, Any], headers: dict[str, str], opened: Any) -> Call:
    @contextlib.contextmanager
    def open_content() -> Iterator[BinaryIO]:
        with opened() as content:
            yield content

    # The same content is the same data set, so that nothing is stored twice.
    return Call(
        "POST", "/datasets", query, headers=headers, open_content=open_content, is_repeatable=True, extra_seconds=900
    )


def submit(path: str, request: Mapping[str, Any]) -> Steps[dict[str, Any]]:
    """Queue a job, once, whatever happens to the connection. Parts of the request that are None are left out."""
    body = {name: _with_ids(value) for name, value in request.items() if value is not None}
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    job: dict[str, Any] = (yield Call("POST", path, json=body, headers=headers, is_repeatable=True)).json
    return job


def _with_ids(value: Any) -> Any:
    """Return a value of a request with the ids of data sets in their place."""
    if isinstance(value, Mapping):
        return {name: _with_ids(each) for name, each in value.items()}
    return value.id if isinstance(value, Dataset) else value


def submit_on(path: str, data: Any, target: str | None, request: Mapping[str, Any]) -> Steps[dict[str, Any]]:
    """Queue a job on a data set, which is uploaded first if it is a file or a frame."""
    dataset_id = yield from _dataset_id(data, target, request.get("name"))
    return (yield from submit(path, {"dataset_id": dataset_id, **request}))


def _dataset_id(data: Any, target: str | None, name: str | None) -> Steps[str]:
    """Return the id of a data set, or what the service knows it by; a file or a frame is uploaded first."""
    if isinstance(data, Dataset):
        return data.id
    if target is None:
        if isinstance(data, str | uuid.UUID):
            return str(data)
        raise ValueError("target= is missing: name the column with the labels, or pass an uploaded data set")
    dataset = yield from upload(data, target, name, {})
    for warning in dataset.warnings:
        if warning["code"] != "known_content":
            _warn(warning["detail"])
    return dataset.id


def _warn(detail: str) -> None:
    """Show a `DataWarning` at the line that called this package."""
    # `skip_file_prefixes` of the standard library needs Python 3.12.
    frames = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(inspect.currentframe()))
    n_inside = sum(1 for _ in itertools.takewhile(lambda file: Path(file).parent == _PACKAGE, frames))
    warnings.warn(detail, DataWarning, stacklevel=n_inside + 1)


def wait(job_id: str, progress: Progress, timeout_seconds: float | None) -> Steps[dict[str, Any]]:
    """Follow a job to its end. Raises JobFailed, TimeoutError while the job goes on, and ValueError."""
    if not (timeout_seconds is None or isinstance(timeout_seconds, Real)):
        raise ValueError(f"timeout_seconds is {timeout_seconds!r}; it must be a number of seconds, or None to wait on")
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    with contextlib.closing(progress):
        while True:
            job: dict[str, Any] = (yield get(f"/jobs/{job_id}", wait=_POLL_SECONDS)).json
            progress.show(job)
            if job["state"] in ENDED:
                break
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"job {job_id} is {job['state']} after {timeout_seconds:g} s; it goes on")
    if job["state"] != "succeeded":
        raise JobFailed(job)
    return job


def model_of_job(job: Mapping[str, Any]) -> Steps[dict[str, Any]]:
    """Return the model that a job trained. Raises BristleconeError if it was deleted."""
    if job["model_id"] is None:
        raise BristleconeError(f"the model of job {job['id']} was deleted; train it again")
    model: dict[str, Any] = (yield get(item_path("/models", job["model_id"]))).json
    return model


def audit_report(audit_id: str) -> Steps[AuditReport]:
    """Return an audit with the rows whose labels are suspected."""
    report = (yield get(item_path("/audits", audit_id))).json
    issues = yield from pages(f"{item_path('/audits', audit_id)}/issues", flagged="true")
    return AuditReport.from_raw({**report, "issues": issues})


def sweep_report(sweep_id: str) -> Steps[SweepReport]:
    """Return a comparison, with the cells that are finished."""
    return SweepReport.from_raw((yield get(item_path("/sweeps", sweep_id))).json)


def changed_model(path: str, changes: Mapping[str, Any]) -> Steps[dict[str, Any]]:
    """Change the fields of a model that are not None, and return the model. An empty text removes what a field has."""
    named = {name: None if value == "" else value for name, value in changes.items() if value is not None}
    model: dict[str, Any] = (yield Call("PATCH", path, json=named, is_repeatable=True)).json
    return model


def comparison(models: Iterable[Any]) -> Steps[dict[str, Any]]:
    """Return what models have in common and where they differ. Raises ValueError for a single text."""
    if isinstance(models, str):
        raise ValueError(f"models is {models!r:.100}; it must be a list, such as ['loans:1', 'loans:2']")
    compared: dict[str, Any] = (yield get("/models/compare", ids=",".join(map(reference_to, models)))).json
    return compared


def rename_model(name: str, new_name: str) -> Steps[None]:
    """Rename all versions of a model."""
    yield Call("PATCH", item_path("/models/by-name", name), json={"name": new_name})


def set_default(name: str, version: int | None) -> Steps[None]:
    """Let a bare name mean a version of a model, or its newest one."""
    yield Call("PUT", f"{item_path('/models/by-name', name)}/default", json={"version": version})


def set_alias(name: str, model: Any) -> Steps[None]:
    """Let an alias point at a model, or at the one that a reference means now."""
    found = (yield get(item_path("/models", model))).json
    yield Call("PUT", item_path("/aliases", name), json={"model_id": found["id"]})


def aliases() -> Steps[dict[str, str]]:
    """Return `name:version` of the model of each alias."""
    items = yield from pages("/aliases", sort="name")
    return {item["name"]: "{name}:{version}".format(**item["model"]) for item in items}
