"""Sum the power of several devices, and count those with a known figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.catalog.model import Power


class Draw(NamedTuple):
    """Sums over those devices whose figure the catalog has, W.

    Attributes:
        devices: all of them. typical_of, maximum_of: those that are in the sums.
    """

    devices: int = 0
    typical_w: float = 0
    typical_of: int = 0
    maximum_w: float = 0
    maximum_of: int = 0

    @property
    def words(self) -> str:
        """Of how many devices the sums are: `known of 12 of 14 devices`."""
        if self.typical_of == self.maximum_of:
            return f"known of {self.maximum_of:,} of {self.devices:,} devices"
        return f"typical known of {self.typical_of:,}, maximum of {self.maximum_of:,} of {self.devices:,} devices"


def total_draw(found: Iterable[tuple[Power, int]]) -> Draw:
    """Return the sum over devices of so many each."""
    devices = typical_of = maximum_of = 0
    typical_w = maximum_w = 0.0
    for power, count in found:
        devices += count
        if power.typical_w is not None:
            typical_w, typical_of = typical_w + power.typical_w * count, typical_of + count
        if power.maximum_w is not None:
            maximum_w, maximum_of = maximum_w + power.maximum_w * count, maximum_of + count
    return Draw(devices, _round_watts(typical_w), typical_of, _round_watts(maximum_w), maximum_of)


def _round_watts(watts: float) -> float:
    """To a tenth, as an integer where it is one."""
    found = round(watts, 1)
    return int(found) if found == int(found) else found
