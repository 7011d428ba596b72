"""Faults in one detail: one port, one value, one line of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.audit.faults.edits import add, chain_edits, edit_nvue, edit_tables, replace, walk
from tests.audit.faults.ports import _leads_to
from tests.audit.faults.traffic import BGP, LINK, _add_static

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]


def _first_sonic(
    change: Callable[[dict[str, Any], str], object], word: str = "switch"
) -> Callable[[Files], Files]:
    """Change the first port of SONiC to a switch or a host."""
    return edit_tables(
        lambda tables: change(
            tables,
            next(name for name, row in tables["PORT"].items() if _leads_to(word, row.get("description", ""))),
        )
    )


def _first_nvue(change: Callable[[dict[str, Any]], object], word: str = "switch") -> Callable[[Files], Files]:
    """Change the first port of NVUE to a switch or a host."""
    return edit_nvue(
        lambda tree: change(
            next(
                port
                for port in tree["interface"].values()
                if _leads_to(word, str(port.get("description", "")))
            )
        )
    )


def _line_of_port(eos: str, nxos: str, junos: str) -> Fault:
    """Add a line to the first port between switches."""
    return {
        "eos": replace(rf"(interface Ethernet\S+\n   description {LINK}\n)", rf"\1   {eos}\n", count=1),
        "nxos": replace(rf"(interface Ethernet\S+\n  description {LINK}\n)", rf"\1  {nxos}\n", count=1),
        **(
            {"junos": replace(rf'(        description "?{LINK}"?;\n)', rf"\1        {junos}\n", count=1)}
            if junos
            else {}
        ),
    }


def _one_mtu() -> Fault:
    return {
        "eos": replace(rf"(description {LINK}\n   mtu )9100", r"\g<1>8000", count=1),
        "nxos": replace(rf"(description {LINK}\n(?:  .*\n)*?  mtu )9100", r"\g<1>8000", count=1),
        "junos": replace(
            rf'(description "?{LINK}"?;\n(?:.*\n)*?        mtu )9114(;\n(?:.*\n)*? +mtu )9100',
            r"\g<1>8014\g<2>8000",
            count=1,
        ),
        "sonic": _first_sonic(lambda tables, name: tables["PORT"][name].update(mtu="8000")),
        "cumulus": _first_nvue(lambda port: port["link"].update(mtu=8000)),
    }


def _one_wide_mask() -> Fault:
    def wide(tables: dict[str, Any], name: str) -> None:
        (key,) = [each for each in tables["INTERFACE"] if each.startswith(f"{name}|")]
        tables["INTERFACE"][key.replace("/31", "/27")] = tables["INTERFACE"].pop(key)

    def nvue(port: dict[str, Any]) -> None:
        (text,) = port["ip"]["address"]
        port["ip"]["address"] = {text.replace("/31", "/27"): {}}

    return {
        "eos": replace(r"(ip address 10\.64\.\S+)/31", r"\1/27", count=1),
        "nxos": replace(r"(ip address 10\.64\.\S+)/31", r"\1/27", count=1),
        "junos": replace(r"(address 10\.64\.\S+)/31", r"\1/27", count=1),
        "frr": replace(r"(ip address 10\.64\.\S+)/31", r"\1/27", count=1),
        "sonic": _first_sonic(wide),
        "cumulus": _first_nvue(nvue),
    }


def _other_subnet() -> Fault:
    """Give the first port between switches an address in the subnet of a port to a host."""
    pattern, text = r"(address )10\.64\.\S+/31", r"\g<1>10.0.0.35/30"

    def sonic(tables: dict[str, Any], name: str) -> None:
        (key,) = [each for each in tables["INTERFACE"] if each.startswith(f"{name}|")]
        tables["INTERFACE"][f"{name}|10.0.0.35/30"] = tables["INTERFACE"].pop(key)

    return {
        "eos": replace(pattern, text, count=1),
        "nxos": replace(pattern, text, count=1),
        "junos": replace(pattern, text, count=1),
        "frr": replace(pattern, text, count=1),
        "sonic": _first_sonic(sonic),
        "cumulus": _first_nvue(lambda port: port["ip"].update(address={"10.0.0.35/30": {}})),
    }


def _host_profile_between() -> Fault:
    """Give links between switches the profile of the short and slow ports to hosts."""
    return {
        "sonic": edit_tables(
            lambda tables: [
                row.update(profile="pg_lossless_400000_5m_profile")
                for row in tables["BUFFER_PG"].values()
                if row["profile"] == "pg_lossless_800000_40m_profile"
            ]
        ),
        "cumulus": edit_nvue(
            lambda tree: [
                port["qos"].update(pfc={"profile": "roce-400g-5m"})
                for port in tree["interface"].values()
                if _leads_to("switch", str(port.get("description", "")))
            ]
        ),
    }


def _map_of_one_port() -> Fault:
    def other_map(tables: dict[str, Any], name: str) -> None:
        tables["DSCP_TO_TC_MAP"]["OTHER"] = {**tables["DSCP_TO_TC_MAP"]["AZURE"], "26": "0"}
        tables["PORT_QOS_MAP"][name]["dscp_to_tc_map"] = "OTHER"

    return {
        "sonic": _first_sonic(other_map),
        "nxos": chain_edits(
            replace(
                r"^(policy-map type qos PM-CLASSIFY\n)",
                r"policy-map type qos OTHER\n  class class-default\n    set qos-group 0\n\1",
            ),
            replace(
                rf"(description {LINK}\n(?:  .*\n)*?  service-policy type qos input )PM-CLASSIFY",
                r"\1OTHER",
                count=1,
            ),
        ),
        "junos": chain_edits(
            replace(
                r"^(        dscp DSCP \{\n)",
                r"        dscp OTHER {\n            forwarding-class FC-DEFAULT {\n"
                r"                loss-priority low code-points [ 011010 ];\n            }\n        }\n\1",
            ),
            replace(r"(et-0/0/8 \{\n(?:.*\n)*?                    dscp )DSCP;", r"\1OTHER;", count=1),
        ),
    }


def _all_lossless() -> Fault:
    """Protect the default class by PFC as well."""
    return {
        "eos": replace(
            r"^(   priority-flow-control priority 3 no-drop\n)",
            r"\1   priority-flow-control priority 0 no-drop\n",
        ),
        "sonic": edit_tables(
            lambda tables: [
                row.update(pfc_enable="0,3") for row in tables["PORT_QOS_MAP"].values() if "pfc_enable" in row
            ]
        ),
        "cumulus": edit_nvue(
            lambda tree: [
                profile.update({"switch-priority": {"0": {}, "3": {}}})
                for profile in walk(tree, "qos", "pfc").values()
            ]
        ),
        "nxos": replace(
            r"^(  class type network-qos c-8q-nq-default\n    mtu 9216\n)", r"\1    pause pfc-cos 0\n"
        ),
    }


def _wrong_next_hop() -> Fault:
    frr = replace(r"^(route-map FROM-\S+ permit 20\n(?: match .*\n)*)", r"\1 set ip next-hop 192.0.2.77\n")
    return {
        "frr": frr,
        "sonic": frr,
        "eos": replace(
            r"^(route-map FROM-\S+ permit 20\n(?:   match .*\n)*)", r"\1   set ip next-hop 192.0.2.77\n"
        ),
        "nxos": replace(
            r"^(route-map FROM-\S+ permit 20\n(?:  match .*\n)*)", r"\1  set ip next-hop 192.0.2.77\n"
        ),
    }


def _global_pause() -> Fault:
    return {
        "eos": replace(
            rf"(interface Ethernet\S+\n   description {LINK}\n)",
            r"\1   flowcontrol receive on\n   flowcontrol send on\n",
            count=1,
        ),
        "nxos": replace(
            rf"(interface Ethernet\S+\n  description {LINK}\n)",
            r"\1  flowcontrol receive on\n  flowcontrol send on\n",
            count=1,
        ),
        "junos": replace(
            rf'(        description "?{LINK}"?;\n)',
            r"\1        ether-options {\n            flow-control;\n        }\n",
            count=1,
        ),
    }


def _swapped_cables() -> Fault:
    """Name another switch in the description of the first link."""
    return {
        "eos": replace(r"(   description )x01\b", r"\1x02", count=1),
        "nxos": replace(r"(  description )x01\b", r"\1x02", count=1),
    }


def _no_forwarding() -> Fault:
    return {
        "eos": replace(r"^ip routing\n", "no ip routing\n"),
        "frr": replace(r"ip_forward = 1", "ip_forward = 0", file="sysctl.conf"),
    }


def _in_vrf() -> Fault:
    return {
        "eos": chain_edits(
            add("vrf instance OTHER\n", before="^vrf instance MGMT"),
            replace(rf"(interface Ethernet\S+\n   description {LINK}\n)", r"\1   vrf OTHER\n", count=1),
        ),
        "nxos": chain_edits(
            add("vrf context OTHER\n", before="^vrf context management"),
            replace(rf"(interface Ethernet\S+\n  description {LINK}\n)", r"\1  vrf member OTHER\n", count=1),
        ),
        "sonic": _first_sonic(
            lambda tables, name: (
                tables["INTERFACE"][name].update(vrf_name="VrfOther"),
                walk(tables, "VRF").update(VrfOther={}),
            )
        ),
        "cumulus": _first_nvue(lambda port: port["ip"].update(vrf="other")),
    }


def _make_switched() -> Fault:
    return {
        "eos": replace(
            rf"(interface Ethernet\S+\n   description {LINK}\n(?:   .*\n)*?)   no switchport\n   ip address.*\n",
            r"\1   switchport access vlan 7\n",
            count=1,
        ),
        "nxos": replace(
            rf"(interface Ethernet\S+\n  description {LINK}\n)  no switchport\n((?:  .*\n)*?)  ip address.*\n",
            r"\1  switchport\n  switchport access vlan 7\n\2",
            count=1,
        ),
    }


def _slow_bfd() -> Fault:
    return {
        "eos": replace(
            r"interval 300 min-rx 300 multiplier 3 default",
            "interval 60000 min-rx 60000 multiplier 50 default",
        ),
        "nxos": replace(
            r"^bfd interval 300 min_rx 300 multiplier 3", "bfd interval 999 min_rx 999 multiplier 50"
        ),
    }


def _limit_rate() -> Fault:
    """Limit the rate of RDMA's queue or port to a small part of the link."""
    return {
        "eos": _line_of_port("shape rate 1 percent", "", "")["eos"],
        "junos": replace(r"(S-RDMA-\S+ \{\n)", r"\1            shaping-rate percent 1;\n"),
        "sonic": edit_tables(
            lambda tables: tables["SCHEDULER"]["rdma"].update(pir="125000000", meter_type="bytes")
        ),
        "nxos": replace(
            r"^(  class type queuing c-out-8q-q3\n    bandwidth remaining percent 90\n)",
            r"\1    shape min 1 gbps max 1 gbps\n",
        ),
    }


def _plain_http() -> Fault:
    return {
        "eos": replace(r"   protocol https\n", "   protocol http\n"),
        "junos": add("        web-management {\n            http;\n        }\n", after=r"^    services \{"),
        "nxos": add("nxapi http port 80\n", before="^nxapi use-vrf"),
    }


def _known_password() -> Fault:
    return {
        "eos": add(
            "username admin privilege 15 role network-admin secret 0 admin\n",
            before="^username netops privilege",
        ),
        "nxos": add(
            "username admin password 0 admin role network-admin\n", before="^username netops password"
        ),
    }


def _private_rw() -> Fault:
    return {
        "eos": add("snmp-server community private rw\n", before="^vrf instance"),
        "nxos": add("snmp-server community private group network-admin\n", before="^ntp server"),
        "junos": add(
            "snmp {\n    community private {\n        authorization read-write;\n    }\n}\n",
            before=r"^chassis",
        ),
        "sonic": edit_tables(lambda tables: tables.update(SNMP_COMMUNITY={"private": {"TYPE": "RW"}})),
    }


def _own_as_in() -> Fault:
    return {
        "eos": replace(r"^(   neighbor UPSTREAM peer group\n)", r"\1   neighbor UPSTREAM allowas-in 2\n"),
        "nxos": replace(
            r"^(  template peer UPSTREAM\n(?:.*\n)*?    address-family ipv4 unicast\n)",
            r"\1      allowas-in 2\n",
        ),
        "frr": add("  neighbor UPSTREAM-V4 allowas-in 2\n", after="neighbor UPSTREAM-V4 activate"),
        "sonic": add("  neighbor UPSTREAM-V4 allowas-in 2\n", after="neighbor UPSTREAM-V4 activate"),
        "junos": replace(r"(    autonomous-system \d+);", r"\1 loops 2;"),
        "cumulus": edit_nvue(
            lambda tree: [
                group["address-family"]["ipv4-unicast"].update(
                    {"aspath": {"allow-my-asn": {"enable": "on", "occurrences": 2}}}
                )
                for group in walk(tree, *BGP, "peer-group").values()
            ]
        ),
    }


def _seeds_of_tors() -> Fault:
    """Give ToRs the hash seed of spines."""
    return {
        "nxos": replace(r"universal-id \d+", "universal-id 1013904226"),
        "junos": replace(r"hash-seed \d+", "hash-seed 1013904223"),
        "sonic": replace(r'"type": "ToRRouter"', '"type": "LeafRouter"', file="config_db.json"),
    }


def _no_watchdog_one() -> Fault:
    return {
        "sonic": _first_sonic(lambda tables, name: tables["PORT_QOS_MAP"][name].pop("pfcwd_sw_enable")),
        "cumulus": _first_nvue(lambda port: port["qos"].pop("pfc-watchdog")),
        "nxos": replace(
            rf"(description {LINK}\n(?:  .*\n)*?)  priority-flow-control watch-dog-interval on\n",
            r"\1  priority-flow-control watch-dog-interval off\n",
            count=1,
        ),
    }


def _small_frames() -> Fault:
    """Let frames be smaller than the packets of the ports."""
    return {"junos": replace(r"^(        mtu )9\d+;", r"\g<1>1514;")}


def _other_list() -> Fault:
    """Permit another prefix than the aggregate of the ToR."""
    cli = replace(r"^(ip prefix-list OWN-V4(?:\n  | seq) .*?permit )\S+", r"\g<1>192.0.2.0/28", count=1)
    return {
        "eos": replace(r"^(ip prefix-list OWN-V4\n   seq 10 permit )\S+", r"\g<1>192.0.2.0/28"),
        "nxos": cli,
        "frr": cli,
        "sonic": replace(
            r"^(ip prefix-list OWN-V4 seq \d+ permit )\S+", r"\g<1>192.0.2.0/28", count=1, file="frr.conf"
        ),
        "junos": replace(r"^(    route-filter-list OWN-V4 \{\n        )\S+", r"\g<1>192.0.2.0/28"),
    }


def _suppressing_aggregate() -> Fault:
    """Replace the aggregate by a wide one, which no list permits."""
    frr = add(
        "  aggregate-address 10.0.0.0/8 summary-only\n", after="address-family ipv4 unicast", file="frr.conf"
    )
    return {
        "eos": add("   aggregate-address 10.0.0.0/8 summary-only\n", after=r"^   router-id"),
        "nxos": add(
            "    aggregate-address 10.0.0.0/8 summary-only\n", after=r"^  address-family ipv4 unicast"
        ),
        "frr": frr,
        "sonic": frr,
    }


KINDS: dict[str, tuple[str, Fault]] = {
    "packets do not fit into frames": ("tor", _small_frames()),
    "the aggregate is not exported": ("tor", _other_list()),
    "a wide aggregate suppresses the own one": ("tor", _suppressing_aggregate()),
    "static route to nowhere": ("spine", _add_static("198.51.100.0/24", "192.0.2.77")),
    "one mask that covers other links": ("tor", _one_wide_mask()),
    "the subnet of a host on a link": ("tor", _other_subnet()),
    "MTU of one link": ("tor", _one_mtu()),
    "profile of host ports between switches": ("tor", _host_profile_between()),
    "code points of one port": ("tor", _map_of_one_port()),
    "the default class is lossless": ("tor", _all_lossless()),
    "a next hop that nobody has": ("tor", _wrong_next_hop()),
    "global pause": ("tor", _global_pause()),
    "no forwarding": ("tor", _no_forwarding()),
    "one link in a VRF": ("tor", _in_vrf()),
    "one link is switched": ("tor", _make_switched()),
    "RDMA is shaped": ("tor", _limit_rate()),
    "a password that everyone knows": ("tor", _known_password()),
    "SNMP community private": ("tor", _private_rw()),
    "own AS accepted by a ToR": ("tor", _own_as_in()),
    "hash seed of the spines": ("tor*", _seeds_of_tors()),
    "no watchdog on one link": ("tor", _no_watchdog_one()),
    "slow BFD": ("tor", _slow_bfd()),
    "management over HTTP": ("tor", _plain_http()),
    "another neighbor in a description": ("tor", _swapped_cables()),
}
"""Kind of fault -> the tier on which it is planted on one switch, and the edit for each system."""
