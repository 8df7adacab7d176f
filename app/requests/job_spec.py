"""Base of the specifications of all kinds of jobs."""

from typing import Any

from pydantic import ConfigDict

from app.requests.request_model import RequestModel

#: Larger integers lose digits in JSON readers that only have doubles.
MAX_SEED = 2**53 - 1


class JobSpec(RequestModel):
    """Specification of a job, complete with defaults: stored as JSON in the job's row and read by the worker."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def to_json(self) -> dict[str, Any]:
        """Return the specification as it is stored."""
        return self.model_dump(mode="json")
