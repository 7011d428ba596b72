"""Files for forges and containers: they fit their schemas, and nothing in them runs by a moving name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
WORKFLOW = ROOT / ".github/workflows/release.yml"
JOBS = yaml.safe_load(WORKFLOW.read_text())["jobs"]


def find_program(name: str) -> str:
    found = shutil.which(name, path=f"{PROGRAMS}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.slow
def test_the_release_workflow_fits_the_forge() -> None:
    command = [find_program("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", str(WORKFLOW)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout
    assert all(job["timeout-minutes"] <= 120 for job in JOBS.values())


def test_actions_are_pinned_by_commit() -> None:
    used = re.findall(r"uses: *(\S+)(.*)", WORKFLOW.read_text() + (ROOT / "action.yml").read_text())
    assert len(used) > 8
    for name, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name), name
        assert re.fullmatch(r"  # v\d+\.\d+\.\d+", comment), name


def test_nothing_is_published_that_was_not_tested_compared_and_attested() -> None:
    assert set(JOBS["attest"]["needs"]) == {"test", "build"}
    assert (JOBS["publish"]["needs"], JOBS["notes"]["needs"]) == ("attest", "publish")
    compared = next(step["run"] for step in JOBS["attest"]["steps"] if "run" in step)
    assert "cmp " in compared
    assert "sha256sum --check" in compared


def test_only_signing_jobs_request_an_identity_token() -> None:
    may = {name: job["permissions"] for name, job in JOBS.items()}
    assert {name for name, held in may.items() if held.get("id-token") == "write"} == {"attest", "publish"}
    assert {name for name, held in may.items() if held.get("contents") == "write"} == {"notes"}
    assert "secrets." not in WORKFLOW.read_text()


@pytest.mark.parametrize(
    "file",
    [WORKFLOW, ROOT / "action.yml", ROOT / "fabricc/cli/starter/workflow.yml"],
    ids=lambda path: path.name,
)
def test_an_auditor_of_workflows_finds_no_way_in(file: Path, tmp_path: Path) -> None:
    shutil.copy(file, place := tmp_path / ("action.yml" if file.name == "action.yml" else "release.yml"))
    command = [find_program("zizmor"), "--offline", "--no-progress", "--format", "json", str(place)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, json.loads(ran.stdout)) == (0, [])


def test_a_container_is_made_as_the_linter_wants_it() -> None:
    ran = subprocess.run(
        [find_program("hadolint"), "--no-color", str(ROOT / "Dockerfile")],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, "")


def test_container_runs_a_wheel_as_an_unprivileged_user() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert len(bases) == 2
    assert all(re.fullmatch(r"python:\d+\.\d+-slim-\w+", base) for base in bases)
    last = lines[max(at for at, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert not any(line.startswith(("COPY", "ADD")) for line in last)
    assert int(next(line.split()[1] for line in last if line.startswith("USER "))) > 0


def test_the_development_container_calls_what_the_makefile_has() -> None:
    stated = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    targets = re.findall(r"make ([\w./]+)", stated["postCreateCommand"])
    makefile = (ROOT / "Makefile").read_text().replace("$(VENV)", ".venv")
    assert targets == [".venv/.dev", "peers"]
    assert all(f"\n{target}:" in makefile for target in targets)
    for schema in stated["customizations"]["vscode"]["settings"]["yaml.schemas"]:
        assert (ROOT / schema).is_file()


def normalize_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_dependency_and_tool_has_a_tested_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    tested = {normalize_name(name) for name in pins}
    optional = project["optional-dependencies"]
    groups = [
        project["dependencies"],
        *(optional[name] for name in ("keyring", "mcp", "xlsx", "dev", "release", "judges")),
    ]
    for requirement in (each for group in groups for each in group if not each.startswith("fabricc[")):
        name = normalize_name(re.match(r"[\w.-]+", requirement)[0])
        assert name in tested, f"{name} is not in constraints.txt"


def test_every_runtime_dependency_declares_a_lowest_version() -> None:
    ran = subprocess.run([sys.executable, ROOT / ".ci/lowest"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    lowest = dict(line.split("==") for line in ran.stdout.splitlines())
    assert lowest["napalm"] == "5.2"


def test_installations_use_the_tested_versions() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installs = [
        line
        for line in makefile.splitlines()
        if "pip install" in line and ".venv-" not in line and "sudo" not in line
    ]
    assert installs
    assert all("PIP_CONSTRAINT=constraints.txt" in line for line in installs)
    container = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    commands = re.findall(r"pip (?:install|wheel)[^\n&]*", container)
    assert all("--constraint constraints.txt" in each or "--no-index" in each for each in commands)
