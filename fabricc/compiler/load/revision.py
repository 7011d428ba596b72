"""A spec as a Git revision has it: objects read into a folder of our own, the work tree and index untouched."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.foreign import git
from fabricc.base.foreign.git_process import GitError
from fabricc.base.values import dataclass, replace
from fabricc.compiler.load.spec_location import LOCK_NAME, own_lock
from fabricc.front.spec.load import read_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST = 256 << 20


def revision_finding(error: GitError) -> Diagnostic:
    """Return the finding for a revision, or a file of it, that cannot be read."""
    return Diagnostic(error.code, Severity.ERROR, str(error), None, error.help)


@dataclass(frozen=True, slots=True)
class SpecHistory:
    """A spec's folder in the repository that has it.

    Attributes:
        repository: its `prefix` is the spec's folder, which the work tree need not have.
        top: the top folder of the work tree.
    """

    repository: git.Repository
    top: Path

    @staticmethod
    def of(spec: Path) -> SpecHistory:
        """Return the history of the spec's folder.

        The spec and its folder may be missing from the work tree; a link in place of the spec is not followed.

        Raises:
            GitError: there is no repository, or no git.
        """
        folder = spec.parent
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        repository = git.Repository.of(folder)
        depth = repository.prefix.count("/")
        top = repository.folder.parents[depth - 1] if depth else repository.folder
        missing = [f"{part}/" for part in spec.parent.parts[len(folder.parts) :]]
        return SpecHistory(replace(repository, prefix="".join((repository.prefix, *missing))), top)

    def in_folder_of(self, path: str) -> SpecHistory:
        """Return the history of the folder of another file, whose path is below the top of the repository."""
        folder = path.rpartition("/")[0]
        return replace(self, repository=replace(self.repository, prefix=f"{folder}/" if folder else ""))

    @property
    def prefix(self) -> str:
        """The spec's folder below the top of the repository, "" or ending in `/`."""
        return self.repository.prefix

    def commit(self, revision: str) -> str:
        """Return the commit of a revision.

        Raises:
            GitError: there is no such commit here.
        """
        return self.repository.commit(revision)

    def file(self, commit: str, name: str) -> bytes | None:
        """Return the bytes of a file in the spec's folder of a commit; None if the commit lacks it.

        Raises:
            GitError: it is a link or a folder, is too large, or is in another repository.
        """
        entry = self.repository.entry(commit, f"{self.prefix}{posixpath.normpath(name)}")
        return self.repository.blob(entry) if entry else None

    def inputs(self, commit: str, name: str) -> frozenset[str]:
        """Return the paths below the top of the repository of everything that a compilation of a spec reads.

        Raises:
            GitError: as `file`.
        """
        text = self.file(commit, name)
        names = (name, *_input_names(text or b"", Path(name)))
        return frozenset(f"{self.prefix}{posixpath.normpath(each)}" for each in names)

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
        for name in _input_names(text, spec):
            if (content := self.file(commit, name)) is not None:
                room -= len(content)
                if room < 0:
                    raise GitError(f"the files of {spec.name} are larger than {_LARGEST >> 20} MiB together")
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        return target


def _input_names(text: bytes, spec: Path) -> Iterator[str]:
    """Yield the names of files in the spec's folder that a compilation reads, each once."""
    return iter(dict.fromkeys((LOCK_NAME, own_lock(spec).name, *_named_files(text))))


def _named_files(text: bytes) -> Iterator[str]:
    """Catalog files, overlays and GUIDs that the spec names, all of them below its folder."""
    spec = read_spec(text, "base").spec
    if spec is None:
        return iter(())
    guids = spec.infiniband and spec.infiniband.guids
    overlays = (entry.file for each in (spec, *spec.networks.values()) for entry in each.overlays)
    names = (*spec.catalog_files, *overlays, *spec.identity_files, *((guids,) if guids else ()))
    return (name for name in names if _below_folder(name))


def _below_folder(name: str) -> bool:
    return not name.startswith("/") and ".." not in name.split("/") and posixpath.normpath(name) != "."
