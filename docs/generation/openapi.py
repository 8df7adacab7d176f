"""The service's OpenAPI document, made without a running service or an environment."""

import json
from pathlib import Path
from typing import Any

from app.main import create_app
from app.settings import BrokerSettings, DatabaseSettings, JobSettings, Limits, Settings


def openapi_document() -> dict[str, Any]:
    """Return the document of a service with default settings, in the order of declaration."""
    return create_app(_default_settings()).openapi()


def openapi_text() -> str:
    """Return the document as it is stored: keys sorted, so that a change shows as few lines as possible."""
    return json.dumps(openapi_document(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _default_settings() -> Settings:
    return Settings(
        home=Path("var"),
        host="127.0.0.1",
        port=8000,
        allow_open_network=False,
        database=DatabaseSettings(url="sqlite://"),
        broker=BrokerSettings(url="redis://"),
        limits=Limits(),
        jobs=JobSettings(threads_per_job=1),
    )
