"""The hooks run by the real pre-commit against local bare repositories, and CI files against the published schemas."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fabricc.cli.entry import run
from fabricc.cli.init import FILES, STARTER

CONFIG = ".pre-commit-config.yaml"
FILES_BY_TARGET = {target: source for source, target in FILES.items()}
TOP = Path(__file__).parents[3]
PROGRAMS = Path(sys.executable).parent

needs_pre_commit = pytest.mark.skipif(
    not (PROGRAMS / "pre-commit").exists() or shutil.which("git") is None,
    reason="pre-commit or git is not installed",
)


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with the files of `init`, committed, and a separate folder of pre-commit."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    folder = tmp_path / "zone"
    assert run(["init", str(folder)]) == 0
    assert run(["lock", str(folder / "cluster.yaml")]) == 0
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")
    return folder


def run_hooks(repository: Path) -> tuple[int, str]:
    git(repository, "add", "-A")
    done = subprocess.run(
        ["pre-commit", "run", "--all-files"], cwd=repository, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def edit(repository: Path, old: str, new: str) -> None:
    spec = repository / "cluster.yaml"
    text = spec.read_text("utf-8")
    assert old in text
    spec.write_text(text.replace(old, new), "utf-8")


def hooks_as_published(repository: Path, *, elsewhere: bool) -> None:
    """Take the hooks from a bare repository of this project, as others do, on the installed program."""
    if not elsewhere:
        return
    source, bare = repository.parent / "source", repository.parent / "fabricc.git"
    source.mkdir()
    shutil.copy(TOP / ".pre-commit-hooks.yaml", source)
    git(source, "init", "-q", "-b", "main")
    git(source, "add", "-A")
    git(source, "commit", "-qm", "hooks")
    git(source, "clone", "-q", "--bare", str(source), str(bare))
    ids = [hook["id"] for hook in yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text("utf-8"))]
    chosen = [{"id": name, "language": "system"} for name in ids]
    config = {"repos": [{"repo": str(bare), "rev": git(source, "rev-parse", "HEAD"), "hooks": chosen}]}
    (repository / CONFIG).write_text(yaml.safe_dump(config), "utf-8")


@pytest.mark.slow
@needs_pre_commit
@pytest.mark.parametrize(
    "elsewhere",
    [
        pytest.param(False, id="written by init"),
        pytest.param(True, id="from a bare repository", marks=pytest.mark.slow),
    ],
)
def test_hooks_pass_what_is_in_order_and_stop_what_is_not(repository: Path, elsewhere: bool) -> None:
    hooks_as_published(repository, elsewhere=elsewhere)
    status, reported = run_hooks(repository)
    assert status == 0, reported
    assert reported.count("Passed") == 3

    lock = repository / "fabricc.lock"
    lock.write_text("".join(lock.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    status, reported = run_hooks(repository)
    assert status == 1
    assert "FAB3900" in reported
    assert run(["lock", str(repository / "cluster.yaml")]) == 0
    assert run_hooks(repository)[0] == 0

    edit(repository, "  wiring: rail ", "  wiring:   rail ")
    status, reported = run_hooks(repository)
    assert status == 1
    assert "files were modified by this hook" in reported
    assert run_hooks(repository)[0] == 0

    edit(repository, "dgx-h100", "dgx-h1000")
    status, reported = run_hooks(repository)
    assert status == 1
    assert "Did you mean dgx-h100" in reported


DAMAGED_ALONE = {
    "lock": ("zones/a/fabricc.lock", lambda text: "".join(text.splitlines(keepends=True)[:-1]), "FAB3900"),
    "own lock": ("zones/b/east.lock", lambda text: "".join(text.splitlines(keepends=True)[:-1]), "FAB3900"),
    "catalog": ("zones/a/parts.yaml", lambda _: "models: {x: {}}\n", "zones/a/parts.yaml"),
    "overlay": ("zones/b/extra.conf", lambda _: "<<<<<<< ours\n", "zones/b/extra.conf"),
    "identities": ("zones/a/serials.csv", lambda _: "device;name\n", "zones/a/serials.csv"),
    "policy": ("fabricc-policy.yaml", lambda _: "forbid_nothing_known: true\n", "FAB9023"),
    "spec of another name": (
        "zones/b/east.yaml",
        lambda text: text.replace("dgx-h100", "dgx-h1000"),
        "Did you",
    ),
    "deleted lock": ("zones/a/fabricc.lock", None, "zones/a/cluster.yaml"),
}
"""File that a commit changes alone, how (None: it is deleted), and a text of the failed hook."""


@needs_pre_commit
@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [False, True], ids=["written by init", "from a bare repository"])
def test_hooks_check_the_specs_that_read_a_file_of_the_commit(repository: Path, elsewhere: bool) -> None:
    hooks_as_published(repository, elsewhere=elsewhere)
    spec = (repository / "cluster.yaml").read_text("utf-8")
    for name, more in (
        ("a/cluster.yaml", "catalog: [parts.yaml]\nidentities: {devices: serials.csv}\n"),
        ("b/east.yaml", "overlays: [{file: extra.conf, nos: eos, tiers: [spine]}]\n"),
    ):
        place = repository / "zones" / name
        place.parent.mkdir(parents=True)
        place.write_text(spec + more, "utf-8")
    (repository / "zones/a/parts.yaml").write_text("{}\n")
    (repository / "zones/a/serials.csv").write_text("device,name\n")
    (repository / "zones/b/extra.conf").write_text("banner motd\nowned\nEOF\n")
    (repository / "values.yaml").write_text("cluster:   {of: another program}\n")
    assert run(["lock", str(repository / "zones/a/cluster.yaml")]) == 0
    assert run(["lock", "--own", str(repository / "zones/b/east.yaml")]) == 0
    status, shown = run_hooks(repository)
    assert status == 0, shown
    git(repository, "commit", "-qm", "zones")
    for kind, (name, damage, text) in DAMAGED_ALONE.items():
        path = repository / name
        before = path.read_text("utf-8")
        path.unlink() if damage is None else path.write_text(damage(before), "utf-8")
        git(repository, "add", "-A")
        done = subprocess.run(
            ["pre-commit", "run"], cwd=repository, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, (kind, done.stdout)
        assert text in done.stdout, (kind, done.stdout)
        git(repository, "reset", "-q", "--hard")
    (repository / "note.txt").write_text("no file of a spec\n")
    git(repository, "add", "-A")
    done = subprocess.run(["pre-commit", "run"], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


CI = [
    ("github-workflows", FILES["workflow.yml"]),
    ("gitlab-ci", FILES["gitlab-ci.yml"]),
    ("azure-pipelines", FILES["azure-pipelines.yml"]),
    ("github-actions", "action.yml"),
]


@pytest.mark.slow
@pytest.mark.skipif(not (PROGRAMS / "check-jsonschema").exists(), reason="check-jsonschema is not installed")
@pytest.mark.parametrize(("schema", "path"), CI, ids=[path for _, path in CI])
def test_ci_files_keep_the_published_schemas(schema: str, path: str, tmp_path: Path) -> None:
    own = STARTER / FILES_BY_TARGET[path] if path in FILES_BY_TARGET else TOP / path
    if schema == "azure-pipelines":  # Azure reads every scalar as text, and so does Microsoft's schema
        values = yaml.load(own.read_text("utf-8"), yaml.BaseLoader)
        own = tmp_path / "pipeline.json"
        own.write_text(json.dumps(values), "utf-8")
    command = [str(PROGRAMS / "check-jsonschema"), "--builtin-schema", f"vendor.{schema}", str(own)]
    command += ["--regex-variant", "python"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@needs_pre_commit
def test_pre_commit_takes_the_manifest_and_the_configuration() -> None:
    for verb, path in (
        ("manifest", TOP / ".pre-commit-hooks.yaml"),
        ("config", STARTER / FILES_BY_TARGET[CONFIG]),
    ):
        command = [str(PROGRAMS / "pre-commit"), f"validate-{verb}", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_the_action_at_the_top_runs_scripts_that_are_there_and_takes_no_expression_into_a_script() -> None:
    action = yaml.safe_load((TOP / "action.yml").read_text("utf-8"))
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert all("${{" not in script for script in scripts)
    named = [
        script.split("$GITHUB_ACTION_PATH/")[1].rstrip('"')
        for script in scripts
        if script.startswith("bash ")
    ]
    assert len(named) == 6
    assert all((TOP / name).is_file() for name in named)
