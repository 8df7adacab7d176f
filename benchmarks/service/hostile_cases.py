"""Cases of hostile requests. Each yields steps that are measured; what it does between them is preparation."""

import functools
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlencode

import numpy as np

from benchmarks.service import hostile_files as files
from benchmarks.service.hostile_service import Answer, HostileService, Request, form

#: Title of a step, and the step.
Step = tuple[str, Callable[[], Sequence[Answer]]]
Case = Callable[[HostileService], Iterator[Step]]

_BRACKETS = 20_000_000
_TARGET = ("target", "y")


def _sending(service: HostileService, title: str, *requests: Request) -> Step:
    return title, functools.partial(service.send_all, requests)


def _size(request: Request) -> str:
    n_bytes = len(request.body or b"")
    return f"{n_bytes:,} bytes" if n_bytes < 10_000 else f"{n_bytes / 1e3:,.0f} kB"


def _upload(service: HostileService, what: str, file: bytes, *fields: tuple[str, str]) -> Step:
    return _sending(service, f"upload of {what} ({len(file):,} bytes)", form([_TARGET, *fields], file))


def long_value(service: HostileService) -> Iterator[Step]:
    yield _upload(service, "Parquet, one value of 20 kB in 65,536 rows", files.long_value())


def zeros(service: HostileService) -> Iterator[Step]:
    yield _upload(service, "a zstd Arrow stream of zeros", files.zeros())
    excluded = [("exclude", f"x{i}") for i in range(1, 40)]
    yield _upload(service, "the same, all but one column excluded", files.zeros(), *excluded)


def huge_category(service: HostileService) -> Iterator[Step]:
    request = form([_TARGET, ("types", '{"text": "categorical"}')], files.huge_category())
    yield _sending(service, f"upload of a category of 20 MB ({_size(request)})", request)
    yield _sending(service, "GET /datasets after it", Request("GET", "/datasets"))
    for dataset_id in _dataset_ids(service):
        rows = Request("GET", f"/datasets/{dataset_id}/rows?limit=20")
        yield _sending(service, "GET /datasets/{id}/rows?limit=20 after it", rows)


def _dataset_ids(service: HostileService) -> Iterator[str]:
    return _ids(service, "/datasets")


def _ids(service: HostileService, path: str) -> Iterator[str]:
    """Yield the ids of the items of a list."""
    begin = service.send(Request("GET", path)).begin
    for part in begin.split(b'"id":"')[1:]:
        yield part.partition(b'"')[0].decode()


def long_labels(service: HostileService) -> Iterator[Step]:
    yield _upload(service, "Parquet with labels of 20,000 characters", files.long_labels())
    for dataset_id in _dataset_ids(service):
        request = Request.of_json("POST", "/train", {"dataset_id": dataset_id, "model": {"kind": "tree"}})
        yield "training on it", functools.partial(_trained, service, request)


def _trained(service: HostileService, request: Request) -> list[Answer]:
    answer = service.send(request)
    if answer.status == 202:
        service.wait_for_job(answer.document["id"])
    return [answer]


def _many_classes(service: HostileService) -> str:
    """Return the id of a new data set with 1,000 classes."""
    dataset = service.send(form([_TARGET], files.many_classes()))
    return dataset.begin.partition(b'"id":"')[2].partition(b'"')[0].decode()


def predictions(service: HostileService) -> Iterator[Step]:
    body = {"name": "many", "dataset_id": _many_classes(service), "model": {"kind": "tree"}}
    service.wait_for_job(service.document(Request.of_json("POST", "/train", body))["id"])
    for n_rows in (100, 3_000, 10_000):
        rows = {"model": "many", "on_missing": "missing", "rows": [{}] * n_rows}
        request = Request.of_json("POST", "/predict", rows)
        yield _sending(service, f"POST /predict of {n_rows:,} rows, 1,000 classes ({_size(request)})", request)
    large = Request.of_json("POST", "/predict", {"model": "many", "on_missing": "missing", "rows": [{}] * 3_000})
    yield _sending(service, "40 of POST /predict of 3,000 rows at once", *[large] * 40)


def valid_numbers(service: HostileService) -> Iterator[Step]:
    """Bodies whose tables are read, many at once."""
    columns = {"x": [0.123456789] * 400_000, "y": [0, 1] * 200_000}
    document = {"data": {"target": "y", "columns": columns}, "model": {"kind": "tree", "max_depth": 1}}
    request = Request.of_json("POST", "/train", document)
    yield _sending(service, f"400,000 rows ({_size(request)}) to POST /train, 40 at once", *[request] * 40)


def _brackets(path: str, around: str) -> Request:
    before, after = around.split("…")
    body = before.encode() + b"[" + b"[]," * _BRACKETS + b"[]]" + after.encode()
    return Request("POST", path, body)


_PREDICT = ("/predict", '{"model": "m", "rows": …}')
_TRAIN = ("/train", '{"data": {"target": "y", "columns": {"y": …}}, "model": {"kind": "tree"}}')


def predict_brackets(service: HostileService) -> Iterator[Step]:
    yield _sending(service, "60 MB of [] to POST /predict", _brackets(*_PREDICT))


def train_brackets(service: HostileService) -> Iterator[Step]:
    yield _sending(service, "60 MB of [] to POST /train", _brackets(*_TRAIN))


def parallel_brackets(service: HostileService) -> Iterator[Step]:
    request = _brackets(*_TRAIN)
    yield _sending(service, "60 MB of [] to POST /train, 40 at once", *[request] * 40)
    request = _brackets(*_PREDICT)
    yield _sending(service, "60 MB of [] to POST /predict, 40 at once", *[request] * 40)


def parallel_numbers(service: HostileService) -> Iterator[Step]:
    """Bodies that may be below the limits, one at a time and many at once."""
    column = ",".join(["0.123456789"] * 400_000)
    body = f'{{"data": {{"target": "y", "columns": {{"x": [{column}], "y": [1]}}}}, "model": {{"kind": "tree"}}}}'
    request = Request("POST", "/train", body.encode())
    yield _sending(service, f"400,000 numbers ({_size(request)}) to POST /train", request)
    yield _sending(service, "the same, 40 at once", *[request] * 40)


def _with_matrix(dataset_id: str) -> Request:
    transition = np.full((1_000, 1_000), 0.1 / 999)
    np.fill_diagonal(transition, 0.9)
    noise = {"inject": {"kind": "matrix", "transition": transition.tolist()}}
    body = {"dataset_id": dataset_id, "model": {"kind": "tree", "max_depth": 1}, "noise": noise}
    return Request.of_json("POST", "/train", body)


def matrices(service: HostileService) -> Iterator[Step]:
    request = _with_matrix(_many_classes(service))
    title = f"POST /train with a 1,000 × 1,000 matrix ({_size(request)}), eight times"
    yield title, lambda: [service.send(request) for _ in range(8)]
    yield _sending(service, "the same, eight at once", *[request] * 8)
    yield _sending(service, "GET /jobs after it", Request("GET", "/jobs"))


def large_dataset_reads(service: HostileService) -> Iterator[Step]:
    """Reads of a data set whose row has 29 MB of categories."""
    types = ("types", '{"text0": "categorical", "text1": "categorical", "text2": "categorical"}')
    service.send(form([_TARGET, types], files.many_categories()))
    [dataset_id] = _dataset_ids(service)
    path = f"/datasets/{dataset_id}"
    for part in ("", "/rows?limit=20", "/profile"):
        request = Request("GET", path + part)
        yield _sending(service, f"GET /datasets/{{id}}{part} of 29,100 categories of 1 kB, 16 at once", *[request] * 16)
    request = Request.of_json("PATCH", path, {"description": "described"})
    yield _sending(service, "PATCH of it, 16 at once", *[request] * 16)
    model = {"kind": "tree", "class_weight": {"not a class": 1.0}}
    request = Request.of_json("POST", "/train", {"dataset_id": dataset_id, "model": model, "name": "refused"})
    yield _sending(service, "POST /train on it, refused, 16 at once", *[request] * 16)
    yield _sending(service, "200 of GET /datasets/{id} at once", *[Request("GET", path)] * 200)


def large_job_reads(service: HostileService) -> Iterator[Step]:
    """Reads of a job whose request has a matrix."""
    answer = service.send(_with_matrix(_many_classes(service)))
    job_id = answer.begin.partition(b'"id":"')[2].partition(b'"')[0].decode()
    service.wait_for_job(job_id)
    request = Request("GET", f"/jobs/{job_id}")
    yield _sending(service, "GET /jobs/{id} with a 1,000 × 1,000 matrix, 24 at once", *[request] * 24)
    yield _sending(service, "200 of it at once", *[request] * 200)
    for model_id in _ids(service, "/models"):
        request = Request("GET", f"/models/{model_id}")
        yield _sending(service, "GET /models/{id} of its model, 24 at once", *[request] * 24)


def parallel_uploads(service: HostileService) -> Iterator[Step]:
    requests = [form([_TARGET], files.runs(number)) for number in range(44)]
    yield _sending(service, f"44 uploads at once of Parquet in runs ({_size(requests[0])} each)", *requests)


def excludes(service: HostileService) -> Iterator[Step]:
    names = [f"column_{i}" for i in range(9_999)]
    fields = [_TARGET] + [("exclude", names[i % len(names)]) for i in range(33_000)]
    request = form(fields, files.wide_text(names))
    yield _sending(service, f"10,000 columns and 33,000 excludes ({_size(request)})", request)


def near_names(service: HostileService) -> Iterator[Step]:
    names = [("ab" * 250)[: 440 + i % 20] + f"{i:04}" for i in range(200)]
    unknown = [("exclude", ("ba" * 250)[: 440 + i % 20] + f"{i:04}") for i in range(200)]
    request = form([_TARGET, *unknown], files.wide_text(names))
    yield _sending(service, f"200 unknown names, near 200 columns ({_size(request)})", request)


def long_texts(service: HostileService) -> Iterator[Step]:
    """Requests whose texts come back in error answers."""
    text = "x" * 400_000
    unknown = {f"unknown_{i}": 1 for i in range(10_000)}
    requests = {
        "a label of 400 kB in class_weight": ("/train", {"model": {"kind": "tree", "class_weight": {text: 1, "b": 1}}}),
        "a kind of 400 kB": ("/train", {"model": {"kind": text}}),
        "a model name of 400 kB": ("/predict", {"model": text, "rows": [{}]}),
        "10,000 unknown keys": ("/train", unknown),
        "10,000 unknown keys in predictions": ("/predict", unknown),
    }
    for title, (path, document) in requests.items():
        request = Request.of_json("POST", path, document)
        yield _sending(service, f"{title} to POST {path} ({_size(request)})", request)
    fields = [_TARGET, *((name, "1") for name in unknown)]
    request = form(fields, files.wide_text(["a", "b"]))
    yield _sending(service, f"10,000 unknown form fields ({_size(request)})", request)
    query = urlencode({"sort": text[:60_000]})
    yield _sending(service, "a sort field of 60 kB", Request("GET", f"/jobs?{query}"))


def nested(service: HostileService) -> Iterator[Step]:
    deep = "[" * 900 + "]" * 900
    body = f'{{"data": {{"target": "y", "columns": {{"x": [{deep}, 1], "y": [1, 2]}}}}, "model": {{"kind": "tree"}}}}'
    yield _sending(service, "an inline cell nested 900 deep", Request("POST", "/train", body.encode()))
    types = "[" * 100_000 + "]" * 100_000
    yield _sending(service, "types nested 100,000 deep", form([_TARGET, ("types", types)], files.wide_text(["a"])))


def huge_job(service: HostileService) -> Iterator[Step]:
    service.send(form([_TARGET], files.runs(0)))
    for dataset_id in _dataset_ids(service):
        model = {"kind": "forest", "n_estimators": 10_000, "max_depth": None, "min_samples_leaf": 1}
        request = Request.of_json("POST", "/train", {"dataset_id": dataset_id, "model": model})
        yield "submission of 10,000 full trees on a million rows", functools.partial(_cancelled, service, request)


def _cancelled(service: HostileService, request: Request) -> list[Answer]:
    answer = service.send(request)
    if answer.status == 202:
        service.send(Request("POST", f"/jobs/{answer.document['id']}/cancel"))
    return [answer]


CASES: dict[str, Case] = {
    "long_value": long_value,
    "zeros": zeros,
    "huge_category": huge_category,
    "long_labels": long_labels,
    "predictions": predictions,
    "predict_brackets": predict_brackets,
    "train_brackets": train_brackets,
    "parallel_brackets": parallel_brackets,
    "parallel_numbers": parallel_numbers,
    "valid_numbers": valid_numbers,
    "matrices": matrices,
    "large_dataset_reads": large_dataset_reads,
    "large_job_reads": large_job_reads,
    "parallel_uploads": parallel_uploads,
    "excludes": excludes,
    "near_names": near_names,
    "long_texts": long_texts,
    "nested": nested,
    "huge_job": huge_job,
}
