"""README and documentation: printed commands run, links and file names exist, tables match their sources."""

import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from app.settings.environment import Environment
from docs.generation.settings_table import variable_name
from tests.service_process import RunningService

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("**/*.md"))]
PICTURE = re.compile(r'(?:src|srcset)="([^"]+)"')
TUTORIAL = (DOCS / "tutorial.md").read_text()
#: Pages whose commands continue those of the tutorial.
GUIDES = [page for page in sorted(DOCS.glob("how-to/*.md")) if "```bash" in page.read_text()]
#: Includes compiling the kernels if the cache is empty.
TIMEOUT_SECONDS = 600


def section(title: str) -> str:
    match = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert match is not None, title
    return match[1]


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run_bash(script: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a script and return its output; the script stops at the first command that fails."""
    completed = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("service") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("commands")


@pytest.fixture(scope="module")
def tutorial(service: RunningService, folder: Path) -> str:
    """Return the output of the commands of the tutorial."""
    return run_bash("echo\n".join(blocks("bash", TUTORIAL)), folder, service.environment)


@pytest.fixture(scope="module")
def run_guide(service: RunningService, folder: Path, tutorial: str) -> Callable[[str], str]:
    """Return a function that runs the commands of a guide with the variables and the data set of the tutorial.

    It runs each script once: several tests look at what the same guide leaves.
    """
    first_steps = "".join(blocks("bash", TUTORIAL)[:2])
    return cache(lambda script: run_bash(first_steps + script, folder, service.environment))


def test_readme_commands_run(service: RunningService, tmp_path: Path) -> None:
    output = run_bash("".join(blocks("bash", section("Over HTTP"))), tmp_path, service.environment)
    answer = json.loads(output[output.rindex('{"model"') :])
    assert answer["label"] == "yes"
    assert answer["model"]["name"] == "loans"


def test_tutorial_commands_run(tutorial: str) -> None:
    assert "\nsucceeded\n" in tutorial
    one = json.loads(re.findall(r'\{"model".*?\}\}(?=\{|$)', tutorial.strip(), re.DOTALL)[0])
    assert one["label"] == "yes"
    assert one["model"]["name"] == "loans"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda page: page.name)
def test_guide_commands_run(guide: Path, run_guide: Callable[[str], str]) -> None:
    output = run_guide("".join(blocks("bash", guide.read_text())))
    assert not re.findall(r'"state":"(?:failed|cancelled)"', output)


def test_guides_include_audits_sweeps_and_predictions() -> None:
    commands = "".join(block for guide in GUIDES for block in blocks("bash", guide.read_text()))
    assert "/predict" in commands
    assert "/audits" in commands
    assert "/sweeps" in commands


def test_audit_guide_stores_the_wrong_labels(run_guide: Callable[[str], str], folder: Path) -> None:
    run_guide("".join(blocks("bash", (DOCS / "how-to" / "audit-labels.md").read_text())))
    header, *wrong = (folder / "wrong-labels.csv").read_text().splitlines()
    assert header == '"row","given_label","suggested_label","quality","is_issue"'
    assert wrong


def test_large_inputs_of_the_prediction_guide_are_predicted(
    run_guide: Callable[[str], str], folder: Path, service: RunningService
) -> None:
    guide = (DOCS / "how-to" / "predict.md").read_text()
    [commands] = [block for block in blocks("bash", guide) if "respond-async" in block]
    assert run_guide(commands).endswith("succeeded\n")
    status, answer = service.request("POST", "/predict", {"model": "loans", "dataset_id": "loans", "output": "labels"})
    assert status == 200
    stored = pq.read_table(folder / "predictions.parquet")
    assert stored.column("label").to_pylist() == [prediction["label"] for prediction in answer["predictions"]]
    assert [name for name in stored.column_names if name.startswith("p.")]


def test_sweep_guide_prints_a_score_for_each_cell(run_guide: Callable[[str], str]) -> None:
    output = run_guide("".join(blocks("bash", (DOCS / "how-to" / "compare-under-noise.md").read_text())))
    curve = r"(?:entropy|misclassification) 0\.[02] accuracy 0\.\d+ 0\.\d+ \["
    assert len(re.findall(curve, output)) == 4


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks("python", page.read_text())], ids=lambda page: page.name
)
def test_python_examples_run(page: Path, service: RunningService, folder: Path, tutorial: str) -> None:
    script = "".join(blocks("python", page.read_text()))
    paths = os.pathsep.join([str(ROOT), str(ROOT / "client")])
    environment = {**os.environ, "PYTHONPATH": paths, "BRISTLECONE_URL": service.url, "MPLBACKEND": "agg"}
    command = [sys.executable, "-W", "error", "-c", script]
    completed = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout


def test_start_commands_are_targets_of_the_makefile() -> None:
    commands = "".join(blocks("bash", section("Start"))).split("\n")
    makefile = (ROOT / "Makefile").read_text()
    for command in filter(None, commands):
        assert re.search(rf"^{command.removeprefix('make ')}:", makefile, re.MULTILINE), command


def test_settings_table_lists_every_setting_once() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", (DOCS / "reference" / "settings.md").read_text(), re.MULTILINE)
    existing = [variable_name(name, field) for name, field in Environment.model_fields.items()]
    assert sorted(documented) == sorted(existing)


def test_noise_curve_table_matches_the_picture() -> None:
    page = (DOCS / "results" / "noise-curve.md").read_text()
    cells = json.loads((DOCS / "images" / "noise_curve.json").read_text())
    for name in {cell["estimator"] for cell in cells}:
        accuracies = [cell["accuracies"] for cell in cells if cell["estimator"] == name]
        columns = [f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}" for values in accuracies]
        assert f"| {name} | {' | '.join(columns)} |" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_file_names_exist(page: Path) -> None:
    text = page.read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    for link in links + PICTURE.findall(text):
        assert (page.parent / link).exists(), link
    for name in re.findall(r"`((?:app|benchmarks|core|workers|migrations|docs|tests)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
