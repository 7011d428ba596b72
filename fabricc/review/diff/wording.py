"""Sentences that every format of a review shares: the verdict, the impact, what to drain, the next command."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import format_share, plural, ranges
from fabricc.base.foreign.shell import shell_path
from fabricc.base.numbers import group_pairs
from fabricc.fabric.infiniband import PLATFORM
from fabricc.review.diff.model import OTHER_CLUSTER, SUBNET, SUBNETS, UNPROVED, Impact, host_count
from fabricc.review.diff.phrases import fold_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.review.diff.model import Fleet, Group, ModelFigure, ReplacedDevice, Review, SpecChange

NOUNS = {SUBNET: "subnet", "tor": "ToR", "spine": "spine", "core": "core", "host": "host"}
BOTH_ENDS = (
    "Apply both ends of every session in one window: a session stays down until both have the new ASNs."
)
_RACK = re.compile(r"(.*\bracks)\.([^.]+)")
_KEY_FIGURES = ("oversubscription", "headroom used", "uplinks left", "worst single")
UNKNOWN = "effect unknown, treated as a reload"
IMPACTS = {
    Impact.NONE: "no effect on traffic",
    Impact.HITLESS: "hitless",
    Impact.SESSION_RESET: "BGP sessions reset",
    Impact.TRAFFIC_LOSS: "traffic is lost",
    Impact.RELOAD: "reload or MMU reprogram",
}


def verdict_line(review: Review) -> str:
    """Return the first line: risk, devices, GPUs, renumbering."""
    if review.has_unknown_merge and not review.differs:
        return "the merge conflicts, so its device changes are unknown"
    if not review.differs:
        count, keys = len(review.spec_changes), {change.path for change in review.spec_changes}
        edits = f"{plural(count, 'value')} of the spec {'differs' if count == 1 else 'differ'}"
        quiet = (
            count and not review.model_figures and not any(each.path in keys for each in review.control_files)
        )
        tail = f"; {edits} without consequence" if quiet else ""
        lead = "HIGH risk, files of the tree change that no build writes; " if review.tree_is_altered else ""
        return f"{lead}{'; '.join(['no device changes, 0 numbers change', *other_changes(review)])}{tail}"
    moves = (review.removed, "leave"), (review.added, "join")
    renamed, boxes = len(review.renamed), len(review.replaced)
    parts = [
        f"{review.risk.upper()} risk",
        *unknown_effects(review),
        *(
            f"{_describe_fleet(fleet)} {verb}{'s' if fleet.count == 1 else ''}"
            for fleet, verb in moves
            if fleet.count
        ),
        *([f"{plural(renamed, 'device')} renamed"] if renamed else []),
        *([f"{plural(boxes, 'device')} replaced"] if boxes else []),
        f"{review.changed:,} of {_count_all(review)} {'changes' if review.changed == 1 else 'change'}",
        f"{describe_loss(review)} service while it is applied",
        describe_renumbering(review),
        *other_changes(review),
    ]
    return ", ".join(parts)


def describe_loss(review: Review) -> str:
    """Return which GPUs, and which hosts without any, lose service; a fabric without GPUs has hosts alone."""
    hosts = [f"{plural(len(review.other_hosts), 'host')} without GPUs"] if review.other_hosts else []
    gpus = (
        [] if hosts and not review.gpus_total else [f"{review.gpus_affected:,} of {review.gpus_total:,} GPUs"]
    )
    one = (len(review.other_hosts) if not gpus else review.gpus_affected if not hosts else 0) == 1
    return f"{' and '.join([*gpus, *hosts])} {'loses' if one else 'lose'}"


def _count_all(review: Review) -> str:
    """Return the number of devices; that of a fabric of InfiniBand includes the subnets."""
    subnets = any(figure.name.endswith("subnets") for figure in review.figures)
    return f"{review.devices:,} devices and subnets" if subnets else plural(review.devices, "device")


def unknown_effects(review: Review) -> list[str]:
    """Return how many lines of unknown effect change; one text for all, or none."""
    if not review.unknown_lines:
        return []
    devices = sum(len(g.devices) for g in review.groups if g.has_unknown_lines)
    lines = plural(len(review.unknown_lines), "line")
    return [f"{lines} that fabricc does not interpret change on {plural(devices, 'device')} (effect unknown)"]


def unknown_rows(review: Review) -> list[tuple[str, str]]:
    """Return each line of unknown effect, and how many devices have it."""
    return [(line, plural(count, "device")) for line, count in review.unknown_lines.items()]


def vouched_rows(review: Review) -> list[tuple[str, str]]:
    """Return each entry of the spec that vouches for changed lines, and its reason."""
    rows = []
    for each in review.vouched_lines:
        new = ", the entry comes with this change" if each.new else ""
        rows.append((each.line, f"{each.reason} ({plural(each.devices, 'device')}{new})"))
    return rows


def safeguard_rows(review: Review) -> list[str]:
    """Return the services and protections that end or become weaker."""
    return [f"{what}: {plural(count, 'device')}" for what, count in review.safeguards_lost.items()]


def other_changes(review: Review) -> list[str]:
    """Return everything besides devices that a reviewer must see: access, figures, control files, committed tree."""
    proved = _new_faults(review)
    codes = {each.code for each in review.proof_findings}
    unproved = [words for code, words in UNPROVED.items() if code in codes]
    errors = sum(each.severity is Severity.ERROR for each in proved)
    warnings = len(proved) - errors
    counts = [plural(count, noun) for count, noun in ((errors, "error"), (warnings, "warning")) if count]
    proof = f"the proof of the newer side has {' and '.join(counts)} that the older side lacks"
    figures, files = len(review.model_figures), sum(each.files for each in review.control_files)
    verb = "changes" if files == 1 else "change"
    keys = {change.path for change in review.spec_changes}
    counted = plural(files, "file")
    if any(each.path in keys for each in review.control_files):
        counted = "1 file or key" if files == 1 else f"{files:,} files and keys"
    roles = fold_names(list(dict.fromkeys(each.role for each in review.control_files)), 3)
    beside = sum(each.code == OTHER_CLUSTER for each in review.findings)
    others = "another cluster changes" if beside == 1 else f"{beside} other clusters change"
    failing = [tree.path for tree in review.committed_trees if not tree.passes]
    return [
        *(["who can log in changes"] if review.access_changes else []),
        *([f"these end or become weaker: {fold_names(list(review.safeguards_lost), 3)}"] if review.safeguards_lost
            else []),
        *unproved,
        *([proof] if counts else []),
        *([f"{plural(figures, 'catalog figure')} of models in use {'differs' if figures == 1 else 'differ'}"]
          if figures else []),
        *([f"{counted} that control{'s' if files == 1 else ''} a push or a review {verb} ({roles})"]
          if files else []),
        *([f"{others} and {'is' if beside == 1 else 'are'} not compared here"] if beside else []),
        *([f"the committed tree fails the check: {fold_names(failing, 3)}"] if failing else []),
    ]  # fmt: skip


def access_rows(review: Review) -> list[str]:
    """Return what changes about who can log in, a line each."""
    return [
        f"{what}: {plural(count, 'device')}" if count else f"{what}: no device is known to change"
        for what, count in review.access_changes.items()
    ]


def control_rows(review: Review) -> list[tuple[str, str]]:
    """Path and words of each changed file that decides something."""
    return [
        (
            each.path,
            f"{each.role}, {each.change}" + (f" ({plural(each.files, 'file')})" if each.files > 1 else ""),
        )
        for each in review.control_files
    ]


def tree_rows(review: Review) -> list[tuple[str, str]]:
    """Path and verdict of each committed tree."""
    return [
        (
            tree.path,
            "passes the check" if tree.passes else "fails the check: it is not a fresh build",
        )
        for tree in review.committed_trees
    ]


def figure_words(figure: ModelFigure) -> str:
    """Return a figure with its sources, and what it reaches."""
    old, new = (
        f"{value} ({source or 'no source'})" if value is not None else "absent"
        for value, source in ((figure.before, figure.source_before), (figure.after, figure.source_after))
    )
    return f"{old} → {new}; reaches {', '.join(figure.reach)}"


def _describe_fleet(fleet: Fleet) -> str:
    """Describe added or removed devices: `1 ToR and 2 hosts (16 GPUs)`."""
    kinds = [plural(len(fleet.names[kind]), noun) for kind, noun in NOUNS.items() if kind in fleet.names]
    gpus = f" ({plural(fleet.gpus, 'GPU')})" if fleet.gpus else ""
    return " and ".join(kinds) + gpus


def _new_faults(review: Review) -> list[Diagnostic]:
    """Return the faults that the proof and the rules find on the newer side alone."""
    return [each for each in review.proof_findings if each.code not in UNPROVED]


def key_figures(review: Review) -> str:
    """Return the figures that a reviewer looks for and that stay as they are; none if the files break the plan."""
    if _new_faults(review):
        return ""
    kept = [f for f in review.figures if not f.changed and f.after and f.name.startswith(_KEY_FIGURES)]
    return "; ".join(f"{figure.name}: {figure.after}" for figure in kept)


def describe_renumbering(review: Review) -> str:
    """Describe the renumbering; zero is included because a reviewer looks for it."""
    count = review.renumbering
    if not count.total:
        return "0 renumbered"
    stated = ((count.addresses, "address"), (count.asns, "ASN"), (count.ports, "port"))
    return " and ".join(plural(number, noun) for number, noun in stated if number) + " renumbered"


def impact_rows(review: Review) -> list[tuple[str, str]]:
    """Return what it does, as name and value."""
    count = review.renumbering
    rows = [("worst effect", UNKNOWN if _gravest_is_unknown(review.groups) else IMPACTS[review.impact])]
    if review.gpus_affected:
        where = f"{plural(len(review.drain_hosts), 'host')}{_describe_rails(review.rails_affected, ', ')}"
        step = f"; {review.gpus_per_step:,} at a time, device by device"
        if review.gpus_per_step == review.gpus_affected or _joint_changes(review):
            step = ""
        lost = f"{review.gpus_affected:,} of {review.gpus_total:,} ({where}){step}"
        rows.append(("GPUs that lose service", lost))
    elif review.gpus_total or not review.other_hosts:
        rows.append(("GPUs that lose service", f"0 of {review.gpus_total:,}"))
    if review.other_hosts:
        rows.append(("hosts without GPUs that lose service", f"{len(review.other_hosts):,}"))
    infiniband = next((each for each in review.figures if each.name == SUBNETS), None)
    if infiniband is not None:
        changed = sum(len(group.devices) for group in review.groups if group.kind == SUBNET)
        rows.append(("subnets with other files", f"{changed:,} of {infiniband.after or infiniband.before}"))
    if infiniband is None or review.sessions:
        rows.append(("BGP sessions that go down", f"{review.sessions:,}"))
    if infiniband is not None:
        numbers = f"LIDs, P_Keys and addresses: {count.addresses:,}; ports: {count.ports:,}"
    else:
        stated = ((count.addresses, "address"), (count.asns, "ASN"), (count.ports, "port"))
        numbers = ", ".join(plural(number, noun) for number, noun in stated)
    rows.append(("renumbered", numbers))
    rows.append(("devices", _count_devices(review)))
    if review.lock:
        gone = sum(line.startswith("-") for line in review.lock)
        rows.append(("lock", f"{plural(len(review.lock) - gone, 'line')} added, {gone} removed"))
    return rows


def _count_devices(review: Review) -> str:
    members = group_pairs((group.kind, name) for group in review.groups for name in group.devices)
    counts = Counter({kind: host_count(names) for kind, names in members.items()})
    verb = "changes" if sum(counts.values()) == 1 else "change"
    parts = [_count_kinds(counts, verb)] if counts else []
    for fleet, verb in ((review.added, "new"), (review.removed, "gone")):
        if fleet.count:
            kinds = {kind: len(names) for kind, names in fleet.names.items()}
            gpus = f" ({plural(fleet.gpus, 'GPU')})" if fleet.gpus else ""
            parts.append(_count_kinds(kinds, verb) + gpus)
    if review.replaced:
        parts.append(_count_kinds(Counter(box.kind for box in review.replaced), "replaced"))
    return "; ".join(parts) or "none change"


def _count_kinds(counts: Mapping[str, int], verb: str) -> str:
    counted = (plural(counts[kind], noun) for kind, noun in NOUNS.items() if counts.get(kind))
    return f"{', '.join(counted)} {verb}"


def _describe_rails(numbers: Sequence[int], between: str) -> str:
    """Return rails by number, "" if only NICs of further networks are affected."""
    return f"{between}rail{'s' if len(numbers) > 1 else ''} {ranges(numbers)}" if numbers else ""


def group_title(group: Group, review: Review) -> str:
    """Return a group in one line; what happens to traffic after a hitless change is in the findings."""
    noun = plural(len(group.devices), NOUNS[group.kind])
    platform = "" if group.kind == "host" else f" ({group.platform})"
    text = f"{noun}{platform}: {UNKNOWN if _gravest_is_unknown([group]) else IMPACTS[group.impact]}"
    if group.impact <= Impact.HITLESS < review.impact and _new_faults(review):
        text += " while it is applied"
    if group.gpus:
        text += f", {plural(group.gpus, 'GPU')}{_describe_rails(group.rails, ' on ')}"
    return text


def _gravest_is_unknown(groups: Sequence[Group]) -> bool:
    """Return whether nothing but lines of unknown effect counts as the gravest effect."""
    gravest = [line for g in groups for line in g.lines if line.verdict.impact is Impact.RELOAD]
    return bool(gravest) and all(line.statement.subject == "text" for line in gravest)


_OUTSIDE_ASN = "session[external]/remote_asn"


def drain_steps(review: Review) -> list[str]:
    """Return what to take out of service first, and in which order to apply."""
    steps: list[str] = []
    if review.drain_hosts:
        former = {box.name: box.former for box in review.replaced}
        hosts = fold_names([former.get(name, name) for name in review.drain_hosts], 6)
        text = f"Drain jobs from {plural(len(review.drain_hosts), 'host')} first: {hosts}."
        if review.planes_kept and _one_side(review.groups):
            text += f" Each rail keeps {review.planes_kept} of its {review.planes_kept + 1} ports."
        steps.append(text)
    if review.other_hosts:
        hosts = fold_names(review.other_hosts, 6)
        steps.append(f"Stop what uses {plural(len(review.other_hosts), 'host')} without GPUs first: {hosts}.")
    together = _joint_changes(review)
    steps += together
    for kind in () if together else ("spine", "core"):
        whole = [g for g in review.groups if g.kind == kind and _is_heavy(g) and not g.ports_only]
        devices = [name for group in whole for name in group.devices]
        if devices:
            left = f"; each has {format_share(review.spine_share)} of its ToRs' bandwidth"
            share = left if kind == "spine" and not _new_faults(review) else ""
            boxes = f"{plural(len(devices), kind)} one at a time"
            if whole[0].platform == PLATFORM:  # its switches have no configuration
                steps.append(f"Change the cables of the {boxes}{share}.")
            else:
                one = f"(`overrides: {{{devices[0]}: {{drain: true}}}}`){share}"
                steps.append(f"Apply the {boxes}, each drained first {one}.")
    tors = sum(len(g.devices) for g in review.groups if g.kind == "tor" and _is_heavy(g) and not g.ports_only)
    if tors > 1 and not together:
        most = f": at most {plural(review.gpus_per_step, 'GPU')} at once" if review.gpus_per_step else ""
        steps.append(f"Then apply the {tors:,} ToRs one at a time{most}.")
    if any(line.statement.subject == _OUTSIDE_ASN for group in review.groups for line in group.lines):
        steps.append(
            "Change the routers outside in the same window: a session stays down until both ends have its AS numbers."
        )
    steps += map(_describe_swap, review.replaced)
    if _new_faults(review):
        if review.differs:
            shown = "happens to traffic" if review.impact >= Impact.SESSION_RESET else "is wrong"
            steps.insert(0, f"Correct the new findings first: they show what {shown} afterwards.")
    elif not steps and review.sessions and not review.removed.count:
        steps.append("No drain is needed if devices change one at a time: the other paths continue.")
    elif not steps and review.differs and not review.removed.count:
        steps.append("No drain is needed: present traffic is not affected.")
    if review.removed.count:
        names = [name for names in review.removed.names.values() for name in names]
        steps.append(f"Take these out of service before they go: {fold_names(names, 6)}.")
        for old, new in find_renamed_racks(review.spec_changes):
            steps.append(
                f"If rack {new} is {old} under another name, write `moved: {{{old}: {new}}}`: no number changes."
            )
    return steps


def find_renamed_racks(changes: Iterable[SpecChange]) -> list[tuple[str, str]]:
    """Return racks that left with those that joined in the same place with as many hosts."""
    gone: list[tuple[str, str | None, str]] = []
    joined: list[tuple[str, str | None, str]] = []
    for change in changes:
        if match := _RACK.fullmatch(change.path):
            if change.after is None:
                gone.append((match[1], change.before, match[2]))
            elif change.before is None:
                joined.append((match[1], change.after, match[2]))
    pairs = []
    for place, count, old in gone:
        alike = [new for where, hosts, new in joined if (where, hosts) == (place, count)]
        if len(alike) == 1 and [(where, hosts) for where, hosts, _ in gone].count((place, count)) == 1:
            pairs.append((old, alike[0]))
    return pairs


def _describe_swap(box: ReplacedDevice) -> str:
    """Describe the exchange of a box."""
    host = box.kind == "host"
    serial = f" (serial {box.serial})" if box.serial else ""
    drain = "" if host else f" (`overrides: {{{box.former}: {{drain: true}}}}`)"
    files = f"hosts/{box.name}" if host else f"switches/{box.name}"
    other = f"{box.name}{serial}" if box.name != box.former else f"the new one{serial}"
    then = "apply" if host else "load"
    return (
        f"Replace {box.former}: drain it{drain}, swap the box for {other} on the same cables and ports, "
        f"{then} {files}, and look with `fabricc verify`."
    )


def _joint_changes(review: Review) -> list[str]:
    """Return changes that work only when both ends have them."""
    subjects = {line.statement.subject for group in review.groups for line in group.lines}
    steps = []
    if any(s.startswith("qos/dscp[") or s.endswith("]/pfc") for s in subjects):
        steps.append(
            "Apply to every switch and host in one window with RDMA stopped: while two devices disagree on "
            "classes or PFC, lossless traffic drops."
        )
    if "bgp/asn" in subjects:
        steps.append(BOTH_ENDS)
    return steps


def _is_heavy(group: Group) -> bool:
    return group.impact >= Impact.TRAFFIC_LOSS


def _one_side(groups: Iterable[Group]) -> bool:
    """Return whether all ToRs that lose service serve one NIC port."""
    tors = [name for group in groups if group.kind == "tor" and _is_heavy(group) for name in group.devices]
    return len({name[-1] for name in tors}) == 1 and not any(
        g.kind == "host" and _is_heavy(g) for g in groups
    )


def next_command(review: Review) -> str:
    """Return what to type next, "" for trees."""
    if not review.spec:
        return ""
    spec = shell_path(review.spec)
    if review.lock_stale:
        return f"fabricc build {spec} && git add {shell_path(_sibling_name(review.spec, review.lock_name))}"
    if not review.differs:
        return f"fabricc validate {spec}"
    return f"fabricc build {spec} --frozen"


def _sibling_name(spec: str, name: str) -> str:
    folder, slash, _ = spec.rpartition("/")
    return f"{folder}{slash}{name}"


LABELS = (
    "fabric:no-change", "fabric:not-compared", "fabric:access", "fabric:control-files", "risk:low", "risk:medium",
    "risk:high", "renumbers", "needs-drain", "removes-devices", "policy-change", "policy-violation",
)  # fmt: skip
"""Every label that a review can give, or the lack of one; a bot removes those of an earlier review."""


def review_labels(review: Review) -> list[str]:
    """Return labels for the pull request, out of `LABELS`."""
    found = ["fabric:no-change"] if review.harmless else []
    if review.has_unknown_merge:
        found.append("fabric:not-compared")
    if review.access_changes:
        found.append("fabric:access")
    if review.steering_files or review.trees_fail:
        found.append("fabric:control-files")
    if review.differs or review.risk != "none":
        found.append(f"risk:{review.risk}")
    if review.renumbering.total:
        found.append("renumbers")
    if review.drain_hosts or any(_is_heavy(group) for group in review.groups):
        found.append("needs-drain")
    if review.removed.count:
        found.append("removes-devices")
    policy_files = any(each.role == "review policy" for each in review.control_files)
    if policy_files or any(change.path.partition(".")[0] == "policy" for change in review.spec_changes):
        found.append("policy-change")
    if review.violations:
        found.append("policy-violation")
    return found


def comment_marker(subject: str) -> str:
    """Return the marker of the comment on a spec (or a cluster's tree), so that it is edited, not repeated."""
    plain = re.compile("[A-Za-z0-9_./-]+").fullmatch(subject) and "--" not in subject
    digest = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()
    return f"fabricc:diff:{subject if plain else f'sha256:{digest}'}"


def changed_fleets(review: Review) -> list[tuple[str, Sequence[str]]]:
    """Return added and removed devices, by heading."""
    found: list[tuple[str, Sequence[str]]] = []
    for fleet, verb in ((review.added, "new"), (review.removed, "gone")):
        for kind, names in fleet.names.items():
            found.append((f"{plural(len(names), NOUNS[kind])} {verb}", names))
    for what, pairs in (
        ("renamed", list(review.renamed)),
        ("replaced", [(box.former, box.name) for box in review.replaced]),
    ):
        if pairs:
            found.append(
                (f"{plural(len(pairs), 'device')} {what}", [_describe_change(*pair) for pair in pairs])
            )
    return found


def _describe_change(old: str, new: str) -> str:
    return old if old == new else f"{old} → {new}"
