"""Compare two sides: every device once, in worker processes, equal changes as one group, changes to access apart.

Access is accounts, keys, login servers, services and networks that may connect. The emitted text of a device is
compared as a unified diff without noise and without secrets.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from difflib import unified_diff
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass, shared_attributes
from fabricc.compiler.write.workers import spread_work, usable_cpus
from fabricc.fabric.vocabulary import STRUCTURE
from fabricc.front.spec.identities import kinds_of
from fabricc.proof.compare import MISMATCHES, mismatch_of
from fabricc.review.diff import model, tenant_changes, unread
from fabricc.review.diff.causes import find_causes
from fabricc.review.diff.closed_links import with_cut_rails
from fabricc.review.diff.compare import compare_views, with_application
from fabricc.review.diff.device_classes import derive_changes, device_classes
from fabricc.review.diff.fact_impact import gravest_impact, is_access, judge_statement, row_of
from fabricc.review.diff.former_names import RenamedSide, box_of, former_names, under_present_names
from fabricc.review.diff.sides import Side, SpecSide, figure_rows, parts_of
from fabricc.review.diff.view import DeviceView, mask_secrets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fabricc.back.nos.base import Application

_PIECE = 16
_INLINE = 64

_TIERS = (model.SUBNET, "tor", "spine", "core", "host")


@dataclass(frozen=True, slots=True)
class Context:
    """Inputs of a review in addition to the comparison; see `Review`."""

    spec: str = ""
    spec_changes: tuple[model.SpecChange, ...] = ()
    lock: tuple[str, ...] = ()
    lock_stale: bool = False
    lock_name: str = "fabricc.lock"
    findings: tuple[Diagnostic, ...] = ()
    model_figures: tuple[model.ModelFigure, ...] = ()
    control_files: tuple[model.ControlFile, ...] = ()
    committed_trees: tuple[model.TreeVerdict, ...] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    base: Side
    head: Side
    pieces: Sequence[Sequence[str]]

    def __call__(self, number: int) -> list[model.DeviceDiff]:
        found = (compare_device(self.base, self.head, name) for name in self.pieces[number])
        return [diff for diff in found if diff is not None]


def compare_device(base: Side, head: Side, name: str) -> model.DeviceDiff | None:
    """Return what changes on one device that both sides have; facts first, text only where the facts agree."""
    if head.same(base, name):
        return None
    before, after = base.view(name), head.view(name)
    vouched_lines = head.vouched_lines
    changes = unread.text_changes(after.nos, before.unread, after.unread, vouched_lines)
    found = compare_views(before, after, head.kinds, changes, base.kinds)
    # another release comes with an image, which boots with its configuration
    applied = after.nos in back_ends.list_names() and before.platform == after.platform
    if found is not None and not applied:
        return found
    files = base.files(name), head.files(name)
    if found is None:
        if not differ_in_text(*files):
            return None
        changes = unread.text_changes(after.nos, *unread.changed_text(after.nos, *files), vouched_lines)
        found = compare_views(before, after, head.kinds, changes, base.kinds)
    if found is None or not applied:
        return found
    return with_application(found, before, back_ends.plan_application(after.nos, *files))


def compare_texts(
    nos: str, before: Mapping[str, str], after: Mapping[str, str], vouched_lines: Collection[str] = ()
) -> list[unread.TextChange]:
    """Return the changed lines without a statement between two sets of files that a build writes."""
    old, new = (back_ends.load(nos).read(files) for files in (before, after))
    found = unread.text_changes(
        nos, unread.unread_lines(nos, before, old), unread.unread_lines(nos, after, new), vouched_lines
    )
    old_facts, new_facts = (
        {path: value for path, value in each.facts.items() if not path.startswith(STRUCTURE)}
        for each in (old, new)
    )
    if found or old_facts != new_facts or not differ_in_text(before, after):
        return found
    return unread.text_changes(nos, *unread.changed_text(nos, before, after), vouched_lines)


def compare_sides(base: Side, head: Side, context: Context, jobs: int | None = None) -> model.Review:
    """Compare everything."""
    base = under_present_names(base, head)
    named = former_names(base)
    boxes = _replaced_boxes(base, head, named)
    both = [name for name in head.kinds if name in base.kinds and name not in boxes]
    suspects = head.possible_changes(base)
    compared = both if suspects is None else [name for name in both if name in suspects]
    alike = device_classes(base, head) if suspects is None else {}
    followers = {name for others in alike.values() for name in others}
    totals = _Totals()
    diffs = _compare_devices(base, head, [name for name in compared if name not in followers], jobs)
    each: list[str] = []
    for first, others in alike.items():
        if first in diffs:
            follow = derive_changes(diffs[first], others, head)
            diffs.update({diff.name: diff for diff in follow or ()})
            each += others if follow is None else ()
    diffs.update(_compare_devices(base, head, each, jobs))
    diffs = with_cut_rails(head, diffs)
    ordered = [diffs[name] for name in both if name in diffs]
    totals.add(ordered)
    for name in boxes:
        totals.add_replaced(base.view(name))
    removed = _make_fleet(base, [name for name in base.kinds if name not in head.kinds])
    added = _make_fleet(head, [name for name in head.kinds if name not in base.kinds])
    cluster = head.cluster
    with_gpus = tuple(sorted({host for (host, _, _), gpus in totals.reach.items() if gpus}))
    groups = group_diffs(ordered, base, head, context.spec_changes)
    tenants, moves = _tenant_changes(base, head, totals)
    differs = bool(groups or added.count or removed.count or boxes)
    control = (
        *(each for each in context.control_files if each.role != model.BESIDE or not differs),
        *unread.steering_keys(context.spec_changes),
    )
    return model.Review(
        cluster=cluster.name or base.cluster.name,
        base=base.label,
        head=head.label,
        **shared_attributes(context, Context) | {"control_files": control},
        devices=len(both) + len(boxes) + added.count + removed.count,
        groups=groups,
        access_changes=access_changes(groups, context.spec_changes),
        safeguards_lost=unread.safeguards_lost(groups),
        unknown_lines=unread.unknown_lines(groups),
        vouched_lines=unread.find_vouched_lines(groups, base.vouched_lines, head.vouched_lines),
        added=added,
        removed=removed,
        renumbering=totals.renumbering,
        impact=max(totals.impact, _impact_of(context.findings, groups)),
        gpus_affected=model.affected_gpus(totals.reach),
        hosts_affected=len({host for host, _, _ in totals.reach}),
        rails_affected=tuple(sorted({rail for _, rail, network in totals.reach if not network})),
        drain_hosts=with_gpus,
        other_hosts=tuple(sorted({host for host, _, _ in totals.reach}.difference(with_gpus))),
        gpus_per_step=totals.step,
        gpus_total=cluster.gpus,
        sessions=len(totals.sessions),
        planes_kept=cluster.nic_ports - 1,
        spine_share=Fraction(1, cluster.spines) if cluster.spines else Fraction(0),
        figures=figure_rows(base, head),
        renamed=tuple((old, name) for name, old in named.items() if name not in boxes),
        replaced=tuple(boxes.values()),
        tenants=tenants,
        tenant_moves=moves,
    )


def _impact_of(findings: Iterable[Diagnostic], groups: Iterable[model.Group]) -> model.Impact:
    """Return the least effect of a change after which the configuration has these faults."""
    systems = {name: group.nos for group in groups for name in group.devices}
    faults = (d for d in findings if d.severity is Severity.ERROR and d.code.startswith(model.FAULTS))
    return max((_impact_of_fault(each, systems) for each in faults), default=model.Impact.NONE)


def _impact_of_fault(fault: Diagnostic, systems: Mapping[str, str]) -> model.Impact:
    """Return the effect of an error: of a fact that disturbs no traffic, such as a service, that of the fact."""
    found = mismatch_of(fault.message) if fault.code in MISMATCHES else None
    if found is not None and found[0] in systems:
        impact = gravest_impact(found[1], systems[found[0]])
        if impact <= model.Impact.HITLESS:
            return impact
    return model.Impact.TRAFFIC_LOSS


def _tenant_changes(base: Side, head: Side, totals: _Totals) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which tenants gain and lose GPUs, and the hosts that go from one to another.

    Trees of Ethernet do not name tenants.
    """
    old, new = parts_of(base).get(""), parts_of(head).get("")
    if isinstance(old, RenamedSide):
        old = old.side
    if isinstance(old, SpecSide) and isinstance(new, SpecSide):
        sides = old.fabric, new.fabric, kinds_of(new.compiled.spec).tenants
        return tenant_changes.describe_tenants(
            *sides, totals.reach, len(totals.sessions)
        ), tenant_changes.find_moves(*sides)
    if old is None or new is None:
        return (), ()
    return tenant_changes.describe_partitions(old, new), tenant_changes.find_partition_moves(old, new)


def _replaced_boxes(base: Side, head: Side, named: Mapping[str, str]) -> dict[str, model.ReplacedDevice]:
    """Return devices that are another box than on the older side."""
    found: dict[str, model.ReplacedDevice] = {}
    for name, kind in head.kinds.items():
        box = box_of(head, name)
        if box is None or name not in base.kinds:
            continue
        if name in named or (box.name == name and box != box_of(base, name)):
            found[name] = model.ReplacedDevice(name, box.name, kind, box.serial)
    return found


def _compare_devices(
    base: Side, head: Side, names: Sequence[str], jobs: int | None
) -> dict[str, model.DeviceDiff]:
    """Return the changes of these devices; worker processes compare large numbers."""
    workers = 1 if len(names) <= _INLINE else jobs or usable_cpus()
    size = max(_PIECE, len(names) // 8000)
    pieces = [names[at : at + size] for at in range(0, len(names), size)]
    found = spread_work(workers, len(pieces), _Work(base, head, pieces))
    return {diff.name: diff for _, diffs in found for diff in diffs}


@dataclass(slots=True)
class _Totals:
    impact: model.Impact = model.Impact.NONE
    renumbering: model.Renumbering = field(default_factory=model.Renumbering)
    reach: dict[model.Rail, Fraction] = field(default_factory=dict)
    sessions: set[model.Link] = field(default_factory=set)
    step: int = 0

    def add_replaced(self, view: DeviceView) -> None:
        """Add a device that is replaced by another box: everything behind it is out of service meanwhile."""
        reach = view.reach()
        self.impact = model.Impact.RELOAD
        self.reach.update(reach)
        self.step = max(self.step, model.affected_gpus(reach))

    def add(self, diffs: Iterable[model.DeviceDiff]) -> None:
        for diff in diffs:
            self.impact = max(self.impact, diff.impact)
            self.renumbering.add(diff.renumbering)
            self.reach.update(diff.reach)
            self.step = max(self.step, model.affected_gpus(diff.reach))
            self.sessions |= diff.sessions


def _make_fleet(side: Side, names: Sequence[str]) -> model.Fleet:
    kinds = group_pairs((side.kinds[name], name) for name in _devices_once(names))
    gpus = model.whole_gpus(side.gpus_of(name) for name in kinds.get("host", ()))
    return model.Fleet({kind: tuple(members) for kind, members in kinds.items()}, gpus)


def _devices_once(names: Sequence[str]) -> list[str]:
    """The names, a host that is there with several networks once: by the part of the rails where that is among them."""
    found: dict[str, str] = {}
    for name in names:
        own = name.partition(" (")[0]
        if name == own or own not in found:
            found[own] = name
    return list(found.values())


def group_diffs(
    diffs: Sequence[model.DeviceDiff], base: Side, head: Side, spec_changes: Sequence[model.SpecChange]
) -> tuple[model.Group, ...]:
    """Return groups by kind, platform and statements, ordered by impact, then tier, then size."""
    members = group_pairs(
        ((diff.kind, diff.platform, diff.impact, diff.ports_only, frozenset(diff.counts)), diff)
        for diff in diffs
    )
    groups = [_make_group(found, base, head, spec_changes) for found in members.values()]
    return tuple(sorted(groups, key=lambda g: (-g.impact, _TIERS.index(g.kind), -len(g.devices), g.devices)))


def _make_group(
    diffs: Sequence[model.DeviceDiff], base: Side, head: Side, spec_changes: Sequence[model.SpecChange]
) -> model.Group:
    first = diffs[0]
    counts: Counter[model.Statement] = Counter()
    reach: dict[model.Rail, Fraction] = {}
    sessions: set[model.Link] = set()
    for diff in diffs:
        counts.update(diff.counts)
        reach.update(diff.reach)
        sessions |= diff.sessions
    nos = model.vocabulary_name(first.kind, first.platform)
    lines = [
        model.Line(statement, count, _statement_verdict(statement, nos), first.examples.get(statement, ""))
        for statement, count in counts.items()
    ]
    lines.sort(key=_line_order)
    devices = tuple(diff.name for diff in diffs)
    subjects = {line.statement.subject for line in lines}
    return model.Group(
        kind=first.kind,
        platform=first.platform,
        devices=devices,
        lines=tuple(lines),
        impact=first.impact,
        gpus=model.affected_gpus(reach),
        hosts=len({host for host, _, _ in reach}),
        rails=tuple(sorted({rail for _, rail, network in reach if not network})),
        sessions=len(sessions),
        ports_only=first.ports_only,
        files=file_diffs(base.files(first.name), head.files(first.name)),
        causes=find_causes(first.kind, nos, frozenset(devices), subjects, spec_changes),
        application=max(filter(None, (diff.application for diff in diffs)), key=_step_count, default=None),
    )


def _step_count(application: Application) -> int:
    return application.limit_s


def _statement_verdict(statement: model.Statement, nos: str) -> model.Verdict:
    return judge_statement(statement.subject, statement.direction or statement.op, nos)


def _line_order(line: model.Line) -> tuple[object, ...]:
    statement = line.statement
    return (-line.verdict.impact, not statement.subject.startswith(("device/", "link[")), statement.subject,
            statement.op, statement.before or "", statement.after or "")  # fmt: skip


_SPEC = (
    "management.users",
    "management.access",
    "management.tacacs",
    "management.radius",
    "management.snmp",
    "management.telemetry",
)
_PLACES = ("location", "contact")
_OPERATIONS = {"~": "changed", "+": "new", "-": "gone"}


def access_changes(groups: Sequence[model.Group], changes: Sequence[model.SpecChange]) -> dict[str, int]:
    """Return what changes about who can log in or change a device -> how many devices it reaches.

    Args:
        groups: devices on which the same changes.
        changes: values of the spec that differ; they count where no device is known to have them.
    """
    counts: dict[str, int] = {}
    ways: dict[str, set[str]] = {}
    for group in groups:
        for concern, operations in _access_operations((line.statement for line in group.lines), group.nos):
            ways.setdefault(concern, set()).update(operations)
            counts[concern] = counts.get(concern, 0) + len(group.devices)
    found = {_describe_concern(concern, ways[concern]): count for concern, count in counts.items()}
    stated = [each.path for each in changes if _is_access_path(each.path)]
    return found or dict.fromkeys((f"{path} of the spec" for path in stated), 0)


def describe_access(statements: Iterable[model.Statement], nos: str) -> tuple[str, ...]:
    """Return what statements change about who can log in to a device or change it."""
    return tuple(_describe_concern(*each) for each in _access_operations(statements, nos))


def _access_operations(statements: Iterable[model.Statement], nos: str) -> list[tuple[str, set[str]]]:
    """Return each concern of access that statements change, in order, and the operations on it."""
    found: dict[str, set[str]] = {}
    for each in statements:
        if is_access(each.subject, nos):
            found.setdefault(row_of(each.subject, nos).concern or each.subject, set()).add(each.op)
    return sorted(found.items())


def _describe_concern(concern: str, operations: set[str]) -> str:
    return f"{concern}, {_OPERATIONS[_merge_operations(operations)]}"


def _is_access_path(path: str) -> bool:
    return path.startswith(_SPEC) and not path.endswith(_PLACES)


def _merge_operations(operations: set[str]) -> str:
    """Return the operation of a concern: several together are a change."""
    return next(iter(operations)) if len(operations) == 1 else "~"


_COMMENT = re.compile(r"\s*([#!].*)?$")
_CONTEXT = 2


def file_diffs(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[model.FileDiff, ...]:
    """Diffs of every file that differs in more than comments and blank lines."""
    found = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path, ""), after.get(path, "")
        if old != new and (
            path not in before or path not in after or _stated_lines(old) != _stated_lines(new)
        ):
            found.append(_file_diff(path, old.splitlines(), new.splitlines()))
    return tuple(found)


def differ_in_text(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Return whether files with equal facts differ in more than comments, blank lines and line order."""
    if before.keys() != after.keys():
        return True
    return any(
        text != after[path] and Counter(_stated_lines(text)) != Counter(_stated_lines(after[path]))
        for path, text in before.items()
    )


def _stated_lines(text: str) -> list[str]:
    return [line.rstrip().rstrip(",") for line in text.splitlines() if not _COMMENT.match(line)]


def _file_diff(path: str, old: list[str], new: list[str]) -> model.FileDiff:
    first = _common_lines(old, new)
    last = _common_lines(old[first:][::-1], new[first:][::-1])
    start = max(0, first - _CONTEXT)
    old_part = old[start : min(len(old), len(old) - last + _CONTEXT)]
    new_part = new[start : min(len(new), len(new) - last + _CONTEXT)]
    added = removed = 0
    lines = []
    for line in unified_diff(old_part, new_part, "", "", "", "", _CONTEXT, ""):
        if line.startswith(("---", "+++")) and len(line.strip()) == 3:
            continue
        added += line.startswith("+")
        removed += line.startswith("-")
        lines.append(_renumber_hunk(line, start) if line.startswith("@@") else mask_secrets(line))
    return model.FileDiff(path, "\n".join(lines), added, removed)


def _common_lines(first: list[str], second: list[str]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def _renumber_hunk(hunk: str, start: int) -> str:
    """Return the hunk's head with line numbers of the whole file."""
    return re.sub(r"([-+])(\d+)", lambda m: f"{m[1]}{int(m[2]) + start}", hunk) if start else hunk
