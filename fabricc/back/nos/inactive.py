"""Find statements of Junos that are in a configuration and are not in force, for the forwarding of a fabric."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MARK = "inactive: "
_COMMAND = "deactivate "
_SECTIONS = (
    "protocols bgp",
    "class-of-service",
    "policy-options",
    "routing-options",
    "firewall",
    "forwarding-options",
    "routing-instances mgmt_junos",
    "protocols lldp",
    "system ntp server",
    "system syslog host",
    "system management-instance",
    "interfaces lo0",
)
_PARTS = ("unit", "family", "address", "filter", "mtu", "number-of-sub-ports")
"""Words that follow the name of a port in a statement without which the port is up and carries nothing."""


class Inactive(NamedTuple):
    """An inactive statement: its file and line, its words, and how many lines it turns off."""

    file: str
    line: int
    words: str
    lines: int


def find_inactive(
    system: str, files: Mapping[str, str], unknown: Iterable[tuple[str, int, str]]
) -> Iterator[Inactive]:
    """Yield the inactive statements about sessions, policies, classes, filters, and addresses of ports.

    Junos keeps a statement with the tag `inactive:` and commits without it (CLI User Guide, "Deactivate").
    """
    back_end = nos.load(system) if system == "junos" else None
    if back_end is None or not hasattr(back_end, "reversals"):
        return
    inside: dict[str, list[tuple[int, str]]] = {}
    for file, number, text in unknown:
        if text.startswith((_MARK, _COMMAND)):
            inside.setdefault(file, []).append((number, text))
    for file, found in inside.items():
        commands = [(number, text.partition(" ")[2]) for number, text in found if text.startswith(_COMMAND)]
        for number, words in commands:
            if _carries_traffic(words):
                yield Inactive(file, number, words, sum(words in text for _, text in found))
        heads = [each.line for each in back_end.reversals(file, files.get(file, ""))] if not commands else []
        for first, after in pairwise((*heads, len(files.get(file, "")) + 1)):
            own = sorted(text.partition(" ")[2] for number, text in found if first <= number < after)
            if words := next(filter(_carries_traffic, own), ""):
                yield Inactive(file, first, words, len(own))


def _carries_traffic(words: str) -> bool:
    section, _, rest = words.partition(" ")
    return words.startswith(_SECTIONS) or (
        section == "interfaces" and not set(_PARTS).isdisjoint(rest.split()[1:])
    )
