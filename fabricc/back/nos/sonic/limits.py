"""Community SONiC's releases, how their files differ and what they cannot express, with the source of each entry."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.back.nos import limits
from fabricc.back.nos.frr.words import BFD_INTERVAL_MS, BFD_MULTIPLIER
from fabricc.back.nos.limits import Limit, Range, Reservation, System
from fabricc.back.nos.sonic.words import CERTIFICATES, DEFAULT_LLDP_S, LLDP_RANGE_S, Platform, pg_profile_name
from fabricc.base.values import dataclass
from fabricc.fabric.facts import SETTINGS
from fabricc.fabric.model import Direction, Switch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.back.nos.limits import DevicePredicate
    from fabricc.catalog.model import HeadroomRow, SwitchModel
    from fabricc.fabric.qos import PortProfile

MULTIPATH_LIMIT = 514
"""Next hops that SONiC builds FRR for (`constants.yml`, `maximum_paths`)."""

NEXT_HOP_LINE = "no zebra nexthop kernel enable"
KEEP_LINE = "zebra nexthop-group keep 1"
"""Without it zebra keeps groups of next hops for 180 s: under flaps at scale it runs out of memory (sonic-buildimage
pull request 21135; in the stock zebra.conf.j2 since 202505)."""
FPM_LINES = ("no fpm use-next-hop-groups", "fpm address 127.0.0.1")
_SUPPRESS = {"DEVICE_METADATA": frozenset({"suppress-fib-pending"})}


@dataclass(frozen=True, slots=True)
class Release:
    """Differences of the files of one release (sonic-yang-models, db_migrator.py and docker_init.sh of its branch).

    Attributes:
        schema: `VERSIONS`, from which `db_migrator.py` starts: the release's own, and one that each of its builds
            knows, since at any other it stops, and `config reload` with it.
        frr: version of FRR in the image (rules/frr.mk).
        max_port_gbps, max_poll_ms: ends of the ranges of port speeds and of the PFC watchdog's polling.
        head: lines of `frr.conf` that the start script of the bgp container would append.
        absent: fields that the models do not know, or nothing reads, by table; left out they have the value that is
            written elsewhere.
    """

    schema: str
    frr: str
    max_port_gbps: int = 800
    max_poll_ms: int = 3000
    head: tuple[str, ...] = (*FPM_LINES, NEXT_HOP_LINE)
    absent: Mapping[str, frozenset[str]] = field(default_factory=dict)


RELEASES = {
    "202305": Release("version_202305_01", "8.5.1",
        absent={
            **_SUPPRESS,
            "NTP": frozenset({"admin_state"}),
            "NTP_SERVER": frozenset({"association_type", "iburst", "resolve_as"}),
        }),
    "202311": Release("version_202311_03", "8.5.1", head=(NEXT_HOP_LINE,), absent=_SUPPRESS),
    "202405": Release("version_202405_01", "8.5.4", absent=_SUPPRESS),
    "202411": Release("version_202411_01", "10.0.1"),
    "202505": Release("version_202505_01", "10.3", head=(*FPM_LINES, NEXT_HOP_LINE, KEEP_LINE)),
    "202511": Release(
        "version_202511_01", "10.4.1", max_port_gbps=1600, max_poll_ms=1000, head=(*FPM_LINES, KEEP_LINE)),
    "202605": Release(
        "version_202605_01", "10.5.4", max_port_gbps=1600, max_poll_ms=1000, head=(*FPM_LINES, KEEP_LINE)),
}  # fmt: skip
DEFAULT_RELEASE = "202505"
_OLDEST = next(iter(RELEASES))

_NAME = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9_]{0,31}")
_MTU, _LLDP_S = Range(68, 9216), Range(*LLDP_RANGE_S)


def _port_figures(switch: Switch) -> Iterator[dict[str, Any]]:
    """Yield each port's figures; too few lanes and an odd MTU are reported for the first port only."""
    platform = Platform.of(switch.model)
    most_gbps = release_of(switch).max_port_gbps
    reported: set[str] = set()
    for port in switch.ports:
        lanes = len(platform.lanes[port.cage - 1]) if port.cage <= len(platform.lanes) else 0
        wanted = port.child * port.lanes
        modes = platform.modes(port.cage)
        yield {
            "port": port,
            "platform": platform,
            "model": switch.model.name,
            "most_gbps": most_gbps,
            "spare_gbps": most_gbps - port.speed_gbps,
            "modes": ", ".join(sorted(modes.values())),
            "splits": not modes or bool(platform.breakout_mode(port.cage, port.children, port.speed_gbps)),
            "lanes": lanes,
            "wanted": wanted,
            "spare_lanes": None if "lanes" in reported else lanes - wanted,
            "mtu": None if "mtu" in reported else port.mtu,
            "described": None if port.direction is Direction.UNUSED else len(port.description),
        }
        if lanes < wanted:
            reported.add("lanes")
        if port.mtu not in _MTU:
            reported.add("mtu")


def _timers_out_of_range(switch: Switch) -> Iterator[tuple[str, int, int, int]]:
    """Timers of the watchdog out of range: in words, the range, and the nearest; none may undercut the polling."""
    for watchdog in limits.list_watchdogs(switch):
        poll_ms, detect_ms, restore_ms = watchdog.poll_ms, watchdog.detect_ms, watchdog.restore_ms
        least = max(100, poll_ms)
        for what, value, low, high in (
            (f"PFC watchdog polling every {poll_ms} ms", poll_ms, 100, release_of(switch).max_poll_ms),
            (f"watchdog detection time of {detect_ms} ms", detect_ms, least, 5000),
            (f"watchdog restoration time of {restore_ms} ms", restore_ms, least, 60_000),
        ):
            if not low <= value <= high:
                yield what, low, high, min(max(value, low), high)


def _profile_figures(switch: Switch) -> Iterator[dict[str, Any]]:
    """Yield each port profile with the row of its headroom in the hardware SKU's own table, if any."""
    rows = {(row.speed_gbps, row.cable_m): row for row in reversed(switch.model.buffers.rows)}
    listed = [at for at, row in sorted(rows.items()) if _is_own_row(switch.model, row)]
    earlier: dict[str, PortProfile] = {}
    for profile, headroom in switch.qos.headrooms:
        ecn = profile.ecn
        same = earlier.setdefault(pg_profile_name(profile), profile)
        row = rows.get((profile.speed_gbps, headroom.cable_m))
        own = row if row and _is_own_row(switch.model, row) else None
        yield {
            "profile": profile,
            "pg_profile": pg_profile_name(profile),
            "whole_m": headroom.cable_m if isinstance(headroom.cable_m, int) else 0,
            "dynamic_th": headroom.dynamic_th,
            "named": bool(_NAME.fullmatch(profile.name)),
            "ramp_bytes": ecn and ecn.max_bytes - ecn.min_bytes,
            "max_percent": ecn and ecn.max_percent,
            "row": row,
            "listed": own is not None,
            "way_out": _name_listed_rows(listed, profile.speed_gbps)
            if listed
            else "accept it with a reason: the platform has no table",
            "own_row": f"use {_name_listed_rows(listed, profile.speed_gbps)}, or " if listed else "",
            "as_listed": own is None
            or (own.size_bytes, own.xoff_bytes) == (headroom.size_bytes, headroom.xoff_bytes),
            "borrowed": row is not None and own is None and _is_borrowed_row(switch.model, row),
            "nos": switch.model.nos["sonic"],
            "same": same.name,
            "alone": same.headroom == headroom,
        }


def _name_listed_rows(listed: Sequence[tuple[int, int]], gbps: int) -> str:
    """Return the cable lengths that a table has for a speed, or its speeds where it has not this one."""
    if lengths := [str(meters) for speed, meters in listed if speed == gbps]:
        return f"a cable length that the table lists at {gbps}G ({', '.join(lengths)} m)"
    speeds = ", ".join(f"{each}G" for each in dict.fromkeys(speed for speed, _ in listed))
    return f"a speed that the table lists ({speeds}; between switches `uplink_gbps`)"


def _is_own_row(model: SwitchModel, row: HeadroomRow) -> bool:
    """Return whether the row is of the hardware SKU's own table; a model that names no SKU has no other."""
    sku = model.nos["sonic"].get("sku")
    return sku is None or row.table == sku.get("lookup")


def _is_borrowed_row(model: SwitchModel, row: HeadroomRow) -> bool:
    """Return whether the row is not from the SKU's table although the SKU has one."""
    source = model.sources.get(f"buffers.rows.{row.speed_gbps}.{row.cable_m}", "")
    return source.startswith("assumed") and bool(model.nos["sonic"]["sku"].get("lookup"))


def _class_figures(switch: Switch) -> Iterator[dict[str, Any]]:
    for c in limits.class_figures(switch):
        yield {**c, "named": bool(_NAME.fullmatch(c["name"]))}


def _bad_name(what: str, predicate: DevicePredicate) -> Limit:
    return Limit("FAB5306", feature=f"the name of {what}", requested=predicate, allowed={"named": (True,)},
        reason="SONiC's names have 1 to 32 characters, letters, digits, - and _, and begin with a letter or digit",
        remedy="rename it",
    )  # fmt: skip


def _server_figures(switch: Switch) -> Iterator[dict[str, Any]]:
    for what, servers, most, model in (
        ("name servers", switch.management.dns, 3, "sonic-dns.yang"),
        ("time servers", switch.management.ntp, 10, "sonic-ntp.yang"),
    ):
        if len(servers) > most:
            yield {"count": len(servers), "what": what, "most": most, "model": model}


_ARS = (
    "adaptive routing is a design (SONiC doc/ARS, sonic-buildimage pull request 22264, open): no branch to 202605 "
    "has a model of it"
)
_MORE_PAIRS = "hosts then get more queue pairs per connection, spread by their UDP source ports"
_SPREAD = f"use `mode: hash`; {_MORE_PAIRS}"
TRIMMING = Limit("FAB5318", setting="trimming/", remedy="use release 202505 or later", since="202505",
    words="SWITCH_TRIMMING, BUFFER_PROFILE.packet_discard_action",
    source="sonic-trimming.yang and sonic-buffer-profile.yang: in the branches 202505 and 202511, in none before",
)  # fmt: skip
BFD = Reservation("FAB5630", feature="BFD of BGP sessions",
    requested=lambda switch: switch.bgp.bfd_interval_ms is not None and bool(switch.bgp.sessions),
    remedy="use release 202505 or later, or set `routing.bfd: false` so that no neighbor waits for it",
    since="202505", words="bfdd in the bgp container (SYSTEM_DEFAULTS.software_bfd)",
    source="earlier releases start bfdd only with the management framework (supervisord.conf.j2), so BFD is left out "
    "and BGP detects a silent failure by its hold timer",
)  # fmt: skip
KEEPING_OUT = Reservation("FAB5327", feature="keeping GPU hosts from SSH, SNMP and gNMI of the switch",
    requested=lambda switch: not switch.management.access,
    remedy="set `management.access` to the networks of your operators", since="202505",
    words="access lists of the control plane by port",
    source="earlier releases ignore ACL_RULE.IN_PORTS in caclmgrd, and without a list the switch answers everyone",
)  # fmt: skip
MARKS = Reservation("FAB5632", feature="counting of ECN marks",
    requested=lambda switch: (
        any(profile.ecn for profile in switch.qos.profiles)
        and any(one.ecn for one in switch.qos.classes)
        and any(port.profile for port in switch.ports)
    ),
    remedy="use release 202505 or later, or look at marks on the hosts", since="202505",
    words="FLEX_COUNTER_TABLE.WRED_ECN_QUEUE",
    source="earlier releases do not poll the counter (flexcounterorch.cpp), so `verify` shows no marks and "
    "`push --max-marks` cannot compare them",
)  # fmt: skip
LIMITS = (
    limits.distinguishers_limit(),
    Limit("FAB5830", feature="a VRF whose name has {it} characters with the prefix `Vrf`",
        requested=lambda switch: [
            len(f"Vrf{each.name}") for each in switch.tenants.tenants
        ] if switch.tenants else [],
        allowed={"it": Range(1, 15)}, reason="names of VRFs have 15 characters at most, as those of interfaces",
        source="sonic-types.yang, interface_name",
        remedy="write a `vrf` of 12 characters or less in the tenant"),
    Limit("FAB5830", feature="the VRF `Vrf{it}`",
        requested=lambda switch: [
            each.name for each in switch.tenants.tenants if each.name.startswith("Vrf")
        ] if switch.tenants else [],
        reason="names of VRFs begin with `Vrf`, which fabricc adds to `{it}`", source="sonic-vrf.yang, VRF_LIST",
        remedy="write `vrf` without this prefix in the tenant"),
    limits.segments_limit("fabricc has found no source for gateways with one address on all ToRs in SONiC's "
                          "released images"),
    Limit("FAB5302", feature="ports of {port.speed_gbps} Gb/s", requested=_port_figures,
        allowed={"spare_gbps": Range(0)},
        reason="the port model of SONiC {release} ends at {most_gbps} Gb/s", source="sonic-port.yang",
        remedy="release 202511 or later, or a slower breakout"),
    Limit("FAB5307", feature="{port.children} x {port.speed_gbps} Gb/s out of one cage", requested=_port_figures,
        allowed={"splits": (True,)},
        reason="{platform.platform} has no such breakout mode (platform.json: {modes})",
        remedy="another breakout or another hwsku in the catalog"),
    Limit("FAB5314", feature="cage {port.cage} with {wanted} lanes", requested=_port_figures,
        allowed={"spare_lanes": Range(0)}, reason="the catalog's lane map of {model} has {lanes} for it",
        remedy="complete `nos.sonic.lanes` of the model"),
    Limit("FAB5315", feature="an MTU of {mtu}", requested=_port_figures, allowed={"mtu": _MTU},
        reason="PORT.mtu is {allowed[mtu]}", source="sonic-port.yang", remedy="9100 is usual"),
    Limit("FAB5306", feature="the description of {port.name}", requested=_port_figures,
        allowed={"described": Range(0, 255)}, reason="255 characters at most", remedy="shorter names"),
    Limit("FAB5303", feature="{it[0]}", requested=_timers_out_of_range,
        reason="SONiC {release} takes {it[1]} to {it[2]} ms (sonic-pfcwd.yang; no time may undercut the polling)",
        remedy="{it[3]} ms is the nearest"),
    Limit("FAB5304", feature="cable length {profile.headroom.cable_m} m of {profile.name}", requested=_profile_figures,
        allowed={"whole_m": Range(1)},
        reason="CABLE_LENGTH takes whole meters, and 0m means no lossless group", source="buffermgrd",
        remedy="round the length up to whole meters"),
    Limit("FAB5305", feature="dynamic_th {dynamic_th} of {profile.name}", requested=_profile_figures,
        allowed={"dynamic_th": Range(-8, 7)},
        reason="BUFFER_PROFILE.dynamic_th is {allowed[dynamic_th]}", source="sonic-buffer-profile.yang",
        remedy="an alpha between 1/256 and 128"),
    _bad_name("port profile {profile.name!r}", _profile_figures),
    Limit("FAB5316",
        feature="marking of {profile.name} from {profile.ecn.min_bytes} to {profile.ecn.max_bytes} bytes "
        "at {max_percent} %",
        requested=_profile_figures, allowed={"ramp_bytes": Range(0), "max_percent": Range(0, 100)},
        reason="WRED_PROFILE requires max >= min and 0 to 100 %", source="sonic-wred-profile.yang",
        remedy="raise the upper threshold"),
    Limit("FAB5655", feature="headroom of {profile.name} from {row.table}", requested=_profile_figures,
        allowed={"borrowed": (False,)},
        reason="the switch starts with hwsku {nos[hwsku]}, whose own table is {nos[sku][lookup]}: its pools and its "
        "SDK file ({nos[sku][sdk]}) are made for that one",
        remedy="{own_row}accept it with a reason"),
    Reservation("FAB5321", feature="headroom of {profile.name} other than in pg_profile_lookup.ini",
        requested=_profile_figures, allowed={"as_listed": (True,)},
        reason="the image's table has {row.size_bytes} bytes for {pg_profile}, this configuration has "
        "{profile.headroom.size_bytes}; a speed or cable length set on the switch selects the table's",
        remedy="change speeds and cable lengths in the spec only"),
    Reservation("FAB5308",
        feature="lossless profile for {profile.speed_gbps} Gb/s and {profile.headroom.cable_m} m",
        requested=_profile_figures, allowed={"listed": (True,)},
        reason="pg_profile_lookup.ini of the platform has no such row: buffermgrd logs an error for each port and "
        "leaves the rows of this configuration in force",
        remedy="{way_out}"),
    Limit("FAB5309", feature="profiles {same} and {profile.name} with different headroom", requested=_profile_figures,
        allowed={"alone": (True,)},
        reason="SONiC names a lossless buffer profile by speed and cable length: both are {pg_profile}",
        remedy="give both cable classes the same headroom, or lengths that round to different table rows"),
    _bad_name("traffic class {name!r}", _class_figures),
    Limit("FAB5312", feature="a weight of {share} % for {name}", requested=_class_figures,
        allowed={"share": Range(1, 100)},
        reason="SCHEDULER.weight is {allowed[share]}", source="sonic-scheduler.yang",
        remedy="give every class that is not strict at least 1 %"),
    Limit("FAB5317", feature="eight lossless classes", requested=lambda switch: len(switch.qos.lossless) > 7,
        reason="lossy traffic needs a priority group", remedy="at most seven"),
    TRIMMING,
    MARKS,
    Limit("FAB5320", setting="link_retry", remedy="leave it out", words="LLR_PORT, LLR_PROFILE",
        source="a design (SONiC doc/llr, sonic-buildimage pull request 27028, open): no branch to 202511 has a model "
        "of it"),
    Limit("FAB5324", setting="load_balancing/mode", remedy=_SPREAD, words="ARS_PROFILE, ARS_OBJECT",
        source=_ARS),
    Limit("FAB5324", setting="load_balancing/flowlet_idle_us", remedy=_SPREAD,
        words="ARS_OBJECT.flowlet_idle_time", source=_ARS),
    *(
        Limit("FAB5324", setting=f"load_balancing/{setting}", remedy=_SPREAD, words="a table of it", source=_ARS)
        for setting in ("global", "reassignment/")
    ),
    Limit("FAB5324", setting="load_balancing/queue_pairs", words="field of the RoCE transport header in SWITCH_HASH",
        source="sonic-hash.yang in the branches to 202605",
        remedy=f"leave `queue_pairs` out; {_MORE_PAIRS}"),
    BFD,
    Reservation("FAB5635", feature="the fields of the hash", requested=lambda _: True,
        remedy="use release 202311 or later, or see that the switch hashes addresses, protocol and ports by itself",
        since="202311", words="SWITCH_HASH.ecmp_hash",
        source="the model is older (sonic-hash.yang), but orchagent reads the table from then on; without it, and "
        "where the SAI cannot set the fields, the device keeps its own"),
    Reservation("FAB5633", feature="name servers", requested=lambda switch: bool(switch.management.dns),
        remedy="use release 202311 or later, or write /etc/resolv.conf by the image or ZTP",
        since="202311", words="reader of DNS_NAMESERVER",
        source="resolv-config, which writes resolv.conf; the model is older"),
    Reservation("FAB5634", setting="management/gnmi_port",
        remedy="use release 202311 or later, or leave `management.gnmi_port` out",
        since="202311", words="reader of GNMI",
        source="gnmi-native.sh; the telemetry container of 202305 reads the table TELEMETRY, and listens at its own "
        "port without"),
    Limit("FAB5318", setting="trimming/",
        requested=lambda switch: switch.qos.trimming is not None and not switch.qos.pools,
        reason="the buffer profile of a queue enables trimming, and without a lossless class fabricc leaves "
        "buffers to the image",
        remedy="make a class lossless", where=TRIMMING),
    Reservation("FAB5319", feature=SETTINGS["trimming/"] + " on {it.asic}",
        requested=lambda switch: [
            model
            for model in (switch.model,)
            if switch.qos.trimming and switch.qos.pools and model.buffers.limits.trim_bytes is None
        ],
        reason="orchagent skips it if the chip's driver "
        "lacks it, and no document describes this chip",
        remedy="look for SWITCH_TRIMMING_CAPABLE in SWITCH_CAPABILITY|switch of STATE_DB on a switch",
        where=TRIMMING),
    Reservation("FAB5310", feature="local accounts ({it})",
        requested=lambda s: [", ".join(u.name for u in s.management.users)] if s.management.users else [],
        reason="CONFIG_DB has no table for accounts or SSH keys",
        remedy="create them with the image, by ZTP or over AAA (tacacs+, radius, ldap)", section="management"),
    Reservation("FAB5842", setting="management/radius/", feature="accounting by RADIUS",
        reason="hostcfgd takes authorization and accounting from TACACS+ and local accounts alone",
        source="sonic-host-services scripts/hostcfgd", remedy="use TACACS+ if commands have to be recorded"),
    Limit("FAB5311", feature="{count} {what}", requested=_server_figures, reason="{most} at most ({model})",
        remedy="name {most} of them"),
    Limit("FAB5322", feature="LLDP every {it} s", requested=lambda switch: [switch.management.lldp_interval_s],
        allowed={"it": _LLDP_S}, reason="hello_time is {allowed[it]}", source="sonic-lldp.yang",
        remedy=f"{LLDP_RANGE_S[1]} s is the most"),
    Reservation("FAB5325", feature="LLDP every {it} s",
        requested=lambda switch: [
            interval_s
            for interval_s in (switch.management.lldp_interval_s,)
            if interval_s in _LLDP_S and interval_s != DEFAULT_LLDP_S
        ],
        reason="the community image does not read LLDP|GLOBAL; its lldpd announces every "
        f"{DEFAULT_LLDP_S} s",
        source="docker-lldp of the branches 202305 to 202511",
        remedy=f"leave it at {DEFAULT_LLDP_S} s, or use an image of a vendor that reads the table"),
    Reservation("FAB5323", setting="management/gnmi_port", feature="certificates of the gNMI server",
        reason="the server starts with those at " + ", ".join(CERTIFICATES.values()),
        remedy="install them on the switches; configurations contain no keys"),
    Reservation("FAB5631", feature="BFD every {it.bfd_interval_ms} ms, {it.bfd_multiplier} lost",
        requested=lambda switch: [
            bgp
            for bgp in (switch.bgp,)
            if BFD.things(switch)
            and (bgp.bfd_interval_ms, bgp.bfd_multiplier) != (BFD_INTERVAL_MS, BFD_MULTIPLIER)
        ],
        reason="bgpcfgd starts bfdd after frr.conf was read, so after each start of the bgp container BFD runs at "
        f"FRR's {BFD_INTERVAL_MS} ms x {BFD_MULTIPLIER} until frr.conf is loaded again",
        source="managers_bfd.py of 202505 and 202511",
        remedy=f"interval_ms: {BFD_INTERVAL_MS} and multiplier: {BFD_MULTIPLIER}, or load frr.conf after each start",
        where=BFD),
    KEEPING_OUT,
    Limit("FAB5725", setting="interface[",
        reason="a map of a port sets only the class, and TC_TO_DSCP_MAP also rewrites code points of the fabric's own "
        "packets",
        source="sonic-swss orchagent/qosorch.cpp",
        remedy="let the far end clear the code points of lossless classes and accept FAB5725 with that reason, or "
        "write `trust_dscp: true` if they mean the same there"),
    Limit("FAB5313", feature="{it} equal-cost paths", requested=lambda switch: [switch.bgp.maximum_paths],
        allowed={"it": Range(0, MULTIPATH_LIMIT)},
        reason=f"SONiC builds FRR for {MULTIPATH_LIMIT} next hops", source="constants.yml",
        remedy=f"at most {MULTIPATH_LIMIT} paths"),
    Limit("FAB5841", setting="management/banner", since="202405", words="BANNER_MESSAGE",
        source="sonic-banner.yang, banner-config.service", remedy="leave it out, or use release 202405 or later"),
    Limit("FAB5841", setting="management/ntp_key",
        reason="NTP_KEY holds keys in base64, and a reference replaces a secret unchanged",
        source="sonic-buildimage files/image_config/chrony/chrony.keys.j2",
        remedy="leave it out and add the key on the switch (NTP_KEY, and `key` of each NTP_SERVER); a push keeps both"),
    Limit("FAB5841", setting="management/syslog_tls",
        reason="`protocol` of SYSLOG_SERVER is udp or tcp; accepted, messages go over UDP 514, unencrypted",
        source="sonic-syslog.yang, rsyslog.conf.j2",
        remedy="leave it out, and name a relay in the management network that forwards over TLS"),
    Limit("FAB5841", setting="management/snmp_trap[",
        reason="SNMP_TRAP_CONFIG has no users, and snmpd reports no links",
        source="sonic-buildimage dockers/docker-snmp/snmpd.conf.j2",
        remedy="leave `traps` out, and let your collector poll links or subscribe to gNMI"),
    *limits.always_supported(
        _OLDEST,
        ("frr.conf of one's own", "DEVICE_METADATA.docker_routing_config_mode split-unified",
         "docker_init.sh of the branches 202305 to 202511"),
        ("BGP over unnumbered links", "frr.conf, INTERFACE.ipv6_use_link_local_only",
         "FRR 8.5.1 and later in all of them (rules/frr.mk); bgpcfgd's own BGP_NEIGHBOR takes addresses only"),
        ("bgp/ttl_security", "frr.conf, neighbor … ttl-security hops",
         "FRR 8.5.1 and later in all of them (rules/frr.mk)"),
        ("a watchdog for PFC", "PFC_WD, PORT_QOS_MAP.pfcwd_sw_enable",
         "sonic-pfcwd.yang; polling to 3000 ms, from 202511 to 1000 ms"),
        ("management/tacacs/", "TACPLUS, TACPLUS_SERVER, AAA",
         "sonic-system-tacacs.yang; a key to 65 characters, from 202511 to 256"),
        ("management/radius/", "RADIUS, RADIUS_SERVER, AAA", "sonic-system-radius.yang; a key to 65 characters"),
        ("management/snmp/", "SNMP, SNMP_COMMUNITY, SNMP_USER, SNMP_AGENT_ADDRESS_CONFIG",
         "sonic-snmp.yang; 202305 has the agent's address without a model of it"),
        ("management/access", "ACL_TABLE of type CTRLPLANE", "sonic-acl.yang"),
    ),
)  # fmt: skip
SYSTEM = System(
    "SONiC",
    tuple(RELEASES),
    DEFAULT_RELEASE,
    LIMITS,
    later=("SONiC {release} has no {words}; comes with {since}: {source}", "{remedy}"),
    never=("SONiC {release} has no {words}; {source}", "{remedy}"),
    unknown="FAB5301",
)
has, gaps = SYSTEM.has, SYSTEM.gaps


def release_of(switch: Switch) -> Release:
    """Return how the files of a switch's release differ."""
    return RELEASES[SYSTEM.release(switch)]


def one_way(before: str, after: str) -> str:
    """Return what the image of a release does to the switch that the image of an earlier one does not undo."""
    old, new = RELEASES[before].schema, RELEASES[after].schema
    if old == new:
        return ""
    return (
        f"the image migrates CONFIG_DB to {new} as it starts (db_migrator.py); that of {before} cannot "
        f"migrate back, so load its own config_db.json, of {old}, with it"
    )
