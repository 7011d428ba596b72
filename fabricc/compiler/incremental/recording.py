"""Keeping the record of a build, for `record` to find."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from zlib import crc32

from fabricc.compiler.incremental.record import CHECK, LastBuild, tool_stamp
from fabricc.compiler.incremental.states import Listing, States, is_large, read_states
from fabricc.compiler.load.spec_location import FORMAT
from fabricc.compiler.write.workers import run_in_background, usable_cpus
from fabricc.tree import EmitError
from fabricc.tree.state import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.compiler.result import BuildResult


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
        _store_record(state, LastBuild(stated, states_now(result.tree, Listing.of(own))))


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


def states_now(tree: Path, listing: Listing) -> States:
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
