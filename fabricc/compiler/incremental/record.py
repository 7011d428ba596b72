"""Read and write the record of the last build in this user's state: what a next build may skip.

It is a cache and no part of the output, and nothing that a repository brings is taken for it (`tree/state.py`): without
it, or when anything differs, a build compares every byte instead.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from fabricc.back.nos.templating import override_digests
from fabricc.base import installation
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.compiler.incremental.states import Listing, States, is_large, read_states
from fabricc.compiler.load.spec_location import FORMAT, parse_head
from fabricc.compiler.result import BuildResult
from fabricc.compiler.write.workers import run_in_background, usable_cpus
from fabricc.tree import EmitError
from fabricc.tree.state import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


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
