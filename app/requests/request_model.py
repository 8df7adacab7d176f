"""Base of the models of JSON bodies."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from app.errors import MAX_FIELD_ERRORS, many_unknown


class RequestModel(BaseModel):
    """Object in a request, whose keys are all known.

    An error of the validation takes far more memory than the key that it is about, so that many become one.
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_many_unknown_keys(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > MAX_FIELD_ERRORS:
            known = {field.alias or name for name, field in cls.model_fields.items()}
            if sentence := many_unknown([key for key in value if key not in known], known, "keys"):
                raise ValueError(sentence)
        return value
