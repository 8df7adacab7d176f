"""Files of predictions in the background, which are deleted with their jobs."""

import multiprocessing
import os
import signal
import uuid
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.context import open_context
from app.jobs.deletion import delete_job
from app.maintenance import collect_garbage
from app.predictions.results import prediction_files, remove_unreferenced
from app.predictions.store import PredictionStore
from app.settings import Settings
from app.storage.staging import remove_orphans
from tests.app.trained_models.made import make_trained_model
from tests.workers.test_predicting import queued, run


def test_a_result_goes_with_the_last_job_that_has_it(client: TestClient) -> None:
    context = client.app.state.context
    make_trained_model(context)
    jobs = [run(client, queued(client))["id"] for _ in range(2)]
    assert len(files(context.settings.predictions_folder)) == 1
    assert client.delete(f"/jobs/{jobs[0]}").status_code == 204
    assert client.get(f"/jobs/{jobs[1]}/result").status_code == 200
    assert client.delete(f"/jobs/{jobs[1]}").status_code == 204
    assert files(context.settings.predictions_folder) == []


def test_rows_go_with_a_job_that_was_cancelled(client: TestClient) -> None:
    context = client.app.state.context
    make_trained_model(context)
    made = queued(client)
    client.post(f"/jobs/{made['id']}/cancel")
    assert len(files(context.settings.rows_folder)) == 1
    assert client.delete(f"/jobs/{made['id']}").status_code == 204
    assert files(context.settings.rows_folder) == []


@pytest.mark.parametrize("is_withdrawn", [False, True])
def test_a_crash_leaves_only_garbage(client: TestClient, is_withdrawn: bool) -> None:
    context = client.app.state.context
    make_trained_model(context)
    made = run(client, queued(client))
    arguments = (context.settings, uuid.UUID(made["id"]), is_withdrawn)
    process = multiprocessing.get_context("spawn").Process(target=delete_and_die, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert client.get(f"/jobs/{made['id']}").status_code == 404
    folder, staging = context.settings.predictions_folder, context.settings.staging_folder
    assert (len(files(folder)), len(files(staging))) == ((0, 1) if is_withdrawn else (1, 0))
    # A file of this age could belong to a transaction that is about to end.
    assert collect_garbage(context) == 0
    remove_orphans(staging)
    remove_unreferenced(context.sessions, context.rows_store, context.prediction_store, -1)
    assert files(folder) == files(staging) == files(context.settings.rows_folder) == []


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def delete_and_die(settings: Settings, job_id: uuid.UUID, is_withdrawn: bool) -> None:
    """Delete a job. The process is killed after the row was deleted, just before or after its result is withdrawn."""

    class FatalStore(PredictionStore):
        def withdraw(self, key: str, discarded: Path, older_than_seconds: float = 0.0) -> bool:
            if is_withdrawn:
                super().withdraw(key, discarded, older_than_seconds)
            os.kill(os.getpid(), signal.SIGKILL)
            return True

    context = open_context(settings)
    store = FatalStore(settings.predictions_folder, settings.staging_folder)
    delete_job(context.sessions, prediction_files(context.rows_store, store), job_id)
