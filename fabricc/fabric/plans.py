"""Decisions about tiers, pools, routing, descriptions and overlays, and the exceptions of single switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric import addresses as adr
from fabricc.fabric.routing import BgpSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.addresses import AsnBlock, Pool
    from fabricc.fabric.management import ManagementNetwork
    from fabricc.fabric.model import Overlay
    from fabricc.fabric.shape import TierName


@dataclass(frozen=True, slots=True)
class TierPlan:
    """Model and NOS of a tier."""

    model: SwitchModel
    nos: str
    release: str


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """Pools; the IPv4 loopback pool always exists, for router IDs. `hosts4` and `links4` are None without IPv4.

    Attributes:
        management: networks of management ports; a switch is in the first that takes it.
    """

    hosts4: Pool | None
    links4: Pool | None
    loopbacks4: Pool
    hosts6: Pool | None
    links6: Pool | None
    loopbacks6: Pool | None
    numbered: bool
    management: tuple[ManagementNetwork, ...]

    def pools(self) -> dict[str, Pool]:
        """The pools by name: `hosts4`, `management`, of further such networks `management.networks[0]` and so on."""
        names = ("hosts4", "links4", "loopbacks4", "hosts6", "links6", "loopbacks6")
        found = {name: pool for name in names if (pool := getattr(self, name)) is not None}
        return found | {each.key.removesuffix(".network"): each.pool for each in self.management}

    def whole_pools(self, aggregate_bits: int) -> Iterator[str]:
        """Prefixes of the pools, but of one that is a single route of the fabric itself."""
        for hosts, loopbacks, links in (
            (self.hosts4, self.hosts4 and self.loopbacks4, self.links4),
            (self.hosts6, self.loopbacks6, self.links6),
        ):
            if hosts and hosts.bits > aggregate_bits:
                yield str(hosts)
            if loopbacks and loopbacks.bits:
                yield str(loopbacks)
            if links and links.bits > 1 and self.numbered:
                yield str(links)


@dataclass(frozen=True, slots=True)
class RoutingPlan(BgpSettings):
    """BGP settings of the whole fabric; prefix limits are per neighbor and family; `maximum_prefixes` is given."""

    asn_base: int
    unique_spine_asn: bool
    maximum_paths: int
    limit_from_above: int
    limit_from_tor: int
    limit_from_spine: int
    maximum_prefixes: int | None = None

    @property
    def asns(self) -> AsnBlock:
        """The block of ASNs from the base on."""
        return adr.asn_block(self.asn_base)


@dataclass(frozen=True, slots=True)
class Descriptions:
    """Descriptions of ports and sessions: `{device}`, `{port}`, `{peer}`, `{peer_port}`; "" for the usual words.

    Attributes:
        fabric: of ports to switches; `host`: to hosts; `session`: of BGP sessions.
    """

    fabric: str = ""
    host: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """The exceptions of one switch; `ports` maps a port name to (cable_m, medium, shutdown).

    Attributes:
        unnumbered: whether its links to switches below have no addresses, though others have.
    """

    nos: str | None
    release: str | None
    drained: bool
    cable_m: int | None
    ports: Mapping[str, tuple[int | None, str | None, bool]]
    unnumbered: bool = False


@dataclass(frozen=True, slots=True)
class OverlayPlan:
    """The switches of an overlay: those of a NOS, in all tiers or some, or only the named ones."""

    overlay: Overlay
    nos: str
    tiers: tuple[TierName, ...]
    devices: tuple[str, ...]

    def covers(self, name: str, tier: TierName, nos: str) -> bool:
        """Return whether the switch of that name, tier and NOS has it."""
        return (
            nos == self.nos
            and (not self.tiers or tier in self.tiers)
            and (not self.devices or name in self.devices)
        )
