"""What Junos cannot express of what a switch is to do, as findings with a reason and a remedy."""

from __future__ import annotations

from ipaddress import ip_network
from itertools import pairwise
from typing import TYPE_CHECKING

from fabricc.back.nos import limits
from fabricc.back.nos.base import Gap
from fabricc.back.nos.junos.setting_gaps import setting_gaps
from fabricc.back.nos.junos.vocabulary import (
    ALPHA_RANGE,
    BFD_INTERVAL_RANGE_MS,
    BFD_MULTIPLIER_RANGE,
    DETECTION_RANGE,
    HOLD_PER_KEEPALIVE,
    KEY_STATEMENTS,
    MAXIMUM_ECMP,
    MAXIMUM_MTU,
    MAXIMUM_PRIORITY,
    POLL_RANGE_MS,
    RECOVERY_RANGE_MS,
    SPEEDS,
    bfd_interval_ms,
    detection,
    fill_levels,
    queue_bytes,
    shared_buffer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Network, IPv6Network

    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import PrefixList


def gaps(switch: Switch) -> list[Gap]:
    """Every gap of this switch, in the order of the codes."""
    found = [*_ports(switch), *_classes(switch), *_marking(switch), *_buffers(switch), *_watchdog(switch)]
    return [*found, *_accounts(switch), *_routing(switch), *_prefixes(switch), *setting_gaps(switch)]


def _ports(switch: Switch) -> Iterator[Gap]:
    for speed_gbps in sorted({port.speed_gbps for port in switch.ports} - SPEEDS.keys()):
        yield Gap(
            "FAB5501",
            f"{speed_gbps} Gb/s ports",
            "Junos has no `speed` word for this rate (Juniper YANG 24.4R1, interfaces speed)",
            "use one of " + ", ".join(SPEEDS.values()),
        )
    reason = f"a physical MTU of at most 9216 bytes counts the Ethernet header, which leaves {MAXIMUM_MTU}"
    yield from limits.mtu("FAB5502", switch, MAXIMUM_MTU, reason)


def _classes(switch: Switch) -> Iterator[Gap]:
    for traffic_class in switch.qos.classes:
        if not 0 <= traffic_class.priority <= MAXIMUM_PRIORITY:
            yield Gap(
                "FAB5503",
                f"class {traffic_class.name} on priority {traffic_class.priority}",
                "Junos has PFC priorities and unicast queues 0 to 7 on these switches",
                "choose a priority from 0 to 7",
            )
        yield from limits.weight(
            "FAB5504",
            traffic_class,
            "`transmit-rate percent` of a class that is to send anything takes 1 to 100",
        )


def _marking(switch: Switch) -> Iterator[Gap]:
    if not any(c.ecn for c in switch.qos.classes):
        return
    whole = queue_bytes(switch)
    written = []
    for profile in switch.qos.profiles:
        ecn = profile.ecn
        if ecn is None:
            continue
        if not (1 <= ecn.max_percent <= 100 and 1 <= ecn.min_bytes <= ecn.max_bytes <= whole):
            yield Gap(
                "FAB5506",
                f"ECN from {ecn.min_bytes} to {ecn.max_bytes} bytes at {ecn.max_percent} % on {profile.name}",
                f"thresholds ascend from 1 byte to a queue's share of the pool ({whole} bytes), "
                "`drop-probability` goes from 1 to 100 %",
                "set ECN thresholds and probability within these ranges",
            )
        levels = fill_levels(ecn, whole)
        written.append(
            f"{profile.name}: {ecn.min_bytes} to {ecn.max_bytes} bytes as {levels.low} to {levels.high} %"
        )
    if written:
        yield Gap(
            "FAB5505",
            "ECN thresholds in bytes",
            "`fill-level` is a whole percent of a queue's buffer, which is dynamic and not published; taken is the "
            f"share of the pool when all lossless queues are full, {whole} bytes ({'; '.join(written)})",
            "measure where marking begins, or set the thresholds by a template of your own",
            fatal=False,
        )


def _buffers(switch: Switch) -> Iterator[Gap]:
    if not switch.qos.profiles:
        return
    yield Gap(
        "FAB5507",
        "headroom, xon and xoff of lossless priority groups in bytes",
        "Junos sizes them itself from `cable-length` and `mru`, which are written",
        "compare `show class-of-service shared-buffer` of a device with the planned sizes",
        fatal=False,
    )
    split = shared_buffer(switch)
    exponents = {profile.headroom.dynamic_th for profile in switch.qos.profiles}
    low, high = ALPHA_RANGE
    if split is None:
        yield Gap(
            "FAB5508",
            "split of the shared buffer and threshold of lossless priority groups",
            "the catalog has no split for this model, so Junos's default split stays",
            "add lossless_percent, headroom_percent and lossy_percent to the model's Junos settings",
            fatal=False,
        )
        return
    if len(exponents) > 1 or min(exponents) < low or max(exponents) > high:
        asked = ", ".join(f"2^{exponent}" for exponent in sorted(exponents))
        yield Gap(
            "FAB5509",
            f"alpha {asked} for lossless priority groups",
            f"`dynamic-threshold` is one for the switch, from 2^{low} to 2^{high}; the smallest asked for is kept "
            "within that",
            "none needed: a smaller one pauses earlier",
            fatal=False,
        )
    sizes = {profile.name: profile.headroom.xoff_bytes for profile in switch.qos.profiles}
    wanted = sum(sizes[port.profile] for port in switch.ports if port.profile) * len(switch.qos.lossless)
    given = switch.model.buffers.total_bytes * split.headroom // 100
    if wanted > given:
        yield Gap(
            "FAB5510",
            f"{wanted} bytes of headroom",
            f"the partition `lossless-headroom` of {split.headroom} % holds {given} bytes, so not all ports can be "
            "paused at once without loss",
            "use shorter cables, fewer lossless classes, or another split in the model's Junos settings; or accept "
            "FAB5510 with a reason",
        )


def _watchdog(switch: Switch) -> Iterator[Gap]:
    watchdog = switch.qos.watchdog
    if watchdog is None:
        return
    timers = detection(watchdog)
    checks = (
        (timers.poll_ms, POLL_RANGE_MS),
        (timers.polls, DETECTION_RANGE),
        (timers.recovery_ms, RECOVERY_RANGE_MS),
    )
    if not all(low <= value <= high for value, (low, high) in checks):
        yield Gap(
            "FAB5511",
            f"PFC watchdog of {watchdog.detect_ms} / {watchdog.restore_ms} / {watchdog.poll_ms} ms "
            "(detect, restore, poll)",
            "Junos polls every {} to {} ms, detects after {} to {} polls and recovers after {} to {} ms".format(
                *POLL_RANGE_MS, *DETECTION_RANGE, *RECOVERY_RANGE_MS
            ),
            "set the timers within these ranges",
        )
    elif timers.detect_ms != watchdog.detect_ms:
        yield Gap(
            "FAB5512",
            f"PFC watchdog detection after {watchdog.detect_ms} ms",
            f"detection takes whole polls, at least two; written is {timers.detect_ms} ms",
            "none needed, or ask for a multiple of the poll interval",
            fatal=False,
        )


def _accounts(switch: Switch) -> Iterator[Gap]:
    yield from limits.accounts(
        "FAB5513",
        switch,
        "a commit without `root-authentication` is refused, and the first user's key is what it gets",
        fatal=True,
    )
    for user in switch.management.users:
        kind = user.ssh_key.partition(" ")[0]
        if kind not in KEY_STATEMENTS:
            yield Gap(
                "FAB5514",
                f"SSH key of {user.name} of kind {kind}",
                "Junos takes ECDSA, Ed25519 and RSA keys",
                "use a key of kind " + ", ".join(KEY_STATEMENTS),
            )


def _routing(switch: Switch) -> Iterator[Gap]:
    bgp = switch.bgp
    most = MAXIMUM_ECMP[-1]
    yield from limits.paths("FAB5515", bgp, most, f"`chassis maximum-ecmp` goes up to {most}")
    yield from limits.bfd("FAB5516", bgp, "Junos", BFD_INTERVAL_RANGE_MS, BFD_MULTIPLIER_RANGE)
    yield from _slower_bfd(switch)
    if bgp.keepalive_s != bgp.hold_s // HOLD_PER_KEEPALIVE:
        yield Gap(
            "FAB5517",
            f"BGP keepalive every {bgp.keepalive_s} s with a hold time of {bgp.hold_s} s",
            f"Junos sends a keepalive every third of the hold time, here {bgp.hold_s // HOLD_PER_KEEPALIVE} s",
            "ask for a hold time of three keepalives",
            fatal=False,
        )


def _slower_bfd(switch: Switch) -> Iterator[Gap]:
    bgp, held_ms = switch.bgp, bfd_interval_ms(switch)
    if held_ms is None or held_ms == bgp.bfd_interval_ms:
        return
    detection_ms = held_ms * bgp.bfd_multiplier
    why = f"QFX5000 switches support no interval below {held_ms} ms (Juniper, BFD for OSPF and for RIP)"
    yield Gap(
        "FAB5680",
        f"BFD every {bgp.bfd_interval_ms} ms",
        f"{why}; written is {held_ms} ms, at which both ends then run",
        f"none needed, or set `routing.bfd.interval_ms` to {held_ms}",
        fatal=False,
    )
    if detection_ms >= 1000 * bgp.hold_s:
        yield Gap(
            "FAB5681",
            f"BFD beside a hold time of {bgp.hold_s} s",
            f"{why}, and {bgp.bfd_multiplier} lost packets take {detection_ms} ms, so BGP would notice first",
            "set `routing.hold_s` above that, or write `bfd: false`",
        )


def _prefixes(switch: Switch) -> Iterator[Gap]:
    for prefix_list in switch.bgp.prefix_lists:
        if nested := _nested(prefix_list):
            yield Gap(
                "FAB5518",
                f"prefix list {prefix_list.name}, in which {nested[0]} lies within {nested[1]}",
                "Junos judges a route by the longest prefix of a filter list that holds it and looks at no other",
                "use pools that do not overlap",
            )


def _nested(prefix_list: PrefixList) -> tuple[str, str] | None:
    """Two prefixes of the list of which the first lies within the second, or equals it."""
    networks: list[IPv4Network | IPv6Network] = [ip_network(rule.prefix) for rule in prefix_list.rules]
    networks.sort(key=lambda network: (int(network.network_address), network.prefixlen))
    for outer, inner in pairwise(networks):
        if int(inner.network_address) <= int(outer.broadcast_address):
            return str(inner), str(outer)
    return None
