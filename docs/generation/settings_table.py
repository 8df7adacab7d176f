"""Table of the settings, read from the class that reads the environment."""

from typing import Any

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from app.settings import JobSettings, Limits, ServerSettings
from app.settings.environment import Environment
from docs.generation.markdown import code, table

#: Defaults that another setting or the machine decides.
_DERIVED_DEFAULTS = {
    "database_url": "SQLite in the home folder",
    "redis_url": "a private Redis on a Unix socket",
    "threads_per_job": "number of processors",
    "max_job_bytes": "a share of the memory of the machine or container",
    "allowed_hosts": "none",
    "cors_origins": "none",
}
_UNITS = ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


def settings() -> str:
    """Return one row per environment variable."""
    fields = Environment.model_fields.items()
    return table(
        ("variable", "default", "meaning"),
        ((code(variable_name(name, field)), _default(name, field), field.description or "") for name, field in fields),
    )


def variable_name(name: str, field: FieldInfo) -> str:
    """Return the environment variable of a field; of several, the one that is documented."""
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        alias = alias.choices[0]
    return str(alias or f"BRISTLECONE_{name.upper()}")


def _default(name: str, field: FieldInfo) -> str:
    if name in _DERIVED_DEFAULTS:
        return _DERIVED_DEFAULTS[name]
    group = next((group for group in (Limits, JobSettings, ServerSettings) if name in group.model_fields), None)
    value = field.default if group is None else group.model_fields[name].default
    return code(_shown(name, value))


def _shown(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int) and name.endswith("_bytes"):
        size, unit = next((size, unit) for size, unit in _UNITS if value % size == 0)
        return f"{value // size} {unit}"
    return f"{value:,}" if isinstance(value, int) and name != "port" else str(value)
