"""Compare both ends of every BGP session.

The other end is the owner of the named address. A session with an address that no device of the folder has leads
outside, and nothing is reported about it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.route_blocks import fact_of_waiting
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.facts.paths import path_pattern
from fabricc.facts.statement import Device, End, LinkPeer, scope_of, session_path
from fabricc.proof.invariants.view import as_int
from fabricc.rules.findings import at_lost_activation, finding_at
from fabricc.rules.sessions import (
    ONE_HOP,
    Key,
    Sessions,
    SessionValues,
    is_address,
    is_within,
    opposite_address,
    roles_agree,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding

SESSION = "FAB9601"


class Peer(NamedTuple):
    """One end of a session."""

    device: str
    key: Key


@dataclass(slots=True)
class SessionTable:
    """The sessions of the folder.

    Attributes:
        owners: address -> who has it; `shared`: those that several have.
        alone: accords that one end has and no other; `unsure`: devices with a session that has no accord.
    """

    sessions: Mapping[str, Sessions]
    groups: Mapping[str, str]
    fars: Mapping[str, Mapping[str, LinkPeer]]
    owners: dict[str, Sequence[str]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    alone: set[bytes] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)

    def match_sessions(self) -> None:
        """Find the owner of each address, and sessions whose digests match."""
        for name, each in self.sessions.items():
            alone = (name,)
            for address in each.addresses:
                known = self.owners.setdefault(address, alone)
                if isinstance(known, list):
                    known.append(name)
                elif known is not alone:
                    self.owners[address] = [*known, name]
                    self.shared.add(address)
            self.alone.symmetric_difference_update(each.accords.values())
            if len(each.accords) < len(each.stated):
                self.unsure.add(name)

    def unmatched_peers(self) -> Iterator[Peer]:
        """Yield the ends of sessions without evidence that both agree, except those that are shut."""
        for name in sorted(self.sessions if self.alone or self.shared else self.unsure):
            each = self.sessions[name]
            for key, session in each.stated.items():
                if session.enabled and not self._is_agreed(each, key):
                    yield Peer(name, key)

    def _is_agreed(self, sessions: Sessions, key: Key) -> bool:
        """Return whether the only owner of the neighbor's address states the same about the session."""
        accord = sessions.accords.get(key)
        if accord is None or accord in self.alone:
            return False
        return not self.shared or not (key[1] in self.shared or opposite_address(key[1]) in self.shared)

    def values_of(self, peer: Peer) -> SessionValues:
        """Return the statements of an end."""
        return self.sessions[peer.device].stated[peer.key]

    def near(self, peer: Peer) -> str:
        """Return the port of an end's device that leads to the other end, "" without one."""
        return self.sessions[peer.device].near[peer.key]

    def agrees(self, device: str, vrf: str) -> bool:
        """Return whether a device agrees with some neighbor in a routing instance."""
        each = self.sessions[device]
        return any(key[0] == vrf and self._is_agreed(each, key) for key in each.accords)

    def far(self, device: str, port: str) -> End | None:
        """Return the other end of a port's link if the folder has it."""
        far = self.fars[device].get(port)
        return far.end if far is not None and far.known else None

    def unnamed_ends(self, peer: Peer) -> list[End]:
        """Return the ends in a segment of several devices that name this one, and whose address it does not name.

        Those that have the AS number which the session is for come first.
        """
        here, remote = self.sessions[peer.device], self.values_of(peer).remote
        found = [
            (each.stated[key].asn != remote, End(name, each.near[key]))
            for name, each in self.sessions.items()
            for key in each.stated
            if key[0] == peer.key[0] and each.near[key] and key[1] in here.addresses and name != peer.device
            and not any(key[0] == vrf and neighbor in each.addresses for vrf, neighbor in here.stated)
        ]  # fmt: skip
        return [end for _, end in sorted(found)]

    def other(self, peer: Peer) -> Peer | str | None:
        """Return the other end; the owning device if it does not name the session; None without an owner."""
        vrf, neighbor = peer.key
        if far := self.far(peer.device, neighbor):  # unnumbered
            device, port = far
            if device not in self.sessions:
                return None
            return self._find_peer(device, vrf, (port,)) or device
        devices = [each for each in self.owners.get(neighbor, ()) if each != peer.device]
        linked = self.far(peer.device, self.near(peer))
        if linked is not None and linked.device in devices:
            devices = [linked.device]  # another fabric of the folder may have the same addresses
        found = [self._end_on(peer, device) for device in devices]
        ends = [each for each in found if isinstance(each, Peer)]
        if len(ends) > 1:
            remote = self.values_of(peer).remote
            ends.sort(key=lambda each: self.values_of(each).asn != remote)
        return ends[0] if ends else devices[0] if len(devices) == 1 else None

    def _end_on(self, peer: Peer, device: str) -> Peer | str:
        """Return the other end on the device that has the address; the device if it has none."""
        vrf, neighbor = peer.key
        mine, near = self.sessions[peer.device].addresses, self.near(peer)
        first = opposite_address(neighbor)
        if first in mine and (found := self._find_peer(device, vrf, (first,))):
            return found
        there = self.sessions[device]
        kin = sorted(
            {key[1] for key in there.stated if key[1] in mine and bool(there.near[key]) == bool(near)}
        )
        kin = [each for each in kin if (":" in each) == (":" in neighbor)]
        found = self._find_peer(device, vrf, kin)
        if found is None and near and (far := self.far(peer.device, near)) and far.device == device:
            found = self._find_peer(device, vrf, (far.port,))  # this end by address, that end by its port
        return found or device

    def _find_peer(self, device: str, vrf: str, neighbors: tuple[str, ...] | list[str]) -> Peer | None:
        listed = self.sessions[device].stated
        for neighbor in neighbors:
            if (vrf, neighbor) in listed:
                return Peer(device, (vrf, neighbor))
        for key in listed if neighbors else ():
            if key[1] in neighbors:
                return Peer(device, key)
        return None

    def accepts_from(self, device: str, by: str) -> bool:
        """Return whether a device accepts sessions from another one's addresses without naming them."""
        ranges = self.sessions[device].listens
        return any(is_within(address, each) for each in ranges for address in self.sessions[by].addresses)


_OWN = "bgp/asn"


def session_findings(table: SessionTable, devices: Mapping[str, Device]) -> Iterator[Finding]:
    """Report what the ends of all sessions do not agree on; sessions with equal digests are skipped."""
    pairs: list[tuple[Peer, Peer, bool, list[str]]] = []
    disagree: Counter[tuple[str, str]] = Counter()
    agree: set[tuple[str, str]] = set()
    for peer in table.unmatched_peers():
        other = table.other(peer)
        if isinstance(other, Peer):
            mine, its = table.values_of(peer), table.values_of(other)
            if right := _expects_asn(mine.remote, its.asn, mine.asn):
                agree.add((other.device, other.key[0]))
            else:
                disagree[other.device, other.key[0]] += 1
            unlike = [*_differing_leaves(mine, its), *_connection_faults(table, peer, other)]
            if not right or unlike:
                pairs.append((peer, other, right, unlike))
        elif isinstance(other, str):
            yield from _one_sided(table, peer, other, devices)
        else:
            yield from _report_nobody(table, peer, devices)
    guilty = {
        at for at, times in disagree.items() if times > 1 and at not in agree and not table.agrees(*at)
    } - _misnamed(table, pairs)  # its own number is wrong, not the statement of each neighbor
    numbers = Counter(each.reading.facts.get(_OWN) for each in devices.values()) if guilty else Counter()
    for device, vrf in sorted(guilty):
        shared = numbers[devices[device].reading.facts.get(_OWN)] > 1 and not vrf
        near = [
            (peer, other)
            for peer, other, right, _ in pairs
            if not right and (other.device, other.key[0]) == (device, vrf)
        ]
        yield _own_number(table, devices[device], near)
        if len(guilty) > 1 or shared:  # or the neighbors' statements are, which are as many
            first = {peer.device: (peer, other) for peer, other in reversed(near)}
            yield from (_wrong_number(table, *ends, devices) for _, ends in sorted(first.items()))
    alone = {at for at, times in disagree.items() if times == 1 and at not in agree and not table.agrees(*at)}
    reported: set[frozenset[Peer]] = set()
    for peer, other, right, unlike in pairs:
        if not right and (other.device, other.key[0]) in alone:  # either number may be the wrong one
            yield _own_number(table, devices[other.device], [(peer, other)])
        if not right and (other.device, other.key[0]) not in guilty:
            yield _wrong_number(table, peer, other, devices)
            if session_path(other.key, "local_asn") in devices[other.device].reading.facts:
                yield _other_number(table, other, peer, devices)
        both = frozenset((peer, other))
        if both not in reported or not {"source", "no source"}.isdisjoint(unlike):
            reported.add(both)
            yield from _differences(table, peer, other, unlike, devices)


def _misnamed(
    table: SessionTable, pairs: Sequence[tuple[Peer, Peer, bool, list[str]]]
) -> set[tuple[str, str]]:
    """Return the devices whose neighbors all state a number that is stated for devices with different own numbers."""
    named: defaultdict[Value | None, set[int | None]] = defaultdict(set)
    wrong: defaultdict[tuple[str, str], list[Value | None]] = defaultdict(list)
    for peer, other, right, _ in pairs:
        if not right:
            remote = table.values_of(peer).remote
            named[remote].add(table.values_of(other).asn)
            wrong[other.device, other.key[0]].append(remote)
    return {at for at, some in wrong.items() if all(len(named[each]) > 1 for each in some)}


def _expects_asn(remote: Value | None, asn: int | None, own: int | None) -> bool:
    """Return whether the AS number that one end expects is that of the other."""
    if remote is None or asn is None:
        return True
    if remote in ("internal", "external"):
        return own is None or (own == asn) == (remote == "internal")
    return remote == asn


def _peer_name(peer: Peer) -> str:
    vrf, neighbor = peer.key
    return f"{peer.device}: neighbor {neighbor}" + (f" of VRF {vrf}" if vrf else "")


def _wrong_number(table: SessionTable, peer: Peer, other: Peer, devices: Mapping[str, Device]) -> Finding:
    named, has = table.values_of(peer).remote, table.values_of(other).asn
    message = f"{_peer_name(peer)} is to have AS {named}, {other.device} has AS {has}: no session comes up"
    at = [session_path(peer.key, leaf) for leaf in ("remote_asn", "remote_kind")]
    at.sort(key=lambda path: path not in devices[peer.device].reading.facts)
    return finding_at(
        SESSION, devices[peer.device], at, message, "session AS", remedy="Name the AS number of the far end."
    )


def _other_number(table: SessionTable, peer: Peer, other: Peer, devices: Mapping[str, Device]) -> Finding:
    """Report that a session states another own AS number than its neighbor expects."""
    has, named = table.values_of(peer).asn, table.values_of(other).remote
    message = f"{_peer_name(peer)} gets AS {has} in place of {named}, which {other.device} expects: no session comes up"
    path, remedy = session_path(peer.key, "local_asn"), "Remove the other number of the session."
    return finding_at(SESSION, devices[peer.device], path, message, "session AS", remedy=remedy)


def _own_number(table: SessionTable, device: Device, near: list[tuple[Peer, Peer]]) -> Finding:
    """Report that all neighbors name another AS number than a device has, or than its sessions state."""
    key = near[0][1].key
    asn = table.values_of(near[0][1]).asn
    named = {table.values_of(peer).remote for peer, _ in near}
    who = join_words(list(dict.fromkeys(peer.device for peer, _ in near)), 2)
    remote = as_int(next(iter(named))) if len(named) == 1 else None
    other = "another" if remote is None else f"AS {remote}"
    verb = "its neighbors {} all name" if len(near) > 1 else "its neighbor {} names"
    message = f"{device.name} has AS {asn}, and {verb.format(who)} {other}: no session comes up"
    scope = scope_of(key[0])
    paths = (session_path(key, "local_asn"), f"{scope}bgp/confederation", f"{scope}bgp/asn", "bgp/asn")
    return finding_at(
        SESSION, device, paths, message, "session AS", remedy="Give it the AS number that they name."
    )


def _one_sided(
    table: SessionTable, peer: Peer, other: str, devices: Mapping[str, Device]
) -> Iterator[Finding]:
    vrf, neighbor = peer.key
    if table.accepts_from(other, peer.device):
        return
    joined = table.groups[other] == table.groups[peer.device]
    if not joined and neighbor not in table.shared:  # no link is known where more than two are in one subnet
        facts = devices[peer.device].reading.facts
        length = str(facts.get(f"interface[{table.near(peer)}]/ipv4", "")).partition("/")[2]
        joined = is_number(length) and int(length) < _LINK
    if not table.sessions[other].runs_bgp and not (
        joined and neighbor not in table.shared and _may_run_bgp(devices[other], devices[peer.device])
    ):
        return
    message = f"{other} has no session with {peer.device}, which has one with its {neighbor}"
    paths = [f"{scope_of(vrf)}bgp/asn", "bgp/asn", "bgp/router_id"]
    if near := table.far(peer.device, table.near(peer)):
        paths = [f"interface[{near[1]}]/ipv6" if ":" in neighbor else f"interface[{near[1]}]/ipv4", *paths]
    remedy = "State the session at both ends, or remove it."
    # Where nothing joins them, a device that is not here may have the address.
    severity = Severity.ERROR if joined else Severity.NOTE
    found = finding_at(SESSION, devices[other], paths, message, "session one end", severity, remedy)
    if place := _unread_neighbor(devices[other], table.sessions[peer.device].addresses):
        found = found._replace(file=devices[other].paths.get(place[0], place[0]), line=place[1])
    yield found


_LINK = 30
"""The length of the largest subnet of a link between two switches (IPv4)."""
_NEIGHBOR = re.compile(r"\bn\w*r (\S+?)(?=[;\s]|$)")
_INACTIVE = "inactive: "


def _unread_neighbor(device: Device, addresses: Collection[str]) -> tuple[str, int] | None:
    """Return the line of a session that a device states and does not have, such as a deactivated one."""
    for file, line, text in device.unknown:
        if (match := _NEIGHBOR.search(text)) and match[1] in addresses:
            word = _INACTIVE if text.startswith(_INACTIVE) else match[1]
            lines = device.files.get(file, "").split("\n")[:line]
            above = (number for number in range(len(lines), 0, -1) if word in lines[number - 1])
            return file, next(above, line)
    return None


def _may_run_bgp(device: Device, other: Device) -> bool:
    """Return whether the files of a device without BGP include the one in which another device of its system has it."""
    place = other.reading.lines.get("bgp/asn")
    return device.system == other.system and place is not None and place[0] in device.files


def _report_nobody(table: SessionTable, peer: Peer, devices: Mapping[str, Device]) -> Iterator[Finding]:
    """Report a neighbor in the subnet of a link whose other end is in the folder with another address."""
    near = table.near(peer)
    far = table.far(peer.device, near)
    if not far or far[0] not in table.sessions or peer.key[1] == near or peer.key[1] in table.owners:
        return
    shared = [*table.sessions[peer.device].near.values()].count(near) > 1
    ends = table.unnamed_ends(peer) if shared else [far]
    family = "ipv6" if ":" in peer.key[1] else "ipv4"
    for end in ends[:1]:
        path = f"interface[{end.port}]/{family}"
        if (address := devices[end.device].reading.facts.get(path)) is None:
            return
        message = f"{_peer_name(peer)} is on the link to {end.device}, whose end ({end.port}) has {address}"
        places = [
            (peer.device, session_path(peer.key, "remote_asn")),
            *([(end.device, path)] if shared else ()),
        ]
        for name, at in places:
            group, remedy = "session address", "Name the far end's address."
            yield finding_at(SESSION, devices[name], at, message, group, remedy=remedy)


def _differing_leaves(own: SessionValues, its: SessionValues) -> list[str]:
    """Return statements of two ends of a session that differ; nothing more if the other end has shut it."""
    if not its.enabled:
        return ["enabled"]
    unlike = {
        "families": own.families and its.families and own.families != its.families,
        "password": own.password != its.password,
        "ttl": own.ttl != its.ttl,
        "bfd": (own.bfd == "true") != (its.bfd == "true"),
        "timers": own.timers != its.timers and None not in (*own.timers, *its.timers),
        "passive": own.passive and its.passive,
        "hops": own.multihop != its.multihop and own.bfd == its.bfd == "true",
        "roles": not roles_agree(own.role, its.role),
        "BFD waits": own.bfd_waits and its.bfd_waits and own.bfd == its.bfd == "true",
    }
    return [what for what, differs in unlike.items() if differs]


def _connection_faults(table: SessionTable, peer: Peer, other: Peer) -> list[str]:
    """Return whether this end connects from another address than the one that the other end names."""
    named, source = other.key[1], table.values_of(peer).source
    if peer.key[0] or not is_address(named):
        return []  # in other routing instances, several subnets may join the two
    if source:
        return [] if named in source else ["source"]
    between_loopbacks = not table.near(peer) and not table.near(other)
    return ["no source"] if between_loopbacks and table.sessions[peer.device].numbered else []


def _differences(
    table: SessionTable, peer: Peer, other: Peer, unlike: list[str], devices: Mapping[str, Device]
) -> Iterator[Finding]:
    """Report the differences of two ends of a session at the end that must change."""

    def finding(one: Peer, leaves: tuple[str, ...], what: str, group: str, severity: Severity) -> Finding:
        paths = [path for leaf in leaves for path in (session_path(one.key, leaf), f"bgp/{leaf}")]
        message = f"{_peer_name(one)}: {what}"
        return finding_at(SESSION, devices[one.device], paths, message, f"session {group}", severity, _ALIKE)

    mine, its = table.values_of(peer), table.values_of(other)
    if "enabled" in unlike:
        text = f"the session is shut, but not at {peer.device}"
        yield finding(other, ("enabled",), text, "shut", Severity.WARNING)
    lacking = _families_beyond(mine.families, its.families)
    more = lacking or _families_beyond(its.families, mine.families)
    if "families" in unlike and any(_has_routes(devices[each.device], more) for each in (peer, other)):
        place, offering = (other, peer) if lacking else (peer, other)
        text = f"carries no {more}, which {offering.device} offers: not negotiated"
        if table.agrees(place.device, place.key[0]) and not table.agrees(offering.device, offering.key[0]):
            text = f"offers {more}, which {place.device} does not carry: not negotiated"
            place = offering
        extra = f"evpn/neighbor[{place.key[1]}]/next_hop" if more == "evpn" else ""
        paths = [extra, *(session_path(place.key, leaf) for leaf in ("families", "remote_asn"))]
        message, group = f"{_peer_name(place)}: {text}", "session families"
        found = finding_at(SESSION, devices[place.device], paths, message, group, Severity.WARNING, _ALIKE)
        yield at_lost_activation(devices[place.device], found, place.key[1], more)
    for has, name, stated, group in (
        (mine.password, "password", ("secret", "password"), "password"),
        (mine.ttl, "ttl", ONE_HOP, "TTL security"),
    ):
        if name in unlike:
            one, who = (peer, other.device) if has else (other, peer.device)
            text = f"has {group}, {who} at the other end has none, so no session comes up"
            yield finding(one, (*stated, "remote_asn"), text, group, Severity.ERROR)
    if "passive" in unlike:
        text = f"both ends wait for the other one to connect, {other.device} too: no session comes up"
        leaves = ("setting[passive]", "setting[passive-mode]", "setting[transport connection-mode]")
        yield finding(peer, leaves, text, "passive", Severity.ERROR)
    if "source" in unlike:
        text = f"connects from {mine.source[0]}, {other.device} expects {other.key[1]}: no session comes up"
        yield finding(peer, ("update_source", "remote_asn"), text, "source", Severity.ERROR)
    if "no source" in unlike:
        text = f"has no source, so it comes from the address of a port, and {other.device} expects {other.key[1]}"
        yield finding(peer, ("update_source", "remote_asn", "remote_kind"), text, "source", Severity.WARNING)
    if "roles" in unlike:
        one, who = (peer, other.device) if mine.role else (other, peer.device)
        text = f"has a role that {who} at the other end does not match: no session comes up"
        yield finding(one, ("setting[local-role]", "remote_asn"), text, "role", Severity.ERROR)
    if "hops" in unlike:
        one, who = (peer, other.device) if mine.multihop else (other, peer.device)
        text = f"its BFD counts several hops, that of {who} at the other end one: BFD never comes up"
        yield finding(one, ("multihop", "remote_asn"), text, "hops of BFD", Severity.WARNING)
    if "BFD waits" in unlike:
        path = fact_of_waiting(devices[peer.device].reading.facts)
        text = f"{_peer_name(peer)}: both ends of BFD wait for the other one, {other.device} too: it never comes up"
        group, grade = "session passive BFD", Severity.WARNING
        yield finding_at(SESSION, devices[peer.device], path, text, group, grade, _ALIKE)
    if "bfd" in unlike:
        one, who = (peer, other.device) if mine.bfd != "true" else (other, peer.device)
        text = f"runs no BFD, {who} at the other end does: failures are found by the hold time alone"
        yield finding(one, ("bfd", "remote_asn"), text, "BFD", Severity.WARNING)
    if "timers" in unlike:
        one, two = (other, peer) if _is_odd(table, other, peer, devices) else (peer, other)
        timers = [_format_timers(table.values_of(each)) for each in (one, two)]
        text = f"timers {timers[0]} s, {two.device} at the other end {timers[1]} s: the shorter time counts"
        yield finding(one, ("hold_s", "keepalive_s", "remote_asn"), text, "timers", Severity.WARNING)


def _is_odd(table: SessionTable, one: Peer, other: Peer, devices: Mapping[str, Device]) -> bool:
    """Return whether the timers of an end are the odd ones: the other end's are those of others, or defaults."""
    agreeing = [table.agrees(each.device, each.key[0]) for each in (one, other)]
    stated = [session_path(each.key, "hold_s") in devices[each.device].reading.facts for each in (one, other)]
    return agreeing == [False, True] or (agreeing[0] == agreeing[1] and stated == [True, False])


_ALIKE = "Set both ends of the session to the same value."


def _format_timers(values: SessionValues) -> str:
    return f"{values.timers[0]}/{values.timers[1]}"


def _families_beyond(one: Value | None, other: Value | None) -> str:
    return ", ".join(sorted(set(str(one).split(",")) - set(str(other).split(","))))


_ADDRESS = {family: path_pattern(rf"interface[_]/{family}") for family in ("ipv4", "ipv6")}


def _has_routes(device: Device, families: str) -> bool:
    """Return whether a switch has addresses of a family, IPv4 or IPv6; other families need none.

    NX-OS sessions on link-local addresses have both families (Nexus 9000 unicast guide, "Interface Peering").
    """
    facts = device.reading.facts
    return (pattern := _ADDRESS.get(families)) is None or (
        f"loopback/{families}" in facts or any(map(pattern.fullmatch, facts))
    )
