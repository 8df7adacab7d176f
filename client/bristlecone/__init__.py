"""Client of Bristlecone, the service that trains tree models on noisy labels.

    from bristlecone import Client

    client = Client()
    model = client.train("loans.csv", {"kind": "forest"}, target="repaid").wait()
    model.predict(new_loans)

Where the library of the service is installed too, its estimators are here as well:
`from bristlecone import ForestClassifier`.
"""

import importlib
from importlib.util import find_spec
from typing import Any

from bristlecone.async_client import AsyncClient, AsyncJob, AsyncModel
from bristlecone.client import Client, Job, Model
from bristlecone.errors import (
    BristleconeError,
    Busy,
    Conflict,
    ConnectionFailed,
    DataWarning,
    Forbidden,
    InvalidRequest,
    JobFailed,
    NotFound,
    ServiceError,
    TooLarge,
    Unauthenticated,
)
from bristlecone.results import AuditReport, Dataset, SweepReport

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "AsyncModel",
    "AuditReport",
    "BristleconeError",
    "Busy",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "DataWarning",
    "Dataset",
    "Forbidden",
    "InvalidRequest",
    "Job",
    "JobFailed",
    "Model",
    "NotFound",
    "ServiceError",
    "SweepReport",
    "TooLarge",
    "Unauthenticated",
]


def __getattr__(name: str) -> Any:
    """Return a public name of the library, which is imported when the first one is asked for."""
    # `from bristlecone import frames` asks for an attribute before it imports the module.
    if name.startswith("_") or find_spec(f"bristlecone.{name}") or find_spec("core") is None:
        raise AttributeError(
            f"module 'bristlecone' has no attribute {name!r}; estimators need the distribution 'bristlecone'"
        )
    library = importlib.import_module("core")
    if name not in library.__all__:
        raise AttributeError(f"module 'bristlecone' has no attribute {name!r}")
    return getattr(library, name)
