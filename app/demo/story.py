"""Demo behind `make demo`: start a service, train models on wrong labels, compare them and audit the labels."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pyarrow

from app.demo.client import DemoClient, DemoFailed
from app.demo.mislabeled_digits import NOISE_RATE, TARGET, load_mislabeled_digits, to_parquet
from app.demo.progress import ProgressDisplay
from app.demo.report import print_audit, print_models
from app.operations.child_process import ChildCommand, describe_exit, spawn
from app.operations.startup_checks import require_free_port
from app.operations.supervisor import EXPLAIN_AFTER_SECONDS, READY_SECONDS, service_url
from app.settings import Settings

PARQUET = "application/vnd.apache.parquet"
POLL_SECONDS = 0.3
#: Test rows whose predictions are shown at the end.
SAMPLE_ROWS = (7, 123, 1000)


@dataclass(frozen=True)
class Contender:
    """One of the models that the demo compares."""

    label: str
    name: str
    model: dict[str, Any]


ENTROPY = {"kind": "entropy"}
NE_KINDS = ("ne", "adaptive_ne")
#: The values of λ leave out 0, which fits wrong labels most closely, to keep the demo short.
CONTENDERS = (
    Contender("entropy tree", "digits-entropy-tree", {"kind": "tree", "loss": ENTROPY}),
    Contender("NE tree", "digits-ne-tree", {"kind": "tree", "loss": {"kind": "ne", "lambda": 0.75}}),
    Contender("entropy forest", "digits-entropy-forest", {"kind": "forest", "loss": ENTROPY}),
    Contender(
        "NE forest",
        "digits-ne-forest",
        {"kind": "forest", "loss": {"kind": "adaptive_ne", "grid": [0.25, 0.5, 0.75, 1.0]}},
    ),
    Contender("auto", "digits-auto", {"kind": "auto"}),
)
#: The model whose predictions are shown.
BEST = "digits-auto"
AUDIT_LABEL = "label audit"


def run_demo(settings: Settings, *, exit_when_done: bool) -> None:
    """Start the service, run the comparison, and keep the service running until Ctrl-C unless `exit_when_done`.

    Raises:
        StartRefused: the port is taken.
        DemoFailed: the service did not start, or refused a request.
    """
    require_free_port(settings)
    client = DemoClient(service_url(settings), os.environ.get("BRISTLECONE_API_KEY"))
    with _compilation(settings), _service(settings, client):
        _tell_story(client)
        print(f"\nAPI   {client.url}\nDocs  {client.url}/docs")
        if exit_when_done:
            return
        print("The service keeps running; Ctrl-C stops it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


@contextlib.contextmanager
def _service(settings: Settings, client: DemoClient) -> Iterator[None]:
    log_file = _log_file(settings)
    print(f"Starting the service; its log is {log_file}", flush=True)
    command = ChildCommand("service", [sys.executable, "-m", "app.cli", "serve"], stop_seconds=60.0, output=log_file)
    signal.signal(signal.SIGTERM, _exit_on_signal)
    process = spawn(command, os.environ)
    try:
        _wait_until_ready(process, client, log_file)
        yield
    finally:
        # Further Ctrl-C are passed on; the second one makes the supervisor stop at once.
        signal.signal(signal.SIGINT, lambda *_: process.terminate())
        print("Stopping the service", flush=True)
        process.terminate()
        process.wait()


@contextlib.contextmanager
def _compilation(settings: Settings) -> Iterator[None]:
    """Compile kernels beside the service, and stop that when the demo ends first."""
    log_file = _log_file(settings)
    arguments = [sys.executable, "-m", "app.demo.compile_kernels"]
    process = spawn(ChildCommand("compilation", arguments, stop_seconds=5.0, output=log_file), os.environ)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _log_file(settings: Settings) -> Path:
    log_file = settings.logs_folder / "demo.log"
    log_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return log_file


def _exit_on_signal(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


def _wait_until_ready(process: "subprocess.Popen[bytes]", client: DemoClient, log_file: Path) -> None:
    began, explained = time.monotonic(), False
    while not client.ready():
        waited = time.monotonic() - began
        if process.poll() is not None:
            last_lines = "\n".join(log_file.read_text(errors="replace").splitlines()[-10:])
            raise DemoFailed(f"the service ended while starting ({describe_exit(process.returncode)}):\n{last_lines}")
        if waited > READY_SECONDS:
            raise DemoFailed(f"the service was not ready after {READY_SECONDS:.0f} s; see {log_file}")
        if waited > EXPLAIN_AFTER_SECONDS and not explained:
            print("The first start compiles numerical kernels, so it and the first jobs take longer", flush=True)
            explained = True
        time.sleep(POLL_SECONDS)


def _tell_story(client: DemoClient) -> None:
    digits = load_mislabeled_digits()
    train_id = _upload(client, "optdigits-mislabeled", digits.train)
    test_id = _upload(client, "optdigits-test", digits.test)
    print(
        f"Uploaded {len(digits.train):,} handwritten digits of which {NOISE_RATE:.0%} have a wrong label, "
        f"and {len(digits.test):,} correctly labeled ones to test on.\n"
        f"Training {len(CONTENDERS)} models on the wrong labels, and auditing the labels.\n"
    )
    audit_job = client.post_json("/audits", {"dataset_id": train_id, "seed": 0})
    # In this order the worker compiles one criterion while other processes compile what the last models need.
    by_loss = sorted(CONTENDERS, key=lambda contender: contender.model.get("loss", {}).get("kind") not in NE_KINDS)
    queued = {contender.name: _train(client, contender, train_id, test_id) for contender in by_loss}
    *jobs, audit_job = _watch(client, [*(queued[contender.name] for contender in CONTENDERS), audit_job])
    print_models(CONTENDERS, [client.get(f"/models/{job['model_id']}") for job in jobs])
    flagged = client.get_text(f"/audits/{audit_job['id']}/issues.csv", {"flagged": "true"})
    print_audit(client.get(f"/audits/{audit_job['id']}"), flagged, digits)
    _print_predictions(client, digits.test.take(list(SAMPLE_ROWS)).to_pylist())


def _upload(client: DemoClient, name: str, table: pyarrow.Table) -> Any:
    dataset = client.post_bytes("/datasets", {"name": name, "target": TARGET}, to_parquet(table), PARQUET)
    for warning in dataset["warnings"]:
        print(f"{name}: {warning['detail']}")
    return dataset["id"]


def _train(client: DemoClient, contender: Contender, train_id: str, test_id: str) -> Any:
    request = {
        "name": contender.name,
        "dataset_id": train_id,
        "model": contender.model,
        "evaluation": {"kind": "dataset", "dataset_id": test_id},
        "seed": 0,
    }
    return client.post_json("/train", request)


def _watch(client: DemoClient, jobs: Sequence[Any]) -> list[Any]:
    """Show progress until all jobs have succeeded, and return them."""
    display = ProgressDisplay([*(contender.label for contender in CONTENDERS), AUDIT_LABEL], sys.stdout)
    while True:
        jobs = [client.get(f"/jobs/{job['id']}") for job in jobs]
        display.show(jobs)
        for job in jobs:
            if job["state"] in ("failed", "cancelled"):
                raise DemoFailed(f"job {job['id']} {job['state']}: {_job_error(job)}")
        if all(job["state"] == "succeeded" for job in jobs):
            return list(jobs)
        time.sleep(POLL_SECONDS)


def _job_error(job: Any) -> str:
    error = job.get("error") or {}
    return f"{error.get('code', 'no code')}: {error.get('message', 'no message')}"


def _print_predictions(client: DemoClient, rows: list[dict[str, Any]]) -> None:
    digits = [row.pop(TARGET) for row in rows]
    one = client.get("/predict", {"model": BEST, **rows[0]})
    print(f"\nGET  /predict?model={BEST}&px0={rows[0]['px0']}&px1={rows[0]['px1']}&…   (true digit: {digits[0]})")
    print(f"     {_answer(one)}")
    many = client.post_json("/predict", {"model": BEST, "rows": rows})
    print(f'POST /predict {{"model": "{BEST}", "rows": […]}}   (true digits: {", ".join(map(str, digits))})')
    for prediction in many["predictions"]:
        print(f"     {_answer(prediction)}")


def _answer(prediction: Any) -> str:
    probability = prediction["probabilities"][str(prediction["label"])]
    return f"label {prediction['label']}, probability {probability:.2f}"
