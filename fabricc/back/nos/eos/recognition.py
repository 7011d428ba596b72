"""EOS texts that people collect: configurations, `show version`, `show lldp neighbors`; see `back.nos.collected`."""

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
    "!RANCID-CONTENT-TYPE: arista": 6, "> bgp advertise-inactive": 2, "interface Ethernet1/1": 0,
    "! device:": 3, "! boot": 3, "transceiver qsfp": 4, "service routing": 5, "spanning-tree mode": 1, "agent": 1,
    "no aaa": 1, "management api": 5, "management ssh": 3, "management security": 3, "daemon": 2, "ip routing": 2,
    "ipv6 unicast-routing": 1, "ip virtual-router": 4, "vlan internal": 4, "queue-monitor length": 4,
    "mlag configuration": 5, "queue-monitor streaming": 4, "hardware tcam": 3, "hardware counter": 2, "dcbx": 2,
    "interface Ethernet1": 1, "interface Vxlan1": 4, "interface Management1": 4, "interface Management0": 4,
    "interface Loopback0": 1, "interface Port-Channel1": 1, "vrf instance": 4, "indent 3": 4,
    "> no switchport": 1, "> ip address": 1, "> switchport trunk": 1, "> switchport access": 1, "> neighbor": 1,
    "> router-id": 1, "> priority-flow-control on": 4, "qos profile": 4, "router bgp": 1, "ip access-list": 1,
    "ip prefix-list": 1, "peer-filter": 4, "platform trident": 4, "platform sand": 4, "traffic-policies": 4,
    "vrf definition": 2, "ip load-sharing": 3, "load-balance policies": 4, "errdisable recovery": 1,
    "feature": -4, "version": -2, "vrf context": -5, "frr version": -9, "frr defaults": -9, "indent 1": -3,
    "service timestamps": -5, "boot-start-marker": -9, "boot nxos": -9, "vdc": -9, "install feature-set": -9,
    "interface GigabitEthernet0/0": -9, "interface GigabitEthernet1": -9, "interface FastEthernet0/0": -9,
    "interface loopback0": -3, "interface mgmt0": -9, "interface lo": -5, "hostname": 1,
}  # fmt: skip
"""Starts of lines of a running configuration, which indents by three."""
_HEADER = {
    "name": re.compile(r"^! device: (\S+) \(", re.MULTILINE),
    "box": re.compile(
        r"^! device: \S+ \(([^,]+),|^! *(?:Model|Chassis(?: type)?): *(?:Arista )?(\S+)", re.MULTILINE
    ),
    "release": re.compile(r"^! device: \S+ \([^,]+, EOS-(\d+\.\d+[\w.]*?)(?:-\d|[\s)])", re.MULTILINE),
    "image": re.compile(r"^! *Software image version: *(\d+\.\d+[\w.]*)", re.MULTILINE),
    "boot": re.compile(r"^! boot system flash:/*\S*?EOS(?:64)?-(\d+\.\d+[\w.]*?)\.swi", re.MULTILINE),
}
_VERSION = {
    "box": re.compile(r"^[^\S\n]*Arista (\S+)[^\S\n]*$", re.MULTILINE),
    "release": re.compile(r"^[^\S\n]*Software image version: *(\d+\.\d+[\w.]*)", re.MULTILINE),
}
_ORDERED = re.compile(r"^(?:DCS|CCS)-|-[FRM#]$")
"""Parts of a product number around the name of the box: the product family, and the direction of air."""
_DETAIL = re.compile(
    r"Interface (?P<port>\S+) detected \d+ LLDP neighbors|(?P<again>Neighbor )|- System Name: (?P<device>.+)"
    r"|Port ID +: (?P<far_port>.+)|Chassis ID +: (?P<chassis>.+)"
)
_TABLE = re.compile(r"^\s*Port\s+Neighbor Device ID\s+Neighbor Port ID")
_ROW = re.compile(r"(?P<port>(?=[A-Z]\w*\d)\S+)\s+(?P<device>\S+)\s+(?P<far_port>\S.*?)\s+\d+\s*$")
_KINDS = {"Et": "Ethernet", "Eth": "Ethernet", "Ma": "Management", "Po": "Port-Channel", "Lo": "Loopback", "Vl": "Vlan",
          "Vx": "Vxlan"}  # fmt: skip


takes = collected.by_signs(FILE, _SIGNS)
"""A running configuration, by what only EOS prints."""


def identity(files: Mapping[str, str]) -> collected.Identity:
    """Return the identity in the first comments: of EOS itself, and of collectors that put `show version` there."""
    found = collected.match_patterns("".join(files.values())[:8192], _HEADER)
    release = found.get("release") or found.get("image") or found.get("boot", "")
    return collected.Identity(
        found.get("name", ""), found.get("box", ""), release, products(found.get("box", ""))
    )


def output(text: str) -> collected.Output | None:
    """`show version` and `show lldp neighbors [detail]`, each as text or JSON."""
    if answer := collected.parse_json(text):
        return _read_json_answer(text, answer)
    seen = (
        collected.parse_details(text, _DETAIL)
        if " LLDP neighbors" in text
        else collected.parse_table(text, _TABLE, _ROW)
    )
    found = collected.match_patterns(text, _VERSION)
    if not seen and "release" not in found:
        return collected.Output() if _TABLE.search(text) or " LLDP neighbors" in text else None
    box = found.get("box", "")
    at_home = tuple(each._replace(port=port(each.port)) for each in seen)
    return collected.Output(collected.Identity("", box, found.get("release", ""), products(box)), at_home)


def _read_json_answer(text: str, answer: object) -> collected.Output | None:
    box = next(
        (
            collected.leaf_text(each, "modelName")
            for each in (answer, *collected.values_under(answer, "result"))
            if collected.leaf_text(each, "modelName")
        ),
        "",
    )
    release = next((str(each) for each in collected.values_under(answer, "version")), "") if box else ""
    rows: list[tuple[str, str, str]] = []
    for each in collected.values_under(answer, "lldpNeighbors"):
        if isinstance(each, dict) and "neighborDevice" in each:
            rows.append(
                (
                    collected.leaf_text(each, "port"),
                    collected.leaf_text(each, "neighborDevice"),
                    collected.leaf_text(each, "neighborPort"),
                )
            )
            continue
        for name, of_port in each.items() if isinstance(each, dict) else ():
            for far in collected.values_under(of_port, "lldpNeighborInfo"):
                end = far.get("neighborInterfaceInfo", {}) if isinstance(far, dict) else {}
                who = collected.leaf_text(far, "systemName", "chassisId")
                rows.append((name, who, collected.leaf_text(end, "interfaceId_v2", "interfaceId")))
    if not box and '"lldpNeighbors"' not in text:
        return None
    return collected.Output(
        collected.Identity("", box, release, products(box)), collected.find_neighbors(text, rows)
    )


def port(spelling: str) -> str:
    """`Ethernet1/1` of `Et1/1`."""
    return collected.expand_port(spelling, _KINDS)


def products(box: str) -> tuple[str, ...]:
    """Return the name of the box in a product number; none for no box."""
    return (_ORDERED.sub("", box),) if box else ()
