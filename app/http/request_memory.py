"""Memory that the requests of one process share: for JSON bodies, predictions, and answers made of large rows."""

from fastapi import FastAPI

from app.http.json_body import JsonBodies
from app.http.large_answers import LargeAnswers
from app.http.memory_budget import MemoryBudget
from app.settings import BYTES_PER_ANSWER_CELL, Settings


def install(app: FastAPI, settings: Settings) -> None:
    """Add all budgets to the state of the application."""
    app.state.json_bodies = JsonBodies(settings.limits, settings.staging_folder)
    app.state.answer_memory = MemoryBudget(BYTES_PER_ANSWER_CELL * settings.limits.max_answer_cells)
    limits = settings.limits
    app.state.row_readers = MemoryBudget(limits.max_concurrent_uploads * limits.max_decoded_bytes)
    app.state.large_answers = LargeAnswers(settings)
