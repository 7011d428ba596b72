"""Devices whose files differ in coordinates only: the input of whole-fabric rules and link ends for each.

All coordinates in such files are as planned, which is proved with one device by placeholders; everything else is
computed once. Of the rules on one switch only those run that use coordinates for more than which of them are equal:
this is the same on all similar switches. A switch that may break one is examined as a whole.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass, replace
from fabricc.fabric.model import Direction, Host, Port, Switch
from fabricc.proof.invariants import prefixes
from fabricc.proof.invariants.clos import HostDigest, SwitchDigest
from fabricc.proof.invariants.contract import host_contracts, switch_contracts
from fabricc.proof.invariants.policy import Policy, policy_of_alike
from fabricc.proof.invariants.ports import is_private_asn
from fabricc.proof.invariants.survey import Survey, digest_of, host_digest, host_landings
from fabricc.proof.invariants.view import LinkPort, SwitchView, leads_out, make_view, sibling_address
from fabricc.rules import planned_links

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.fabric.facts import FileContents
    from fabricc.proof.compare import Finding
    from fabricc.rules.records import EndValues

    _Contract = tuple[bytes, str, int]

_NO_SESSION = -1


class _Link(NamedTuple):
    """A cabled port, the same on all similar switches.

    Attributes:
        number: its place among the ports.
        families: of its addresses, each with the place of its session; `unnumbered`: of such a one, None without.
        gateways: of the segment that it is in.
        values: those of its end that many ends share.
    """

    number: int
    families: tuple[tuple[str, int], ...]
    unnumbered: int | None
    gateways: tuple[str, ...]
    values: EndValues


@dataclass(slots=True)
class Likeness:
    """The facts of similar switches without coordinates.

    Attributes:
        links: all of them; by their ports' places, `up` with their Gb/s, `down` to switches, `hosts`, and those whose
            addresses the switch owns.
        aggregates: their order in the files.
        lines: of its blocks; `server_addresses`: those of the servers that it uses.
        digest: without the differing parts.
        policy: that of the first without a breach; `keys`: plane and pod, which no file states -> its key.
    """

    links: tuple[_Link, ...]
    up: tuple[tuple[int, int], ...]
    down: tuple[int, ...]
    hosts: tuple[int, ...]
    owned: tuple[int, ...]
    aggregates: tuple[int, ...]
    lines: tuple[int, ...]
    server_addresses: frozenset[str]
    digest: SwitchDigest
    policy: Policy | None = field(default=None, compare=False)
    keys: dict[tuple[int, int | None], bytes] = field(default_factory=dict, compare=False)

    @staticmethod
    def of(seen: SwitchView) -> Likeness | None:
        """Return that of a switch; None if a file has another coordinate than the plan, or it leads elsewhere.

        That is outside, or to a switch of its own tier, where the ends of a link differ in more than coordinates.
        """
        switch, sessions = seen.switch, seen.switch.bgp.sessions
        ports = [(number, port) for number, port in enumerate(switch.ports) if port.peer]
        addresses = [(port.ipv4, port.ipv6) for _, port in ports]
        neighbors = {each.remote or each.port: each.remote_asn for each in switch.bgp.every_session}
        if (
            seen.number("bgp/asn") != switch.bgp.asn
            or {key: stated.get("remote_asn") for key, stated in seen.neighbors.items()} != neighbors
            or [(link.ipv4, link.ipv6) for link in seen.links] != addresses
            or any(leads_out(link) or link.port.direction is Direction.PEER for link in seen.links)
            or sorted(seen.aggregates) != sorted(switch.bgp.aggregates)
        ):
            return None
        over = {(each.port, each.transport.value): place for place, each in enumerate(sessions)}
        links = [
            _common_link(seen, number, link, over)
            for (number, _), link in zip(ports, seen.links, strict=True)
        ]
        used = [place for link in links if link for _, place in link.families if place != _NO_SESSION]
        used += [link.unnumbered for link in links if link and link.unnumbered is not None]
        if None in links or sorted(used) != list(range(len(sessions))):
            return None
        own, lines = prefixes.owned_blocks(seen), seen.reading.lines
        numbers = {
            direction: [n for n, port in ports if port.direction is direction] for direction in Direction
        }
        likeness = Likeness(
            tuple(filter(None, links)),
            tuple((number, link.speed_gbps) for (number, port), link in zip(ports, seen.links, strict=True)
                  if port.direction is Direction.UP),
            (*numbers[Direction.DOWN], *numbers[Direction.UNUSED]),
            tuple(numbers[Direction.HOST]),
            tuple(number for number, port in ports if port.direction is Direction.UP
                  or (port.direction is Direction.HOST and not seen.aggregates)),
            tuple(map(switch.bgp.aggregates.index, seen.aggregates)),
            tuple(lines.get(path, ("", 0))[1] for path in own),
            prefixes.management_servers(seen),
            digest_of(seen, b"", switch_contracts(seen), "")._replace(
                name="", plane=0, pod=0, unit=0, asn=0, above=(), below=(), widest=("", 0), blocks=b"",
            ),
        )  # fmt: skip
        return likeness if likeness._owned_texts(switch) == [*own.values()] else None

    def add(self, switch: Switch, folder: str, survey: Survey) -> list[planned_links.LinkEnd] | None:
        """Add a switch and return the ends of its links; None if a rule on coordinates may be broken.

        Args:
            switch: one of these.
            folder: where its files are.
            survey: the survey that it is added to.
        """
        bgp, ports = switch.bgp, switch.ports
        management = switch.management.address.partition("/")[0]
        if self.policy is None or not is_private_asn(bgp.asn) or management in self.server_addresses:
            return None
        hosts = [text for at in self.hosts for text in (ports[at].ipv4, ports[at].ipv6) if text]
        if bgp.aggregates and not prefixes.lie_in_aggregates(hosts, bgp.aggregates):
            return None
        if (ends := self._link_ends(switch)) is None:
            return None
        key = self.keys.get((switch.plane, switch.pod), b"")
        if key not in survey.policies:
            file = f"{folder}{self.digest.file or '/'}"
            policy = policy_of_alike(self.policy, switch, self._originated_texts(switch), file, key)
            key = self.keys[switch.plane, switch.pod] = policy.key
            survey.policies.setdefault(key, policy)
        survey.switches.append(self._switch_digest(switch, folder, key))
        return ends

    def _link_ends(self, switch: Switch) -> list[planned_links.LinkEnd] | None:
        """Return the same as `switch_ends`; None if a session is not with the other address of its link."""
        name, ports, sessions = switch.name, switch.ports, switch.bgp.sessions
        asn, remotes, ends = switch.bgp.asn, {each.remote for each in sessions}, []
        for number, families, unnumbered, gateways, values in self.links:
            port = ports[number]
            peer = port.peer
            assert peer is not None
            first = (name, port.name) < (peer.device, peer.port)
            addresses, stated_sessions = [], []
            for family, place in families:
                address = (port.ipv4 if family == "ipv4" else port.ipv6) or ""
                remote = sibling_address(address)
                if not remote or (
                    remote in remotes if place == _NO_SESSION else sessions[place].remote != remote
                ):
                    return None
                head = address.partition("/")[0]
                addresses.append(f"{head} - {remote}" if first else f"{remote} - {head}")
                if place != _NO_SESSION:
                    stated_sessions.append(_asn_statement(family, first, asn, sessions[place].remote_asn))
            if unnumbered is not None:
                addresses.append("unnumbered")
                stated_sessions.append(
                    _asn_statement("unnumbered", first, asn, sessions[unnumbered].remote_asn)
                )
            stated = " ".join((*addresses, *gateways)), " ".join(stated_sessions)
            ends.append(planned_links.LinkEnd(name, port.name, peer.device, peer.port, *stated, values))
        return ends

    def _switch_digest(self, switch: Switch, folder: str, policy: bytes) -> SwitchDigest:
        """Return the same as `digest_of`."""
        common, ports, wide = self.digest, switch.ports, Counter[str]()
        for number, gbps in self.up:
            wide[_far_device(ports[number])] += gbps
        return SwitchDigest(
            switch.name, common.tier, switch.plane, -1 if switch.pod is None else switch.pod,
            -1 if switch.unit is None else switch.unit, switch.bgp.asn,
            tuple(sorted(Counter([_far_device(ports[number]) for number, _ in self.up]).items())),
            tuple(sorted(Counter([_far_device(ports[number]) for number in self.down]).items())),
            max(wide.items(), key=lambda each: (each[1], each[0]), default=("", 0)),
            common.host_links, common.load, common.mtus, common.host_mtu, common.detect_ms, common.outer_asns, policy,
            _place_contracts(common.contracts, folder),
            prefixes.packed_blocks(self._owned_texts(switch), self.lines), common.segments,
            f"{folder}{common.file}" if common.file else "", common.line,
        )  # fmt: skip

    def _owned_texts(self, switch: Switch) -> list[str]:
        """Return the same as `owned`, texts only."""
        ports = [switch.ports[number] for number in self.owned]
        links = [text for port in ports for text in (port.ipv4, port.ipv6) if text]
        return [*self._originated_texts(switch), switch.management.address.partition("/")[0], *links]

    def _originated_texts(self, switch: Switch) -> list[str]:
        """Return the own prefixes that a switch announces."""
        aggregates = [switch.bgp.aggregates[at] for at in self.aggregates]
        loopbacks = ((switch.loopback4, 32), (switch.loopback6, 128))
        return [*aggregates, *[f"{address}/{length}" for address, length in loopbacks if address]]


class _HostPort(NamedTuple):
    """A host's port: the names of its addresses and gateways, and the values of its end."""

    ends: tuple[tuple[str, str], ...]
    values: EndValues


@dataclass(slots=True)
class HostLikeness:
    """The facts of similar hosts without coordinates; `digest`: without the differing parts."""

    ports: tuple[_HostPort, ...]
    digest: HostDigest

    @staticmethod
    def of(host: Host, reading: FileContents) -> HostLikeness | None:
        """Return that of a host; None if a file has another coordinate than the plan, or it shares a subnet."""
        facts, ports = reading.facts, []
        for port in host.ports:
            prefix, ends = f"interface[{port.name}]/", []
            for family, name, wide in (
                ("ipv4", "gateway4", host.fabric_prefixes4),
                ("ipv6", "gateway6", host.fabric_prefixes6),
            ):
                address, route = (
                    facts.get(prefix + family),
                    facts.get(f"{prefix}route[{wide[0]}]") if wide else None,
                )
                if address is not None and (
                    address != getattr(port, family) or planned_links.shared_subnet(str(address))
                ):
                    return None
                if address is None or route is None:
                    continue
                if planned_links.gateway_of(route) != getattr(port, name):
                    return None
                ends.append((family, name))
            values = planned_links.host_values(facts.get(prefix + "mtu"), facts.get(prefix + "pfc"))
            ports.append(_HostPort(tuple(ends), values))
        digest = replace(
            host_digest(host, reading, host_contracts(host, reading), ""), name="", attachments=()
        )
        return HostLikeness(tuple(ports), digest)

    def add(self, host: Host, folder: str, survey: Survey) -> list[planned_links.LinkEnd]:
        """Add a host; return the ends of its links."""
        name, ends = host.name, []
        for port, (families, values) in zip(host.ports, self.ports, strict=True):
            pairs = [(getattr(port, family), getattr(port, gateway)) for family, gateway in families]
            ends.append(
                planned_links.host_end(name, port.name, (port.peer.device, port.peer.port), pairs, (), values)
            )
        common = self.digest
        digest = HostDigest(
            name, host_landings(host), common.mtu, common.timeout_ms, _place_contracts(common.contracts, folder),
            f"{folder}{common.file}" if common.file else "", common.line,
        )  # fmt: skip
        survey.hosts.append(digest)
        return ends


@dataclass(slots=True)
class CommonFacts:
    """The common part of devices whose files differ in coordinates only.

    Attributes:
        likeness: None if each must be examined as a whole; `proved`: whether a device without a breach was examined as
            a whole and by the common part, with the same result.
    """

    likeness: Likeness | HostLikeness | None = None
    proved: bool = False

    def add(self, device: Switch | Host, folder: str, survey: Survey) -> list[planned_links.LinkEnd] | None:
        """Add a device; return the ends of its links, or None if it must be examined as a whole."""
        likeness = self.likeness
        if isinstance(device, Host):
            return likeness.add(device, folder, survey) if isinstance(likeness, HostLikeness) else None
        return likeness.add(device, folder, survey) if isinstance(likeness, Likeness) else None

    def prove_common(
        self,
        device: Switch | Host,
        reading: FileContents,
        folder: str,
        found: Survey,
        ends: list[planned_links.LinkEnd],
    ) -> None:
        """Compare it with a device without a breach: the findings about that alone, and the ends of its links."""
        if self.likeness is not None and self.likeness == likeness_of(device, reading):
            if isinstance(self.likeness, Likeness):
                self.likeness.policy = next(iter(found.policies.values()))
            again = Survey()
            self.proved = self.add(device, folder, again) == ends and again == found
        self.likeness = self.likeness if self.proved else None


def likeness_of(device: Switch | Host, reading: FileContents) -> Likeness | HostLikeness | None:
    """Return the common part of a device and all similar ones; None if each must be examined as a whole."""
    return (
        HostLikeness.of(device, reading)
        if isinstance(device, Host)
        else Likeness.of(make_view(device, reading))
    )


def survey_device(
    device: Switch | Host, reading: FileContents, folder: str, survey: Survey, common: CommonFacts | None
) -> tuple[list[Finding], list[planned_links.LinkEnd]]:
    """Add a device; return the findings about it alone, files below `folder`, and the ends of its links."""
    if common is not None and common.proved and (known := common.add(device, folder, survey)) is not None:
        return [], known
    alone = Survey()
    if isinstance(device, Host):
        wrong, ends = [*alone.add_host(device, reading, folder)], [*planned_links.host_ends(device, reading)]
    else:
        seen = make_view(device, reading)
        wrong, ends = [*alone.add_switch(seen, folder)], [*planned_links.switch_ends(seen)]
    if common is not None and not wrong and not common.proved:
        common.prove_common(device, reading, folder, alone, ends)
    survey.join(alone)
    return wrong, ends


def _place_contracts(contracts: Iterable[_Contract], folder: str) -> tuple[_Contract, ...]:
    """Return functions of invariant 12 with the files in a folder that state them."""
    return tuple([(function, f"{folder}{file}" if file else "", line) for function, file, line in contracts])


def _common_link(
    seen: SwitchView, number: int, link: LinkPort, over: Mapping[tuple[str, str], int]
) -> _Link | None:
    """Return the facts of a port that similar switches share; None unless it has one session with each far end.

    `over`: port and transport -> place of the session over it.
    """
    name, to_host = link.port.name, link.port.direction is Direction.HOST
    stated = zip(planned_links.FAMILIES, (link.ipv4, link.ipv6), strict=True)
    lengths = [(family, known, text.partition("/")[2]) for (family, known), text in stated if text]
    families = tuple((family, over.get((name, family), _NO_SESSION)) for family, _, _ in lengths)
    unnumbered = over.get((name, "unnumbered"), _NO_SESSION) if link.unnumbered else None
    if any(length not in known for _, known, length in lengths) or unnumbered == _NO_SESSION:
        return None
    if any((place == _NO_SESSION) != to_host for _, place in families):
        return None
    places = [place for _, place in families] if not to_host else []
    sessions = [seen.switch.bgp.sessions[place] for place in (*places, unnumbered) if place is not None]
    attributes = [seen.neighbors[each.remote or each.port] for each in sessions]
    get = seen.facts.get
    settings = planned_links.settings_of(
        tuple(each.get("families") for each in attributes), seen.switch.bgp.families, get("bgp/keepalive_s"),
        get("bgp/hold_s"),
    )  # fmt: skip
    bfd = planned_links.bfd_of(tuple(each.get("bfd") == "true" for each in attributes), get("bfd/multiplier"))
    vlan = seen.evpn.get(f"port[{name}]")
    gateways = (
        (seen.evpn.get(f"segment[{vlan}]/{family}") for family, _ in planned_links.FAMILIES)
        if vlan is not None
        else ()
    )
    return _Link(
        number, families, unnumbered, tuple(str(each) for each in gateways if each is not None),
        planned_links.switch_values(link.stated, settings, bfd),
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _asn_statement(transport: str, first: bool, asn: int, remote: int) -> str:
    """Return the statement of both ends of a session about its AS numbers."""
    return f"{transport} {asn} - {remote}" if first else f"{transport} {remote} - {asn}"


def _far_device(port: Port) -> str:
    """Return the device at the far end of a cabled port."""
    return port.peer.device if port.peer else ""
