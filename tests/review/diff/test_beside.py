"""Further parts of a review: access, files that steer a push or a review, the committed tree, catalog figures."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from fabricc import catalog
from fabricc.back import nos as back_ends
from fabricc.base.values import replace
from fabricc.catalog.load import load_catalog
from fabricc.cli.entry import run
from fabricc.review.diff import causes, unread, wording
from fabricc.review.diff.control_files import role_of
from fabricc.review.diff.fact_impact import is_access
from fabricc.review.diff.review_policy import Policy, as_policies_write, own_labels, policy_violations
from tests.review.diff.conftest import INVENTORIES, compare_specs

if TYPE_CHECKING:
    from tests.review.diff.conftest import Bench

MODELS = Path(catalog.__file__).parent / "models"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in ("cluster.yaml", "fabricc.lock"):
        shutil.copy(INVENTORIES / "lab-smallest" / name, folder)
    monkeypatch.chdir(folder)
    assert run(["build", "cluster.yaml"]) == 0
    (folder / "fabricc-access.yaml").write_text("username: x\nverify: true\n", "utf-8")
    (folder / ".gitignore").write_text("build/.*\n", "utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")
    git(folder, "checkout", "-qb", "topic")
    return folder


def run_review(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["diff", "cluster.yaml", "--base", "main", "--format", "json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
@needs_git
def test_files_that_decide_something_and_the_verdict_on_the_tree_are_named(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "fabricc-access.yaml").write_text("username: x\nverify: false\n", "utf-8")
    (repository / "prod.yaml").write_text("username: y\n", "utf-8")
    (repository / ".github" / "workflows").mkdir(parents=True)
    (repository / ".github" / "workflows" / "x.yml").write_text("on: push\n", "utf-8")
    (repository / "notes.md").write_text("no effect\n", "utf-8")
    path = repository / "build" / "lab-smallest" / "switches" / "spine01a" / "frr.conf"
    path.write_text(path.read_text("utf-8") + "! rogue\n", "utf-8")
    here = run_review(capsys)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "change")
    found = run_review(capsys, "--head", "topic")
    assert found["control_files"] == here["control_files"]
    assert [(each["path"], each["role"], each["change"]) for each in found["control_files"]] == [
        (".github/workflows/x.yml", "CI", "added"),
        ("fabricc-access.yaml", "access file", "changed"),
        ("prod.yaml", "access file", "added"),
        ("build/lab-smallest", "committed tree", "changed"),
    ]
    (tree,) = found["committed_trees"]
    assert (tree["path"], tree["passes"]) == ("build/lab-smallest", False)
    assert [each["code"] for each in tree["findings"]] == ["FAB6030"]
    assert (found["differs"], found["labels"]) == (
        False,
        ["fabric:control-files", "risk:high"],
    )
    assert found["verdict"].startswith("HIGH risk, files of the tree change that no build writes")
    changed = "4 files that control a push or a review change (CI, access file, committed tree)"
    assert changed in found["verdict"]
    given = run_review(capsys, "--head", "topic", "--check-status", "0")
    assert (given["risk"], given["labels"]) == ("none", ["fabric:control-files"])
    assert given["committed_trees"] == [{"path": "build/lab-smallest", "passes": True, "findings": []}]
    capsys.readouterr()
    assert run(["diff", "cluster.yaml", "--base", "main", "--head", "topic", "--format", "md"]) == 0
    text = capsys.readouterr().out
    assert "`fabricc-access.yaml`: access file, changed" in text
    assert "`build/lab-smallest`: fails the check" in text
    git(repository, "rm", "-rqf", "build/lab-smallest")
    git(repository, "commit", "-qm", "no tree")
    removed = run_review(capsys, "--head", "topic")
    assert (removed["risk"], removed["labels"]) == ("none", ["fabric:control-files"])
    assert ("build/lab-smallest", "removed") in {(e["path"], e["change"]) for e in removed["control_files"]}


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("docs/CODEOWNERS", "code owners"), ("ci/requirements.txt", "CI"), (".gitlab-ci.yml", "CI"),
        ("fabricc-policy.yaml", "review policy"), ("keys/allowed_signers", "allowed signers"),
        (".pre-commit-config.yaml", "hooks"), ("templates/eos/x.j2", "templates"), ("README.md", ""),
        ("constraints.txt", "pinned packages"),
        ("build/zone-a.sig", "signature or key"), ("cluster.yaml", ""),
    ],
)  # fmt: skip
def test_files_are_known_by_their_names(path: str, role: str) -> None:
    assert role_of(path) == role


STEERING = """
Makefile justfile Taskfile.yml tox.ini noxfile.py setup.py setup.cfg package.json Dockerfile compose.yaml
.devcontainer/devcontainer.json .mcp.json .vscode/mcp.json .cursor/mcp.json .claude/settings.json AGENTS.md
claude_desktop_config.json push-hook.py scripts/deploy.sh bin/push tools/run.ps1 sitecustomize.py .envrc .env .netrc
uv.lock poetry.lock Pipfile environment.yml .python-version mise.toml .tool-versions renovate.json inventory.ini
hosts.ini inventory/hosts.yaml roles/x/tasks/main.yml images.csv main.tf prod.tfvars nornir.yaml deploy.service
crontab .gitlab-ci/jobs.yml .azure-pipelines/x.yml .semaphore/semaphore.yml appveyor.yml .cirrus.yml .tekton/run.yaml
cloudbuild.yaml buildspec.yml .build.yml .builds/a.yml Jenkinsfile.prod jenkins/pipeline.groovy atlantis.yaml
secrets/tacacs secrets.yaml vault.yml vault/password .ssh/config id_ed25519 authorized_keys ca.der journal.sqlite
policies.yaml policy.json .gitconfig requirements/prod.txt plugins/x.py flake.nix .npmrc pip.conf .pypirc uv.toml
.lefthook.yml WORKSPACE woodpecker/x.yml
MODULE.bazel build.gradle.kts gradlew pom.xml Gemfile Gemfile.lock CMakeLists.txt meson.build SConstruct pixi.lock
shell.nix deno.json bun.lockb turbo.json tsconfig.json Snakefile site.pp kustomization.yaml skaffold.yaml x.jsonnet
x.rego main.tf.json cron.d/x sudoers 99.rules netrc pipeline.yml zuul.yaml OWNERS logins.yaml api-token.txt x.pyc
vendor/x.so.1 tools.pyz tools.deb wg0.ovpn hk.pkl install x.env fabricc.toml
"""
QUIET = """
README.md docs/runbook.md docs/picture.png LICENSE CHANGELOG.md notes.txt cluster.yaml devices.csv links.csv
overlays/eos/running-config.cfg overlays/sonic/config_db.json catalog/hosts.yaml racks.csv prices.yaml plan.drawio
.editorconfig .gitkeep docs/policy-history.md docs/environment.md docs/images/rack.png docs/secrets.md build.md
zone-a/cluster.yaml pages/index.html hosts.yaml .prettierrc .yamllint NOTES docs/fabric.PDF collected/tor1/frr.conf
cluster.lock fabricc.lock sites/berlin/overlays/tor.cfg rack-photo.jpeg
"""


def test_files_of_tools_that_build_review_or_push_have_a_role() -> None:
    assert [path for path in STEERING.split() if not role_of(path)] == []
    assert [path for path in QUIET.split() if role_of(path)] == []


@needs_git
@pytest.mark.slow
def test_a_program_of_any_name_is_listed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "install").write_text("#!/bin/sh\nexit 0\n", "utf-8")
    (repository / "NOTES").write_text("no effect\n", "utf-8")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "change")
    (found,) = run_review(capsys, "--head", "topic")["control_files"]
    assert (found["path"], found["role"]) == ("install", "program")


@pytest.mark.parametrize(
    ("more", "paths"),
    [
        ("policy: {max_impact: reload}", ["policy.max_impact"]),
        ("accept: [{code: FAB6212, reason: 'a lab without it'}]", ["accept[FAB6212].code"]),
        (
            "accept: [{code: FAB9065, line: 'alias *', reason: 'of the help desk'}]",
            ["accept[FAB9065].code", "accept[FAB9065].line"],
        ),
    ],
)
def test_keys_that_later_reviews_obey_are_no_change_without_consequence(
    bench: Bench, more: str, paths: list[str]
) -> None:
    entry = more.partition("[")[2].removesuffix("]")
    edits = [("accept:\n", f"accept:\n  - {entry}\n")] if entry else []
    found = bench.review("lab-smallest", *edits, more="" if edits else f"{more}\n")
    assert {each.path for each in found.control_files} >= {*paths}
    assert "without consequence" not in wording.verdict_line(found)
    assert "fabric:control-files" in wording.review_labels(found)
    assert "fabric:no-change" not in wording.review_labels(found)


TEXTS = {
    "eos": ("running.cfg", f"username evil ssh-key {KEY} x\n"),
    "nxos": ("running.cfg", f"username evil sshkey {KEY} x\n"),
    "junos": ("juniper.conf", "system { login { user evil { class super-user; } } }\n"),
    "cumulus": (
        "startup.yaml",
        "- set:\n    system:\n      aaa:\n        user:\n          evil: {role: system-admin}\n",
    ),
    "sonic": ("config_db.json", '{"AAA": {"authentication": {"login": "local"}}}'),
    "frr": ("frr.conf", "password x\n"),
}


@pytest.mark.parametrize("nos", TEXTS)
def test_an_account_in_the_text_of_any_system_is_access(nos: str) -> None:
    name, text = TEXTS[nos]
    reading = back_ends.load(nos).read({name: text})
    empty = back_ends.load(nos).read({name: "{}" if name.endswith("json") else ""})
    new = reading.facts.keys() - empty.facts.keys()
    unknown = {line for _, _, line in reading.unknown} - {line for _, _, line in empty.unknown}
    assert any(is_access(path, nos) for path in new) or (unknown and is_access("text", nos))
    assert not is_access("bgp/asn", nos)
    assert not is_access("management/ntp", nos)
    opens = {"eos": "management/open[gnmi]", "frr": "daemon[bgpd]/vty_address", "junos": "platform/ssh"}
    assert is_access(opens.get(nos, "management/telnet"), nos)


def test_an_account_in_an_overlay_is_access_also_next_to_another_change(bench: Bench) -> None:
    base = bench.spec("lab-smallest", "base", more="overlays: [{file: o.conf, nos: frr, into: frr.conf}]\n")
    head = bench.spec("lab-smallest", "head", more="overlays: [{file: o.conf, nos: frr, into: frr.conf}]\n")
    (base.parent / "o.conf").write_text("hostname-note a\n", "utf-8")
    (head.parent / "o.conf").write_text("agentx\n", "utf-8")
    found = compare_specs(base, head)
    assert found.access_changes == {"lines that fabricc does not interpret, changed": 6}
    assert (found.risk, wording.review_labels(found)) == (
        "high",
        ["fabric:access", "risk:high", "needs-drain"],
    )
    policy = Policy(require_label_for_access="Access-OK", forbid_access_changes=True)
    assert [d.code for d in policy_violations([policy], found, frozenset(), "s")] == ["FAB9040", "FAB9041"]
    labels = as_policies_write(["access-ok"], [policy])
    assert [d.code for d in policy_violations([policy], found, labels, "s")] == ["FAB9041"]


def test_an_account_in_the_spec_is_access(bench: Bench) -> None:
    found = bench.review("lab-smallest", more="management: {access: [172.16.9.0/24]}\n")
    assert found.access_changes
    assert "fabric:access" in wording.review_labels(found)


def test_a_label_that_ci_sets_is_no_approval() -> None:
    (wrong,) = own_labels([Policy(require_label_for_access="Fabric:Access"), Policy()], "cluster.yaml")
    assert wrong.code == "FAB9044"


def test_the_order_of_keys_in_a_copied_model_is_no_figure() -> None:
    model = load_catalog([])[0].switches["sn5600"]
    turned = {
        nos: {
            key: dict(reversed(each.items())) if isinstance(each, dict) else each for key, each in own.items()
        }
        for nos, own in model.nos.items()
    }
    assert any(str(turned[nos]) != str(own) for nos, own in model.nos.items())
    assert causes._model_figures(replace(model, nos=turned)) == causes._model_figures(model)


def test_a_figure_of_a_copied_model_is_shown_with_its_sources_and_its_reach(bench: Bench) -> None:
    model = (MODELS / "switches" / "linux-16x100.yaml").read_text("utf-8")
    cell = 'cell_bytes: {value: 254, assumed: true, reason: "generic figure for planning and the lab"}'
    own = model.replace("  linux-16x100:\n", "  own-box:\n", 1)
    own = own.replace(cell, "cell_bytes: {value: 256, source: measured here}")
    assert "measured here" in own
    base = bench.spec("lab-smallest", "base")
    head = bench.spec("lab-smallest", "head", ("linux-16x100, nos: frr, uplinks", "own-box, nos: frr, uplinks"),
                      more="catalog: [own.yaml]\n")  # fmt: skip
    (head.parent / "own.yaml").write_text(own, "utf-8")
    found = compare_specs(base, head)
    figures = {each.figure: each for each in found.model_figures}
    figure = figures["buffers.cell_bytes"]
    assert (figure.model, figure.before, figure.after, figure.reach) == ("own-box", "254", "256", ("4 ToRs",))
    assert figure.source_before.startswith("assumed")
    assert figure.source_after == "measured here"
    assert "without consequence" not in wording.verdict_line(found)
    assert "fabric:no-change" not in wording.review_labels(found)
    again = bench.spec("lab-smallest", "again", ("linux-16x100, nos: frr, uplinks", "own-box, nos: frr, uplinks"),
                       more="catalog: [own.yaml]\n")  # fmt: skip
    (again.parent / "own.yaml").write_text(own.replace("value: 256, source", "value: 512, source"), "utf-8")
    changed = compare_specs(head, again)
    assert [(each.figure, each.before, each.after) for each in changed.model_figures] == [
        ("buffers.cell_bytes", "256", "512")
    ]
    assert "1 catalog figure of models in use differs" in wording.verdict_line(changed)


def test_unread_lines_of_overlays_are_named_once_and_harmless_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "hostname t\nlogging buffered 10000\nevent-handler X\n   trigger on-boot\nalias wr write\n!\nend\n"
    monkeypatch.setattr(unread, "render_switch", lambda _: {"running-config.cfg": text})
    fabric = SimpleNamespace(
        overlays=[SimpleNamespace(devices=("t", "u"))],
        switch_ids=lambda: ["t", "u"],
        name=lambda at: at,
        switch=lambda _: SimpleNamespace(nos="eos"),
    )
    spec = SimpleNamespace(accept=[SimpleNamespace(line="alias wr *"), SimpleNamespace(line="")])
    compiled = SimpleNamespace(fabric=fabric, networks={}, spec=spec, infiniband=None)
    (found,) = unread.list_unread_text(cast("Any", compiled))
    assert found.message.startswith(
        "2 lines of overlays that fabricc does not interpret, such as 'event-handler X' on t"
    )
    spec.accept.append(SimpleNamespace(line="*"))
    assert unread.list_unread_text(cast("Any", compiled)) == ()
