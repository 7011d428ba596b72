"""Traffic classes from the priorities of the spec: complete, without overlap, fixed by a vendor, or trimmed."""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING, Protocol

from fabricc.base.diagnostics import Severity
from fabricc.base.values import replace
from fabricc.fabric.qos import TrafficClass, Trimming, VendorPolicy
from fabricc.front.qos.fit import QosFinding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.catalog.model import SwitchModel


CNP_DSCP = 48
"""CS6, the default code point of congestion notification packets on mlx5."""

LOSSLESS_SHARE, LOSSY_SHARE = 9, 1
"""Shares of classes without a stated weight: nine parts lossless, one part lossy."""


class RequestedClass(Protocol):
    """One requested class; `fabricc.front.spec.model.Priority` is one (spec and qos do not import each other)."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def dscps(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def lossless(self) -> bool: ...  # noqa: D102
    @property
    def strict(self) -> bool: ...  # noqa: D102
    @property
    def priority(self) -> int | None: ...  # noqa: D102
    @property
    def weight_percent(self) -> int | None: ...  # noqa: D102
    @property
    def ecn(self) -> bool | None: ...  # noqa: D102
    @property
    def sends(self) -> int | None: ...  # noqa: D102
    @property
    def unsent(self) -> tuple[int, ...]: ...  # noqa: D102


def traffic_classes(priorities: Sequence[RequestedClass], *, marked: bool = True) -> tuple[TrafficClass, ...]:
    """Return every code point in exactly one class, priorities and weights settled; ascending by priority.

    A priority that is not stated is `dscp >> 3` of the class's first code point, the map that mlx5 NICs use by
    default when they trust DSCP. The class without code points takes all that others leave, at priority 0 or the
    lowest free one; it is added (lossy, named `default` if that is free) when missing. `data_dscp` is the one
    that senders use according to the spec, else the first. `marked`: the congestion control wants marks on
    lossless classes.

    Raises:
        ValueError: two classes claim one name, code point or priority, a value is out of range, or the stated
            weights leave nothing for the classes without one. The spec's own rules catch these first.
    """
    claimed = _classes_by_dscp(priorities)
    rest = tuple(dscp for dscp in range(64) if dscp not in claimed)
    defaults = [p for p in priorities if not p.dscps]
    if len(defaults) > 1 or (defaults and not rest):
        names = ", ".join(repr(p.name) for p in defaults)
        raise ValueError(f"no code points are left for {names}: one class takes those that no other claims")
    added = _unused_name(priorities) if rest and not defaults else None
    numbers = _number_classes(priorities)
    weights = _assign_weights(priorities, added)
    cnp = _cnp_name(priorities)
    classes = [
        TrafficClass(
            name=p.name,
            priority=numbers[p.name],
            dscps=tuple(sorted(p.dscps)) or rest,
            data_dscp=p.sends if p.sends is not None else p.dscps[0] if p.dscps else rest[0],
            lossless=p.lossless,
            strict=p.strict,
            weight_percent=weights.get(p.name, 0),
            ecn=p.lossless and marked if p.ecn is None else p.ecn,
            cnp=p.name == cnp,
            unsent=p.unsent,
        )
        for p in priorities
    ]
    if added is not None:
        number = _lowest_free(numbers.values())
        classes.append(TrafficClass(added, number, rest, rest[0], False, False, weights[added], False, False))
    return tuple(sorted(classes, key=lambda c: c.priority))


def _unused_name(priorities: Sequence[RequestedClass]) -> str:
    """`default`, or `default-2` and so on where a class with code points has that name."""
    names = {p.name for p in priorities}
    numbered = (f"default-{n}" for n in count(2))
    return next(name for name in chain(("default",), numbered) if name not in names)


def _classes_by_dscp(priorities: Sequence[RequestedClass]) -> dict[int, str]:
    """Code point -> class that names it."""
    claimed: dict[int, str] = {}
    names: set[str] = set()
    for p in priorities:
        if p.name in names:
            raise ValueError(f"two classes are named {p.name!r}")
        names.add(p.name)
        for dscp in p.dscps:
            if not 0 <= dscp <= 63:
                raise ValueError(f"DSCP {dscp} of class {p.name!r} is not between 0 and 63")
            if dscp in claimed:
                raise ValueError(f"DSCP {dscp} is in both {claimed[dscp]!r} and {p.name!r}")
            claimed[dscp] = p.name
    return claimed


def _number_classes(priorities: Sequence[RequestedClass]) -> dict[str, int]:
    """Class name -> priority; the class without code points comes last so that it can take a free one."""
    numbers: dict[str, int] = {}
    for p in sorted(priorities, key=lambda p: not p.dscps):
        if p.priority is not None:
            number = p.priority
        else:
            number = p.dscps[0] >> 3 if p.dscps else _lowest_free(numbers.values())
        if not 0 <= number <= 7:
            raise ValueError(f"priority {number} of class {p.name!r} is not between 0 and 7")
        if (other := next((n for n, taken in numbers.items() if taken == number), None)) is not None:
            raise ValueError(f"classes {other!r} and {p.name!r} share priority {number}")
        numbers[p.name] = number
    return numbers


def _lowest_free(used: Iterable[int]) -> int:
    occupied = set(used)
    for number in range(8):
        if number not in occupied:
            return number
    raise ValueError("all eight priorities are taken, none is left for the default class")


def _cnp_name(priorities: Sequence[RequestedClass]) -> str | None:
    """Return the strict class named `cnp`, else the strict class with DSCP 48."""
    strict = [p for p in priorities if p.strict]
    named = next((p.name for p in strict if p.name == "cnp"), None)
    return named or next((p.name for p in strict if CNP_DSCP in p.dscps), None)


def _assign_weights(priorities: Sequence[RequestedClass], added: str | None) -> dict[str, int]:
    """Class name -> percent of what strict classes leave; the sum is 100. `added` is one more lossy class.

    Stated weights hold and the other classes divide what is left, nine parts for the lossless and one for the
    lossy ones. When every class states one they are relative and scaled to 100.
    """
    shared = [p for p in priorities if not p.strict]
    stated = {p.name: p.weight_percent for p in shared if p.weight_percent is not None}
    if any(weight < 1 for weight in stated.values()):
        raise ValueError("a weight is less than 1 percent")
    lossless = [p.name for p in shared if p.name not in stated and p.lossless]
    lossy = [p.name for p in shared if p.name not in stated and not p.lossless]
    if added is not None:
        lossy.append(added)
    if not lossless and not lossy:
        return apportion_shares(stated, 100)
    left = 100 - sum(stated.values())
    if left < len(lossless) + len(lossy):
        raise ValueError(f"the weights stated leave {left} percent for {', '.join(lossless + lossy)}")
    shares = {name: LOSSLESS_SHARE * max(len(lossy), 1) for name in lossless}
    shares |= {name: LOSSY_SHARE * max(len(lossless), 1) for name in lossy}
    return stated | apportion_shares(shares, left)


def apportion_shares(shares: Mapping[str, int], total: int) -> dict[str, int]:
    """Return whole numbers in the proportion of `shares` that add up to `total`, none below 1 (largest remainder).

    Ties go to the earlier key; `total` must be at least the number of keys.
    """
    if not shares:
        return {}
    whole = sum(shares.values())
    parts = {name: total * share // whole for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: -(total * shares[name] % whole))
    for name in by_remainder[: total - sum(parts.values())]:
        parts[name] += 1
    for name in [name for name, part in parts.items() if part == 0]:
        parts[max(parts, key=lambda n: parts[n])] -= 1
        parts[name] = 1
    return parts


UNFIT = "FAB4018"


def fit_vendor_classes(
    requested: Sequence[RequestedClass], classes: Sequence[TrafficClass], policy: VendorPolicy
) -> tuple[tuple[TrafficClass, ...], tuple[QosFinding, ...]]:
    """Return the policy's classes under the names of the spec, and the settings of the spec that differ.

    Args:
        requested: the classes as the spec has them.
        classes: the same classes, computed.
        policy: the policy of the system.
    """
    stated = {each.name: each for each in requested}
    findings: list[QosFinding] = []
    owners: dict[int, TrafficClass] = {}
    for each in classes:
        fixed = next(one for one in policy.classes if each.data_dscp in one.dscps)
        wrong = [
            f"'{each.name}' {difference}" for difference in _differences(each, fixed, stated.get(each.name))
        ]
        owners.setdefault(fixed.priority, each)
        findings += [_unfit(f"{difference} under {policy.command}", policy) for difference in wrong]
    settled = []
    for fixed in policy.classes:
        if (own := owners.get(fixed.priority)) is None:
            settled.append(fixed)
            continue
        settled.append(replace(fixed, name=own.name, data_dscp=own.data_dscp, cnp=own.cnp, unsent=own.unsent))
    return tuple(settled), tuple(findings)


def _differences(own: TrafficClass, fixed: TrafficClass, requested: RequestedClass | None) -> Iterator[str]:
    """Yield how a class of the spec differs from the class that its packets get."""
    if (
        own.priority != fixed.priority
        and requested is not None
        and (requested.dscps or requested.priority is not None)
    ):
        yield f"has priority {fixed.priority}, not {own.priority},"
    if own.lossless != fixed.lossless:
        yield "is lossless" if fixed.lossless else "is lossy"
    if own.strict != fixed.strict:
        yield "is strict" if fixed.strict else "is not strict"
    if own.ecn != fixed.ecn:
        yield "is marked" if fixed.ecn else "is not marked"
    if requested is None:
        return
    if requested.weight_percent is not None and requested.weight_percent != fixed.weight_percent:
        yield f"has {fixed.weight_percent} % of the bandwidth, not {requested.weight_percent},"
    if outside := [str(point) for point in requested.dscps if point not in fixed.dscps]:
        yield f"does not have code point {outside[0]}"


def _unfit(message: str, policy: VendorPolicy) -> QosFinding:
    lossless = next(each for each in policy.classes if each.lossless)
    help_ = (
        f"leave `qos: vendor` out, or use its classes: code points {lossless.dscps[0]} to {lossless.dscps[-1]} are "
        f"lossless on priority {lossless.priority} ({policy.source})"
    )
    return QosFinding(UNFIT, Severity.ERROR, message, help_)


def plan_trimming(classes: Iterable[TrafficClass], carrier: str, size_bytes: int) -> Trimming | None:
    """Trimming with what is left traveling in the class `carrier`; None when there is no such class.

    Trimmed are the lossy classes that share bandwidth: lossless ones are paused before they are dropped, and
    strict ones carry control, of which Ultra Ethernet trims nothing (UEC 1.0: TRIMMABLE and CONTROL are two
    code points).
    """
    known = list(classes)
    found = next((c for c in known if c.name == carrier), None)
    if found is None:
        return None
    queues = sorted(c.priority for c in known if c is not found and not c.lossless and not c.strict)
    return Trimming(size_bytes, found.data_dscp, found.priority, tuple(queues))


def trimming_findings(trimming: Trimming | None, model: SwitchModel) -> tuple[QosFinding, ...]:
    """Return a size that the chip's maker does not list; nothing where no figure is known."""
    limit = model.buffers.limits.trim_bytes
    if trimming is None or limit is None or limit[0] <= trimming.size_bytes <= limit[1]:
        return ()
    least, most = limit
    message = f"packets trimmed to {trimming.size_bytes} bytes are requested, {model.title} trims to {least} to {most}"
    nearest = min(max(trimming.size_bytes, least), most)
    return (QosFinding("FAB4015", Severity.ERROR, message, f"the nearest that fits is {nearest}"),)
