"""References of requests to data sets: an id or a name."""

import uuid
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from app.storage.plain_text import without_nul

NameText = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(without_nul)]

#: Text that has the form of an id is one. Of several data sets with the same name, the newest is meant.
DatasetReference = Annotated[uuid.UUID | NameText, Field(union_mode="left_to_right")]

REFERENCE_FORMS = "Id of an uploaded data set, or its name (the newest of that name)."
