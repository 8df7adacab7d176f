"""Fields of an upload beside the file, from the form or from the query."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from fastapi.exceptions import RequestValidationError
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    Json,
    StringConstraints,
    ValidationError,
    model_validator,
)

from app.datasets.column_types import ColumnKind
from app.datasets.json_texts import UnclearJson, parse_json
from app.datasets.options import ReadingOptions, UploadOptions
from app.datasets.receiving import Fields
from app.requests.dataset_reference import NameText
from app.requests.request_model import RequestModel
from core import MISSING_TEXTS, InvalidParameter, TextReading

ColumnName = Annotated[str, StringConstraints(min_length=1)]

_REPEATABLE = ("exclude", "nulls")
_MAX_NULLS = 1_000


def _delimiter(text: str) -> str:
    """Return one character; a tab may be written as it is in code, because shells make it hard to type."""
    mark = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(mark) != 1 or mark in '"\r\n\0' or not mark.isascii():
        raise ValueError(
            f"delimiter is {text[:20]!r}; it must be one ASCII character, such as ; or \\t, and not a quote"
        )
    return mark


def _date_form(form: str) -> str:
    try:
        TextReading(dates=form)
    except InvalidParameter as error:
        raise ValueError(str(error).removesuffix(".")) from error
    return form


def _dates(value: Any) -> Any:
    """Return the object that a JSON text holds, or the text itself, which then is a form."""
    return _object("dates", value, "a strptime form, or a JSON object {column: form}") if _is_object(value) else value


def _null_texts(value: Any) -> Any:
    """Return the object that a JSON text holds, with lists of texts, or the text itself."""
    if not re.match(r'\s*\{\s*["}]', value if isinstance(value, str) else ""):
        return value
    rule = 'a text, or a JSON object of columns and lists such as {"income": ["-9999"]}'
    lists = _object("nulls", value, rule)
    for column, texts in lists.items():
        if not isinstance(texts, list) or not all(type(text) in (str, int, float) for text in texts):
            raise ValueError(f"nulls has {str(texts)[:80]} for column {column[:80]!r}; it must be {rule}")
    return {column: [str(text) for text in texts] for column, texts in lists.items()}


def _is_object(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip().startswith("{")


def _object(field: str, text: str, rule: str) -> Any:
    try:
        return parse_json(text)
    except UnclearJson as error:
        raise ValueError(f"{field} has {error}") from error
    except ValueError as error:
        raise ValueError(f"{field} is {text[:80]!r}; it must be {rule}") from error


def _clear_json(value: Any) -> Any:
    """Return JSON text unchanged. Raises ValueError if it has a key twice."""
    try:
        if isinstance(value, str):
            parse_json(value)
    except UnclearJson as error:
        raise ValueError(f"types has {error}") from error
    except ValueError:
        pass  # The validation of the field says what is wrong.
    return value


NullTexts = Annotated[str | dict[str, Annotated[list[str], Field(max_length=_MAX_NULLS)]], BeforeValidator(_null_texts)]
DateForm = Annotated[str, StringConstraints(min_length=1), AfterValidator(_date_form)]


class UploadFields(RequestModel):
    """Fields of an upload beside the file, from the form or from the query."""

    target: Annotated[str, Field(min_length=1, description="column with the labels")]
    name: Annotated[NameText | None, Field(description="name of the data set; default: the name of the file")] = None
    exclude: Annotated[list[str], Field(description="columns to leave out; repeatable")] = []  # noqa: RUF012 (pydantic copies it)
    weight: Annotated[ColumnName | None, Field(description="column with the sample weights")] = None
    group: Annotated[
        ColumnName | None,
        Field(
            description="column that says which rows belong together; they are never split between training and test"
        ),
    ] = None
    types: Annotated[
        Json[dict[str, ColumnKind]] | None,
        BeforeValidator(_clear_json),
        Field(
            description='JSON object `{column: "numeric" | "categorical" | "datetime" | "ignored"}` with types that '
            "replace detected ones",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        AfterValidator(lambda text: text if text is None else _delimiter(text)),
        Field(description="character between the fields of a CSV file; default: the one that splits the header best"),
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None, Field(description="decimal mark of numbers in text; default: detected per column")
    ] = None
    thousands: Annotated[
        Literal["", ",", ".", " ", "'"] | None,
        Field(description="mark between groups of three digits; default: detected per column"),
    ] = None
    encoding: Annotated[
        str | None,
        Field(max_length=100, description="character set of a text file, such as `latin-1`; default: UTF-8"),
    ] = None
    nulls: Annotated[
        list[NullTexts] | None,
        Field(
            max_length=_MAX_NULLS,
            description="texts that mean that a value is missing, beside empty ones; repeatable; replaces the list in "
            "the documentation. A JSON object `{column: [texts]}` adds texts for the columns that it names. A number "
            "that a text spells is missing too",
        ),
    ] = None
    dates: Annotated[
        DateForm | dict[str, DateForm] | None,
        BeforeValidator(_dates),
        Field(
            description="`strptime` form of dates, such as `%d/%m/%Y`, which is tried first on every column, or a JSON "
            "object `{column: form}`; other columns are detected: ISO 8601 and unambiguous local forms"
        ),
    ] = None

    @model_validator(mode="after")
    def _marks_differ(self) -> Self:
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(f"decimal and thousands are both {self.decimal!r}; they must differ, change one of them")
        return self

    @model_validator(mode="after")
    def _few_nulls(self) -> Self:
        general = set(self._nulls() or MISSING_TEXTS)
        for column, texts in {"": [], **self._column_nulls()}.items():
            if (n_texts := len(general | set(texts))) > _MAX_NULLS:
                place = f" for column {column[:80]!r}" if column else ""
                rule = f"at most {_MAX_NULLS:,} are supported, with the empty one and those of all columns"
                raise ValueError(f"nulls has {n_texts:,} texts{place}; {rule}")
        return self

    @classmethod
    def from_fields(cls, fields: Fields, source: str) -> "UploadFields":
        """Return the validated fields. source: `body` or `query`, where they come from.

        Raises:
            RequestValidationError: a field is missing, unknown, given twice or not valid.
        """
        values = {name: texts if name in _REPEATABLE or len(texts) > 1 else texts[0] for name, texts in fields.items()}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            listed = error.errors(include_url=False)
            located = [{**item, "loc": (source, *item["loc"])} for item in listed]
            parsed = {name: _parsed(values.get(name)) for name in ("types", "dates")}
            raise RequestValidationError(located, body={**values, **parsed}) from error

    def options(self, default_name: str) -> UploadOptions:
        """Return the fields as the service takes them."""
        reading = ReadingOptions(
            self.delimiter, self.decimal, self.thousands, self.encoding, self._nulls(), self.dates, self._column_nulls()
        )
        name = self.name or default_name
        return UploadOptions(self.target, name, self.exclude, self.types or {}, self.weight, self.group, reading)

    def _nulls(self) -> Sequence[str] | None:
        texts = [text.strip() for text in self.nulls or () if isinstance(text, str)]
        return tuple(dict.fromkeys(["", *texts])) if texts else None

    def _column_nulls(self) -> dict[str, list[str]]:
        merged: dict[str, list[str]] = {}
        for lists in self.nulls or ():
            for column, texts in lists.items() if isinstance(lists, dict) else ():
                merged.setdefault(column, []).extend(text.strip() for text in texts)
        return merged


def _parsed(text: str | list[str] | None) -> Any:
    """Return JSON text as an object, so that a pointer to an error inside it can be found."""
    try:
        return parse_json(text) if isinstance(text, str) else text
    except ValueError:
        return text


def upload_request_body() -> dict[str, Any]:
    """Return the OpenAPI description of both forms of an upload."""
    binary = {"type": "string", "format": "binary"}
    fields = UploadFields.model_json_schema()
    form = {
        "type": "object",
        "required": ["file", *fields["required"]],
        "properties": {"file": binary, **fields["properties"]},
        "$defs": fields.get("$defs", {}),
    }
    example = "age,job,risk\n41,skilled,good\n23,unskilled,bad\n"
    return {
        "required": True,
        "content": {
            "multipart/form-data": {"schema": form},
            "text/csv": {"schema": {"type": "string"}, "example": example},
            "text/tab-separated-values": {"schema": {"type": "string"}},
            "application/vnd.apache.parquet": {"schema": binary},
            "application/vnd.apache.arrow.stream": {"schema": binary},
            "application/vnd.apache.arrow.file": {"schema": binary},
            "application/x-ndjson": {"schema": {"type": "string"}, "example": '{"age": 41, "risk": "good"}\n'},
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": {"schema": binary},
        },
    }


def upload_query_parameters() -> list[dict[str, Any]]:
    """Return the OpenAPI description of the fields that the query has if the body is the file itself."""
    properties = UploadFields.model_json_schema(ref_template="#/components/schemas/{model}")["properties"]
    return [
        {
            "name": name,
            "in": "query",
            "description": f"if the body is the file itself: {schema.pop('description')}",
            "schema": _without_null(schema),
        }
        for name, schema in properties.items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without its null member: a parameter that is not given is left out."""
    members = [member for member in schema.pop("anyOf", [schema]) if member != {"type": "null"}]
    return {**schema, **members[0]} if len(members) == 1 else {**schema, "anyOf": members}
