"""Record the last build and the state of its files in this user's state: what a next build may skip.

It is a cache and no part of the output, and nothing that a repository brings is taken for it (`tree/state.py`): without
it, or when anything differs, a build compares every byte instead.

Files are looked at folder by folder: the kernel has fewer names to follow, and the folder of a host has the same names
as that of the next, so that these are kept once. A look takes 0.94 of the time that it takes by whole paths, and a
build of 24,576 GPUs that finds nothing to do 0.87, most of it because this process takes what the other has not
looked at yet (runs in turn).
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from bisect import bisect_left
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from itertools import accumulate, groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from fabricc.back.nos.templating import override_digests
from fabricc.base import installation
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.compiler.load.spec_location import FORMAT, parse_head
from fabricc.compiler.result import BuildResult
from fabricc.compiler.write.workers import run_checks_in_process, run_in_background, share_pieces, usable_cpus
from fabricc.tree import EmitError
from fabricc.tree.state import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


_STATE = 16  # bytes of a state: time and size
_WORTH_A_PROCESS = 20_000
_PIECE = 64  # folders that a process looks at before it takes more
_OPENED = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)


@dataclass(frozen=True)
class Listing:
    """The files of a tree, and its folders of the first two levels.

    Attributes:
        lists: sorted names, each list once.
        folders: each folder of the second level, and last "" for the tree itself, which has all that is in none of
            those -> which of the lists are its names.
    """

    lists: Sequence[Sequence[str]]
    folders: Mapping[str, int]

    @staticmethod
    def of(paths: Iterable[str]) -> Listing:
        """Return the listing of files from their sorted paths in the tree."""
        lists: dict[tuple[str, ...], int] = {}
        folders: dict[str, int] = {}
        upper: set[str] = set()
        for folder, places in groupby(map(split_path, paths), itemgetter(0)):
            names = [name for _, name in places]
            if folder:
                upper.add(folder.partition("/")[0])
                folders[folder] = lists.setdefault(tuple(sorted(names)), len(lists))
            else:
                upper.update(*((name, name.partition("/")[0]) for name in names))
        folders[""] = lists.setdefault(tuple(sorted(upper)), len(lists))
        return Listing(tuple(lists), folders)

    def names(self, folder: str) -> Sequence[str]:
        """Return the names that are checked in a folder; none if the tree does not have it."""
        return self.lists[self.folders[folder]] if folder in self.folders else ()

    @cached_property
    def encoded(self) -> Sequence[Sequence[bytes]]:
        """The lists as the kernel takes names, which need not be made of text once for each folder."""
        return [[*map(os.fsencode, names)] for names in self.lists]

    @cached_property
    def starts(self) -> Mapping[str, int]:
        """Return the byte offset of the states of each folder, its own before those of its names; "/" is the end."""
        sizes = [(1 + len(names)) * _STATE for names in self.lists]
        ends = accumulate((sizes[at] for at in self.folders.values()), initial=0)
        return dict(zip([*self.folders, "/"], ends, strict=True))


@dataclass(frozen=True)
class States:
    """A tree as it was at some time.

    Attributes:
        tree: its folder.
        listing: what is in it.
        found: time and size of each, folder by folder.
    """

    tree: Path
    listing: Listing
    found: bytes

    def with_changes(self, paths: Iterable[str]) -> States:
        """Return a copy with the present states of these files, which are listed already, and of their folders.

        Raises:
            OSError: one of them is not there.
        """
        found = bytearray(self.found)
        touched = {place for path in paths for place in _touched_names(path)}
        for folder, name in touched:
            at = self._state_offset(folder, name)
            found[at : at + _STATE] = _path_state(self.tree, folder, name)
        return States(self.tree, self.listing, bytes(found))

    def has(self, path: str) -> bool:
        """Return whether a file is unchanged."""
        folder, name = split_path(path)
        if name not in self.listing.names(folder):
            return False
        at = self._state_offset(folder, name)
        try:
            return _path_state(self.tree, folder, name) == self.found[at : at + _STATE]
        except OSError:
            return False

    @contextmanager
    def check_in_background(
        self, jobs: int | None, before: Callable[[], bool]
    ) -> Iterator[tuple[Callable[[], bool], Callable[[], bool]]]:
        """Yield two functions: one answers a question, one also returns whether every file is unchanged.

        For a large tree another process does both at the same time, with help at the end. The tree's own files, of
        which every build
        that changes something changes one, come last.

        Args:
            jobs: processes to use; None for one per usable CPU.
            before: the question.
        """
        folders = [*self.listing.folders]
        with share_pieces(-(-len(folders) // _PIECE)) as pieces:

            def same() -> bool:
                return all(self._same_folders(folders[at * _PIECE : (at + 1) * _PIECE]) for at in pieces)

            if not is_large(self.listing) or (usable_cpus() if jobs is None else jobs) < 2:
                requested = cache(before)
                yield requested, lambda: requested() and same()
                return
            with run_checks_in_process(before, same) as answer:
                yield lambda: answer(0), lambda: same() and answer(0) and answer(1)

    def _same_folders(self, folders: Sequence[str]) -> bool:
        first = self.listing.starts[folders[0]]
        try:
            found = read_states(self.tree, self.listing, folders)
        except OSError:
            return False
        return not self.tree.is_symlink() and found == self.found[first : first + len(found)]

    def _state_offset(self, folder: str, name: str) -> int:
        """Return the offset of a name's state, or of the folder's own state for an empty name."""
        at = 1 + bisect_left(self.listing.names(folder), name) if name else 0
        return self.listing.starts[folder] + at * _STATE


def is_large(listing: Listing) -> bool:
    """Return whether a second process for the file states pays."""
    return listing.starts["/"] >= _WORTH_A_PROCESS * _STATE


def split_path(path: str) -> tuple[str, str]:
    """Return the folder by which a listing has a file, and its name there."""
    above = path.find("/", path.find("/") + 1)
    return (path[:above], path[above + 1 :]) if above > 0 else ("", path)


def _touched_names(path: str) -> Iterator[tuple[str, str]]:
    """Yield a file and the folders above it, as far as a listing has them."""
    folder, name = split_path(path)
    yield from ((folder, name), (folder, ""), ("", path.partition("/")[0]), ("", ""))


def read_states(tree: Path, listing: Listing, folders: Iterable[str]) -> bytes:
    """Return the states of folders and of all names in them.

    Raises:
        OSError: one of them is not there.
    """
    stat, states = os.lstat, array("q")
    for folder in folders:
        handle = os.open(f"{tree}/{folder}", _OPENED)
        try:
            states.extend(_of(os.fstat(handle)))
            for name in listing.encoded[listing.folders[folder]]:
                entry = stat(name, dir_fd=handle)
                states.append(entry.st_mtime_ns)
                states.append(entry.st_size)
        finally:
            os.close(handle)
    return states.tobytes()


def _path_state(tree: Path, folder: str, name: str) -> bytes:
    return array("q", _of(os.lstat(tree / folder / name))).tobytes()


_of = attrgetter("st_mtime_ns", "st_size")


CHECK = 4
"""Bytes of the check sum."""


def tool_stamp() -> str:
    """Return a number that changes when fabricc's own code, templates or catalog do."""
    digest = hashlib.sha256()
    tops = (installation.PACKAGE, *map(installation.data_folder, ("templates", "schemas")))
    for top in tops:
        for place, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(names):
                entry = os.lstat(f"{place}/{name}")
                digest.update(f"{place}/{name} {entry.st_size} {entry.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def build_options(check: bool) -> str:
    """Return the options that change the output besides the inputs: the proof and the user's own templates."""
    found = override_digests()
    return f"check={check}" + (f" templates={sorted(found.items())}" if found else "")


@dataclass(frozen=True)
class LastBuild:
    """The last build of a tree from the same spec with the same options.

    Attributes:
        stated: the record's first line, as `recording.save` writes it.
        states: the tree as that build left it.
    """

    stated: Mapping[str, Any]
    states: States

    @property
    def tree(self) -> Path:
        """The folder that it left."""
        return self.states.tree

    @contextmanager
    def check_in_background(self, jobs: int | None) -> Iterator[LastCheck]:
        """Yield the checks to make before relying on the last build; they run in another process where that pays.

        Args:
            jobs: processes to use; None for one per usable CPU.
        """
        with self.states.check_in_background(jobs, lambda: self.stated["tool"] == tool_stamp()) as answers:
            yield LastCheck(self, *answers)

    def changed_inputs(self) -> list[Path] | None:
        """Return the inputs of the last build that have other bytes now; None if that is unknown."""
        try:
            digests = {Path(name): digest for name, digest in self.stated["inputs"].items()}
            return [path for path, digest in digests.items() if _digest_of(path) != digest]
        except OSError:
            return None

    @property
    def ledger(self) -> str:
        """Digest of the ledger that belongs to it."""
        return str(self.stated["ledger"])

    @property
    def alone(self) -> bool:
        """Return whether the tree had no foreign files."""
        return all(code != "FAB7007" for code, *_ in self.stated["diagnostics"])

    def result(self) -> BuildResult:
        """Return the result of that build, with nothing written."""
        return BuildResult(
            cluster=self.stated["cluster"],
            tree=self.tree,
            diagnostics=tuple(_expand_listing(d) for d in self.stated["diagnostics"]),
            counts=self.stated["counts"],
            files=self.stated["files"],
            links=self.stated["links"],
            up_to_date=True,
        )


class LastCheck(NamedTuple):
    """The checks of the last build.

    Attributes:
        same_tool: returns whether this fabricc made it, so that its ledger is trusted.
        unedited: returns the same and whether every file is unchanged; to be called once.
    """

    last: LastBuild
    same_tool: Callable[[], bool]
    unedited: Callable[[], bool]


def last_build(out: Path, spec: Path, options: str) -> LastBuild | None:
    """Return the last build of the spec below `out`, under whatever name, when it was with the same options."""
    state = state_of(out)
    if state is None:
        return None
    try:
        wanted = str(spec.resolve())
        for path in sorted(state.glob("*.record"), key=_written_at, reverse=True):
            content = path.read_bytes()
            end = len(content) - CHECK
            if crc32(memoryview(content)[:end]) != int.from_bytes(content[end:]):
                continue  # damaged: as if there were none
            first = content.find(b"\n")
            stated = parse_head(content[:first])
            if stated and stated["spec"] == wanted and stated["options"] == options:
                second = content.index(b"\n", first + 1)
                listing = Listing(*json.loads(content[first + 1 : second]))
                states = States(out / stated["cluster"], listing, content[second + 1 : end])
                whole = listing.starts["/"] == len(states.found)
                return LastBuild(stated, states) if whole and states.tree.is_dir() else None
    except (OSError, KeyError, TypeError, ValueError, RecursionError):
        return None
    return None


def _written_at(path: Path) -> tuple[int, str]:
    return path.stat().st_mtime_ns, path.name


def _digest_of(path: Path) -> str:
    try:
        return files.digest_of_file(path)
    except FileNotFoundError:
        return ""


def _expand_listing(flat: Iterable[Any]) -> Diagnostic:
    code, severity, message, place, remedy = flat
    return Diagnostic(code, Severity(severity), message, Position(*place) if place else None, remedy)


def save_build(
    out: Path,
    result: BuildResult,
    spec: Path,
    inputs: Mapping[str, str],
    options: str,
    paths: Iterable[str],
    ledger: str,
) -> None:
    """Record a build that went well; a failure to do so costs the next build time, nothing else.

    Args:
        out: folder of the tree.
        result: what the build came to.
        spec: the spec's path.
        inputs: absolute path -> SHA-256 of everything read, "" for a file that is not there.
        options: what else decides the output, as text.
        paths: of the tree's own files, in it.
        ledger: digest of the ledger that belongs to it, "" without one.
    """
    if result.tree is None:
        return
    state = state_of(out, make=True)
    if state is None:
        return
    with suppress(OSError, EmitError):
        own = sorted(paths)
        stated = {
            "format": FORMAT,
            "tool": tool_stamp(),
            "spec": str(spec.resolve()),
            "options": options,
            "cluster": result.cluster,
            "files": len(own),
            **_build_outcome(result, inputs, ledger),
        }
        _store_record(state, LastBuild(stated, read_current_states(result.tree, Listing.of(own))))


def amend_build(
    last: LastBuild, result: BuildResult, inputs: Mapping[str, str], changed: Iterable[str], ledger: str
) -> None:
    """Record a build that changed a few files of the last one's and neither added nor removed any; see `save`."""
    state = state_of(last.tree.parent)
    if state is None:
        return
    with suppress(OSError):
        stated = {**last.stated, **_build_outcome(result, inputs, ledger)}
        _store_record(state, LastBuild(stated, last.states.with_changes(changed)))


def read_current_states(tree: Path, listing: Listing) -> States:
    """Return the present state of the tree; two processes read a large one.

    Raises:
        OSError, EmitError: one of the files is not there.
    """
    folders = [*listing.folders]
    if not is_large(listing) or usable_cpus() < 2:
        return States(tree, listing, read_states(tree, listing, folders))
    half = len(folders) // 2
    with run_in_background(lambda: read_states(tree, listing, folders[half:])) as rest:
        return States(tree, listing, read_states(tree, listing, folders[:half]) + rest())


def _build_outcome(result: BuildResult, inputs: Mapping[str, str], ledger: str) -> dict[str, Any]:
    return {
        "inputs": dict(inputs),
        "counts": dict(result.counts),
        "links": result.links,
        "diagnostics": [_flatten_diagnostic(d) for d in result.diagnostics],
        "ledger": ledger,
    }


def _store_record(state: Path, build: LastBuild) -> None:
    """Write a record: a line of what is stated and one of the listing, both JSON, the states, and their check sum."""
    path = state / f"{build.stated['cluster']}.record"
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    listing = build.states.listing
    lines = (build.stated, [listing.lists, listing.folders])
    parts = [
        *(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines),
        build.states.found,
    ]
    check = 0
    for part in parts:
        check = crc32(part, check)
    with draft.open("xb") as file:
        file.writelines([*parts, check.to_bytes(CHECK)])
    draft.replace(path)


def _flatten_diagnostic(d: Diagnostic) -> list[Any]:
    place = [d.position.file, d.position.line, d.position.column] if d.position else None
    return [d.code, d.severity.value, d.message, place, d.help]
