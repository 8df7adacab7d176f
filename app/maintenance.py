"""Maintenance of one process: which steps its thread runs."""

from collections.abc import Sequence

from celery import Celery
from sqlalchemy.exc import OperationalError

from app.audits import service as audits
from app.context import ServiceContext
from app.datasets import service as datasets
from app.jobs.figures import add_up
from app.jobs.queue import BROKER_ERRORS, relay_messages, reset_lost_messages
from app.jobs.recovery import settle_open_parents, take_back_lapsed
from app.operations.maintenance import MaintenanceStep, MaintenanceThread
from app.predictions import results as predictions
from app.storage.staging import remove_orphans
from app.trained_models import service as trained_models

#: Unreferenced files waste space but do no harm, and finding them takes a listing of whole folders.
GARBAGE_INTERVAL_SECONDS = 3600.0
#: A killed upload can have left gigabytes.
ORPHAN_INTERVAL_SECONDS = 60.0
#: Thousands of rows can be summed in a moment.
FIGURES_INTERVAL_SECONDS = 30.0


def maintenance_thread(
    context: ServiceContext, celery: Celery, more_steps: Sequence[MaintenanceStep] = ()
) -> MaintenanceThread:
    """Return the thread of this process, not yet started. more_steps: those that not every process has."""
    sessions, settings = context.sessions, context.settings.jobs
    steps = [
        MaintenanceStep("take back lapsed jobs", lambda: take_back_lapsed(sessions, settings)),
        MaintenanceStep("settle parent jobs", lambda: settle_open_parents(sessions)),
        MaintenanceStep("relay messages", lambda: relay_messages(sessions, celery)),
        MaintenanceStep(
            "republish lost messages",
            lambda: reset_lost_messages(sessions, celery, settings.republish_after_seconds),
        ),
        MaintenanceStep(
            "remove staged files", lambda: remove_orphans(context.settings.staging_folder), ORPHAN_INTERVAL_SECONDS
        ),
        MaintenanceStep("collect garbage", lambda: collect_garbage(context), GARBAGE_INTERVAL_SECONDS),
        MaintenanceStep("add up figures of jobs", lambda: add_up(sessions), FIGURES_INTERVAL_SECONDS),
        *more_steps,
    ]
    return MaintenanceThread(steps, settings.upkeep_interval_seconds, outages=(*BROKER_ERRORS, OperationalError))


def collect_garbage(context: ServiceContext) -> int:
    """Remove old files without a row that refers to them, as killed processes leave behind.

    Return how many were removed.
    """
    return (
        datasets.remove_unreferenced(context.sessions, context.dataset_store)
        + trained_models.remove_unreferenced(context.sessions, context.artifact_store)
        + audits.remove_unreferenced(context.sessions, context.issue_store)
        + predictions.remove_unreferenced(context.sessions, context.rows_store, context.prediction_store)
    )
