"""Detection of transactions after which a reference to a model may mean another one.

The session tells which tables a transaction writes, so that no function that changes models, names or aliases has to
announce it.
"""

from functools import partial
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import ORMExecuteState, Session, SessionTransaction

from app.storage.database import SessionFactory
from app.storage.generation import Generation
from app.trained_models.tables import ModelAliasRow, ModelNameRow, TrainedModelRow

#: Columns that users change often, and that no reference depends on.
DESCRIPTIVE = frozenset({"description", "tags"})
#: Execution option of an update that sets descriptive columns alone.
KEEPS_REFERENCES = "bristlecone_keeps_references"

_TABLES = (TrainedModelRow, ModelNameRow, ModelAliasRow)
_CHANGED = "registry_changed"


def announce_changes(sessions: SessionFactory, generation: Generation) -> None:
    """Change the generation at the end of each transaction that may have changed what a reference means."""
    event.listen(sessions, "after_flush", _note_flushed)
    event.listen(sessions, "do_orm_execute", _note_executed)
    event.listen(sessions, "after_transaction_end", partial(_announce, generation))


def _note_flushed(session: Session, _: Any) -> None:
    if any(isinstance(row, _TABLES) for rows in (session.new, session.dirty, session.deleted) for row in rows):
        session.info[_CHANGED] = True


def _note_executed(state: ORMExecuteState) -> None:
    if state.is_select or state.execution_options.get(KEEPS_REFERENCES, False):
        return
    mapper = state.bind_mapper
    if mapper is None or issubclass(mapper.class_, _TABLES):
        state.session.info[_CHANGED] = True


def _announce(generation: Generation, session: Session, transaction: SessionTransaction) -> None:
    # A transaction that seems to have failed may have been committed, if the connection was lost in between.
    if transaction.parent is None and session.info.pop(_CHANGED, False):
        generation.change()
