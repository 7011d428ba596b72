"""What NX-OS cannot express of what a switch is to do, as findings with a reason and a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import limits
from fabricc.back.nos.base import Gap
from fabricc.back.nos.nxos.capabilities import DYNAMIC_LOAD_BALANCING, MODEL, has
from fabricc.back.nos.nxos.lossless import is_long, pause_of, pauses
from fabricc.back.nos.nxos.vocabulary import (
    BFD_INTERVAL_RANGE_MS,
    BFD_MULTIPLIER_RANGE,
    BREAKOUTS,
    DEFAULT_PAUSE_M,
    LLDP_RANGE_S,
    MAXIMUM_PATHS,
    MAXIMUM_RESTORE,
    MAXIMUM_SHUTDOWN,
    MTU_RANGE,
    PAUSE_BUFFER_RANGE,
    QUEUES,
    SPEEDS_GBPS,
    breakout,
    family,
    watchdog_timers,
)
from fabricc.fabric.facts import SETTINGS
from fabricc.fabric.routing import Spreading
from fabricc.operate.drivers import PROOFS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch


_PAUSE_SOURCE = "Nexus 9000 QoS guide 10.5, priority flow control"


def gaps(switch: Switch) -> list[Gap]:
    """Every gap of this switch, in the order of the codes."""
    found = [
        *_ports(switch), *_classes(switch), *_buffers(switch), *_watchdog(switch), *_routing(switch),
        *_accounts(switch), *_balancing(switch), *_services(switch),
    ]  # fmt: skip
    if not has(switch, MODEL):
        first = MODEL.first[family(switch)]
        found.append(
            Gap(
                "FAB5416",
                "the switch model",
                f"the earliest release known to name its ASIC family is {first}, not {switch.release} "
                f"({MODEL.source})",
                f"use release {first} or later",
                fatal=False,
            )
        )
    return sorted(found, key=lambda gap: gap.code)


def _ports(switch: Switch) -> Iterator[Gap]:
    for gbps in sorted({p.speed_gbps for p in switch.ports} - set(SPEEDS_GBPS)):
        yield Gap(
            "FAB5401",
            f"ports of {gbps} Gb/s",
            "NX-OS has no such speed (terraform-provider-nxos, l1PhysIf.speed)",
            "use one of " + ", ".join(map(str, SPEEDS_GBPS)) + " Gb/s",
        )
    splits = {(p.children, p.speed_gbps) for p in switch.ports if p.children > 1 and breakout(p) is None}
    for children, gbps in sorted(splits):
        yield Gap(
            "FAB5402",
            f"cages split into {children} x {gbps} Gb/s",
            "NX-OS has no such breakout map (terraform-provider-nxos, imFpP.breakoutMap)",
            "use one of " + ", ".join(BREAKOUTS.values()),
        )
    low, high = MTU_RANGE
    wrong = {p.mtu for p in switch.ports if p.enabled and not low <= p.mtu <= high}
    for mtu in sorted(wrong):
        yield Gap(
            "FAB5403",
            f"IP MTU {mtu}",
            f"a routed port takes {low} to {high} bytes (terraform-provider-nxos, l1PhysIf.mtu)",
            f"set the fabric's MTU from {low} to {high}",
        )


def _classes(switch: Switch) -> Iterator[Gap]:
    for c in switch.qos.classes:
        if c.priority not in QUEUES:
            yield Gap(
                "FAB5404",
                f"class {c.name} on priority {c.priority}",
                "NX-OS has qos-groups, priorities and queues 0 to 7",
                "choose a priority from 0 to 7",
            )
    weighted = [c for c in switch.qos.classes if not c.strict]
    total = sum(c.weight_percent for c in weighted)
    if total > 100 or any(c.weight_percent < 1 for c in weighted):
        shares = ", ".join(f"{c.name} {c.weight_percent} %" for c in weighted)
        yield Gap(
            "FAB5405",
            f"bandwidth shares {shares}",
            "`bandwidth remaining percent` takes 1 to 100 for a queue in use, and no more than 100 in all",
            "give every weighted class at least one percent, and 100 in all",
        )
    for profile in switch.qos.profiles:
        yield from limits.marking(
            "FAB5406",
            profile,
            "`random-detect` takes thresholds from 1 byte, ascending, and a probability from 1 to 100 %",
        )


def _buffers(switch: Switch) -> Iterator[Gap]:
    if not switch.qos.lossless:
        return
    low, high = PAUSE_BUFFER_RANGE
    for pause in pauses(switch):
        if not (
            low <= pause.buffer_bytes <= high and pause.resume_bytes <= pause.pause_bytes < pause.buffer_bytes
        ):
            yield Gap(
                "FAB5407",
                f"pause buffer of {pause.buffer_bytes} bytes, pausing at {pause.pause_bytes} and resuming at "
                f"{pause.resume_bytes}, at {pause.speed_gbps} Gb/s over {pause.cable_m} m",
                f"NX-OS takes {low} to {high} bytes, pauses below that and resumes at the pause threshold or below "
                "(terraform-provider-nxos, ipqosPause)",
                "check the `pause` figures of the switch model's NX-OS settings",
            )
    yield Gap(
        "FAB5685",
        "where lossless classes pause, in bytes",
        f"up to {DEFAULT_PAUSE_M} m the platform's own buffers hold and are left alone ({_PAUSE_SOURCE}); their sizes "
        "are not published, so ECN before PFC is proved for the catalog's figures alone",
        "compare `show queuing interface` of a device with the planned marks",
        fatal=False,
    )
    long = {(p.speed_gbps, p.cable_m) for p in switch.ports if is_long(p) and pause_of(switch, p) is None}
    for speed_gbps, cable_m in sorted(long, key=str):
        yield Gap(
            "FAB5686",
            f"a lossless class over {cable_m} m at {speed_gbps} Gb/s",
            f"beyond {DEFAULT_PAUSE_M} m NX-OS must be given pause thresholds ({_PAUSE_SOURCE}), "
            "and none are published",
            f"use cables up to {DEFAULT_PAUSE_M} m, or add Cisco's figures for your switch as `pause` to the model's "
            "NX-OS settings",
        )


def _watchdog(switch: Switch) -> Iterator[Gap]:
    watchdog = switch.qos.watchdog
    if watchdog is None:
        return
    timers = watchdog_timers(watchdog)
    if timers.shutdown > MAXIMUM_SHUTDOWN or timers.restore > MAXIMUM_RESTORE:
        yield Gap(
            "FAB5410",
            f"PFC watchdog detection {watchdog.detect_ms} ms and restoration {watchdog.restore_ms} ms",
            f"NX-OS takes up to {MAXIMUM_SHUTDOWN} and {MAXIMUM_RESTORE} intervals of at most 1000 ms",
            "set detection to 10 s or less and restoration to 100 s or less",
        )
    yield from limits.watchdog_timers(
        "FAB5411",
        watchdog,
        (timers.detect_ms, timers.restore_ms, timers.interval_ms),
        "NX-OS polls every 100 to 1000 ms and has multiples of that",
    )
    yield from limits.watchdog_action(
        "FAB5412", watchdog, "NX-OS drops what a stuck queue holds; that is written"
    )


def _routing(switch: Switch) -> Iterator[Gap]:
    bgp = switch.bgp
    most = MAXIMUM_PATHS[family(switch)]
    reason = f"`maximum-paths` takes 1 to {most} on {family(switch)}"
    yield from limits.paths("FAB5413", bgp, most, reason)
    source = " (terraform-provider-nxos, bfdInst)"
    yield from limits.bfd("FAB5414", bgp, "NX-OS", BFD_INTERVAL_RANGE_MS, BFD_MULTIPLIER_RANGE, source)


def _accounts(switch: Switch) -> Iterator[Gap]:
    yield from limits.accounts(
        "FAB5415",
        switch,
        "after a full replace only the device's own `admin` is left, with the password it had",
    )
    yield from limits.login("FAB9045", switch, "NX-API", PROOFS["nxos"])
    for user in switch.management.users:
        if user.ssh_key.startswith("sk-"):
            yield Gap(
                "FAB5417",
                f"key of {user.name} on a security token",
                "NX-OS takes RSA, ECDSA and Ed25519 keys; `sk-` types are not among them",
                "add a key of another type, or another user",
                fatal=False,
            )


def _balancing(switch: Switch) -> Iterator[Gap]:
    balancing = switch.load_balancing
    if balancing.mode is not Spreading.HASH:
        if not has(switch, DYNAMIC_LOAD_BALANCING):
            first = DYNAMIC_LOAD_BALANCING.first[family(switch)]
            remedy = f"use release {first} or later, or " if first else ""
            for path, asked in (
                ("load_balancing/mode", True),
                ("load_balancing/flowlet_idle_us", balancing.flowlet_idle_us is not None),
            ):
                if asked:
                    yield Gap(
                        "FAB5418",
                        SETTINGS[path],
                        f"release {switch.release} has no dynamic load balancing on {family(switch)} "
                        f"({DYNAMIC_LOAD_BALANCING.source})",
                        remedy + "leave `load_balancing.mode` at `hash`",
                    )
        else:
            yield Gap(
                "FAB5419",
                "dynamic load balancing",
                "NX-OS applies it after a reload, and applies no egress policies to its flows "
                "(Nexus 9000 unicast routing guide 10.5)",
                "try it on one switch first, marking and shares of the egress queues above all",
                fatal=False,
            )
    if balancing.queue_pairs:
        yield Gap(
            "FAB5420",
            SETTINGS["load_balancing/queue_pairs"],
            "`ip load-sharing … udf` hashes bytes in place of the ports, from a base that is not published, and is "
            "not documented for GX2 and Silicon One (Nexus 9000 interfaces guide 10.3, ECMP load balancing)",
            "leave it out: the UDP source port, in which NICs tell queue pairs apart, is hashed",
        )


def _services(switch: Switch) -> Iterator[Gap]:
    management = switch.management
    low, high = LLDP_RANGE_S
    if not low <= management.lldp_interval_s <= high:
        yield Gap(
            "FAB5421",
            f"LLDP every {management.lldp_interval_s} s",
            "`lldp holdtime` takes up to 255 s, and a neighbour is to miss four announcements "
            "(Cisco Network as Code, NX-OS data model, lldp)",
            f"set `management.lldp.interval_s` from {low} to {high}",
        )
    if management.access and ":" in management.address:
        yield Gap(
            "FAB5422",
            SETTINGS["management/access"],
            "the networks are IPv4 and the management address is IPv6, so nobody could reach the switch",
            "leave `management.access` out, or manage the switches over IPv4",
        )
