"""Read the objects of a Git repository, and compare their content with their names.

Git itself does not compare the two: somebody can exchange the content of an object in the `.git` of an archive.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile

from fabricc.base.foreign.git_process import GitError, GitProcess, run_git
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass

LARGEST = 64 << 20
"""Bytes of a file that is read whole, and of a listing."""
_HASHES = {40: "sha1", 64: "sha256"}
"""Length of an object's name -> the hash that Git makes it with."""
FOLDER = "040000"
LINK = "120000"
SUBMODULE = "160000"
_TOP = re.compile(r"tree ([0-9a-f]{40}(?:[0-9a-f]{24})?)\n")
_DATE = re.compile(r"^committer .*> ([0-9]{1,12})(?![0-9])", re.MULTILINE)
_PARENT = re.compile(r"^parent ([0-9a-f]{40}(?:[0-9a-f]{24})?)$", re.MULTILINE)
_UNCLEAN = frozenset(("", ".", ".."))
"""Parts that no clean path has."""
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of a commit at a path.

    Attributes:
        path: below the top of the repository; bytes that are no UTF-8 as lone surrogates.
        mode: the octal digits that Git writes: `100644`, `100755`, `120000` (a link), `160000` (another repository).
        object: the name of the blob or commit.
        size: bytes of a blob, None for anything else and for one that is not here.
    """

    path: str
    mode: str
    object: str
    size: int | None

    @property
    def plain(self) -> bool:
        """Return whether it is a regular file."""
        return self.mode in ("100644", "100755")


def is_object_name(text: str) -> bool:
    """Return whether a text is a whole name of an object."""
    return _OBJECT.fullmatch(text) is not None


def read_objects(
    folder: Path, entries: Collection[Entry], kind: str
) -> Iterator[tuple[Entry, Iterator[bytes]]]:
    """Yield each object with its bytes in parts, all of which have to be taken before the next object.

    Raises:
        GitError: one is not here, or has other content than its name stands for.
    """
    if absent := next((each for each in entries if kind == "blob" and each.size is None), None):
        raise missing_object_error(visible_path(absent.path))
    with TemporaryFile() as names:
        names.write("".join(f"{each.object}\n" for each in entries).encode())
        names.seek(0)
        with GitProcess(folder, ("cat-file", "--batch"), names) as child:
            for each in entries:
                name, _, size = child.line().decode("ascii", "replace").rpartition(" ")
                if (
                    name != f"{each.object} {kind}"
                    or not is_number(size)
                    or each.size not in (None, int(size))
                ):
                    raise missing_object_error(visible_path(each.path))
                yield each, verify_chunks(child.exactly(int(size)), each, kind, int(size))
                child.line()


def list_entries(folder: Path, commit: str, path: str, *options: str) -> list[Entry]:
    """Return the entries, and the folders on the way to them; the content of each folder is that of its name."""
    if not is_object_name(commit):
        raise GitError(f"{commit!r} is not a name of a commit")
    parts, deep = path.split("/"), "-r" in options
    above = [] if deep else ["/".join(parts[:count]) for count in range(1, len(parts))]
    paths = filter(None, [*above, path])
    requested = ("ls-tree", "-z", "-t", "--full-tree", "--long", *options, commit, "--", *paths)
    answer = run_git(folder, *requested, limit=LARGEST)
    if answer.status:
        raise missing_object_error(f"{visible_path(path) or 'the files'} of {commit[:12]}")
    found = [_parse_entry(row) for row in answer.out.split(b"\0") if row]
    _refuse_twins(found, commit)
    _refuse_climbs(found, commit)
    _verify_folders(folder, frozenset(each for each in found if each.mode == FOLDER))
    return found


@lru_cache(maxsize=64)
def _verify_folders(folder: Path, folders: frozenset[Entry]) -> None:
    """Compare the content of folders in a commit with their names; Git does so for the commit and its top alone.

    Raises:
        GitError: one is not here, or has other content.
    """
    for _, chunks in read_objects(folder, folders, "tree"):
        for _ in chunks:
            pass


def verify_chunks(chunks: Iterable[bytes], entry: Entry, kind: str, size: int) -> Iterator[bytes]:
    """Yield the bytes of an object, and compare them with its name at the end.

    Raises:
        GitError: the name is that of another content.
    """
    header = f"{kind} {size}\0".encode()
    digest = hashlib.new(_HASHES[len(entry.object)], header, usedforsecurity=False)
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != entry.object:
        message = f"{visible_path(entry.path)}: its object {entry.object[:12]} in Git has other content"
        raise GitError(message, "Run `git fsck`, and clone the repository again.")


def _refuse_twins(entries: Sequence[Entry], commit: str) -> None:
    """Refuse a folder with two entries of one name: Git checks out one of them, and which one is not defined.

    Raises:
        GitError: there is such a folder.
    """
    counts = Counter(each.path for each in entries)
    if twin := next((path for path, count in counts.items() if count > 1), None):
        message = f"{commit[:12]} has two entries with the name {visible_path(twin)}"
        raise GitError(message, "Run `git fsck`, and commit the files again from a new clone.")


def _refuse_climbs(entries: Iterable[Entry], commit: str) -> None:
    """Refuse an entry whose name leads out of its folder, which Git never checks out: a copy would be elsewhere.

    Raises:
        GitError: there is such an entry.
    """
    climbs = (each.path for each in entries if not _UNCLEAN.isdisjoint(each.path.split("/")))
    if path := next(climbs, None):
        message = f"{commit[:12]} has the name {visible_path(path)}, which leads out of its folder"
        raise GitError(message, "Run `git fsck`, and reject the commit.")


def _parse_entry(row: bytes) -> Entry:
    """Return an entry of mode, type, object and size, a tab, and the path."""
    stated, _, path = row.partition(b"\t")
    mode, _, name, size = stated.decode("ascii").split()
    return Entry(os.fsdecode(path), mode, name, int(size) if is_number(size) else None)


@dataclass(frozen=True, slots=True)
class Commit:
    """The header of a commit.

    Attributes:
        name: the name of the commit.
        top: the name of its top folder.
        parents: the names of its parents.
        date: the seconds since 1970 at which it was committed; "0" where Git reads none.
    """

    name: str
    top: str
    parents: tuple[str, ...]
    date: str


def read_commits(folder: Path, commits: Collection[str]) -> Iterator[Commit]:
    """Yield the headers of commits, whose content is compared with their names.

    Raises:
        GitError: one is not here, or has other content.
    """
    entries = [Entry(f"commit {name[:12]}", "", name, None) for name in commits]
    for entry, chunks in read_objects(folder, entries, "commit"):
        header = b"".join(chunks).partition(b"\n\n")[0].decode("utf-8", "replace")
        top, date = _TOP.match(header), _DATE.search(header)
        if top is None:
            raise missing_object_error(entry.path)
        yield Commit(entry.object, top[1], tuple(_PARENT.findall(header)), date[1] if date else "0")


def copy_differing_objects(folder: Path, commits: Collection[str], objects: Path) -> list[Commit]:
    """Copy the folders and files in which commits differ to another folder of objects; return the commits.

    A copy has the content of its name, so a program that reads the copies reads nothing else.

    Raises:
        GitError: one has other content, or a folder is not here.
    """
    found = list(read_commits(folder, commits))
    folders = [Entry(f"commit {each.name[:12]}", FOLDER, each.top, None) for each in found]
    entries = _differing_entries(folder, commits)
    copied: set[str] = set()
    for kind, wanted in (("tree", [*folders, *(e for e in entries if e.mode == FOLDER)]),
                         ("blob", [e for e in entries if e.mode not in (FOLDER, SUBMODULE)])):  # fmt: skip
        new = [*{each.object: each for each in wanted if each.object not in copied}.values()]
        for entry, chunks in read_objects(folder, new, kind):
            write_object(objects, kind, b"".join(chunks), len(entry.object))
        copied |= {each.object for each in new}
    return found


def _differing_entries(folder: Path, commits: Collection[str]) -> list[Entry]:
    """Return the folders and the files that are here in which commits differ."""
    sides = [frozenset(list_entries(folder, commit, "", "-r")) for commit in commits]
    differing = frozenset.union(*sides) - frozenset.intersection(*sides)
    return [each for each in differing if each.mode == FOLDER or each.size is not None]


def write_object(objects: Path, kind: str, content: bytes, digits: int) -> str:
    """Write an object to a folder of objects, and return its name; `digits`: of names, which show the hash in use."""
    whole = f"{kind} {len(content)}\0".encode() + content
    name = hashlib.new(_HASHES[digits], whole, usedforsecurity=False).hexdigest()
    place = objects / name[:2] / name[2:]
    try:
        place.write_bytes(zlib.compress(whole, 1))
    except FileNotFoundError:
        place.parent.mkdir()
        place.write_bytes(zlib.compress(whole, 1))
    return name


def describe_entry(entry: Entry) -> str:
    """Return what an entry is, for people."""
    named = {LINK: "a symbolic link", SUBMODULE: "a link to another repository", FOLDER: "a folder"}
    return named.get(entry.mode, f"a file of mode {entry.mode}")


def visible_path(path: str) -> str:
    """Return a path that others chose, with everything that is not printed made visible."""
    return path if path.isprintable() else ascii(path)[1:-1]


def missing_object_error(what: str) -> GitError:
    """Return the error for objects that a repository lacks."""
    remedy = (
        "In a partial or shallow clone, get them with git itself: `git fetch --refetch --no-filter origin`."
    )
    return GitError(f"Git cannot read {what} from the objects that are here", remedy)
