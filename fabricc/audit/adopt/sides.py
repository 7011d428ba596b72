"""The devices of a fabric by tier, and what most of them state."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fabricc.facts.device import Kind, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.audit.adopt.order import Order
    from fabricc.audit.model import Found
    from fabricc.fabric.facts import Value
    from fabricc.facts.device import Device

Words = dict[str, Any]


class Sides:
    """The switches by tier, and the hosts; `tors` are the switches below, `links` and `host_ports` their cables."""

    def __init__(self, found: Found, order: Order) -> None:
        self.tiers = {
            tier: [found.devices[name] for name in order.tier(tier)]
            for tier in (Tier.TOR, Tier.SPINE, Tier.CORE)
        }
        self.tors = self.tiers[Tier.TOR]
        self.switches = [device for devices in self.tiers.values() for device in devices]
        self.host_ports = {(cable.peer, cable.peer_port) for host in order.hosts for cable in host.cables}
        self.links = {(name, cable.port) for name, cables in order.cables.items() for cable in cables}
        self.hosts = [device for device in found.devices.values() if device.kind is Kind.HOST]

    def most(self, path: str, devices: Iterable[Device] | None = None) -> Value | None:
        """Return the most common value of a fact on some devices, or on all switches."""
        stated = [each.reading.facts.get(path) for each in (self.switches if devices is None else devices)]
        return _most_common(value for value in stated if value is not None)

    def of_ports(self, leaf: str, devices: Iterable[Device]) -> Value | None:
        """Return what most ports that state a fact state, over some devices."""
        end = f"]/{leaf}"
        return _most_common(
            value
            for device in devices
            for path, value in device.reading.facts.items()
            if path.endswith(end) and path.startswith("interface[")
        )

    def management_addresses(self) -> list[str]:
        """Those that switches have, with their prefix lengths where these are known."""
        stated = [device.reading.facts.get("management/address") for device in self.switches]
        return [str(address) for address in stated if address is not None]


def _most_common(values: Iterable[Value]) -> Value | None:
    counted = Counter(values)
    return counted.most_common(1)[0][0] if counted else None
