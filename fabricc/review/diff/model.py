"""Values of a comparison of two fabrics: statements about devices, groups of equal ones, and the whole review."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fabricc.base.diagnostics import RULE_CODES, Diagnostic, Position, Severity
from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass
from fabricc.fabric.infiniband import PLATFORM

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.back.nos.base import Application
    from fabricc.proof.compare import Finding

CONFLICT, LOCK_LOST, OTHER_CLUSTER, TEMPLATES = "FAB9033", "FAB9037", "FAB9039", "FAB9055"
FAULTS = ("FAB6", "FAB7", *RULE_CODES)
"""Beginnings of the codes of the proof and of the rules."""
UNPROVED = {
    LOCK_LOST: "the lock lacks numbers of the older side",
    TEMPLATES: "templates of your own change: their effect on the devices is unknown",
}
"""Codes of findings that raise the risk without a proof -> what they mean for a reviewer."""
_PROOF = (*FAULTS, "FAB3031", *UNPROVED)
"""Beginnings of the codes of the proof, of the rules, of drains that leave too little, and of `UNPROVED`."""
TREE = "committed tree"
"""The role of a built tree in the repository."""
BESIDE = "files for jobs and acceptance"
"""The role of files of a tree that belong to no device; they count where no device changes, as most follow from one."""
SUBNET = "subnet"
"""The kind of a subnet of InfiniBand, with the files of its manager; switches there have no files."""
SUBNETS = "subnets"
"""The figure of a plan that only InfiniBand has."""
Rail = tuple[str, int, str]
"""A host, the number of one of its rails or NICs, and the further network that it is in, "" for the rails."""
Link = tuple[str, str, int, str]
"""A BGP session, equal from both ends: both devices in order, ordinal of the link, transport."""
ClosedLink = tuple[str, str, int]
"""A link between switches, equal from both ends: both devices in order, and its ordinal."""

_QUEUE = re.compile(r"\bqueue \d+")
Reported = TypeVar("Reported", "Finding", Diagnostic)


def find_new_faults(found: Iterable[Reported], earlier: Iterable[Reported]) -> list[Reported]:
    """Return the findings that the older side does not have; the same fault of another queue is not new."""
    found, earlier = list(found), list(earlier)
    same = {_fault_of(each) for each in earlier}
    left = Counter(_without_queue(each) for each in {_fault_of(each): each for each in earlier}.values())
    left.subtract(_without_queue(each) for each in found if _fault_of(each) in same)
    new = []
    for each in found:
        if _fault_of(each) in same:
            continue
        left[_without_queue(each)] -= 1
        if left[_without_queue(each)] < 0:
            new.append(each)
    return new


def _fault_of(finding: Finding | Diagnostic) -> tuple[str, str]:
    """Return code and message of a finding without the number of others like it."""
    return finding.code, finding.message.partition(" (and ")[0]


def _without_queue(finding: Finding | Diagnostic) -> tuple[str, str]:
    code, message = _fault_of(finding)
    return code, _QUEUE.sub("queue", message)


class Impact(IntEnum):
    """The effect of a change on traffic, ascending."""

    NONE = 0
    HITLESS = 1
    SESSION_RESET = 2
    TRAFFIC_LOSS = 3
    RELOAD = 4  # of the device or of its buffer configuration; either takes all its ports down

    @property
    def label(self) -> str:
        """Return the spelling of the rule table, policies and JSON."""
        return self.name.lower().replace("_", "-")


class Statement(NamedTuple):
    """A change without its device; equal on every device with the same change.

    Attributes:
        subject: fact path; interfaces are named by their role: `interface[host]/mtu`, `link[up]`, `session[up]`.
        op: `~` changed, `+` new, `-` gone.
        before, after: None without a value; both None if every device has its own values.
        direction: the input of the impact: `op`, or which way the value goes; see `fact_impact.py`.
    """

    subject: str
    op: str
    before: str | None
    after: str | None
    direction: str = ""


class Verdict(NamedTuple):
    """The impact of a statement with its reason and source (`assumed` if undocumented).

    `down`: links or the BGP process go down, and sessions with them. `beyond`: the loss is outside the device, whether
    it is drained or not.
    """

    impact: Impact
    why: str
    source: str
    down: bool
    beyond: bool


@dataclass(slots=True)
class Renumbering:
    """Counts of changed numbers of things that stay; ports are counted on switches."""

    addresses: int = 0
    asns: int = 0
    ports: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.addresses + self.asns + self.ports

    def add(self, other: Renumbering) -> None:
        """Add the counts of another."""
        self.addresses += other.addresses
        self.asns += other.asns
        self.ports += other.ports


@dataclass(frozen=True, slots=True)
class DeviceDiff:
    """The changes of one device that both sides have.

    Attributes:
        kind: `subnet`, `tor`, `spine`, `core` or `host`.
        platform: NOS and release, of the new side.
        counts: statement -> how often: on how many ports, queues or sessions.
        examples: statement -> one occurrence in full, where the statement leaves values out.
        reach: rails that lose service when the change is applied -> GPUs behind each.
        sessions: sessions that go down.
        closed: links between switches that stay out of service after the change.
        ports_only: True when only ports, not the whole device, lose service.
        application: how the system applies it, where that matters beyond the statements.
    """

    name: str
    kind: str
    platform: str
    counts: Mapping[Statement, int]
    examples: Mapping[Statement, str]
    impact: Impact
    renumbering: Renumbering
    reach: Mapping[Rail, Fraction] = field(default_factory=dict)
    sessions: frozenset[Link] = frozenset()
    closed: frozenset[ClosedLink] = frozenset()
    ports_only: bool = False
    application: Application | None = None


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The unified diff of one file, secrets masked, and how many lines it adds and removes."""

    path: str
    text: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Line:
    """A statement in a group: how often in all, its verdict, and an example from the first device."""

    statement: Statement
    count: int
    verdict: Verdict
    example: str


@dataclass(frozen=True, slots=True)
class Group:
    """Devices on which the same changes.

    Attributes:
        lines: gravest first.
        files: diffs of the first device, which stands for all.
        gpus, hosts: behind these devices, when they lose service.
        rails: their numbers, from 0.
        causes: dotted paths in the spec.
        application: of the devices' ways to apply it, the one that may take longest.
    """

    kind: str
    platform: str
    devices: tuple[str, ...]
    lines: tuple[Line, ...]
    impact: Impact
    gpus: int
    hosts: int
    rails: tuple[int, ...]
    sessions: int
    ports_only: bool
    files: tuple[FileDiff, ...] = ()
    causes: tuple[str, ...] = ()
    application: Application | None = None

    @property
    def nos(self) -> str:
        """The operating system of the switches, `host` for hosts: the vocabulary that `lines` are in."""
        return vocabulary_name(self.kind, self.platform)

    @property
    def has_unknown_lines(self) -> bool:
        """Return whether lines change that fabricc does not interpret."""
        return any(line.statement.subject == "text" for line in self.lines)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Devices that only one side has: by kind, their names in the fabric's order."""

    names: Mapping[str, tuple[str, ...]]
    gpus: int

    @property
    def count(self) -> int:
        """All devices."""
        return sum(len(names) for names in self.names.values())


class ReplacedDevice(NamedTuple):
    """A device that is another box than before, by its name and the old one's.

    `kind` is `tor`, `spine`, `core` or `host`, `serial` the number of the new one, or "".
    """

    name: str
    former: str
    kind: str
    serial: str


@dataclass(frozen=True, slots=True)
class SpecChange:
    """A value of the spec that differs: where, and from what to what; None for absent."""

    path: str
    before: str | None
    after: str | None
    position: Position | None


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the plan on both sides, as text; None where a side does not have it."""

    name: str
    before: str | None
    after: str | None

    @property
    def changed(self) -> bool:
        """Return whether the sides differ."""
        return self.before != self.after


class ModelFigure(NamedTuple):
    """A figure of a catalog model that differs: its values and sources on both sides, and the devices it reaches.

    A value is None, and its source "", where a side does not have the figure.
    """

    model: str
    figure: str
    before: str | None
    source_before: str
    after: str | None
    source_after: str
    reach: tuple[str, ...]


class ControlFile(NamedTuple):
    """A changed file, or key of the spec, that decides what a push or a review does.

    Attributes:
        path: below the top of the repository, or in the spec.
        role: what it decides, such as `access file` or `CI`.
        change: `added`, `changed` or `removed`.
        files: how many, where the path is a folder.
    """

    path: str
    role: str
    change: str
    files: int = 1


class VouchedLine(NamedTuple):
    """An entry of the spec that vouches for changed configuration lines.

    Attributes:
        line: the line, with `*` for any text.
        reason: why it changes neither traffic nor access, in the words of the spec.
        devices: how many have changed lines of it.
        new: whether the older side does not have the entry.
    """

    line: str
    reason: str
    devices: int
    new: bool


class TreeVerdict(NamedTuple):
    """The result of `check` for the tree of the newer revision: its path, and the first findings if it fails."""

    path: str
    passes: bool
    findings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Review:
    """Everything a reviewer needs.

    Attributes:
        base, head: the compared sides, in words; `spec`: the new spec's path, "" for trees.
        devices: number of devices of both sides together.
        gpus_affected, hosts_affected, rails_affected: those that lose service during the change.
        gpus_per_step: the most that lose service when devices are applied one at a time.
        gpus_total: GPUs of the new side.
        drain_hosts: hosts with GPUs that lose service, in the order of their names; `other_hosts`: those without GPUs.
        planes_kept: NIC ports of a rail that keep service when one loses it.
        spine_share: part of a ToR's bandwidth upwards that one spine carries.
        lock_stale: whether the lock file lacks what this spec needs.
        violations: policy findings; `findings`: those of the new plan that the old one lacks.
        renamed: devices that have another name and are the same: former and present name.
        replaced: devices that are another box in the place of one.
        model_figures: figures of catalog models in use that differ.
        control_files: changed files that control a push or a review.
        committed_trees: verdicts on the trees in the newer revision; none without revisions.
        access_changes: changes of logins, in words: kind of fact -> devices.
        safeguards_lost: services and protections that end or become weaker -> devices.
        unknown_lines: changed lines that fabricc does not interpret, with `+` or `-` -> devices.
        vouched_lines: entries of the spec that vouch for changed lines.
        tenants: which tenants gain and lose GPUs, in words; `tenant_moves`: hosts that go from one to another.
        lock: removed (`-`) and added (`+`) lock lines; `lock_name`: file name of the lock.
    """

    cluster: str
    base: str
    head: str
    spec: str
    devices: int
    groups: tuple[Group, ...]
    added: Fleet
    removed: Fleet
    renumbering: Renumbering
    impact: Impact
    gpus_affected: int
    hosts_affected: int
    rails_affected: tuple[int, ...]
    drain_hosts: tuple[str, ...]
    other_hosts: tuple[str, ...]
    gpus_per_step: int
    gpus_total: int
    sessions: int
    planes_kept: int
    spine_share: Fraction
    figures: tuple[Figure, ...]
    spec_changes: tuple[SpecChange, ...]
    lock: tuple[str, ...]
    lock_stale: bool = False
    lock_name: str = "fabricc.lock"
    findings: tuple[Diagnostic, ...] = ()
    violations: tuple[Diagnostic, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    replaced: tuple[ReplacedDevice, ...] = ()
    model_figures: tuple[ModelFigure, ...] = ()
    control_files: tuple[ControlFile, ...] = ()
    committed_trees: tuple[TreeVerdict, ...] = ()
    access_changes: Mapping[str, int] = field(default_factory=dict)
    safeguards_lost: Mapping[str, int] = field(default_factory=dict)
    unknown_lines: Mapping[str, int] = field(default_factory=dict)
    vouched_lines: tuple[VouchedLine, ...] = ()
    tenants: tuple[str, ...] = ()
    tenant_moves: tuple[str, ...] = ()

    @property
    def changed(self) -> int:
        """Devices that change, come, go or are exchanged."""
        fleets = self.added.count + self.removed.count + len(self.replaced)
        return sum(len(group.devices) for group in self.groups) + fleets

    @property
    def differs(self) -> bool:
        """Return whether anything would be applied; a spec edit without consequence does not count."""
        return self.changed > 0

    @property
    def risk(self) -> str:
        """`none`, `low`, `medium` or `high`."""
        proof = {d.severity for d in self.proof_findings}
        if self.tree_is_altered:
            return "high"
        if not self.differs and not proof:
            return "medium" if self.access_changes else "none"
        if self.impact >= Impact.TRAFFIC_LOSS or self.renumbering.total or self.removed.count:
            return "high"
        if Severity.ERROR in proof or any(each.code == TEMPLATES for each in self.proof_findings):
            return "high"
        newly_vouched = any(each.new for each in self.vouched_lines)
        weaker = self.impact is Impact.SESSION_RESET or self.access_changes or self.safeguards_lost
        return "medium" if weaker or proof or newly_vouched else "low"

    @property
    def proof_findings(self) -> tuple[Diagnostic, ...]:
        """The errors and warnings of the proof that only the newer side has; each raises the risk."""
        return tuple(
            d for d in self.findings if d.code.startswith(_PROOF) and d.severity is not Severity.NOTE
        )

    @property
    def steering_files(self) -> tuple[ControlFile, ...]:
        """The control files, without a committed tree that is proved: each honest change of a spec has one.

        A tree that is removed is not proved.
        """
        if self.trees_fail:
            return self.control_files
        return tuple(each for each in self.control_files if each.role != TREE or each.change == "removed")

    @property
    def trees_fail(self) -> bool:
        """Return whether `check` rejects a committed tree."""
        return not all(tree.passes for tree in self.committed_trees)

    @property
    def tree_is_altered(self) -> bool:
        """Return whether files of a committed tree change that no build writes, so that a push does something else."""
        return self.trees_fail and any(file.role == TREE for file in self.control_files)

    @property
    def has_unknown_merge(self) -> bool:
        """Return whether files of the spec conflict, so that the result of the merge is unknown."""
        return any(each.code == CONFLICT and each.severity is Severity.ERROR for each in self.findings)

    @property
    def harmless(self) -> bool:
        """Return whether nothing changes that a reviewer must see: device, access, control file, figure, failing tree.

        Another cluster that changes is to be seen, too, since this review does not compare it, and so is an error.
        """
        if any(each.severity is Severity.ERROR for each in self.findings):
            return False
        others = any(each.code == OTHER_CLUSTER for each in self.findings)
        beside = self.access_changes, self.control_files, self.model_figures, self.proof_findings, others
        return not self.differs and not any(beside) and not self.trees_fail


def vocabulary_name(kind: str, platform: str) -> str:
    """Return the name of the vocabulary of a device; that of InfiniBand has its hosts as well."""
    system = platform.partition(" ")[0]
    return "host" if kind == "host" and system != PLATFORM else system


def whole_gpus(gpus: Iterable[Fraction]) -> int:
    """Return the sum, with a part of a GPU counted as one; equal denominators are added as integers."""
    parts: Counter[int] = Counter()
    for share in gpus:
        parts[share.denominator] += share.numerator
    return -(-sum(Fraction(number, of) for of, number in parts.items()) // 1)


def affected_gpus(reach: Mapping[Rail, Fraction]) -> int:
    """Return how many GPUs lose service, each once although it is behind NICs of several networks.

    NIC number n of a network in which a NIC serves g GPUs is that of the GPUs from n * g on.
    """
    if not any(network for _, _, network in reach):
        return whole_gpus(reach.values())
    spans = group_pairs(
        (host, (number * gpus, (number + 1) * gpus)) for (host, number, _), gpus in reach.items()
    )
    return whole_gpus(map(_union_length, spans.values()))


def _union_length(spans: Iterable[tuple[Fraction, Fraction]]) -> Fraction:
    """Return the length of the union of some spans."""
    total = end = Fraction(0)
    for first, last in sorted(spans):
        total += max(Fraction(0), last - max(first, end))
        end = max(end, last)
    return total


def host_count(names: Iterable[str]) -> int:
    """Return how many hosts there are; `NAME (NETWORK)` is the part of a host in a further network."""
    return len({name.partition(" (")[0] for name in names})
