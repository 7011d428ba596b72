"""Faults of BGP sessions and of what they announce: shut, passive, limited, drained, from a wrong address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.audit.faults.edits import add, chain_edits, edit_nvue, edit_tables, replace, walk
from tests.audit.faults.traffic import ASN, BGP

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]

_GROUP = r"((?:UP|DOWN)STREAM(?:-V4)?)"


def _edit_groups(change: Callable[[dict[str, Any]], object]) -> Callable[[Files], Files]:
    """Change each group of NVUE's BGP sessions."""
    return edit_nvue(lambda tree: [change(group) for group in walk(tree, *BGP, "peer-group").values()])


def _add_setting(eos: str, nxos: str, junos: str, frr: str, cumulus: dict[str, Any] | None = None) -> Fault:
    """Add a line to each group of sessions; an empty line is none."""
    found: Fault = {}
    if eos:
        found["eos"] = replace(rf"^(   neighbor {_GROUP} peer group\n)", rf"\1   neighbor \2 {eos}\n")
    if nxos:
        found["nxos"] = replace(r"^(  template peer .*\n)", rf"\1    {nxos}\n")
    if junos:
        found["junos"] = replace(r"^(            type external;\n)", rf"\1            {junos};\n")
    if frr:
        found["frr"] = found["sonic"] = replace(
            rf"^( neighbor {_GROUP} peer-group\n)", rf"\1 neighbor \2 {frr}\n"
        )
    if cumulus:
        found["cumulus"] = _edit_groups(lambda group: group.update(cumulus))
    return found


def _not_activated() -> Fault:
    line = replace(r"^ +neighbor \S+ activate\n", "")
    return {
        "eos": line,
        "frr": line,
        "sonic": line,
        "cumulus": _edit_groups(lambda group: group["address-family"]["ipv4-unicast"].update(enable="off")),
    }


def _one_prefix() -> Fault:
    line = replace(r"(maximum-prefix) \d+", r"\1 1")
    return {
        "eos": replace(r"(maximum-routes) \d+", r"\1 1"),
        "nxos": line,
        "frr": line,
        "sonic": line,
        "junos": replace(r"maximum \d+;", "maximum 1;"),
        "cumulus": _edit_groups(
            lambda group: walk(group, "address-family", "ipv4-unicast", "prefix-limits", "inbound").update(
                maximum=1
            )
        ),
    }


def _nothing_announced() -> Fault:
    """Take away the aggregate and the connected routes."""
    line = replace(r"^ +(?:aggregate-address .*|redistribute .*)\n", "")
    return {
        "eos": line,
        "nxos": line,
        "frr": line,
        "sonic": line,
        "junos": chain_edits(
            replace(r"^    aggregate \{\n.*\n    \}\n", ""),
            replace(r"export \[ CONNECTED (\S+) \];", r"export \1;"),
        ),
        "cumulus": edit_nvue(
            lambda tree: [
                walk(tree, *BGP, "address-family", "ipv4-unicast").pop(key, None)
                for key in ("aggregate-route", "redistribute")
            ]
        ),
    }


def _too_large() -> Fault:
    """Announce an aggregate that covers the hosts of other ToRs."""
    line = replace(r"10\.0\.0\.\d+/27", "10.0.0.0/24")
    return {
        "eos": line,
        "nxos": line,
        "frr": line,
        "sonic": line,
        "junos": line,
        "cumulus": replace(r"10\.0\.0\.\d+/27", "10.0.0.0/24", file="startup.yaml"),
    }


def _set_community(word: str) -> Fault:
    """Put a community on all that is announced, by which no neighbor announces it again."""
    line = replace(r"^(route-map TO-.*\n(?:   ?match .*\n| match .*\n)*)", rf"\1   set community {word}\n")
    frr = replace(r"^(route-map TO-.*\n(?: match .*\n)*)", rf"\1 set community {word}\n")
    return {
        "eos": line,
        "nxos": replace(r"^(route-map TO-.*\n(?:  match .*\n)*)", rf"\1  set community {word}\n"),
        "frr": frr,
        "sonic": frr,
        "junos": lambda files: chain_edits(
            replace(r"(policy-statement TO-[\s\S]*?then \{\n)", r"\1                community add STOP;\n"),
            add(f"    community STOP members {word};\n", after=r"^    community GRACEFUL-SHUTDOWN"),
        )(files),
        "cumulus": edit_nvue(
            lambda tree: [
                rule.setdefault("set", {}).update(community={word: {}})
                for name, route_map in walk(tree, "router", "policy", "route-map").items()
                if name.startswith("TO-")
                for rule in route_map["rule"].values()
            ]
        ),
    }


def _drain_switch() -> Fault:
    """Leave a switch in graceful shutdown."""
    return {
        "frr": add(" bgp graceful-shutdown\n", after="^ bgp router-id"),
        "sonic": add(" bgp graceful-shutdown\n", after="^ bgp router-id"),
        "nxos": add("  graceful-shutdown activate\n", after="^  router-id"),
        "junos": replace(
            r"^(        log-updown;\n)", r"\1        graceful-shutdown {\n            sender;\n        }\n"
        ),
        "cumulus": edit_nvue(lambda tree: walk(tree, *BGP).update({"graceful-shutdown": "on"})),
    }


def _wrong_source() -> Fault:
    return {
        **_add_setting("update-source Loopback0", "update-source loopback0", "", "update-source lo"),
        "cumulus": _edit_groups(lambda group: group.update({"update-source": "lo"})),
        "junos": replace(r"^(            type external;\n)", r"\1            local-address 10.128.0.0;\n"),
    }


def _one_router_id() -> Fault:
    line = replace(r"router-id \S+", "router-id 10.128.0.0")
    return {
        "eos": line,
        "nxos": line,
        "frr": line,
        "sonic": line,
        "junos": replace(r"router-id \S+;", "router-id 10.128.0.0;"),
        "cumulus": replace(r"router-id: .*", "router-id: 10.128.0.0", file="startup.yaml"),
    }


def _one_loopback() -> Fault:
    address = r"10\.128\.0\.\d+/32"
    same = "10.128.0.0/32"
    line = replace(address, same)
    return {
        "eos": line,
        "nxos": line,
        "junos": line,
        "frr": replace(address, same, file="interfaces"),
        "cumulus": replace(address, same, file="startup.yaml"),
        "sonic": edit_tables(
            lambda tables: tables.update(LOOPBACK_INTERFACE={"Loopback0": {}, f"Loopback0|{same}": {}})
        ),
    }


def _swap_asns() -> Fault:
    """Let every session expect an AS number that no switch has."""
    line = replace(rf"(remote-as ){ASN}", r"\g<1>4200999999")
    return {
        "frr": line,
        "eos": line,
        "nxos": line,
        "sonic": line,
        "junos": replace(rf"(peer-as ){ASN}", r"\g<1>4200999999"),
        "cumulus": replace(rf"(remote-as: ){ASN}", r"\g<1>4200999999", file="startup.yaml"),
    }


def _no_bgp() -> Fault:
    return {
        "eos": replace(r"^router bgp [\s\S]*?^!\n", "!\n"),
        "nxos": replace(r"^router bgp [\s\S]*", ""),
        "frr": replace(r"^router bgp [\s\S]*?^exit\n", ""),
        "sonic": replace(r"^router bgp [\s\S]*?^exit\n", ""),
        "junos": replace(r"^    bgp \{\n[\s\S]*?^    \}\n", ""),
        "cumulus": edit_nvue(lambda tree: walk(tree, "vrf", "default", "router").pop("bgp")),
    }


KINDS: dict[str, tuple[str, Fault]] = {
    "sessions are shut": ("tor", _add_setting("shutdown", "shutdown", "", "shutdown", {"shutdown": "on"})),
    "sessions not activated": ("tor", _not_activated()),
    "every session waits": (
        "all",
        _add_setting(
            "passive", "transport connection-mode passive", "passive", "passive", {"passive-mode": "on"}
        ),
    ),
    "one prefix is the limit": ("tor", _one_prefix()),
    "nothing is announced": ("tor", _nothing_announced()),
    "an aggregate over other racks": ("tor", _too_large()),
    "announced without export": ("tor", _set_community("no-export")),
    "announced without advertisement": ("tor", _set_community("no-advertise")),
    "left in graceful shutdown": ("tor", _drain_switch()),
    "sessions from the loopback": ("tor", _wrong_source()),
    "one router identifier": ("tor*", _one_router_id()),
    "one loopback": ("tor*", _one_loopback()),
    "AS numbers that nobody has": ("tor", _swap_asns()),
    "no BGP": ("tor", _no_bgp()),
    "a password on one side": (
        "tor-",
        _add_setting(
            "password 0 Fabric1", "password 0 Fabric1", 'authentication-key "Fabric1"', "password Fabric1"
        ),
    ),
    "a number of hops on one side": (
        "tor-",
        _add_setting("ttl maximum-hops 1", "", "", "ttl-security hops 1"),
    ),
}
"""Kind of fault -> the tier on which it is planted on one switch, and the edit for each system.

`*`: one switch alone does not have it; `-`: all switches together do not have it.
"""
