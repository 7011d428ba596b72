"""The Fabric: everything decided, in closed form; any device can be computed alone from its coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric import expand, expand_host, links
from fabricc.fabric.design import Design
from fabricc.fabric.naming import switch_name
from fabricc.fabric.shape import HostId, TierName

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from fabricc.fabric.cables import CableRow
    from fabricc.fabric.model import Host, Switch
    from fabricc.fabric.shape import DeviceId, SwitchId


@dataclass(frozen=True, slots=True)
class Fabric(Design):
    """A whole fabric: its design, and every device and cable of it, each made on demand.

    Attributes:
        networks: as of a design, with the devices of each.
    """

    networks: tuple[Fabric, ...] = ()

    def kinds(self) -> Iterator[SwitchId]:
        """Yield one switch of every kind that a back end could treat differently."""
        seen: set[tuple[object, ...]] = set()
        alone = self.changes.keys() | self.external.exits.keys()
        for switch in self.switch_ids():
            name = switch_name(self, switch) if alone else ""
            group = self.units[switch.unit].group if switch.tier is TierName.TOR else -1
            key = (switch.tier, group, name if name in alone else None, self._has_tenants(switch))
            if key not in seen:
                seen.add(key)
                yield switch

    def _has_tenants(self, switch: SwitchId) -> bool:
        """Return whether a port of a ToR belongs to a tenant."""
        if self.tenancy is None or switch.tier is not TierName.TOR:
            return False
        served = links.served_slots(self, switch)
        return any(unit.hosts[slot] in self.tenancy.of_host for unit, slots, _ in served for slot in slots)

    def with_far_ends(self, names: Set[str]) -> set[str]:
        """These devices, and what stands at the far ends of the cables of those that are switches."""
        found = set(names)
        for at in self.switch_ids() if names else ():
            if self.name(at) in names:
                found.update(link.peer for link in links.switch_links(self, at))
        return found

    def name(self, switch: SwitchId) -> str:
        """Return the name of a switch."""
        return switch_name(self, switch)

    def switch(self, switch: SwitchId) -> Switch:
        """Return one switch, in time proportional to its ports."""
        return expand.expand_switch(self, switch)

    def host(self, host: HostId) -> Host:
        """Return one host, in time proportional to its rails."""
        return expand_host.expand_host(self, host.unit, host.slot)

    def find(self, name: str) -> DeviceId | None:
        """Return the switch or host of that name, or None."""
        for switch in self.switch_ids():
            if switch_name(self, switch) == name:
                return switch
        for coordinate, unit in self.units.items():
            for slot, host in unit.hosts.items():
                if host == name:
                    return HostId(coordinate, slot)
        return None

    def cables(self) -> Iterator[CableRow]:
        """Yield every cable, lower end first, in the order of `switch_ids`."""
        for unit in self.units:
            for tor in self.tor_ids(unit):
                yield from expand.tor_cables(self, tor)
        if self.shape.cores:
            for switch in self.switch_ids():
                if switch.tier is TierName.SPINE:
                    yield from expand.spine_cables(self, switch)
