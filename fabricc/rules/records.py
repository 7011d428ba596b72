"""Records of one switch that rules compare with those of other switches."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos import evpn_defaults
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.facts.frame import PORT, SECONDARY
from fabricc.facts.paths import split_list_path
from fabricc.facts.statement import used_policies
from fabricc.proof.invariants.prefixes import Block, parse_block
from fabricc.rules.sessions import sessions_to_switches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.facts.statement import LinkPeer, Statement, Tier
    from fabricc.rules.sessions import Key, Sessions


class UnresolvedHop(NamedTuple):
    """A next hop in no subnet of its switch; `subject` sends to it.

    Attributes:
        learned: whether a route to it may be learned.
        idle: the only port whose subnet nothing uses, where there is one: its address may be the wrong one.
    """

    subject: str
    hop: str
    path: str
    learned: bool
    idle: str = ""


class SegmentSetting(NamedTuple):
    """A setting of an EVPN segment or a VLAN that other switches must share.

    Attributes:
        kind: `VNI`, `route target`, `gateway`, or a shared setting of all VTEPs.
        owner: the VNI of a route target, the VLAN of a VNI, the VLAN and subnet of a gateway, a VRF, or all segments.
        values: what it announces under, and accepts: of a VNI and a gateway the same.
        path: of the fact.
    """

    kind: str
    owner: str
    values: tuple[frozenset[str], frozenset[str]]
    path: str


class Vrf(NamedTuple):
    """A VRF with a VNI; `announces` is "" where it does not announce prefixes; `links`: whether it has routed ports.

    Attributes:
        alone: whether it has nothing else, neither a gateway of a VLAN nor a session.
        aggregates: those that replace its links, and their paths; `subnet`: the address of its first port.
        speaks: whether BGP has a process of it.
    """

    name: str
    vni: str
    distinguisher: str
    exports: frozenset[str]
    imports: frozenset[str]
    announces: str
    links: bool
    path: str
    alone: bool = False
    aggregates: tuple[tuple[str, str], ...] = ()
    subnet: str = ""
    speaks: bool = False


class OverlayFault(NamedTuple):
    """A fault of EVPN routes or tunnels that one switch shows alone, with its fact; "" for the usual remedy."""

    code: str
    message: str
    path: str
    remedy: str = ""


class Overlay(NamedTuple):
    """The statements of one switch about VRFs with VNIs, and about EVPN routes that it passes on.

    Attributes:
        system: of the switch.
        vrfs: with VNIs.
        faults: those that the switch shows alone.
        states: settings of tunnels and EVPN routes that it states as it should.
        sends: whether it is a VTEP.
        without_vni: the VRFs of routed ports that have no VNI.
        neighbors: the paths of its sessions with EVPN.
    """

    system: str
    vrfs: tuple[Vrf, ...]
    faults: tuple[OverlayFault, ...]
    states: frozenset[str]
    sends: bool
    without_vni: frozenset[str] = frozenset()
    neighbors: tuple[str, ...] = ()


class Pair(NamedTuple):
    """The statements of a switch about its MLAG peer: its address, and settings that must be equal on both.

    Attributes:
        peer: the address of the other one; `domain` and `mac`: of the pair, "" if not stated.
        bundles: number of a bundle of both -> its VLANs, the path of its port, and of a member without LACP.
        shares_vtep: whether both must have one VTEP; `shared`: the address of both as VTEPs.
        backup: the address of the other one for keepalives; `management`: the own one of management.
    """

    peer: str
    domain: str
    mac: str
    bundles: Mapping[str, tuple[str, str, str]]
    shares_vtep: bool = False
    shared: str = ""
    backup: str = ""
    management: str = ""


class OuterSession(NamedTuple):
    """A session with another AS over which no link to a known device leads.

    Attributes:
        bare: directions without a policy.
        kinds: its peer group, otherwise the AS of the neighbor; and its policies with the block of the neighbor's
            address.
        alike: whether a session of one of the kinds leads to a known device.
        grouped: whether it is in a peer group, whose lines state its policies for others too.
        opened: its policies of each direction that permit every route.
    """

    key: Key
    imports: str
    bare: tuple[str, ...]
    kinds: frozenset[str]
    alike: bool = False
    grouped: bool = False
    opened: tuple[str, str] = ("", "")


def sent_targets(summary: Summary, vrf: Vrf) -> frozenset[str]:
    """Return the route targets that a VRF exports; a derived one has the lower half of the AS number (FRR)."""
    derived = evpn_defaults.derives_targets(summary.system) and summary.asn and vrf.vni
    return vrf.exports or frozenset({f"{summary.asn & 0xFFFF}:{vrf.vni}"} if derived and summary.asn else ())


def missed_targets(summary: Summary, vrf: Vrf, exported: Collection[str], *, stated: bool) -> str:
    """Return why a VRF exchanges no routes with those of its name on other switches; "" if it does.

    `stated` is whether one of them states route targets of both directions. A derived import takes the VNI of every AS.
    """
    derived = evpn_defaults.derives_targets(summary.system)
    if (stated or not derived) and bool(vrf.exports) != bool(vrf.imports):
        return "exports no route target" if vrf.imports else "imports no route target"
    if vrf.imports:
        lost = evpn_defaults.takes_none(vrf.imports, exported)
        return f"imports {min(vrf.imports)} alone, which none exports" if lost else ""
    lost = derived and bool(vrf.vni) and evpn_defaults.takes_none({f"ANY:{vrf.vni}"}, exported)
    return "imports no route target" if lost else ""


class Attached(NamedTuple):
    """The subnets of a ToR's ports to hosts, and how they enter BGP.

    Attributes:
        prefixes: the first and the last one of each family; `path`: of the address of the first port.
        maps: policies by which connected routes enter BGP, and the paths that name them.
        networks, aggregates: prefixes that it puts into BGP.
        unstated: whether its system exports connected routes and aggregates without such statements.
        sure: whether the ports lead to known hosts, or have PFC; other ports may lead out of the fabric.
    """

    prefixes: tuple[str, ...]
    path: str
    maps: tuple[tuple[str, str], ...]
    networks: tuple[str, ...]
    aggregates: tuple[str, ...]
    unstated: bool
    sure: bool


class Summary(NamedTuple):
    """The facts of one switch that are compared with others.

    Attributes:
        routes: prefix, next hops and path of each static route of the default routing instance.
        unresolved: next hops in no subnet of the switch.
        segments: settings of EVPN segments and VLANs that other switches must share.
        overlay: VRFs with VNIs, and EVPN routes that are passed on; None without.
        distinguishers: route distinguishers, and the paths that state them.
        prefixes: aggregates and networks that it puts into BGP.
        services: paths of the services that it has.
        beside: paths that only a complete configuration states in addition to its services.
        unbound: path of an access list that no port uses; "" for none.
        seed: path and value of its hash seed.
        loops: path by which it accepts its own AS number from switches above it; "" for none.
        outer: sessions with another AS that may lead to unknown peers.
        attached: subnets of hosts, if the switch has sessions to upper switches or other ToRs, and nothing that is not
            followed puts routes into BGP.
        limit: the smallest number of prefixes that ends a session to an upper switch or with EVPN, and its path.
        beside_limits: the same of sessions to another ToR, with its name.
        to_hosts: paths of static routes whose next hops are hosts.
        loopbacks: the addresses of the loopback.
        alone: whether other switches learn its addresses by `prefixes`, and by redistribution of static routes and
            of connected ones, alone.
        vtep: the address that its tunnels have; `maps`: the policies of connected routes, and their paths.
        common: paths of settings that switches of its `system` share.
        joined: whether a session leads over a link to a known device; `remote`: neighbors of the other sessions, and
            `distant` those of them that are in no subnet of a port.
        metrics: conditions of its sessions on metrics; None where its routes may have one.
        accepts: policies of imports from upper switches that permit no more than some prefixes, with a path and these.
        pair: the other switch of its pair; None without one.
        hosts: name and address of each loopback of the default routing instance.
        mute: the path of its BGP if it has no session in the default routing instance.
        marks: communities that its policies set; `wanted`: clauses of imports by communities alone, and these.
        leads_out: whether it has a default route, or announces one.
        demands: what its sessions over bare ports demand of their other ends, and the path and neighbor of each.
        tags: what its policies do with communities that have a list: verb, members, and path.
        requirement: see `routing.requirement_of`.
        lone: ports on which OSPF or IS-IS looks for an unknown neighbor, and their addresses.
    """

    tier: Tier
    asn: int | None
    router_id: str
    routes: tuple[tuple[str, str, str], ...]
    prefixes: tuple[str, ...]
    services: tuple[str, ...]
    beside: tuple[str, ...]
    unbound: str
    seed: tuple[str, object] | None
    loops: str
    outer: tuple[OuterSession, ...]
    attached: Attached | None
    limit: tuple[int, str] | None
    joined: bool
    remote: tuple[str, ...]
    beside_limits: tuple[tuple[int, str, str], ...] = ()
    unresolved: tuple[UnresolvedHop, ...] = ()
    segments: tuple[SegmentSetting, ...] = ()
    overlay: Overlay | None = None
    distinguishers: tuple[tuple[str, str], ...] = ()
    to_hosts: tuple[str, ...] = ()
    loopbacks: tuple[str, ...] = ()
    system: str = ""
    common: tuple[str, ...] = ()
    alone: bool = False
    vtep: str = ""
    maps: tuple[tuple[str, str], ...] = ()
    distant: tuple[str, ...] = ()
    metrics: tuple[tuple[str, str], ...] | None = ()
    accepts: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    lone: tuple[tuple[str, str], ...] = ()
    pair: Pair | None = None
    hosts: tuple[tuple[str, str], ...] = ()
    demands: tuple[tuple[str, str, str], ...] = ()
    mute: str = ""
    marks: frozenset[str] = frozenset()
    wanted: tuple[tuple[str, tuple[str, ...]], ...] = ()
    leads_out: bool = False
    tags: tuple[tuple[str, str, str], ...] = ()
    requirement: str = ""


class EndValues(NamedTuple):
    """The values of one end of a link; None if it does not state them.

    Attributes:
        host: whether it is the end of a host.
        pfc: priorities with PFC, `none` if the device configures quality of service but not here.
        marked: queues with ECN among those that PFC can stop; `bundle`: the bundle that it is a member of.
        settings: of planned ends, the families of the fabric that the sessions carry, and BGP's timers.
        bfd: of planned ends, which sessions run BFD, and its multiplier. None where none does: a system that cannot run
            it is reported as a gap, and the session still comes up (RFC 5882). The interval may differ (RFC 5880).
        points: code points that PFC protects.
        cable: the length in meters that its headroom is for.
        guard: the tag, the encryption or the authentication without which the end drops what arrives.
    """

    host: bool = False
    shut: bool = False
    mtu: Value | None = None
    speed_gbps: Value | None = None
    fec: Value | None = None
    autoneg: Value | None = None
    pfc: str | None = None
    trust: Value | None = None
    marked: str | None = None
    switchport: Value | None = None
    access_vlan: Value | None = None
    native_vlan: Value | None = None
    vlans: Value | None = None
    bundle: str | None = None
    bundle_mode: str | None = None
    ospf_area: str | None = None
    ospf_network: str | None = None
    ospf_hello: str | None = None
    ospf_dead: str | None = None
    ospf_key: str | None = None
    isis: str | None = None
    isis_level: str | None = None
    isis_network: str | None = None
    settings: str | None = None
    bfd: str | None = None
    guard: str | None = None
    points: str | None = None
    cable: Value | None = None


COMPARED = EndValues._fields[2:]
LEFT_OPEN: Mapping[str, tuple[object, ...]] = {
    "speed_gbps": ("auto",), "fec": ("auto", "rs"), "autoneg": ("on", "true"),
}  # fmt: skip
"""Value of a port that most fabrics leave to the system -> what the system would choose as well."""


@dataclass(slots=True)
class Votes:
    """Counts of values on ends of one kind, of ends that state what most leave to the system, and of all ends."""

    counts: Counter[tuple[Tier, Tier, str, object]] = field(default_factory=Counter)
    stated: Counter[str] = field(default_factory=Counter)
    ends: int = 0

    def add(self, tier: Tier, fars: Mapping[str, LinkPeer], ends: Mapping[str, EndValues]) -> None:
        """Count the values of the ends of a device of a tier."""
        kinds = Counter((fars[port].tier, end) for port, end in ends.items())
        for (far, end), times in kinds.items():
            self.ends += times
            for name in LEFT_OPEN:
                self.stated[name] += times * (getattr(end, name) is not None)
            for name in COMPARED:
                if (value := getattr(end, name)) is not None:
                    self.counts[tier, far, name, value] += times

    def of(self, tiers: tuple[Tier, Tier], name: str, value: object) -> int:
        """Return how many ends between these tiers have the value."""
        return self.counts[*tiers, name, value]


class Subnet(NamedTuple):
    """The subnet of a port: `vrf` is its routing instance, `text` its address with prefix length."""

    vrf: str
    block: Block
    device: str
    port: str
    text: str

    @property
    def paths(self) -> tuple[str, str]:
        """Return the paths at which the address can be: a further one of the port, or the first of its family."""
        return f"{PORT}{self.port}]/{SECONDARY}{self.text}]", f"{PORT}{self.port}]/ipv{self.block.family}"


class Subnets(NamedTuple):
    """The subnets of a device as text, which thousands of devices keep.

    Attributes:
        texts: a line for each: routing instance and address with prefix length.
        ports: of each; one object for devices with the same.
    """

    texts: str = ""
    ports: tuple[str, ...] = ()

    def of(self, device: str) -> Iterator[Subnet]:
        """Yield the subnets of a device."""
        for line, port in zip(self.texts.split("\n"), self.ports, strict=False):
            vrf, _, text = line.partition(" ")
            if block := parse_block(text):
                yield Subnet(vrf, block, device, port, text)


_COMMUNITY = re.compile(r"\d+:\d+")


def wanted_communities(statement: Statement, sessions: Sessions) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the first clause of each import from other switches that permits by communities alone, and these."""
    imports = used_policies(sessions_to_switches(statement, sessions), "import")
    for name in sorted(imports):
        clauses = statement.facts_below(f"route_map[{name}]/")
        permits = [
            str(value).split() for path, value in clauses.items()
            if is_number(split_list_path(path, "route_map")[1]) and str(value).startswith("permit")
        ]  # fmt: skip
        lists = [words[2] for words in permits if words[1:2] == ["community_list"]]
        members = [str(statement.rest.get(f"community_list[{each}]", "")).split(", ") for each in lists]
        wanted = tuple(each for some in members for each in some)
        if permits and len(lists) == len(permits) and all(map(_COMMUNITY.fullmatch, wanted)):
            yield next(iter(clauses)), wanted


def set_communities(statement: Statement) -> frozenset[str]:
    """Return the communities that policies of a switch give to routes: conditions name lists, and no communities."""
    texts = map(str, statement.facts_below("route_map[").values())
    return frozenset(each for text in texts if ":" in text for each in _COMMUNITY.findall(text))
