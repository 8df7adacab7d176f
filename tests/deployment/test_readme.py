"""The README says what is so: its commands run as they stand, its table lists the settings that exist."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from app.settings import _Environment
from tests.service_process import RunningService

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def bash_blocks(text: str) -> list[str]:
    return re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_commands_with_curl_run_as_they_stand(tmp_path: Path) -> None:
    """The walk, and what later sections do with its data set."""
    script = "".join(bash_blocks(section("A walk with curl") + section("Models, losses, parameters")))
    assert "/predict" in script
    assert "/audits" in script
    assert "/sweeps" in script
    with RunningService(tmp_path / "home") as service:
        walked = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=tmp_path,
            env=service.environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
    assert walked.returncode == 0, walked.stdout + walked.stderr
    assert "\nsucceeded\n" in walked.stdout
    header, *wrong = (tmp_path / "wrong-labels.csv").read_text().splitlines()
    assert header == '"row","given_label","suggested_label","quality","is_issue"'
    assert wrong
    curve = r"(?:entropy|misclassification) 0\.[02] accuracy 0\.\d+ 0\.\d+ \["
    assert len(re.findall(curve, walked.stdout)) == 4
    one = json.loads(re.findall(r'\{"model".*?\}\}(?=\{|$)', walked.stdout.strip(), re.DOTALL)[0])
    assert one["label"] == "yes"
    assert one["model"]["name"] == "loans"


def test_start_commands_are_targets_of_the_makefile() -> None:
    commands = "".join(bash_blocks(section("Start"))).split("\n")
    makefile = (ROOT / "Makefile").read_text()
    for command in filter(None, commands):
        assert re.search(rf"^{command.removeprefix('make ')}:", makefile, re.MULTILINE), command


def test_settings_table_lists_every_setting_once() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", section("Settings"), re.MULTILINE)
    existing = [
        str(field.validation_alias or f"BRISTLECONE_{name.upper()}")
        for name, field in _Environment.model_fields.items()
    ]
    assert sorted(documented) == sorted(existing)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_file_names_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    for link in links:
        assert (page.parent / link).exists(), link
    for name in re.findall(r"`((?:app|core|workers|migrations|docs|tests)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
