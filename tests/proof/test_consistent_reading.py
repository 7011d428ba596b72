"""Readers of a built tree give no verdict that mixes the files of two builds."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabricc.audit.run import audit_fabric
from fabricc.base.diagnostics import FindingsError
from fabricc.base.foreign.files import Folder
from fabricc.cli.entry import run
from fabricc.compiler.recheck import check_tree
from fabricc.interface import read_folder
from fabricc.operate.push.built_tree import read_source
from fabricc.proof import tree as reading
from fabricc.proof.signatures import sign_tree
from fabricc.review.explain.answer import answer_question
from fabricc.tree import folders
from fabricc.tree.exclusive import hold_lock, is_building
from tests.trust.conftest import SPEC

LINE = "switches/spine01a/frr.conf"


@dataclass
class Build:
    """A built tree, and a second build that can take its place while a verb reads."""

    top: Path

    @property
    def tree(self) -> Path:
        """The tree that verbs read."""
        return self.top / "build" / "lab"

    def finish(self) -> None:
        """Do what the second build does at its end: write the lock, then exchange the trees."""
        self.change_inputs()
        folders.install_tree(self.top / "later" / "build" / "lab", self.tree, self.top / "aside")

    def change_inputs(self) -> None:
        """Edit the spec, and write the lock as the second build does."""
        for name in ("cluster.yaml", "fabricc.lock"):
            shutil.copy(self.top / "later" / name, self.top / name)

    def finish_amid(
        self, monkeypatch: pytest.MonkeyPatch, file: str = "frr.conf", digest: bool = True
    ) -> None:
        """Let the second build end after a verb reads the first file of a name, or takes its digest."""
        calls = {"read": Folder.read} | ({"digest": Folder.digest} if digest else {})
        ended: list[str] = []

        def wrapped(name: str) -> Callable[..., object]:
            def call(folder: Folder, path: str, **limits: int) -> object:
                found = calls[name](folder, path, **limits)
                if path.endswith(file) and not ended:
                    ended.append(path)
                    self.finish()
                return found

            return call

        for name in calls:
            monkeypatch.setattr(Folder, name, wrapped(name))


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    monkeypatch.setattr(reading, "_PAUSE_S", 0.0)
    for folder, hosts in ((tmp_path, 4), (tmp_path / "later", 6)):
        folder.mkdir(exist_ok=True)
        (folder / "cluster.yaml").write_text(SPEC.replace("hosts: 4", f"hosts: {hosts}"))
        assert run(["build", str(folder / "cluster.yaml"), "-o", str(folder / "build")]) == 0
    return Build(tmp_path)


def test_verify_and_push_read_one_build(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    build.finish_amid(monkeypatch)
    assert len(read_source(build.tree).fabric.units) == 3


def test_an_explained_line_is_of_one_build(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    build.finish_amid(monkeypatch)
    assert answer_question(f"{build.tree}/{LINE}:1").findings == ()


@pytest.mark.parametrize("folder", ["", "switches", "..", "switches/spine01a"])
@pytest.mark.spread
def test_an_audit_reads_one_build(build: Build, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    place = build.tree / folder
    build.finish_amid(monkeypatch)
    found = audit_fabric(place, jobs=1)
    assert not [each for each in found.diagnostics if each.code == "FAB9501"]
    monkeypatch.undo()
    assert {each.message for each in found.diagnostics} == {
        each.message for each in audit_fabric(place).diagnostics
    }


def test_a_folder_is_read_as_one_build(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    build.finish_amid(monkeypatch)
    assert len([name for name in read_folder(build.tree, jobs=1).devices if "host" in name]) == 6


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_signature_is_of_one_build(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    key = build.top / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True, timeout=60)
    build.finish_amid(monkeypatch, "manifest.json", digest=False)
    assert sign_tree(build.tree, key)[1].startswith(b"-----BEGIN SSH SIGNATURE")


def test_no_verdict_compares_the_old_tree_with_the_new_lock(build: Build) -> None:
    with hold_lock(build.tree):
        assert is_building(build.tree)
        build.change_inputs()
        with pytest.raises(FindingsError) as refused:
            read_source(build.tree)
        assert [each.code for each in refused.value.diagnostics] == ["FAB6020"]
        assert [each.code for each in check_tree(build.tree)[0].diagnostics] == ["FAB6020"]
    assert not is_building(build.tree)
    assert "FAB6014" in [each.code for each in check_tree(build.tree)[0].diagnostics]
    with pytest.raises(FindingsError, match="another state"):
        read_source(build.tree)


def test_an_audit_needs_no_end_of_a_build(build: Build) -> None:
    with hold_lock(build.tree):
        assert audit_fabric(build.tree).diagnostics is not None


@pytest.mark.parametrize("name", ["fifo", "link", "folder"])
def test_invalid_lock_files_hold_no_lock(build: Build, name: str) -> None:
    lock = build.tree.with_name(".lab.lock")
    lock.unlink()
    if name == "fifo":
        subprocess.run(["mkfifo", lock], check=True, timeout=60)
    elif name == "link":
        lock.symlink_to(build.top / "cluster.yaml")
    else:
        lock.mkdir()
    assert not is_building(build.tree)
