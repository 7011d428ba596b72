"""An outage: the devices, links and planes that are out of service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection

    from fabricc.fabric.fabric import Fabric

End = tuple[str, str]
"""A device and its port."""


@dataclass(frozen=True, slots=True)
class Outage:
    """Devices and links that are out of service.

    Attributes:
        gone: switches and hosts that are off.
        drained: switches that traffic is led around.
        ends: of links that carry nothing; one of both ends is enough.
    """

    gone: frozenset[str] = frozenset()
    drained: frozenset[str] = frozenset()
    ends: frozenset[End] = frozenset()

    def __or__(self, other: Outage) -> Outage:
        return Outage(self.gone | other.gone, self.drained | other.drained, self.ends | other.ends)

    def exclude_outage(self, other: Outage) -> Outage:
        """Return this outage without the parts of the other one."""
        back = other.gone | other.drained
        return Outage(self.gone - back, self.drained - back, self.ends - other.ends)

    def split(self) -> list[Outage]:
        """Return one outage for each device and link."""
        found = [Outage(gone=frozenset({name})) for name in sorted(self.gone)]
        found += [Outage(drained=frozenset({name})) for name in sorted(self.drained)]
        return [*found, *(Outage(ends=frozenset({end})) for end in sorted(self.ends))]

    @property
    def names(self) -> list[str]:
        """Devices and links as they are named on the command line."""
        return [
            *sorted(self.gone | self.drained),
            *(f"{device}:{port}" for device, port in sorted(self.ends)),
        ]


def outage_of_planes(fabric: Fabric, planes: Collection[int]) -> Outage:
    """Return the outage of every switch of some planes."""
    return Outage(gone=frozenset(fabric.name(at) for at in fabric.switch_ids() if at.plane in planes))
