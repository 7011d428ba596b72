"""Settings by which a switch changes, misjudges or refuses packets, as facts of EOS, NX-OS and Junos."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value

_EOS_MARK = re.compile(r"qos/setting\[qos map traffic-class (\d) to dscp\]")
_EOS_ON = ("qos/setting[qos rewrite]", "qos/setting[qos rewrite dscp]")
_NXOS_MARK = re.compile(r"qos/setting\[set dscp of qos-group (\d)\]")
_POLICE = re.compile(r"qos/setting\[police of qos-group (\d)\]")
_LOSS = re.compile(r"qos/setting\[dscp (\d+) loss-priority\]")


def rewritten_classes(facts: Mapping[str, Value]) -> Iterator[tuple[str, int, int]]:
    """Yield the path of a fact that states the code point which packets of a class leave with, class and code point.

    EOS rewrites with `qos rewrite dscp` alone (EOS user manual, "Quality of Service").
    """
    rewrites = any(path in facts for path in _EOS_ON)
    for path, value in facts.items():
        match = (_EOS_MARK.fullmatch(path) if rewrites else None) or _NXOS_MARK.fullmatch(path)
        if match and is_number(str(value)):
            yield path, int(match[1]), int(str(value))


_CLASS_MTU = re.compile(r"structure/policy_map\[network-qos [^]]+\]/c-8q-nq(\d)/mtu")


def small_classes(facts: Mapping[str, Value], size: int) -> Iterator[tuple[str, int, int]]:
    """Yield the path of a fact by which packets of a class are shorter than a size, the class, and its MTU (NX-OS)."""
    for path, value in facts.items():
        if (match := _CLASS_MTU.fullmatch(path)) and isinstance(value, int) and value < size:
            yield path, int(match[1]), value


def policed_classes(facts: Mapping[str, Value]) -> Iterator[tuple[str, int]]:
    """Yield the path of a fact about a policer that drops packets of a class, and the class (NX-OS)."""
    for path, value in facts.items():
        if (match := _POLICE.fullmatch(path)) and "drop" in str(value).split():
            yield path, int(match[1])


def odd_loss_priorities(facts: Mapping[str, Value]) -> Iterator[tuple[str, int, str]]:
    """Yield facts about code points with another loss priority than the lowest, by which Junos drops them first."""
    for path, value in facts.items():
        if match := _LOSS.fullmatch(path):
            yield path, int(match[1]), str(value)


_GUARDS = {
    "vlan_tag": "VLAN tag", "setting[mac security profile": "MACsec", "setting[macsec": "MACsec",
    "setting[bfd authentication": "BFD authentication",
}  # fmt: skip
"""Beginning of a leaf of a port -> what both ends of its link need (BFD authentication: NX-OS alone)."""


def states_guards(system: str) -> bool:
    """Return whether the files of a system state on its ports what packets must have."""
    return system in ("eos", "nxos")


def guard_of(leaf: str, value: Value) -> str:
    """Return what a leaf of a port requires of both ends of its link, "" for nothing."""
    words = next((words for start, words in _GUARDS.items() if leaf.startswith(start)), "")
    return "" if value == "off" or not words else f"{words} {value}" if leaf == "vlan_tag" else words
