"""The commands `bristlecone keys`."""

import re
import subprocess
import sys

import pytest

from app.access.scopes import Scope
from app.access.service import list_keys
from app.settings import Settings
from app.storage.database import own_sessions
from tests.command_line import Run, commands_in
from tests.service_process import service_environment


@pytest.fixture
def keys_command(settings: Settings, context, monkeypatch, capfd) -> Run:
    environment = service_environment(settings.home, 8000, DATABASE_URL=settings.database.url)
    run = commands_in(environment, monkeypatch, capfd)
    return lambda *arguments: run("keys", *arguments)


def test_a_key_is_printed_once_and_alone(settings: Settings, keys_command) -> None:
    made = keys_command("create", "--name", "notebook", "--scope", "read", "--scope", "predict", "--expires-days", "30")
    assert made.returncode == 0, made.stderr
    assert re.fullmatch(r"bck_[A-Za-z0-9_-]{43}\n", made.stdout)
    with own_sessions(settings.database) as sessions:
        [key] = list_keys(sessions)
    assert (key.name, key.scopes) == ("notebook", {Scope.READ, Scope.PREDICT})
    assert round((key.expires_at - key.created_at).total_seconds() / 86_400) == 30
    assert str(key.id) in made.stderr

    listed = keys_command("list").stdout
    assert made.stdout.strip() not in listed
    assert re.search(rf"{key.id}  notebook  predict,read .* valid until {key.expires_at:%Y-%m-%d}", listed)

    revoked = keys_command("revoke", str(key.id))
    assert (revoked.returncode, revoked.stdout) == (0, "")
    assert "was revoked at" in keys_command("list").stdout


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["create", "--name", "x", "--scope", "write"], "it must be one of read, predict, train, admin"),
        (["create", "--name", "x"], "--scope"),
        (["create", "--name", "x\ny", "--scope", "read"], "printable"),
        (["create", "--name", "x", "--scope", "read", "--expires-days", "0"], "above 0"),
        (["revoke", "bck_secret"], "not the key itself"),
        (["revoke", "3f0e8f7e-0000-4000-8000-000000000000"], "bristlecone keys list"),
    ],
)
def test_mistakes_are_explained(keys_command, arguments: list[str], fragment: str) -> None:
    refused = keys_command(*arguments)
    assert refused.returncode != 0
    assert refused.stdout == ""
    assert fragment in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "secret" not in refused.stderr


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_program_does_the_same(settings: Settings, context) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = service_environment(settings.home, 8000, DATABASE_URL=settings.database.url)
        command = [sys.executable, "-m", "app.cli", "keys", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)

    made = run("create", "--name", "notebook", "--scope", "read")
    assert (made.returncode, made.stdout.count("\n")) == (0, 1)
    assert "It cannot be shown again" in made.stderr
    with own_sessions(settings.database) as sessions:
        assert [key.name for key in list_keys(sessions)] == ["notebook"]
    assert run("revoke", "bck_secret").returncode == 2
    shown = run("--help").stdout
    assert all(name in shown for name in ("create", "list", "revoke"))


def test_only_keys_that_have_ended_are_deleted(settings: Settings, keys_command) -> None:
    ids = []
    for name in ("old", "new"):
        made = keys_command("create", "--name", name, "--scope", "read")
        assert "key_created" in made.stderr
        assert made.stdout.strip() not in made.stderr
        ids.append(re.search(r"; id (\S+)\);", made.stderr).group(1))
    old, new = ids
    refused = keys_command("delete", old)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is valid; revoke it first" in refused.stderr
    assert "key_revoked" in keys_command("revoke", old).stderr
    deleted = keys_command("delete", old)
    assert (deleted.returncode, deleted.stdout) == (0, "")
    assert "key_deleted" in deleted.stderr
    keys_command("revoke", new)
    # Without any key, every request would be answered.
    assert "is the only one" in keys_command("delete", new).stderr
    with own_sessions(settings.database) as sessions:
        assert [str(key.id) for key in list_keys(sessions)] == [new]
