"""Fit the requested classes into the lossless policy that one command of a system sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.values import replace
from fabricc.front.qos.finding import QosFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.qos import TrafficClass, VendorPolicy
    from fabricc.front.qos.classes import RequestedClass

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
