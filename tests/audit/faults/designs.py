# ruff: noqa: E501  (a fault is one line)
"""Faults of overlays, sessions, link-state protocols and services, planted at the lines of facts of any fabric.

A fault is planted only where it is one: for example, a route target only where another switch has the same one.
"""

from __future__ import annotations

import re
from ipaddress import ip_interface
from typing import TYPE_CHECKING

from fabricc.audit.rules.all_rules import groups_of
from fabricc.facts.statement import Kind, Tier
from tests.audit.faults.planting import (
    FaultKind,
    at_fact,
    first_of,
    in_port,
    inner_sessions,
    line_below,
    link_ports,
    match_paths,
    number,
    of_links,
    of_sessions,
    replace_lines,
    to_session,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.audit.model import FoundFabric
    from fabricc.facts.statement import Device
    from tests.audit.faults.planting import Fault, Texts

_CLI = ("eos", "nxos", "frr", "sonic")
_ALL = (*_CLI, "junos", "cumulus")
_ONE, _SIDED, _SEVERAL = ("one",), ("one", "tier"), ("tier", "all")


def shared_paths(pattern: str, *, value: bool = True) -> Callable[[FoundFabric, Device], list[str]]:
    """Return the paths of facts that another switch has too, with the same value unless `value` is false."""

    def paths(found: FoundFabric, device: Device) -> list[str]:
        groups = groups_of(found)
        others = [
            each.reading.facts
            for name, each in found.devices.items()
            if name != device.name and groups[name] == groups[device.name]
        ]
        mine = [(path, v) for path, v in device.reading.facts.items() if re.fullmatch(pattern, path)]
        return [
            path
            for path, v in mine
            if any(each.get(path) == v or (not value and path in each) for each in others)
        ]

    return paths


def _first_number(new: str) -> Callable[[str, str], str]:
    """Replace the last number of a value, wherever it is in the line."""

    def change(line: str, value: str) -> str:
        words = re.findall(r"[\w.]+:\d+|\d+", value)
        if not words:
            return line
        old = words[-1]
        head, found, tail = line.rpartition(old)
        return (
            f"{head}{old.rpartition(':')[0]}:{new}{tail}"
            if found and ":" in old
            else f"{head}{new}{tail}"
            if found
            else line
        )

    return change


def _last_number(line: str, value: str) -> str:
    """Replace the number at the end of a name or address: the loopback, or its address, is one that nobody has."""
    return (
        line.replace(value, re.sub(r"\d+$", "99", value))
        if value in line
        else re.sub(r"(lo(?:opback)?)[\d.]+", r"\g<1>99", line, flags=re.IGNORECASE)
    )


def _of_gateway(found: FoundFabric, device: Device) -> list[str]:
    """Return the gateway addresses of VLANs that another switch has too."""
    return shared_paths(r"evpn/segment\[\d+\]/ipv4|interface\[[^]]+\]/gateway\[[^]]+\]")(found, device)


def _change_gateway(line: str, value: str) -> str:
    address = value.partition("/")[0]
    head, dot, last = address.rpartition(".")
    return line.replace(address, f"{head}.{'77' if last != '77' else '78'}") if dot else line


def _no_neighbor_activate(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Deactivate IPv4 on sessions with other switches, in the address family."""
    if device.system not in ("eos", "frr", "sonic"):
        return None
    names, made = inner_sessions(found, device), dict(device.files)
    names = [
        each for each in names if "ipv4" in str(device.reading.facts.get(f"bgp/neighbor[{each}]/families"))
    ]
    for name, text in device.files.items():
        if not re.search(r"^router bgp", text, re.MULTILINE) or not names:
            continue
        chosen = names if every else names[:1]
        indent = "   " if device.system == "eos" else " "
        lines = "".join(
            f"{indent * 2 if device.system == 'eos' else '  '}no neighbor {each} activate\n"
            for each in chosen
        )
        family = rf"^{indent}address-family ipv4(?: unicast)?\n"
        if re.search(family, text, re.MULTILINE):
            new = re.sub(family, lambda m, lines=lines: m[0] + lines, text, count=1, flags=re.MULTILINE)
            for each in chosen:
                new = re.sub(
                    rf"({family}(?:  .*\n)*?) +neighbor {re.escape(each)} activate\n",
                    r"\1",
                    new,
                    count=1,
                    flags=re.MULTILINE,
                )
        else:
            block = f"{indent}address-family ipv4{'' if device.system == 'eos' else ' unicast'}\n{lines}" + (
                "" if device.system == "eos" else " exit-address-family\n"
            )
            new = re.sub(
                r"^(router bgp .*\n(?:[ !].*\n)*?)(?=!\n(?! )|exit\n|\S|\Z)",
                lambda m, block=block: m[1] + block,
                text,
                count=1,
                flags=re.MULTILINE,
            )
        made[name] = new
    return made if made != device.files else None


def in_block(systems: tuple[str, ...], text: str) -> Fault:
    """Add a line to the blocks of physical ports that lead to other switches (Junos)."""

    def plant(found: FoundFabric, device: Device, every: bool) -> Texts | None:
        ports = list(dict.fromkeys(port.partition(".")[0] for port in link_ports(found, device)))
        if device.system not in systems or not ports:
            return None
        made = dict(device.files)
        for name, old in device.files.items():
            for port in ports if every else ports[:1]:
                head, leaf = rf"^(\s*){re.escape(port)} \{{\n", text.partition(" ")[0].rstrip(";")
                stated = rf"({head}(?:\2    \w.*\n)*?\2    ){leaf} .*;"
                new = re.sub(stated, rf"\g<1>{text}", old, count=1, flags=re.MULTILINE)
                old = (
                    new
                    if new != old
                    else re.sub(head, rf"\g<0>\g<1>    {text}\n", old, count=1, flags=re.MULTILINE)
                )
            made[name] = old
        return made if made != device.files else None

    return plant


def _shut_sonic(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    if device.system != "sonic":
        return None
    return at_fact(
        lambda f, d: [f"interface[{port}]/enabled" for port in link_ports(f, d)],
        lambda line, _: line.replace('"up"', '"down"'),
    )(found, device, every)


def _router_id(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Give a switch the router identifier of a neighbor on a link."""
    mine = device.reading.facts
    near = {far.device for link in found.links for a, far in link.ways if a.device == device.name}
    other = next(
        (
            str(each.reading.facts["bgp/router_id"])
            for name, each in found.devices.items()
            if name in near and "bgp/router_id" in each.reading.facts
        ),
        "",
    )  # fmt: skip
    own = str(mine.get("bgp/router_id", ""))
    if not other or not own or other == own:
        return None
    return at_fact(lambda _, __: ["bgp/router_id"], lambda line, _: line.replace(own, other))(
        found, device, every
    )


def _copied_headroom(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Use the smallest headroom of a switch for its links to other switches."""
    facts = device.reading.facts
    sizes = {
        int(v) for path, v in facts.items() if path.endswith("/headroom/xoff_bytes") and isinstance(v, int)
    }
    if not sizes:
        return None
    small = str(min(sizes) // (1 if len(sizes) > 1 else 4))
    paths = [f"interface[{port}]/headroom/xoff_bytes" for port in link_ports(found, device)]
    if every and not any(path.endswith("/headroom/cable_m") for path in facts):
        return None  # no file states how long the cables are
    return at_fact(lambda _, __: [path for path in paths if str(facts.get(path)) != small], number(small))(
        found, device, every
    )


def _without_bfd(found: FoundFabric, device: Device) -> list[str]:
    """Return the sessions with other switches that have no BFD."""
    facts = device.reading.facts
    return [
        each for each in inner_sessions(found, device) if facts.get(f"bgp/neighbor[{each}]/bfd") != "true"
    ]


def _one_bfd(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Enable BFD on sessions whose other end has none."""
    texts = {
        "eos": "neighbor {0} bfd",
        "frr": "neighbor {0} bfd",
        "sonic": "neighbor {0} bfd",
        "nxos": "  bfd",
    }
    return (
        to_session(texts)(found, device, every)
        if _without_bfd(found, device) == inner_sessions(found, device)
        else None
    )


def _no_bfd(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Switch BFD off on sessions whose other end has it."""
    if device.system == "nxos":
        return at_fact(of_sessions("bfd"), lambda line, _: re.sub(r"^( *)bfd$", r"\1no bfd", line))(
            found, device, every
        )
    if device.system in ("frr", "sonic"):
        return replace_lines(("frr", "sonic"), (r"^ neighbor \S+ bfd(?: .*)?\n", ""))(found, device, True)
    return (
        to_session({"eos": "no neighbor {0} bfd"})(found, device, every)
        if inner_sessions(found, device) and not _without_bfd(found, device)
        else None
    )


def _lone_vrf(found: FoundFabric, device: Device) -> list[str]:
    """Return the VRFs of ports next to at least three others with the same VRF and the same device in the description."""
    facts, paths = device.reading.facts, []
    kin: dict[tuple[str, str], list[str]] = {}
    for path, value in facts.items():
        if match := re.fullmatch(r"interface\[([^]]+)\]/vrf", path):
            text = str(facts.get(f"interface[{match[1]}]/description", "")).split()
            kin.setdefault((str(value), text[0] if text else ""), []).append(path)
    for (_, host), found_paths in kin.items():
        if host and len(found_paths) >= 4:
            paths += found_paths[:1]
    return paths


def _other_vrf(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    facts = device.reading.facts
    vrfs = sorted(
        {str(v) for path, v in facts.items() if re.fullmatch(r"interface\[[^]]+\]/vrf", path)}
        - {"management", "mgmt", "MGMT"}
    )
    if len(vrfs) < 2:
        return None
    return at_fact(
        _lone_vrf, lambda line, value: line.replace(value, vrfs[1] if value == vrfs[0] else vrfs[0])
    )(found, device, every)


def _same_distinguisher(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Give a VRF the route distinguisher that the same VRF has on another switch, which is no partner of a pair."""
    domain = device.reading.facts.get("mlag/domain")
    for path, value in device.reading.facts.items():
        if re.fullmatch(r"(?:evpn/)?vrf\[[^]]+\]/distinguisher", path) and ":" in str(value):
            others = [
                str(each.reading.facts.get(path))
                for name, each in found.devices.items()
                if name != device.name and (not domain or each.reading.facts.get("mlag/domain") != domain)
            ]
            other = next((each for each in others if ":" in each and each != value), "")
            if other:
                return at_fact(
                    lambda _, __, path=path: [path],
                    lambda line, value, other=other: line.replace(value, other),
                )(found, device, False)
    return None


def _same_vni(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Give a VLAN or a VRF the VNI of another one of the same switch."""
    facts = device.reading.facts
    for pattern in (
        r"(?:vrf\[[^]]+\]/)?(?:evpn/segment|vxlan/vlan)\[\d+\]/vni",
        r"(?:evpn|vxlan)/vrf\[[^]]+\]/vni",
    ):
        paths = [path for path in facts if re.fullmatch(pattern, path)]
        if len({facts[path] for path in paths}) > 1:
            other = next(facts[path] for path in paths if facts[path] != facts[paths[0]])
            return at_fact(lambda _, __, path=paths[0]: [path], number(str(other)))(found, device, False)
    return None


def _small_underlay(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Give links between switches the MTU of the ports of tenants, without room for VXLAN's headers."""
    facts = device.reading.facts
    if not any(path in facts for path in ("evpn/source", "vxlan/source")):
        return None
    inner = [
        int(v)
        for path, v in facts.items()
        if path.endswith("]/mtu")
        and path.startswith("interface[")
        and isinstance(v, int)
        and f"{path[:-4]}/vrf" in facts
    ]
    if not inner:
        return None
    return at_fact(
        lambda f, d: [f"interface[{port}]/mtu" for port in link_ports(f, d)], number(str(max(inner)))
    )(found, device, every)


def _other_loopback_prefix(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Announce another host route than that of the loopback: lists with its prefix name another one."""
    own = str(device.reading.facts.get("loopback/ipv4", "")).partition("/")[0]
    if not own or not any(
        f"{own}/32" in str(v) for path, v in device.reading.facts.items() if path.startswith("prefix_list[")
    ):
        return None
    facts = device.reading.facts
    maps = {
        str(v)
        for path, v in facts.items()
        if re.fullmatch(r"bgp/redistribute(?:_connected|\[(?:connected|direct)\])", path)
    }
    lists = {
        str(v).split()[-1]
        for path, v in facts.items()
        if path.startswith("route_map[") and path[10:].partition("]")[0] in maps and "prefix_list" in str(v)
    }
    paths = [
        path
        for path, v in facts.items()
        if path.startswith("prefix_list[") and path[12:].partition("]")[0] in lists and f"{own}/32" in str(v)
    ]
    if not paths:
        return None
    return at_fact(lambda _, __: paths, lambda line, _: line.replace(f"{own}/32", "10.99.99.99/32"))(
        found, device, True
    )


def _vlan_of_port(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Give access ports a VLAN that the switch does not have."""
    return at_fact(match_paths(r"interface\[[^]]+\]/access_vlan"), number("3999"))(found, device, every)


def _deny_discovery(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Deny neighbor discovery of IPv6 on links whose sessions need it."""
    facts = device.reading.facts
    unnumbered = [
        port
        for port in link_ports(found, device)
        if f"bgp/neighbor[{port}]/remote_asn" in facts or f"bgp/neighbor[{port}]/remote_kind" in facts
    ]
    if device.system != "eos" or not unnumbered:
        return None
    name = next(iter(device.files))
    text = device.files[name]
    for port in unnumbered if every else unnumbered[:1]:
        text = re.sub(
            rf"(?m)^interface {re.escape(port)}\n", r"\g<0>   ipv6 access-group ND1 in\n", text, count=1
        )
    text = re.sub(
        r"(?m)^(?=router bgp)",
        "ipv6 access-list ND1\n   10 deny icmpv6 any any neighbor-solicitation\n   20 permit ipv6 any any\n!\n",
        text,
        count=1,
    )
    return {**device.files, name: text} if "access-group ND1" in text else None


def _wrong_group(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Put sessions into a peer group that does not exist."""
    if device.system not in ("eos", "frr", "sonic", "nxos"):
        return None
    groups = match_paths(r"bgp/neighbor\[[\d.:a-z]+\]/group")(found, device)
    if groups:
        return at_fact(
            lambda _, __: groups,
            lambda line, value: re.sub(
                rf"(peer[- ]group|inherit peer) {re.escape(value)}(?=\s|$)", r"\1 GROUP-NOBODY-HAS", line
            ),
        )(found, device, every)
    chosen = [rf"(^ *neighbor {re.escape(each)} peer[- ]group )\S+" for each in inner_sessions(found, device)]
    return (
        replace_lines(
            _CLI, *((each, r"\g<1>GROUP-NOBODY-HAS") for each in (chosen if every else chosen[:1]))
        )(found, device, every)
        if chosen
        else None
    )


def _set_timers(hold: int, keep: int) -> Fault:
    return to_session({
        "eos": f"neighbor {{0}} timers {keep} {hold}", "frr": f"neighbor {{0}} timers {keep} {hold}", "sonic": f"neighbor {{0}} timers {keep} {hold}",
        "nxos": f"  timers {keep} {hold}", **({"junos": "hold-time 0;"} if not hold else {}),
    })  # fmt: skip


def _no_lossless_pair(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Leave a priority with PFC out of the watchdog (SONiC)."""
    return replace_lines(("sonic",), (r'("pfcwd_sw_enable": "\d),\d"', r'\1"'))(found, device, every)


def _has_path(pattern: str) -> Callable[[FoundFabric, Device], bool]:
    return lambda found, device: bool(match_paths(pattern)(found, device))


def _in_use(found: FoundFabric, device: Device) -> bool:
    return bool(link_ports(found, device))


_RT = r"(?:vrf\[[^]]+\]/)?evpn/(?:segment|vni)\[\d+\]/route_target|evpn/vrf\[[^]]+\]/route_target|vrf\[[^]]+\]/import"
_VNI = r"(?:vrf\[[^]]+\]/)?(?:evpn/segment|vxlan/vlan)\[\d+\]/vni"
_VRF_VNI = r"(?:evpn|vxlan)/vrf\[[^]]+\]/vni"

KINDS = {
    # Overlays.
    "another VNI of a VLAN": FaultKind(at_fact(shared_paths(_VNI), _first_number("7777")), _ONE),
    "another VNI of a VRF": FaultKind(at_fact(shared_paths(_VRF_VNI), _first_number("7777")), _ONE),
    "another route target": FaultKind(at_fact(shared_paths(_RT), _first_number("7777")), _ONE),
    "another gateway": FaultKind(at_fact(_of_gateway, _change_gateway), _ONE),
    "another anycast MAC": FaultKind(at_fact(shared_paths("evpn/anycast_mac"), lambda line, _: re.sub(r"[0-9a-f]{2}(?=\s*$)", "77", line)), _ONE),
    "VTEP without an address": FaultKind(at_fact(match_paths(r"(?:vrf\[[^]]+\]/)?(?:vxlan/source|evpn/source)"), _last_number)),
    "one VNI twice": FaultKind(_same_vni),
    "one route distinguisher twice": FaultKind(_same_distinguisher, ("one",)),
    "another UDP port of VXLAN": FaultKind(at_fact(shared_paths("evpn/udp_port|vxlan/port"), _first_number("4790")), _ONE),
    "another next hop of the overlay": FaultKind(replace_lines(_CLI, (r"^ *(?:neighbor \S+ )?(?:next-hop-unchanged|set ip next-hop unchanged)\n", "")), fits=lambda found, device: found.places[device.name].tier is Tier.SPINE and not match_paths(r"(?:evpn|vxlan)/source")(found, device)),
    "no room for VXLAN": FaultKind(_small_underlay, ("tier", "all")),
    "a port in the VRF of another tenant": FaultKind(_other_vrf, _ONE),
    "another host route of the VTEP": FaultKind(_other_loopback_prefix),
    "no communities on sessions of the overlay": FaultKind(lambda found, device, _: first_of(replace_lines(("eos",), (r"^ *neighbor \S+ send-community.*\n", "")), replace_lines(("nxos",), (r"^ *send-community (?:extended|both)\n", "")))(found, device, True), fits=lambda found, device: bool(match_paths(r"evpn/neighbor\[.*")(found, device)) or any("evpn" in str(v) for path, v in device.reading.facts.items() if path.endswith("]/families"))),
    # Sessions.
    "hold time 0": FaultKind(_set_timers(0, 0), fits=lambda found, device: set(inner_sessions(found, device)) == set(_without_bfd(found, device))),
    "a hold time below the keepalive": FaultKind(_set_timers(10, 30)),
    "sessions from another address": FaultKind(to_session({"eos": "neighbor {0} update-source Loopback0", "frr": "neighbor {0} update-source lo", "nxos": "  update-source loopback0", "sonic": "neighbor {0} update-source Loopback0"}), fits=lambda found, device: any(_is_on_link(found, device, each) for each in inner_sessions(found, device)[:1])),
    "nothing is exported": FaultKind(to_session({"eos": "neighbor {0} route-map NOTHING out", "frr": "neighbor {0} route-map NOTHING out"}, {"eos": "route-map NOTHING deny 10\n!\n", "frr": "route-map NOTHING deny 10\n!\n"})),
    "a route map that is not defined": FaultKind(to_session({"eos": "neighbor {0} route-map UNDEFINED in", "frr": "neighbor {0} route-map UNDEFINED in"})),
    "another AS for one peer": FaultKind(to_session({"eos": "neighbor {0} local-as 64997 no-prepend replace-as", "frr": "neighbor {0} local-as 64997 no-prepend replace-as", "nxos": "  local-as 64997 no-prepend replace-as", "sonic": "neighbor {0} local-as 64997 no-prepend replace-as", "junos": "local-as 64997;"})),
    "a family that is not active": FaultKind(_no_neighbor_activate),
    "BFD on one end": FaultKind(_one_bfd, _SIDED),
    "no BFD on one end": FaultKind(_no_bfd, _SIDED),
    "a peer group that is not defined": FaultKind(_wrong_group),
    "the router identifier of another switch": FaultKind(_router_id, _ONE),
    "few prefixes end a session": FaultKind(first_of(at_fact(of_sessions("maximum_prefixes"), number("1")), to_session({"eos": "neighbor {0} maximum-routes 1", "frr": "neighbor {0} maximum-prefix 1"})), fits=lambda found, device: _has_other_tors(found, device)),
    # Ports.
    "another native VLAN": FaultKind(at_fact(match_paths(r"interface\[[^]]+\]/native_vlan"), number("3998")), _ONE, lambda f, d: bool(link_ports(f, d)) and all(f"interface[{end.port}]/native_vlan" in f.devices[end.device].reading.facts for link in f.links for end in (link.a, link.b) if d.name in (link.a.device, link.b.device) and end.device in f.devices)),
    "VLANs of a trunk": FaultKind(at_fact(lambda found, device: [p for p in match_paths(r"interface\[[^]]+\]/vlans")(found, device) if _leads_to_trunk(found, device, p)], lambda line, _: re.sub(r"(vlan |members )[\d,\-\[\] a-z]+", r"\g<1>3999", line)), _ONE),
    "a VLAN that the switch does not have": FaultKind(_vlan_of_port),
    "the loopback is shut": FaultKind(at_fact(lambda _, d: ["loopback/ipv4"] if d.system in ("eos", "nxos") or (d.system == "frr" and d.reading.lines.get("loopback/ipv4", ("",))[0] == "frr.conf") else [], lambda line, _: line_below(line, text="shutdown"))),
    "a bundle without LACP": FaultKind(replace_lines(("eos", "nxos"), (r"^(\s*channel-group \d+ mode )active", r"\g<1>on")), _SIDED, lambda found, device: any(f"interface[{port}]/bundle" in device.reading.facts for port in link_ports(found, device))),
    "another MLAG peer": FaultKind(replace_lines(("eos",), (r"^(\s*peer-address )\d\S+", r"\g<1>192.0.2.77"))),
    "a port is shut on Junos": FaultKind(in_block(("junos",), "disable;")),
    "a port is shut on SONiC": FaultKind(_shut_sonic),
    "another MTU of a port on Junos": FaultKind(in_block(("junos",), "mtu 1400;"), _SIDED),
    "copied headroom": FaultKind(_copied_headroom),
    "no watchdog on one priority": FaultKind(_no_lossless_pair),
    "no routing of packets": FaultKind(replace_lines(("eos",), (r"^ip routing.*$", "no ip routing")), fits=_in_use),
    "limited unicast": FaultKind(first_of(in_port("storm-control all level 1", ("eos",)), in_port("storm-control unicast level 1.00", ("nxos",))), fits=_has_path(r"interface\[[^]]+\]/pfc")),
    "neighbor discovery is denied": FaultKind(_deny_discovery),
    # Link-state protocols.
    "another OSPF timer": FaultKind(at_fact(lambda found, device: of_links("ospf_area")(found, device) if device.system in ("eos", "nxos", "frr") else [], lambda line, _: line_below(line, text="ip ospf hello-interval 33")), _SIDED),
    "another OSPF area": FaultKind(at_fact(of_links("ospf_area"), lambda line, _: re.sub(r"(\barea )\S+", r"\g<1>0.0.0.77", line)), _ONE),
    "another OSPF network type": FaultKind(replace_lines(("eos", "nxos", "frr"), (r"^(\s*ip ospf network )point-to-point", r"\g<1>broadcast")), _SIDED),
    "a link without IS-IS neighbors": FaultKind(lambda found, device, every: replace_lines(("eos",), (r"^(\s*)(isis enable \S+)\n(?!\s*isis passive)", r"\g<1>\g<2>\n\g<1>isis passive\n"))(found, device, every)),
    # Services.
    "NTP in a VRF that is not there": FaultKind(first_of(replace_lines(("eos",), (r"^ntp server (?:vrf \S+ )?(?=\S)", "ntp server vrf NOVRF ")), replace_lines(("nxos",), (r"^(ntp server \S+) use-vrf \S+", r"\1 use-vrf NOVRF")), replace_lines(("junos",), (r"(server \S+ routing-instance )\S+;", r"\1NOVRF;")))),
    "logs in a VRF that is not there": FaultKind(first_of(replace_lines(("eos",), (r"^logging (?:vrf \S+ )?host ", "logging vrf NOVRF host ")), replace_lines(("nxos",), (r"^(logging server .*use-vrf )\S+", r"\1NOVRF")), replace_lines(("junos",), (r"(^ +host \S+ \{\n(?: +\w.*;\n)*? +routing-instance )mgmt_junos;", r"\1NOVRF;")))),
    "no LLDP": FaultKind(first_of(replace_lines(("eos",), (r"^(?=hostname )", "no lldp run\n")), replace_lines(("nxos",), (r"^feature lldp\n", "no feature lldp\n"))), fits=_in_use),
}  # fmt: skip
"""Kind of fault -> how it is planted, and in which scopes it is a fault."""


def _has_other_tors(found: FoundFabric, device: Device) -> bool:
    """Return whether two other ToRs have links to the neighbors of a switch, so that a limit of one prefix is exceeded."""
    ways = [(near.device, far.device) for link in found.links for near, far in link.ways]
    tors = {name for name, place in found.places.items() if place.tier is Tier.TOR}
    above = {far for near, far in ways if near == device.name and found.devices[far].kind is Kind.SWITCH}
    if not above:
        return len(tors) > 2
    return len({far for near, far in ways if near in above and far in tors} - {device.name}) > 1


def _is_on_link(found: FoundFabric, device: Device, neighbor: str) -> bool:
    facts = device.reading.facts
    subnets = [
        ip_interface(str(facts[path])).network
        for port in link_ports(found, device)
        if (path := f"interface[{port}]/ipv4") in facts and "/" in str(facts[path])
    ]
    return any(ip_interface(neighbor).ip in each for each in subnets)


def _leads_to_trunk(found: FoundFabric, device: Device, path: str) -> bool:
    port = path[len("interface[") :].partition("]")[0]
    return any(
        a.device == device.name and a.port in (port,) and far.device in found.devices
        for link in found.links
        for a, far in link.ways
    )
