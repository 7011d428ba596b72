"""A spec as a Git revision has it: objects read into a folder of our own, the work tree and index untouched."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from fabricc.build.front import LOCK_NAME
from fabricc.diagnostics import Diagnostic, Severity
from fabricc.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LARGEST = 64 << 20


class RevisionError(Exception):
    """The revision cannot be read; `diagnostic` says why."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic("FAB9020", Severity.ERROR, message, None, help)


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository of a spec.

    Attributes:
        folder: the spec's folder; `prefix`: the same below the top of the repository, "" or ending in `/`.
    """

    folder: Path
    prefix: str

    @staticmethod
    def of(spec: Path) -> Repository:
        """The repository that has the spec's folder.

        Raises:
            RevisionError: there is none, or no git.
        """
        folder = spec.resolve().parent
        prefix = _git(folder, "rev-parse", "--show-prefix")
        if prefix is None:
            raise RevisionError(f"{folder} is in no Git repository", "Give two specs instead of a revision.")
        return Repository(folder, prefix.decode().strip())

    def commit(self, revision: str) -> str:
        """The commit of a revision.

        Raises:
            RevisionError: there is no such commit here.
        """
        found = _git(
            self.folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
        if found is None:
            raise RevisionError(
                f"Git knows no revision {revision!r}",
                "Fetch it first: `git fetch origin main`; in CI, check out with the full history.",
            )
        return found.decode().strip()

    def merge_base(self, revision: str, head: str = "HEAD") -> str:
        """Where the head's history left the revision, as a pull request compares; else the revision itself."""
        commit = self.commit(revision)
        found = _git(self.folder, "merge-base", commit, self.commit(head))
        return found.decode().strip() if found else commit

    def blob(self, commit: str, path: str) -> bytes | None:
        """The bytes of a file beside the spec in a commit; None where that commit has none.

        Raises:
            RevisionError: it is too large.
        """
        name = f"{commit}:{self.prefix}{path}"
        size = _git(self.folder, "cat-file", "-s", name)
        if size is None or _git(self.folder, "cat-file", "-t", name) != b"blob\n":
            return None
        if int(size) > _LARGEST:
            raise RevisionError(f"{path} of {commit[:12]} is larger than {_LARGEST >> 20} MiB")
        return _git(self.folder, "cat-file", "blob", name)

    def extract(self, commit: str, spec: Path, folder: Path) -> Path | None:
        """Put the spec of a commit, its lock and its catalog files into `folder`; None where it has no such spec.

        Raises:
            RevisionError: a file is too large.
        """
        text = self.blob(commit, spec.name)
        if text is None:
            return None
        target = folder / spec.name
        target.write_bytes(text)
        for name in (LOCK_NAME, *_named(text)):
            if (content := self.blob(commit, name)) is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        return target


def _named(text: bytes) -> Sequence[str]:
    """Catalog files and overlays that the spec names, all of them below its folder."""
    from fabricc.spec.load import read_spec

    spec = read_spec(text, "base").spec
    names = (*spec.catalog_files, *(entry.file for entry in spec.overlays)) if spec else ()
    return [name for name in names if not name.startswith("/") and ".." not in name.split("/")]


def _git(folder: Path, *arguments: str) -> bytes | None:
    """The output of a reading git command, None when it fails; no pager, prompt, hook or lock."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command = ["git", "--no-pager", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False, env=environment)
    except FileNotFoundError:
        raise RevisionError("there is no `git` on this machine", "Install Git.") from None
    return done.stdout if done.returncode == 0 else None
