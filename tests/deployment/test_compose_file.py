"""docker-compose.yml: schema, passwords, ports, health checks, start order, volumes and settings."""

import json
import re

import jsonschema
import pytest
import yaml

from app.settings import JobSettings, Limits, ServerSettings
from tests.deployment.compose_file import ROOT, MissingVariable, Service, read_compose

VARIABLES = {"POSTGRES_PASSWORD": "one", "REDIS_PASSWORD": "two"}


@pytest.fixture(scope="module")
def services() -> dict[str, Service]:
    return read_compose(VARIABLES)


def test_file_conforms_to_the_compose_specification() -> None:
    schema = json.loads((ROOT / "tests/deployment/compose_spec/compose-spec.json").read_text())
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    document["services"]["api"]["comand"] = ["a misspelled key is an error"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(document)


@pytest.mark.parametrize("missing", sorted(VARIABLES))
def test_there_is_no_default_password(missing: str) -> None:
    with pytest.raises(MissingVariable, match=missing):
        read_compose({name: value for name, value in VARIABLES.items() if name != missing})
    assert re.search(rf"^{missing}=$", (ROOT / ".env.example").read_text(), re.MULTILINE)


def test_only_the_api_publishes_a_port_on_loopback(services: dict[str, Service]) -> None:
    assert {name: service.raw["ports"] for name, service in services.items() if "ports" in service.raw} == {
        "api": ["127.0.0.1:8000:8000"]
    }


def test_worker_service_can_be_scaled(services: dict[str, Service]) -> None:
    """A fixed name or a published port would limit the service to one worker."""
    assert not {"container_name", "ports", "hostname"} & services["worker"].raw.keys()


def test_long_running_services_are_checked_and_restarted(services: dict[str, Service]) -> None:
    long_running = {name: service for name, service in services.items() if name != "migrate"}
    assert set(long_running) == {"api", "worker", "postgres", "redis"}
    for service in long_running.values():
        assert service.healthcheck, service.name
        assert service.raw["restart"] == "unless-stopped"
        assert service.stop_seconds >= 15


def test_api_and_worker_start_after_their_dependencies(services: dict[str, Service]) -> None:
    for name in ("api", "worker"):
        conditions = {other: options["condition"] for other, options in services[name].raw["depends_on"].items()}
        assert conditions == {
            "migrate": "service_completed_successfully",
            "postgres": "service_healthy",
            "redis": "service_healthy",
        }


def test_api_and_workers_share_the_state_volume(services: dict[str, Service]) -> None:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    mounted = {name: service.raw["volumes"] for name, service in services.items()}
    assert mounted["api"] == mounted["worker"]
    assert {mount.split(":")[0] for mounts in mounted.values() for mount in mounts} == set(document["volumes"])
    assert mounted["api"] == [f"state:{services['api'].environment['BRISTLECONE_HOME']}"]


def test_every_limit_and_timing_reaches_the_containers(services: dict[str, Service]) -> None:
    names = {f"BRISTLECONE_{name.upper()}" for group in (Limits, JobSettings) for name in group.model_fields}
    # The classes are fixed by the API contract; the threads of a job are BRISTLECONE_THREADS_PER_JOB.
    names -= {"BRISTLECONE_MAX_CLASSES", "BRISTLECONE_JOB_THREADS"}
    for service in ("api", "worker", "migrate"):
        assert names <= set(services[service].environment), service
    server = {f"BRISTLECONE_{name.upper()}" for name in ServerSettings.model_fields}
    assert server <= set(services["api"].environment)
