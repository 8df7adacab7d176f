"""Errors of data sets. Each kind of error has its own code and points at the field that has to change.

DatasetFileMissing       500
DatasetFileDamaged       500
DatasetNotFound          404   Invalid (422)
DatasetInUse             409   ├── about the request: UnknownTarget, UnknownExclude, TargetExcluded, …
UploadTooLarge           413   ├── about the file: EmptyFile, NoRows, FileTypeMismatch, UnreadableFile, NotUtf8, …
UploadTooSlow            413   └── about its values: MissingLabel, SingleClass, NotNumeric, InfiniteValue, …
UploadInterrupted        400
MalformedMultipart       400
UnsupportedUploadType    415
TooManyUploads           429
UploadReaderLost         503
"""

from collections.abc import Callable

from app.errors import (
    Conflict,
    DecodedTooLarge,
    FieldError,
    Invalid,
    NotFound,
    ServiceError,
    StoredFileMissing,
    TextTooLong,
    TooLarge,
    TooManyRequests,
    Unavailable,
    UnsupportedMediaType,
    pointer_token,
)


class DatasetNotFound(NotFound):
    code, title = "dataset_not_found", "No such data set"


class DatasetInUse(Conflict):
    code, title = "dataset_in_use", "The data set is in use"


class DatasetFileMissing(StoredFileMissing):
    code, title = "dataset_file_missing", "The stored file is missing"


class DatasetFileDamaged(ServiceError):
    code, title = "dataset_file_damaged", "The stored file is damaged"


class UploadInterrupted(ServiceError):
    status, code, title = 400, "upload_interrupted", "The upload was interrupted"


class MalformedMultipart(ServiceError):
    status, code, title = 400, "malformed_multipart", "The multipart body cannot be read"


class UploadTooLarge(TooLarge):
    code, title = "upload_too_large", "The upload is too large"


class UploadTooSlow(TooLarge):
    code, title = "upload_too_slow", "The table takes too long to read"


class TooManyUploads(TooManyRequests):
    code, title = "too_many_uploads", "Too many uploads at the same time"
    retry_after_seconds = 5


class UploadReaderLost(Unavailable):
    code, title = "upload_reader_lost", "The process that read the upload was lost"
    retry_after_seconds = 5


class UnsupportedUploadType(UnsupportedMediaType):
    code, title = "unsupported_media_type", "Unsupported media type"


class EmptyFile(Invalid):
    code, title = "empty_file", "The file is empty"


class NoRows(Invalid):
    code, title = "no_rows", "The file has no rows"


class FileTypeMismatch(Invalid):
    code, title = "file_type_mismatch", "The file does not have the declared type"


class UnknownFileType(Invalid):
    code, title = "unknown_file_type", "The type of the file is unknown"


class UnreadableFile(Invalid):
    code, title = "unreadable_file", "The file cannot be read"


class NotUtf8(Invalid):
    code, title = "not_utf8", "The text is not UTF-8"


class NulCharacter(Invalid):
    code, title = "nul_character", "The text contains a NUL character"


class DuplicateColumn(Invalid):
    code, title = "duplicate_column", "Two columns have the same name"


class InvalidColumnName(Invalid):
    code, title = "invalid_column_name", "A column name is not valid"


class UnknownTarget(Invalid):
    code, title = "unknown_target", "No such target column"


class UnknownExclude(Invalid):
    code, title = "unknown_exclude", "No such column to exclude"


class UnknownTypedColumn(Invalid):
    code, title = "unknown_typed_column", "The table has no such column"


class TargetExcluded(Invalid):
    code, title = "target_excluded", "The target is excluded"


class NoFeatures(Invalid):
    code, title = "no_features", "There are no features"


class UndecodableText(Invalid):
    code, title = "undecodable_text", "The text is not in the given encoding"


class UnknownEncoding(Invalid):
    code, title = "unknown_encoding", "No such encoding"


class InvalidReading(Invalid):
    code, title = "invalid_reading", "The file cannot be read in this way"


class UnknownRole(Invalid):
    code, title = "unknown_role_column", "No such column for a role"


class ConflictingRoles(Invalid):
    code, title = "conflicting_roles", "A column has two roles"


class InvalidWeight(Invalid):
    code, title = "invalid_weight", "A weight is not valid"


class MissingLabel(Invalid):
    code, title = "missing_label", "There are no labels"


class SingleClass(Invalid):
    code, title = "single_class", "The target has one class"


class TooManyClasses(Invalid):
    code, title = "too_many_classes", "The target has too many classes"


class TooManyCategories(Invalid):
    code, title = "too_many_categories", "A column has too many categories"


class TooManyRows(Invalid):
    code, title = "too_many_rows", "The file has too many rows"


class TooManyColumns(Invalid):
    code, title = "too_many_columns", "The file has too many columns"


class NotNumeric(Invalid):
    code, title = "not_numeric", "A value is not a number"


class NotDatetime(Invalid):
    code, title = "not_datetime", "A value is not a date"


class ContinuousTarget(Invalid):
    code, title = "continuous_target", "The target is a quantity, not a class"


class NearlyUniqueTarget(Invalid):
    code, title = "nearly_unique_target", "The target has hardly any label twice"


class InfiniteValue(Invalid):
    code, title = "infinite_value", "A value is infinite"


class UnsupportedColumnType(Invalid):
    code, title = "unsupported_column_type", "The type of a column is not supported"


class UnknownRow(Invalid):
    code, title = "unknown_row", "No such row"


class UnknownColumn(Invalid):
    code, title = "unknown_column", "No such column"


class UnequalColumns(Invalid):
    code, title = "unequal_columns", "The columns have different lengths"


class MixedColumn(Invalid):
    code, title = "mixed_column", "A column mixes kinds of values"


#: Errors of an upload, for the documentation of the route.
UPLOAD_ERRORS: tuple[type[ServiceError], ...] = (
    UploadInterrupted, MalformedMultipart, UploadTooLarge, UnsupportedUploadType,
    EmptyFile, NoRows, FileTypeMismatch, UnknownFileType, UnreadableFile, NotUtf8, NulCharacter, DuplicateColumn,
    InvalidColumnName, UnknownTarget, UnknownExclude, UnknownTypedColumn, TargetExcluded, NoFeatures, MissingLabel,
    SingleClass, TooManyClasses, TooManyCategories, TooManyRows, TooManyColumns, NotNumeric, InfiniteValue,
    UnsupportedColumnType, UndecodableText, UnknownEncoding, InvalidReading, UnknownRole, ConflictingRoles,
    InvalidWeight, NotDatetime, ContinuousTarget, NearlyUniqueTarget, DecodedTooLarge, UploadTooSlow, TextTooLong,
    TooManyUploads, UploadReaderLost,
)  # fmt: skip


def repoint(error: ServiceError, place: Callable[[str], str]) -> None:
    """Replace the pointers of the error by those of a request that has the fields in another place."""
    error.errors = tuple(FieldError(place(item.pointer), item.detail) for item in error.errors)


def column_pointer(field: str, column: str) -> str:
    """Return the JSON pointer to `column` below `field`, such as `/types/age`."""
    return f"/{field}/{pointer_token(column)}"
