"""Messages of failed SQL statements without the data of users, which must not appear in logs."""

from sqlalchemy import ExceptionContext

#: Class of SQLSTATE codes whose messages contain the value that the database could not convert.
_DATA_EXCEPTION = "22"


def hide_row_data(context: ExceptionContext) -> None:
    """Shorten the message of a PostgreSQL error, whose DETAIL and CONTEXT contain the row of the statement.

    A listener of the event `handle_error`. The parameters of statements are hidden by the engine.
    """
    error = context.original_exception
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    if primary is None:
        return
    sqlstate = str(getattr(error, "sqlstate", None))
    text = f"data exception {sqlstate}" if sqlstate.startswith(_DATA_EXCEPTION) else f"{primary} ({sqlstate})"
    error.args = (text,)
    if context.sqlalchemy_exception is not None:
        name = f"{type(error).__module__}.{type(error).__name__}"
        context.sqlalchemy_exception.args = (f"({name}) {text}",)
