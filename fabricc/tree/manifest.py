"""The manifest: the inputs and the tool that made a tree, and the SHA-256 of every file; no name leaves the tree."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import islice

from fabricc.base.values import dataclass
from fabricc.tree import EmitError

NAME = "manifest.json"
FOLDERS = ("acceptance", "hosts", "jobs", "plan", "subnets", "switches")
"""The folders of a tree: each of its files is in one of them, except the manifest."""
FORMAT = 1
LIMIT = 1 << 30
"""Bytes; the manifest of eight million files."""
_MARK = b'"made_by": "fabricc"'
_KEYS = {"format", "made_by", "cluster", "version", "spec", "inputs", "files"}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LONGEST = 300
_LINES = 4096


class ManifestError(ValueError):
    """A manifest that this version does not take; `line` is where in it, from 1."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of `manifest.json`.

    Attributes:
        cluster: the cluster's name.
        version: version of fabricc that wrote the tree.
        spec: file name of the spec, without its folder.
        inputs: name of an input -> SHA-256 (hex); for the spec, of its values, see `Manifest.parts`.
        files: path below the tree -> SHA-256 (hex), all files but the manifest itself.
    """

    cluster: str
    version: str
    spec: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def parts(self) -> Iterator[bytes]:
        """Yield the bytes of `manifest.json`: sorted, one file per line, the same on every machine.

        The digest of the spec is computed from the typed values, so comments and the order of keys do not change it.
        All lines of a large tree at once would take four times the memory.
        """
        lines = self._entry_lines()
        while part := "".join(islice(lines, _LINES)):
            yield part.encode()

    def _entry_lines(self) -> Iterator[str]:
        yield f'{{\n  "format": {FORMAT},\n  "made_by": "fabricc",\n'
        for key, value in (("cluster", self.cluster), ("version", self.version), ("spec", self.spec)):
            yield f"  {json.dumps(key)}: {json.dumps(value)},\n"
        for name, table, end in (("inputs", self.inputs, "},\n"), ("files", self.files, "}\n")):
            yield f'  "{name}": {{'
            before = "\n"
            for key in sorted(table):
                yield f'{before}    "{key}": "{table[key]}"'
                before = ",\n"
            yield f"\n  {end}" if table else end
        yield "}\n"

    @staticmethod
    def parse(content: bytes) -> Manifest:
        """Return the manifest in the bytes.

        Raises:
            ManifestError: the bytes are no manifest of a known format, or name an impossible file.
        """
        try:
            stated = json.loads(content.decode(), object_pairs_hook=_unique_keys)
        except RecursionError:
            raise ManifestError("nested too deeply") from None
        except ValueError as error:
            raise ManifestError(str(error), getattr(error, "lineno", 1)) from None
        if not isinstance(stated, dict) or stated.get("made_by") != "fabricc":
            raise ManifestError("not written by fabricc")
        if stated.get("format") != FORMAT:
            raise ManifestError(f"format {ascii(stated.get('format'))[:40]}, this version reads {FORMAT}")
        if unknown := stated.keys() - _KEYS:
            raise ManifestError(f"unknown key {ascii(min(unknown))[:80]}")
        cluster, version, spec = (_text_value(stated, key) for key in ("cluster", "version", "spec"))
        if not is_cluster(cluster):
            raise ManifestError(
                f"{ascii(cluster)[:80]} is not the name of a cluster", _line_of(content, cluster)
            )
        if "/" in spec:
            raise ManifestError(f"{ascii(spec)[:80]} is not a file name", _line_of(content, spec))
        inputs, files = (_digest_table(stated, key, content) for key in ("inputs", "files"))
        for path, digest in files.items():
            if not is_path(path):
                raise ManifestError(
                    f"{ascii(path)[:80]} is not a file name in a tree", _line_of(content, path)
                )
            if not digest:
                raise ManifestError(f"{path[:80]} has no digest", _line_of(content, path))
        return Manifest(cluster, version, spec, inputs, files)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a table of JSON; reject a key that occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate key")
    return found


def _text_value(stated: Mapping[str, object], key: str) -> str:
    value = stated.get(key)
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
        raise ManifestError(f"`{key}` is missing or no plain text")
    return value


def _digest_table(stated: Mapping[str, object], name: str, content: bytes) -> dict[str, str]:
    """Return a table of names and digests; the digest of a missing input is empty."""
    table = stated.get(name)
    if not isinstance(table, dict):
        raise ManifestError(f"`{name}` is missing or no table")
    for key, value in table.items():
        if (len(key) > _LONGEST and name != "files") or not key.isprintable():
            raise ManifestError(f"{ascii(key)[:80]} is not a name of a file", _line_of(content, key))
        if not isinstance(value, str) or (value and not _SHA256.fullmatch(value)):
            raise ManifestError(f"{ascii(key)[:80]} has no SHA-256", _line_of(content, key))
    return table


def _line_of(content: bytes, text: str) -> int:
    """Return the line of a text in the layout of `parts`; 1 in any other layout."""
    at = content.find(json.dumps(text).encode())
    return content.count(b"\n", 0, at) + 1 if at >= 0 else 1


def is_manifest(content: bytes) -> bool:
    """Return whether the bytes are, or once were, a manifest of ours; a merge conflict keeps the marker."""
    return _MARK in content


_COMPONENT = r"[A-Za-z0-9_@+][A-Za-z0-9._@+:,=-]{0,199}"
_PATH = re.compile(f"{_COMPONENT}(?:/{_COMPONENT})*")
_CLUSTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def is_path(path: str) -> bool:
    """Return whether every component of a relative path is plain: not `..`, not hidden, no unusual characters."""
    return _PATH.fullmatch(path) is not None


def is_cluster(name: str) -> bool:
    """Return whether a cluster's name can be the name of a folder."""
    return _CLUSTER.fullmatch(name) is not None


def checked_path(path: str) -> str:
    """Return the path, when every component is a plain name.

    Raises:
        EmitError: FAB7004, it is absolute, climbs (`..`), is hidden or has unusual characters.
    """
    if is_path(path):
        return path
    raise EmitError(
        "FAB7004", f"{path!r} is not a file name for an output tree", "Rename the device or cluster."
    )


def checked_cluster(name: str) -> str:
    """Return the cluster's name, when it can name a folder.

    Raises:
        EmitError: FAB7004.
    """
    if is_cluster(name):
        return name
    remedy = "Use letters, digits, `.`, `_` and `-`, starting with a letter or digit, 63 at most."
    raise EmitError("FAB7004", f"{name!r} cannot name an output folder", remedy)
