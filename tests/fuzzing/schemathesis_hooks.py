"""What schemathesis has to know beyond the OpenAPI document: how generated values become bodies of uploads."""

from typing import Any

import schemathesis

from app.datasets.formats import FORMATS_BY_MEDIA_TYPE


@schemathesis.serializer(*FORMATS_BY_MEDIA_TYPE)
def as_bytes(context: Any, value: Any) -> bytes:
    content = getattr(value, "data", value)
    return content if isinstance(content, bytes) else str(content).encode("utf-8", "surrogatepass")
