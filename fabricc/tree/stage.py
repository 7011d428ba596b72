"""Keep the files of a build until all are proved: in memory, or in a hidden folder that then takes the tree's place.

Only what differs from the present tree is written to it; the rest is hard-linked when the build commits, so
that an unchanged file keeps its inode and times, and a build that changes nothing touches nothing.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.tree import EmitError, folders, name_failures
from fabricc.tree import manifest as manifests
from fabricc.tree.manifest import Manifest, checked_cluster, checked_path

if TYPE_CHECKING:
    from pathlib import Path


CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to create a file of a tree: always new, never through a link."""
_NO_LINK = (errno.EPERM, errno.EXDEV, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS)
_OUR_FOLDERS = tuple(f"{name}/" for name in manifests.FOLDERS)
_LISTED = 3


Parts = Callable[[], Iterable[bytes]]
"""The content of a file in parts; every call starts again."""


class StagedFile(NamedTuple):
    """One file of the new tree: path, SHA-256 (hex), and how it relates to the file that stood there."""

    path: str
    sha256: str
    changed: bool
    edited: bool


class Content(NamedTuple):
    """A file of a folder to be staged."""

    name: str
    content: bytes
    sha256: str
    mode: int


@dataclass(frozen=True, slots=True)
class Committed:
    """The effect of a commit on the tree: numbers of files, and warnings about foreign files."""

    written: int
    kept: int
    removed: int
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(slots=True)
class Stage:
    """The new tree next to the old one; make it with `Stage.open` while holding the tree's lock.

    Attributes:
        target: the visible folder.
        folder: the hidden folder written to; `aside`: the place of the old tree if folders cannot be swapped.
        present: regular files in the present tree; `links`: links and other oddities, never followed.
        before: the present tree's manifest, when it can be read.
        spare: folders of an earlier tree that the stage still has.
    """

    target: Path
    folder: Path
    aside: Path
    present: frozenset[str]
    links: frozenset[str]
    before: Manifest | None
    spare: frozenset[str]
    _made: set[str] = field(default_factory=set)

    @staticmethod
    def open(out: Path, cluster: str) -> Stage:
        """Return an empty stage for `out/cluster`, and clear the remains of a killed build.

        Raises:
            EmitError: FAB7001, FAB7002 (the folder there is not an output tree), FAB7004 (bad name), FAB7009 (a mount).
        """
        name = checked_cluster(cluster)
        target, folder, aside = out / name, out / f".{name}.next", out / f".{name}.old"
        for each in (target, folder, aside):
            folders.refuse_mounts(each)
        try:
            folders.recover_tree(target, aside)
            before = _read_manifest(target)
            folders.remove_path(aside)
            spare = folders.remove_files(folder)
            found = folders.walk_folder(target)
        except OSError as error:
            raise EmitError.from_os(error) from None
        present, links = frozenset(found.files), frozenset(found.links)
        return Stage(target, folder, aside, present, links, before, frozenset(spare), set(spare))

    def put(self, path: str, content: bytes, *, mode: int = 0o644, sha256: str = "") -> StagedFile:
        """Stage one file, unless the present tree has the same bytes and mode there.

        `sha256` is the digest of the content, if the caller has it.

        Raises:
            EmitError: FAB7004, the path is not a plain one inside the tree.
            OSError: it cannot be written; nothing of the present tree has changed.
        """
        digest = sha256 or hashlib.sha256(content).hexdigest()
        edited = False
        if path in self.present:
            found, runs = read_existing(f"{self.target}/{path}")
            if found == content and runs == bool(mode & 0o100):
                return StagedFile(path, digest, changed=False, edited=False)
            stated = self.before.files.get(path) if self.before else None
            edited = stated is not None and found is not None and hashlib.sha256(found).hexdigest() != stated
        self._make_folders(checked_path(path))
        _make_file(f"{self.folder}/{path}", content, mode)
        return StagedFile(path, digest, True, edited)

    def put_parts(self, path: str, parts: Parts) -> StagedFile:
        """Put a file that comes in parts and is never held as a whole.

        Raises:
            EmitError, OSError: as `put`.
        """
        edited = False
        if path in self.present:
            found, digest = _digest_file(f"{self.target}/{path}"), _digest_parts(parts(), None)
            if found == (digest, False):
                return StagedFile(path, digest, changed=False, edited=False)
            stated = self.before.files.get(path) if self.before else None
            edited = stated is not None and found is not None and found[0] != stated
        self._make_folders(checked_path(path))
        place = f"{self.folder}/{path}"
        with name_failures(place), os.fdopen(os.open(place, CREATE, 0o644), "wb") as file:
            return StagedFile(path, _digest_parts(parts(), file), True, edited)

    def put_folder(self, folder: str, contents: Sequence[Content]) -> list[StagedFile]:
        """Stage a folder of files, whose names may have folders too, as `put` does.

        In a new tree by the open folder and names checked once for all folders of such: 10.9 us of CPU for each of a
        host's files where one path after the other takes 12.8 (least of six runs in turn).

        Raises:
            EmitError, OSError: as `put`.
        """
        if self.present:
            return [
                self.put(f"{folder}/{name}", content, mode=mode, sha256=sha256)
                for name, content, sha256, mode in contents
            ]
        self._make_folders(f"{checked_path(folder)}/")
        top = os.open(f"{self.folder}/{folder}", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for below in _folders_of(tuple([each.name for each in contents])):
                try:  # noqa: SIM105 - a hot path, as is mkdir
                    os.mkdir(below, dir_fd=top)
                except FileExistsError:
                    pass
            for name, content, _, mode in contents:
                _make_file(name, content, mode, top)
        except OSError as error:
            error.filename = f"{self.folder}/{folder}/{error.filename}"
            raise
        finally:
            os.close(top)
        return [StagedFile(f"{folder}/{name}", sha256, True, False) for name, _, sha256, _ in contents]

    def commit(self, manifest: Manifest, changed: int) -> Committed:
        """Finish the tree: the files of the manifest, the manifest, and foreign files.

        Args:
            manifest: of the new tree.
            changed: how many files were staged because they differ (see `StagedFile.changed`).

        Raises:
            EmitError: FAB7001; the present tree is as it was.
        """
        try:
            return self._commit_tree(manifest, changed)
        except OSError as error:
            raise EmitError.from_os(error) from None

    def _commit_tree(self, manifest: Manifest, changed: int) -> Committed:
        written = changed + self.put_parts(manifests.NAME, manifest.parts).changed
        ours = {*manifest.files, manifests.NAME}
        mine_before = self._former_files()
        foreign = sorted(p for p in self.present | self.links if p not in ours and p not in mine_before)
        self._refuse_conflicts(ours, foreign)
        stale = sum(1 for path in self.present if path in mine_before and path not in ours)
        diagnostics = (
            *_foreign_file_findings(self.target, foreign),
            *_replaced_link_findings(self.target, ours & self.links),
        )
        if not written and not stale:
            folders.retire_folder(self.folder)
            return Committed(0, len(ours), 0, diagnostics)
        for path in [*sorted(ours & self.present), *foreign]:
            self._carry_file(path)
        if self.spare:
            folders.prune_folders(self.folder, self.spare - folders.folders_above([*ours, *foreign]))
        folders.install_tree(self.folder, self.target, self.aside)
        with suppress(OSError):  # the new tree is in place; the next build clears the rest
            folders.retire_folder(self.folder)
            folders.remove_path(self.aside)
        return Committed(written, len(ours) - written, stale, diagnostics)

    def abandon(self) -> None:
        """Drop the stage; the present tree is untouched."""
        with suppress(OSError):
            folders.retire_folder(self.folder)

    def _former_files(self) -> set[str]:
        if self.before is not None:
            return {*self.before.files, manifests.NAME}
        return {p for p in self.present if p.startswith(_OUR_FOLDERS) or p == manifests.NAME}

    def _refuse_conflicts(self, ours: set[str], foreign: list[str]) -> None:
        if not foreign:
            return
        needed = folders.folders_above(ours)
        for path in foreign:
            if folders.folders_above([path]) & ours or (path in needed and path not in self.links):
                message = (
                    f"{self.target / path} is in the place of a file of this build, and no build wrote it"
                )
                raise EmitError("FAB7002", message, "Move it away, then build again.")

    def _carry_file(self, path: str) -> None:
        old, new = f"{self.target}/{path}", f"{self.folder}/{path}"
        self._make_folders(path)
        try:
            os.link(old, new, follow_symlinks=False)
        except FileExistsError:
            return
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            if not os.path.lexists(new):  # what is staged already is the newer one
                shutil.copy2(old, new, follow_symlinks=False)

    def _make_folders(self, path: str) -> None:
        """Make the folders that a path needs; another worker may make the same ones."""
        missing = []
        while (path := path.rpartition("/")[0]) and path not in self._made:
            missing.append(path)
        for folder in reversed(missing):
            try:  # noqa: SIM105 - a hot path, as is mkdir
                os.mkdir(f"{self.folder}/{folder}")  # noqa: PTH102
            except FileExistsError:
                pass
            self._made.add(folder)


def _make_file(path: str, content: bytes, mode: int, folder: int | None = None) -> None:
    handle = os.open(path, CREATE, mode, dir_fd=folder)
    try:
        done = os.write(handle, content)
        while done < len(content):
            done += os.write(handle, content[done:])
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(handle)


@lru_cache(maxsize=256)
def _folders_of(paths: tuple[str, ...]) -> list[str]:
    """Return the folders that paths need, from the top down."""
    return sorted(folders.folders_above(map(checked_path, paths)))


def _read_manifest(target: Path) -> Manifest | None:
    """Return the manifest of the tree at `target`; None without a tree or with a damaged manifest.

    Raises:
        EmitError: FAB7002, what is there is not ours.
    """
    remedy = "Move it away, or choose another folder with `-o`."
    if target.is_symlink():
        raise EmitError("FAB7002", f"{target} is a symbolic link, not an output tree", remedy)
    if not target.exists():
        return None
    if not target.is_dir():
        raise EmitError("FAB7002", f"{target} is a file, not an output tree", remedy)
    content, _ = read_existing(f"{target}/{manifests.NAME}", manifests.LIMIT)
    if content is None:
        if any(target.iterdir()):
            raise EmitError("FAB7002", f"{target} has files but no manifest.json: not an output tree", remedy)
        return None
    try:
        return manifests.Manifest.parse(content)
    except ValueError as error:
        if manifests.is_manifest(content):
            return None
        raise EmitError(
            "FAB7002", f"{target}/manifest.json was not written by fabricc: {error}", remedy
        ) from None


def read_existing(path: str, limit: int = files.LIMIT) -> tuple[bytes | None, bool]:
    """Return the bytes of a file and whether it is executable; None for no file, a link, or an unusual size."""
    try:
        return files.read_regular_file(path, limit=limit)
    except OSError:
        return None, False


def _digest_file(path: str) -> tuple[str, bool] | None:
    """Return the SHA-256 (hex) of a file and whether it is executable; None for no file or a link."""
    try:
        return files.plain_digest(path)
    except OSError:
        return None


def _digest_parts(parts: Iterable[bytes], file: BinaryIO | None) -> str:
    """Return the SHA-256 (hex) of content that comes in parts, and write it to a file if there is one."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
        if file is not None:
            file.write(part)
    return digest.hexdigest()


def _replaced_link_findings(target: Path, replaced: set[str]) -> tuple[Diagnostic, ...]:
    message = "{} was a symbolic link and is now a file; its former target is unchanged"
    messages = (message.format(target / path) for path in sorted(replaced))
    return tuple(Diagnostic("FAB7005", Severity.WARNING, each) for each in messages)


def _foreign_file_findings(target: Path, foreign: Iterable[str]) -> tuple[Diagnostic, ...]:
    names = list(foreign)
    if not names:
        return ()
    message = f"{target} has files that no build wrote, kept as they are: {join_words(names, _LISTED)}"
    return (Diagnostic("FAB7007", Severity.WARNING, message, None, "Keep your own files outside the tree."),)


@dataclass(slots=True)
class MemoryStage:
    """Takes files as a stage does; `files`: path -> bytes and mode."""

    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)

    def put(self, path: str, content: bytes, *, mode: int = 0o644, sha256: str = "") -> StagedFile:
        """Keep one file.

        Raises:
            EmitError: FAB7004, the path is not a plain one.
        """
        self.files[checked_path(path)] = content, mode
        return StagedFile(path, sha256, changed=True, edited=False)
