"""Run all rules on a folder: reduce each device to a digest, compare the digests, and examine deviations again."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fabricc.audit.model import Evidence, FoundFabric, Link, fars_of, neighbors_of, unlinked_fabric
from fabricc.audit.places import network_of_fact, networks_by_switch, switch_parts
from fabricc.audit.rules import invariant_rules
from fabricc.audit.rules.invariant_rules import Designs, Proof, ProvedSwitch, RuleProgress
from fabricc.audit.rules.invariant_rules import prove_switch as prove
from fabricc.audit.rules.switch_views import CNP_DSCP, Models
from fabricc.back.nos.qos_defaults import RDMA_DSCP
from fabricc.base.values import dataclass
from fabricc.catalog.load import load_catalog
from fabricc.compiler.write.workers import spread_work
from fabricc.facts.statement import (
    NO_PLAN,
    NOWHERE,
    Device,
    Expectation,
    Kind,
    LinkPeer,
    Place,
    Statement,
    Tier,
    read_statement,
)
from fabricc.rules import consensus, duplicates, links, lossless, sessions
from fabricc.rules.answers import TopicResult, account_topics, unchecked_topics
from fabricc.rules.consensus import Expected, VoteTable
from fabricc.rules.findings import finding_at, without_repeats
from fabricc.rules.outliers import UNLIKE, AbsentSetting, find_outliers
from fabricc.rules.overlaps import subnets_of
from fabricc.rules.records import Subnets, Summary, Votes
from fabricc.rules.registry import run_fabric_rules, run_host_rules, run_switch_rules
from fabricc.rules.rule import HOSTS, Input, Switches
from fabricc.rules.session_pairs import SessionTable, session_findings
from fabricc.rules.summary import summarize

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from fabricc.proof.compare import Finding
    from fabricc.rules.links import Ends
    from fabricc.rules.lossless import HostPriorities


_FEWEST = 16
"""Devices that a worker reads before it returns results; shared statements are sent once."""
_PIECES = 4000

Item = TypeVar("Item")
Result = TypeVar("Result")


class RuleResults(NamedTuple):
    """The findings, how far each invariant and topic was answered, and of each device the topics not checked."""

    findings: list[Finding]
    progress: list[RuleProgress]
    accounts: list[TopicResult]
    unchecked: Mapping[str, tuple[tuple[str, str], ...]]


def find_all(found: FoundFabric, *, jobs: int = 1) -> list[Finding]:
    """Return the findings about a fabric in order of files and lines; files are below the folder."""
    return examine_fabric(found, jobs=jobs).findings


def invariant_progress(found: FoundFabric) -> list[RuleProgress]:
    """Return the progress of each invariant: on how many switches proved, unproved, and not applicable."""
    return examine_fabric(found).progress


def examine_fabric(
    found: FoundFabric, *, jobs: int = 1, progress: Callable[[str, int, int], None] | None = None
) -> RuleResults:
    """Examine every device once, hosts first, then compare devices, then examine the odd ones again.

    Args:
        found: the folder.
        jobs: worker processes.
        progress: as of `audit`.

    Raises:
        EmitError: a worker died.
    """
    fars = fars_of(found)
    models = Models(load_catalog()[0])
    for device in found.devices.values():
        if device.kind is Kind.SWITCH:
            models.of(device)  # once, for all workers
    digests = Digests()
    reported: list[Finding] = []
    for kind in (Kind.HOST, Kind.SWITCH):
        devices = [device for device in found.devices.values() if device.kind is kind]
        cnp = digests.cnp.most_common(1)[0][0] if digests.cnp else CNP_DSCP
        expected = lossless.expect_of_hosts(digests.priorities)
        work = partial(_digest_device, found=found, fars=fars, models=models, cnp=cnp, expected=expected)
        for number, (device, digest) in enumerate(
            zip(devices, _map_items(jobs, devices, work), strict=True), 1
        ):
            reported += digest.findings
            digests.add(device, found.places.get(device.name, NOWHERE), fars[device.name], digest)
            if progress:
                progress(f"{_MANY[kind]} looked at", number, len(devices))
    reported += digests.proof.findings(found.devices)
    reported += _of_links(found, digests)
    reported += _of_sessions(found, digests, fars)
    reported += duplicates.report_repeated(digests.owned, found.devices, groups_of(found))
    for each in _of_rdma(found, digests, fars, jobs):
        reported += each
    reported += digests.designs.notes(found.devices)
    reported += invariant_rules.report_unlinked(found.devices, found.links)
    reported += (
        () if digests.proof.lossless or digests.lossless else invariant_rules.report_lossy(found.devices)
    )
    reported += invariant_rules.report_ratios(digests.proof.switches, _tiers_of(found), found.devices)
    for each in _collect_outliers(found, digests, fars, jobs):
        reported += each
    few = _deduplicate(reported)
    accounts = account_topics(digests.proof.answers, Counter(each.code for each in few))
    return RuleResults(few, digests.proof.rule_progress(), accounts, digests.unchecked)


_MANY = {Kind.HOST: "hosts", Kind.SWITCH: "switches"}


class Digest(NamedTuple):
    """The summary of a device made by the worker that read it.

    Attributes:
        findings: what is wrong with it alone.
        safe: code points that PFC protects on every port with PFC; None without such ports.
        vote, mixed: see `consensus.vote_of`.
        designs: designs that it shows; `points`: purpose, code point and network of those that a host states.
        priorities: of the NICs of a host.
        summary: what of a switch is compared with others; `subnets`: of its ports.
    """

    findings: list[Finding]
    ends: Ends
    sessions: bytes
    owned: duplicates.UniqueValues
    vote: consensus.Vote
    mixed: bool
    safe: frozenset[int] | None = None
    designs: tuple[tuple[str, str], ...] = ()
    points: tuple[tuple[str, int, str], ...] = ()
    priorities: HostPriorities | None = None
    proved: ProvedSwitch | None = None
    summary: Summary | None = None
    subnets: Subnets = Subnets()


def _digest_device(
    device: Device,
    *,
    found: FoundFabric,
    fars: Mapping[str, Mapping[str, LinkPeer]],
    models: Models,
    cnp: int,
    expected: Expectation,
) -> Digest:
    one = _statement(found, device, fars, expected)
    mine = sessions.sessions_of(one)
    digest = Digest(
        [],
        links.ends_of(one),
        sessions.pack_sessions(mine),
        duplicates.unique_values_of(one),
        *consensus.vote_of(one, mine.near),
    )
    if device.kind is Kind.HOST:
        points = ((path, one.rest.get(path), network_of_fact(device, path)) for path in _POINTS)
        return digest._replace(
            findings=[*run_host_rules(one)],
            points=tuple([(p, dscp, n) for p, dscp, n in points if isinstance(dscp, int)]),
            priorities=lossless.host_priorities(one),
        )
    proved = prove(one, mine, models, cnp)
    wrong = [*run_switch_rules(one, mine), *proved.findings]
    return digest._replace(
        findings=wrong, safe=lossless.protected_code_points(one), designs=invariant_rules.designs_of(one),
        proved=proved._replace(findings=[]), summary=summarize(one, mine), subnets=subnets_of(one),
    )  # fmt: skip


_POINTS = (*lossless.RDMA_POINTS, "qos/cnp_dscp")


def _map_items(jobs: int, items: Sequence[Item], work: Callable[[Item], Result]) -> Iterator[Result]:
    """Yield the result of each item, in their order."""
    size = max(_FEWEST, -(-len(items) // _PIECES))
    pieces = [items[at : at + size] for at in range(0, len(items), size)]
    done: dict[int, list[Result]] = {}
    following = 0
    for number, results in spread_work(jobs, len(pieces), lambda n: [work(item) for item in pieces[n]]):
        done[number] = results
        while following in done:
            yield from done.pop(following)
            following += 1


@dataclass(slots=True)
class Digests:
    """Input of rules about several devices.

    Attributes:
        lossless: switch with PFC -> the code points that it protects on every port with PFC.
        rdma: network -> code points that its hosts use for RDMA -> how many do; `cnp`: the same of all, for
            notifications; `priorities`: those that the NICs of hosts have.
        like: one object for all that have addresses at the same paths.
        summaries: switch -> what of it is compared with others; `subnets`: switch -> those of its ports.
    """

    proof: Proof = field(default_factory=Proof)
    designs: Designs = field(default_factory=Designs)
    ends: dict[str, Ends] = field(default_factory=dict)
    votes: Votes = field(default_factory=Votes)
    sessions: sessions.PackedSessions = field(default_factory=sessions.PackedSessions)
    owned: dict[str, duplicates.UniqueValues] = field(default_factory=dict)
    ballot: VoteTable = field(default_factory=VoteTable)
    lossless: dict[str, frozenset[int]] = field(default_factory=dict)
    rdma: dict[str, Counter[int]] = field(default_factory=dict)
    cnp: Counter[int] = field(default_factory=Counter)
    priorities: set[HostPriorities] = field(default_factory=set)
    like: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    summaries: dict[str, Summary] = field(default_factory=dict)
    subnets: dict[str, Subnets] = field(default_factory=dict)
    unchecked: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def add(self, device: Device, place: Place, fars: Mapping[str, LinkPeer], digest: Digest) -> None:
        """Add a device, hosts before switches."""
        name = device.name
        self.ends[name] = digest.ends
        self.votes.add(place.tier, fars, digest.ends.values)
        self.sessions.add(name, digest.sessions)
        paths = digest.owned.paths
        digest.owned.paths = self.like.setdefault(paths, paths)
        self.owned[name] = digest.owned
        self.ballot.add(name, digest.vote, mixed=digest.mixed)
        for path, dscp, network in digest.points:
            (self.rdma.setdefault(network, Counter()) if path in lossless.RDMA_POINTS else self.cnp)[
                dscp
            ] += 1
        if digest.priorities is not None:
            self.priorities.add(digest.priorities)
        if digest.proved is None:
            if not any(far.known for far in fars.values()):
                self.unchecked[name] = ((HOSTS, Input.LINKS.value),)
            return
        if digest.safe is not None:
            self.lossless[name] = digest.safe
        self.designs.add(name, digest.designs)
        self.proof.add(device, digest.proved)
        self.unchecked[name] = unchecked_topics(digest.proved.answers)
        ports = digest.subnets.ports
        self.subnets[name] = digest.subnets._replace(ports=self.like.setdefault(ports, ports))
        if digest.summary is not None:
            self.summaries[name] = digest.summary


def _statement(
    found: FoundFabric,
    device: Device,
    fars: Mapping[str, Mapping[str, LinkPeer]],
    expected: Expectation = NO_PLAN,
) -> Statement:
    return read_statement(device, found.places.get(device.name, NOWHERE), fars[device.name], expected)


def _tiers_of(found: FoundFabric) -> dict[str, Tier]:
    return {name: place.tier for name, place in found.places.items()}


def _of_links(found: FoundFabric, digests: Digests) -> Iterator[Finding]:
    tiers = _tiers_of(found)
    for link in found.links:
        yield from invariant_rules.find_contradictions(link, found.devices)
        a = links.side_of(link.a, link.b, found.devices, digests.ends, tiers)
        b = links.side_of(link.b, link.a, found.devices, digests.ends, tiers)
        if a is not None and b is not None and not _is_doubtful(link):
            yield from links.end_findings(a, b, digests.votes)


def _is_doubtful(link: Link) -> bool:
    """Return whether nothing but a common subnet shows a link that a description contradicts."""
    return link.evidence == (Evidence.SUBNET,) and bool(link.against)


def _of_sessions(
    found: FoundFabric, digests: Digests, fars: Mapping[str, Mapping[str, LinkPeer]]
) -> Iterator[Finding]:
    meeting = SessionTable(digests.sessions, groups_of(found), fars)
    meeting.match_sessions()
    yield from session_findings(meeting, found.devices)
    policies = {each.name: digests.proof.policies[each.policy] for each in digests.proof.switches}
    owners, linked = meeting.owners, neighbors_of(found)
    switches = Switches(
        digests.summaries,
        lambda name: linked.get(name, ()),
        lambda address: owners.get(address, ()),
        policies.get,
        subnets=lambda: digests.subnets,
    )
    for each in run_fabric_rules(switches):
        code, name, paths, message, group, severity, remedy, word = each
        yield finding_at(code, found.devices[name], paths, message, group, severity, remedy, word=word)


def _of_rdma(
    found: FoundFabric, digests: Digests, fars: Mapping[str, Mapping[str, LinkPeer]], jobs: int
) -> Iterator[list[Finding]]:
    wanted = rdma_by_switch(found, digests)

    def lossy(name: str) -> list[Finding]:
        return list(lossless.rdma_findings(_statement(found, found.devices[name], fars), *wanted[name]))

    odd = [name for name, safe in digests.lossless.items() if name in wanted and wanted[name][0] not in safe]
    yield from _map_items(jobs, odd, lossy)


def _collect_outliers(
    found: FoundFabric, digests: Digests, fars: Mapping[str, Mapping[str, LinkPeer]], jobs: int
) -> Iterator[list[Finding]]:
    def find_outliers_of(odd: tuple[str, list[Expected]]) -> list[Finding]:
        name, expected = odd
        device, near = _statement(found, found.devices[name], fars), digests.sessions[name].near
        return [
            one for each in expected for one in find_outliers(device, near, each, found.devices[each.witness])
        ]

    yield from _map_items(jobs, list(consensus.odd_devices(digests.ballot).items()), find_outliers_of)


def groups_of(found: FoundFabric) -> dict[str, str]:
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
    together = [*unlinked_fabric(found.devices, found.links)]
    for name in together:
        above[root(name)] = root(together[0])
    return {name: root(name) for name in above}


def rdma_by_switch(found: FoundFabric, digests: Digests) -> dict[str, tuple[int, str]]:
    """Return switch -> RDMA's code point and its source; switches for which nothing shows it are left out.

    The source is the hosts of its network. Without hosts it is the majority of the switches, but a network that no link
    joins to the others may have its own.
    """
    if digests.rdma:
        stated = {name: counts.most_common(1)[0] for name, counts in digests.rdma.items()}
        networks = networks_by_switch(found) if len({dscp for dscp, _ in stated.values()}) > 1 else {}
        most = max(stated, key=lambda name: stated[name][1])
        return {
            name: (dscp, f"as hosts state in {times:,} places")
            for name in digests.lossless
            for dscp, times in (stated[networks.get(name, most)],)
            if networks.get(name, most) in stated
        }
    usual = usual_code_point(digests.lossless.values())
    chosen = {} if usual is None else dict.fromkeys(digests.lossless, usual)
    for part in switch_parts(found):
        own = {digests.lossless[name] for name in part if name in digests.lossless}
        tiers = {found.places[name].tier for name in part if name in digests.lossless}
        if len(own) == 1 and len(tiers) > 1 and (alone := usual_code_point(own)) is not None:
            chosen.update(dict.fromkeys(part & digests.lossless.keys(), alone))
    return chosen


def usual_code_point(protected: Collection[frozenset[int]]) -> tuple[int, str] | None:
    """Return the code point that most switches protect, first the usual one of RDMA, and on how many; else None."""
    counts = Counter(dscp for each in protected for dscp in each)
    half = len(protected) / 2
    most = counts.most_common(2)
    if counts[RDMA_DSCP] > half:
        dscp = RDMA_DSCP
    elif most and most[0][1] > half and (len(most) == 1 or most[1][1] < most[0][1]):
        dscp = most[0][0]
    else:
        return None
    return dscp, f"protected on {counts[dscp]:,} of {len(protected):,} switches"


def _deduplicate(reported: Iterable[Finding]) -> list[Finding]:
    """Return each once, in order of files and lines; an outlier only if no other finding is about its line."""
    seen: dict[tuple[str, str, int, str], Finding] = {}
    known: set[tuple[str, int]] = set()
    for each in without_repeats(reported):
        seen.setdefault((each.code, each.file, each.line, each.message), each)
        if each.code != UNLIKE:
            known.add((each.file, each.line))
    kept = [
        each
        for each in seen.values()
        if each.code != UNLIKE or (each.file, each.line) not in known or isinstance(each, AbsentSetting)
    ]
    return sorted(kept, key=lambda each: (each.file, each.line, each.code, each.message))
