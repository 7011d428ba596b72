"""Compare both ends of every link: speed, MTU, error correction, PFC, marking, addresses, VLANs, bundles.

The worker that reads a device reduces each end to a few values. If two ends differ, the end with the rarer value is
reported.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from ipaddress import ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Severity
from fabricc.base.values import dataclass
from fabricc.facts.device import Kind, Tier
from fabricc.facts.frame import PORT
from fabricc.facts.packed import Shared
from fabricc.proof.invariants.view import parse_priorities, sibling_address
from fabricc.rules.classes import marks_packets, queue_of
from fabricc.rules.findings import finding_at, line_of, nearest_shared_fact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from ipaddress import IPv4Interface, IPv6Interface

    from fabricc.fabric.facts import Value
    from fabricc.facts.device import Device, End
    from fabricc.facts.statement import Far, Statement
    from fabricc.proof.compare import Finding

DIFFER, ADDRESSES, BRIDGED = "FAB9600", "FAB9602", "FAB9603"
_WORDS = {
    "mtu": "MTU", "speed_gbps": "speed", "fec": "error correction", "pfc": "PFC priorities", "trust": "trust",
    "autoneg": "autonegotiation", "marked": "queues with ECN", "native_vlan": "native VLAN", "vlans": "VLANs",
    "access_vlan": "VLAN", "switchport": "kind of port", "bundle": "membership of a bundle",
}  # fmt: skip
_WHY = {
    "mtu": "packets of the larger size are lost on the way to the smaller",
    "speed_gbps": "the link does not come up",
    "fec": "the link does not come up, or with errors",
    "pfc": "one end pauses and the other goes on sending, or waits for nothing",
    "trust": "packets change their class from one end to the other",
    "autoneg": "the link may not come up",
    "marked": "senders are notified of congestion in one direction only",
    "native_vlan": "frames without a tag change their VLAN",
    "vlans": "frames of the others are dropped",
    "access_vlan": "frames change their VLAN",
    "switchport": "one end expects tags that the other does not send",
    "bundle": "one end takes the link for one of several, the other for one alone",
}
_REMEDY = "Set both ends of the link to the same value."


class EndSaid(NamedTuple):
    """The values of one end of a link; None, or empty, if it does not state them.

    Attributes:
        pfc: priorities with PFC, `none` if the device configures quality of service but not here.
        marked: queues with ECN among those that PFC can stop; `bundle`: the bundle that it is a member of.
        addresses: with prefix lengths, those of the bundle where it is in one.
    """

    mtu: Value | None
    speed_gbps: Value | None
    fec: Value | None
    autoneg: Value | None
    pfc: str | None
    trust: Value | None
    marked: str | None
    switchport: Value | None
    access_vlan: Value | None
    native_vlan: Value | None
    vlans: Value | None
    bundle: str | None
    shut: bool


COMPARED = tuple(name for name in EndSaid._fields if name != "shut")
_WARNINGS = frozenset(("trust", "autoneg", "marked", "vlans", "access_vlan"))


class Ends(NamedTuple):
    """The values of the ends of a device's links, by port; `addresses` of those that have some."""

    said: Mapping[str, EndSaid]
    addresses: Mapping[str, tuple[str, ...]]


def ends_of(statement: Statement) -> Ends:
    """Return the ends of a device's links; equal ends are one object."""
    addresses: dict[str, tuple[str, ...]] = {}
    for port in statement.fars:
        if texts := statement.addresses.get(statement.carrier(port)):
            addresses[port] = tuple(texts)
    return Ends(statement.once(ends_of, lambda: _ends_of(statement)), addresses)


def _ends_of(statement: Statement) -> Shared[str, EndSaid]:
    alike: dict[EndSaid, EndSaid] = {}
    tells = statement.states_quality
    bundles = any("bundle" in says for says in statement.ports.values())
    said = {port: _end_values(statement, port, tells, bundles) for port in statement.fars}
    return Shared({port: alike.setdefault(end, end) for port, end in said.items()})


def _end_values(statement: Statement, port: str, tells: bool, bundles: bool) -> EndSaid:
    def value_of(leaf: str) -> Value | None:
        return statement.of(port, leaf)

    def bundle_value(leaf: str) -> Value | None:
        """Return the value of a member's bundle: its own lines count only without a bundle."""
        carrier = statement.carrier(port) if bundles else port
        return value_of(leaf) if carrier == port else statement.ports.get(carrier, {}).get(leaf)

    pfc = value_of("pfc")
    lossless = parse_priorities(pfc)
    queues = [queue_of(statement, each) for each in lossless]
    marked = [queue for queue in queues if marks_packets(statement, port, queue)]
    member = None if not bundles else "a member" if value_of("bundle") is not None else "no member"
    host = statement.device.kind is Kind.HOST
    return EndSaid(
        value_of("mtu"), value_of("speed_gbps"), value_of("fec"), value_of("autoneg"),
        (str(pfc) if lossless else "none") if pfc is not None or tells else None,
        value_of("trust") if tells and not host else None,
        ",".join(map(str, marked)) or "none" if lossless and not host else None, bundle_value("switchport"),
        bundle_value("access_vlan"), bundle_value("native_vlan"), _in_order(bundle_value("vlans")), member,
            value_of("enabled") == "false",
    )  # fmt: skip


def _in_order(vlans: Value | None) -> Value | None:
    """Return a list of VLANs in the order of its text, so that two lists of the same VLANs are equal."""
    return ",".join(sorted(str(vlans).split(","))) if isinstance(vlans, str) else vlans


@dataclass(slots=True)
class Votes:
    """Counts of values on ends of one kind."""

    counts: Counter[tuple[Tier, Tier, str, object]] = field(default_factory=Counter)

    def add(self, tier: Tier, fars: Mapping[str, Far], ends: Ends) -> None:
        """Count the values of the ends of a device of a tier."""
        kinds = Counter((fars[port].tier, end) for port, end in ends.said.items())
        for (far, end), times in kinds.items():
            for name in COMPARED:
                if (value := getattr(end, name)) is not None:
                    self.counts[tier, far, name, value] += times

    def of(self, tiers: tuple[Tier, Tier], name: str, value: object) -> int:
        """Return how many ends between these tiers have the value."""
        return self.counts[*tiers, name, value]


class Side(NamedTuple):
    """One end of a link with its device."""

    device: Device
    end: End
    said: EndSaid
    addresses: tuple[str, ...]
    tiers: tuple[Tier, Tier]

    def path(self, leaf: str) -> str:
        """Return the path of a fact of the port."""
        return f"{PORT}{self.end.port}]/{leaf}"


def end_findings(a: Side, b: Side, votes: Votes) -> Iterator[Finding]:
    """Report what the ends of one link do not agree on."""
    if a.said.shut or b.said.shut:
        if a.said.shut != b.said.shut:
            yield _half_shut(*((a, b) if a.said.shut else (b, a)))
        return
    if a.said is not b.said and a.said != b.said:
        for name in COMPARED:
            mine, other = getattr(a.said, name), getattr(b.said, name)
            if mine is None or other is None or mine == other:
                continue
            if name == "vlans" and "all" in (mine, other):
                continue  # the other end alone decides
            if name == "mtu" and _host_sends_less(a, b):
                continue
            odd, right = _odd_end_first(a, b, name, votes)
            yield _difference_finding(odd, right, name)
    yield from _check_subnets(a, b)


def _odd_end_first(a: Side, b: Side, name: str, votes: Votes) -> tuple[Side, Side]:
    """Return the end with the rarer value first; if both are as common, the end without a value."""
    mine = votes.of(a.tiers, name, getattr(a.said, name))
    other = votes.of(b.tiers, name, getattr(b.said, name))
    nothing = other == mine and getattr(b.said, name) == "none"
    return (b, a) if other < mine or nothing else (a, b)


def _difference_finding(odd: Side, right: Side, name: str) -> Finding:
    mine, other = getattr(odd.said, name), getattr(right.said, name)
    message = (
        f"{odd.device.name} {odd.end.port}: {_WORDS[name]} {mine}, at the other end of the link "
        f"({right.device.name} {right.end.port}) {other}: {_WHY[name]}"
    )
    code = BRIDGED if name in ("native_vlan", "vlans", "access_vlan", "switchport", "bundle") else DIFFER
    leaf = "queue" if name == "marked" else name
    severity = Severity.WARNING if name in _WARNINGS else Severity.ERROR
    paths = (*_fact_paths(odd, leaf), *_fact_paths(odd, "description"))
    facts, other_paths = odd.device.reading.facts, _fact_paths(right, leaf)
    stated = any(path in facts for path in _fact_paths(odd, leaf))
    like = "" if stated else next(filter(None, (line_of(right.device, path) for path in other_paths)), "")
    if like and odd.device.system == right.device.system:
        said = next(path for path in other_paths if line_of(right.device, path))
        paths = (*_fact_paths(odd, leaf), nearest_shared_fact(odd.device, odd.path(""), right.device, said))
    return finding_at(code, odd.device, paths, message, f"link {name}", severity, _REMEDY, like=like)


def _fact_paths(side: Side, leaf: str) -> tuple[str, ...]:
    """Return paths of a fact of a port: its own, that of the port below it, that of its bundle."""
    facts = side.device.reading.facts
    base = side.end.port.rpartition(".")[0]
    bundle = facts.get(f"{PORT}{base or side.end.port}]/bundle", "")
    return tuple(f"{PORT}{each}]/{leaf}" for each in (side.end.port, base, bundle) if each)


def _half_shut(shut: Side, other: Side) -> Finding:
    message = (
        f"{shut.device.name} {shut.end.port} is shut, and the other end of the link ({other.device.name} "
        f"{other.end.port}) is not: the capacity is missing"
    )
    remedy = "Enable the port, or shut the other end as well."
    return finding_at(DIFFER, shut.device, shut.path("enabled"), message, "link shut", Severity.NOTE, remedy)


def _host_sends_less(a: Side, b: Side) -> bool:
    """Return whether one end is a host with the smaller MTU, which loses nothing."""
    host, switch = (a, b) if a.tiers[0] is Tier.HOST else (b, a)
    mine, other = host.said.mtu, switch.said.mtu
    return host.tiers[0] is Tier.HOST and isinstance(mine, int) and isinstance(other, int) and mine < other


def _check_subnets(a: Side, b: Side) -> Iterator[Finding]:
    """Report ends whose addresses are not two different ones of one subnet."""
    if len(a.addresses) == len(b.addresses) == 1 and sibling_address(a.addresses[0]):
        its, _, length = b.addresses[0].partition("/")
        if its == sibling_address(a.addresses[0]) and a.addresses[0].endswith(f"/{length}"):
            return
    for version in (4, 6):
        mine, other = _of_version(a.addresses, version), _of_version(b.addresses, version)
        if not mine or not other:
            continue
        if all(each.network.prefixlen == each.max_prefixlen for each in (*mine, *other)):
            continue  # ports without a subnet borrow the address of a loopback
        if any(m.network == o.network and m.ip != o.ip for m in mine for o in other):
            continue
        one, two = mine[0], other[0]
        where = f"{a.device.name} {a.end.port} has {one}, {b.device.name} {b.end.port} at the other end {two}"
        if one.ip == two.ip:
            what = "one address for both ends"
        elif one.ip in two.network or two.ip in one.network:
            what = "prefix lengths that differ"
        else:
            what = "no common subnet"
        leaf = f"ipv{version}"
        message = f"{where}: {what}"
        remedy = "Give both ends of the link addresses of one subnet."
        yield finding_at(
            ADDRESSES, a.device, _fact_paths(a, leaf), message, "link addresses", Severity.ERROR, remedy
        )
        yield finding_at(
            ADDRESSES, b.device, _fact_paths(b, leaf), message, "link addresses", Severity.ERROR, remedy
        )


def _of_version(texts: Iterable[str], version: int) -> list[IPv4Interface | IPv6Interface]:
    found = []
    for text in texts:
        try:
            each = ip_interface(text)
        except ValueError:
            continue
        if each.version == version and not each.is_link_local:
            found.append(each)
    return found


def side_of(
    end: End, far: End, devices: Mapping[str, Device], ends: Mapping[str, Ends], tiers: Mapping[str, Tier]
) -> Side | None:
    """Return one end of a link; None if the folder lacks its device."""
    if end.device not in ends or end.port not in ends[end.device].said:
        return None
    of = ends[end.device]
    both = tiers.get(end.device, Tier.OTHER), tiers.get(far.device, Tier.OTHER)
    return Side(devices[end.device], end, of.said[end.port], of.addresses.get(end.port, ()), both)
