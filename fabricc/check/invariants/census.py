"""All devices of a fabric brought together as digests, and the rules that need them all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fabricc.check.invariants import clos
from fabricc.check.invariants.contract import Contracts
from fabricc.check.invariants.prefixes import overlaps
from fabricc.check.invariants.rules import finding
from fabricc.check.invariants.transit import kinds_of, routing_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.check.compare import Finding
    from fabricc.check.invariants.declared import Ratio
    from fabricc.check.invariants.digest import HostDigest, Survey, SwitchDigest
    from fabricc.check.invariants.policy import Policy


@dataclass(slots=True)
class Census:
    """What the surveys say together; hosts are reduced as they come, switches kept as digests."""

    switches: list[SwitchDigest] = field(default_factory=list)
    policies: dict[bytes, Policy] = field(default_factory=dict)
    contracts: Contracts = field(default_factory=Contracts)
    landings: dict[tuple[int, int, int], set[str]] = field(default_factory=dict)
    hosts: int = 0
    host_ports: int = 0
    largest_host: tuple[int, str, str, int] = (0, "", "", 0)
    shortest_timeout: tuple[int, str, str, int] = (0, "", "", 0)

    def add(self, survey: Survey) -> None:
        """Take in what one process saw; the order does not matter."""
        self.switches += survey.switches
        for key, policy in survey.policies.items():
            known = self.policies.get(key)
            if known is None or policy.name < known.name:
                self.policies[key] = policy
        for switch in survey.switches:
            self.contracts.add(switch.name, switch.contracts)
        for host in survey.hosts:
            self.contracts.add(host.name, host.contracts)
            self._add_host(host)

    def _add_host(self, host: HostDigest) -> None:
        self.hosts += 1
        self.host_ports += len(host.landings)
        for unit, rail, nic_port, tor in host.landings:
            self.landings.setdefault((unit, rail, nic_port), set()).add(tor)
        place = (host.name, host.file, host.line)
        if host.mtu and (host.mtu > self.largest_host[0] or (host.mtu, *place) < self.largest_host):
            self.largest_host = (host.mtu, *place)
        mine = (host.timeout_ms, *place)
        if host.timeout_ms and (not self.shortest_timeout[0] or mine < self.shortest_timeout):
            self.shortest_timeout = mine

    def findings(
        self, planned: Mapping[str, int], rails_per_tor: int, declared: Mapping[int, Ratio]
    ) -> Iterator[Finding]:
        """What is wrong with the whole.

        Args:
            planned: totals in closed form, see `Fabric.counts`.
            rails_per_tor: rails that share a ToR.
            declared: tier -> oversubscription that the spec declares; none for a tier without one.
        """
        switches = sorted(self.switches, key=lambda s: s.name)
        yield from clos.degrees(switches)
        yield from clos.counts(switches, self.hosts, self.host_ports, planned)
        yield from clos.oversubscription(switches, declared)
        yield from clos.planes(switches)
        yield from clos.rails(switches, self.landings, rails_per_tor)
        yield from overlaps((s.name, s.file, s.blocks) for s in switches)
        yield from _repeated_asns(switches)
        yield from routing_findings(kinds_of(switches, self.policies))
        yield from self.contracts.findings()
        yield from clos.timeouts(switches, self.shortest_timeout)
        yield from clos.mtus(switches, self.largest_host)


def _repeated_asns(switches: list[SwitchDigest]) -> Iterator[Finding]:
    """Invariant 7: no two ToRs share an AS number, nor one with a switch above; they would not hear each other."""
    used = Counter(s.asn for s in switches if s.tier == 0 and s.asn)
    above = {s.asn for s in switches if s.tier > 0 and s.asn}
    first: dict[int, str] = {}
    for s in switches:
        if s.tier or not s.asn or (used[s.asn] == 1 and s.asn not in above):
            continue
        other = first.setdefault(s.asn, s.name)
        who = "a switch above it" if s.asn in above else other
        if who != s.name:
            message = f"{s.name} has AS {s.asn}, which is also that of {who}: each drops the other's routes"
            yield finding(7, message, s.file, s.line)
