"""NX-OS texts that people collect: configurations, `show version`, `show lldp neighbors`; see `back.nos.collected`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import collected

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMENTS = "!"
NAMES = frozenset(("running-config", "startup-config"))
FILE = "running-config.cfg"
_SIGNS = {
    "!RANCID-CONTENT-TYPE: cisco-nx": 6, "> bgp router-id": -3, "> exit-address-family": -3, "exit-vrf": -3,
    "!Command: show": 2, "!Running configuration": 4, "feature": 4, "no feature": 4, "vdc": 5, "vrf context": 5,
    "boot nxos": 6, "boot kickstart": 4, "install feature-set": 4, "role name": 2, "no password": 2, "copp profile": 5,
    "nv overlay": 5, "feature-set": 4, "cfs eth": 3, "hardware access-list": 4, "system qos": 5, "class-map type": 2,
    "policy-map type": 2, "> vrf member": 4, "> neighbor": 1, "> remote-as": 2, "> address-family": 1,
    "> no switchport": 1, "> ip address": 1, "indent 2": 3, "interface mgmt0": 4, "interface loopback0": 1,
    "interface Ethernet1/1": 1, "interface nve1": 5, "fabric forwarding": 5, "vpc domain": 5, "slot": 2,
    "interface breakout": 5, "limit-resource": 1, "> limit-resource": 4, "rmon event": 2, "icam monitor": 4,
    "> service-policy type": 2, "> mtu": 0, "version": 1, "router bgp": 1, "ip prefix-list": 1, "route-map": 1,
    "hostname": 1, "switchname": 4, "line console": 1, "> ip router": 1, "> vpc": 1, "> hsrp": 1, "vlan": 0,
    "frr version": -9, "frr defaults": -9, "! device:": -6, "vrf instance": -5, "management api": -5,
    "service timestamps": -6, "boot-start-marker": -9, "indent 3": -3, "indent 1": -3, "interface Management1": -5,
    "interface Management0": -5, "interface lo": -5, "transceiver qsfp": -5, "service routing": -5,
    "interface GigabitEthernet0/0": -9, "interface GigabitEthernet1": -9, "interface FastEthernet0/0": -9,
}  # fmt: skip
"""Starts of lines of a running configuration, which indents by two and names the features that run."""
_HEADER = {
    "release": re.compile(r"^version (\d+\.\d+\(\w+\)\w*(?:\(\w+\))?)", re.MULTILINE),
    "box": re.compile(r"^! *(?:Model|Chassis(?: type)?): *(?:cisco )?(.+)", re.MULTILINE | re.IGNORECASE),
}
_VERSION = {
    "name": re.compile(r"^[^\S\n]*Device name: *(\S+)", re.MULTILINE),
    "box": re.compile(r"^[^\S\n]*cisco (Nexus\s?\S* .*?) [Cc]hassis", re.MULTILINE),
    "release": re.compile(r"^[^\S\n]*(?:NXOS|system): +version (\S+)", re.MULTILINE),
}
_PRODUCT = re.compile(r"\b(?:N\dK-)?C?(\d{4,5}\S*|N\d{4}\S*)$")
"""The name of a box at the end of `Nexus9000 C9364D-GX2A` and of `N9K-C9364D-GX2A`."""
_DETAIL = re.compile(
    r"(?P<begins>Chassis id: (?P<chassis>.+))|Local Port id: (?P<port>\S+)|Port id: (?P<far_port>.+)"
    r"|System Name: (?P<device>.+)"
)
_TABLE = re.compile(r"^\s*Device ID\s+Local Intf")
_ROW = re.compile(
    r"(?P<device>\S+)\s+(?P<port>(?:Eth|Ethernet|mgmt)\S+)\s+\d+\s+(?:[A-Z]{1,8}\s+)?(?P<far_port>\S.*?)\s*$"
)
_KINDS = {"Eth": "Ethernet", "Po": "port-channel", "Lo": "loopback"}


takes = collected.by_signs(FILE, _SIGNS)
"""A running configuration, by what only NX-OS prints."""


def identity(files: Mapping[str, str]) -> collected.Identity:
    """Return the release that a configuration begins with, and the box where a collector put it into a comment."""
    found = collected.match_patterns("".join(files.values())[:65536], _HEADER)
    return collected.Identity(
        "", found.get("box", ""), found.get("release", ""), products(found.get("box", ""))
    )


def output(text: str) -> collected.Output | None:
    """`show version` and `show lldp neighbors [detail]`, each as text or JSON."""
    if answer := collected.parse_json(text):
        return _read_json_answer(text, answer)
    lldp = "Local Port id:" in text
    seen = collected.parse_details(text, _DETAIL) if lldp else collected.parse_table(text, _TABLE, _ROW)
    found = collected.match_patterns(text, _VERSION)
    if not seen and not ("release" in found and ("box" in found or "name" in found or "NX-OS" in text)):
        return collected.Output() if _TABLE.search(text) else None
    at_home = tuple(each._replace(port=port(each.port)) for each in seen)
    box = found.get("box", "")
    return collected.Output(
        collected.Identity(found.get("name", ""), box, found.get("release", ""), products(box)), at_home
    )


def _read_json_answer(text: str, answer: object) -> collected.Output | None:
    releases = (
        each
        for name in ("nxos_ver_str", "sys_ver_str", "kickstart_ver_str")
        for each in collected.values_under(answer, name)
    )
    release = next((str(each) for each in releases), "")
    name = next((str(each) for each in collected.values_under(answer, "host_name")), "") if release else ""
    box = next((str(each) for each in collected.values_under(answer, "chassis_id")), "") if release else ""
    box = box.removesuffix(" Chassis").removesuffix(" chassis")
    rows = [
        (
            port(collected.leaf_text(each, "l_port_id")),
            collected.leaf_text(each, "sys_name", "chassis_id"),
            collected.leaf_text(each, "port_id"),
        )
        for row in ("ROW_nbor_detail", "ROW_nbor")
        for each in collected.values_under(answer, row)
    ]
    if not release and '"TABLE_nbor' not in text:
        return None
    return collected.Output(
        collected.Identity(name, box, release, products(box)), collected.find_neighbors(text, rows)
    )


def port(spelling: str) -> str:
    """`Ethernet1/1` of `Eth1/1`."""
    return collected.expand_port(spelling, _KINDS)


def products(box: str) -> tuple[str, ...]:
    """Return the name of the box in a product number; none for no box."""
    match = _PRODUCT.search(box)
    return (match[1], box) if match else (box,) if box else ()
