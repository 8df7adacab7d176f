"""How generated values become bodies of uploads, which schemathesis cannot know from the OpenAPI document."""

from typing import Any

import schemathesis

from app.datasets.formats import FORMATS_BY_MEDIA_TYPE


@schemathesis.serializer(*FORMATS_BY_MEDIA_TYPE)
def as_bytes(context: Any, value: Any) -> bytes:
    content = getattr(value, "data", value)
    return content if isinstance(content, bytes) else str(content).encode("utf-8", "surrogatepass")
