"""Checks of the Dockerfile that need no container engine: copied files, locked packages, user, kernels and wheel."""

import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    joined = re.sub(r"\\\n\s*", "", text)
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def arguments(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def copied_sources() -> list[str]:
    return [part for rest in arguments("COPY") if "--from" not in rest for part in rest.split()[:-1]]


def test_copied_files_exist_and_are_not_ignored() -> None:
    included = (ROOT / ".dockerignore").read_text().splitlines()
    assert {"app", "core", "workers", "migrations", "requirements-image.lock"} <= set(copied_sources())
    for source in copied_sources():
        assert (ROOT / source).exists(), source
        assert f"!{source}" in included


def test_only_locked_packages_with_their_hashes_are_installed() -> None:
    installs = [rest for rest in arguments("RUN") if "pip install" in rest]
    assert len(installs) == 2
    assert "--require-hashes --requirement requirements-image.lock" in installs[0]
    assert "--no-deps --no-build-isolation" in installs[1]


def test_service_does_not_run_as_root() -> None:
    names = [name for name, _ in instructions()]
    last_stage = names[len(names) - 1 - names[::-1].index("FROM") :]
    assert last_stage.index("USER") < last_stage.index("CMD")
    assert arguments("USER") == ["bristlecone"]


def test_kernels_are_compiled_by_the_user_of_the_service(tmp_path: Path) -> None:
    (warm_up,) = (rest for rest in arguments("RUN") if "warm_up" in rest)
    names = [name for name, _ in instructions()]
    assert instructions().index(("RUN", warm_up)) > names.index("USER")
    cache = re.search(r"NUMBA_CACHE_DIR=(\S+)", " ".join(arguments("ENV")))
    assert cache is not None
    assert any(cache[1] in rest and "--owner bristlecone" in rest for rest in arguments("RUN"))
    _, *options = shlex.split(warm_up)
    subprocess.run([sys.executable, *options], cwd=tmp_path, check=True)


def test_wheel_contains_all_files_of_the_service(tmp_path: Path) -> None:
    """The image has no source tree, so the wheel must contain every file."""
    sources = tmp_path / "src"
    for source in copied_sources():
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        sources.mkdir(exist_ok=True)
        copy(ROOT / source, sources / source)
    suffixes = {".py", ".parquet", ".typed"}
    files = [path.relative_to(sources) for path in sources.rglob("*") if path.suffix in suffixes]
    needed = {str(path).removeprefix("client/") for path in files}
    pip = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(tmp_path), str(sources), str(sources / "client")], check=True)
    wheels = list(tmp_path.glob("*.whl"))
    assert len(wheels) == 2
    packed = {name for wheel in wheels for name in zipfile.ZipFile(wheel).namelist()}
    assert {"app/demo/data/optdigits.parquet", "core/py.typed", "bristlecone/py.typed"} <= needed
    assert needed - packed == set()
    assert any(name.endswith("/licenses/LICENSE") for name in packed)
