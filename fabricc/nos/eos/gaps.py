"""What EOS cannot express of what a switch is to do, as findings with a reason and a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.nos.base import Gap
from fabricc.nos.eos.vocabulary import (
    ALPHAS,
    BFD_INTERVAL_RANGE_MS,
    BFD_MULTIPLIER_RANGE,
    MAXIMUM_MTU,
    MAXIMUM_PATHS,
    MAXIMUM_PRIORITY,
    POLLING_RANGE_MS,
    SPEEDS,
    WATCHDOG_ACTIONS,
    WATCHDOG_RANGE_MS,
    is_trident,
    watchdog_timers,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch


def gaps(switch: Switch) -> list[Gap]:
    """Every gap of this switch, in the order of the codes."""
    found = [*_ports(switch), *_classes(switch), *_buffers(switch), *_watchdog(switch), *_routing(switch)]
    if not switch.management.users:
        found.append(
            Gap(
                "FAB5115",
                "no account with an SSH key",
                "a full replace leaves only EOS's own `admin`, which without a password logs in at the console only",
                "name at least one user with a key under `management`",
                fatal=False,
            )
        )
    return found


def _ports(switch: Switch) -> Iterator[Gap]:
    odd = sorted({(p.speed_gbps, p.lanes) for p in switch.ports} - SPEEDS.keys())
    for speed_gbps, lanes in odd:
        yield Gap(
            "FAB5101",
            f"{speed_gbps} Gb/s over {lanes} lanes",
            "EOS has no `speed` word for this rate and number of lanes (Arista AVD 6.4, ethernet_interfaces.speed)",
            "use one of " + ", ".join(SPEEDS.values()),
        )
    mtu = max((p.mtu for p in switch.ports if p.enabled), default=0)
    if mtu > MAXIMUM_MTU:
        yield Gap(
            "FAB5102",
            f"IP MTU {mtu}",
            f"the largest that EOS takes on a routed port is {MAXIMUM_MTU}",
            f"set the fabric's MTU to {MAXIMUM_MTU} or less",
        )


def _classes(switch: Switch) -> Iterator[Gap]:
    for traffic_class in switch.qos.classes:
        what = f"class {traffic_class.name}"
        if not 0 <= traffic_class.priority <= MAXIMUM_PRIORITY:
            yield Gap(
                "FAB5103",
                f"{what} on priority {traffic_class.priority}",
                "EOS has traffic classes, priorities and transmit queues 0 to 7",
                "choose a priority from 0 to 6",
            )
        elif traffic_class.priority == MAXIMUM_PRIORITY:
            yield Gap(
                "FAB5104",
                f"{what} on priority 7",
                "EOS keeps traffic class 7 for its own control traffic, which would share the queue",
                "choose a priority from 0 to 6",
                fatal=False,
            )
        if not traffic_class.strict and not 1 <= traffic_class.weight_percent <= 100:
            yield Gap(
                "FAB5105",
                f"{what} with {traffic_class.weight_percent} % of the bandwidth",
                "`bandwidth percent` takes 1 to 100",
                "give the class at least one percent",
            )
    for profile in switch.qos.profiles:
        ecn = profile.ecn
        if ecn is not None and not (1 <= ecn.max_percent <= 100 and 1 <= ecn.min_bytes <= ecn.max_bytes):
            yield Gap(
                "FAB5106",
                f"ECN from {ecn.min_bytes} to {ecn.max_bytes} bytes at {ecn.max_percent} % on {profile.name}",
                "EOS takes thresholds from 1 byte, ascending, and a probability from 1 to 100 %",
                "set ECN thresholds and probability within these ranges",
            )


def _buffers(switch: Switch) -> Iterator[Gap]:
    if not switch.qos.lossless:
        return
    if not is_trident(switch):
        yield Gap(
            "FAB5107",
            "headroom and thresholds of lossless priority groups",
            "EOS sets the ingress buffers of the sand family itself; `platform trident mmu` does not exist there",
            "check the cable lengths against Arista's figures for the line card",
            fatal=False,
        )
        return
    low, high = min(ALPHAS), max(ALPHAS)
    exponents = sorted({p.headroom.dynamic_th for p in switch.qos.profiles})
    for exponent in (e for e in exponents if not low <= e <= high):
        yield Gap(
            "FAB5108",
            f"alpha 2^{exponent} for lossless priority groups",
            f"EOS has thresholds from {ALPHAS[low]} to {ALPHAS[high]}; the nearest of them is written",
            f"choose a dynamic threshold from {low} to {high}",
            fatal=False,
        )


def _watchdog(switch: Switch) -> Iterator[Gap]:
    watchdog = switch.qos.watchdog
    if watchdog is None:
        return
    timers = watchdog_timers(watchdog)
    low, high = WATCHDOG_RANGE_MS
    if not (low <= timers.timeout_ms <= high and low <= timers.recovery_ms <= high):
        yield Gap(
            "FAB5109",
            f"PFC watchdog detection {watchdog.detect_ms} ms and restoration {watchdog.restore_ms} ms",
            "EOS takes 0.01 to 60 seconds for both",
            f"set both from {low} to {high} ms",
        )
    low, high = POLLING_RANGE_MS
    if not low <= timers.polling_ms <= high:
        yield Gap(
            "FAB5110",
            f"PFC watchdog polling every {timers.polling_ms} ms",
            "EOS polls every 0.005 to 30 seconds, at most half of the shorter timer",
            f"set the poll interval from {low} to {high} ms and the timers to at least twice that",
        )
    asked = (watchdog.detect_ms, watchdog.restore_ms, watchdog.poll_ms)
    held = (timers.timeout_ms, timers.recovery_ms, timers.polling_ms)
    if asked != held:
        yield Gap(
            "FAB5111",
            "PFC watchdog timers of {} / {} / {} ms (detect, restore, poll)".format(*asked),
            "EOS has steps of 10 ms and polls at most at half of the shorter timer; "
            "written are {} / {} / {} ms".format(*held),
            "none needed, or ask for the figures that are written",
            fatal=False,
        )
    if WATCHDOG_ACTIONS[watchdog.action] != watchdog.action:
        yield Gap(
            "FAB5112",
            f"PFC watchdog action {watchdog.action}",
            "EOS drops, disables the port or only notifies; `notify-only` is written",
            "use the action drop",
            fatal=False,
        )
    for traffic_class in switch.qos.lossless:
        if traffic_class.strict:
            yield Gap(
                "FAB5113",
                f"PFC watchdog for the strict class {traffic_class.name}",
                "EOS watches queues with guaranteed bandwidth only, and a strict queue has none",
                "give the lossless class a weight",
                fatal=False,
            )


def _routing(switch: Switch) -> Iterator[Gap]:
    bgp = switch.bgp
    if not 1 <= bgp.maximum_paths <= MAXIMUM_PATHS:
        yield Gap(
            "FAB5114",
            f"{bgp.maximum_paths} equal-cost paths",
            f"`maximum-paths` takes 1 to {MAXIMUM_PATHS}",
            f"use at most {MAXIMUM_PATHS} uplinks per switch",
        )
    low, high = BFD_INTERVAL_RANGE_MS
    few, many = BFD_MULTIPLIER_RANGE
    interval = bgp.bfd_interval_ms
    if interval is not None and not (low <= interval <= high and few <= bgp.bfd_multiplier <= many):
        yield Gap(
            "FAB5116",
            f"BFD every {interval} ms, {bgp.bfd_multiplier} times",
            f"EOS takes {low} to {high} ms and a multiplier from {few} to {many}",
            "set BFD within these ranges",
        )
