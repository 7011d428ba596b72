"""What community SONiC cannot express, per release: asked of one switch, answered as gaps with the reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.base import Gap
from fabricc.back.nos.frr.defaults import BFD_INTERVAL_MS, BFD_MULTIPLIER
from fabricc.back.nos.sonic.platform import Platform
from fabricc.back.nos.sonic.qos import pg_profile_name
from fabricc.back.nos.sonic.release import RELEASES, TRIMMING, fatal, has, lacking
from fabricc.back.nos.sonic.routing import MULTIPATH_LIMIT, as_run, bfd_profile
from fabricc.back.nos.sonic.services import CERTIFICATES, DEFAULT_LLDP_S, LLDP_RANGE_S
from fabricc.fabric.facts import SETTINGS
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.catalog.model import HeadroomRow, SwitchModel
    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import PortProfile

NAME = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9_]{0,31}")


def gaps(switch: Switch, release: str) -> Iterator[Gap]:
    """Everything this switch asks for that `release` on its model cannot do, port matters once for each kind."""
    yield from _port_gaps(switch, release)
    yield from _watchdog_gaps(switch, release)
    profiles: dict[str, PortProfile] = {}
    for profile in switch.qos.profiles:
        yield from _profile_gaps(switch, profile)
        same = profiles.setdefault(pg_profile_name(profile), profile)
        if same.headroom != profile.headroom:
            yield Gap(
                "FAB5309",
                f"profiles {same.name} and {profile.name} with different headroom",
                f"SONiC names a lossless buffer profile by speed and cable length: both are {pg_profile_name(profile)}",
                "give both cable classes the same headroom, or lengths that round to different table rows",
            )
    yield from _class_gaps(switch)
    yield from _lacking_gaps(switch, release)
    if switch.qos.trimming and has(TRIMMING, release):
        yield from _trimming_gaps(switch)
    yield from _management_gaps(switch)
    yield from _service_gaps(switch)
    if as_run(switch).bgp.bfd_interval_ms is not None:
        yield from _bfd_gaps(switch)
    if switch.bgp.maximum_paths > MULTIPATH_LIMIT:
        yield Gap(
            "FAB5313",
            f"{switch.bgp.maximum_paths} equal-cost paths",
            f"SONiC builds FRR for {MULTIPATH_LIMIT} next hops (constants.yml)",
            f"at most {MULTIPATH_LIMIT} paths",
        )


def _bfd_gaps(switch: Switch) -> Iterator[Gap]:
    bgp = switch.bgp
    if bfd_profile(bgp):
        yield Gap(
            "FAB5631",
            f"BFD every {bgp.bfd_interval_ms} ms, {bgp.bfd_multiplier} lost",
            "bgpcfgd starts bfdd after `vtysh -b` has read frr.conf (managers_bfd.py of 202505 and 202511): after each "
            f"start of the bgp container sessions run at FRR's {BFD_INTERVAL_MS} ms x {BFD_MULTIPLIER} until frr.conf "
            "is loaded again",
            f"interval_ms: {BFD_INTERVAL_MS} and multiplier: {BFD_MULTIPLIER}, or load frr.conf after each start",
            fatal=False,
        )
    if switch.management.access:
        yield Gap(
            "FAB5326",
            "BFD beside access networks",
            "with an access list of the control plane caclmgrd drops every packet to the switch that it does not know, "
            "and it knows BFD only when sessions are the ASIC's (STATE_DB BFD_SESSION_TABLE; sonic-host-services, "
            "branches 202305 to 202511): bfdd hears nobody, and BGP notices a failure by its hold timer",
            "set `routing.bfd: false`, or guard the management network outside the switch and leave `access` out",
            fatal=False,
        )


def _port_gaps(switch: Switch, release: str) -> Iterator[Gap]:
    platform = Platform.of(switch.model)
    limit = RELEASES[release].max_port_gbps
    seen: set[tuple[str, int, int]] = set()
    for port in switch.ports:
        if port.speed_gbps > limit and ("speed", 0, port.speed_gbps) not in seen:
            seen.add(("speed", 0, port.speed_gbps))
            yield Gap(
                "FAB5302",
                f"ports of {port.speed_gbps} Gb/s",
                f"the port model of SONiC {release} ends at {limit} Gb/s (sonic-port.yang)",
                "release 202511 or later, or a slower breakout",
            )
        mode = ("mode", port.children, port.speed_gbps)
        if platform.breakouts and mode not in seen:
            seen.add(mode)
            if platform.breakout_mode(port.children, port.speed_gbps) is None:
                known = ", ".join(sorted(platform.breakouts.values()))
                yield Gap(
                    "FAB5307",
                    f"{port.children} x {port.speed_gbps} Gb/s out of one cage",
                    f"{platform.platform} has no such breakout mode (platform.json: {known})",
                    "another breakout or another hwsku in the catalog",
                )
        lanes = platform.lanes[port.cage - 1] if port.cage <= len(platform.lanes) else ()
        if len(lanes) < port.child * port.lanes and ("lanes", 0, 0) not in seen:
            seen.add(("lanes", 0, 0))
            yield Gap(
                "FAB5314",
                f"cage {port.cage} with {port.child * port.lanes} lanes",
                f"the catalog's lane map of {switch.model.name} has {len(lanes)} for it",
                "complete `nos.sonic.lanes` of the model",
            )
        if not 68 <= port.mtu <= 9216 and ("mtu", 0, 0) not in seen:
            seen.add(("mtu", 0, 0))
            yield Gap(
                "FAB5315",
                f"an MTU of {port.mtu}",
                "PORT.mtu is 68 to 9216 (sonic-port.yang)",
                "9100 is usual",
            )
        if port.direction is not Direction.UNUSED and len(port.description) > 255:
            yield Gap("FAB5306", f"the description of {port.name}", "255 characters at most", "shorter names")


def _watchdog_gaps(switch: Switch, release: str) -> Iterator[Gap]:
    watchdog = switch.qos.watchdog
    if watchdog is None:
        return
    poll_limit = RELEASES[release].max_poll_ms
    for what, value, low, high in (
        ("polling", watchdog.poll_ms, 100, poll_limit),
        ("detection", watchdog.detect_ms, max(100, watchdog.poll_ms), 5000),
        ("restoration", watchdog.restore_ms, max(100, watchdog.poll_ms), 60000),
    ):
        if not low <= value <= high:
            yield Gap(
                "FAB5303",
                f"PFC watchdog {what} every {value} ms"
                if what == "polling"
                else f"watchdog {what} time of {value} ms",
                f"SONiC {release} takes {low} to {high} ms (sonic-pfcwd.yang; no time may undercut the polling)",
                f"{min(max(value, low), high)} ms is the nearest",
            )


def _profile_gaps(switch: Switch, profile: PortProfile) -> Iterator[Gap]:
    headroom, ecn = profile.headroom, profile.ecn
    if not isinstance(headroom.cable_m, int) or headroom.cable_m < 1:
        yield Gap(
            "FAB5304",
            f"cable length {headroom.cable_m} m of {profile.name}",
            "CABLE_LENGTH takes whole metres, and 0m means no lossless group (buffermgrd)",
            "round the length up to whole metres",
        )
    if not -8 <= headroom.dynamic_th <= 7:
        yield Gap(
            "FAB5305",
            f"dynamic_th {headroom.dynamic_th} of {profile.name}",
            "BUFFER_PROFILE.dynamic_th is -8 to 7 (sonic-buffer-profile.yang)",
            "an alpha between 1/256 and 128",
        )
    if not NAME.fullmatch(profile.name):
        yield _bad_name(f"port profile {profile.name!r}")
    if ecn is not None and (ecn.min_bytes > ecn.max_bytes or not 0 <= ecn.max_percent <= 100):
        yield Gap(
            "FAB5316",
            f"marking of {profile.name} from {ecn.min_bytes} to {ecn.max_bytes} bytes at {ecn.max_percent} %",
            "WRED_PROFILE wants max >= min and 0 to 100 % (sonic-wred-profile.yang)",
            "raise the upper threshold",
        )
    rows = switch.model.buffers.rows
    row = next((r for r in rows if (r.speed_gbps, r.cable_m) == (profile.speed_gbps, headroom.cable_m)), None)
    if row is not None and not _own(switch.model, row):
        if switch.model.sources.get(f"buffers.rows.{row.speed_gbps}.{row.cable_m}", "").startswith("assumed"):
            yield from _foreign(switch.model, profile, row)
        row = None
    if row is not None and (row.size_bytes, row.xoff_bytes) != (headroom.size_bytes, headroom.xoff_bytes):
        yield Gap(
            "FAB5321",
            f"headroom of {profile.name} other than in pg_profile_lookup.ini",
            f"the image's table has a size of {row.size_bytes} bytes, this configuration {headroom.size_bytes}; "
            f"buffermgrd keeps {pg_profile_name(profile)} as it finds it, yet takes the table's figures for a speed or "
            "cable length that is set on the box",
            "change speeds and cable lengths in the spec only",
            fatal=False,
        )
    if row is None:
        yield Gap(
            "FAB5308",
            f"lossless profile for {profile.speed_gbps} Gb/s and {headroom.cable_m} m",
            "pg_profile_lookup.ini of the platform has no such row: buffermgrd logs an error for each port and leaves "
            "the rows of this configuration in force",
            "a cable length that the table lists",
            fatal=False,
        )


def _own(model: SwitchModel, row: HeadroomRow) -> bool:
    """Whether the row is of the hardware SKU's own table; a model that names no SKU has no other."""
    sku = model.nos["sonic"].get("sku")
    return sku is None or row.table == sku.get("lookup")


def _foreign(model: SwitchModel, profile: PortProfile, row: HeadroomRow) -> Iterator[Gap]:
    """Headroom of another SKU or box beside the pools of this one."""
    settings = model.nos["sonic"]
    if own := settings["sku"].get("lookup"):
        yield Gap(
            "FAB5655",
            f"headroom of {profile.name} from {row.table}",
            f"the switch starts with hwsku {settings['hwsku']}, whose own table is {own}: its pools and its SDK file "
            f"({settings['sku']['sdk']}) are made for that one",
            "use a speed and cable length that the table lists, or accept it with a reason",
        )


def _class_gaps(switch: Switch) -> Iterator[Gap]:
    classes = switch.qos.classes
    for traffic_class in classes:
        if not NAME.fullmatch(traffic_class.name):
            yield _bad_name(f"traffic class {traffic_class.name!r}")
        if not traffic_class.strict and not 1 <= traffic_class.weight_percent <= 100:
            yield Gap(
                "FAB5312",
                f"a weight of {traffic_class.weight_percent} % for {traffic_class.name}",
                "SCHEDULER.weight is 1 to 100 (sonic-scheduler.yang)",
                "give every class that is not strict at least 1 %",
            )
    if len(switch.qos.lossless) > 7:
        yield Gap(
            "FAB5317", "eight lossless classes", "lossy traffic needs a priority group", "at most seven"
        )


def _lacking_gaps(switch: Switch, release: str) -> Iterator[Gap]:
    for capability in lacking(switch, release):
        since = f"comes with {capability.since}: " if capability.since else ""
        yield Gap(
            capability.code,
            capability.feature,
            f"SONiC {release} has no {capability.words}; {since}{capability.source}",
            capability.remedy,
            fatal=fatal(capability),
        )


def _trimming_gaps(switch: Switch) -> Iterator[Gap]:
    qos = switch.qos
    if not qos.pools:
        yield Gap(
            "FAB5318",
            SETTINGS["trimming/"],
            "a queue's buffer profile says whether it is trimmed, and without a lossless class fabricc leaves "
            "buffers to the image",
            "make a class lossless",
        )
    elif switch.model.buffers.limits.trim_bytes is None:
        yield Gap(
            "FAB5319",
            f"{SETTINGS['trimming/']} on {switch.model.asic}",
            "orchagent asks the chip's driver, and does nothing where that says no; no document says it for this chip",
            "look for SWITCH_TRIMMING_CAPABLE in SWITCH_CAPABILITY|switch of STATE_DB on a switch",
            fatal=False,
        )


def _service_gaps(switch: Switch) -> Iterator[Gap]:
    management = switch.management
    low, high = LLDP_RANGE_S
    if not low <= management.lldp_interval_s <= high:
        yield Gap(
            "FAB5322",
            f"LLDP every {management.lldp_interval_s} s",
            f"hello_time is {low} to {high} (sonic-lldp.yang)",
            f"{high} s is the most",
        )
    elif management.lldp_interval_s != DEFAULT_LLDP_S:
        yield Gap(
            "FAB5325",
            f"LLDP every {management.lldp_interval_s} s",
            "LLDP|GLOBAL is in the models, yet nothing in the community image reads it (docker-lldp of the branches "
            f"202305 to 202511): its lldpd announces every {DEFAULT_LLDP_S} s",
            f"leave it at {DEFAULT_LLDP_S} s, or use an image of a vendor that reads the table",
            fatal=False,
        )
    if management.gnmi_port is not None:
        yield Gap(
            "FAB5323",
            "certificates of the gNMI server",
            "the server starts with those at " + ", ".join(CERTIFICATES.values()),
            "install them on the switches; no key ever stands in a configuration",
            fatal=False,
        )


def _bad_name(what: str) -> Gap:
    return Gap(
        "FAB5306",
        f"the name of {what}",
        "SONiC's names have 1 to 32 characters, letters, digits, - and _, and begin with a letter or digit",
        "rename it",
    )


def _management_gaps(switch: Switch) -> Iterator[Gap]:
    management = switch.management
    if users := ", ".join(user.name for user in management.users):
        yield Gap(
            "FAB5310",
            f"local accounts ({users})",
            "CONFIG_DB has no table for accounts or SSH keys",
            "create them with the image, by ZTP or over AAA (tacacs+, radius, ldap)",
            fatal=False,
        )
    for what, servers, most, model in (
        ("name servers", management.dns, 3, "sonic-dns.yang"),
        ("time servers", management.ntp, 10, "sonic-ntp.yang"),
    ):
        if len(servers) > most:
            yield Gap(
                "FAB5311", f"{len(servers)} {what}", f"{most} at most ({model})", f"name {most} of them"
            )
