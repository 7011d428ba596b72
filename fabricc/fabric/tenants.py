"""Tenants of a routed fabric: VRFs over the ports to hosts, joined by EVPN type-5 routes over VXLAN.

A port to a host stays the routed link that it is, in the VRF of its tenant. Where ToRs reach each other, a ToR is a
VTEP: the VRF has a VNI and announces its links as IP prefix routes (RFC 9136) over the sessions of the underlay, which
itself carries loopbacks only. Otherwise a VRF without a VNI isolates. VNI, route target and route distinguisher follow
from the tenant's number in the lock, so no tenant changes when another comes or goes.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass, replace
from fabricc.fabric.evpn import VXLAN_BYTES, route_distinguisher, route_target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.routing import StaticRoute

VNI_BASE = 20000
"""Added to the number of a tenant."""
MOST = 3900
"""Largest number of a tenant: systems whose L3VNI needs a VLAN have one for each number."""
NO_VLAN = "none"
"""Placeholder for the VLAN of a VRF whose VNI has no VLAN interface."""
STATIC_MAP = "STATIC"
"""The route map on static routes to outside parties."""
NOBODY = -1
"""In place of a tenant: a port that belongs to none."""


class TenantNumbers(NamedTuple):
    """Numbers of a tenant that a spec may state, as another fabric or a plan of its users has them.

    Attributes:
        vni: of its VRF.
        route_target: as `AS:NUMBER`.
        distinguisher: the number after the loopback in its route distinguishers.
    """

    vni: int | None = None
    route_target: str | None = None
    distinguisher: int | None = None


NO_NUMBERS = TenantNumbers()


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant.

    Attributes:
        name: in the spec; on a switch that of its VRF.
        number: its identity in the lock, from 1.
        own: numbers that the spec states and that do not follow from `number`.
        own_vrf: the name of its VRF that the spec states; "" for that of the tenant.
    """

    name: str
    number: int
    own: TenantNumbers = NO_NUMBERS
    own_vrf: str = ""

    @property
    def vrf(self) -> str:
        """The name of its VRF, the same on all ToRs."""
        return self.own_vrf or self.name

    @property
    def vni(self) -> int:
        """The VNI of its VRF, the same on all ToRs."""
        return VNI_BASE + self.number if self.own.vni is None else self.own.vni

    @property
    def vlan(self) -> int:
        """The VLAN of its VRF, on systems whose L3VNI needs one; VLAN 1 is every system's default."""
        return 1 + self.number

    @property
    def route_target(self) -> str:
        """The only route target that its VRF imports and exports."""
        return self.own.route_target or route_target(self.vni)

    def distinguisher(self, source: str) -> str:
        """Return the route distinguisher of its VRF at a VTEP."""
        number = self.own.distinguisher
        return route_distinguisher(source, self.number) if number is None else f"{source}:{number}"


@dataclass(frozen=True, slots=True)
class Tenancy:
    """The tenants of a fabric.

    Attributes:
        tenants: by name.
        of_host: host -> index of the tenant of each rail, `NOBODY` for none; a host of no tenant is absent.
        tunnels: whether ToRs reach each other, so that VRFs need VXLAN.
        mtu: IP MTU of ports to hosts, bytes.
        exits: outside party -> index of the tenant that reaches it, whose VRF has the links there.
        loopbacks: whether EVPN routes go over sessions between loopbacks, and not over those of links.
    """

    tenants: tuple[Tenant, ...]
    of_host: Mapping[str, tuple[int, ...]]
    tunnels: bool
    mtu: int
    exits: Mapping[str, int] = field(default_factory=dict)
    loopbacks: bool = False

    def find_tenant(self, host: str, rail: int) -> Tenant | None:
        """Return the tenant of a rail of a host."""
        rails = self.of_host.get(host, ())
        index = rails[rail] if rail < len(rails) else NOBODY
        return None if index == NOBODY else self.tenants[index]

    def tenants_of(self, host: str) -> tuple[Tenant | None, ...]:
        """Return the tenant of each rail of a host; empty for a host of no tenant."""
        return tuple(None if at == NOBODY else self.tenants[at] for at in self.of_host.get(host, ()))

    def parties_of(self, host: str) -> frozenset[str]:
        """Return the outside parties that a tenant of a host reaches."""
        own = self.of_host.get(host, ()) if self.exits else ()
        return frozenset(party for party, index in self.exits.items() if index in own)

    def without_hosts(self) -> Tenancy:
        """Return it as it is where no host of a tenant has a port: the tenants with exits alone."""
        own = sorted({*self.exits.values()})
        places = {index: at for at, index in enumerate(own)}
        exits = {party: places[index] for party, index in self.exits.items()}
        return replace(self, tenants=tuple(self.tenants[at] for at in own), of_host={}, exits=exits)

    def moved_hosts(self, other: Tenancy) -> set[str]:
        """Return the hosts that have a rail in another tenant, or in the same one by another number."""
        hosts = self.of_host.keys() | other.of_host.keys()
        return {host for host in hosts if self.tenants_of(host) != other.tenants_of(host)}


@dataclass(frozen=True, slots=True)
class TenantVrfs:
    """The VRFs of one ToR: those of tenants that have a port there.

    Attributes:
        source: its VTEP address, the loopback; None where VRFs have no VNI.
        families: address families of the VRFs, `ipv4` and `ipv6`.
        mtu: IP MTU of ports to hosts, bytes.
        routes: number of a tenant -> static routes of its VRF: to outside parties, and what drops the fabric's own.
    """

    source: str | None
    tenants: tuple[Tenant, ...]
    families: tuple[str, ...]
    mtu: int
    routes: Mapping[int, tuple[StaticRoute, ...]] = field(default_factory=dict)

    def routes_of(self, tenant: Tenant) -> tuple[StaticRoute, ...]:
        """Return the static routes of a VRF."""
        return self.routes.get(tenant.number, ())

    def static_map(self, tenant: Tenant) -> str | None:
        """Return the route map by which static routes of a VRF become EVPN routes; None where none do."""
        return STATIC_MAP if self.source is not None and self.routes_of(tenant) else None

    def distinguisher(self, tenant: Tenant) -> str:
        """Return the route distinguisher of a VRF, which no other ToR and no other VRF has (RFC 4364 section 4.2)."""
        return tenant.distinguisher(str(self.source))


def port_mtu(switch_mtu: int, *, tunnels: bool) -> int:
    """Return the IP MTU of ports to hosts: a packet from there fits links between switches inside VXLAN."""
    return switch_mtu - VXLAN_BYTES if tunnels else switch_mtu


def assign_numbers(names: Sequence[str], pinned: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of all tenants there ever were: pinned ones, and for new names numbers above all of these."""
    numbers = dict(pinned)
    for name in names:
        if name not in numbers:
            numbers[name] = max(numbers.values(), default=0) + 1
    return numbers
