"""Assess a maintenance: the outage at each moment, the remaining capacity of each network, the affected hosts. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import format_share, format_share_option, join_words, plural
from fabricc.base.values import dataclass, replace
from fabricc.fabric.capacity import hosts
from fabricc.fabric.capacity.remainder import LinkShare, Remainder
from fabricc.fabric.capacity.wiring import Outage, Wiring

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from fractions import Fraction


PARTED = "FAB9410"


class Moment(StrEnum):
    """A moment of the maintenance."""

    BEFORE = "before"
    DRAINED = "drained"
    OUT = "out"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class NetworkMaintenance:
    """The effect of a maintenance on one network.

    Attributes:
        name: of a further network, "" for that of the rails.
        standing: what is out besides.
        moments: what is out at each.
        parts: part of the fabric -> what is left of it at each moment.
        switches: switch with uplinks that has less than all at some moment -> the same.
        rails: rail that has less than all its NIC ports at some moment -> the share of them at each.
        leasts: the smallest capacity of any part, rail or switch in service at each moment, and its name.
        touched: hosts that have less while the devices are out.
        parted: hosts that have no plane in common while they are out, and had one before.
        cut: GPUs without a port at each moment.
        next: the worst further failure while they are out; `usual` the same without the maintenance.
    """

    name: str
    standing: Outage
    moments: Mapping[Moment, Outage]
    parts: Mapping[str, tuple[LinkShare, ...]]
    switches: Mapping[str, tuple[LinkShare, ...]]
    rails: Mapping[str, tuple[Fraction, ...]]
    minimums: tuple[tuple[Fraction, str], ...]
    touched: tuple[hosts.AffectedHost, ...]
    parted: tuple[hosts.PartedHosts, ...]
    cut: tuple[int, ...]
    next: hosts.FurtherFailure
    usual: hosts.FurtherFailure

    def least(self, moment: Moment) -> tuple[Fraction, str]:
        """Return the smallest capacity of any part or rail, or of any switch in service, and its name."""
        return self.minimums[tuple(Moment).index(moment)]


def assess_network(name: str, wiring: Wiring, target: Outage, down: Outage) -> NetworkMaintenance:
    """Assess the effect of a maintenance on a network.

    Args:
        name: of the network.
        wiring: its links.
        target: what is maintained: devices under `gone`, links under `ends`.
        down: what is out already, and stays so.
    """
    moments = _list_moments(wiring, target, down)
    standing = moments[Moment.BACK]
    left = {moment: Remainder(wiring, outage) for moment, outage in moments.items()}
    each = tuple(left.values())
    parts = {part: tuple(one.parts[part] for one in each) for part in each[0].parts}
    above = {switch: tuple(one.shares[switch] for one in each) for switch in wiring.uplinks}
    rails = {rail: tuple(one.rails[rail] for one in each) for rail in each[0].rails}
    return NetworkMaintenance(
        name, standing, moments, parts,
        {switch: shares for switch, shares in above.items() if any(s.even < s.of for s in shares)},
        {rail: shares for rail, shares in rails.items() if min(shares) < 1},
        tuple(one.least_share() for one in each),
        tuple(hosts.find_affected_hosts(left[Moment.BEFORE], left[Moment.OUT])),
        tuple(hosts.find_newly_parted_hosts(left[Moment.OUT], left[Moment.BEFORE])),
        tuple(hosts.count_cut_gpus(one) for one in each),
        hosts.find_further_failure(left[Moment.OUT]), hosts.find_further_failure(Remainder(wiring, Outage())),
    )  # fmt: skip


def _list_moments(wiring: Wiring, target: Outage, down: Outage) -> dict[Moment, Outage]:
    """Return what is out at each moment of a maintenance."""
    standing = (wiring.shut | down).exclude_outage(target)
    drained = frozenset(target.gone & wiring.switches.keys())
    before = wiring.shut | down
    return {
        Moment.BEFORE: before,
        Moment.DRAINED: before | Outage(drained=drained, ends=target.ends),
        Moment.OUT: standing | target,
        Moment.BACK: standing,
    }


def _find_least_of_round(wiring: Wiring, target: Outage, down: Outage) -> tuple[Fraction, str]:
    """Return the smallest capacity while the devices are drained or out, and its name."""
    moments = _list_moments(wiring, target, down)
    return min(Remainder(wiring, moments[at]).least_share() for at in (Moment.DRAINED, Moment.OUT))


def _split_target(wiring: Wiring, target: Outage) -> Iterator[Outage]:
    """Yield the outage of each device and link of the network."""
    for name in sorted(target.gone):
        if name in wiring.switches or name in wiring.hosts:
            yield Outage(gone=frozenset({name}))
    links = {frozenset({end, far}) for end in target.ends if (far := wiring.far_end(end)) is not None}
    for link in sorted(links, key=sorted):
        yield Outage(ends=link)


def plan_rounds(
    wiring: Wiring, target: Outage, down: Outage, keep: Fraction
) -> tuple[Fraction, list[Outage]]:
    """Split a maintenance into rounds that keep a share of the capacity.

    Returns:
        The share that the rounds keep: `keep`, or less where one device alone leaves less. The outage of each round.
    """
    singles = list(_split_target(wiring, target))
    keep = min([keep, *(_find_least_of_round(wiring, one, down)[0] for one in singles)])
    rounds: list[Outage] = []
    for one in singles:
        joined = rounds[-1] | one if rounds else one
        if rounds and _may_join(wiring, rounds[-1], one, down, keep):
            rounds[-1] = joined
        else:
            rounds.append(one)
    return keep, rounds


def _may_join(wiring: Wiring, earlier: Outage, one: Outage, down: Outage, keep: Fraction) -> bool:
    """Return whether one more device or link fits into a round: the share is kept, and hosts keep a common plane."""
    if _find_least_of_round(wiring, earlier | one, down)[0] < keep:
        return False
    now, *singly = (Remainder(wiring, down | each) for each in (earlier | one, earlier, one))
    return not hosts.find_newly_parted_hosts(now, *singly)


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
        both = Outage(gone=already, ends=before.ends & target.ends)
        yield Diagnostic(
            "FAB9406", Severity.NOTE, f"out of service already: {join_words(both.names, 4)}", None, ""
        )
    beside = join_words(network.standing.names, 4)
    only = Remainder(wiring, target)
    alone, known = hosts.count_cut_gpus(only), hosts.count_cut_gpus(Remainder(wiring, network.standing))
    if network.standing != Outage() and out > alone + known:
        message = f"{names} and {beside} out together: no port left for {plural(out - alone - known, 'GPU')}"
        remedy = f"Bring {beside} back first, or choose another time."
        yield Diagnostic("FAB9402", Severity.ERROR, message, None, remedy)
    elif network.standing != Outage():
        now, at = network.least(Moment.OUT)
        links = only.parts.get(at) or only.shares.get(at)
        own = links.capacity if links else only.rails.get(at)
        if own is not None and now < own:
            message = (
                f"{names} and {beside} out together leave {format_share(now)} of {at}; {names} alone leaves "
                f"{format_share(own)}"
            )
            yield Diagnostic("FAB9403", Severity.WARNING, message, None, f"Bring {beside} back first.")
    singly = sum(hosts.count_cut_gpus(Remainder(wiring, one)) for one in target.split())
    if alone > singly:
        message = (
            f"{names} together leave {plural(alone - singly, 'GPU')} without a port, one at a time does not"
        )
        yield Diagnostic("FAB9407", Severity.WARNING, message, None, "Take them one at a time.")
    yield from _find_parted(wiring, target, network.standing)
    for moment in (Moment.DRAINED, Moment.OUT):
        least, at = network.least(moment)
        if keep is not None and least < keep:
            message = (
                f"{format_share(least)} of {at} is left while {names} is {moment}; "
                f"required is {format_share(keep)}"
            )
            best, rounds = plan_rounds(wiring, target, network.standing, keep)
            remedy = "Maintain these rounds one after the other."
            if best < keep:
                remedy = (
                    f"--keep {format_share_option(best)} is the most that rounds of one keep: they follow."
                )
            yield Diagnostic("FAB9404", Severity.ERROR, message, None, remedy)
            for number, each in enumerate(rounds, 1):
                share, at = _find_least_of_round(wiring, each, network.standing)
                left = f"round {number}: {join_words(each.names, 4)} out, keeps {format_share(share)} of {at}"
                yield Diagnostic("FAB9404", Severity.NOTE, left, None, "")
            break


def _find_parted(wiring: Wiring, target: Outage, standing: Outage) -> Iterator[Diagnostic]:
    """Report hosts that keep no plane in common: with the present outage, or as several devices are out together."""
    names, beside = join_words(target.names, 1), join_words(standing.names, 1)
    only = Remainder(wiring, target)
    for pair in hosts.find_newly_parted_hosts(only, *(Remainder(wiring, one) for one in target.split())):
        message = f"{names} together leave {_describe_parted(pair)}"
        yield Diagnostic(PARTED, Severity.WARNING, message, None, "Take the ToRs of one plane at a time.")
    for pair in hosts.find_newly_parted_hosts(
        Remainder(wiring, standing | target), only, Remainder(wiring, standing)
    ):
        message = f"{names} and {beside} out together leave {_describe_parted(pair)}"
        remedy = f"Bring {beside} back first, or choose another time."
        yield Diagnostic(PARTED, Severity.ERROR, message, None, remedy)


def _describe_parted(pair: hosts.PartedHosts) -> str:
    one, other = (f"{plural(len(of), 'host')} ({join_words(of, 1)})" for of in pair)
    return f"NICs of {one} and of {other} no plane in common"  # two rails may part the NICs of the same hosts
