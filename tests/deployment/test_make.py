"""The make targets, on real virtual environments and real processes."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service_process import START_SECONDS, answers, free_port, processes_of, service_environment, wait_until

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")


def make(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=500, check=False
    )


@pytest.fixture(scope="module")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with this Makefile and empty packages, whose lock holds the build backend only: quick to install."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    for name in ("app", "core", "workers", "migrations"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").touch()
    (folder / "README.md").touch()
    backend = re.search(r"^setuptools==.*(\n .*)+", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert backend is not None
    (folder / "requirements.lock").write_text(f"{backend[0]}\n")
    made = make(folder, "setup", env=installing_environment())
    assert made.returncode == 0, made.stderr
    return folder


def installing_environment() -> dict[str, str]:
    return os.environ | {"PYTHON": sys.executable}


def stamps(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / ".venv").glob(".*-installed")}


class TestSetup:
    def test_second_time_runs_nothing(self, small_project: Path) -> None:
        before = stamps(small_project)
        assert set(before) == {".runtime-installed"}
        again = make(small_project, "setup", env=installing_environment())
        assert again.returncode == 0
        assert "Installing" not in again.stdout
        assert stamps(small_project) == before

    def test_install_that_was_interrupted_is_done_again(self, small_project: Path) -> None:
        (small_project / ".venv" / ".runtime-installed").unlink()
        (package,) = (small_project / ".venv").glob("lib/python*/site-packages/setuptools")
        for folder in package.parent.glob("setuptools*"):
            shutil.rmtree(folder)
        made = make(small_project, "setup", env=installing_environment())
        assert made.returncode == 0, made.stderr
        assert package.is_dir()

    def test_changed_lock_is_installed(self, small_project: Path) -> None:
        # An install of long ago: two files written in the same tick of the file system's clock look equally old.
        os.utime(small_project / ".venv" / ".runtime-installed", (0, 0))
        made = make(small_project, "setup", env=installing_environment())
        assert made.returncode == 0
        assert "Installing" in made.stdout

    def test_package_with_another_hash_is_refused(self, small_project: Path, tmp_path: Path) -> None:
        folder = shutil.copytree(small_project, tmp_path / "tampered", ignore=shutil.ignore_patterns(".venv"))
        lock = folder / "requirements.lock"
        lock.write_text(re.sub(r"sha256:\w+", "sha256:" + "0" * 64, lock.read_text()))
        made = make(folder, "setup", env=installing_environment())
        assert made.returncode != 0
        assert "HASH" in made.stderr.upper()
        assert stamps(folder) == {}

    def test_missing_python_is_said_in_one_line(self, small_project: Path, tmp_path: Path) -> None:
        """With a PATH that holds make's own tools and no Python."""
        tools = tmp_path / "tools"
        tools.mkdir()
        for name in ("sh", "make", "rm", "touch", "sed"):
            found = shutil.which(name)
            assert found is not None
            (tools / name).symlink_to(found)
        folder = shutil.copytree(small_project, tmp_path / "bare", ignore=shutil.ignore_patterns(".venv"))
        made = make(folder, "setup", env={"PATH": str(tools)})
        assert made.returncode != 0
        assert "needs Python 3.11" in made.stderr


class TestRepository:
    @pytest.mark.parametrize("name", LOCKS)
    def test_lock_names_no_host_and_hashes_everything(self, name: str) -> None:
        lines = (ROOT / name).read_text().splitlines()
        packages = [line for line in lines if line and not line.startswith(" ")]
        assert packages
        assert all("==" in line and line.endswith("\\") for line in packages)
        assert [line for line in lines if "://" in line or "index" in line.split("==")[0].split()] == []

    def test_development_lock_holds_the_same_versions_and_more(self) -> None:
        runtime, development = (
            set(re.findall(r"^[^ #]\S*==\S+", (ROOT / name).read_text(), re.MULTILINE)) for name in LOCKS
        )
        assert runtime < development

    def test_repository_keeps_its_promises(self) -> None:
        checked = subprocess.run(["sh", ".ci/check-repository"], cwd=ROOT, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr

    def test_help_lists_every_command_of_the_readme(self) -> None:
        listed = make(ROOT, "help").stdout
        for command in re.findall(r"`make (\w+)", (ROOT / "README.md").read_text()):
            assert f"make {command}" in listed


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    yield folder
    for process in processes_of(folder):
        process.kill()


class TestServing:
    def test_ctrl_c_ends_make_serve_and_leaves_no_process(self, home: Path) -> None:
        """A terminal sends SIGINT to the whole foreground group: make, and the supervisor, but not its children."""
        port = free_port()
        with subprocess.Popen(
            ["make", "serve"],
            cwd=ROOT,
            env=service_environment(home, port),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as terminal:
            wait_until(lambda: answers(f"http://127.0.0.1:{port}/readyz"), START_SECONDS, "make serve being ready")
            os.killpg(terminal.pid, signal.SIGINT)
            terminal.wait(60)
        wait_until(lambda: processes_of(home) == [], 10, "every process ending")

    def test_demo_trains_prints_its_table_and_stops(self, home: Path) -> None:
        port = free_port()
        for _ in range(2):
            shown = make(ROOT, "demo", "EXIT=1", env=service_environment(home, port))
            assert shown.returncode == 0, shown.stdout + shown.stderr
            for model in ("entropy tree", "NE tree", "entropy forest", "NE forest"):
                assert re.search(rf"^{model} .*\d\.\d%.*\d\.\d%.* s$", shown.stdout, re.MULTILINE), shown.stdout
            assert re.search(r"estimates that (29|30|31)\.\d% ± \d\.\d% of them are wrong", shown.stdout), shown.stdout
            assert re.search(r"found 1,[23]\d\d of the 1,349 changed ones", shown.stdout), shown.stdout
            assert "GET  /predict?model=" in shown.stdout
            assert "POST /predict" in shown.stdout
            assert f"http://127.0.0.1:{port}/docs" in shown.stdout
            assert processes_of(home) == []

    def test_ctrl_c_in_the_demo_leaves_no_process(self, home: Path) -> None:
        port = free_port()
        with subprocess.Popen(
            ["make", "demo"],
            cwd=ROOT,
            env=service_environment(home, port),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as terminal:
            wait_until(
                lambda: answers(f"http://127.0.0.1:{port}/readyz"), START_SECONDS, "the demo's service being ready"
            )
            os.killpg(terminal.pid, signal.SIGINT)
            terminal.communicate(timeout=60)
        wait_until(lambda: processes_of(home) == [], 10, "every process ending")

    def test_demo_on_a_taken_port_says_so(self, home: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            refused = make(ROOT, "demo", "EXIT=1", env=service_environment(home, port))
        assert refused.returncode != 0
        assert "BRISTLECONE_PORT" in refused.stderr
