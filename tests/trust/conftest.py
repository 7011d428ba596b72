"""A cloned repository next to a user's own files, and the command line run in it."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.templating import set_template_path
from fabricc.cli.entry import run

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """\
cluster: lab
gpus: {model: lab-host, hosts: 4, hosts_per_unit: 2}
tors: {model: linux-16x100, nos: frr}
spines: {model: linux-16x100, nos: frr}
priorities:
  rdma: {dscp: 26}
  default: {}
"""
SECRET = "s3cret-of-the-user"


@dataclass(frozen=True)
class Clone:
    """A clone with a built tree, and the user's files outside of it."""

    top: Path
    home: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def tree(self) -> Path:
        """The tree that came with the clone."""
        return self.top / "build" / "lab"

    @property
    def secret(self) -> Path:
        """A file of the user's that no verb has to do with."""
        return self.home / "secret"

    def fabricc(self, *arguments: str) -> tuple[int, str]:
        """Exit status and everything that was printed; the user's files are as they were, and not printed."""
        before = folder_contents(self.home, state=False)
        self.capsys.readouterr()
        try:
            status = run(list(arguments))
        finally:
            set_template_path(())  # of `--templates`
        reported = "".join(self.capsys.readouterr())
        assert folder_contents(self.home, state=False) == before
        assert SECRET not in reported
        assert "FAB7999" not in reported, reported
        assert "Traceback" not in reported, reported
        return status, reported

    def reading(self, *arguments: str) -> tuple[int, str]:
        """As `fabricc`, of a verb that reads: nothing in the clone changes either."""
        before = folder_contents(self.top)
        done = self.fabricc(*arguments)
        assert folder_contents(self.top) == before
        return done


def folder_contents(top: Path, *, state: bool = True) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: mode, and target, bytes or nothing."""
    found: dict[str, tuple[object, ...]] = {}
    waiting = [top]
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            if path.name == "state" and not state:
                continue
            what: object = None
            if path.is_symlink():
                what = path.readlink()
            elif path.is_dir():
                waiting.append(path)
            elif path.is_file() and path.stat().st_size < 1 << 24:
                what = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path)] = (path.lstat().st_mode, what)
    return found


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what somebody else pushed: a spec, its lock and its tree."""
    top = tmp_path_factory.mktemp("theirs") / "clone"
    (top / ".git").mkdir(parents=True)
    (top / "cluster.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(top.parent / "their-state"))
        assert run(["build", str(top / "cluster.yaml"), "-o", str(top / "build")]) == 0
    for left in (top / "build").glob(".*"):
        left.unlink()
    return top


@pytest.fixture
def clone(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Clone:
    top, home = tmp_path / "clone", tmp_path / "home"
    shutil.copytree(built, top, symlinks=True)
    home.mkdir()
    (home / "secret").write_text(f"{SECRET}\n")
    (home / "secret").chmod(0o600)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.chdir(top)
    return Clone(top, home, capsys)
