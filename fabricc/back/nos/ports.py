"""Parse port names in any spelling: `Et1` and `Ethernet1`, `et-0/0/0` and `et-0/0/0.0`."""

from __future__ import annotations

import re
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

    def parsed(self, name: str) -> PortName:
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


@cache
def load_spelling(system: str) -> Spelling:
    """Return how a NOS spells its ports: what `PORTS` is in the module `ports` of its back end's package."""
    name = package_of(system)
    if name is None or find_spec(f"{name}.ports") is None:
        return PLAIN
    return cast("Spelling", import_module(f"{name}.ports").PORTS)


@cache
def cached_parser(system: str) -> Callable[[str], PortName]:
    """Return `Spelling.parsed` of a system with a cache."""
    return lru_cache(1 << 16)(load_spelling(system).parsed)
