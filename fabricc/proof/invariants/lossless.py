"""Invariants 13 to 18 on one switch: PFC, notifications, headroom, pools, ECN and watchdog, as its files state them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.catalog.model import HeadroomRow, SpectrumFigures
from fabricc.front.qos.wire import floor_bytes
from fabricc.proof.invariants.rules import Breach
from fabricc.proof.invariants.view import CODE_POINTS, LinkPort, Lossless, SwitchView

if TYPE_CHECKING:
    from collections.abc import Iterator


LONGEST_PAUSE_BITS = 65_535 * 512
"""The longest pause of one frame (IEEE 802.3 annex 31B: quanta of 512 bit times)."""


def lossless_breaches(seen: SwitchView) -> Iterator[Breach]:
    """Invariants 13 to 18 of one switch; each kind of port is looked at once."""
    kinds = list(seen.kinds())
    stated = any(kind.xoff is not None for kind, _ in kinds)
    for kind, links in kinds:
        yield from _check_pfc(seen, kind, links, stated)
        yield from _check_headroom(seen, kind, links)
        yield from _check_marking(seen, kind, links)
        yield from _check_watchdog(kind, links, seen)
    yield from _check_notifications(seen, kinds)
    yield from _check_pools(seen, kinds)
    yield from _pause_points(seen, kinds)
    yield from _check_timers(seen)


def _check_pfc(seen: SwitchView, kind: Lossless, links: list[LinkPort], stated: bool) -> Iterator[Breach]:
    most = seen.switch.model.buffers.max_lossless_classes
    where = _describe_ports(links)
    at = links[0].path
    if len(kind.pfc) > most:
        message = f"{where}: PFC for {len(kind.pfc)} priorities, the platform has buffer for {most}"
        yield Breach(13, message, at + "pfc")
    if stated and kind.pfc and not kind.xoff and kind.default_to_m is None:
        leaf = "pfc" if kind.xoff is None else "headroom/xoff_bytes"
        yield Breach(13, f"{where}: PFC without headroom, so pausing comes too late", at + leaf)
    if kind.xoff and not kind.pfc:
        yield Breach(13, f"{where}: headroom for a lossless class, and no PFC", at + "headroom/xoff_bytes")


def _check_headroom(seen: SwitchView, kind: Lossless, links: list[LinkPort]) -> Iterator[Breach]:
    where, at = _describe_ports(links), links[0].path + "headroom/"
    if kind.default_to_m is not None and kind.default_to_m < kind.cable_m:
        message = (
            f"{where}: the platform's own buffers hold for cables up to {kind.default_to_m} m, and this one has "
            f"{kind.cable_m} m"
        )
        yield Breach(15, message, at + "default_to_m")
    if not kind.xoff:
        return
    buffers = seen.switch.model.buffers
    if kind.looked_up_m is not None and kind.looked_up_m < kind.cable_m:
        message = f"{where}: headroom for a cable of {kind.looked_up_m} m on one of {kind.cable_m} m"
        yield Breach(15, message, at + "cable_m")
    rows = [row for row in buffers.rows if row.speed_gbps == kind.speed_gbps]
    row = _table_row(rows, kind.cable_m)
    if row is None and buffers.formula is None:
        message = f"{where}: the platform has no headroom row for {kind.speed_gbps}G and {kind.cable_m} m"
        yield Breach(15, message, at + "xoff_bytes")
    mtu = max((link.mtu or link.port.mtu for link in links), default=0)
    floor = floor_bytes(kind.speed_gbps, kind.cable_m, mtu)
    least = row.xoff_bytes if row else 0
    if kind.xoff < floor:
        message = (
            f"{where}: {kind.xoff:,} bytes of headroom, on {kind.speed_gbps}G over {kind.cable_m} m {floor:,} arrive "
            "after a pause is due"
        )
        yield Breach(15, message, at + "xoff_bytes")
    elif kind.xoff < least:
        message = f"{where}: {kind.xoff:,} bytes of headroom, {kind.speed_gbps}G over {kind.cable_m} m needs {least:,}"
        yield Breach(15, message, at + "xoff_bytes")
    cell = buffers.cell_bytes
    if kind.xoff % cell and rows and all(r.xoff_bytes % cell == 0 for r in rows):
        message = f"{where}: headroom of {kind.xoff:,} bytes is not a multiple of the cell of {cell}"
        yield Breach(15, message, at + "xoff_bytes", warning=True)
    shared = seen.number("pool/headroom_bytes") or 0
    if not shared and kind.size is not None and kind.size < kind.xoff:
        message = (
            f"{where}: a priority group of {kind.size:,} bytes cannot hold its own headroom of {kind.xoff:,}"
        )
        yield Breach(15, message, at + "size_bytes")


def _table_row(rows: list[HeadroomRow], cable_m: int) -> HeadroomRow | None:
    """Return the row of the shortest listed length that is not below the cable's."""
    return min((r for r in rows if r.cable_m >= cable_m), key=lambda r: r.cable_m, default=None)


def _check_marking(seen: SwitchView, kind: Lossless, links: list[LinkPort]) -> Iterator[Breach]:
    wanted = {c.priority for c in seen.switch.qos.lossless if c.ecn}
    profile = {p.name: p for p in seen.switch.qos.profiles}.get(links[0].port.profile or "")
    if not any(p.ecn for p in seen.switch.qos.profiles):
        wanted = set()
    for priority in kind.pfc:
        queue = seen.stopped_queue(priority)
        if queue not in kind.marked and priority in wanted:
            yield Breach(17, f"{_describe_ports(links)}: lossless queue {queue} is not marked", links[0].path)
    # A system that leaves queues to a driver has neither schedulers nor marking (FAB5201, if accepted).
    stated = profile and profile.ecn and kind.schedulers
    lossy = {c.priority for c in seen.switch.qos.marked} - wanted if stated else ()
    for priority in sorted(lossy):
        queue = seen.stopped_queue(priority)
        if queue not in kind.marked:
            yield Breach(
                17, f"{_describe_ports(links)}: queue {queue} of a marked class is not marked", links[0].path
            )
    for queue, marking in kind.markings:
        at = f"{links[0].path}queue[{queue}]/ecn_min_bytes"
        if not 0 < marking.low < marking.high:
            message = f"{_describe_ports(links)}: queue {queue} marks from {marking.low:,} to {marking.high:,} bytes"
            yield Breach(17, message, at)
        if marking.percent is not None and not 0 < marking.percent <= 100:
            most = f"{_describe_ports(links)}: queue {queue} marks at most {marking.percent} %"
            yield Breach(17, most, at.replace("ecn_min_bytes", "ecn_max_percent"))


def _check_watchdog(kind: Lossless, links: list[LinkPort], seen: SwitchView) -> Iterator[Breach]:
    if not kind.pfc:
        return
    at = links[0].path
    if kind.watchdog == "false":
        strict = any(c.strict for c in seen.switch.qos.lossless)
        yield Breach(18, f"{_describe_ports(links)}: PFC without a watchdog", at + "watchdog", warning=strict)
    detect = seen.number("watchdog/detect_ms")
    if detect is not None and kind.watchdog == "true" and kind.speed_gbps:
        pause_ms = Fraction(LONGEST_PAUSE_BITS, kind.speed_gbps * 10**6)
        if detect <= pause_ms:
            longest = f"{float(pause_ms):.2f} ms at {kind.speed_gbps}G"
            message = f"the watchdog acts after {detect} ms, a legal pause lasts up to {longest}"
            yield Breach(18, message, "watchdog/detect_ms")


_SLOW_POLL_MS = 1000
"""A polling interval that is slow for any watchdog, so that it is the wrong one of two timers."""


def _check_timers(seen: SwitchView) -> Iterator[Breach]:
    poll = seen.number("watchdog/poll_ms")
    for name in ("detect", "restore"):
        value = seen.number(f"watchdog/{name}_ms")
        if poll is not None and value is not None and value < poll:
            message = f"the watchdog polls every {poll} ms and is to {name} within {value} ms"
            path = "watchdog/poll_ms" if poll >= _SLOW_POLL_MS else f"watchdog/{name}_ms"
            yield Breach(18, message, path)


def _check_notifications(seen: SwitchView, kinds: list[tuple[Lossless, list[LinkPort]]]) -> Iterator[Breach]:
    classes = seen.code_points()
    if classes is None:
        return
    for cnp in (c for c in seen.switch.qos.classes if c.cnp):
        queue = seen.queue(classes[cnp.data_dscp])
        yield from _check_unhindered(
            seen,
            kinds,
            queue,
            f"notifications (DSCP {cnp.data_dscp}) go to queue {queue}",
            f"qos/dscp[{cnp.data_dscp}]/traffic_class",
        )
    dscp, queue_of_rest = seen.number("trimming/dscp"), seen.number("trimming/queue")
    if dscp is None or queue_of_rest is None or dscp >= CODE_POINTS:
        return
    about = f"trimmed packets (DSCP {dscp}) go to queue {queue_of_rest}"
    if (elsewhere := seen.queue(classes[dscp])) != queue_of_rest:
        yield Breach(14, f"{about}, on the next switch to queue {elsewhere}", "trimming/queue")
    yield from _check_unhindered(seen, kinds, queue_of_rest, about, "trimming/queue")


def _check_unhindered(
    seen: SwitchView, kinds: list[tuple[Lossless, list[LinkPort]]], queue: int, about: str, stated: str
) -> Iterator[Breach]:
    """Check a queue of control traffic: no PFC, no marking, and its own bandwidth on every port.

    `stated`: the fact by which the traffic is in the queue.
    """
    for kind, links in kinds:
        at = links[0].path
        if queue in {seen.stopped_queue(priority) for priority in kind.pfc}:
            yield Breach(14, f"{_describe_ports(links)}: {about}, which PFC can stop", stated)
        if queue in kind.marked:
            message = f"{_describe_ports(links)}: {about}, which ECN marks"
            yield Breach(14, message, f"{at}queue[{queue}]/ecn_min_bytes")
        scheduler = dict(kind.schedulers).get(queue)
        if kind.schedulers and scheduler in (None, "dwrr 0"):
            message = f"{_describe_ports(links)}: {about}, which is neither strict nor guaranteed a share"
            yield Breach(14, message, f"{at}queue[{queue}]/scheduler")


def _check_pools(seen: SwitchView, kinds: list[tuple[Lossless, list[LinkPort]]]) -> Iterator[Breach]:
    ingress = seen.number("pool/ingress_lossless_bytes")
    if ingress is None:
        return
    model = seen.switch.model.buffers
    headroom = seen.number("pool/headroom_bytes") or 0
    private = 0 if headroom else _private_bytes(kinds)
    inside = model.pools.size_includes_headroom
    used = ingress if inside else ingress + headroom + private
    if used > model.total_bytes:
        message = f"pools and headroom take {used:,} bytes of a buffer of {model.total_bytes:,}"
        wide = max(kinds, key=lambda each: each[0].xoff or 0)[1][0].path if private > ingress else ""
        yield Breach(16, message, f"{wide}headroom/xoff_bytes" if wide else "pool/ingress_lossless_bytes")
    if inside and headroom + private > ingress:
        message = (
            f"headroom of {headroom + private:,} bytes does not fit the pool of {ingress:,} that holds it"
        )
        yield Breach(16, message, "pool/ingress_lossless_bytes")
    lossy = seen.number("pool/egress_lossy_bytes")
    if lossy is not None and lossy > ingress:
        message = f"lossy egress may hold {lossy:,} bytes, its ingress pool {ingress:,}"
        other = seen.number("pool/egress_lossless_bytes")  # the pool that differs from both others is wrong
        wrong = "ingress_lossless" if other is not None and other >= lossy else "egress_lossy"
        yield Breach(16, message, f"pool/{wrong}_bytes")


def _private_bytes(kinds: list[tuple[Lossless, list[LinkPort]]]) -> int:
    """Return the buffer reserved for priority groups, in bytes."""
    return sum(len(links) * len(kind.pfc) * max(kind.size or 0, kind.xoff or 0) for kind, links in kinds)


_LEAST_SHARE = -4
"""The smallest exponent of alpha of lossless groups in stock templates: 1/16 of the free buffer."""


def _pause_points(seen: SwitchView, kinds: list[tuple[Lossless, list[LinkPort]]]) -> Iterator[Breach]:
    """Kmax below the pause point while every lossless queue of the switch is as full as that.

    With k queues at x bytes each, an ingress may hold `alpha * (shared - k * x)`; it pauses when it holds more. A lossy
    queue that is congested too takes its own alpha of what is free. So marking comes first exactly when what is left
    is above Kmax at x = Kmax.
    """
    shared = _shared_bytes(seen, kinds)
    if shared is None:
        return
    queues = sum(len(links) * len(kind.pfc) for kind, links in kinds)
    egress = seen.number("pool/egress_lossless_bytes")
    exponent_of_lossy = seen.number("pool/lossy_queue_alpha")
    left = 1 if exponent_of_lossy is None else 1 / (1 + Fraction(2) ** exponent_of_lossy)
    planned = {profile.name: headroom.dynamic_th for profile, headroom in seen.switch.qos.headrooms}
    kept = {p.ecn.max_bytes for p in seen.switch.qos.profiles if p.ecn and p.ecn.above_pause}
    for kind, links in kinds:
        exponent = kind.dynamic_th
        if exponent is None:
            exponent = planned.get(links[0].port.profile or "")
        if exponent is None:
            continue
        if egress is not None and kind.pfc:
            yield from _check_egress(links, exponent, shared, egress, queues)
        for queue, marking in kind.markings:
            limit = left * Fraction(2) ** exponent * (shared - queues * marking.high)
            if limit <= marking.high:
                message = (
                    f"{_describe_ports(links)}: queue {queue} marks up to {marking.high:,} bytes; with "
                    f"{queues} such queues "
                    f"an ingress pauses at {max(0, int(limit)):,}"
                )
                share = kind.dynamic_th if kind.dynamic_th is not None else _LEAST_SHARE
                leaf = "headroom/dynamic_th" if share < _LEAST_SHARE else f"queue[{queue}]/ecn_max_bytes"
                at = links[0].path + leaf
                yield Breach(17, message, at, warning=marking.high in kept)


def _check_egress(
    links: list[LinkPort], exponent: int, shared: int, egress: int, queues: int
) -> Iterator[Breach]:
    """Check that ingress pauses before lossless traffic fills the egress pool, which would drop."""
    limit = Fraction(2) ** exponent * (shared - egress)
    if limit * queues > egress:
        message = (
            f"{_describe_ports(links)}: lossless egress of {egress:,} bytes is full, and drops, "
            f"before {queues} queues that "
            f"share {shared:,} bytes pause anyone"
        )
        yield Breach(16, message, "pool/egress_lossless_bytes")


def _shared_bytes(seen: SwitchView, kinds: list[tuple[Lossless, list[LinkPort]]]) -> int | None:
    """Return the shared buffer of lossless queues in bytes: the ingress pool without guarantees and headroom in it.

    The pool of a Spectrum includes neither: both are subtracted before the pool is sized (sonic-swss
    cfgmgr/buffer_pool_mellanox.lua), whether headroom is shared or not.
    """
    model = seen.switch.model.buffers
    planned = seen.switch.qos.pools
    ingress = seen.number("pool/ingress_lossless_bytes")
    if ingress is None:
        ingress = planned.ingress_lossless_bytes if planned else None
    if ingress is None or isinstance(model.formula, SpectrumFigures):
        return ingress
    headroom = seen.number("pool/headroom_bytes")
    if headroom is None:
        headroom = planned.headroom_bytes if planned else 0
    if not headroom:
        return ingress - (_private_bytes(kinds) if model.pools.size_includes_headroom else 0)
    guaranteed = sum(len(links) * len(kind.pfc) * (kind.size or 0) for kind, links in kinds)
    return ingress - guaranteed - (headroom if model.pools.size_includes_headroom else 0)


def _describe_ports(links: list[LinkPort]) -> str:
    """Return ports in words: the first one, and the number of others with the same values."""
    first = links[0].port.name
    return first if len(links) == 1 else f"{first} and {len(links) - 1} more ports"
