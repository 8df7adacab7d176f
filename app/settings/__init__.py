"""Settings of the service, read once from the environment."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from app.logs import LogFormat
from app.machine import memory_for_jobs, short_socket_path
from app.settings.environment import Environment
from app.settings.groups import (
    MEBIBYTE,
    BrokerSettings,
    DatabaseSettings,
    Group,
    JobSettings,
    Limits,
    ServerSettings,
)

__all__ = [
    "BYTES_PER_ANSWER_CELL",
    "MEBIBYTE",
    "BrokerSettings",
    "DatabaseSettings",
    "JobSettings",
    "Limits",
    "ServerSettings",
    "Settings",
    "load_settings",
]

#: Bytes per cell of a prediction while it is computed: values of the rows, of the features and probabilities.
BYTES_PER_ANSWER_CELL = 32


class Settings(Group):
    """All settings of one installation."""

    home: Path
    host: str
    port: int
    allow_open_network: bool
    log_format: LogFormat = LogFormat.TEXT
    #: Whether the environment names a collector of traces.
    traces: bool = False
    database: DatabaseSettings
    broker: BrokerSettings
    limits: Limits
    jobs: JobSettings
    server: ServerSettings = ServerSettings()

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
    def rows_folder(self) -> Path:
        return self.home / "rows"

    @property
    def predictions_folder(self) -> Path:
        return self.home / "predictions"

    @property
    def staging_folder(self) -> Path:
        """Folder of unfinished files. It is inside `home`, so that a rename moves a finished file into place."""
        return self.home / "staging"

    @property
    def generation_file(self) -> Path:
        """File that all processes map into memory, and that changes with every change of models, names or aliases."""
        return self.home / "registry-generation"

    @property
    def run_folder(self) -> Path:
        return self.home / "run"

    @property
    def metrics_folder(self) -> Path:
        return self.home / "metrics"

    @property
    def logs_folder(self) -> Path:
        return self.home / "logs"


def load_settings() -> Settings:
    """Return the settings that the environment defines.

    Raises:
        pydantic.ValidationError: a variable has the wrong type or is out of bounds.
    """
    environment = Environment()
    jobs = JobSettings(**_set_values(environment, JobSettings))
    home = environment.home.expanduser().resolve()
    return Settings(
        home=home,
        host=environment.host,
        port=environment.port,
        allow_open_network=environment.allow_open_network,
        log_format=environment.log_format,
        traces=_wants_traces(environment),
        database=DatabaseSettings(url=_database_url(environment.database_url, home)),
        broker=_broker(environment.redis_url, home),
        limits=Limits(**_job_limits(jobs) | _set_values(environment, Limits)),
        jobs=jobs,
        server=ServerSettings(**_set_values(environment, ServerSettings)),
    )


def _wants_traces(environment: Environment) -> bool:
    is_on = not environment.otel_sdk_disabled and environment.otel_traces_exporter == "otlp"
    return is_on and environment.otel_endpoint is not None


def _job_limits(jobs: JobSettings) -> dict[str, Any]:
    return {"max_job_bytes": memory_for_jobs() // jobs.worker_processes, "job_threads": jobs.threads_per_job}


def _set_values(environment: Environment, group: type[Group]) -> dict[str, Any]:
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
    path = short_socket_path(home)
    return BrokerSettings(url=f"redis+socket://{quote(str(path))}", socket_path=path)
