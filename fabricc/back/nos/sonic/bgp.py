"""BGP of SONiC: `frr.conf`, what its image, its templates and bgpcfgd make of FRR besides the plan, and bfdd."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from fabricc.back.nos import frr
from fabricc.back.nos.base import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.frr.words import BFD_INTERVAL_MS, BFD_MULTIPLIER, BFD_PROFILE
from fabricc.back.nos.packet_filters import is_inside
from fabricc.back.nos.sonic.config_db import FILE, Tables, kept_fields, put_field, table_block
from fabricc.back.nos.sonic.consumers import FRR_FILE
from fabricc.back.nos.sonic.limits import BFD, MULTIPATH_LIMIT, has, release_of
from fabricc.back.nos.sonic.odd_rows import OddRow, odd_field, odd_lack, table_rows
from fabricc.back.reading import Document, Topic
from fabricc.back.reading import Row as PatternRow
from fabricc.base.values import replace
from fabricc.fabric.facts import Facts, Reading, Unplanned, option_facts, outward_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp

LOG_FACILITY = "local4"  # common/daemons.common.conf.j2 of all branches
SOURCE_MAPS = {"ip": "RM_SET_SRC", "ipv6": "RM_SET_SRC6"}
"""Route maps that bgpcfgd pushes into FRR in every routing mode, as soon as Loopback0 has an address of that family
(managers_setsrc.py, zebra.set_src.conf.j2 of all branches): a frr.conf without them differs for ever."""
GRACEFUL_RESTART = frr.GracefulRestart(restart_s=240, defer_s=45)
"""Of ToRs alone, as in the image's own template (bgpd.main.conf.j2, constants.yml of all branches)."""
SOFTWARE_BFD = "software_bfd"
"""The default that makes bgpcfgd start bfdd (bgpcfgd/main.py, managers_bfd.py)."""

DEPARTURES = (
    Departure("bfd/*", LEFT_OUT, "no bfdd before 202505 (FAB5630), and none for a switch without sessions"),
    Departure("bgp/neighbor[*]/bfd", ROUNDED, "so sessions are without"),
)


# --- what SONiC makes of the Fabric's statements ------------------------------------------------------


def effective_switch(switch: Switch) -> Switch:
    """The switch without BFD where its release starts no bfdd, or no session needs it; and without segments."""
    bgp = switch.bgp
    if switch.vtep:
        bgp = replace(bgp, groups=tuple(replace(group, evpn=None) for group in bgp.groups))
        switch = replace(switch, bgp=bgp, vtep=None)
    if bgp.bfd_interval_ms is None or (bgp.sessions and has(switch, BFD)):
        return switch
    return replace(switch, bgp=replace(bgp, bfd_interval_ms=None))


def bfd_profile(bgp: Bgp) -> str | None:
    """Return the profile of BFD's timers; None for FRR's own timers, which need none.

    bgpcfgd starts bfdd after `vtysh -b` has read frr.conf (managers_bfd.py), so settings of frr.conf for bfdd itself
    are lost at every start of the container, while bgpd registers its sessions anew.
    """
    own = (bgp.bfd_interval_ms, bgp.bfd_multiplier) == (BFD_INTERVAL_MS, BFD_MULTIPLIER)
    return None if own else BFD_PROFILE


def _graceful_restart(switch: Switch) -> frr.GracefulRestart | None:
    return None if switch.tier_index else GRACEFUL_RESTART


def daemon_tables(run: Switch) -> Tables:
    """Return what starts bfdd on a switch as it is run."""
    on = run.bgp.bfd_interval_ms is not None
    return {"SYSTEM_DEFAULTS": {SOFTWARE_BFD: {"status": "enabled"}} if on else {}}


def frr_conf(run: Switch) -> str:
    """`frr.conf` of a switch as it is run; addresses and descriptions of ports are in `config_db.json`."""
    return frr.render_frr_conf(
        run,
        router_interfaces=False,
        extra_head=release_of(run).head,
        multipath_limit=MULTIPATH_LIMIT,
        log_facility=LOG_FACILITY,
        bfd_profile=bfd_profile(run.bgp),
        route_maps_of_source=SOURCE_MAPS,
        graceful_restart=_graceful_restart(run),
    )


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, run: Switch) -> None:
    """Add the settings that `frr.conf` expresses, and its further facts."""
    facts["log/facility"] = LOG_FACILITY
    addresses = {"ip": run.loopback4, "ipv6": run.loopback6}
    facts |= {
        f"bgp/source[{keyword}]": f"{addresses[keyword]} by {name}"
        for keyword, name in SOURCE_MAPS.items()
        if addresses[keyword]
    }
    if restart := _graceful_restart(run):
        facts["bgp/graceful_restart/on"] = facts["bgp/graceful_restart/keeps_routes"] = "true"
        facts["bgp/graceful_restart/restart_s"] = restart.restart_s
        facts["bgp/graceful_restart/defer_s"] = restart.defer_s
    if run.bgp.bfd_interval_ms is not None:
        facts["daemon[bfdd]"] = "enabled"
    facts |= (
        option_facts(run.bgp)
        | outward_facts(run)
        | frr.ttl_security_facts(run)
        | frr.routing_facts(run, release_of(run).head, bfd_profile(run.bgp))
    )


# --- and back -----------------------------------------------------------------------------------------

ROWS: tuple[PatternRow, ...] = (table_block("SYSTEM_DEFAULTS", *kept_fields("status")),)


def finish(document: Document) -> None:
    """State whether bfdd is started."""
    put_field(document, "daemon[bfdd]", "SYSTEM_DEFAULTS", SOFTWARE_BFD, "status")


def read_routing(text: str, reading: Reading, file: str = FRR_FILE) -> None:
    """Add the facts of `frr.conf`, or of one daemon's file; list assumptions that `config_db.json` does not confirm.

    `config_db.json` is read before.
    """
    stated, reading_of_tables = dict(reading.facts), dict(reading.lines)
    frr.read_frr_conf(text, file, reading, multipath_limit=MULTIPATH_LIMIT)
    if not stated:
        return
    asn = stated.get("bgp/asn")
    if asn is not None and reading.facts.get("bgp/asn") != asn:
        place = reading_of_tables.get("bgp/asn", (FRR_FILE, 1))
        reading.unknown.append(Unplanned(*place, f"BGP's AS number is {asn} in {FILE}"))
    for path in reading.facts.keys() - stated.keys():
        if path.endswith("]/unnumbered"):
            reading.unknown.append(Unplanned(*reading.lines[path], f"{path} is not in {FILE}"))


TOPIC = Topic(ROWS, finish)


# --- rows that contradict others -----------------------------------------------------------------------

_BY_ADDRESS = ("BGP_NEIGHBOR", "BGP_INTERNAL_NEIGHBOR")
_LINKS = ("INTERFACE", "PORTCHANNEL_INTERFACE")
_LINK_LENGTHS = ("30", "31", "126", "127")
_MOST_LINKS = 3
"""Links of a family with sessions, from which one without a session is an odd one."""


def find_odd_neighbors(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield neighbors that bgpcfgd does not add (managers_bgp.py), or that cannot be as they are stated."""
    texts = [(name, key) for name in tables if name.endswith("INTERFACE") for key in table_rows(tables, name)]
    own = {key.partition("|")[2].partition("/")[0].lower() for _, key in texts} - {""}
    used: set[str] = set()
    numbers: dict[tuple[str, str], tuple[str, str]] = {}
    for table in _BY_ADDRESS:
        for key, row in table_rows(tables, table).items():
            near, number = str(row.get("local_addr", "")).lower(), str(row.get("asn", ""))
            used.add(near)
            if near and own and near not in own:
                effect = "bgpcfgd waits for a port with it, and no session comes up"
                yield odd_field(table, key, row, "local_addr", effect)
            other, first = numbers.setdefault((table, str(row.get("name") or key)), (key, number))
            for one, far, theirs in ((key, other, first), (other, key, number)) if first != number else ():
                effect = f"{row['name']} has two AS numbers: {far} has {theirs}"
                yield odd_field(table, one, tables[table][one], "asn", effect)
    for key, row in table_rows(tables, "BGP_PEER_RANGE").items():
        yield from _odd_ranges(tables, key, row)
    yield from _waiting_neighbors(tables)
    yield from _odd_families(tables)
    yield from _odd_permissions(tables)
    links = [(name, key) for name, key in texts if name in _LINKS and key.rpartition("/")[2] in _LINK_LENGTHS]
    for mark in (".", ":"):
        mine = [each for each in links if mark in each[1]]
        idle = [each for each in mine if each[1].partition("|")[2].partition("/")[0].lower() not in used]
        if len(idle) == 1 and len(mine) > _MOST_LINKS:
            name, key = idle[0]
            yield OddRow(f"{name}|{key} has no row of BGP_NEIGHBOR, so no session uses the link", name, key)


_FAMILIES = ("ipv4_unicast", "ipv6_unicast", "l2vpn_evpn")


def _odd_families(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield address families that frrcfgd does not know, and VNIs for EVPN that no NVO announces."""
    carried = ""
    for table in ("BGP_GLOBALS_AF", "BGP_PEER_GROUP_AF", "BGP_NEIGHBOR_AF"):
        for key in table_rows(tables, table):
            family = key.rpartition("|")[2].lower()
            carried = key if family == _FAMILIES[2] else carried
            if family not in _FAMILIES and family.startswith(("ipv", "l2vpn")):
                effect = f"frrcfgd passes over it: it knows {', '.join(_FAMILIES)}"
                yield OddRow(f"{table}|{key} names {family}, so {effect}", table, key)
    maps = table_rows(tables, "VXLAN_TUNNEL_MAP")
    if carried and maps and not table_rows(tables, "VXLAN_EVPN_NVO"):
        key = next(iter(maps))
        yield odd_lack("VXLAN_TUNNEL_MAP", key, "a row of VXLAN_EVPN_NVO", "EVPN makes no tunnel for it")
    own = sorted(table_rows(tables, "BGP_GLOBALS_AF").items(), key=lambda each: _FAMILIES[2] not in each[0])
    if carried and maps and own and not any(row.get("advertise-all-vni") == "true" for _, row in own):
        key, row = own[0]
        effect = "no VNI is announced"
        if "advertise-all-vni" in row:
            yield odd_field("BGP_GLOBALS_AF", key, row, "advertise-all-vni", effect)
        else:
            yield odd_lack("BGP_GLOBALS_AF", key, "advertise-all-vni", effect)


def _odd_permissions(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield a list by which a switch between others passes on the routes of foreign networks alone.

    bgpcfgd gives routes that no list permits the community `no-export` (managers_allow_list.py).
    """
    kind = table_rows(tables, "DEVICE_METADATA").get("localhost", {}).get("type", _LOWEST)
    lists = table_rows(tables, "BGP_ALLOWED_PREFIXES") if kind != _LOWEST else {}
    refusing = next((key for key, row in lists.items() if row.get("default_action") == "deny"), "")
    every = (row.get("prefixes_v4") for row in lists.values())
    stated = [str(each).split()[0] for listed in every if isinstance(listed, list) for each in listed if each]
    own = [key.partition("|")[2] for key in table_rows(tables, "LOOPBACK_INTERFACE") if "." in key]
    if refusing and own and not any(is_inside(own[0], each) for each in stated):
        effect = f"routes to loopbacks such as {own[0]} are not passed on: no prefix of a list has them"
        yield odd_field("BGP_ALLOWED_PREFIXES", refusing, lists[refusing], "default_action", effect)


_LOWEST = "ToRRouter"
"""The type of switches that pass no route of a neighbor on to another one."""


def _waiting_neighbors(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield a neighbor that its daemon never adds for want of another row (managers_bgp.py, frrcfgd.py)."""
    key = next(iter(table_rows(tables, "BGP_NEIGHBOR")), "")
    row = table_rows(tables, "DEVICE_METADATA").get("localhost", {})
    if not key or "PORT" not in tables or str(row.get("docker_routing_config_mode")).startswith("split"):
        return
    if "|" in key:
        return
    if row.get("frr_mgmt_framework_config") == "true":
        effect = f"frrcfgd adds no neighbor: {key} names no VRF"
        yield odd_field("DEVICE_METADATA", "localhost", row, "frr_mgmt_framework_config", effect)
        return
    loopbacks = [each for each in table_rows(tables, "LOOPBACK_INTERFACE") if each.startswith("Loopback0|")]
    if "bgp_router_id" not in row and not any("." in each for each in loopbacks):
        yield odd_lack("BGP_NEIGHBOR", key, "an IPv4 address of Loopback0", "bgpcfgd adds no neighbor")
    if "type" not in row:
        yield odd_lack("DEVICE_METADATA", "localhost", "type", "bgpcfgd adds no neighbor")


def _odd_ranges(tables: Mapping[str, Any], key: str, row: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield ranges of neighbors inside of the subnet of a VLAN with fewer addresses than the VLAN has ports."""
    ports = [each.partition("|")[0] for each in table_rows(tables, "VLAN_MEMBER")]
    listed = row.get("ip_range")
    try:
        ranges = [ip_network(str(each), strict=False) for each in listed] if isinstance(listed, list) else []
        subnets = [
            (vlan, ip_network(text, strict=False))
            for vlan, _, text in (each.partition("|") for each in table_rows(tables, "VLAN_INTERFACE"))
            if text
        ]
    except ValueError:
        return
    for each in ranges:
        for vlan, subnet in subnets:
            inside = each.version == subnet.version and each != subnet and each[0] in subnet
            if inside and each.num_addresses < ports.count(vlan):
                effect = f"most neighbors of {vlan}, which has {subnet}, get no session"
                yield odd_field("BGP_PEER_RANGE", key, row, "ip_range", effect)
