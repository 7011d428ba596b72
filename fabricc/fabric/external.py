"""Ways out of the fabric: outside parties, and the ports that lead to them."""

from __future__ import annotations

from dataclasses import field
from ipaddress import ip_network
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric.model import CableRow
from fabricc.fabric.routing import PrefixRule, StaticRoute

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from fabricc.fabric.shape import Slot, TierName


GROUP = "EXTERNAL-"
"""Prefix of the names of peer groups of outside parties; the party's name follows."""


@dataclass(frozen=True, slots=True)
class ExternalLink:
    """A link that leaves the fabric at port `port` of switch `at`.

    Attributes:
        ipv4, ipv6: own address with the prefix length, None when the family is absent; remote4, remote6: the far
            end's, without.
    """

    at: str
    port: str
    speed_gbps: int
    peer: str
    peer_port: str
    cable_m: int
    medium: str
    ipv4: str | None
    remote4: str | None
    ipv6: str | None
    remote6: str | None

    @property
    def cable(self) -> CableRow:
        """Return its row of the cabling plan, the switch's end first."""
        ends = (self.at, self.port, self.peer, self.peer_port)
        return CableRow(*ends, self.speed_gbps, self.medium, self.cable_m, "external")


@dataclass(frozen=True, slots=True)
class ExternalParty:
    """An outside party and the links to it.

    Attributes:
        asn: None for static routes.
        password: of its BGP sessions, a reference to a secret; None without.
        accept: prefixes that lead to it.
        maximum_prefixes: per session and address family; for static routes as many as there are.
        trusted: what arrives is classified by its DSCP; else it is in the default class, and marked so.
        lossless: PFC and headroom as inside the fabric.
        mtu: IP MTU of the links, bytes.
        networks: (IP version, network) that links without addresses of their own are numbered from.
    """

    name: str
    asn: int | None
    password: str | None
    accept: tuple[PrefixRule, ...]
    maximum_prefixes: int
    trusted: bool
    lossless: bool
    mtu: int
    links: tuple[ExternalLink, ...]
    networks: tuple[tuple[int, str], ...] = ()

    @property
    def group(self) -> str:
        """Return what the peer group of its sessions is called."""
        return f"{GROUP}{self.name.upper()}"

    @property
    def room(self) -> int:
        """Links that each of its networks holds."""
        return min(ip_network(network).num_addresses for _, network in self.networks) // 2

    def numbers(self, link: ExternalLink) -> bool:
        """Return whether a link has an address from its networks, as the spec gives none."""
        return any((link.ipv6 if family == 6 else link.ipv4) is None for family, _ in self.networks)


class Exit(NamedTuple):
    """A link and its far end outside the fabric."""

    outsider: ExternalParty
    link: ExternalLink


class Split(NamedTuple):
    """A cage that only external links use, divided as they need: its ports and their names."""

    slots: tuple[Slot, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class External:
    """The ways out of a fabric.

    Attributes:
        exits: switch -> port name -> what it leads to.
        splits: switch -> cage -> its ports, where these are others than in the layout of such switches.
        tiers: the tiers of these switches, from the hosts up.
    """

    outsiders: tuple[ExternalParty, ...] = ()
    exits: Mapping[str, Mapping[str, Exit]] = field(default_factory=dict)
    splits: Mapping[str, Mapping[int, Split]] = field(default_factory=dict)
    tiers: tuple[TierName, ...] = ()

    def at(self, switch: str) -> Mapping[str, Exit]:
        """Return the ways out of one switch, by port."""
        return self.exits.get(switch, {})

    @property
    def accepted(self) -> tuple[tuple[int, PrefixRule], ...]:
        """(IP version, rule) of every prefix that leads outside, each once."""
        rules = dict.fromkeys(rule for outsider in self.outsiders for rule in outsider.accept)
        return tuple((family_of(rule.prefix), rule) for rule in rules)

    @property
    def most(self) -> int:
        """Prefixes of one family that there can be from outside."""
        return sum(outsider.maximum_prefixes for outsider in self.outsiders)

    def prefixes(self, family: int, parties: Container[str] | None = None) -> tuple[str, ...]:
        """Return the prefixes of a family that hosts reach outside over the fabric: all but the default route.

        Args:
            family: IP version.
            parties: those that the host reaches; None for all.
        """
        reached = [each for each in self.outsiders if parties is None or each.name in parties]
        rules = dict.fromkeys(rule.prefix for each in reached for rule in each.accept)
        return tuple(each for each in rules if family_of(each) == family and not each.endswith("/0"))


def family_of(text: str) -> int:
    """IP version of an address or prefix."""
    return 6 if ":" in text else 4


def static_routes(exits: Mapping[str, Exit], own: Iterable[str]) -> tuple[StaticRoute, ...]:
    """The static routes of a switch with ways out: to outsiders without BGP, and what keeps the fabric's own inside.

    A packet for an address of the fabric that nobody has now would follow the default route out, and could come
    back; a discard route for each whole pool, `own`, ends it here. Routes of the fabric are longer, so they win.
    """
    hops: dict[str, list[str]] = {}
    for exit_ in exits.values():
        if exit_.outsider.asn is not None:
            continue
        for rule in exit_.outsider.accept:
            remote = exit_.link.remote6 if family_of(rule.prefix) == 6 else exit_.link.remote4
            if remote is not None:
                hops.setdefault(rule.prefix, []).append(remote)
    routes = [StaticRoute(prefix, tuple(sorted(via))) for prefix, via in hops.items()]
    if exits:
        routes += [StaticRoute(prefix, ()) for prefix in own]
    return tuple(sorted(routes, key=lambda route: (family_of(route.prefix), ip_network(route.prefix))))
