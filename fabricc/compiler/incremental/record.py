"""The record of the last build, kept in this user's state: enough to see that there is nothing to do, or little.

It is a cache and no part of the output, and nothing that a repository brings is taken for it (`tree/state.py`): without
it, or when anything differs, a build compares every byte instead.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from bisect import bisect_left
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any
from zlib import crc32

from fabricc.back.nos.templating import override_digests
from fabricc.base import installation
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.compiler.result import BuildResult
from fabricc.compiler.workers import beside, usable_cpus
from fabricc.tree import EmitError
from fabricc.tree.state import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_FORMAT = 3
_CHECK = 4  # bytes of the check sum
_STATE = 16  # bytes of a state: time and size
_WORTH_A_PROCESS = 20_000


def tool_stamp() -> str:
    """A number that changes when fabricc's own code, templates or catalog do."""
    digest = hashlib.sha256()
    tops = (installation.PACKAGE, *map(installation.folder, ("templates", "schemas")))
    for top in tops:
        for place, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(names):
                entry = os.lstat(f"{place}/{name}")
                digest.update(f"{place}/{name} {entry.st_size} {entry.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def options(check: bool) -> str:
    """What besides the inputs decides the output: whether it is proved, and the user's own templates."""
    found = override_digests()
    return f"check={check}" + (f" templates={sorted(found.items())}" if found else "")


@dataclass(frozen=True)
class Last:
    """The last build of a tree from the same spec by the same tool with the same options.

    Attributes:
        tree: the folder it left.
        stated: the record's first line, as `save` writes it.
        names: the tree's upper folders and then its own files, each sorted, a line each.
        states: of each of these, see `_states`.
    """

    tree: Path
    stated: Mapping[str, Any]
    names: bytes
    states: bytes

    def changed_inputs(self) -> list[Path] | None:
        """What was read then and has other bytes now; None when that cannot be told."""
        try:
            digests = {Path(name): digest for name, digest in self.stated["inputs"].items()}
            return [path for path, digest in digests.items() if _digest_of(path) != digest]
        except OSError:
            return None

    @property
    def large(self) -> bool:
        """Whether a process of its own to look at the files pays."""
        return bool(self.stated["files"] >= _WORTH_A_PROCESS)

    @property
    def ledger(self) -> str:
        """Digest of the ledger that belongs to it."""
        return str(self.stated["ledger"])

    @property
    def alone(self) -> bool:
        """Whether the tree had no files that were not the tool's."""
        return all(code != "FAB7007" for code, *_ in self.stated["diagnostics"])

    @cached_property
    def paths(self) -> list[str]:
        """The names, in the order of the states."""
        return self.names.decode().split("\n")

    def unedited(self) -> bool:
        """Whether every file is as that build left it, by size and time; large trees are looked at by two processes."""
        if not self.large or usable_cpus() < 2:
            return self._same(slice(None))
        half = len(self.states) // _STATE // 2
        with beside(lambda: self._same(slice(half, None))) as rest:
            return self._same(slice(half)) and rest()

    @contextmanager
    def looked_over(self, jobs: int | None) -> Iterator[Callable[[], bool]]:
        """What says the same as `unedited`; of large trees a process looks meanwhile.

        Args:
            jobs: processes to use; None for one per usable CPU.
        """
        if not self.large or (usable_cpus() if jobs is None else jobs) < 2:
            yield self.unedited
            return
        with beside(lambda: self._same(slice(None))) as found:
            yield found

    def has(self, path: str) -> bool:
        """Whether one file is as that build left it."""
        at = bisect_left(self.paths, path, len(self.paths) - self.stated["files"])
        return self.paths[at : at + 1] == [path] and self._same(slice(at, at + 1))

    def _same(self, part: slice) -> bool:
        names = self.paths[part]
        first = (part.start or 0) * _STATE
        try:
            found = _states(self.tree, names)
        except OSError:
            return False
        return not self.tree.is_symlink() and found == self.states[first : first + len(names) * _STATE]

    def result(self) -> BuildResult:
        """What that build came to, with nothing written."""
        return BuildResult(
            cluster=self.stated["cluster"],
            tree=self.tree,
            diagnostics=tuple(_full(d) for d in self.stated["diagnostics"]),
            counts=self.stated["counts"],
            files=self.stated["files"],
            links=self.stated["links"],
            up_to_date=True,
        )


def save(
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
        names = ["", *_folders(own), *own]
        stated = {
            "format": _FORMAT,
            "tool": tool_stamp(),
            "spec": str(spec.resolve()),
            "options": options,
            "cluster": result.cluster,
            "files": len(own),
        }
        states = _all_states(result.tree, names)
        stated |= _outcome(result, inputs, ledger)
        _store(state, Last(result.tree, stated, "\n".join(names).encode(), states))


def amend(
    last: Last, result: BuildResult, inputs: Mapping[str, str], changed: Iterable[str], ledger: str
) -> None:
    """Record a build that changed a few files of the last one's and neither added nor removed any; see `save`."""
    state = state_of(last.tree.parent)
    if state is None:
        return
    with suppress(OSError):
        names = last.paths
        first = len(names) - last.stated["files"]
        folders = {path[:at] for path in changed for at in _upper_folders(path)} | {""}
        touched = [bisect_left(names, folder, 0, first) for folder in folders]
        touched += [bisect_left(names, path, first) for path in changed]
        states = bytearray(last.states)
        for at in touched:
            states[at * _STATE : (at + 1) * _STATE] = _states(last.tree, [names[at]])
        stated = {**last.stated, **_outcome(result, inputs, ledger)}
        _store(state, replace(last, stated=stated, states=bytes(states)))


def _outcome(result: BuildResult, inputs: Mapping[str, str], ledger: str) -> dict[str, Any]:
    return {
        "inputs": dict(inputs),
        "counts": dict(result.counts),
        "links": result.links,
        "diagnostics": [_flat(d) for d in result.diagnostics],
        "ledger": ledger,
    }


def _store(state: Path, build: Last) -> None:
    """Write a record: a line of JSON, the names, an empty line, the states, and the check sum of all that."""
    path = state / f"{build.stated['cluster']}.record"
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    head = json.dumps(build.stated, separators=(",", ":")).encode()
    parts = [head, b"\n", build.names, b"\n\n", build.states]
    check = 0
    for part in parts:
        check = crc32(part, check)
    with draft.open("xb") as file:
        file.writelines([*parts, check.to_bytes(_CHECK)])
    draft.replace(path)


def _folders(paths: Sequence[str]) -> list[str]:
    """The first two folders of all paths, which are sorted, each once, sorted."""
    found: set[str] = set()
    device = ""
    for path in paths:
        if not device or not path.startswith(device):  # most are in the folder of the one before
            ends = [*_upper_folders(path)]
            found.update(path[:at] for at in ends)
            device = path[: ends[1] + 1] if len(ends) > 1 else ""
    return sorted(found)


def _upper_folders(path: str) -> Iterator[int]:
    """Ends of the first two folders of a path: `switches` and `switches/x`."""
    at = path.find("/")
    for _ in range(2):
        if at < 0:
            return
        yield at
        at = path.find("/", at + 1)


def _states(tree: Path, paths: Iterable[str]) -> bytes:
    """Size and time of every path, as bytes to compare; of a folder, whose size means nothing, the time only.

    Raises:
        OSError: one of them is not there.
    """
    stat, top = os.lstat, f"{tree}/"
    states = array("q")
    for path in paths:
        entry = stat(top + path)
        states.append(entry.st_mtime_ns)
        states.append(entry.st_size if S_ISREG(entry.st_mode) else -1)
    return states.tobytes()


def _all_states(tree: Path, names: Sequence[str]) -> bytes:
    """As `_states`; of a large tree two processes look.

    Raises:
        OSError, EmitError: one of them is not there.
    """
    if len(names) < _WORTH_A_PROCESS or usable_cpus() < 2:
        return _states(tree, names)
    half = len(names) // 2
    with beside(lambda: _states(tree, names[half:])) as rest:
        return _states(tree, names[:half]) + rest()


def spec_of(tree: Path) -> Path | None:
    """The spec that this user last built the tree from; None when it is not on record."""
    real = Path(os.path.realpath(tree))
    state = state_of(real.parent)
    try:
        if state is None:
            return None
        with (state / f"{real.name}.record").open("rb") as file:
            stated = _head(file.readline())
    except OSError:
        return None
    return Path(stated["spec"]) if stated and isinstance(stated.get("spec"), str) else None


def last(out: Path, spec: Path, options: str) -> Last | None:
    """The last build of the spec below `out`, under whatever name, when it was by this tool with the same options."""
    state = state_of(out)
    if state is None:
        return None
    try:
        wanted = str(spec.resolve())
        for path in sorted(state.glob("*.record"), key=_written_at, reverse=True):
            content = path.read_bytes()
            end, head = len(content) - _CHECK, content.find(b"\n")
            if crc32(memoryview(content)[:end]) != int.from_bytes(content[end:]):
                continue  # damaged: as if there were none
            stated = _head(content[:head])
            if stated and stated["spec"] == wanted and stated["options"] == options:
                above = content.index(b"\n\n", head + 1)
                names, states = content[head + 1 : above], content[above + 2 : end]
                tree = out / stated["cluster"]
                known = tree.is_dir() and stated["tool"] == tool_stamp()
                return Last(tree, stated, names, states) if known else None
    except (OSError, KeyError, TypeError, ValueError):
        return None
    return None


def _written_at(path: Path) -> tuple[int, str]:
    return path.stat().st_mtime_ns, path.name


def _digest_of(path: Path) -> str:
    try:
        return files.digest(path)
    except FileNotFoundError:
        return ""


def _head(line: bytes) -> dict[str, Any] | None:
    try:
        stated = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return stated if isinstance(stated, dict) and stated.get("format") == _FORMAT else None


def _flat(d: Diagnostic) -> list[Any]:
    place = [d.position.file, d.position.line, d.position.column] if d.position else None
    return [d.code, d.severity.value, d.message, place, d.help]


def _full(flat: Iterable[Any]) -> Diagnostic:
    code, severity, message, place, remedy = flat
    return Diagnostic(code, Severity(severity), message, Position(*place) if place else None, remedy)
