"""Errors of predictions.

ServiceError
├── NotFound 404               NoPrediction
├── Conflict 409               PredictionNotFinished
├── StoredFileMissing 500      RowsMissing, PredictionMissing
├── TooLarge 413               TooManyCells, AnswerTooLarge
└── Invalid 422
    ├── about the form         NoRows, RaggedColumns
    ├── about a name           MissingFeature, UnknownFeature, DuplicateName
    └── about a value          UnknownCategory, NotANumber, NotADate
"""

from app.errors import (
    Conflict,
    FieldError,
    Invalid,
    NotFound,
    StoredFileMissing,
    TooLarge,
    further_faults,
    pointer_token,
)

#: Limits the size of an error response; a file in which every cell is wrong would otherwise get one of its own size.
MAX_REPORTED = 20


class TooManyCells(TooLarge):
    code, title = "too_many_cells", "Too many cells"


class AnswerTooLarge(TooLarge):
    code, title = "answer_too_large", "Answer too large"


class NoPrediction(NotFound):
    code, title = "prediction_not_found", "No such prediction"


class PredictionNotFinished(Conflict):
    code, title = "prediction_not_finished", "Prediction not finished"


class RowsMissing(StoredFileMissing):
    code, title = "rows_missing", "File of rows missing"


class PredictionMissing(StoredFileMissing):
    code, title = "prediction_missing", "File of a prediction missing"


class NoRows(Invalid):
    code, title = "nothing_to_predict", "Nothing to predict"


class RaggedColumns(Invalid):
    code, title = "ragged_columns", "Columns of different lengths"


class MissingFeature(Invalid):
    code, title = "missing_feature", "Missing feature"


class UnknownFeature(Invalid):
    code, title = "unknown_feature", "Unknown feature"


class DuplicateName(Invalid):
    code, title = "duplicate_feature", "Name given twice"


class UnknownCategory(Invalid):
    code, title = "unknown_category", "Unknown category"


class NotANumber(Invalid):
    code, title = "not_a_number", "Not a number"


class NotADate(Invalid):
    code, title = "not_a_date", "Not a date"


INPUT_ERRORS = (MissingFeature, UnknownFeature, DuplicateName, UnknownCategory, NotANumber, NotADate)
SIZE_ERRORS = (TooManyCells, AnswerTooLarge)
FORM_ERRORS = (NoRows, RaggedColumns)


class Faults:
    """Collection of up to `MAX_REPORTED` errors, so that a client sees several at once."""

    def __init__(self) -> None:
        self._kinds: list[type[Invalid]] = []
        self._errors: list[FieldError] = []

    @property
    def full(self) -> bool:
        return len(self._errors) >= MAX_REPORTED

    def add(self, kind: type[Invalid], pointer: str, detail: str) -> None:
        if not self.full:
            self._kinds.append(kind)
            self._errors.append(FieldError(pointer, detail))

    def raise_if_any(self) -> None:
        """Raise an error of the class of the first fault that lists all faults."""
        if not self._errors:
            return
        first, others = self._errors[0], len(self._errors) - 1
        more = further_faults(others, or_more=self.full)
        raise self._kinds[0](f"At {first.pointer}: {first.detail}{more}.", self._errors)


def pointer(*parts: str | int) -> str:
    """Return a JSON pointer into the body."""
    return "".join(f"/{pointer_token(str(part))}" for part in parts)


def query_pointer(key: str) -> str:
    """Return the pointer to a query parameter."""
    return f"query/{pointer_token(key)}"
