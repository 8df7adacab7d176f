"""Groups of settings with their defaults and bounds."""

import os
import re
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

MEBIBYTE = 1024**2


class Group(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(frozen=True)


class DatabaseSettings(Group):
    """`url`: a SQLAlchemy URL, `sqlite:///…` or `postgresql+psycopg://…`."""

    url: str
    busy_timeout_seconds: float = 30.0
    pool_size: int = 10


class BrokerSettings(Group):
    """`url`: a Celery broker URL, `redis://…`, `rediss://…` or `redis+socket://…`."""

    url: str
    #: Socket of the private Redis that the supervisor starts; None if REDIS_URL is set.
    socket_path: Path | None = None


class Limits(Group):
    """Limits on requests. An answer that refuses a request names the limit."""

    max_upload_bytes: int = Field(4 * 1024 * MEBIBYTE, gt=0)
    max_body_bytes: int = Field(64 * MEBIBYTE, gt=0)
    max_rows: int = Field(20_000_000, gt=0)
    max_columns: int = Field(10_000, gt=0)
    max_categories: int = Field(10_000, gt=0)
    max_classes: int = Field(1_000, gt=1)
    max_trees: int = Field(10_000, gt=0)
    max_queued_jobs: int = Field(1_000, gt=0)
    max_decoded_bytes: int = Field(256 * MEBIBYTE, gt=0)
    max_text_bytes: int = Field(1024, gt=0)
    max_answer_cells: int = Field(4_000_000, gt=0)
    max_concurrent_uploads: int = Field(2, gt=0)
    max_upload_seconds: float = Field(900.0, gt=0)
    #: None: no limit. `load_settings` puts a share of the memory of the machine or container in its place.
    max_job_bytes: int | None = Field(None, gt=0)
    #: Threads of a job, by which its memory is estimated.
    job_threads: int = Field(default_factory=lambda: os.cpu_count() or 1, gt=0)
    min_free_bytes: int = Field(256 * MEBIBYTE, ge=0)


def _host_pattern(text: str) -> str:
    """Return a host name in the form in which it is compared."""
    if not re.fullmatch(r"(\*|(\*\.)?[\w.-]+|\[?[0-9a-fA-F:.]+\]?)", text):
        raise ValueError(f"{text!r:.100} is not a host name; write it without scheme and port, such as api.example.org")
    return text.strip("[]").lower().rstrip(".")


def _origin(text: str) -> str:
    """Return the origin of a page as browsers write it."""
    if text != "*" and not re.fullmatch(r"\w[\w+.-]*://[^/@\s]+/?", text):
        raise ValueError(f"{text!r:.100} is not an origin; write its scheme, name and port: https://labels.example.org")
    return text.lower().rstrip("/")


class ServerSettings(Group):
    """Connections that the HTTP server accepts. `allowed_hosts`: names beside those of the loopback interface."""

    allowed_hosts: tuple[Annotated[str, AfterValidator(_host_pattern)], ...] = ()
    cors_origins: tuple[Annotated[str, AfterValidator(_origin)], ...] = ()
    max_connections: int = Field(1_000, gt=1)
    requests_per_minute: int = Field(0, ge=0)
    header_seconds: float = Field(20.0, gt=0)
    body_idle_seconds: float = Field(30.0, gt=0)
    keep_alive_seconds: float = Field(30.0, gt=0)
    api_processes: int = Field(1, gt=0)
    model_cache_bytes: int = Field(1024 * MEBIBYTE, gt=0)


class JobSettings(Group):
    """Timing of leases and of the maintenance that every process runs; see docs/explanation/durability.md."""

    lease_seconds: float = Field(20.0, gt=0)
    renew_interval_seconds: float = Field(1.0, gt=0)
    upkeep_interval_seconds: float = Field(2.0, gt=0)
    republish_after_seconds: float = Field(60.0, gt=0)
    max_attempts: int = Field(3, gt=0)
    retry_delay_seconds: float = Field(1.0, ge=0)
    stop_grace_seconds: float = Field(5.0, gt=0)
    worker_processes: int = Field(1, gt=0)
    threads_per_job: int = Field(default_factory=lambda: os.cpu_count() or 1, gt=0)
    compile_ahead: bool = True

    @model_validator(mode="after")
    def _lease_outlives_renewals(self) -> Self:
        if self.lease_seconds < 3 * self.renew_interval_seconds:
            raise ValueError(
                f"lease_seconds is {self.lease_seconds}; it must be at least three times renew_interval_seconds "
                f"({self.renew_interval_seconds}), because otherwise one late renewal ends the lease"
            )
        return self
