"""Read the commits, the index and the files of a repository, see `git_process` for how Git is run."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabricc.base.foreign import files, git_objects, git_process
from fabricc.base.foreign.git_parts import RepositoryParts
from fabricc.base.foreign.shell import shell_path, shell_word
from fabricc.base.values import dataclass

_CLONE = "Name a spec in a work tree; `git worktree add FOLDER REVISION` makes one."
_FORMS = ("refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
"""The references that a name stands for, in the order of Git, see gitrevisions(7)."""
_NAME = re.compile(r"(?:[^~^:@]|@(?!\{))+")
_SHORT_NAME = re.compile(r"[0-9a-f]{4,39}")


@dataclass(frozen=True, slots=True)
class Change:
    """A file that differs between two commits, or between a commit and the work tree.

    Attributes:
        path: below the top of the repository; bytes that are no UTF-8 as lone surrogates.
        before, after: the name of the object, "" where a side has no such file or is the work tree.
        kind: `added`, `changed` or `removed`.
    """

    path: str
    before: str
    after: str
    kind: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a work tree, found from a folder inside that.

    Attributes:
        folder: where it was looked for; `prefix`: the same below the top of the repository, "" or ending in `/`.
    """

    folder: Path
    prefix: str

    @staticmethod
    def of(folder: Path) -> Repository:
        """The repository that has the folder in its work tree.

        Raises:
            GitError: there is none, it is bare, it belongs to somebody else or to another folder, or there is no git.
        """
        folder = folder.resolve()
        if not str(folder).isprintable():
            raise git_process.GitError(
                f"{str(folder)!r} is not a folder name that fabricc passes to Git", "Rename it."
            )
        requested = (
            "--is-inside-work-tree",
            "--is-bare-repository",
            "--absolute-git-dir",
            "--git-common-dir",
            "--show-prefix",
        )
        answer = git_process.run_unwatched(folder, "rev-parse", "--path-format=absolute", *requested)
        if answer.status:
            raise _no_repository(folder, answer.stderr)
        lines = os.fsdecode(answer.out).split("\n")
        if len(lines) != len(requested) + 1:  # a folder of a `.git` file may have line feeds in its name
            raise git_process.GitError(
                f"the Git repository of {folder} has a folder whose name fabricc does not read", _CLONE
            )
        inside, bare, own, common, prefix, _ = lines
        if (inside, bare) != ("true", "false") or folder.is_relative_to(own):
            raise git_process.GitError(f"{folder} is inside a Git repository without a work tree", _CLONE)
        top = ([folder, *folder.parents])[prefix.count("/")]
        if not os.path.lexists(top / ".git"):  # `core.worktree` of a repository elsewhere
            raise git_process.GitError(
                f"{folder} is in the work tree of a Git repository that is not at its top", _CLONE
            )
        git_process.watch_repository(
            parts := RepositoryParts(folder, top, Path(own), Path(common)), folder, top
        )
        parts.check()
        return Repository(folder, prefix)

    @property
    def top(self) -> Path:
        """The top of the work tree."""
        depth = self.prefix.count("/")
        return self.folder.parents[depth - 1] if depth else self.folder

    def commit(self, revision: str) -> str:
        """Return the name of the commit that a revision means.

        Raises:
            GitError: there is no such commit here, or two references of this name are at different ones.
        """
        if revision and not revision.startswith("-") and revision.isprintable():
            name = _NAME.match(revision)
            if name is not None and name[0] != "HEAD" and not name[0].startswith("refs/"):
                self._check_name(name[0])
            requested = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
            answer = git_process.run_git(self.folder, *requested)
            found = os.fsdecode(answer.out).strip()
            if answer.status == 0 and git_objects.is_object_name(found):
                return found
        remedy = "Fetch it first: `git fetch origin main`; in CI, check out with the full history."
        if revision == "HEAD":
            remedy = "Commit the spec first: `git add --all`, `git commit`."
        raise git_process.GitError(f"Git finds no revision {revision!r}", remedy)

    def _check_name(self, name: str) -> None:
        """Raise an error where a name stands for several references, of which Git would take one without a word.

        Whoever may push a tag could otherwise choose the base of every review: a tag `main` counts before the branch.
        """
        named = [form.format(name) for form in _FORMS]
        answer = git_process.run_git(
            self.folder, "for-each-ref", "--format=%(objectname) %(*objectname) %(refname)", *named
        )
        rows = [os.fsdecode(line).split(" ") for line in answer.out.splitlines()]
        commits = {row[2]: row[1] or row[0] for row in rows if len(row) == 3 and row[2] in named}
        if commits and _SHORT_NAME.fullmatch(name):
            requested = ("rev-parse", f"--disambiguate={name}")
            commits |= {
                each: each for each in os.fsdecode(git_process.run_git(self.folder, *requested).out).split()
            }
        if len(set(commits.values())) > 1:
            first, second, *_ = commits
            message = f"{name!r} means {first} and {second}, which are different commits"
            raise git_process.GitError(message, f"Name one of them: `{shell_word(first)}`.")

    def entry(self, commit: str, path: str) -> git_objects.Entry | None:
        """Return what a commit has at `path`, below the top of the repository; None when it has nothing there.

        Raises:
            GitError: the path climbs, or the commit's folders are not here.
        """
        _check_path(path)
        return next((each for each in self._list_folder(commit, path) if each.path == path), None)

    def entries(self, commit: str, folder: str) -> list[git_objects.Entry]:
        """Return all that a commit has below a folder, at any depth; where the folder itself is none, that one entry.

        Raises:
            GitError: as `entry`; or there is more than a listing of 64 MiB.
        """
        _check_path(folder)
        return self._list_folder(commit, folder, "-r")

    def all_entries(self, commit: str) -> list[git_objects.Entry]:
        """Return everything that a commit or tree has, at any depth, in the folder that may be read.

        Raises:
            GitError: its folders are not here, or the listing is larger than 64 MiB.
        """
        return [each for each in self._list_tree(commit, "", "-r") if self._may_read(each.path)]

    def changes(self, before: str, after: str) -> list[Change]:
        """Return the files that differ between two commits or trees; a file that moved is removed and added.

        Raises:
            GitError: their folders are not here, or the listing is larger than 64 MiB.
        """
        if not (git_objects.is_object_name(before) and git_objects.is_object_name(after)):
            raise git_process.GitError(f"{before!r} or {after!r} is not a name of a commit or tree")
        options = (
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-ext-diff",
            "--ignore-submodules=none",
            "-O/dev/null",
        )
        answer = git_process.run_git(
            self.folder, "diff-tree", *options, before, after, limit=git_objects.LARGEST
        )
        if answer.status:
            raise git_objects.missing_object_error(f"the changes from {before[:12]} to {after[:12]}")
        rows = answer.out.split(b"\0")
        found = [_parse_change(row, path) for row, path in zip(rows[::2], rows[1::2], strict=False)]
        return [each for each in found if self._may_read(each.path)]

    def list_work_files(self) -> list[str]:
        """Return the files of the index and those of the work tree that no rule ignores, below the top.

        Raises:
            GitError: they cannot be listed.
        """
        requested = (
            "ls-files",
            "-z",
            "--full-name",
            "--cached",
            "--others",
            "--exclude-per-directory=.gitignore",
        )
        answer = git_process.run_git(self.top, *requested, limit=git_objects.LARGEST)
        if answer.status:
            raise _no_repository(self.top, answer.stderr)
        found = dict.fromkeys(os.fsdecode(path) for path in answer.out.split(b"\0") if path)
        return [path for path in found if self._may_read(path)]

    def deleted_files(self) -> list[str]:
        """Return the files of the commit that is checked out that its index lacks, below the top.

        Raises:
            GitError: they cannot be listed.
        """
        if git_process.run_git(
            self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD"
        ).status:
            return []  # nothing is committed yet
        requested = ("diff-index", "--cached", "-z", "--name-only", "--no-renames", "--diff-filter=D", "HEAD")
        answer = git_process.run_git(self.top, *requested, limit=git_objects.LARGEST)
        if answer.status:
            raise git_objects.missing_object_error("the files of the commit that is checked out")
        return [path for path in map(os.fsdecode, answer.out.split(b"\0")) if path and self._may_read(path)]

    def tracks(self, name: str) -> bool:
        """Return whether the index or the commit that is checked out has a file of this name in the folder.

        Raises:
            GitError: the index or the commit cannot be read.
        """
        _check_path(f"{self.prefix}{name}")
        answer = git_process.run_git(self.folder, "ls-files", "-z", "--cached", "--", name)
        if answer.status:
            raise git_process.GitError(
                f"Git cannot read the index of {self.folder}", "Repair the clone: see `git fsck`."
            )
        if answer.out:
            return True
        head = git_process.run_git(
            self.folder, "rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"
        )
        commit = os.fsdecode(head.out).strip()
        return head.status == 0 and self.entry(commit, f"{self.prefix}{name}") is not None

    def blob(self, entry: git_objects.Entry, largest: int = git_objects.LARGEST) -> bytes:
        """Return the bytes of a regular file.

        Raises:
            GitError: it is none, is too large, is not here, or is not what its name stands for.
        """
        if not entry.plain:
            raise git_process.GitError(
                f"{git_objects.visible_path(entry.path)} is {git_objects.describe_entry(entry)}, not a regular file"
            )
        if entry.size is None:
            raise git_objects.missing_object_error(git_objects.visible_path(entry.path))
        if entry.size > largest:
            raise git_process.GitError(
                f"{git_objects.visible_path(entry.path)} is larger than {largest >> 20} MiB"
            )
        answer = git_process.run_git(self.folder, "cat-file", "blob", entry.object, limit=entry.size)
        if answer.status or len(answer.out) != entry.size:
            raise git_objects.missing_object_error(git_objects.visible_path(entry.path))
        return b"".join(git_objects.verify_chunks([answer.out], entry, "blob", entry.size))

    def blobs(self, entries: Sequence[git_objects.Entry]) -> Iterator[tuple[git_objects.Entry, bytes]]:
        """Read these regular files one after another.

        Raises:
            GitError: one is not here.
        """
        for entry, chunks in self._contents(entries):
            yield entry, b"".join(chunks)

    def digests(self, entries: Sequence[git_objects.Entry]) -> Iterator[tuple[git_objects.Entry, str]]:
        """SHA-256 (hex) of each of these regular files, in little memory.

        Raises:
            GitError: one is not here.
        """
        for entry, chunks in self._contents(entries):
            digest = hashlib.sha256()
            for chunk in chunks:
                digest.update(chunk)
            yield entry, digest.hexdigest()

    def _contents(
        self, entries: Sequence[git_objects.Entry]
    ) -> Iterator[tuple[git_objects.Entry, Iterator[bytes]]]:
        """Yield each file with its bytes in parts, all of which have to be taken before the next file."""
        return git_objects.read_objects(self.folder, entries, "blob")

    def _may_read(self, path: str) -> bool:
        """Return whether a path is in the folder that may be read, which can be a part of the repository."""
        limit = files.reading_boundary()
        return limit is None or (self.top / path).is_relative_to(limit)

    def _list_folder(self, commit: str, path: str, *options: str) -> list[git_objects.Entry]:
        if not self._may_read(path):
            limit = files.reading_boundary()
            raise git_process.GitError(
                f"{git_objects.visible_path(path)} is outside of {limit}, the folder that may be read"
            )
        return self._list_tree(commit, path, *options)

    def _list_tree(self, commit: str, path: str, *options: str) -> list[git_objects.Entry]:
        found, deep = git_objects.list_entries(self.folder, commit, path, *options), "-r" in options
        return [each for each in found if each.mode != git_objects.FOLDER or (each.path == path and not deep)]


def _parse_change(row: bytes, path: bytes) -> Change:
    """Return a row of `diff-tree --raw`: two modes, two objects and a letter."""
    _, _, before, after, letter = row.decode("ascii").split()
    kind = {"A": "added", "D": "removed"}.get(letter, "changed")
    before, after = ("" if set(name) == {"0"} else name for name in (before, after))
    return Change(os.fsdecode(path), before, after, kind)


def _check_path(path: str) -> None:
    if "\0" in path or not path or any(part in ("", ".", "..") for part in path.split("/")):
        remedy = "Name a file or folder below the spec's own."
        raise git_process.GitError(f"{path!r} is not a path inside a repository", remedy)


def _no_repository(folder: Path, stderr: str) -> git_process.GitError:
    if "dubious ownership" in stderr:
        remedy = f"If you trust it: `git config --global --add safe.directory {shell_path(folder)}`."
        return git_process.GitError(f"the Git repository of {folder} belongs to another user", remedy)
    if "bare repository" in stderr:
        return git_process.GitError(f"{folder} is inside a bare Git repository, which is not read", _CLONE)
    return git_process.GitError(
        f"{folder} is in no Git repository", "Run `git init` there, or give two specs instead of a revision."
    )
