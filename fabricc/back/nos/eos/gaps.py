"""What EOS cannot express of what a switch is to do, as findings with a reason and a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import limits
from fabricc.back.nos.base import Gap
from fabricc.back.nos.eos.capabilities import PACKETS, PAUSE, has, lacking
from fabricc.back.nos.eos.marking import delay_us, delay_words, step_us, thresholds
from fabricc.back.nos.eos.vocabulary import (
    ALPHAS,
    BFD_INTERVAL_RANGE_MS,
    BFD_MULTIPLIER_RANGE,
    GRPC_PORT,
    HEADROOM_POOL_BYTES,
    MAXIMUM_MTU,
    MAXIMUM_PATHS,
    MAXIMUM_PRIORITY,
    POLLING_RANGE_MS,
    SPEEDS,
    SSL_PROFILE,
    WATCHDOG_RANGE_MS,
    control_plane,
    family,
    is_trident,
    watchdog_timers,
)
from fabricc.fabric.facts import SETTINGS
from fabricc.operate.drivers import PROOFS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch


def gaps(switch: Switch) -> list[Gap]:
    """Every gap of this switch, in the order of the codes."""
    found = [
        *_ports(switch),
        *_classes(switch),
        *_buffers(switch),
        *_marking(switch),
        *_watchdog(switch),
        *_routing(switch),
        *_commands(switch),
        *_access(switch),
    ]
    reason = (
        "a full replace leaves only EOS's own `admin`, which without a password logs in at the console only"
    )
    found += limits.accounts("FAB5115", switch, reason)
    return [*found, *limits.login("FAB5672", switch, "eAPI", PROOFS["eos"])]


def _ports(switch: Switch) -> Iterator[Gap]:
    odd = sorted({(p.speed_gbps, p.lanes) for p in switch.ports} - SPEEDS.keys())
    for speed_gbps, lanes in odd:
        yield Gap(
            "FAB5101",
            f"{speed_gbps} Gb/s over {lanes} lanes",
            "EOS has no `speed` word for this rate and number of lanes (Arista AVD 6.4, ethernet_interfaces.speed)",
            "use one of " + ", ".join(SPEEDS.values()),
        )
    reason = f"the largest that EOS takes on a routed port is {MAXIMUM_MTU}"
    yield from limits.mtu("FAB5102", switch, MAXIMUM_MTU, reason)


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
        yield from limits.weight("FAB5105", traffic_class, "`bandwidth percent` takes 1 to 100")
    for profile in switch.qos.profiles:
        yield from limits.marking(
            "FAB5106",
            profile,
            "EOS takes thresholds from 1 byte, ascending, and a probability from 1 to 100 %",
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
    pool = switch.qos.pools.headroom_bytes if switch.qos.pools else 0
    if pool > HEADROOM_POOL_BYTES:
        yield Gap(
            "FAB5673",
            f"a headroom pool of {pool} bytes",
            f"EOS's help has `headroom-pool limit` up to {HEADROOM_POOL_BYTES} bytes, and no document has the "
            "range of this switch (aristanetworks/avd issue 4921)",
            "type the line on one switch before you load the configuration, which it may fail",
            fatal=False,
        )


def _marking(switch: Switch) -> Iterator[Gap]:
    """Where EOS marks by delay: what its one threshold makes of Kmin, Kmax and the probability between them."""
    step = step_us(switch)
    held = {p.name: (p, us) for p in switch.qos.profiles if (us := delay_us(switch, p)) is not None}
    if step is None or not held:
        return
    said = ", ".join(f"{name} {delay_words(us)}" for name, (_, us) in held.items())
    yield Gap(
        "FAB5674",
        "a ramp between two thresholds for one class",
        f"this line card marks by delay, all packets above one threshold, in every queue that can wait: {said}, the "
        "time in which the port sends Kmax",
        "none needed; `congestion: {profile: dctcp}` plans with one threshold",
        fatal=False,
    )
    if any(us % 1000 for _, us in held.values()):
        yield Gap(
            "FAB5675",
            "a delay in microseconds",
            "the one public text of `random-detect ecn delay threshold` has milliseconds; microseconds are a unit of "
            "other ECN thresholds of this family (AVD 6.4, qos_profiles.tx_queues)",
            "type the line on one switch first; where it is refused, give its model `ecn_delay: {step_us: 1000}`",
            fatal=False,
        )
    for name, (profile, us) in held.items():
        late = thresholds(us, profile.speed_gbps).min_bytes
        if profile.ecn and late > profile.ecn.max_bytes:
            yield Gap(
                "FAB5676",
                f"marks from {profile.ecn.max_bytes} bytes on {name}",
                f"the shortest delay that is written is {delay_words(us)}, {late} bytes at {profile.speed_gbps}G",
                "where the switch takes microseconds, give its model `ecn_delay: {step_us: 1}`",
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
    yield from limits.watchdog_timers(
        "FAB5111",
        watchdog,
        (timers.timeout_ms, timers.recovery_ms, timers.polling_ms),
        "EOS has steps of 10 ms and polls at most at half of the shorter timer",
    )
    yield from limits.watchdog_action(
        "FAB5112", watchdog, "EOS drops, disables the port or only notifies; `notify-only` is written"
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


def _commands(switch: Switch) -> Iterator[Gap]:
    for capability in lacking(switch):
        since = capability.first[family(switch)]
        lack = (
            f"begins with EOS {since}" if since else f"no EOS release is known to have it on {family(switch)}"
        )
        yield Gap(capability.code, capability.feature, f"{lack} ({capability.source})", capability.remedy)
    if PACKETS.asked(switch) and has(switch, PACKETS):
        yield Gap(
            "FAB5121",
            PACKETS.feature,
            "the manual's syntax has `member-selection` before `optimal always`, its example has not, and no "
            f"switch was at hand ({PACKETS.source})",
            "type the line on one switch before you load the configuration, which it may fail",
            fatal=False,
        )
    if PAUSE.asked(switch) and has(switch, PAUSE):
        yield Gap(
            "FAB5121",
            PAUSE.feature,
            f"the manual names `inactivity` and neither its unit nor its range ({PAUSE.source})",
            "type the line on one switch before you load the configuration, which it may fail",
            fatal=False,
        )


def _access(switch: Switch) -> Iterator[Gap]:
    management = switch.management
    if management.gnmi_port is not None:
        yield Gap(
            "FAB5670",
            "a certificate for gNMI",
            f"without a TLS profile EOS serves gNMI in the clear; the one written, `{SSL_PROFILE}`, names a "
            "certificate of the device's own store, which is no part of a configuration (AVD 6.4, management_security)",
            f"put it there once: `copy … certificate:{SSL_PROFILE}.crt` and `copy … sslkey:{SSL_PROFILE}.key`",
            fatal=False,
        )
    if control_plane(management) and ":" in management.address:
        yield Gap(
            "FAB5671",
            f"gNMI at port {management.gnmi_port} over IPv6",
            f"EOS lets gNMI through to its CPU at port {GRPC_PORT} alone, and the list that is written for another "
            "port is of IPv4 (Arista openmgmt, Securing Management Services)",
            f"use port {GRPC_PORT}, or give switches an IPv4 management address",
        )
    if management.access and ":" in management.address:
        yield Gap(
            "FAB5122",
            SETTINGS["management/access"],
            f"they are IPv4 networks and {management.address} is not: the lists would guard nothing",
            "give switches an IPv4 management address, or leave `access` out",
        )


def _routing(switch: Switch) -> Iterator[Gap]:
    bgp = switch.bgp
    yield from limits.paths("FAB5114", bgp, MAXIMUM_PATHS, f"`maximum-paths` takes 1 to {MAXIMUM_PATHS}")
    yield from limits.bfd("FAB5116", bgp, "EOS", BFD_INTERVAL_RANGE_MS, BFD_MULTIPLIER_RANGE)
