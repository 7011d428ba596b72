"""A spec as a Git revision has it: objects read into a folder of our own, the work tree and index untouched."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.foreign import git
from fabricc.base.foreign.git import GitError
from fabricc.base.values import dataclass
from fabricc.compiler.finding import LOCK_NAME, own_lock
from fabricc.front.spec.load import read_spec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LARGEST = 256 << 20


def unreadable(error: GitError) -> Diagnostic:
    """FAB9020: why a revision, or a file of it, cannot be read."""
    return Diagnostic("FAB9020", Severity.ERROR, str(error), None, error.help)


@dataclass(frozen=True, slots=True)
class SpecHistory:
    """A spec's folder in the repository that has it."""

    repository: git.Repository

    @staticmethod
    def of(spec: Path) -> SpecHistory:
        """The history of the spec's folder; the spec need not be there, and a link in its place is not followed.

        Raises:
            GitError: there is no repository, or no git.
        """
        return SpecHistory(git.Repository.of(spec.parent))

    @property
    def prefix(self) -> str:
        """The spec's folder below the top of the repository, "" or ending in `/`."""
        return self.repository.prefix

    def commit(self, revision: str) -> str:
        """The commit of a revision.

        Raises:
            GitError: there is no such commit here.
        """
        return self.repository.commit(revision)

    def merge_base(self, revision: str, head: str = "HEAD") -> str:
        """Where the head's history left the revision, as a pull request compares; else the revision itself."""
        commit = self.commit(revision)
        return self.repository.merge_base(commit, self.commit(head)) or commit

    def file(self, commit: str, name: str) -> bytes | None:
        """The bytes of a file beside the spec in a commit; None where that commit has none.

        Raises:
            GitError: it is a link or a folder, or is too large.
        """
        entry = self.repository.entry(commit, f"{self.prefix}{posixpath.normpath(name)}")
        return self.repository.blob(entry) if entry else None

    def extract(self, commit: str, spec: Path, folder: Path) -> Path | None:
        """Put the spec of a commit, its lock and its catalog files into `folder`; None where it has no such spec.

        Raises:
            GitError: a file is no regular one, or too large, or all are too large together.
        """
        text = self.file(commit, spec.name)
        if text is None:
            return None
        target = folder / spec.name
        target.write_bytes(text)
        room = _LARGEST
        for name in dict.fromkeys((LOCK_NAME, own_lock(spec).name, *_named(text))):
            if (content := self.file(commit, name)) is not None:
                room -= len(content)
                if room < 0:
                    raise GitError(f"the files of {spec.name} are larger than {_LARGEST >> 20} MiB together")
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        return target


def _named(text: bytes) -> Iterator[str]:
    """Catalog files, overlays and GUIDs that the spec names, all of them below its folder."""
    spec = read_spec(text, "base").spec
    if spec is None:
        return iter(())
    guids = spec.infiniband and spec.infiniband.guids
    overlays = (entry.file for entry in spec.overlays)
    names = (*spec.catalog_files, *overlays, *spec.identity_files, *((guids,) if guids else ()))
    return (name for name in names if _below(name))


def _below(name: str) -> bool:
    return not name.startswith("/") and ".." not in name.split("/") and posixpath.normpath(name) != "."
