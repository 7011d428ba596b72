"""Invariants 2 to 5, 18 and 19 over the whole fabric, from digests of all devices: a few hundred bytes of each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.proof.invariants.rules import Ratio, breach_finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.shape import UnitWiring
    from fabricc.proof.compare import Finding


class Load(NamedTuple):
    """Gb/s of a switch's links, `cabled` and of those the enabled ones."""

    down: int
    up: int
    enabled_down: int
    enabled_up: int


class SwitchDigest(NamedTuple):
    """One switch in the census.

    Attributes:
        above, below: neighboring switch -> links to it; `peers`: the same for switches of its own tier.
        widest: the switch above with the most bandwidth, and this in Gb/s.
        host_links: links to hosts.
        mtus: MTUs of links between switches; `host_mtu`: the least of links to hosts, 0 when not stated.
        outer_asns: AS numbers of its neighbors outside the fabric.
        policy: key of its class of policies.
        contracts: function of invariant 12 -> line.
        blocks: packed blocks of addresses, see `prefixes`; `segments`: its statements about each, see there.
        file: its routing file below the tree; `line`: of its AS number.
    """

    name: str
    tier: int
    plane: int
    pod: int
    unit: int
    asn: int
    above: tuple[tuple[str, int], ...]
    below: tuple[tuple[str, int], ...]
    widest: tuple[str, int]
    host_links: int
    load: Load
    mtus: tuple[tuple[int, int], ...]
    host_mtu: int
    detect_ms: int
    outer_asns: tuple[int, ...]
    policy: bytes
    contracts: tuple[tuple[bytes, str, int], ...]
    blocks: bytes
    segments: tuple[tuple[str, bytes], ...]
    file: str
    line: int
    peers: tuple[tuple[str, int], ...] = ()


class NicAttachment(NamedTuple):
    """The far end of one port of a host's NIC."""

    unit: int
    rail: int
    nic_port: int
    tor: str


@dataclass(frozen=True, slots=True)
class HostDigest:
    """One host in the census; `timeout_ms` is how long its NICs wait for an acknowledgement, 0 when not stated."""

    name: str
    attachments: tuple[NicAttachment, ...]
    mtu: int
    timeout_ms: int
    contracts: tuple[tuple[bytes, str, int], ...]
    file: str
    line: int


TIERS = ("tor", "spine", "core")
TOP = 2


def joined_planes(switches: Iterable[tuple[int, int]]) -> Callable[[int], int]:
    """From a plane to the plane of the cores that join it with others; without cores to itself.

    Args:
        switches: tier and plane of each.
    """
    above = 1 + max((plane for tier, plane in switches if tier == TOP), default=-1)
    return (lambda plane: plane % above) if above else (lambda plane: plane)


def check_degrees(switches: Sequence[SwitchDigest], groups: Mapping[int, int]) -> Iterator[Finding]:
    """Check invariant 2: switches of a tier, plane and host group have as many links to each switch above.

    The number of these switches above is the same for all host groups.

    Args:
        switches: all of them.
        groups: unit -> host group.
    """
    above: dict[tuple[int, int, int], Counter[int]] = {}
    usual: dict[tuple[int, int, int, int], Counter[tuple[int, ...]]] = {}
    for s in switches:
        if s.above:
            above.setdefault((s.tier, s.plane, s.pod), Counter())[len(s.above)] += 1
            usual.setdefault(_switch_kind(s, groups), Counter())[_link_shape(s)] += 1
    for s in switches:
        if not s.above:
            continue
        counts = _link_shape(s)
        expected = usual[_switch_kind(s, groups)].most_common(1)[0][0]
        number = above[s.tier, s.plane, s.pod].most_common(1)[0][0]
        if len(set(counts)) > 1:
            few = min(s.above, key=lambda each: each[1])
            message = f"{s.name} has {few[1]} links to {few[0]} and {max(counts)} to others"
            yield breach_finding(2, message, s.file, s.line)
        elif counts != expected:
            message = (
                f"{s.name} has {len(counts)} x {counts[0]} links up, others of its tier and plane "
                f"{len(expected)} x {expected[0]}"
            )
            yield breach_finding(2, message, s.file, s.line)
        elif len(counts) != number:
            message = (
                f"{s.name} has links up to {len(counts)} switches, others of its tier and plane to {number}"
            )
            yield breach_finding(2, message, s.file, s.line)


def _switch_kind(switch: SwitchDigest, groups: Mapping[int, int]) -> tuple[int, int, int, int]:
    """Return the kind of a switch; switches of one kind have the same links up."""
    return switch.tier, switch.plane, switch.pod, groups.get(switch.unit, -1)


def _link_shape(switch: SwitchDigest) -> tuple[int, ...]:
    return tuple(sorted(count for _, count in switch.above))


def check_counts(
    switches: Sequence[SwitchDigest], hosts: int, host_ports: int, planned: Mapping[str, int]
) -> Iterator[Finding]:
    """Check invariant 3: the counted totals equal the closed form, and links add up tier by tier."""
    tiers = Counter(s.tier for s in switches)
    counted = {
        "tors": tiers[0],
        "spines": tiers[1],
        "cores": tiers[2],
        "hosts": hosts,
        "host_cables": sum(s.host_links for s in switches),
        "spine_cables": sum(n for s in switches if s.tier == 0 for _, n in s.above),
        "core_cables": sum(n for s in switches if s.tier == 1 for _, n in s.above),
        "peer_cables": sum(n for s in switches for _, n in s.peers) // 2,
    }
    for what, number in counted.items():
        if number != planned.get(what, 0):
            yield breach_finding(
                3,
                f"{number:,} {what.replace('_', ' ')} counted, the closed form gives {planned.get(what, 0):,}",
            )
    for tier in (1, 2):
        up = sum(n for s in switches if s.tier == tier - 1 for _, n in s.above)
        down = sum(n for s in switches if s.tier == tier for _, n in s.below)
        if up != down:
            message = f"{TIERS[tier - 1]}s have {up:,} links up, {TIERS[tier]}s {down:,} links down"
            yield breach_finding(3, message)
    if counted["host_cables"] != host_ports:
        yield breach_finding(
            3, f"hosts have {host_ports:,} ports, tors {counted['host_cables']:,} links to hosts"
        )


def check_oversubscription(
    switches: Sequence[SwitchDigest], declared: Mapping[int, Ratio]
) -> Iterator[Finding]:
    """Check invariant 4: the ratio down to up is within the declared one; only a warning if shut links cause it."""
    for s in switches:
        ratio = declared.get(s.tier)
        if ratio is None or not s.load.down:
            continue
        most, per = ratio.limit.as_integer_ratio()
        cabled, left = (s.load.down, s.load.up), (s.load.enabled_down, s.load.enabled_up)
        over = cabled[0] * per > most * cabled[1]
        if over or left[0] * per > most * left[1]:
            down, up = cabled if over else left
            message = f"{s.name} has {down:,} Gb/s down and {up:,} Gb/s up, declared is {most / per:g}:1"
            yield breach_finding(
                4, message + ("" if over else ", with links shut"), s.file, s.line, warning=not over
            )
        elif ratio.n_minus_1 and s.load.down * per > most * (s.load.up - s.widest[1]):
            message = (
                f"{s.name} has {s.load.down:,} Gb/s down and, with {s.widest[0]} lost, "
                f"{s.load.up - s.widest[1]:,} Gb/s up; declared is {most / per:g}:1 also then"
            )
            yield breach_finding(4, message, s.file, s.line)


def check_planes(switches: Sequence[SwitchDigest]) -> Iterator[Finding]:
    """Check invariant 5: no link joins planes; below cores, no link joins pods.

    Planes of rails meet in cores, each of which serves one port of the NICs.
    """
    known = {s.name: s for s in switches}
    joined = joined_planes((s.tier, s.plane) for s in switches)
    for s in switches:
        for name, _ in (*s.above, *s.peers):
            other = known.get(name)
            if other is None:
                continue
            if other.plane != (joined(s.plane) if other.tier == TOP else s.plane):
                message = f"{s.name} of plane {s.plane} is cabled to {name} of plane {other.plane}"
                yield breach_finding(5, message, s.file, s.line)
            elif s.tier == 0 and other.pod != s.pod:
                message = f"{s.name} of pod {s.pod + 1} is cabled to {name} of pod {other.pod + 1}"
                yield breach_finding(5, message, s.file, s.line)


def check_rails(
    switches: Sequence[SwitchDigest],
    attachments: Mapping[tuple[int, int, int], set[str]],
    wired: Mapping[int, UnitWiring],
) -> Iterator[Finding]:
    """Check invariant 5: one ToR per unit, rail, NIC port and set, which serves one unit and one NIC port.

    A ToR serves its share of rails. Units that share the ToRs of another unit count as that unit.

    Args:
        switches: all of them.
        attachments: unit, rail and NIC port of hosts -> the ToRs that they lead to.
        wired: unit -> the planned wiring of its hosts.
    """
    served: dict[str, set[tuple[int, int, int]]] = {}
    for (unit, rail, nic_port), tors in sorted(attachments.items()):
        if len(tors) > wired[unit].sets:
            message = (
                f"rail {rail} (NIC port {nic_port}) of one unit leads to {' and '.join(sorted(tors)[:3])}"
            )
            yield breach_finding(5, message)
        for tor in tors:
            served.setdefault(tor, set()).add((unit, rail, nic_port))
    places = {s.name: (s.file, s.line) for s in switches}
    for tor, seats in sorted(served.items()):
        homes, nic_ports = {wired[unit].home for unit, _, _ in seats}, {port for _, _, port in seats}
        on_rails = Counter(unit for unit, _ in {(unit, rail) for unit, rail, _ in seats})
        unit, most = max(on_rails.items(), key=lambda each: each[1] - wired[each[0]].rails_per_tor)
        share = wired[unit].rails_per_tor
        if len(homes) > 1 or len(nic_ports) > 1 or most > share:
            message = f"{tor} serves {len(homes)} units, {most} rails and {len(nic_ports)} NIC ports; it is to serve "
            yield breach_finding(
                5, message + f"1 unit, {share} rails and 1 NIC port", *places.get(tor, ("", 0))
            )


def check_mtus(
    switches: Sequence[SwitchDigest], largest_host: tuple[int, str, str, int]
) -> Iterator[Finding]:
    """Check invariant 19: one MTU on all links between switches, no host above the ToR ports, room for RoCE."""
    values: Counter[int] = Counter()
    for s in switches:
        values.update(dict(s.mtus))
    usual = values.most_common(1)[0][0] if values else 0
    for s in switches:
        if len(s.mtus) == 1 and s.mtus[0][0] != usual:
            message = f"{s.name} has links of MTU {s.mtus[0][0]}, the fabric's is {usual}"
            yield breach_finding(19, message, s.file, s.line)
    mtu, host, file, line = largest_host
    ports = [s.host_mtu for s in switches if s.host_mtu]
    if mtu and ports and min(ports) < mtu:
        yield breach_finding(
            19, f"{host} sends packets of {mtu} bytes, a ToR port takes {min(ports)}", file, line
        )
    if mtu and usual and usual < mtu:
        yield breach_finding(
            19, f"{host} sends packets of {mtu} bytes, links between switches take {usual}", file, line
        )


def check_timeouts(
    switches: Sequence[SwitchDigest], shortest: tuple[int, str, str, int]
) -> Iterator[Finding]:
    """Check invariant 18: the watchdog releases a queue before the NICs give up a message."""
    timeout, host, file, line = shortest
    slowest = max(switches, key=lambda s: s.detect_ms, default=None)
    if timeout and slowest and slowest.detect_ms >= timeout:
        message = f"{host} retries after {timeout} ms, the watchdog of {slowest.name} acts after {slowest.detect_ms}"
        yield breach_finding(18, message, file, line)
