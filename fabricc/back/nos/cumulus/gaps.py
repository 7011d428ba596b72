"""What Cumulus Linux cannot express, per release and model: asked of one switch, answered as gaps with the reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import limits
from fabricc.back.nos.base import Gap
from fabricc.back.nos.cumulus.document import ssh_key
from fabricc.back.nos.cumulus.ports import FABRIC, LANES_PER_PORT, MTU_RANGE, SPEEDS
from fabricc.back.nos.cumulus.qos import (
    ALPHAS,
    ROBUSTNESS_RANGE,
    pause_bytes,
    shared_alpha,
    timers,
    used_profiles,
)
from fabricc.back.nos.cumulus.release import OWN_ACCOUNT, RELEASES
from fabricc.fabric.facts import SETTINGS
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.back.nos.cumulus.release import Release
    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import PortProfile

HOST_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?")
DESCRIPTION_LENGTH = 255
BFD_RANGE_MS = (50, 60_000)
BFD_MULTIPLIERS = (2, 255)
HOLD_RANGE_S = (3, 65_535)
ADAPTIVE_ASICS, ADAPTIVE_SPEEDS = ("spectrum4",), (200, 400)
"""Where adaptive routing works (NVIDIA, Equal Cost Multipath Load Sharing, Cumulus Linux 5.14)."""

TRIMMING_ASICS, TRIMMED_BYTES, TRIMMED_STEP = ("spectrum4", "spectrum5"), (256, 1024), 4
"""Where packets are trimmed, and to what (NVIDIA, Packet Trimming, Cumulus Linux 5.14)."""


def gaps(switch: Switch, release: Release) -> Iterator[Gap]:
    """Everything this switch asks for that `release` on its model cannot do, port matters once for each kind."""
    yield from _port_gaps(switch)
    yield from _class_gaps(switch)
    for profile in used_profiles(switch):
        yield from _profile_gaps(profile)
    yield from _alpha_gaps(switch)
    yield from _watchdog_gaps(switch)
    yield from _routing_gaps(switch, release)
    yield from _account_gaps(switch, release)
    yield from _service_gaps(switch, release)
    yield from _balancing_gaps(switch)
    yield from _trimming_gaps(switch, release)
    if switch.qos.link_retry:
        yield Gap(
            "FAB5724",
            SETTINGS["link_retry"],
            "no object model of NVUE has it, from 5.0 to 5.18 (nvueschema 0.1.0); NVIDIA documents it for InfiniBand "
            "ports of MLNX-OS only",
            "leave it out",
        )


def unknown_release(name: str) -> Gap:
    """The gap of a release that this back end does not know."""
    known = ", ".join(RELEASES)
    return Gap("FAB5701", f"Cumulus Linux {name}", f"the releases known are {known}", f"use one of {known}")


def _port_gaps(switch: Switch) -> Iterator[Gap]:
    for speed_gbps in sorted({port.speed_gbps for port in switch.ports} - set(SPEEDS)):
        yield Gap(
            "FAB5702",
            f"ports of {speed_gbps} Gb/s",
            "`link speed` has no word for it (NVUE object model)",
            "use one of " + ", ".join(f"{speed}G" for speed in SPEEDS),
        )
    low, high = MTU_RANGE
    for mtu in sorted({port.mtu for port in switch.ports if not low <= port.mtu <= high}):
        yield Gap(
            "FAB5703",
            f"IP MTU {mtu}",
            f"`link mtu` takes {low} to {high}",
            f"set an MTU from {low} to {high}",
        )
    for children, lanes in sorted({(port.children, port.lanes) for port in switch.ports}):
        if children not in LANES_PER_PORT or (children > 1 and lanes not in LANES_PER_PORT):
            yield Gap(
                "FAB5704",
                f"{children} ports of {lanes} lanes out of one cage",
                "`link breakout` has 1x, 2x, 4x and 8x, of 1, 2, 4 or 8 lanes each",
                "use such a breakout",
            )
    described = [port for port in switch.ports if not _fits(port.description)]
    for text in [port.description for port in described[:1]] + [
        session.peer for session in switch.bgp.sessions if not _fits(session.peer)
    ][:1]:
        yield Gap(
            "FAB5714",
            f"description {text[:40]!r}",
            f"a description has 1 to {DESCRIPTION_LENGTH} printable ASCII characters",
            "use shorter names, of ASCII characters",
        )
    if not HOST_NAME.fullmatch(switch.name):
        yield Gap(
            "FAB5714",
            f"host name {switch.name}",
            "`system hostname` has letters, digits and hyphens, at most 63, and ends in no hyphen",
            "name the switch so",
        )


def _fits(text: str) -> bool:
    return 1 <= len(text) <= DESCRIPTION_LENGTH and text.isascii() and text.isprintable()


def _class_gaps(switch: Switch) -> Iterator[Gap]:
    for c in switch.qos.classes:
        if not 0 <= c.priority <= 7 or not (c.strict or 1 <= c.weight_percent <= 100):
            yield Gap(
                "FAB5705",
                f"class {c.name} on priority {c.priority} with {c.weight_percent} % of the bandwidth",
                "switch priorities and traffic classes are 0 to 7, `bw-percent` 1 to 100",
                "choose both within these ranges",
            )
    total = sum(c.weight_percent for c in switch.qos.classes if not c.strict)
    if total > 100:
        yield Gap(
            "FAB5705",
            f"{total} % of the bandwidth",
            "the shares of an egress scheduler are 100 % at most",
            "lower the weights",
        )


def _profile_gaps(profile: PortProfile) -> Iterator[Gap]:
    headroom = profile.headroom
    if pause_bytes(headroom) < 2 or headroom.xon_offset_bytes or not 1 <= headroom.cable_m <= 100_000:
        yield Gap(
            "FAB5706",
            f"headroom of {profile.name}: {headroom.size_bytes} bytes, {headroom.xoff_bytes} of them behind the pause",
            "`qos pfc` takes a port buffer of which less than all is behind `xoff-threshold`: the model of Spectrum "
            "ASICs",
            "correct the row of the model's headroom table",
        )
    yield from limits.marking(
        "FAB5708",
        profile,
        "`congestion-control` takes thresholds from 1 byte, ascending, and a probability up to 100 %",
        least_percent=0,
    )


def _alpha_gaps(switch: Switch) -> Iterator[Gap]:
    profiles = used_profiles(switch)
    alpha = shared_alpha(profiles)
    asked = sorted({profile.headroom.dynamic_th for profile in profiles})
    if alpha is not None and asked != [alpha]:
        yield Gap(
            "FAB5707",
            "alpha " + ", ".join(f"2^{exponent}" for exponent in asked) + " for lossless priority groups",
            f"NVUE has one alpha for all of them, from {ALPHAS[min(ALPHAS)]} to {ALPHAS[max(ALPHAS)]}; "
            f"written is {ALPHAS[alpha]}",
            "give every cable class the same dynamic threshold, within the range",
            fatal=False,
        )


def _watchdog_gaps(switch: Switch) -> Iterator[Gap]:
    watchdog = switch.qos.watchdog
    if watchdog is None:
        return
    held = timers(watchdog)
    if held.robustness > ROBUSTNESS_RANGE[1]:
        yield Gap(
            "FAB5709",
            f"PFC watchdog detection {watchdog.detect_ms} ms with polls of {held.polling_ms} ms",
            f"`robustness` is {ROBUSTNESS_RANGE[1]} polls at most",
            "shorten the detection time or lengthen the polls",
        )
    elif (watchdog.poll_ms, watchdog.detect_ms) != (held.polling_ms, held.detect_ms):
        yield Gap(
            "FAB5710",
            f"PFC watchdog detection {watchdog.detect_ms} ms with polls of {watchdog.poll_ms} ms",
            "NVUE polls every 100 to 5000 ms and detects after a whole number of polls; "
            f"written are {held.detect_ms} and {held.polling_ms} ms",
            "none needed, or ask for the figures that are written",
            fatal=False,
        )
    yield from limits.watchdog_action(
        "FAB5711", watchdog, "Cumulus Linux drops what a storm holds up and does nothing else"
    )


def _routing_gaps(switch: Switch, release: Release) -> Iterator[Gap]:
    bgp = switch.bgp
    most = min(release.ebgp_paths, int(switch.model.nos["cumulus"]["ecmp_paths"]))
    if not 1 <= bgp.maximum_paths <= most:
        yield Gap(
            "FAB5712",
            f"{bgp.maximum_paths} equal-cost paths",
            f"Cumulus Linux {release.name} takes {most} on {switch.model.title} (`multipaths ebgp`)",
            f"at most {most} uplinks per switch",
        )
    interval = bgp.bfd_interval_ms
    timers_fit = interval is None or (
        BFD_RANGE_MS[0] <= interval <= BFD_RANGE_MS[1]
        and BFD_MULTIPLIERS[0] <= bgp.bfd_multiplier <= BFD_MULTIPLIERS[1]
    )
    if not timers_fit or not HOLD_RANGE_S[0] <= bgp.hold_s <= HOLD_RANGE_S[1]:
        yield Gap(
            "FAB5713",
            f"BFD every {interval} ms, {bgp.bfd_multiplier} times, hold time {bgp.hold_s} s",
            "NVUE takes BFD intervals of 50 to 60000 ms, multipliers of 2 to 255 and hold times from 3 s",
            "set the timers within these ranges",
        )
    named = {community_list.community for community_list in bgp.community_lists}
    added = {c.add_community for rows in bgp.route_maps for c in rows.clauses if c.add_community}
    if added and named - added:
        yield Gap(
            "FAB5717",
            f"adding the community {', '.join(sorted(added))} to those of a route",
            "`set community` of a route map puts it in place of all others",
            "none for the fabric's own graceful shutdown; else match the community before it is replaced",
            fatal=False,
        )


def _account_gaps(switch: Switch, release: Release) -> Iterator[Gap]:
    for account in switch.management.users:
        kind, key = ssh_key(account)
        if kind not in release.key_types or not key:
            yield Gap(
                "FAB5715",
                f"account {account.name} with a key of type {kind}",
                f"an authorized key is one of {', '.join(sorted(release.key_types))}",
                "give the account such a key",
            )
    if not switch.management.users:
        yield Gap(
            "FAB5716",
            "no account with an SSH key",
            f"the account `{OWN_ACCOUNT}` is kept without a usable password, so nobody could log in",
            f"name at least one user with a key under `management`, be it `{OWN_ACCOUNT}`",
            fatal=False,
        )


def _service_gaps(switch: Switch, release: Release) -> Iterator[Gap]:
    if switch.management.gnmi_port is not None and not release.gnmi:
        yield Gap(
            "FAB5719",
            SETTINGS["management/gnmi_port"],
            f"`system gnmi-server` is there from 5.13 on; with {release.name} gNMI belongs to NetQ's agent, which NVUE "
            "does not configure",
            "use release 5.13 or later, or enable it in NetQ's agent and leave it out here",
        )


def _balancing_gaps(switch: Switch) -> Iterator[Gap]:
    balancing = switch.load_balancing
    if balancing.mode is Spreading.PACKET:
        speeds = {port.speed_gbps for port in switch.ports if port.direction in FABRIC}
        beside = sorted(speeds.difference(ADAPTIVE_SPEEDS))
        if switch.model.asic_family not in ADAPTIVE_ASICS or beside:
            where = f"ports of {beside[0]} Gb/s" if beside else switch.model.asic
            yield Gap(
                "FAB5720",
                SETTINGS["load_balancing/mode"],
                f"adaptive routing is for Spectrum-4 at 200 and 400 Gb/s, and this switch has {where}",
                "use `mode: hash`, or links of 400 or 200 Gb/s between Spectrum-4 switches",
            )
    whole = "adaptive routing decides for every packet (NVIDIA, Equal Cost Multipath), NVUE has no flowlets"
    if balancing.mode is Spreading.FLOWLET:
        yield Gap("FAB5721", SETTINGS["load_balancing/mode"], whole, "use `mode: packet` or `hash`")
    if balancing.flowlet_idle_us is not None:
        yield Gap("FAB5721", SETTINGS["load_balancing/flowlet_idle_us"], whole, "leave `flowlet_idle_us` out")
    if balancing.queue_pairs:
        yield Gap(
            "FAB5722",
            SETTINGS["load_balancing/queue_pairs"],
            "`ecmp-hash` has no field of the RoCE transport header (NVUE object model)",
            "leave it out; more queue pairs per connection spread by their UDP source ports",
        )


def _trimming_gaps(switch: Switch, release: Release) -> Iterator[Gap]:
    cut = switch.qos.trimming
    if cut is None:
        return
    least, most = TRIMMED_BYTES
    if not release.trimming:
        reason, remedy = (
            f"`packet-trim` is there from 5.14 on, this is {release.name}",
            "use release 5.14 or later",
        )
    elif switch.model.asic_family not in TRIMMING_ASICS:
        reason, remedy = f"it is for Spectrum-4 and Spectrum-5, this is {switch.model.asic}", "leave it out"
    elif not least <= cut.size_bytes <= most or cut.size_bytes % TRIMMED_STEP:
        reason = f"`size` is {least} to {most} bytes in steps of {TRIMMED_STEP}, and not {cut.size_bytes}"
        remedy = "choose such a size"
    else:
        return
    yield Gap("FAB5723", SETTINGS["trimming/"], reason, remedy)
