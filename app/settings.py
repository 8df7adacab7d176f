"""Settings of the service, read once from the environment. No other module reads the environment."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MEBIBYTE = 1024**2

#: `sun_path` holds 108 bytes on Linux and 104 on macOS; longer sockets cannot be bound.
MAX_SOCKET_PATH_BYTES = 100


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True)


class DatabaseSettings(_Group):
    """`url`: a SQLAlchemy URL, `sqlite:///…` or `postgresql+psycopg://…`."""

    url: str
    busy_timeout_seconds: float = 30.0
    pool_size: int = 10


class BrokerSettings(_Group):
    """`url`: a Celery broker URL, `redis://…`, `rediss://…` or `redis+socket://…`."""

    url: str
    #: Socket of the private Redis that the supervisor starts; None if REDIS_URL is set.
    socket_path: Path | None = None


class Limits(_Group):
    """Limits on requests. An answer that refuses a request names the limit."""

    max_upload_bytes: int = Field(4 * 1024 * MEBIBYTE, gt=0)
    max_body_bytes: int = Field(64 * MEBIBYTE, gt=0)
    max_rows: int = Field(20_000_000, gt=0)
    max_columns: int = Field(10_000, gt=0)
    max_categories: int = Field(10_000, gt=0)
    max_classes: int = Field(1_000, gt=1)
    max_trees: int = Field(10_000, gt=0)
    max_queued_jobs: int = Field(1_000, gt=0)


class JobSettings(_Group):
    """Timing of leases and of the maintenance that every process runs; see docs/explanation/durability.md."""

    lease_seconds: float = Field(20.0, gt=0)
    renew_interval_seconds: float = Field(1.0, gt=0)
    upkeep_interval_seconds: float = Field(2.0, gt=0)
    republish_after_seconds: float = Field(60.0, gt=0)
    max_attempts: int = Field(3, gt=0)
    retry_delay_seconds: float = Field(1.0, ge=0)
    worker_processes: int = Field(1, gt=0)
    threads_per_job: int = Field(default_factory=lambda: os.cpu_count() or 1, gt=0)

    @model_validator(mode="after")
    def _lease_outlives_renewals(self) -> Self:
        if self.lease_seconds < 3 * self.renew_interval_seconds:
            raise ValueError(
                f"lease_seconds is {self.lease_seconds}; it must be at least three times renew_interval_seconds "
                f"({self.renew_interval_seconds}), because otherwise one late renewal ends the lease"
            )
        return self


class _Environment(BaseSettings):
    """Environment variables. Those without the prefix are set by hosting platforms."""

    model_config = SettingsConfigDict(
        env_prefix="BRISTLECONE_", extra="ignore", populate_by_name=True, env_ignore_empty=True
    )

    home: Path = Field(
        Path("var"), description="Folder of all state: data sets, models, and the embedded database and broker."
    )
    host: str = Field("127.0.0.1", description="Address that the API listens on.")
    port: int = Field(8000, ge=1, le=65535, description="Port that the API listens on.")
    allow_open_network: bool = Field(
        False,
        description="Allow a host other than loopback although requests are not authenticated. "
        "Set it only behind a reverse proxy that authenticates requests.",
    )
    database_url: Annotated[str | None, NoDecode] = Field(
        None,
        validation_alias="DATABASE_URL",
        description="SQL database, for example `postgresql://user:password@host/database`.",
    )
    redis_url: Annotated[str | None, NoDecode] = Field(
        None, validation_alias="REDIS_URL", description="Message broker, for example `redis://:password@host:6379/0`."
    )

    max_upload_bytes: int | None = Field(None, description="Maximum size of an uploaded table, decompressed.")
    max_body_bytes: int | None = Field(None, description="Maximum size of any other request body.")
    max_rows: int | None = Field(None, description="Maximum number of rows of a data set.")
    max_columns: int | None = Field(None, description="Maximum number of columns of a data set.")
    max_categories: int | None = Field(None, description="Maximum number of distinct values of a categorical column.")
    max_trees: int | None = Field(
        None,
        description="Maximum number of trees of one model. A booster grows one tree per round, "
        "and one per round and class if there are more than two classes.",
    )
    max_queued_jobs: int | None = Field(None, description="Maximum number of jobs in the queue.")

    lease_seconds: float | None = Field(
        None, description="Time without a report after which a worker counts as lost and its job is queued again."
    )
    renew_interval_seconds: float | None = Field(None, description="Interval at which a worker renews its lease.")
    upkeep_interval_seconds: float | None = Field(
        None, description="Interval at which lost messages and expired leases are looked for."
    )
    republish_after_seconds: float | None = Field(
        None, description="Time after which a job that is still queued is published to the broker again."
    )
    max_attempts: int | None = Field(None, description="Number of workers that one job may lose before it fails.")
    retry_delay_seconds: float | None = Field(None, description="Delay before the second attempt at a job.")
    worker_processes: int | None = Field(None, description="Number of jobs that one worker runs at the same time.")
    threads_per_job: int | None = Field(None, description="Number of threads that grow the trees of one job.")


class Settings(_Group):
    """All settings of one installation."""

    home: Path
    host: str
    port: int
    allow_open_network: bool
    database: DatabaseSettings
    broker: BrokerSettings
    limits: Limits
    jobs: JobSettings

    @property
    def datasets_folder(self) -> Path:
        return self.home / "datasets"

    @property
    def artifacts_folder(self) -> Path:
        return self.home / "artifacts"

    @property
    def issues_folder(self) -> Path:
        return self.home / "issues"

    @property
    def staging_folder(self) -> Path:
        """Folder of unfinished files. It is inside `home`, so that a rename moves a finished file into place."""
        return self.home / "staging"

    @property
    def run_folder(self) -> Path:
        return self.home / "run"

    @property
    def logs_folder(self) -> Path:
        return self.home / "logs"


def load_settings() -> Settings:
    """Return the settings that the environment defines.

    Raises:
        pydantic.ValidationError: a variable has the wrong type or is out of bounds.
    """
    environment = _Environment()
    home = environment.home.expanduser().resolve()
    return Settings(
        home=home,
        host=environment.host,
        port=environment.port,
        allow_open_network=environment.allow_open_network,
        database=DatabaseSettings(url=_database_url(environment.database_url, home)),
        broker=_broker(environment.redis_url, home),
        limits=Limits(**_set_values(environment, Limits)),
        jobs=JobSettings(**_set_values(environment, JobSettings)),
    )


def _set_values(environment: _Environment, group: type[_Group]) -> Mapping[str, Any]:
    values = {name: getattr(environment, name, None) for name in group.model_fields}
    return {name: value for name, value in values.items() if value is not None}


def _database_url(url: str | None, home: Path) -> str:
    if not url:
        return f"sqlite:///{home / 'bristlecone.db'}"
    # Hosting platforms provide the short scheme, for which SQLAlchemy would use psycopg2.
    for scheme in ("postgres://", "postgresql://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    return url


def _broker(url: str | None, home: Path) -> BrokerSettings:
    if url:
        return BrokerSettings(url=url.replace("unix://", "redis+socket://", 1))
    path = _socket_path(home)
    return BrokerSettings(url=f"redis+socket://{quote(str(path))}", socket_path=path)


def _socket_path(home: Path) -> Path:
    path = home / "run" / "redis.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"bristlecone-{os.getuid()}-{digest}" / "redis.sock"
