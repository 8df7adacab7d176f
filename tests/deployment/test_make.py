"""Make targets, run with real virtual environments and processes."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.operations.loopback import open_loopback
from tests.service_process import START_SECONDS, free_port, responds, service_environment, service_processes, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-image.lock")


def make(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=500, check=False
    )


@pytest.fixture(scope="module")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with this Makefile, empty packages and a lock file that contains the build backend only."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    for name in ("app", "core", "workers", "migrations", "client/bristlecone"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()
    for name in ("README.md", "client/README.md"):
        (folder / name).touch()
    shutil.copy(ROOT / "client" / "pyproject.toml", folder / "client")
    backend = re.search(r"^setuptools==.*(\n .*)+", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert backend is not None
    (folder / "requirements.lock").write_text(f"{backend[0]}\n")
    completed = make(folder, "setup", env=installing_environment())
    assert completed.returncode == 0, completed.stderr
    return folder


def installing_environment() -> dict[str, str]:
    return os.environ | {"PYTHON": sys.executable}


def stamps(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / ".venv").glob(".*-installed")}


class TestSetup:
    def test_second_setup_installs_nothing(self, small_project: Path) -> None:
        before = stamps(small_project)
        assert set(before) == {".runtime-installed"}
        again = make(small_project, "setup", env=installing_environment())
        assert again.returncode == 0
        assert "Installing" not in again.stdout
        assert stamps(small_project) == before

    def test_interrupted_installation_is_repeated(self, small_project: Path) -> None:
        (small_project / ".venv" / ".runtime-installed").unlink()
        (package,) = (small_project / ".venv").glob("lib/python*/site-packages/setuptools")
        for folder in package.parent.glob("setuptools*"):
            shutil.rmtree(folder)
        completed = make(small_project, "setup", env=installing_environment())
        assert completed.returncode == 0, completed.stderr
        assert package.is_dir()

    def test_changed_lock_is_installed(self, small_project: Path) -> None:
        # Backdate the stamp: two files written in the same tick of the file system clock have equal times.
        os.utime(small_project / ".venv" / ".runtime-installed", (0, 0))
        completed = make(small_project, "setup", env=installing_environment())
        assert completed.returncode == 0
        assert "Installing" in completed.stdout

    def test_package_with_a_wrong_hash_is_rejected(self, small_project: Path, tmp_path: Path) -> None:
        # The copied virtual environment has its links, but not what the lock file names.
        left_out = shutil.ignore_patterns("setuptools*", ".*-installed")
        folder = shutil.copytree(small_project, tmp_path / "tampered", symlinks=True, ignore=left_out)
        lock = folder / "requirements.lock"
        lock.write_text(re.sub(r"sha256:\w+", "sha256:" + "0" * 64, lock.read_text()))
        completed = make(folder, "setup", env=installing_environment())
        assert completed.returncode != 0
        assert "HASH" in completed.stderr.upper()
        assert stamps(folder) == {}

    def test_missing_python_is_reported(self, small_project: Path, tmp_path: Path) -> None:
        """The PATH contains the tools of make but no Python."""
        tools = tmp_path / "tools"
        tools.mkdir()
        for name in ("sh", "make", "rm", "touch", "sed"):
            program = shutil.which(name)
            assert program is not None
            (tools / name).symlink_to(program)
        folder = shutil.copytree(small_project, tmp_path / "bare", ignore=shutil.ignore_patterns(".venv"))
        completed = make(folder, "setup", env={"PATH": str(tools)})
        assert completed.returncode != 0
        assert "needs Python 3.11" in completed.stderr


class TestRepository:
    @pytest.mark.parametrize("name", LOCKS)
    def test_lock_names_no_host_and_hashes_everything(self, name: str) -> None:
        lines = (ROOT / name).read_text().splitlines()
        packages = [line for line in lines if line and not line.startswith(" ")]
        assert packages
        assert all("==" in line and line.endswith("\\") for line in packages)
        assert [line for line in lines if "://" in line or "index" in line.split("==")[0].split()] == []

    def test_the_image_adds_traces_to_the_runtime_and_development_extends_both(self) -> None:
        runtime, development, image = (
            set(re.findall(r"^[^ #]\S*==\S+", (ROOT / name).read_text(), re.MULTILINE)) for name in LOCKS
        )
        assert runtime < image < development
        extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["otel"]
        names = {package.partition("==")[0] for package in image}
        assert {re.split("[<>=]", requirement)[0] for requirement in extra} <= names

    def test_repository_checks_pass(self) -> None:
        completed = subprocess.run(
            ["sh", ".ci/check-repository"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert completed.returncode == 0, completed.stderr

    def test_help_lists_every_command_of_the_readme(self) -> None:
        output = make(ROOT, "help").stdout
        for command in re.findall(r"`make (\w+)", (ROOT / "README.md").read_text()):
            assert f"make {command}" in output


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    yield folder
    for process in service_processes(folder):
        process.kill()


def _n_jobs(port: int) -> int:
    with open_loopback(f"http://127.0.0.1:{port}/jobs") as response:
        return len(json.loads(response.read())["items"])


class TestServing:
    def test_ctrl_c_ends_make_serve_and_leaves_no_process(self, home: Path) -> None:
        """A terminal sends SIGINT to the foreground process group: make and the supervisor, but not its children."""
        port = free_port()
        with subprocess.Popen(
            ["make", "serve"],
            cwd=ROOT,
            env=service_environment(home, port),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as terminal:
            wait_until(lambda: responds(f"http://127.0.0.1:{port}/readyz"), START_SECONDS, "make serve being ready")
            os.killpg(terminal.pid, signal.SIGINT)
            terminal.wait(60)
        wait_until(lambda: service_processes(home) == [], 10, "every process ending")

    def test_demo_trains_prints_its_table_and_stops(self, home: Path) -> None:
        port = free_port()
        completed = make(ROOT, "demo", "EXIT=1", env=service_environment(home, port))
        output = completed.stdout
        assert completed.returncode == 0, output + completed.stderr
        for model in ("entropy tree", "NE tree", "entropy forest", "NE forest", "auto"):
            assert re.search(rf"^{model} .*\d\.\d%.*\d\.\d%.* s$", output, re.MULTILINE), output
        assert re.search(r"estimates that (39|40|41)\.\d% ± \d\.\d% of them are wrong", output), output
        assert "auto: The 4 best of 28 forests" in output
        assert re.search(r"found 1,7\d\d of the 1,798 changed ones", output), output
        assert "GET  /predict?model=" in output
        assert "POST /predict" in output
        assert f"http://127.0.0.1:{port}/docs" in output
        assert service_processes(home) == []
        self._check_that_ctrl_c_ends_another_demo(home, port)

    @staticmethod
    def _check_that_ctrl_c_ends_another_demo(home: Path, port: int) -> None:
        """Start it again in the same home, and interrupt it when it has queued a job of the same name as before."""
        with subprocess.Popen(
            ["make", "demo"],
            cwd=ROOT,
            env=service_environment(home, port),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as terminal:
            wait_until(lambda: responds(f"http://127.0.0.1:{port}/readyz"), START_SECONDS, "the service being ready")
            wait_until(lambda: _n_jobs(port) > 6, 60, "another job being queued")
            os.killpg(terminal.pid, signal.SIGINT)
            terminal.communicate(timeout=60)
        wait_until(lambda: service_processes(home) == [], 10, "every process ending")

    def test_demo_reports_a_port_in_use(self, home: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            completed = make(ROOT, "demo", "EXIT=1", env=service_environment(home, port))
        assert completed.returncode != 0
        assert "BRISTLECONE_PORT" in completed.stderr
