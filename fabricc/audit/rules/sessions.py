"""Both ends of every BGP session against each other, wherever it leads: on a link, between loopbacks, unnumbered.

An end is found by who has the address that the other names; a session with an address that no device of the folder has
is one with somebody else, and nothing is said of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.packed import few_bytes, value_of
from fabricc.audit.rules.sheet import scope_of, session_path, told
from fabricc.base.diagnostics import Severity
from fabricc.base.values import dataclass
from fabricc.proof.invariants.view import as_int, sibling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fabricc.audit.model import Device, End
    from fabricc.audit.rules.sheet import Far, Sheet
    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding

SESSION = "FAB9601"
_OPEN = 512
"""Devices whose sessions stay unpacked, each some 20 kB."""
Key = tuple[str, str]
_LISTEN = "bgp/listen["


class Said(NamedTuple):
    """What one end of a session says; those that say the same are one object.

    Attributes:
        asn: its own AS number as the other end sees it; None where it says none.
        remote: that of the other end: a number, `internal` or `external`.
    """

    asn: int | None
    remote: Value | None
    families: Value | None
    bfd: Value | None
    timers: tuple[Value | None, Value | None]
    password: bool
    ttl: bool
    enabled: bool


@dataclass(slots=True)
class Sessions:
    """The sessions of a device.

    Attributes:
        said: routing instance and neighbour -> what is said.
        near: the same -> port that leads there, "" where none does.
        listens: ranges from which neighbours are taken without being named.
        speaks: whether it runs BGP; `addresses`: all that it has.
        accords: of sessions over a subnet of two, what the other end has to say alike, as a digest; see `_accord`.
    """

    speaks: bool
    said: dict[Key, Said] = field(default_factory=dict)
    near: dict[Key, str] = field(default_factory=dict)
    listens: tuple[str, ...] = ()
    addresses: frozenset[str] = frozenset()
    accords: dict[Key, bytes] = field(default_factory=dict)


def sessions_of(sheet: Sheet) -> Sessions:
    """The sessions of a device; those that say the same are one object."""
    facts, alike = sheet.rest, dict[Said, Said]()
    if not sheet.sessions and "bgp/asn" not in facts:
        speaks = any(path.endswith("]/bgp/asn") for path in sheet.rest)
        return Sessions(speaks, addresses=frozenset(_own(sheet)))
    listens = tuple(path.partition(_LISTEN)[2].rpartition("]")[0] for path in sheet.rest if _LISTEN in path)
    by_address, subnets = _reached(sheet)
    federated = any(path.endswith("bgp/confederation") for path in sheet.rest)
    found = Sessions(True, listens=listens, addresses=frozenset(_own(sheet)))
    for key, says in sheet.sessions.items():
        vrf, neighbour = key
        scope = scope_of(vrf)

        timers = [
            says.get(f"{each}_s", _process(facts, scope, f"{each}_s")) for each in ("keepalive", "hold")
        ]
        end = Said(
            asn=None if federated else as_int(says.get("local_asn", _process(facts, scope, "asn"))),
            remote=says.get("remote_asn", says.get("remote_kind")),
            families=says.get("families"),
            bfd=says.get("bfd"),
            timers=(timers[0], timers[1]),
            password="secret" in says or "password" in says,
            ttl="ttl_security_hops" in says or _process(facts, scope, "ttl_security") == "true",
            enabled=says.get("enabled") != "false",
        )
        found.said[key] = alike.setdefault(end, end)
        found.near[key] = by_address.get(neighbour) or _covering(neighbour, subnets)
        own = _opposite(neighbour)
        apart = own in found.addresses and neighbour not in found.addresses
        if apart and (accord := _accord(vrf, own, neighbour, end)):
            found.accords[key] = accord
    return found


def _opposite(neighbour: str) -> str:
    """The address beside a neighbour's in a subnet of two; "" where the neighbour is no address."""
    return sibling(f"{neighbour}/127" if ":" in neighbour else f"{neighbour}/31")


def _accord(vrf: str, own: str, neighbour: str, said: Said) -> bytes:
    """What two ends say alike when nothing is wrong between them, in 16 bytes; none where more has to be asked."""
    asn, remote = said.asn, said.remote
    if not said.enabled or asn is None or not isinstance(remote, int):
        return b""
    ends = (own, asn, neighbour, remote) if own < neighbour else (neighbour, remote, own, asn)
    rest = said.families, said.bfd, said.timers, said.password, said.ttl
    return blake2b(repr((vrf, ends, rest)).encode(), digest_size=16).digest()


def _process(facts: Mapping[str, Value], scope: str, leaf: str) -> Value | None:
    """What is said of the BGP process of a routing instance, else of the default one."""
    value = facts.get(f"{scope}bgp/{leaf}")
    return facts.get(f"bgp/{leaf}") if value is None else value


def _own(sheet: Sheet) -> Iterator[str]:
    for texts in sheet.addresses.values():
        for text in texts:
            yield text.partition("/")[0]
    for family in ("ipv4", "ipv6"):
        if (loopback := sheet.rest.get(f"loopback/{family}")) is not None:
            yield str(loopback).partition("/")[0]


def _reached(sheet: Sheet) -> tuple[dict[str, str], list[tuple[IPv4Network | IPv6Network, str]]]:
    """Port by the address at its other end, and ports by their subnets where these are larger."""
    subnets = []
    exact: dict[str, str] = {port: port for port in sheet.ports}
    for port, texts in sheet.addresses.items():
        for text in texts:
            if other := sibling(text):
                exact[other] = port
            elif not text.endswith(("/32", "/128")):
                try:
                    subnets.append((ip_interface(text).network, port))
                except ValueError:
                    continue
    return exact, subnets


def _covering(neighbour: str, subnets: list[tuple[IPv4Network | IPv6Network, str]]) -> str:
    try:
        address = ip_address(neighbour)
    except ValueError:
        return ""
    return next((port for network, port in subnets if address in network), "")


class Held(Mapping[str, Sessions]):
    """The sessions of all devices, packed: both ends of a session are looked at soon after each other."""

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}

    def add(self, name: str, content: bytes) -> None:
        """Take in what `packed` made of a device's."""
        self._packed[name] = content

    def __getitem__(self, name: str) -> Sessions:
        return _opened(self._packed[name])

    def __contains__(self, name: object) -> bool:
        return name in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


def packed(sessions: Sessions) -> bytes:
    """The sessions of a device as few bytes."""
    return few_bytes(sessions)


@lru_cache(maxsize=_OPEN)
def _opened(content: bytes) -> Sessions:
    found: Sessions = value_of(content)
    return found


class Peer(NamedTuple):
    """One end of a session."""

    device: str
    key: Key


@dataclass(slots=True)
class Meeting:
    """All sessions of the folder.

    Attributes:
        owners: address -> who has it; `shared`: those that several have.
        alone: accords that one end has and no other.
    """

    sessions: Mapping[str, Sessions]
    groups: Mapping[str, str]
    fars: Mapping[str, Mapping[str, Far]]
    owners: dict[str, Sequence[str]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    alone: set[bytes] = field(default_factory=set)

    def meet(self) -> None:
        """Find out who has which address, and whose accords meet."""
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

    def doubtful(self) -> Iterator[Peer]:
        """The ends of sessions of which nothing says that both agree, but for those that are shut."""
        for name in sorted(self.sessions):
            each = self.sessions[name]
            if self.alone or self.shared or len(each.accords) < len(each.said):
                for key, said in each.said.items():
                    if said.enabled and not self._agreed(each, key):
                        yield Peer(name, key)

    def _agreed(self, sessions: Sessions, key: Key) -> bool:
        """Whether the one device that has the neighbour's address says the same of a session with the own one."""
        accord = sessions.accords.get(key)
        if accord is None or accord in self.alone:
            return False
        return not self.shared or not (key[1] in self.shared or _opposite(key[1]) in self.shared)

    def settled(self, device: str, vrf: str) -> bool:
        """Whether a device agrees with some neighbour in a routing instance."""
        each = self.sessions[device]
        return any(key[0] == vrf and self._agreed(each, key) for key in each.accords)

    def detects(self, device: str) -> bool:
        """Whether a device runs BFD on some session."""
        return any(said.bfd == "true" for said in self.sessions[device].said.values())

    def far(self, device: str, port: str) -> End | None:
        """The other end of a port's link where the folder holds it."""
        far = self.fars[device].get(port)
        return far.end if far is not None and far.known else None

    def other(self, peer: Peer) -> Peer | str | None:
        """The other end; the device that has it without naming the session; None where nobody has it."""
        vrf, neighbour = peer.key
        if far := self.far(peer.device, neighbour):  # unnumbered
            device, port = far
            if device not in self.sessions:
                return None
            return self._named(device, vrf, (port,)) or device
        devices = [each for each in self.owners.get(neighbour, ()) if each != peer.device]
        found = [self._end(peer, device) for device in devices]
        ends = [each for each in found if isinstance(each, Peer)]
        if len(ends) > 1:
            remote = self.sessions[peer.device].said[peer.key].remote
            ends.sort(key=lambda each: self.sessions[each.device].said[each.key].asn != remote)
        return ends[0] if ends else devices[0] if len(devices) == 1 else None

    def _end(self, peer: Peer, device: str) -> Peer | str:
        """The other end on the device that has the address; the device where it has none."""
        vrf, neighbour = peer.key
        mine = self.sessions[peer.device].addresses
        near = self.sessions[peer.device].near[peer.key]
        first = _opposite(neighbour)
        if first in mine and (found := self._named(device, vrf, (first,))):
            return found
        there = self.sessions[device]
        kin = sorted({key[1] for key in there.said if key[1] in mine and bool(there.near[key]) == bool(near)})
        kin = [each for each in kin if (":" in each) == (":" in neighbour)]
        found = self._named(device, vrf, kin)
        if found is None and near and (far := self.far(peer.device, near)) and far.device == device:
            found = self._named(device, vrf, (far.port,))  # this end by address, that end by its port
        return found or device

    def _named(self, device: str, vrf: str, neighbours: tuple[str, ...] | list[str]) -> Peer | None:
        said = self.sessions[device].said
        for neighbour in neighbours:
            if (vrf, neighbour) in said:
                return Peer(device, (vrf, neighbour))
        for key in said if neighbours else ():
            if key[1] in neighbours:
                return Peer(device, key)
        return None

    def taken(self, device: str, by: str) -> bool:
        """Whether a device takes sessions from another one's addresses without naming them."""
        ranges = self.sessions[device].listens
        return any(_within(address, each) for each in ranges for address in self.sessions[by].addresses)


def _within(address: str, network: str) -> bool:
    try:
        return ip_address(address) in ip_network(network, strict=False)
    except ValueError:
        return False


def session_findings(meeting: Meeting, devices: Mapping[str, Device]) -> Iterator[Finding]:
    """What the ends of all sessions do not agree on; those whose accords meet are not looked at."""
    pairs: list[tuple[Peer, Peer]] = []
    disagree: Counter[tuple[str, str]] = Counter()
    agree: set[tuple[str, str]] = set()
    for peer in meeting.doubtful():
        other = meeting.other(peer)
        if isinstance(other, Peer):
            said = meeting.sessions[peer.device].said[peer.key]
            its = meeting.sessions[other.device].said[other.key]
            if right := _expects(said.remote, its.asn, said.asn):
                agree.add((other.device, other.key[0]))
            else:
                disagree[other.device, other.key[0]] += 1
            if not right or _differ(said, its):
                pairs.append((peer, other))
        elif isinstance(other, str):
            yield from _one_sided(meeting, peer, other, devices)
        else:
            yield from _nobody(meeting, peer, devices)
    guilty = {
        at for at, times in disagree.items() if times > 1 and at not in agree and not meeting.settled(*at)
    }  # its own number is wrong, not what each neighbour says of it
    for device, vrf in sorted(guilty):
        yield _own_number(devices[device], vrf, disagree[device, vrf])
    told_of: set[frozenset[Peer]] = set()
    for peer, other in pairs:
        mine, its = (
            meeting.sessions[peer.device].said[peer.key],
            meeting.sessions[other.device].said[other.key],
        )
        if (other.device, other.key[0]) not in guilty and not _expects(mine.remote, its.asn, mine.asn):
            yield _wrong_number(devices, peer, other, mine, its)
        both = frozenset((peer, other))
        if both not in told_of:
            told_of.add(both)
            yield from _differences(devices, peer, other, mine, its, meeting.detects)


def _expects(remote: Value | None, asn: int | None, own: int | None) -> bool:
    """Whether the AS number that one end names is that of the other."""
    if remote is None or asn is None:
        return True
    if remote in ("internal", "external"):
        return own is None or (own == asn) == (remote == "internal")
    return remote == asn


def _called(peer: Peer) -> str:
    vrf, neighbour = peer.key
    return f"{peer.device}: neighbour {neighbour}" + (f" of VRF {vrf}" if vrf else "")


def _wrong_number(devices: Mapping[str, Device], peer: Peer, other: Peer, mine: Said, its: Said) -> Finding:
    message = (
        f"{_called(peer)} is to have AS {mine.remote}, {other.device} has AS {its.asn}: no session comes up"
    )
    at = [session_path(peer.key, leaf) for leaf in ("remote_asn", "remote_kind")]
    return told(
        SESSION, devices[peer.device], at, message, "session AS", remedy="Name the AS number of the far end."
    )


def _own_number(device: Device, vrf: str, times: int) -> Finding:
    asn = device.reading.facts.get(f"{scope_of(vrf)}bgp/asn", device.reading.facts.get("bgp/asn"))
    message = f"{device.name} has AS {asn}, and its {times} neighbours all name another: no session comes up"
    paths = (f"{scope_of(vrf)}bgp/asn", "bgp/asn")
    return told(SESSION, device, paths, message, "session AS", remedy="Give it the AS number that they name.")


def _one_sided(meeting: Meeting, peer: Peer, other: str, devices: Mapping[str, Device]) -> Iterator[Finding]:
    if not meeting.sessions[other].speaks or meeting.taken(other, peer.device):
        return
    vrf, neighbour = peer.key
    message = f"{other} has no session with {peer.device}, which has one with its {neighbour}"
    paths = [f"{scope_of(vrf)}bgp/asn", "bgp/asn", "bgp/router_id"]
    if near := meeting.far(peer.device, meeting.sessions[peer.device].near[peer.key]):
        paths = [f"interface[{near[1]}]/ipv6" if ":" in neighbour else f"interface[{near[1]}]/ipv4", *paths]
    remedy = "State the session at both ends, or take it away."
    joined = meeting.groups[other] == meeting.groups[peer.device]
    severity = (
        Severity.ERROR if joined else Severity.NOTE
    )  # else a device that is not here may have the address
    yield told(SESSION, devices[other], paths, message, "session one end", severity, remedy)


def _nobody(meeting: Meeting, peer: Peer, devices: Mapping[str, Device]) -> Iterator[Finding]:
    """A neighbour in the subnet of a link whose other end is here and has another address."""
    near = meeting.sessions[peer.device].near[peer.key]
    far = meeting.far(peer.device, near)
    if not far or far[0] not in meeting.sessions or peer.key[1] == near or peer.key[1] in meeting.owners:
        return
    facts = devices[far[0]].reading.facts
    family = "ipv6" if ":" in peer.key[1] else "ipv4"
    address = facts.get(f"interface[{far[1]}]/{family}")
    if address is None:
        return
    message = f"{_called(peer)} is on the link to {far[0]}, whose end ({far[1]}) has {address}"
    at = session_path(peer.key, "remote_asn")
    yield told(
        SESSION, devices[peer.device], at, message, "session address", remedy="Name the far end's address."
    )


def _differ(mine: Said, its: Said) -> bool:
    """Whether there is anything for `_differences` to tell."""
    return (
        not its.enabled
        or bool(mine.families and its.families and mine.families != its.families)
        or (mine.password, mine.ttl) != (its.password, its.ttl)
        or (mine.bfd == "true") != (its.bfd == "true")
        or (mine.timers != its.timers and None not in (*mine.timers, *its.timers))
    )


def _differences(
    devices: Mapping[str, Device],
    peer: Peer,
    other: Peer,
    mine: Said,
    its: Said,
    detects: Callable[[str], bool],
) -> Iterator[Finding]:
    """What two ends of a session state differently; `detects`: whether a device runs BFD on some session."""

    def finding(one: Peer, leaves: tuple[str, ...], what: str, group: str, severity: Severity) -> Finding:
        paths = [path for leaf in leaves for path in (session_path(one.key, leaf), f"bgp/{leaf}")]
        message = f"{_called(one)}: {what}"
        return told(SESSION, devices[one.device], paths, message, f"session {group}", severity, _ALIKE)

    if not its.enabled:
        yield finding(
            other, ("enabled",), f"the session is shut, not so at {peer.device}", "shut", Severity.NOTE
        )
        return
    if mine.families and its.families and mine.families != its.families:
        extra = _beyond(mine.families, its.families), _beyond(its.families, mine.families)
        one, lacking = (other, extra[0]) if extra[0] else (peer, extra[1])
        who = peer.device if one is other else other.device
        text = f"carries no {lacking}, which {who} offers: not negotiated"
        yield finding(one, ("families", "remote_asn"), text, "families", Severity.WARNING)
    for name, leaf, group in (
        ("password", "secret", "password"),
        ("ttl", "ttl_security_hops", "TTL security"),
    ):
        if getattr(mine, name) != getattr(its, name):
            one, who = (peer, other.device) if getattr(mine, name) else (other, peer.device)
            text = f"has {group}, {who} at the other end has none: no session comes up"
            yield finding(one, (leaf, "password", "remote_asn"), text, group, Severity.ERROR)
    if (mine.bfd == "true") != (its.bfd == "true"):
        one, who = (peer, other.device) if mine.bfd != "true" else (other, peer.device)
        text = f"runs no BFD, {who} at the other end does: failures are found by the hold time alone"
        severity = Severity.WARNING if detects(one.device) else Severity.NOTE  # its system may have none
        yield finding(one, ("bfd", "remote_asn"), text, "BFD", severity)
    if mine.timers != its.timers and None not in (*mine.timers, *its.timers):
        text = f"timers {_timers(mine)} s, {other.device} at the other end {_timers(its)} s: the shorter time counts"
        yield finding(peer, ("hold_s", "keepalive_s", "remote_asn"), text, "timers", Severity.WARNING)


_ALIKE = "Set both ends of the session alike."


def _timers(said: Said) -> str:
    return f"{said.timers[0]}/{said.timers[1]}"


def _beyond(one: Value, other: Value) -> str:
    return ", ".join(sorted(set(str(one).split(",")) - set(str(other).split(","))))
