"""Files that tools and hosting platforms read: hooks, workflow, citation and license."""

import re
import subprocess
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_hooks_run_the_commands_of_make_check() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = [hook["entry"] for hook in local["hooks"]]
    recipe = subprocess.run(
        # The lines about folders would appear if the tests themselves run under make.
        ["make", "--no-print-directory", "--dry-run", "check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert recipe[-len(entries) :] == entries


def test_hooks_download_nothing() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}


def test_hosted_ci_runs_the_ci_script() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert [step["run"] for step in steps if "run" in step] == [".ci/run"]


def test_citation_names_the_project_and_the_papers() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert str(citation["version"]) == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert len(citation["references"]) == 3
    assert all(paper["title"] and paper["authors"] and paper["year"] for paper in citation["references"])


def test_license_file_matches_the_project_metadata() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert re.search(r"Apache License\s+Version 2\.0", (ROOT / "LICENSE").read_text())
