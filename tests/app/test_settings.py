"""Settings are read from the environment, and invalid ones are refused."""

from argparse import Namespace
from pathlib import Path

import pytest
from pydantic import ValidationError

from app import service_commands
from app.machine import MAX_SOCKET_PATH_BYTES
from app.settings import load_settings


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "BRISTLECONE_PORT", "BRISTLECONE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BRISTLECONE_HOME", str(tmp_path / "home"))


def test_everything_is_embedded_by_default(tmp_path: Path) -> None:
    settings = load_settings()
    assert settings.database.url == f"sqlite:///{tmp_path / 'home' / 'bristlecone.db'}"
    assert settings.broker.socket_path is not None
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "BRISTLECONE_MAX_TREES", "BRISTLECONE_LEASE_SECONDS"):
        monkeypatch.setenv(name, "")
    settings = load_settings()
    assert settings.limits.max_trees == 10_000
    assert settings.broker.socket_path is not None


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_of_postgresql(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv("DATABASE_URL", f"{scheme}://me:secret@db/bristlecone")
    assert load_settings().database.url == "postgresql+psycopg://me:secret@db/bristlecone"


def test_a_long_home_keeps_its_socket_bindable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BRISTLECONE_HOME", str(tmp_path / ("long" * 40)))
    first, second = load_settings().broker.socket_path, load_settings().broker.socket_path
    assert first == second
    assert len(str(first)) <= MAX_SOCKET_PATH_BYTES


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BRISTLECONE_PORT", "0"),
        ("BRISTLECONE_PORT", "many"),
        ("BRISTLECONE_MAX_TREES", "-1"),
        ("BRISTLECONE_LEASE_SECONDS", "1"),
        ("BRISTLECONE_RENEW_INTERVAL_SECONDS", "0"),
    ],
)
def test_invalid_settings_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("DATABASE_URL", "mysql://me:hunter2@db/x", "its scheme is 'mysql'"),
        ("DATABASE_URL", "hunter2", "it has no scheme"),
        ("DATABASE_URL", "postgresql://me:hunter2@db:many/x", "percent-encode"),
        ("REDIS_URL", "amqp://me:hunter2@broker", "its scheme is 'amqp'"),
        ("BRISTLECONE_ALLOWED_HOSTS", "http://foo/", "is not a host name"),
    ],
)
def test_refused_addresses_are_named_without_their_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, rule: str
) -> None:
    monkeypatch.setenv(name, value)
    assert service_commands.run(Namespace(command="migrate")) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"bristlecone: {name}: ")
    assert rule in message
    assert "hunter2" not in message


def test_a_home_that_cannot_be_made_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BRISTLECONE_HOME", str(tmp_path / "file"))
    assert service_commands.run(Namespace(command="migrate")) == 1
    assert "BRISTLECONE_HOME: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////var/lib/x.db",
        "sqlite+pysqlite:////var/lib/x.db",
        "postgresql://me:p/x#y?[z]@db:5432/x",
        "postgresql://me@[::1]:5432/x",
        "postgresql:///x?host=/tmp",
    ],
)
def test_addresses_of_databases_that_work_are_taken(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    assert load_settings().database.url.endswith(url.partition("://")[2])


@pytest.mark.parametrize("url", ["redis://:p@h:6379/0", "redis+socket:///run/x.sock", "redis://a:1;rediss://b:2"])
def test_addresses_of_brokers_that_work_are_taken(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("REDIS_URL", url)
    assert load_settings().broker.url == url
