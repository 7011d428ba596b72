"""Assess a maintenance: the outage at each moment, the remaining capacity of each network, the affected hosts. Pure."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.base.values import dataclass, replace
from fabricc.operate.maintain.losses import (
    NextFailure,
    count_cut_gpus,
    find_affected_hosts,
    find_worst_failure,
)
from fabricc.operate.maintain.wiring import Outage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.operate.maintain.losses import AffectedHost
    from fabricc.operate.maintain.wiring import Share, Wiring

WHOLE = Fraction(1)


class Moment(StrEnum):
    """A moment of the maintenance."""

    BEFORE = "before"
    DRAINED = "drained"
    OUT = "out"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class NetworkMaintenance:
    """What a maintenance does to one network.

    Attributes:
        name: of a further network, "" for that of the rails.
        standing: what is out besides.
        moments: what is out at each.
        parts: part of the fabric -> what is left of it at each moment.
        switches: switch with uplinks that has less than all at some moment -> the same.
        touched: hosts that have less while the devices are out.
        cut: GPUs without a port at each moment.
        next: the worst further failure while they are out; `usual` the same without the maintenance.
    """

    name: str
    standing: Outage
    moments: Mapping[Moment, Outage]
    parts: Mapping[str, tuple[Share, ...]]
    switches: Mapping[str, tuple[Share, ...]]
    touched: tuple[AffectedHost, ...]
    cut: tuple[int, ...]
    next: NextFailure
    usual: NextFailure

    def least(self, moment: Moment) -> tuple[Fraction, str]:
        """Return the smallest capacity of any part, or of any switch in service, and its name."""
        at, out = tuple(Moment).index(moment), self.moments[moment]
        idle = out.gone | out.drained
        found = [(shares[at].capacity, name) for name, shares in self.parts.items()]
        found += [(shares[at].capacity, name) for name, shares in self.switches.items() if name not in idle]
        return min(found, default=(WHOLE, ""))


def assess_network(name: str, wiring: Wiring, target: Outage, down: Outage) -> NetworkMaintenance:
    """Assess the effect of a maintenance on a network.

    Args:
        name: of the network.
        wiring: its cables.
        target: what is maintained: devices under `gone`, links under `ends`.
        down: what is out already, and stays so.
    """
    standing = (wiring.shut | down).exclude_outage(target)
    drained = frozenset(target.gone & wiring.switches.keys())
    before = wiring.shut | down
    moments = {
        Moment.BEFORE: before,
        Moment.DRAINED: before | Outage(drained=drained, ends=target.ends),
        Moment.OUT: standing | target,
        Moment.BACK: standing,
    }
    left, out = [wiring.parts(each) for each in moments.values()], moments[Moment.OUT]
    parts = {part: tuple(each[part] for each in left) for part in left[0]}
    above = {switch: tuple(wiring.share(switch, each) for each in moments.values()) for switch in wiring.up}
    switches = {switch: shares for switch, shares in above.items() if any(s.even < s.of for s in shares)}
    cut = tuple(count_cut_gpus(wiring, each) for each in moments.values())
    hosts, following = (
        tuple(find_affected_hosts(wiring, before, out)),
        (find_worst_failure(wiring, out), find_worst_failure(wiring, Outage())),
    )
    return NetworkMaintenance(name, standing, moments, parts, switches, hosts, cut, *following)


def check_network(
    network: NetworkMaintenance, wiring: Wiring, target: Outage, keep: Fraction | None
) -> Iterator[Diagnostic]:
    """Report problems of the maintenance: other outages, several devices at once, and too little remaining capacity."""
    label = f"{network.name}: " if network.name else ""
    for each in _find_conflicts(network, wiring, target, keep):
        yield replace(each, message=f"{label}{each.message}")


def _find_conflicts(
    network: NetworkMaintenance, wiring: Wiring, target: Outage, keep: Fraction | None
) -> Iterator[Diagnostic]:
    before = network.moments[Moment.BEFORE]
    names = join_words(target.names, 4)
    out = network.cut[2]
    already = (before.gone | before.drained) & target.gone
    if already or before.ends & target.ends:
        told = join_words([*sorted(already), *(f"{d}:{p}" for d, p in sorted(before.ends & target.ends))], 4)
        yield Diagnostic("FAB9406", Severity.NOTE, f"out of service already: {told}", None, "")
    beside = join_words(network.standing.names, 4)
    alone = count_cut_gpus(wiring, target)
    known = count_cut_gpus(wiring, network.standing)
    if network.standing != Outage() and out > alone + known:
        message = f"{names} out while {beside} is: {plural(out - alone - known, 'GPU')} lose their last port"
        remedy = f"Bring {beside} back first, or choose another time."
        yield Diagnostic("FAB9402", Severity.ERROR, message, None, remedy)
    elif network.standing != Outage():
        now, at = network.least(Moment.OUT)
        own = min(
            [wiring.parts(target)[at] if at in network.parts else wiring.share(at, target)], default=None
        ) if at else None  # fmt: skip
        if own is not None and now < own.capacity:
            message = (
                f"{names} out while {beside} is leaves {format_percent(now)} of {at}; alone it would leave "
                f"{format_percent(own.capacity)}"
            )
            yield Diagnostic("FAB9403", Severity.WARNING, message, None, f"Bring {beside} back first.")
    singly = sum(count_cut_gpus(wiring, one) for one in _split_target(target))
    if alone > singly:
        message = f"{names} together leave {plural(alone - singly, 'GPU')} without a port that one at a time would not"
        yield Diagnostic("FAB9407", Severity.WARNING, message, None, "Take them one at a time.")
    for moment in (Moment.DRAINED, Moment.OUT):
        least, at = network.least(moment)
        if keep is not None and least < keep:
            message = (
                f"{format_percent(least)} of {at} is left while {names} is {moment}; "
                f"to be kept is {format_percent(keep)}"
            )
            remedy = "Maintain fewer devices at a time, restore others first, or lower --keep."
            yield Diagnostic("FAB9404", Severity.ERROR, message, None, remedy)
            break


def _split_target(target: Outage) -> Sequence[Outage]:
    devices = [Outage(gone=frozenset({name})) for name in target.gone]
    return [*devices, *(Outage(ends=frozenset({end})) for end in target.ends)]


def format_percent(share: Fraction) -> str:
    """Format a share such as `93 %`, rounded down so that the figure is never too high."""
    return f"{int(share * 100)} %"
