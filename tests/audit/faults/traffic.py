"""Faults that lose, loop or narrow traffic: routes, policies, sessions, equal paths, filters, MTU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.audit.faults.edits import UnchangedError, add, chain_edits, edit_nvue, edit_tables, replace, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]

BGP = ("vrf", "default", "router", "bgp")
LINK = r"(?:x0\d|rack\d+-leaf)\b.*"
"""The first word of the description of a port between switches."""
ASN = r"42\d{8}"

JUNOS_FILTER = """\
        filter F1 {
            term T1 {
                from {
                    protocol PROTOCOL;
                    destination-port PORT;
                }
                then {
                    discard;
                }
            }
            term T2 {
                then {
                    accept;
                }
            }
        }
"""
JUNOS_GROUP = """\
        group OTHER {
            type external;
            neighbor 198.51.100.1 {
                peer-as 65010;
            }
        }
"""


def _edit_groups(change: Callable[[dict[str, Any]], object]) -> Callable[[Files], Files]:
    """Change what each group of NVUE's BGP sessions sets for IPv4."""
    return edit_nvue(
        lambda tree: [
            change(group["address-family"]["ipv4-unicast"])
            for group in walk(tree, *BGP, "peer-group").values()
        ]
    )


def _add_static(prefix: str, hop: str) -> Fault:
    drop = hop == "discard"
    frr = add(f"ip route {prefix} {'Null0' if drop else hop}\n", before="^router bgp")
    return {
        "frr": frr,
        "sonic": frr,
        "eos": add(f"ip route {prefix} {'Null0' if drop else hop}\n", before="^ip route vrf"),
        "nxos": add(f"ip route {prefix} {'Null0' if drop else hop}\n", before="^vrf context"),
        "junos": add(
            f"    static {{\n        route {prefix} {'discard' if drop else 'next-hop ' + hop};\n    }}\n",
            after=r"^routing-options",
        ),
        "cumulus": edit_nvue(
            lambda tree: walk(tree, "vrf", "default", "router", "static").update(
                {
                    prefix: {
                        "address-family": "ipv4-unicast",
                        "via": {
                            "blackhole" if drop else hop: {"type": "blackhole" if drop else "ipv4-address"}
                        },
                    }
                }
            )
        ),
    }


def _replace_prefixes(name: str, old: str, new: str) -> Fault:
    """Replace a prefix in the list of a name."""
    line = replace(rf"(prefix-list {name} (?:seq \d+ )?permit ){old}", rf"\g<1>{new}")
    return {
        "frr": line,
        "sonic": line,
        "nxos": line,
        "eos": replace(rf"(ip prefix-list {name}\n(?:   seq .*\n)*?   seq \d+ permit ){old}", rf"\g<1>{new}"),
        "junos": replace(rf"(route-filter-list {name} \{{\n +){old}", rf"\g<1>{new}"),
        "cumulus": edit_nvue(
            lambda tree: _rename_list(
                walk(tree, "router", "policy", "prefix-list", name, "rule", "10", "match"), new
            )
        ),
    }


def _rename_list(tree: dict[str, Any], new: str) -> None:
    if not tree:
        raise UnchangedError(new)
    (old,) = tree
    tree[new] = tree.pop(old)


def _deny_clause(name: str) -> Fault:
    """Make the last clause of a route map (or all) reject."""
    line = replace(rf"^(route-map {name}-\S+) permit (\d+)", r"\1 deny \2")
    return {
        "frr": line,
        "sonic": line,
        "nxos": line,
        "eos": line,
        "junos": lambda files: {
            **files,
            "juniper.conf": re.sub(
                rf"policy-statement {name}-[\s\S]*?^    \}}",
                lambda match: match[0].replace("accept;", "reject;"),
                files["juniper.conf"],
                flags=re.M,
            ),
        },
        "cumulus": edit_nvue(
            lambda tree: [
                rule.update(action={"deny": {}})
                for key, route_map in walk(tree, "router", "policy", "route-map").items()
                if key.startswith(name)
                for rule in route_map["rule"].values()
            ]
        ),
    }


def _bind_acl(protocol: str, port: int) -> Fault:
    """Bind a list that drops a destination port to every port between switches."""
    other = "tcp" if protocol == "tcp" else "udp"
    words = f"deny {other} any any eq {port}"
    junos = JUNOS_FILTER.replace("PROTOCOL", other).replace("PORT", str(port))
    return {
        "eos": chain_edits(
            add(f"ip access-list F1\n   10 {words}\n   20 permit ip any any\n", before="^ip routing"),
            replace(rf"(interface Ethernet\S+\n   description {LINK}\n)", r"\1   ip access-group F1 in\n"),
        ),
        "nxos": chain_edits(
            add(f"ip access-list F1\n  10 {words}\n  20 permit ip any any\n", before="^class-map"),
            replace(rf"(interface Ethernet\S+\n  description {LINK}\n)", r"\1  ip access-group F1 in\n"),
        ),
        "junos": chain_edits(
            add(junos, after="^    family inet {"),
            replace(
                rf"(description \"?{LINK}\"?;\n(?:.*\n)*?            family inet {{\n)",
                r"\1                filter {\n                    input F1;\n                }\n",
            ),
        ),
        "sonic": edit_tables(lambda tables: _sonic_acl(tables, protocol, port)),
        "cumulus": edit_nvue(lambda tree: _nvue_acl(tree, protocol, port)),
        "frr": add(
            f'        iifname "swp*" {other} dport {port} drop\n',
            after="type filter hook input",
            file="nftables.conf",
        ),
    }


def _sonic_acl(tables: dict[str, Any], protocol: str, port: int) -> None:
    ports = [
        name
        for name, row in tables["PORT"].items()
        if row.get("description", "").startswith(("x0", "rack0")) and "host" not in row["description"]
    ]
    tables["ACL_TABLE"]["F1"] = {"policy_desc": "F1", "ports": ports, "stage": "ingress", "type": "L3"}
    tables["ACL_RULE"]["F1|RULE_1"] = {
        "PRIORITY": "9999",
        "PACKET_ACTION": "DROP",
        "IP_PROTOCOL": "6" if protocol == "tcp" else "17",
        "L4_DST_PORT": str(port),
    }


def _nvue_acl(tree: dict[str, Any], protocol: str, port: int) -> None:
    walk(tree, "acl")["F1"] = {
        "type": "ipv4",
        "rule": {
            "10": {
                "match": {"ip": {"protocol": protocol, protocol: {"dest-port": {str(port): {}}}}},
                "action": {"deny": {}},
            },
            "20": {"match": {"ip": {"source-ip": "ANY"}}, "action": {"permit": {}}},
        },
    }
    for port_of in tree["interface"].values():
        output = str(port_of.get("description", ""))
        if output.startswith("x0") or "-leaf" in output:
            port_of["acl"] = {"F1": {"inbound": {}}}


def _no_policy() -> Fault:
    line = replace(r"^ +neighbor (?:UP|DOWN)STREAM\S* route-map .*\n", "")
    return {
        "frr": line,
        "sonic": line,
        "eos": chain_edits(
            line, add("   bgp missing-policy direction in action deny\n", after="^router bgp")
        ),
        "nxos": replace(r"^ +route-map (?:FROM|TO)-\S+ (?:in|out)\n", ""),
        "junos": replace(r"^ +(?:import (?:FROM|TO)-|export \[).*\n", ""),
        "cumulus": _edit_groups(lambda family: family.pop("policy")),
    }


def _unknown_peer() -> Fault:
    return {
        "frr": chain_edits(
            add(" neighbor 198.51.100.1 remote-as 65010\n", after="^ bgp router-id"),
            replace(r"^ bgp ebgp-requires-policy\n", " no bgp ebgp-requires-policy\n"),
            add("  neighbor 198.51.100.1 activate\n", after="^ address-family ipv4"),
        ),
        "eos": chain_edits(
            add("   neighbor 198.51.100.1 remote-as 65010\n", after="^   router-id"),
            add("      neighbor 198.51.100.1 activate\n", after="^   address-family ipv4"),
        ),
        "nxos": add(
            "  neighbor 198.51.100.1\n    remote-as 65010\n    address-family ipv4 unicast\n",
            before="^  neighbor",
        ),
        "junos": add(
            JUNOS_GROUP,
            after="^        log-updown",
        ),
        "cumulus": edit_nvue(
            lambda tree: walk(tree, *BGP, "neighbor").update(
                {"198.51.100.1": {"remote-as": 65010, "type": "numbered"}}
            )
        ),
        "sonic": chain_edits(
            add(" neighbor 198.51.100.1 remote-as 65010\n", after="^ bgp router-id"),
            replace(r"^ bgp ebgp-requires-policy\n", " no bgp ebgp-requires-policy\n"),
            add("  neighbor 198.51.100.1 activate\n", after="^ address-family ipv4"),
        ),
    }


def _limit_paths(number: int | None) -> Fault:
    """Set the number of equal paths, or leave it to the system."""
    value = "" if number is None else str(number)
    frr = replace(r"^  maximum-paths 64\n", f"  maximum-paths {value}\n") if value else None
    found: Fault = {
        "eos": replace(
            r"^   maximum-paths .*\n", f"   maximum-paths {value} ecmp {value}\n" if value else ""
        ),
        "nxos": replace(r"^    maximum-paths 64\n", f"    maximum-paths {value}\n" if value else ""),
        "junos": replace("    maximum-ecmp 64;\n", f"    maximum-ecmp {value};\n")
        if value
        else replace(r" +multipath \{\n.*\n +\}\n", ""),
    }
    if frr:
        found |= {"frr": frr, "sonic": frr}
        found["cumulus"] = edit_nvue(
            lambda tree: walk(tree, *BGP, "address-family", "ipv4-unicast", "multipaths").update(ebgp=number)
        )
    return found


def _loops_open() -> Fault:
    line = add("  neighbor UPSTREAM-V4 allowas-in 3\n", after="neighbor UPSTREAM-V4 activate")
    down = add("  neighbor DOWNSTREAM-V4 allowas-in 3\n", after="neighbor DOWNSTREAM-V4 activate")

    def frr(files: Files) -> Files:
        return (
            line
            if "UPSTREAM-V4 activate" in files["frr.conf"] and "DOWNSTREAM-V4" not in files["frr.conf"]
            else down
        )(files)

    return {
        "frr": frr,
        "sonic": frr,
        "eos": replace(
            r"^(   neighbor ((?:UP|DOWN)STREAM) peer group\n)", r"\1   neighbor \2 allowas-in 3\n"
        ),
        "nxos": replace(
            r"^(  template peer .*\n(?:.*\n)*?    address-family ipv4 unicast\n)", r"\1      allowas-in 3\n"
        ),
        "junos": replace(r"(    autonomous-system \d+);", r"\1 loops 3;"),
        "cumulus": _edit_groups(
            lambda family: family.update({"aspath": {"allow-my-asn": {"enable": "on", "occurrences": 3}}})
        ),
    }


def _change_mtu(value: int) -> Fault:
    return {
        "eos": replace(r"^   mtu 9100", f"   mtu {value}"),
        "nxos": replace(r"^  mtu 9100", f"  mtu {value}"),
        "junos": chain_edits(
            replace(r"mtu 9114;", f"mtu {value + 14};"), replace(r"mtu 9100;", f"mtu {value};")
        ),
        "sonic": edit_tables(
            lambda tables: [
                row.update(mtu=str(value)) for row in tables["PORT"].values() if "description" in row
            ]
        ),
        "cumulus": edit_nvue(
            lambda tree: [
                port["link"].update(mtu=value)
                for port in tree["interface"].values()
                if "mtu" in port.get("link", {})
            ]
        ),
        "frr": replace(r"^    mtu 9100", f"    mtu {value}", file="interfaces"),
    }


def _no_bfd() -> Fault:
    line = replace(r"^ neighbor \S+ bfd.*\n", "")
    return {
        "frr": line,
        "sonic": chain_edits(line),
        "eos": replace(r"^   neighbor \S+ bfd\n", ""),
        "nxos": replace(r"^    bfd\n", ""),
        "cumulus": edit_nvue(
            lambda tree: [
                group["bfd"].update(enable="off") for group in walk(tree, *BGP, "peer-group").values()
            ]
        ),
    }


def _bfd_off() -> Fault:
    return {
        "frr": replace("^bfdd=yes", "bfdd=no", file="daemons"),
        "nxos": replace("^feature bfd\n", ""),
        "sonic": edit_tables(lambda tables: tables.pop("SYSTEM_DEFAULTS")),
    }


def _one_asn(tor: bool) -> Fault:
    """Give every ToR the number of the first; spines expect it."""
    numbers = "|".join(("4200524292", "4200524296", "4200524300"))
    first = "4200524288"
    line = replace(rf"\b(?:{numbers})\b", first)
    swapped = replace(rf"\b(?:{numbers})\b", first, file="startup.yaml")
    return {
        "frr": line,
        "eos": line,
        "nxos": line,
        "junos": line,
        "cumulus": swapped,
        "sonic": lambda files: {
            name: replace(rf"\b(?:{numbers})\b", first, file=name)(files)[name]
            if any(n in text for n in numbers.split("|"))
            else text
            for name, text in files.items()
        },
    }


def _peer_asn() -> Fault:
    line = replace(rf"(remote-as ){ASN}", r"\g<1>4200999999", count=1)
    return {
        "frr": line,
        "eos": line,
        "nxos": line,
        "sonic": line,
        "junos": replace(rf"(peer-as ){ASN}", r"\g<1>4200999999", count=1),
        "cumulus": replace(rf"(remote-as: ){ASN}", r"\g<1>4200999999", count=1),
    }


def _drop_metadata() -> Fault:
    return {
        "sonic": edit_tables(
            lambda tables: tables["DEVICE_METADATA"]["localhost"].pop("docker_routing_config_mode")
        ),
        "frr": replace("^bgpd=yes", "bgpd=no", file="daemons"),
    }


KINDS: dict[str, tuple[str, Fault]] = {
    "discard of a host prefix": ("spine", _add_static("10.0.0.64/27", "discard")),
    "discard inside a host prefix": ("spine", _add_static("10.0.0.64/28", "discard")),
    "static route to a wrong hop": ("spine", _add_static("10.0.0.64/28", "10.64.0.1")),
    "import rejects all": ("tor", _deny_clause("FROM")),
    "export rejects all": ("tor", _deny_clause("TO")),
    "import loses prefixes": ("tor", _replace_prefixes("FABRIC-V4", r"10\.0\.0\.0/10", "172.0.0.0/10")),
    "export loses prefixes": ("tor", _replace_prefixes("OWN-V4", r"10\.0\.0\.\d+/27", "172.31.0.0/27")),
    "sessions without policy": ("tor", _no_policy()),
    "session to an unknown peer": ("spine", _unknown_peer()),
    "two equal paths": ("tor", _limit_paths(2)),
    "no equal paths": ("tor", _limit_paths(None)),
    "filter on BGP": ("tor", _bind_acl("tcp", 179)),
    "filter on BFD": ("tor", _bind_acl("udp", 3784)),
    "filter on RoCE": ("tor", _bind_acl("udp", 4791)),
    "loops accepted": ("spine", _loops_open()),
    "MTU 1500": ("tor", _change_mtu(1500)),
    "MTU 4096": ("tor", _change_mtu(4096)),
    "BFD on no session": ("tor", _no_bfd()),
    "BFD is not started": ("tor", _bfd_off()),
    "one AS for all ToRs": ("tor", _one_asn(tor=True)),
    "wrong AS of a peer": ("tor", _peer_asn()),
    "routing file not read": ("tor", _drop_metadata()),
}
"""Kind of fault -> the tier on which it is planted on one switch, and the edit for each system."""
