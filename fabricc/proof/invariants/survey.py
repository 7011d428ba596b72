"""The survey of one process over its devices: the rules on each, and its digest from the content of its files."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction, Host
from fabricc.proof.invariants import contract
from fabricc.proof.invariants.clos import HostDigest, Load, NicAttachment, SwitchDigest
from fabricc.proof.invariants.lossless import lossless_breaches
from fabricc.proof.invariants.outside import outward_breaches
from fabricc.proof.invariants.policy import Policy, policy_of
from fabricc.proof.invariants.ports import closure_breaches, port_breaches, session_breaches
from fabricc.proof.invariants.prefixes import address_breaches, own_blocks
from fabricc.proof.invariants.rules import Breach, findings_of
from fabricc.proof.invariants.segments import packed_segments, segment_breaches
from fabricc.proof.invariants.view import SwitchView, as_int, leads_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.facts import FileContents
    from fabricc.proof.compare import Finding


@dataclass(slots=True)
class Survey:
    """The digests of a run of devices, and one policy of each class among them."""

    switches: list[SwitchDigest] = field(default_factory=list)
    hosts: list[HostDigest] = field(default_factory=list)
    policies: dict[bytes, Policy] = field(default_factory=dict)

    def join(self, other: Survey) -> None:
        """Merge another survey."""
        self.switches += other.switches
        self.hosts += other.hosts
        self.policies = {**other.policies, **self.policies}

    def add_switch(self, seen: SwitchView, folder: str) -> Iterator[Finding]:
        """Take a switch in; what is wrong with it alone, files below `folder`."""
        contracts = contract.switch_contracts(seen)
        breaches = _switch_breaches(seen, contracts)
        yield from _place_findings(findings_of(breaches, seen.switch.name, seen.place), folder)
        policy = policy_of(seen, f"{folder}/{seen.place('bgp/asn')[0]}")
        self.policies.setdefault(policy.key, policy)
        self.switches.append(digest_of(seen, policy.key, contracts, folder))

    def add_host(self, host: Host, reading: FileContents, folder: str) -> Iterator[Finding]:
        """Take a host in; what is wrong with it alone."""
        contracts = contract.host_contracts(host, reading)
        breaches = contract.host_breaches(host, reading, contracts)
        lines = reading.lines
        yield from _place_findings(
            findings_of(breaches, host.name, lambda path: lines.get(path, ("", 0))), folder
        )
        self.hosts.append(host_digest(host, reading, contracts, folder))


def _switch_breaches(seen: SwitchView, contracts: dict[bytes, str]) -> Iterator[Breach]:
    yield from port_breaches(seen)
    yield from session_breaches(seen)
    yield from address_breaches(seen)
    yield from closure_breaches(seen)
    yield from lossless_breaches(seen)
    yield from contract.contract_breaches(contracts)
    yield from outward_breaches(seen)
    yield from segment_breaches(seen)


def digest_of(seen: SwitchView, policy: bytes, contracts: dict[bytes, str], folder: str) -> SwitchDigest:
    """Return what rules of the whole fabric need of a switch, by the key of its class of policies and its folder."""
    switch = seen.switch
    above: Counter[str] = Counter()
    below: Counter[str] = Counter()
    peers: Counter[str] = Counter()
    wide: Counter[str] = Counter()
    load: Counter[tuple[bool, bool]] = Counter()
    mtus: Counter[int | None] = Counter()
    host_mtus = []
    for port, enabled, mtu, gbps, *_ in seen.links:
        direction = port.direction
        if direction is Direction.EXTERNAL:
            continue
        up = direction is Direction.UP
        if direction is not Direction.PEER:
            load[up, enabled] += gbps
        if direction is Direction.HOST:
            host_mtus.append(mtu)
        elif port.peer:
            (above if up else peers if direction is Direction.PEER else below)[port.peer.device] += 1
            if up:
                wide[port.peer.device] += gbps
            mtus[mtu] += 1
    down, upward = load[False, True], load[True, True]
    file, line = _place_below(folder, seen.place("bgp/asn"))
    return SwitchDigest(
        switch.name, switch.tier_index, switch.plane, -1 if switch.pod is None else switch.pod,
        -1 if switch.unit is None else switch.unit, seen.number("bgp/asn") or 0,
        tuple(sorted(above.items())), tuple(sorted(below.items())),
        max(wide.items(), key=lambda each: (each[1], each[0]), default=("", 0)),
        len(host_mtus), Load(down + load[False, False], upward + load[True, False], down, upward),
        tuple(sorted((mtu, times) for mtu, times in mtus.items() if mtu is not None)),
        min(filter(None, host_mtus), default=0), seen.number("watchdog/detect_ms") or 0,
        _outer_asns(seen), policy,
        tuple((function, *_place_below(folder, seen.place(path))) for function, path in contracts.items()),
        own_blocks(seen), packed_segments(seen), file, line, tuple(sorted(peers.items())),
    )  # fmt: skip


def host_digest(host: Host, reading: FileContents, contracts: dict[bytes, str], folder: str) -> HostDigest:
    """Return the same of a host."""
    facts, lines = reading.facts, reading.lines
    mtus = [m for p in host.ports if (m := as_int(facts.get(f"interface[{p.name}]/mtu")))]
    path = f"interface[{host.ports[0].name}]/mtu" if host.ports else ""
    return HostDigest(
        host.name, host_landings(host), max(mtus, default=0), _timeout_ms(as_int(facts.get("nccl/timeout"))),
        tuple((function, *_place_below(folder, lines.get(at, ("", 0)))) for function, at in contracts.items()),
        *_place_below(folder, lines.get(path, ("", 0))),
    )  # fmt: skip


def host_landings(host: Host) -> tuple[NicAttachment, ...]:
    """Return the far ends of the ports of a host."""
    return tuple([NicAttachment(host.unit, p.rail, p.nic_port, p.peer.device) for p in host.ports])


def _outer_asns(seen: SwitchView) -> tuple[int, ...]:
    if not any(map(leads_out, seen.links)):
        return ()
    outer = [key for key, link in seen.by_neighbor.items() if leads_out(link) and key in seen.neighbors]
    return tuple(sorted({as_int(seen.neighbors[key].get("remote_asn")) or 0 for key in outer}))


def _timeout_ms(exponent: int | None) -> int:
    """The local ACK timeout, 4.096 us times two to the exponent (InfiniBand architecture, volume 1, 9.7.6.1.3)."""
    return (4096 << exponent) // 10**6 if exponent is not None and 0 < exponent < 32 else 0


def _place_below(folder: str, place: tuple[str, int]) -> tuple[str, int]:
    return (f"{folder}/{place[0]}", place[1]) if place[0] else ("", 0)


def _place_findings(found: Iterator[Finding], folder: str) -> Iterator[Finding]:
    for each in found:
        yield each._replace(file=f"{folder}/{each.file}" if each.file else "")
