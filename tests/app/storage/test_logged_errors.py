"""Errors of failed statements contain neither parameters nor rows, on SQLite and on PostgreSQL."""

import logging
import traceback

import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from app.context import ServiceContext
from app.datasets.tables import DatasetRow
from app.storage.database import writing
from tests.factories import make_dataset

SECRET = "Doe, Jane"


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def test_a_violated_constraint_shows_no_row(context: ServiceContext) -> None:
    make_dataset(context, fingerprint="f" * 64)
    with pytest.raises(IntegrityError) as caught:
        make_dataset(context, fingerprint="f" * 64, classes=[{"label": SECRET, "count": 1}], name=SECRET)
    assert SECRET not in _trace(caught.value)
    assert "fingerprint" in str(caught.value)


def test_a_missing_value_shows_no_row(context: ServiceContext) -> None:
    with pytest.raises(IntegrityError) as caught, writing(context.sessions) as session:
        session.execute(insert(DatasetRow).values(name=SECRET, target=None))
    assert SECRET not in _trace(caught.value)


def test_a_value_of_the_wrong_type_is_not_shown(context: ServiceContext) -> None:
    with pytest.raises(DBAPIError) as caught, writing(context.sessions) as session:
        session.execute(text("INSERT INTO jobs (attempt) VALUES (CAST(:value AS INTEGER))"), {"value": SECRET})
    assert SECRET not in _trace(caught.value)


def test_a_statement_that_cannot_run_shows_no_parameters(
    context: ServiceContext, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        with writing(context.sessions) as session:
            session.execute(text("INSERT INTO nowhere VALUES (:value)"), {"value": SECRET})
    except DBAPIError:
        logging.getLogger("app").exception("failed")
    assert "nowhere" in caplog.text
    assert SECRET not in caplog.text
