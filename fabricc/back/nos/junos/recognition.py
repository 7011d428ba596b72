"""Junos texts that people collect: configurations, `show version`, `show lldp neighbors`; see `back.nos.collected`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import collected

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMENTS = "#/"
NAMES = frozenset(("juniper", "running-config"))
FILE = "juniper.conf"
_BLOCKS = ("system", "interfaces", "protocols", "policy-options", "routing-options", "chassis", "groups", "firewall",
           "class-of-service", "forwarding-options", "routing-instances", "vlans", "snmp", "security", "switch-options",
           "access", "applications", "event-options", "apply-groups", "poe")  # fmt: skip
_SIGNS = {
    **{f"{block} {{": 3 for block in _BLOCKS},
    **{f"set {block}": 3 for block in _BLOCKS},
    "## Last": 4, "set version": 4, "version": 1, "apply-groups [": 3, "> host-name": 1, "> unit": 1, "> family": 1,
    "delete interfaces": 2, "activate interfaces": 2, "deactivate interfaces": 2, "replace:": 1, "> replace:": 1,
    "deactivate protocols": 2, "set logical-systems": 3, "logical-systems {": 3, "> unit 0": 1, "> family inet": 1,
    "hostname": -4, "router bgp": -6, "interfaces ethernet": -9, "> ethernet eth0": -9,
}  # fmt: skip
"""Starts of lines in curly braces and as `set` commands."""
_HEADER = {
    "release": re.compile(r"^(?:set )?version \"?([^\s;\"]+)\"?;?", re.MULTILINE),
    "box": re.compile(r"^[#/]\** *(?:Model|Chassis(?: type)?): *(\S+)", re.MULTILINE),
}
_VERSION = {
    "name": re.compile(r"^[^\S\n]*Hostname: *(\S+)", re.MULTILINE),
    "box": re.compile(r"^[^\S\n]*Model: *(\S+)", re.MULTILINE),
    "release": re.compile(r"^[^\S\n]*Junos: *(\S+)", re.MULTILINE),
    "older": re.compile(r"^[^\S\n]*JUNOS .*\[([0-9][^\]\n]+)\]", re.MULTILINE),
}
_DETAIL = re.compile(
    r"(?P<begins>Local Information:)|Local Interface +: *(?P<port>\S+)|System name +: *(?P<device>.+)"
    r"|Port ID +: *(?P<far_port>.+)|Chassis ID +: *(?P<chassis>.+)"
)
_TABLE = re.compile(
    r"^\s*Local Interface\s+Parent Interface\s+Chassis Id\s+Port info\s+System Name", re.IGNORECASE
)
_ROW = re.compile(
    r"(?P<port>\S+)\s+\S+\s+(?P<chassis>[0-9a-fA-F:.]{12,17}|\S+)\s+(?P<far_port>\S.*?)\s+(?P<device>\S+)\s*$"
)
_DAY = re.compile(r"-20\d{10}[\d.]*(?=-|$)")
"""Build date in the middle of the name of a Junos Evolved release."""


takes = collected.by_signs(FILE, _SIGNS)
"""A configuration in curly braces, or of `set` commands."""


def identity(files: Mapping[str, str]) -> collected.Identity:
    """Return the release in the first line of a configuration; it does not name the box."""
    found = collected.match_patterns("".join(files.values())[:65536], _HEADER)
    return _make_identity("", found.get("box", ""), found.get("release", ""))


def output(text: str) -> collected.Output | None:
    """`show version` and `show lldp neighbors [detail]`, as text or `| display json`."""
    if answer := collected.parse_json(text):
        return _read_json_answer(text, answer)
    rows = collected.parse_table(text, _TABLE, _ROW) if "Parent Interface" in text else ()
    seen = rows or (collected.parse_details(text, _DETAIL) if "Local Information:" in text else ())
    found = collected.match_patterns(text, _VERSION)
    if not seen and not ("box" in found and ("release" in found or "older" in found)):
        return collected.Output() if _TABLE.search(text) else None
    release = found.get("release") or found.get("older", "")
    return collected.Output(_make_identity(found.get("name", ""), found.get("box", ""), release), seen)


def _read_json_answer(text: str, answer: object) -> collected.Output | None:
    identity = collected.Identity()
    for each in collected.values_under(answer, "software-information"):
        release = collected.leaf_text(each, "junos-version")
        packages = (
            collected.leaf_text(package, "comment")
            for package in collected.values_under(each, "package-information")
        )
        release = release or next((p.partition("[")[2].rstrip("]") for p in packages if "[" in p), "")
        identity = identity.or_else(
            _make_identity(
                collected.leaf_text(each, "host-name"), collected.leaf_text(each, "product-model"), release
            )
        )
    rows = [
        (
            collected.leaf_text(each, "lldp-local-port-id", "lldp-local-interface").partition(".")[0],
            collected.leaf_text(each, "lldp-remote-system-name", "lldp-remote-chassis-id"),
            collected.leaf_text(each, "lldp-remote-port-id", "lldp-remote-port-description"),
        )
        for each in collected.values_under(answer, "lldp-neighbor-information")
    ]
    if identity == collected.Identity() and '"lldp-neighbors-information"' not in text:
        return None
    return collected.Output(identity, collected.find_neighbors(text, rows))


def _make_identity(name: str, box: str, release: str) -> collected.Identity:
    return collected.Identity(name, box, _DAY.sub("", release), collected.own_name(box))


port = collected.in_full
products = collected.own_name
