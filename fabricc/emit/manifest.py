"""The manifest: which inputs and which tool made a tree, and the SHA-256 of every file in it."""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "manifest.json"
FORMAT = 1
_MARK = b'"made_by": "fabricc"'


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `manifest.json` says.

    Attributes:
        cluster: the cluster's name.
        version: version of fabricc that wrote the tree.
        spec: file name of the spec, without its folder.
        inputs: name of an input -> SHA-256 (hex); the spec's is of its meaning, see `Manifest.format`.
        files: path below the tree -> SHA-256 (hex), all files but the manifest itself.
    """

    cluster: str
    version: str
    spec: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def format(self) -> str:
        """The text of `manifest.json`: sorted, one file a line, the same bytes on every machine.

        The spec's digest is taken of the typed values, so comments and the order of keys do not change it.
        """
        head = {"cluster": self.cluster, "version": self.version, "spec": self.spec}
        lines = ["{", f'  "format": {FORMAT},', '  "made_by": "fabricc",']
        lines += [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        for name, table, end in (("inputs", self.inputs, ","), ("files", self.files, "")):
            rows = [f'    "{key}": "{value}"' for key, value in sorted(table.items())]
            lines.append(f'  "{name}": {{' + ("\n" + ",\n".join(rows) + "\n  " if rows else "") + "}" + end)
        return "\n".join([*lines, "}"]) + "\n"

    @staticmethod
    def parse(content: bytes) -> Manifest:
        """The manifest that the bytes state.

        Raises:
            ValueError: they state none of a format that this version reads.
        """
        try:
            stated = json.loads(content)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if not isinstance(stated, dict) or stated.get("made_by") != "fabricc":
            raise ValueError("not written by fabricc")
        if stated.get("format") != FORMAT:
            raise ValueError(f"format {stated.get('format')!r}, this version reads {FORMAT}")
        cluster, version, spec = (_text(stated.get(key)) for key in ("cluster", "version", "spec"))
        return Manifest(cluster, version, spec, _table(stated.get("inputs")), _table(stated.get("files")))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a field is missing or of the wrong type")
    return value


def _table(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError("a table is missing or of the wrong type")
    return {key: _text(text) for key, text in value.items()}


def is_ours(content: bytes) -> bool:
    """Whether the bytes are, or once were, a manifest of ours: a merge conflict in it leaves the mark."""
    return _MARK in content
