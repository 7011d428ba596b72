"""The sections `priorities` and `congestion` as typed values, with their rules and the weights of traffic classes.

Weights are shares of what strict classes leave, for Ethernet queues and for virtual lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.front.spec.document import Assumptions, Findings, join_words
from fabricc.front.spec.model import Congestion, EcnThresholds, Priority, TrimmingRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


CNP = "cnp"
REST = "default"
CODE_POINTS = 64
DCQCN = "dcqcn"
PFC_ONLY = "pfc-only"
"""No marks on lossless queues, as Meta runs its 400G RoCE fabric since DCQCN was switched off (SIGCOMM 2024)."""
THRESHOLD_KEYS = ("min_kb", "max_kb", "max_percent")
KB = 1000


def build_priorities(
    raw: Mapping[str, Mapping[str, Any]], findings: Findings, assumptions: Assumptions, congestion: Congestion
) -> tuple[Priority, ...]:
    """Return the classes sorted by name, with `default` added when no class takes the remaining code points."""
    classes = [_read_priority(name, raw[name]) for name in sorted(raw)]
    _check_code_points(classes, findings)
    rest = [each for each in classes if not each.dscps and not each.lossless]
    if not rest and not any(each.name == REST for each in classes):
        classes.append(Priority(REST, (), False, False, None, None, None))
        classes.sort(key=lambda each: each.name)
        assumptions.add_default({}, "priorities", REST)
    _check_rest(classes, rest, findings)
    _check_priorities(classes, findings)
    _check_congestion_control(classes, congestion, findings)
    _check_trimming(classes, congestion.trimming, findings)
    _check_scheduling(classes, findings)
    return tuple(classes)


def default_rdma_class(priorities: Iterable[Priority]) -> str:
    """Return the class of the RDMA of hosts that name none, or "" when the classes leave it open.

    It is the lossless class with the lowest priority; without one the only weighted class with a code point.
    """
    lossless = [each for each in priorities if each.lossless]
    if lossless:
        return min(lossless, key=effective_priority).name
    named = [each.name for each in priorities if each.dscps and not each.strict and each.name != CNP]
    return named[0] if len(named) == 1 else ""


def default_network_class(priorities: Sequence[Priority]) -> str:
    """Return the class of the RDMA in a further network; without a lossless class only a marked one is taken."""
    if any(each.lossless for each in priorities):
        return default_rdma_class(priorities)
    return default_rdma_class([each for each in priorities if each.ecn])


def effective_priority(each: Priority) -> int:
    """Return the priority a class gets: the one it states, else its lowest code point over 8, else 0."""
    if each.priority is not None:
        return each.priority
    return min(each.dscps) >> 3 if each.dscps else 0


def _read_priority(name: str, raw: Mapping[str, Any]) -> Priority:
    dscp, sends = raw.get("dscp", []), raw.get("sends")
    dscps = tuple(sorted(set(dscp))) if isinstance(dscp, list) else (dscp,)
    unsent = () if sends is None else tuple(point for point in dscps if sends is False or point != sends)
    own, weight, ecn = (raw.get(key) for key in ("priority", "weight_percent", "ecn"))
    sent = None if sends is False else sends
    return Priority(name, dscps, raw["lossless"], raw["strict"], own, weight, ecn, sent, unsent)


def _check_code_points(classes: list[Priority], findings: Findings) -> None:
    owner: dict[int, str] = {}
    free = [str(point) for point in range(CODE_POINTS) if all(point not in each.dscps for each in classes)]
    for each in classes:
        for point in each.dscps:
            if point in owner:
                near = sorted(free, key=lambda other, to=point: abs(int(other) - to))[:3]  # type: ignore[misc]
                message = f"code point {point} belongs to '{owner[point]}' and to '{each.name}'"
                help_ = f"A packet has one class. Nearest free: {join_words(near)}."
                findings.error("FAB2010", message, "priorities", each.name, "dscp", help=help_)
            owner.setdefault(point, each.name)
        if each.sends is not None and each.sends not in each.dscps:
            message = f"'{each.name}' sends with code point {each.sends}, which is none of the class"
            help_ = (
                f"One of `dscp`: {join_words(list(map(str, each.dscps)))}."
                if each.dscps
                else "The class of the rest has no code point of its own: leave `sends` out."
            )
            findings.error("FAB2170", message, "priorities", each.name, "sends", help=help_)
        if each.lossless and not each.dscps:
            message = f"the lossless class '{each.name}' has no code point"
            help_ = f"Add `dscp: {'26' if '26' in free else free[0] if free else 26}`."
            findings.error("FAB2012", message, "priorities", each.name, help=help_)


def _check_rest(classes: list[Priority], rest: list[Priority], findings: Findings) -> None:
    if len(rest) > 1:
        keep = next((each.name for each in rest if each.name == REST), rest[0].name)
        for each in rest:
            if each.name != keep:
                message = f"'{each.name}' and '{keep}' both take the remaining code points"
                help_ = f"Give '{each.name}' a `dscp`."
                findings.error("FAB2011", message, "priorities", each.name, help=help_)
    if not rest and any(each.name == REST and each.dscps for each in classes):
        message = f"'{REST}' has code points of its own, so no class takes the rest"
        help_ = "Remove its `dscp`, or give it another name."
        findings.error("FAB2011", message, "priorities", REST, help=help_)
    if len({point for each in classes for point in each.dscps}) == CODE_POINTS:
        message = "all 64 code points are classified: none is left for other traffic"
        help_ = "Leave out code point 0 (best effort) at least."
        findings.error("FAB2011", message, "priorities", help=help_)


def _check_priorities(classes: list[Priority], findings: Findings) -> None:
    taken: dict[int, str] = {}
    free = [str(p) for p in range(7) if p not in {effective_priority(each) for each in classes}]
    # Stated priorities are placed first, so that a computed one is the one to move.
    for each in sorted(
        classes, key=lambda each: (each.priority is None, not each.dscps and each.name != REST)
    ):
        priority = effective_priority(each)
        if priority in taken:
            computed = " (its lowest code point over 8)" if each.dscps else " (rest)"
            how, key = (computed, []) if each.priority is None else ("", ["priority"])
            message = f"'{each.name}' gets priority {priority}{how}, which '{taken[priority]}' has"
            help_ = f"Add `priority: {free[0]}`. Free: {join_words(free)}." if free else "Merge two classes."
            findings.error("FAB2013", message, "priorities", each.name, *key, help=help_)
        taken.setdefault(priority, each.name)
        if priority == 7 and each.name != CNP:
            message = f"'{each.name}' uses priority 7, which switches reserve for network control"
            help_ = f"Add `priority: {free[-1]}`." if free else ""
            findings.warning("FAB2017", message, "priorities", each.name, help=help_)


def build_congestion(raw: Mapping[str, Any], findings: Findings) -> Congestion:
    """Return the congestion control; thresholds are a preset, or three numbers in ascending order, or neither."""
    ecn: Mapping[str, Any] = raw.get("ecn", {})
    profile, preset = raw["profile"], ecn.get("preset")
    numbers = [key for key in THRESHOLD_KEYS if key in ecn]
    missing = [key for key in THRESHOLD_KEYS if key not in ecn]
    path = ("congestion", "ecn")
    if ecn and profile == PFC_ONLY:
        message = f"thresholds have no effect: the profile {PFC_ONLY} marks nothing"
        help_ = f"Remove `ecn`, or choose another profile than {PFC_ONLY}."
        findings.error("FAB2022", message, *path, help=help_)
    if preset is not None and numbers:
        message = f"both a preset and {join_words(numbers, 'and')}"
        findings.error("FAB2023", message, *path, numbers[0], help="Keep the preset, or the three numbers.")
    elif numbers and missing:
        message = f"{join_words(numbers, 'and')} without {join_words(missing, 'and')}"
        findings.error("FAB2023", message, *path, help="Give all three, or a preset.")
    elif numbers and ecn["min_kb"] >= ecn["max_kb"]:
        message = f"min_kb {ecn['min_kb']} is not below max_kb {ecn['max_kb']}"
        help_ = f"The smallest max_kb that fits is {ecn['min_kb'] + 1}."
        findings.error("FAB2023", message, *path, "min_kb", help=help_)
    elif numbers and preset is None:
        stated = EcnThresholds(KB * ecn["min_kb"], KB * ecn["max_kb"], ecn["max_percent"])
        return Congestion(profile, None, stated, _read_trimming(raw), raw["link_retry"])
    return Congestion(profile, preset, None, _read_trimming(raw), raw["link_retry"])


def _read_trimming(raw: Mapping[str, Any]) -> TrimmingRequest | None:
    request: Mapping[str, Any] | None = raw.get("trimming")
    return TrimmingRequest(request["class"], request["size_bytes"]) if request is not None else None


def _check_trimming(classes: list[Priority], request: TrimmingRequest | None, findings: Findings) -> None:
    """The class of trimmed packets exists, cannot be paused or marked, and another class has packets to trim."""
    if request is None:
        return
    path = ("congestion", "trimming", "class")
    carrier = next((each for each in classes if each.name == request.class_name), None)
    if carrier is None:
        names = join_words([f"'{each.name}'" for each in classes if each.dscps and not each.lossless], "and")
        message = f"no class '{request.class_name}' for trimmed packets"
        findings.error("FAB2024", message, *path, help=f"Lossy classes with a code point: {names or 'none'}.")
        return
    wrong = (
        "is lossless: PFC could stop notifications of a loss" if carrier.lossless
        else "has no code point to give to trimmed packets" if not carrier.dscps
        else "is marked, so no traffic is left to slow down" if carrier.ecn
        else ""
    )  # fmt: skip
    if wrong:
        remedy = "Name a lossy class with a `dscp` and without `ecn: true`."
        findings.error("FAB2024", f"'{carrier.name}' {wrong}", *path, help=remedy)
    elif all(each is carrier or each.lossless or each.strict for each in classes):
        message = f" except '{carrier.name}' every class is lossless or strict: no packet would be trimmed"
        findings.error("FAB2024", message, *path, help="Remove `trimming`, or make a class lossy.")


def _check_congestion_control(classes: list[Priority], congestion: Congestion, findings: Findings) -> None:
    lossless = [each for each in classes if each.lossless]
    cnp = next((each for each in classes if each.name == CNP), None)
    used = {point for each in classes for point in each.dscps}
    if lossless and cnp is None and congestion.profile == DCQCN:
        point = 48 if 48 not in used else max(set(range(CODE_POINTS)) - used, default=48)
        message = f"no class '{CNP}' has the congestion notifications of '{lossless[0].name}'"
        help_ = (
            f"Add `{CNP}: {{dscp: {point}, strict: true}}`; DCQCN reacts late when CNPs queue behind data."
        )
        findings.warning("FAB2014", message, "priorities", help=help_)
    if cnp is not None and cnp.lossless:
        message = f"'{CNP}' is lossless: a paused notification cannot slow its sender down"
        findings.error("FAB2015", message, "priorities", CNP, "lossless", help="Remove `lossless: true`.")
    if cnp is not None and lossless and not cnp.strict:
        message = f"'{CNP}' is not strict, so notifications queue behind data"
        findings.warning("FAB2016", message, "priorities", CNP, help="Add `strict: true`.")
    if not congestion.marked:
        for each in classes:
            if each.ecn:
                message = f"'{each.name} requests ECN: the profile {PFC_ONLY} marks nothing"
                help_ = f"Remove `ecn: true`, or choose another profile than {PFC_ONLY}."
                findings.error("FAB2022", message, "priorities", each.name, "ecn", help=help_)
        return
    for each in lossless:
        if each.ecn is False:
            message = f"the lossless class '{each.name}' has ECN off: only PFC is left against congestion"
            help_ = (
                "Remove `ecn: false`, unless senders of the class set no ECT: WRED may drop their packets."
            )
            findings.warning("FAB2018", message, "priorities", each.name, "ecn", help=help_)


def _check_scheduling(classes: list[Priority], findings: Findings) -> None:
    strict = [each for each in classes if each.strict]
    for each in strict:
        if each.lossless or not each.dscps:
            kind = "lossless" if each.lossless else "all remaining traffic"
            message = f"'{each.name}' is strict and carries {kind}: it can starve every other class"
            help_ = "Remove `strict: true` and give it a `weight_percent`."
            findings.warning("FAB2020", message, "priorities", each.name, "strict", help=help_)
    if len(strict) > 2:
        message = f"{len(strict)} classes are strict: the first served can starve the others"
        help_ = f"Keep strict for '{CNP}' and one control class at most."
        findings.warning("FAB2020", message, "priorities", help=help_)
    check_weights(
        {each.name: each.weight_percent for each in classes}, {each.name for each in strict}, findings
    )


def check_weights(stated: Mapping[str, int | None], strict: Collection[str], findings: Findings) -> None:
    """FAB2019 for a weight on a strict class, FAB2021 for weights of the others that cannot be shares of 100 %.

    `stated`: percent by class, None where the spec leaves it to be computed. `strict` classes are served before all
    others.
    """
    for name in sorted(strict):
        if stated.get(name) is not None:
            message = f"'{name}' is strict, so its weight has no effect"
            help_ = "Remove `weight_percent` or `strict`."
            findings.error("FAB2019", message, "priorities", name, "weight_percent", help=help_)
    weights = {name: share for name, share in stated.items() if share is not None and name not in strict}
    unweighted = [name for name, share in stated.items() if share is None and name not in strict]
    total = sum(weights.values())
    if total > 100 or (total == 100 and unweighted):
        message = f"the weights add up to {total} %"
        if unweighted:
            message += f" and leave nothing for {join_words([repr(name) for name in unweighted], 'and')}"
        largest = max(weights, key=lambda name: (weights[name], name))
        help_ = f"They may add up to {100 - len(unweighted)} % at most."
        findings.error("FAB2021", message, "priorities", largest, "weight_percent", help=help_)
    elif weights and not unweighted and total < 100:
        message = f"the weights add up to {total} %, not 100 %"
        help_ = f"Raise one by {100 - total}, or leave one out to be computed."
        findings.error("FAB2021", message, "priorities", next(iter(weights)), "weight_percent", help=help_)
