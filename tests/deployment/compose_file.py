"""Reader of docker-compose.yml that substitutes variables and `$$` as Compose does."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
_VARIABLE = re.compile(r"\$(?:\$|\{(\w+)(?:(:-|:\?)([^}]*))?\})")


class MissingVariable(Exception):
    """Variable of a `${NAME:?message}` without a value, which Compose reports as an error."""


@dataclass(frozen=True)
class Service:
    """Service of the Compose file."""

    name: str
    command: list[str]
    environment: dict[str, str]
    healthcheck: list[str]
    stop_seconds: float
    raw: dict[str, Any]


def read_compose(variables: Mapping[str, str]) -> dict[str, Service]:
    """Return the services of the file by name.

    Raises:
        MissingVariable: a required variable is not in `variables` or is empty.
    """
    text = (ROOT / "docker-compose.yml").read_text()
    document = _interpolate(yaml.safe_load(text), variables)
    return {name: _service(name, raw) for name, raw in document["services"].items()}


def _service(name: str, raw: dict[str, Any]) -> Service:
    return Service(
        name=name,
        command=raw.get("command", []),
        environment=raw.get("environment", {}),
        healthcheck=_health_command(raw.get("healthcheck", {}).get("test", [])),
        stop_seconds=float(raw.get("stop_grace_period", "10s").removesuffix("s")),
        raw=raw,
    )


def _health_command(test: list[str]) -> list[str]:
    kind, *command = test or ["CMD"]
    return ["/bin/sh", "-c", *command] if kind == "CMD-SHELL" else command


def _interpolate(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _interpolate(part, variables) for key, part in value.items()}
    if isinstance(value, list):
        return [_interpolate(part, variables) for part in value]
    return _VARIABLE.sub(lambda match: _replacement(match, variables), value) if isinstance(value, str) else value


def _replacement(match: re.Match[str], variables: Mapping[str, str]) -> str:
    name, operator, rest = match.groups()
    if name is None:
        return "$"
    if value := variables.get(name):
        return value
    if operator == ":?":
        raise MissingVariable(f"{name}: {rest}")
    return rest or ""
