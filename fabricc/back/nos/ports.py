"""Parse port names in any spelling: `Et1` and `Ethernet1`, `et-0/0/0` and `et-0/0/0.0`."""

from __future__ import annotations

import re
from difflib import get_close_matches
from enum import StrEnum
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, cast

from fabricc.back.nos import package_of
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = re.compile(r"([A-Za-z][A-Za-z_-]*?)[ -]?(\d[^.]*)?(?:\.(\d+))?")


class PortKind(StrEnum):
    """The kind of interface that a name belongs to."""

    PORT = "port"
    BUNDLE = "bundle"
    MANAGEMENT = "management"
    VIRTUAL = "virtual"  # a loopback, the interface of a VLAN, a tunnel


class PortName(NamedTuple):
    """A parsed port name.

    Attributes:
        port: the canonical name of the port itself, for comparison.
        unit: number of the logical interface on it, "" for the port itself.
    """

    kind: PortKind
    port: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Spelling:
    """Port names of a NOS.

    Attributes:
        words: first letters of a name, lower-case -> what it is.
        whole: names that are no word and number -> what they are.
        same: number of the logical interface that is the port itself; "" where none is.
        abbreviated: a beginning of one of the words that no other has stands for it.
    """

    words: dict[str, PortKind]
    whole: dict[str, PortKind]
    same: str = ""
    abbreviated: bool = False

    def parse_name(self, name: str) -> PortName:
        """Parse a name."""
        lower = name.strip().lower()
        if lower in self.whole:
            return PortName(self.whole[lower], lower)
        match = _NAME.fullmatch(lower)
        if match is None:
            return PortName(PortKind.PORT, lower)
        letters, number, unit = match.groups()
        word = self._kind_word(letters) if number is not None else None
        if word is None:
            base, _, unit = lower.partition(".")
            if not is_number(unit):
                return PortName(PortKind.PORT, lower)
            kind = self.whole.get(base, self.words.get(base, PortKind.PORT))
            return PortName(kind, base, unit)
        unit = "" if unit is None or unit == self.same else unit
        return PortName(self.words[word], f"{word}{number}", unit)

    def _kind_word(self, letters: str) -> str | None:
        if letters in self.words:
            return letters
        found = [word for word in self.words if word.startswith(letters)] if self.abbreviated else []
        return found[0] if len(found) == 1 else None


PLAIN = Spelling({}, {"lo": PortKind.VIRTUAL})
"""For hosts and for systems without a spelling: names are compared verbatim."""


_PORT, _BUNDLE, _MANAGEMENT, _VIRTUAL = PortKind.PORT, PortKind.BUNDLE, PortKind.MANAGEMENT, PortKind.VIRTUAL
SPELLINGS = {
    "cumulus": Spelling(
        {
            "swp": _PORT, "bond": _BUNDLE, "eth": _MANAGEMENT, "mgmt": _MANAGEMENT, "vlan": _VIRTUAL, "vxlan": _VIRTUAL,
            "vni": _VIRTUAL, "peerlink": _BUNDLE, "lo": _VIRTUAL, "dummy": _VIRTUAL,
        },
        {"lo": _VIRTUAL, "bridge": _VIRTUAL, "br_default": _VIRTUAL, "peerlink": _BUNDLE, "mgmt": _MANAGEMENT},
    ),
    "eos": Spelling(
        {
            "ethernet": _PORT, "unconnectedethernet": _PORT, "port-channel": _BUNDLE, "management": _MANAGEMENT,
            "loopback": _VIRTUAL, "vlan": _VIRTUAL, "vxlan": _VIRTUAL, "tunnel": _VIRTUAL, "dps": _VIRTUAL,
            "recirc-channel": _VIRTUAL,
        },
        {"cpu": _VIRTUAL, "defaults": _VIRTUAL},
        abbreviated=True,
    ),
    "frr": Spelling(
        {
            "swp": _PORT, "eth": _PORT, "bond": _BUNDLE, "mgmt": _MANAGEMENT, "vlan": _VIRTUAL, "vxlan": _VIRTUAL,
            "vni": _VIRTUAL, "peerlink": _BUNDLE, "lo": _VIRTUAL, "dummy": _VIRTUAL,
        },
        {
            "lo": _VIRTUAL, "bridge": _VIRTUAL, "br_default": _VIRTUAL, "peerlink": _BUNDLE, "mgmt": _MANAGEMENT,
            "eth0": _MANAGEMENT,
        },
    ),
    "junos": Spelling(
        {
            "et": _PORT, "xe": _PORT, "ge": _PORT, "mge": _PORT, "fe": _PORT, "ae": _BUNDLE, "reth": _BUNDLE,
            "em": _MANAGEMENT, "fxp": _MANAGEMENT, "me": _MANAGEMENT, "vme": _MANAGEMENT, "lo": _VIRTUAL,
            "irb": _VIRTUAL, "vlan": _VIRTUAL, "vtep": _VIRTUAL, "st": _VIRTUAL, "gr": _VIRTUAL, "ip": _VIRTUAL,
            "lt": _VIRTUAL, "fti": _VIRTUAL,
        },
        {"re0:mgmt-0": _MANAGEMENT, "re1:mgmt-0": _MANAGEMENT, "irb": _VIRTUAL, "vme": _MANAGEMENT},
        same="0",
    ),
    "nxos": Spelling(
        {
            "ethernet": _PORT, "port-channel": _BUNDLE, "mgmt": _MANAGEMENT, "loopback": _VIRTUAL, "vlan": _VIRTUAL,
            "nve": _VIRTUAL, "tunnel": _VIRTUAL, "breakout": _VIRTUAL,
        },
        {},
        abbreviated=True,
    ),
    "sonic": Spelling(
        {
            "ethernet": _PORT, "etp": _PORT, "portchannel": _BUNDLE, "eth": _MANAGEMENT, "mgmt": _MANAGEMENT,
            "loopback": _VIRTUAL, "vlan": _VIRTUAL, "vxlan": _VIRTUAL, "vnet": _VIRTUAL, "bridge": _VIRTUAL,
        },
        {"lo": _VIRTUAL, "docker0": _VIRTUAL},
    ),
}  # fmt: skip
"""Built-in NOS -> the names of its ports."""


def misspelled_kind(system: str, name: str) -> str:
    """Return the kind of port that an unknown word in the name of one is meant for, "" without such a word."""
    letters = re.match(r"[a-z-]+", name.lower())
    if system not in _NAMED_PORTS or letters is None:
        return ""
    known = load_spelling(system).words
    word = letters[0]
    if any(each.startswith(word) for each in known):
        return ""
    return next(iter(get_close_matches(word, known, 1, _LIKENESS)), "")


_NAMED_PORTS, _LIKENESS = ("eos", "nxos"), 0.8


@cache
def load_spelling(system: str) -> Spelling:
    """Return how a NOS spells its ports; another package states it as `PORTS` in its module `ports`."""
    if system in SPELLINGS:
        return SPELLINGS[system]
    name = package_of(system)
    if name is None or find_spec(f"{name}.ports") is None:
        return PLAIN
    return cast("Spelling", import_module(f"{name}.ports").PORTS)


def lists_every_port(system: str) -> bool:
    """Return whether a running configuration has the ports that are not used too, as NX-OS prints them."""
    return system == "nxos"


@cache
def cached_parser(system: str) -> Callable[[str], PortName]:
    """Return `Spelling.parse_name` of a system with a cache."""
    return lru_cache(1 << 16)(load_spelling(system).parse_name)
