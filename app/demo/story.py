"""`make demo`: a service of its own, three models learnt from wrong labels, and what they are worth."""

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

import pyarrow.parquet

from app.demo.client import DemoClient, DemoFailed
from app.demo.progress import ProgressDisplay
from app.operations.child_process import ChildCommand, describe_exit, spawn
from app.operations.startup_checks import require_free_port
from app.operations.supervisor import EXPLAIN_AFTER_SECONDS, READY_SECONDS, service_url
from app.settings import Settings

DATA_FILE = Path(__file__).parent / "data" / "optdigits.parquet"
PARQUET = "application/vnd.apache.parquet"
NOISE_RATE = 0.3
POLL_SECONDS = 0.3
#: Rows of the file that are shown to the models at the end.
SAMPLE_ROWS = (7, 1234, 5000)


@dataclass(frozen=True)
class Contender:
    label: str
    name: str
    model: dict[str, Any]


CONTENDERS = (
    Contender(
        "entropy forest",
        "digits-entropy-forest",
        {"kind": "forest", "n_estimators": 100, "loss": {"kind": "entropy"}},
    ),
    Contender(
        "NE forest",
        "digits-ne-forest",
        {"kind": "forest", "n_estimators": 100, "loss": {"kind": "adaptive_ne"}},
    ),
    Contender("NE tree", "digits-ne-tree", {"kind": "tree", "loss": {"kind": "ne", "lambda": 0.75}}),
)


def run_demo(settings: Settings, *, exit_when_done: bool) -> None:
    """Start the service, show what it does, and stay until Ctrl-C unless `exit_when_done`.

    Raises:
        StartRefused: the port is taken.
        DemoFailed: the service did not start, or refused something.
    """
    require_free_port(settings)
    client = DemoClient(service_url(settings))
    with _service(settings, client):
        _compare_models(client)
        print(f"\nAPI   {client.url}\nDocs  {client.url}/docs")
        if exit_when_done:
            return
        print("The service goes on running; Ctrl-C stops it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


@contextlib.contextmanager
def _service(settings: Settings, client: DemoClient) -> Iterator[None]:
    log_file = settings.logs_folder / "demo.log"
    log_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    print(f"Starting the service; its log is {log_file}", flush=True)
    command = ChildCommand("service", [sys.executable, "-m", "app.cli", "serve"], stop_seconds=60.0, output=log_file)
    signal.signal(signal.SIGTERM, _exit_on_signal)
    process = spawn(command, os.environ)
    try:
        _wait_until_ready(process, client, log_file)
        yield
    finally:
        # Each further Ctrl-C is passed on: the second one makes the supervisor stop at once.
        signal.signal(signal.SIGINT, lambda *_: process.terminate())
        print("Stopping the service", flush=True)
        process.terminate()
        process.wait()


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
            print("The first start of a version compiles kernels, which takes some seconds", flush=True)
            explained = True
        time.sleep(POLL_SECONDS)


def _compare_models(client: DemoClient) -> None:
    dataset = client.post_bytes("/datasets", {"name": "optdigits", "target": "target"}, DATA_FILE.read_bytes(), PARQUET)
    print(
        f"Uploaded optdigits: {dataset['n_rows']:,} handwritten digits, {len(dataset['features'])} features, "
        f"{len(dataset['classes'])} classes\n"
        f"Training with {NOISE_RATE:.0%} uniform label noise in the training part; the test part stays clean\n"
    )
    jobs = [_submit(client, contender, dataset["id"]) for contender in CONTENDERS]
    jobs = _watch(client, jobs)
    models = [client.get(f"/models/{job['model_id']}") for job in jobs]
    _print_table(models)
    _print_predictions(client, models[1])


def _submit(client: DemoClient, contender: Contender, dataset_id: str) -> Any:
    request = {
        "name": contender.name,
        "dataset_id": dataset_id,
        "model": contender.model,
        "noise": {"inject": {"kind": "uniform", "rate": NOISE_RATE}},
        "evaluation": {"kind": "holdout", "test_fraction": 0.2},
        "seed": 0,
    }
    return client.post_json("/train", request)


def _watch(client: DemoClient, jobs: Sequence[Any]) -> list[Any]:
    """The jobs once all have succeeded."""
    display = ProgressDisplay([contender.label for contender in CONTENDERS], sys.stdout)
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


def _print_table(models: Sequence[Any]) -> None:
    print(f"\n{'model':<16}{'loss':<28}{'test (clean)':>13}{'train (noisy)':>15}{'fit':>9}")
    for contender, model in zip(CONTENDERS, models, strict=True):
        metrics = model["metrics"]
        print(
            f"{contender.label:<16}{_loss(model):<28}{metrics['test']['accuracy']:>13.1%}"
            f"{metrics['train_noisy']['accuracy']:>15.1%}{model['fit_seconds']:>7.2f} s"
        )


def _loss(model: Any) -> str:
    """`ne, λ = 0.5`; of an adaptive loss the λ that the fit chose."""
    loss = model["parameters"]["loss"]
    chosen = model["fitted"].get("lambda", loss.get("lambda"))
    return str(loss["kind"]) if chosen is None else f"{loss['kind']}, λ = {chosen:g}"


def _print_predictions(client: DemoClient, model: Any) -> None:
    rows = pyarrow.parquet.read_table(DATA_FILE).take(list(SAMPLE_ROWS)).to_pylist()
    digits = [row.pop("target") for row in rows]
    one = client.get("/predict", {"model": model["name"], **rows[0]})
    print(f"\nGET  /predict?model={model['name']}&px0={rows[0]['px0']}&px1={rows[0]['px1']}&…   (a {digits[0]})")
    print(f"     {_answer(one)}")
    many = client.post_json("/predict", {"model": model["name"], "rows": rows})
    print(f'POST /predict {{"model": "{model["name"]}", "rows": […]}}   (a {", a ".join(map(str, digits))})')
    for prediction in many["predictions"]:
        print(f"     {_answer(prediction)}")


def _answer(prediction: Any) -> str:
    probability = prediction["probabilities"][str(prediction["label"])]
    return f"label {prediction['label']}, probability {probability:.2f}"
