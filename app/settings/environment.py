"""Environment variables of the service. No other module reads the environment."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from app.logs import LogFormat

_DATABASES = ("postgresql", "postgres", "sqlite")
_BROKERS = ("redis", "rediss", "redis+socket", "unix")


def _check_scheme(url: str, schemes: Sequence[str], has_driver: bool = False) -> None:
    """Raise ValueError for another scheme. Other parts are not in the error: one of them may be a password.

    has_driver: whether the name of a driver may follow, as in `postgresql+psycopg`.
    """
    scheme, separator, _ = url.partition("://")
    kind = scheme.lower().partition("+")[0] if has_driver else scheme.lower()
    if not separator or kind not in schemes:
        begins = f"its scheme is {scheme!r:.30}" if separator else "it has no scheme"
        raise ValueError(f"{begins}; it must begin with one of {', '.join(f'{known}://' for known in schemes)}")


class Environment(BaseSettings):
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
        description="Allow a host other than loopback although no API key exists. "
        "Set it only behind a reverse proxy that authenticates requests.",
    )
    log_format: LogFormat = Field(
        LogFormat.TEXT, description="Form of log lines: `text`, or `json` for one JSON object per line."
    )
    otel_endpoint: str | None = Field(
        None,
        validation_alias=AliasChoices("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
        description="Collector of traces (OTLP over HTTP), with the extra `bristlecone[otel]`; no traces without it. "
        "Other variables of OpenTelemetry, such as `OTEL_SERVICE_NAME`, take effect as well.",
    )
    otel_sdk_disabled: bool = Field(
        False, validation_alias="OTEL_SDK_DISABLED", description="`true` switches traces off."
    )
    otel_traces_exporter: str = Field(
        "otlp", validation_alias="OTEL_TRACES_EXPORTER", description="`none` switches traces off."
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
    max_decoded_bytes: int | None = Field(
        None,
        description="Maximum memory for the decoded content of one request: a batch of a table, or a JSON body. "
        "Also the maximum size of an answer with predictions.",
    )
    max_text_bytes: int | None = Field(None, description="Maximum size of a category, a label or a name, in UTF-8.")
    max_answer_cells: int | None = Field(
        None, description="Maximum number of cells of one request for predictions: rows × (features + classes)."
    )
    max_concurrent_uploads: int | None = Field(
        None, description="Number of uploaded tables that one API process reads at the same time."
    )
    max_upload_seconds: float | None = Field(
        None, description="Maximum time for reading an uploaded table, once all of it was received."
    )
    max_job_bytes: int | None = Field(
        None, description="Maximum memory that a job may need by its estimate, which is made before it is queued."
    )
    min_free_bytes: int | None = Field(
        None, description="Free disk space below which nothing more is stored and `/readyz` is not ready."
    )

    allowed_hosts: Annotated[tuple[str, ...] | None, NoDecode] = Field(
        None,
        description="Host names under which the API is reached, separated by commas, beside those of loopback: "
        "`api.example.org`, `*.example.org` for all names below, or `*` for any.",
    )
    cors_origins: Annotated[tuple[str, ...] | None, NoDecode] = Field(
        None,
        description="Origins of other web pages that may use the API, separated by commas, "
        "for example `https://labels.example.org`; `*` allows all.",
    )
    api_processes: int | None = Field(
        None,
        description="Number of API processes that share the port. Limits of one process, such as its connections "
        "and memory, hold for each of them.",
    )
    max_connections: int | None = Field(
        None, description="Open connections of one API process. Half as many requests are answered at the same time."
    )
    requests_per_minute: int | None = Field(
        None,
        description="Requests that one API key, or one address without a key, may make in a minute; 0 for no limit. "
        "All API processes of one state folder count together; requests to health routes never count.",
    )
    header_seconds: float | None = Field(None, description="Time within which the head of a request must arrive.")
    body_idle_seconds: float | None = Field(
        None, description="Longest pause in the body of a request, after which it is refused."
    )
    keep_alive_seconds: float | None = Field(
        None, description="Time after which a connection without a request is closed."
    )

    model_cache_bytes: int | None = Field(
        None,
        description="Memory of one API process for models that are loaded for predictions. The least recently used "
        "ones are unloaded; the one that was used last stays even if it is larger.",
    )

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
    stop_grace_seconds: float | None = Field(
        None, description="Time after which the process of a job that does not react to its cancellation is killed."
    )
    worker_processes: int | None = Field(None, description="Number of jobs that one worker runs at the same time.")
    threads_per_job: int | None = Field(None, description="Number of threads that grow the trees of one job.")
    compile_ahead: bool | None = Field(
        None,
        description="Whether the first worker after an installation compiles the code of all usual kinds of jobs in "
        "the background, at the lowest priority; otherwise the first job of each kind waits for it.",
    )

    @field_validator("database_url")
    @classmethod
    def _usable_database(cls, url: str | None) -> str | None:
        if url is None:
            return None
        _check_scheme(url, _DATABASES, has_driver=True)
        try:
            make_url(url)
        except (ArgumentError, ValueError):
            raise ValueError(
                "it cannot be read as an address; check its port and percent-encode its password"
            ) from None
        return url

    @field_validator("redis_url")
    @classmethod
    def _usable_brokers(cls, urls: str | None) -> str | None:
        for url in urls.split(";") if urls else ():
            _check_scheme(url, _BROKERS)
        return urls

    @field_validator("allowed_hosts", "cors_origins", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
