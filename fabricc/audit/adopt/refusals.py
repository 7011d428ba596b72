"""Find the words of a draft that the schema or the planner refuses and that a spec may lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.documents.reader import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.base.diagnostics import Diagnostic

Keys = tuple[str, ...]

_REMOVABLE = {
    "addressing": 2, "congestion": 1, "evpn": 1, "external": 2, "load_balancing": 1, "management": 2, "mtu": 1,
    "routing": 2,
}  # fmt: skip
"""Section that a spec may lack -> how many keys name the part of it that is left out."""


def refused_parts(text: str, network: str, diagnostics: Iterable[Diagnostic]) -> dict[Keys, str]:
    """Return the refused parts of a spec that it may lack, each with the first code that refuses it.

    Args:
        text: of the spec, as `Draft.files` writes it.
        network: the further network whose section is searched; "" for the top level.
        diagnostics: the findings of the spec.
    """
    places = [((place.line, place.column), keys) for keys, place in parse_yaml(text, "").positions.items()]
    parts: dict[Keys, str] = {}
    for found in diagnostics:
        if found.severity is Severity.ERROR and found.position is not None:
            at = found.position.line, found.position.column
            keys = tuple(
                map(str, max((each for each in places if each[0] <= at), key=lambda each: each[0])[1])
            )
            if network:
                keys = keys[2:] if keys[:2] == ("networks", network) else ()
            depth = _REMOVABLE.get(keys[0], 0) if keys else 0
            if 0 < depth <= len(keys):
                parts.setdefault(keys[:depth], found.code)
    return parts
