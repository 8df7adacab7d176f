"""Examination of a service: whether it answers, what it depends on, and whether the key is accepted."""

from typing import NamedTuple

from bristlecone.calls import Call, get, json_of
from bristlecone.client import Client
from bristlecone.errors import BristleconeError, ConnectionFailed, Forbidden, Unauthenticated


class Finding(NamedTuple):
    """One thing that was examined."""

    is_good: bool
    text: str


def examine(client: Client) -> list[Finding]:
    """Examine the service that the client talks to."""
    try:
        client.run(json_of(get("/healthz")))
    except ConnectionFailed as error:
        return [Finding(False, f"{client.url} does not answer ({error}); start it with `bristlecone serve`")]
    except BristleconeError as error:
        return [Finding(False, f"{client.url} answers, but not as a Bristlecone service: {error}")]
    return [Finding(True, f"{client.url} answers"), *_readiness(client), _access(client)]


def _readiness(client: Client) -> list[Finding]:
    answer = client.run(json_of(Call("GET", "/readyz", accepted_statuses=frozenset({503}))))
    findings = [Finding(outcome == "ok", f"{part}: {outcome}") for part, outcome in answer["checks"].items()]
    age = answer["oldest_queued_seconds"]
    if age:
        findings.append(Finding(age < 600, f"the oldest queued job waits for {age:.0f} s; more workers would help"))
    return findings


def _access(client: Client) -> Finding:
    try:
        client.run(json_of(get("/models", limit=1)))
    except Unauthenticated as error:
        way_out = "set BRISTLECONE_API_KEY to a valid key (`bristlecone keys create` makes one)"
        return Finding(False, f"the service refuses the request: {error.detail}; {way_out}")
    except Forbidden as error:
        return Finding(False, f"the API key is accepted, but lacks a scope: {error.detail}")
    return Finding(True, "requests are accepted")
