"""All rules on a folder: each device is reduced to a digest, the digests meet, and what is odd is looked at again."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.model import Kind
from fabricc.audit.rules import alike, design, ends, lossless, names, sessions, unique
from fabricc.audit.rules.alike import Ballot
from fabricc.audit.rules.design import Designs
from fabricc.audit.rules.ends import Ends, EndSaid, Votes
from fabricc.audit.rules.proved import Asked, Proof
from fabricc.audit.rules.sheet import NOWHERE, fars_of, sheet
from fabricc.audit.rules.waist import CNP_DSCP, Models
from fabricc.base.values import dataclass
from fabricc.catalog.load import load_catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.audit.model import Device, Found, Tier
    from fabricc.audit.rules.sessions import Said, Sessions
    from fabricc.audit.rules.sheet import Far, Sheet
    from fabricc.audit.rules.unique import Owned
    from fabricc.proof.compare import Finding


class Examined(NamedTuple):
    """What an examination came to: what is wrong, and how far each invariant was answered."""

    findings: list[Finding]
    asked: list[Asked]


def findings(found: Found) -> list[Finding]:
    """What is wrong with a fabric, in order of files and lines; files are named as below the folder."""
    return examine(found).findings


def asked(found: Found) -> list[Asked]:
    """How far each invariant was answered: on how many switches proved, unproved, and not applicable."""
    return examine(found).asked


def examine(found: Found) -> Examined:
    """Look at every device once, hosts first, then at what several say together, then at what is odd again."""
    fars = fars_of(found)
    digests = Digests(Models(load_catalog()[0]))
    devices = sorted(found.devices.values(), key=lambda each: each.kind is Kind.SWITCH)
    told = [each for device in devices for each in digests.add(_sheet(found, device, fars))]
    told += digests.proof.findings()
    told += _of_links(found, digests)
    told += _of_sessions(found, digests, fars)
    told += unique.repeated(digests.owned, found.devices, groups_of(found))
    told += _of_rdma(found, digests, fars)
    told += digests.designs.notes(found.devices)
    told += design.ratios(digests.proof.switches, _tiers(found), found.devices)
    for name, expected in alike.odd_devices(digests.ballot).items():
        device = _sheet(found, found.devices[name], fars)
        for each in expected:
            told += alike.outliers(device, digests.sessions[name].near, each, found.devices[each.witness])
    return Examined(_few(told), digests.proof.asked())


@dataclass(slots=True)
class Digests:
    """What rules about several devices need of each.

    Attributes:
        protected: code point -> switches that protect it on every port with PFC; `lossless`: those with PFC at all.
        rdma, cnp: code points that hosts use for it -> how often they say so.
        like_ends, like_sessions: one object for all that say the same.
    """

    models: Models
    proof: Proof = field(default_factory=Proof)
    designs: Designs = field(default_factory=Designs)
    ends: dict[str, Ends] = field(default_factory=dict)
    votes: Votes = field(default_factory=Votes)
    sessions: dict[str, Sessions] = field(default_factory=dict)
    owned: dict[str, Owned] = field(default_factory=dict)
    ballot: Ballot = field(default_factory=Ballot)
    protected: Counter[int] = field(default_factory=Counter)
    lossless: dict[str, frozenset[int]] = field(default_factory=dict)
    rdma: Counter[int] = field(default_factory=Counter)
    cnp: Counter[int] = field(default_factory=Counter)
    like_ends: dict[EndSaid, EndSaid] = field(default_factory=dict)
    like_sessions: dict[Said, Said] = field(default_factory=dict)

    def add(self, device: Sheet) -> Iterator[Finding]:
        """Take a device in, hosts before switches; what is wrong with it alone."""
        name = device.name
        mine = self.ends[name] = ends.ends_of(device, self.like_ends)
        self.votes.add(device, mine)
        sessions_of = self.sessions[name] = sessions.sessions_of(device, self.like_sessions)
        self.owned[name] = unique.owned_by(device)
        self.ballot.add(name, alike.vote(device, sessions_of.near))
        if device.device.kind is Kind.HOST:
            self._add_host(device)
            return
        if (safe := lossless.protected(device)) is not None:
            self.lossless[name] = safe
            self.protected.update(safe)
        self.designs.add(device)
        yield from names.undefined(device)
        yield from lossless.port_findings(device)
        cnp = self.cnp.most_common(1)[0][0] if self.cnp else CNP_DSCP
        yield from self.proof.add(device, sessions_of, self.models, cnp)

    def _add_host(self, device: Sheet) -> None:
        for path, votes in (
            ("qos/rdma_dscp", self.rdma),
            ("nccl/dscp", self.rdma),
            ("qos/cnp_dscp", self.cnp),
        ):
            if isinstance(dscp := device.facts.get(path), int):
                votes[dscp] += 1


def _sheet(found: Found, device: Device, fars: Mapping[str, Mapping[str, Far]]) -> Sheet:
    return sheet(device, found.places.get(device.name, NOWHERE), fars[device.name])


def _tiers(found: Found) -> dict[str, Tier]:
    return {name: place.tier for name, place in found.places.items()}


def _of_links(found: Found, digests: Digests) -> Iterator[Finding]:
    tiers = _tiers(found)
    for link in found.links:
        yield from design.said_otherwise(link, found.devices)
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
    meeting = sessions.Meeting(digests.sessions, owners, groups_of(found), other)
    return sessions.session_findings(meeting, found.devices)


def _of_rdma(found: Found, digests: Digests, fars: Mapping[str, Mapping[str, Far]]) -> Iterator[Finding]:
    if wanted := rdma_dscp(digests):
        dscp, said_by = wanted
        for name, safe in digests.lossless.items():
            if dscp not in safe:
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
