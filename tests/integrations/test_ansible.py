"""The Ansible collection, run by ansible-core: check mode, diff mode, a second run that changes nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc.version import __version__
from tests.operate.push.network import HITLESS, SIMULATED, Network

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
COLLECTION = ROOT / "ansible_collections/fabricc/fabric"
MODULES = sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))
SPEC = """\
cluster: zone
gpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 4}
tors: {model: 7060x6-64pe, nos: eos}
spines: {model: 7060x6-64pe, nos: eos, count: 2}
priorities:
  rdma: {dscp: 26, lossless: true}
  default: {}
"""

pytestmark = pytest.mark.skipif(find_spec("ansible") is None, reason="ansible-core is not installed")


def make_environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
        "PYTHONPATH": f"{ROOT}:{SIMULATED}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_STATE_HOME": str(folder / "state"),
    }


def run(folder: Path, tool: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / tool), *words],
        cwd=folder, env=make_environment(folder), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def play_tasks(folder: Path, tasks: list[dict[str, Any]], *options: str) -> list[dict[str, Any]]:
    """Return what each task of a playbook returned; it ends at the first that fails."""
    named = [
        {"name": f"task {number}", "register": f"r{number}", **task} for number, task in enumerate(tasks)
    ]
    results = [f"r{number}" for number in range(len(tasks))]
    reported = {
        "ansible.builtin.copy": {
            "dest": str(folder / "told.json"),
            "content": "{{ [" + ", ".join(f"{name} | default(none)" for name in results) + "] | to_json }}",
        },
        "check_mode": False,
        "diff": False,
    }
    play = {
        "hosts": "localhost", "connection": "local", "gather_facts": False,
        "vars": {"ansible_python_interpreter": sys.executable},
        "tasks": [{"block": named, "always": [reported]}],
    }  # fmt: skip
    (folder / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False))
    ran = run(folder, "ansible-playbook", "-i", "localhost,", "play.yml", *options)
    assert (folder / "told.json").exists(), ran.stdout + ran.stderr
    found: list[dict[str, Any]] = json.loads((folder / "told.json").read_text())
    assert "Traceback" not in ran.stdout + ran.stderr
    found[0]["_stdout"] = ran.stdout
    return found


def run_alone(folder: Path, module: str, **arguments: object) -> Any:
    """Return what a module returns to Ansible, run as Ansible runs it but for the way there."""
    (folder / "arguments.json").write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
    file = COLLECTION / f"plugins/modules/{module}.py"
    ran = subprocess.run(
        [sys.executable, str(file), "arguments.json"],
        cwd=folder, env=make_environment(folder), capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in ran.stderr
    return json.loads(ran.stdout)


def build(**options: object) -> dict[str, Any]:
    return {"fabricc.fabric.build": {"spec": "cluster.yaml", **options}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cluster.yaml").write_text(SPEC)
    return tmp_path


@pytest.mark.slow
def test_a_build_changes_once_and_check_mode_never(folder: Path) -> None:
    (would,) = play_tasks(folder, [build()], "--check")
    assert would["changed"]
    assert "switches/spine01a/running-config.cfg" in would["changed_files"]
    assert not (folder / "build").exists()
    assert not (folder / "fabricc.lock").exists()
    first, again, proved, checked = play_tasks(
        folder,
        [build(), build(), {"fabricc.fabric.check": {"tree": "build/zone"}}, {**build(), "check_mode": True}],
    )
    assert (first["changed"], first["lock_changed"], first["counts"]["gpus"]) == (True, True, 64)
    assert (again["changed"], checked["changed"], checked["changed_files"]) == (False, False, [])
    assert (proved["changed"], proved["files"]) == (False, first["files"])


@pytest.mark.slow
def test_diff_mode_shows_the_files_that_change(folder: Path) -> None:
    play_tasks(folder, [build()])
    (folder / "cluster.yaml").write_text(SPEC + "overrides: {su001-tor1a: {drain: true}}\n")
    review, would = play_tasks(
        folder,
        [{"fabricc.fabric.diff": {"before": "build/zone", "after": "cluster.yaml"}}, build()],
        "--check", "--diff",
    )  # fmt: skip
    changed = [path for path in would["changed_files"] if path.startswith("switches/")]
    assert changed == ["switches/su001-tor1a/running-config.cfg"]
    assert "+   set community GSHUT additive" in review["_stdout"]
    assert "+   set community GSHUT additive" in review["groups"][0]["files"][0]["diff"]
    assert (review["changed"], review["devices_changed"], review["risk"]) == (False, 1, "low")
    assert review["groups"][0]["devices"] == ["su001-tor1a"]
    (folder / "build/zone" / changed[0]).write_text("edited\n")
    (mended,) = play_tasks(folder, [build()], "--check")
    assert changed[0] in mended["changed_files"]


def test_ansible_build_fails_with_findings_and_check_mode_writes_nothing(folder: Path) -> None:
    (folder / "cluster.yaml").write_text(SPEC.replace("7060x6", "7060x7", 1))
    failed = run_alone(folder, "build", spec="cluster.yaml")
    assert failed["failed"]
    (error,) = (each for each in failed["findings"] if each["severity"] == "error")
    assert error["code"] in failed["msg"]
    assert error["line"] == 3
    assert not (folder / "build").exists()
    (folder / "cluster.yaml").write_text(SPEC)
    would = run_alone(folder, "build", spec="cluster.yaml", _ansible_check_mode=True)
    assert (would["changed"], (folder / "build").exists(), (folder / "fabricc.lock").exists()) == (
        True,
        False,
        False,
    )


@pytest.mark.slow
def test_in_check_mode_tasks_work_on_what_the_build_would_write(folder: Path) -> None:
    def check(tree: object, **options: object) -> Any:
        return run_alone(folder, "check", tree=str(tree), _ansible_check_mode=True, **options)

    first = run_alone(folder, "build", spec="cluster.yaml", _ansible_check_mode=True)
    assert check(first["tree"])["files"] == first["files"]
    assert not (folder / "build").exists()
    assert not (folder / "fabricc.lock").exists()
    failed = check("build/zone")
    assert failed["msg"].startswith("FAB6013")
    assert failed["msg"].endswith("use the path `tree` that it returns.")
    assert run_alone(folder, "build", spec="cluster.yaml")["changed"]
    lock = (folder / "fabricc.lock").read_text()
    (folder / "cluster.yaml").write_text(SPEC + "overrides: {su001-tor1a: {drain: true}}\n")
    second = run_alone(folder, "build", spec="cluster.yaml", _ansible_check_mode=True, _ansible_diff=True)
    assert check(second["tree"])["files"] == second["files"]
    push = run_alone(folder, "push", tree=second["tree"], access="none.yaml", _ansible_check_mode=True)
    assert "FAB9120" not in push["msg"]
    assert "none.yaml" in push["msg"]
    assert (folder / "fabricc.lock").read_text() == lock
    Path(second["tree"], "manifest.json").write_text("{}")
    assert check(second["tree"])["failed"]


@pytest.mark.slow
def test_check_mode_removes_the_trees_of_earlier_days(folder: Path) -> None:
    old, new = (
        Path(run_alone(folder, "build", spec="cluster.yaml", _ansible_check_mode=True)["tree"])
        for _ in range(2)
    )
    os.utime(old.parents[1], (0, 0))
    run_alone(folder, "build", spec="cluster.yaml", _ansible_check_mode=True)
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.slow
def test_check_mode_refuses_what_a_build_refuses_and_looks_through_no_link(folder: Path) -> None:
    (folder / "secret").write_text("of somebody else\n")
    tree = folder / "build" / "zone"
    tree.mkdir(parents=True)
    (tree / "manifest.json").write_text(json.dumps({"files": {"../../secret": ""}}))
    would, does = (
        run_alone(folder, "build", spec="cluster.yaml", _ansible_check_mode=check, _ansible_diff=True)
        for check in (True, False)
    )
    assert (would["failed"], would["findings"]) == (True, does["findings"])
    assert "FAB9037" in would["msg"]  # a tree without a lock
    (tree / "manifest.json").unlink()
    (tree / "secret").symlink_to(folder / "secret")
    assert "FAB7002" in run_alone(folder, "build", spec="cluster.yaml", _ansible_check_mode=True)["msg"]
    shutil.rmtree(tree)
    assert run_alone(folder, "build", spec="cluster.yaml")["changed"]
    before = {path: path.stat().st_mtime_ns for path in tree.rglob("*")}
    (tree / "switches/secret").symlink_to(folder / "secret")
    (tree / "switches/mine").write_text("kept\n")
    (folder / "cluster.yaml").write_text(SPEC + "overrides: {su001-tor1a: {drain: true}}\n")
    would = run_alone(folder, "build", spec="cluster.yaml", _ansible_check_mode=True, _ansible_diff=True)
    assert (would["changed"], "switches/mine" in would["changed_files"]) == (True, False)
    assert "somebody else" not in json.dumps(would)
    assert str(folder) not in json.dumps(would["findings"])
    assert {path: path.stat().st_mtime_ns for path in before if path.name != "switches"} == {
        path: time for path, time in before.items() if path.name != "switches"
    }
    assert (tree / "switches/su001-tor1a/running-config.cfg").stat().st_nlink == 1


@pytest.mark.slow
def test_check_mode_copies_plain_files_of_a_bounded_size(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT))
    try:
        from ansible_collections.fabricc.fabric.plugins.modules import build as module
    finally:
        sys.path.remove(str(ROOT))
    tree = tmp_path / "tree"
    (tree / "switches").mkdir(parents=True)
    (tree / "switches/a").write_text("a\n")
    os.mkfifo(tree / "switches/fifo")
    (tree / "link").symlink_to("/etc")
    with (tree / "sparse").open("wb") as file:
        file.truncate(8 << 30)
    deep = tree
    for _ in range(1200):
        deep /= "d"
        deep.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(OSError("another file system")))
        module.copy_tree(tree, tmp_path / "copy")
    copy = tmp_path / "copy"
    assert (copy / "switches/a").read_text() == "a\n"
    assert (copy / "link").is_symlink()
    assert not (copy / "switches/fifo").exists()
    assert (copy / "sparse").stat().st_blocks == 0
    (copy / "switches/a").write_text("b\n")
    (copy / "sparse").unlink()
    (copy / "sparse").symlink_to("link")
    found, shown = module.compare_trees(copy, tree)
    assert found == ["sparse", "switches/a"]
    assert len(shown[0]["before"]) == module.SHOWN
    for top in (tree, copy):
        for path in [path for path, entry in module.entries_below(top) if entry.name == "d"][::-1]:
            (top / path).rmdir()


@pytest.mark.parametrize("dest", ["cluster.yaml", "x" * 5000])
def test_check_mode_needs_a_folder_to_build_in(folder: Path, dest: str) -> None:
    failed = run_alone(folder, "build", spec="cluster.yaml", dest=dest, _ansible_check_mode=True)
    assert (failed["failed"], "is no folder" in failed["msg"]) == (True, True)


@pytest.mark.slow
def test_a_task_that_cannot_begin_has_findings(folder: Path) -> None:
    for module in ("check", "push"):
        failed = run_alone(folder, module, tree="nothing")
        assert [each["code"] for each in failed["findings"]] == ["FAB6013"]
        assert failed["msg"].startswith("FAB6013: nothing is not an output tree")
    assert run_alone(folder, "push", tree="nothing", keep="most")["findings"] == []
    for check in (True, False):
        failed = run_alone(folder, "build", spec="cluster.yaml", dest="a\0b", _ansible_check_mode=check)
        assert (failed["failed"], failed["msg"]) == (
            True,
            r"dest: 'a\x00b' holds a NUL, so nothing is called that",
        )


def test_half_of_a_surrogate_pair_is_rejected(folder: Path) -> None:
    failed = run_alone(folder, "push", tree="nothing", only=["a\ud800b"])
    assert failed["msg"] == r"only: 'a\ud800b' has a character that no name can contain"


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    found = Network.start(tmp_path)
    yield found
    found.stop()


@pytest.mark.slow
def test_ansible_push_changes_once_and_check_mode_returns_diffs(network: Network) -> None:
    network.edit(HITLESS)
    push = {
        "tree": str(network.source.tree), "spec": str(network.spec), "journal": str(network.journal),
        "settle": 2, "drain_wait": 0, "confirm_within": 10, "keep": "50%", "adopt": True,
        "access": str(network.access),
    }  # fmt: skip
    task = {"fabricc.fabric.push": push}
    tasks = [build(spec=str(network.spec)), {"fabricc.fabric.push": push | {"tree": "{{ r0.tree }}"}}]
    built, previewed = play_tasks(network.folder, tasks, "--check")
    assert (built["changed"], set(previewed["switches"])) == (True, set(network.source.devices))
    (would,) = play_tasks(network.folder, [task], "--check", "--diff")
    switches = set(network.source.devices)
    assert (would["changed"], set(would["switches"])) == (True, switches)
    assert "+  transmit-interval 500" in would["_stdout"]
    assert {network.interval(name) for name in switches} == {"first"}
    pushed, again = play_tasks(network.folder, [task, task])
    assert (pushed["changed"], pushed["states"]) == (True, {"confirmed": len(switches)})
    assert {network.interval(name) for name in switches} != {"first"}
    assert (again["changed"], again["states"]) == (False, {"unchanged": len(switches)})
    keys = network.folder / "allowed_signers"
    keys.write_text("nobody@example.org ssh-ed25519 AAAA\n")
    unsigned = play_tasks(
        network.folder, [{"fabricc.fabric.push": {**push, "require_signature": str(keys)}}]
    )[0]
    assert "FAB0050" in unsigned["msg"]
    refused = play_tasks(network.folder, [{"fabricc.fabric.push": {**push, "tree_digest": "0" * 64}}])[0]
    assert refused["failed"]
    assert "FAB9154" in refused["msg"]


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_ansible_doc_shows_every_option(module: str, tmp_path: Path) -> None:
    ran = run(tmp_path, "ansible-doc", "--json", f"fabricc.fabric.{module}")
    reported = json.loads(ran.stdout)[f"fabricc.fabric.{module}"]
    assert ran.returncode == 0, ran.stderr
    assert reported["doc"]["short_description"]
    assert set(reported["doc"]["attributes"]) == {"check_mode", "diff_mode"}
    assert reported["examples"]
    assert reported["return"]
    output = re.findall(
        r'^ {12}"(\w+)": \{', (COLLECTION / f"plugins/modules/{module}.py").read_text(), re.MULTILINE
    )
    assert set(output) <= set(reported["doc"]["options"])
    assert output


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [ROOT / "docs/ansible.md", COLLECTION / "README.md"], ids=lambda path: path.stem
)
def test_the_playbook_of_a_page_is_one(page: Path, tmp_path: Path) -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "play.yml").write_text(block)
    ran = run(tmp_path, "ansible-playbook", "-i", "localhost,", "--syntax-check", "play.yml")
    assert ran.returncode == 0, ran.stderr


OFFLINE = (
    "compile", "empty-init", "line-endings", "no-assert", "no-get-exception", "no-illegal-filenames", "no-smart-quotes",
    "replace-urlopen", "shebang", "symlinks", "use-argspec-type-path", "use-compat-six",
)  # fmt: skip
"""Of the tests of `ansible-test sanity`, those that fetch nothing."""


@pytest.mark.slow
def test_the_collection_is_sane_and_can_be_published(tmp_path: Path) -> None:
    place = tmp_path / "ansible_collections/fabricc/fabric"
    shutil.copytree(COLLECTION, place, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    subprocess.run(["git", "add", "-A"], cwd=place, check=True)
    wanted = [word for test in OFFLINE for word in ("--test", test)]
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    ran = run(place, "ansible-test", "sanity", "--python", version, *wanted)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr.count("Running sanity test") + ran.stdout.count("Running sanity test") == len(OFFLINE)
    made = run(place, "ansible-galaxy", "collection", "build", "--output-path", str(tmp_path))
    assert made.returncode == 0, made.stderr
    with tarfile.open(tmp_path / f"fabricc-fabric-{__version__}.tar.gz") as archive:
        names = archive.getnames()
    assert {f"plugins/modules/{module}.py" for module in MODULES} < set(names)


def test_the_collection_is_of_this_release() -> None:
    assert yaml.safe_load((COLLECTION / "galaxy.yml").read_text())["version"] == __version__
    assert MODULES == ["build", "check", "diff", "push"]
