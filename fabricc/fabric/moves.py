"""Record the devices with a former name, and those that replace another box."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping


class Former(NamedTuple):
    """The box that a device took the place of, by its name; `serial` is the new one's number or ""."""

    name: str
    serial: str = ""


@dataclass(frozen=True, slots=True)
class Moves:
    """The renames and replacements in the spec; none of them is needed to configure devices.

    Attributes:
        renamed: name of a device -> the one that it had, of devices that are the same.
        replaced: name of a device -> what stood in its place.
        units: name of a unit or rack -> the one that it had.
        parties: name of an outside party -> the one that it had.
        network: name that the fabric's network had; None where it has the same.
        settled: former names that the spec gives and something now bears in another way; no set, whose order would be
            another in every process.
    """

    renamed: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, Former] = field(default_factory=dict)
    parties: Mapping[str, str] = field(default_factory=dict)
    network: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    settled: tuple[str, ...] = ()

    def present(self, name: str) -> str:
        """Return the device that a former name stands for now, "" where it is none."""
        boxes = ((new, box.name) for new, box in self.replaced.items())
        return next((new for new, old in (*self.renamed.items(), *boxes) if old == name), "")
