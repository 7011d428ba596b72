"""Plant faults and count those that the audit finds: `python -m tests.audit.faults.seeds [SYSTEM[,SYSTEM]] [KIND]`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Severity
from fabricc.rules.access import OPEN
from tests.audit.faults import (
    access,
    details,
    filters,
    idle,
    incomplete,
    lossless,
    misfits,
    nvue,
    policies,
    ports,
    preferences,
    routes,
    sessions,
    settings,
    traffic,
)
from tests.audit.faults.edits import UnchangedError
from tests.audit.faults.fabric import SYSTEMS, audit_altered, build_texts, spine_names, tor_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.proof.compare import Finding

GROUPS = {
    "traffic": traffic.KINDS,
    "sessions": sessions.KINDS,
    "ports": ports.KINDS,
    "lossless": lossless.KINDS,
    "access": access.KINDS,
    "filters": filters.KINDS,
    "details": details.KINDS,
    "policies": policies.KINDS,
    "preferences": preferences.KINDS,
    "incomplete": incomplete.KINDS,
    "misfits": misfits.KINDS,
    "idle": idle.KINDS,
    "routes": routes.KINDS,
    "settings": settings.KINDS,
    "nvue": nvue.KINDS,
}
KINDS = {kind: fault for group in GROUPS.values() for kind, fault in group.items()}
WITH_HOSTS = frozenset({"RDMA in a lossy class"})
"""Faults for which the folder has the files of the hosts too: only these state which code point is RDMA's."""


NOTED = frozenset({"access without a list"})
"""Faults that are a note on systems whose files do not show that a list was meant."""


class Planted(NamedTuple):
    """A fault: the switches that have it, and the texts of each."""

    kind: str
    system: str
    scope: str
    texts: dict[str, dict[str, str]]


def plant(kind: str, system: str, scope: str) -> Planted | None:
    """Plant a fault; None where the system cannot state it or the scope has no switch of its own."""
    place, edits = KINDS[kind]
    tier, mark = place.rstrip("*-"), place[-1]
    if system not in edits or (mark, scope) in (("*", "one"), ("-", "all")):
        return None
    every = list(build_texts(system))
    own = {"tor": tor_names(system), "spine": spine_names(system), "all": every}[tier]
    names = {"one": own[1:2], "tier": own, "all": every}[scope]
    if tier == "all" and scope != "all":
        return None
    texts = {}
    for name in names:
        try:
            texts[name] = edits[system](dict(build_texts(system)[name]))
        except UnchangedError:
            if scope == "one":
                raise
    return Planted(kind, system, scope, texts)


def name_findings(planted: Planted, findings: list[Finding]) -> list[Finding]:
    """Return the warnings and errors at the switches that have the fault, or that name one of them."""
    found = [
        each for each in findings if each.severity is not Severity.NOTE or _is_expected_note(planted, each)
    ]
    names = planted.texts
    return [
        each
        for each in found
        if each.file.partition("/")[0] in names or any(name in each.message for name in names)
    ]


def _is_expected_note(planted: Planted, finding: Finding) -> bool:
    return planted.kind in NOTED and finding.code == OPEN


def try_faults(
    systems: tuple[str, ...], kinds: tuple[str, ...], scopes: tuple[str, ...]
) -> Iterator[tuple[Planted, list[Finding]]]:
    """Plant each fault, and yield what the audit finds."""
    for kind in kinds:
        for system in systems:
            for scope in scopes:
                planted = plant(kind, system, scope)
                if planted is not None:
                    yield planted, audit_altered(system, planted.texts, hosts=kind in WITH_HOSTS)


def main(systems: str = "", kinds: str = "", scopes: str = "one,all") -> None:
    """Print a table of the faults: whether one of each was found."""
    chosen = tuple(systems.split(",")) if systems else SYSTEMS
    every = tuple(kind for kind in KINDS if kinds in kind)
    cells: dict[tuple[str, str], list[str]] = {}
    print(f"{'':42}", *(f"{system:8}" for system in chosen))
    for kind in every:
        for planted, findings in try_faults(chosen, (kind,), tuple(scopes.split(","))):
            found = name_findings(planted, findings)
            cells.setdefault((kind, planted.system), []).append("+" if found else "-")
            if kinds:
                print(kind, planted.system, planted.scope)
                for each in found[:6]:
                    print("    ", each.severity, each.code, each.file, each.line, each.message)
        print(
            f"{kind:42}",
            *(f"{' '.join(cells.get((kind, system), ['.'])):8}" for system in chosen),
            flush=True,
        )
    print([mark for row in cells.values() for mark in row].count("+"), "of", sum(map(len, cells.values())))


if __name__ == "__main__":
    main(*sys.argv[1:])
