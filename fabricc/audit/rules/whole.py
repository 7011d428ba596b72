"""All rules on a folder: each device is reduced to a digest, the digests meet, and what is odd is looked at again."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.model import Kind
from fabricc.audit.rules import alike, ends, lossless, names, sessions, unique
from fabricc.audit.rules.alike import Ballot
from fabricc.audit.rules.ends import Ends, EndSaid, Votes
from fabricc.audit.rules.proved import Asked, Proof
from fabricc.audit.rules.sheet import NOWHERE, fars_of, sheet
from fabricc.audit.rules.waist import CNP_DSCP, Models
from fabricc.base.values import dataclass
from fabricc.catalog.load import load_catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.audit.model import Device, Found
    from fabricc.audit.rules.sessions import Said, Sessions
    from fabricc.audit.rules.sheet import Far, Sheet
    from fabricc.audit.rules.unique import Owned
    from fabricc.proof.compare import Finding


@dataclass(slots=True)
class Digests:
    """What rules about several devices need of each."""

    ends: dict[str, Ends] = field(default_factory=dict)
    votes: Votes = field(default_factory=Votes)
    sessions: dict[str, Sessions] = field(default_factory=dict)
    owned: dict[str, Owned] = field(default_factory=dict)
    ballot: Ballot = field(default_factory=Ballot)
    protected: Counter[int] = field(default_factory=Counter)
    lossless: list[str] = field(default_factory=list)
    rdma: Counter[int] = field(default_factory=Counter)
    cnp: Counter[int] = field(default_factory=Counter)
    like_ends: dict[EndSaid, EndSaid] = field(default_factory=dict)
    like_sessions: dict[Said, Said] = field(default_factory=dict)

    def add(self, device: Sheet) -> Iterator[Finding]:
        """Take a device in; what is wrong with it alone."""
        name = device.name
        if device.device.kind is Kind.HOST:
            for path, votes in (
                ("qos/rdma_dscp", self.rdma),
                ("nccl/dscp", self.rdma),
                ("qos/cnp_dscp", self.cnp),
            ):
                if isinstance(dscp := device.facts.get(path), int):
                    votes[dscp] += 1
        mine = ends.ends_of(device, self.like_ends)
        self.ends[name] = mine
        self.votes.add(device, mine)
        self.sessions[name] = sessions.sessions_of(device, self.like_sessions)
        self.owned[name] = unique.owned_by(device)
        self.ballot.add(name, alike.vote(device, self.sessions[name].near))
        if device.device.kind is Kind.SWITCH:
            if safe := lossless.protected(device):
                self.lossless.append(name)
                self.protected.update(safe)
            yield from names.undefined(device)
            yield from lossless.port_findings(device)


def findings(found: Found) -> list[Finding]:
    """What is wrong with a fabric, in order of devices and lines; files are named as below the folder."""
    fars = fars_of(found)
    digests = Digests()
    told = [each for device in found.devices.values() for each in digests.add(_sheet(found, device, fars))]
    told += _proved(found, digests, fars).told
    told += _of_links(found, digests)
    told += _of_sessions(found, digests, fars)
    told += unique.repeated(digests.owned, found.devices, groups_of(found))
    told += _of_rdma(found, digests, fars)
    odd = alike.odd_devices(digests.ballot)
    for name, expected in odd.items():
        device = _sheet(found, found.devices[name], fars)
        for each in expected:
            told += alike.outliers(device, digests.sessions[name].near, each, found.devices[each.witness])
    return _few(told)


class Proved(NamedTuple):
    """The invariants, asked: what is wrong, and how far each was answered."""

    told: list[Finding]
    asked: list[Asked]


def asked(found: Found) -> list[Asked]:
    """How far each invariant was answered: on how many switches proved, unproved, and not applicable."""
    fars = fars_of(found)
    digests = Digests()
    for device in found.devices.values():
        deque(digests.add(_sheet(found, device, fars)), maxlen=0)
    return _proved(found, digests, fars).asked


def _proved(found: Found, digests: Digests, fars: Mapping[str, Mapping[str, Far]]) -> Proved:
    models = Models(load_catalog()[0])
    proof = Proof()
    cnp = digests.cnp.most_common(1)[0][0] if digests.cnp else CNP_DSCP
    told: list[Finding] = []
    for name, device in found.devices.items():
        if device.kind is Kind.SWITCH:
            told += proof.add(_sheet(found, device, fars), digests.sessions[name], models, cnp)
    told += proof.findings()
    return Proved(told, proof.asked())


def _sheet(found: Found, device: Device, fars: Mapping[str, Mapping[str, Far]]) -> Sheet:
    return sheet(device, found.places.get(device.name, NOWHERE), fars[device.name])


def _of_links(found: Found, digests: Digests) -> Iterator[Finding]:
    tiers = {name: place.tier for name, place in found.places.items()}
    for link in found.links:
        a = ends.side(link.a, link.b, found.devices, digests.ends, tiers)
        b = ends.side(link.b, link.a, found.devices, digests.ends, tiers)
        if a is not None and b is not None:
            yield from ends.end_findings(a, b, digests.votes)


def _of_sessions(found: Found, digests: Digests, fars: Mapping[str, Mapping[str, Far]]) -> Iterator[Finding]:
    owners: dict[str, list[str]] = {}
    for name, each in digests.sessions.items():
        for address in each.addresses:
            owners.setdefault(address, []).append(name)
    other = {
        (name, port): (far.end.device, far.end.port)
        for name, ports in fars.items()
        for port, far in ports.items()
        if far.known
    }
    return sessions.session_findings(
        sessions.Meeting(digests.sessions, owners, groups_of(found), other), found.devices
    )


def _of_rdma(found: Found, digests: Digests, fars: Mapping[str, Mapping[str, Far]]) -> Iterator[Finding]:
    if wanted := rdma_dscp(digests):
        dscp, said_by = wanted
        for name in digests.lossless:
            yield from lossless.rdma_findings(_sheet(found, found.devices[name], fars), dscp, said_by)


def groups_of(found: Found) -> dict[str, str]:
    """Device -> one of those that it is connected with by links, the same for all of them."""
    above = {name: name for name in found.devices}

    def root(name: str) -> str:
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    for link in found.links:
        if link.a.device in above and link.b.device in above:
            above[root(link.a.device)] = root(link.b.device)
    return {name: root(name) for name in above}


def rdma_dscp(digests: Digests) -> tuple[int, str] | None:
    """RDMA's code point and who says so: the hosts, else the switches by majority, 26 where they have it."""
    if digests.rdma:
        dscp, times = digests.rdma.most_common(1)[0]
        return dscp, f"as hosts say in {times:,} places"
    half = len(digests.lossless) / 2
    if digests.protected[26] > half:
        return 26, f"protected on {digests.protected[26]:,} of {len(digests.lossless):,} switches"
    most = digests.protected.most_common(2)
    if most and most[0][1] > half and (len(most) == 1 or most[1][1] < most[0][1]):
        return most[0][0], f"protected on {most[0][1]:,} of {len(digests.lossless):,} switches"
    return None


def _few(told: Iterable[Finding]) -> list[Finding]:
    """Each once, in order of files and lines; an outlier only where nothing else speaks of the line."""
    seen: dict[tuple[str, str, int, str], Finding] = {}
    known: set[tuple[str, int]] = set()
    for each in told:
        seen.setdefault((each.code, each.file, each.line, each.message), each)
        if each.code != alike.UNLIKE:
            known.add((each.file, each.line))
    kept = [
        each for each in seen.values() if each.code != alike.UNLIKE or (each.file, each.line) not in known
    ]
    return sorted(kept, key=lambda each: (each.file, each.line, each.code, each.message))
