"""What rules about the whole fabric need of one device: a few hundred bytes, made by the process that read it."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction
from fabricc.proof.invariants.closure import closure_breaches
from fabricc.proof.invariants.contract import (
    contract_breaches,
    host_breaches,
    host_contracts,
    switch_contracts,
)
from fabricc.proof.invariants.lossless import lossless_breaches
from fabricc.proof.invariants.outside import outward_breaches
from fabricc.proof.invariants.policy import Policy, policy_of
from fabricc.proof.invariants.ports import far_ends, port_breaches
from fabricc.proof.invariants.prefixes import address_breaches, packed_blocks
from fabricc.proof.invariants.rules import findings_of
from fabricc.proof.invariants.segments import packed_segments, segment_breaches
from fabricc.proof.invariants.sessions import session_breaches
from fabricc.proof.invariants.view import as_int, leads_out, places_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.facts import Said
    from fabricc.fabric.model import Host
    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.rules import Breach
    from fabricc.proof.invariants.view import Places, SwitchView


class Load(NamedTuple):
    """Gb/s of a switch's links, `cabled` and of those the enabled ones."""

    down: int
    up: int
    enabled_down: int
    enabled_up: int


@dataclass(frozen=True, slots=True)
class SwitchDigest:
    """One switch in the census.

    Attributes:
        above, below: neighbouring switch -> links to it.
        widest: the switch above that it has most bandwidth to, and how much, Gb/s.
        host_links: links to hosts.
        mtus: MTUs of links between switches; `host_mtu`: the least of links to hosts, 0 when not stated.
        outer_asns: AS numbers of its neighbours outside the fabric.
        policy: key of its class of policies.
        contracts: function of invariant 12 -> line.
        blocks: packed blocks of addresses, see `prefixes`; `segments`: what it says of each, see there.
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


class Landing(NamedTuple):
    """Where one port of a host's NIC is cabled to."""

    unit: int
    rail: int
    nic_port: int
    tor: str


@dataclass(frozen=True, slots=True)
class HostDigest:
    """One host in the census; `timeout_ms` is how long its NICs wait for an acknowledgement, 0 when not stated."""

    name: str
    landings: tuple[Landing, ...]
    mtu: int
    timeout_ms: int
    contracts: tuple[tuple[bytes, str, int], ...]
    file: str
    line: int


@dataclass(slots=True)
class Common:
    """What devices have in common whose files say the same but for coordinates; the first without a breach fills it.

    Attributes:
        contracts: functions of invariant 12, None before.
        places: where the facts of switches have what views show, None before.
        policies: plane and pod of switches, which no file tells -> key of their class of policies.
    """

    contracts: dict[bytes, str] | None = None
    places: Places | None = None
    policies: dict[tuple[int, int | None], bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Survey:
    """The digests of a run of devices, and one policy of each class among them."""

    switches: list[SwitchDigest] = field(default_factory=list)
    hosts: list[HostDigest] = field(default_factory=list)
    policies: dict[bytes, Policy] = field(default_factory=dict)

    def add_switch(self, seen: SwitchView, folder: str, common: Common | None = None) -> Iterator[Finding]:
        """Take a switch in; what is wrong with it alone, files below `folder`."""
        switch = seen.switch
        if common is None or common.contracts is None or any(True for _ in _own_breaches(seen)):
            contracts = switch_contracts(seen)
            breaches = [*_switch_breaches(seen, contracts)]
            yield from _placed(findings_of(iter(breaches), switch.name, seen.place), folder)
        else:
            breaches, contracts = [], common.contracts
        place = (switch.plane, switch.pod)
        key = common.policies.get(place, b"") if common and not breaches else b""
        if key not in self.policies:
            policy = policy_of(seen, f"{folder}/{seen.place('bgp/asn')[0]}")
            key = policy.key
            self.policies.setdefault(key, policy)
        self.switches.append(digest_of(seen, key, contracts, folder))
        if common is not None and not breaches:
            common.contracts, common.policies[place] = contracts, key
            common.places = common.places or places_of(seen)

    def add_host(
        self, host: Host, reading: Said, folder: str, common: Common | None = None
    ) -> Iterator[Finding]:
        """Take a host in; what is wrong with it alone."""

        def place(path: str) -> tuple[str, int]:
            return reading.lines.get(path, ("", 0))

        if common is None or common.contracts is None:
            contracts = host_contracts(host, reading)
            breaches = [*host_breaches(host, reading, contracts)]
            yield from _placed(findings_of(iter(breaches), host.name, place), folder)
            if common is not None and not breaches:
                common.contracts = contracts
        else:
            contracts = common.contracts
        facts = reading.facts
        mtus = [m for p in host.ports if (m := as_int(facts.get(f"interface[{p.name}]/mtu")))]
        file, line = place(f"interface[{host.ports[0].name}]/mtu") if host.ports else ("", 0)
        self.hosts.append(
            HostDigest(
                host.name, tuple(Landing(host.unit, p.rail, p.nic_port, p.peer.device) for p in host.ports),
                max(mtus, default=0), _timeout_ms(as_int(facts.get("nccl/timeout"))),
                tuple((function, *_under(folder, place(path))) for function, path in contracts.items()),
                f"{folder}/{file}" if file else "", line,
            )
        )  # fmt: skip


def _own_breaches(seen: SwitchView) -> Iterator[Breach]:
    """Those of the rules that look at coordinates: switches alike but for these have all others in common."""
    yield from far_ends(seen)
    yield from session_breaches(seen)
    yield from address_breaches(seen)
    yield from outward_breaches(seen)
    yield from segment_breaches(seen)


def _switch_breaches(seen: SwitchView, contracts: dict[bytes, str]) -> Iterator[Breach]:
    yield from port_breaches(seen)
    yield from session_breaches(seen)
    yield from address_breaches(seen)
    yield from closure_breaches(seen)
    yield from lossless_breaches(seen)
    yield from contract_breaches(contracts)
    yield from outward_breaches(seen)
    yield from segment_breaches(seen)


def digest_of(seen: SwitchView, policy: bytes, contracts: dict[bytes, str], folder: str) -> SwitchDigest:
    """What rules about the whole fabric need of a switch, by the key of its class of policies and its folder."""
    switch = seen.switch
    above: Counter[str] = Counter()
    below: Counter[str] = Counter()
    wide: Counter[str] = Counter()
    load: Counter[tuple[bool, bool]] = Counter()
    mtus: Counter[int | None] = Counter()
    host_mtus = []
    for port, enabled, mtu, gbps, *_ in seen.links:
        direction = port.direction
        if direction is Direction.EXTERNAL:
            continue
        up = direction is Direction.UP
        load[up, enabled] += gbps
        if direction is Direction.HOST:
            host_mtus.append(mtu)
        elif port.peer:
            (above if up else below)[port.peer.device] += 1
            if up:
                wide[port.peer.device] += gbps
            mtus[mtu] += 1
    down, upward = load[False, True], load[True, True]
    file, line = _under(folder, seen.place("bgp/asn"))
    return SwitchDigest(
        switch.name, switch.tier_index, switch.plane, -1 if switch.pod is None else switch.pod,
        -1 if switch.unit is None else switch.unit, seen.number("bgp/asn") or 0,
        tuple(sorted(above.items())), tuple(sorted(below.items())),
        max(wide.items(), key=lambda each: (each[1], each[0]), default=("", 0)),
        len(host_mtus), Load(down + load[False, False], upward + load[True, False], down, upward),
        tuple(sorted((mtu, times) for mtu, times in mtus.items() if mtu is not None)),
        min(filter(None, host_mtus), default=0), seen.number("watchdog/detect_ms") or 0,
        _outer_asns(seen), policy,
        tuple((function, *_under(folder, seen.place(path))) for function, path in contracts.items()),
        packed_blocks(seen), packed_segments(seen), file, line,
    )  # fmt: skip


def _outer_asns(seen: SwitchView) -> tuple[int, ...]:
    if not any(map(leads_out, seen.links)):
        return ()
    outer = [key for key, link in seen.by_neighbour.items() if leads_out(link) and key in seen.neighbours]
    return tuple(sorted({as_int(seen.neighbours[key].get("remote_asn")) or 0 for key in outer}))


def _timeout_ms(exponent: int | None) -> int:
    """The local ACK timeout, 4.096 us times two to the exponent (InfiniBand architecture, volume 1, 9.7.6.1.3)."""
    return (4096 << exponent) // 10**6 if exponent is not None and 0 < exponent < 32 else 0


def _under(folder: str, place: tuple[str, int]) -> tuple[str, int]:
    return (f"{folder}/{place[0]}", place[1]) if place[0] else ("", 0)


def _placed(found: Iterator[Finding], folder: str) -> Iterator[Finding]:
    for each in found:
        yield each._replace(file=f"{folder}/{each.file}" if each.file else "")
