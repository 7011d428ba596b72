"""Names that a device uses and does not define: route maps, prefix lists, community lists, profiles."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from fabricc.audit.rules.sheet import session_path, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.audit.rules.sheet import Sheet
    from fabricc.proof.compare import Finding

UNDEFINED = "FAB9605"
_DEFINED = re.compile(
    r"(?:vrf\[[^]]*\]/)?(route_map|prefix_list|community_list|as_path_list|access_list)\[([^]]*)\]"
)
_KINDS = {
    "route_map": "route map", "prefix_list": "prefix list", "community_list": "community list",
    "as_path_list": "list of AS paths", "access_list": "access list",
}  # fmt: skip
_SESSION = {
    "import": "route_map", "export": "route_map", "prefix_list_in": "prefix_list", "prefix_list_out": "prefix_list",
}  # fmt: skip
_PORTS = {"access_list_in": "access_list", "access_list_out": "access_list"}
_CLAUSE = {"prefix_list": "prefix_list", "community_list": "community_list", "as_path_list": "as_path_list"}
_PROCESS = re.compile(r"(?:vrf\[[^]]*\]/)?bgp/(?:redistribute_\w+|redistribute\[[^]]*\]|network\[[^]]*\])")
_ALL = ("all", "unfiltered", "none", "true", "")


def undefined(sheet: Sheet) -> Iterator[Finding]:
    """Each such name once, at the first line that uses it; a name in a line that no row knows may be defined there."""
    defined: dict[str, set[str]] = {kind: set() for kind in _KINDS}
    uses: dict[tuple[str, str], str] = {}

    def use(kind: str, value: object, path: str) -> None:
        for name in str(value).split(",") if kind == "route_map" else (str(value),):
            if name.strip() not in _ALL:
                uses.setdefault((kind, name.strip()), path)

    for path, value in sheet.facts.items():
        if match := _DEFINED.match(path):
            kind, name = match.groups()
            defined[kind].add(name)
            if kind == "route_map" and path[match.end() + 1 :].isdecimal():
                for word, of in _named(str(value)):
                    use(of, word, path)
        elif path[0] in "bv" and _PROCESS.fullmatch(path):
            use("route_map", value, path)
    for key, says in sheet.sessions.items():
        for leaf, kind in _SESSION.items():
            if (named := says.get(leaf)) is not None:
                use(kind, named, session_path(key, leaf))
    for port, says in sheet.ports.items():
        for leaf, kind in _PORTS.items():
            if (named := says.get(leaf)) is not None:
                use(kind, named, f"interface[{port}]/{leaf}")
    missing = [(kind, name, path) for (kind, name), path in uses.items() if name not in defined[kind]]
    if missing:
        said = [text for *_, text in sheet.device.reading.unknown]
        for kind, name, path in missing:
            if any(name in text for text in said):
                continue
            message = f"{sheet.name} uses the {_KINDS[kind]} {name}, which is nowhere defined"
            remedy = "Define it, or take the reference away."
            yield told(UNDEFINED, sheet.device, path, message, f"undefined {kind}", remedy=remedy, word=name)


def _named(clause: str) -> Iterator[tuple[str, str]]:
    words = clause.split()
    for word, name in pairwise(words):
        if word in _CLAUSE:
            yield name, _CLAUSE[word]
