"""The record of the last build, kept beside the tree: enough to see that there is nothing to do.

It is a cache for this machine and no part of the output: without it, or when anything differs, a build compares
every byte instead.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from fabricc.build.result import BuildResult
from fabricc.diagnostics import Diagnostic, Position, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_FORMAT = 1
_SEPARATOR = "|"  # in no file name of a tree, and cheap in JSON
PACKAGE = Path(__file__).parents[1]


def record_path(out: Path, cluster: str) -> Path:
    """Where the record of `out/cluster` is."""
    return out / f".{cluster}.record"


def tool_stamp() -> str:
    """A number that changes when fabricc's own code, templates or catalog do."""
    digest = hashlib.sha256()
    tops = [PACKAGE] + [top for name in ("templates", "schemas") if (top := PACKAGE.parent / name).is_dir()]
    for top in tops:
        for folder, folders, files in os.walk(top):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(files):
                entry = os.lstat(f"{folder}/{name}")
                digest.update(f"{folder}/{name} {entry.st_size} {entry.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def save(
    out: Path, result: BuildResult, spec: Path, inputs: Mapping[str, str], options: str, files: Iterable[str]
) -> None:
    """Record a build that went well; a failure to do so costs the next build time, nothing else.

    Args:
        out: folder of the tree.
        result: what the build came to.
        spec: the spec's path.
        inputs: absolute path -> SHA-256 of everything read, "" for a file that is not there.
        options: what else decides the output, as text.
        files: the tree's own files, by their path in it.
    """
    if result.tree is None:
        return
    with suppress(OSError):
        paths = sorted(files)
        folders = ["", *sorted({path[:at] for path in paths for at in _upper_folders(path)})]
        stated = {
            "format": _FORMAT,
            "tool": tool_stamp(),
            "spec": str(spec.resolve()),
            "options": options,
            "inputs": dict(inputs),
            "cluster": result.cluster,
            "counts": dict(result.counts),
            "links": result.links,
            "diagnostics": [_flat(d) for d in result.diagnostics],
            "files": len(paths),
            "paths": _SEPARATOR.join([*folders, *paths]),
            "states": _states(result.tree, [*folders, *paths]).hex(),
        }
        path = record_path(out, result.cluster)
        draft = path.with_name(path.name + ".new")
        draft.unlink(missing_ok=True)
        draft.write_text(json.dumps(stated, separators=(",", ":")))
        draft.replace(path)


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


def spec_of(tree: Path) -> Path | None:
    """The spec that this machine last built the tree from; None when it is not on record."""
    stated = _load(record_path(tree.parent, tree.name))
    return Path(stated["spec"]) if stated and isinstance(stated.get("spec"), str) else None


def up_to_date(out: Path, spec: Path, options: str) -> BuildResult | None:
    """The last build's result, when inputs, tool, options and every file are as it left them; else None."""
    try:
        wanted = str(spec.resolve())
        for path in sorted(out.glob(".*.record")):
            stated = _load(path)
            if stated and stated.get("spec") == wanted and stated.get("options") == options:
                return _if_same(out, stated)
    except (OSError, KeyError, TypeError, ValueError):
        return None
    return None


def _if_same(out: Path, stated: Mapping[str, Any]) -> BuildResult | None:
    tree = out / stated["cluster"]
    if stated["tool"] != tool_stamp() or tree.is_symlink():
        return None
    for name, digest in stated["inputs"].items():
        path = Path(name)
        if (hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "") != digest:
            return None
    if _states(tree, stated["paths"].split(_SEPARATOR)).hex() != stated["states"]:
        return None
    return BuildResult(
        cluster=stated["cluster"],
        tree=tree,
        diagnostics=tuple(_full(d) for d in stated["diagnostics"]),
        counts=stated["counts"],
        files=stated["files"],
        links=stated["links"],
        up_to_date=True,
    )


def _load(path: Path) -> dict[str, Any] | None:
    try:
        stated = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return stated if isinstance(stated, dict) and stated.get("format") == _FORMAT else None


def _flat(d: Diagnostic) -> list[Any]:
    place = [d.position.file, d.position.line, d.position.column] if d.position else None
    return [d.code, d.severity.value, d.message, place, d.help]


def _full(flat: Iterable[Any]) -> Diagnostic:
    code, severity, message, place, remedy = flat
    return Diagnostic(code, Severity(severity), message, Position(*place) if place else None, remedy)
