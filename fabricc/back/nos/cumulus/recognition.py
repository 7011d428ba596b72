"""Cumulus texts that people collect: NVUE's start-up file or commands, `nv show`, LLDP; see `back.nos.collected`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import collected
from fabricc.back.nos.cumulus import flat
from fabricc.back.nos.cumulus.words import FILE
from fabricc.back.nos.frr import recognition as frr

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMENTS = "#!"
NAMES = frozenset(("startup", "nvue", "frr", "interfaces", "qos_features", "qos_infra", "traffic", "daemons"))
_SIGNS = {
    "- header:": 5, "- set:": 6, "> nvue-api-version: nvue_v1": 9, "> nvue-api-version:": 9, "nv set": 9, "nv unset": 4,
    "nv config": 3, "set:": 3, "header:": 2, "interface:": 2, "> interface:": 1, "router:": 2, "vrf:": 2, "> vrf:": 1,
    "> router:": 1, "> lo:": 1, "> swp1:": 2, "bridge:": 1, "evpn:": 1, "system:": 1, "qos:": 1, "> qos:": 1,
    "network:": -9, "> swp1-32:": 2, "service:": 1, "platform:": 1, "nve:": 1, "mlag:": 1, "acl:": 1,
}  # fmt: skip
"""Starts of lines of YAML, and of the equivalent commands."""
_OWN_INTERFACES = re.compile(
    r"^[^\S\n]*(clagd?-|address-virtual |vrf-table auto|bridge-vlan-vni-map |source /etc/network/interfaces\.d/\*\.intf"
    r"|es-sys-mac |mstpctl-)", re.MULTILINE)  # fmt: skip
"""Lines of ifupdown2 that others than Cumulus Linux do without."""
_HEADER = {
    "release": re.compile(r"\"?version\"?: ['\"]?Cumulus Linux (\d[\w.]*)"),
    "box": re.compile(r"^[\s\"-]*model\"?: ['\"]?([\w-]+)", re.MULTILINE),
}
_VERSION = {
    "release": re.compile(
        r"^[^\S\n]*(?:build|image|product-release|operating-system)[^\S\n].*?(?:Cumulus Linux )?(\d+\.\d+\.\d+)"
        r"|(?<=Cumulus Linux\"\n)VERSION_ID=\"?(\d[\w.]*)", re.MULTILINE),
    "name": re.compile(r"^[^\S\n]*hostname[^\S\n]+(\S+)", re.MULTILINE),
    "box": re.compile(r"^[^\S\n]*(?:product-name|platform-name|model)[^\S\n]+"
                      r"(?:mellanox |nvidia )?(\S+)", re.MULTILINE | re.I),
}  # fmt: skip
_TABLE = re.compile(r"^\s*(?:LocalPort|Interface)\s+Speed\s+(?:Mode|Type)\s+Remote ?Host\s+Remote ?Port")
_ROW = re.compile(r"(?P<port>\S+)\s+\S+\s+\S+\s+(?P<device>\S+)\s+(?P<far_port>\S+)\s*$")


def takes(path: str, text: str) -> collected.FileMatch | None:
    """Recognize NVUE's start-up file, the tree of its API, `nv set` commands, and the files below NVUE.

    A file of FRR or ifupdown2 belongs to this system if another file of this system is in the same place.
    """
    name = path.rpartition("/")[2]
    if name in (flat.FEATURES, flat.INFRA) or (name == flat.HASHING and "hash" in text):
        return collected.FileMatch(name, 99)
    if frr.is_ifupdown(text):
        return collected.FileMatch(flat.INTERFACES, 99 if _OWN_INTERFACES.search(text) else 2)
    if (routing := frr.takes(path, text)) and routing.file in (flat.ROUTING, flat.DAEMONS):
        return collected.FileMatch(routing.file, -(-routing.weight // 2))
    if text.lstrip()[:1] in ("{", "["):
        return collected.FileMatch(FILE, 9) if '"nvue-api-version"' in text else None
    return collected.score_match(FILE, collected.weigh_signs(text, _SIGNS), 4)


def identity(files: Mapping[str, str]) -> collected.Identity:
    """Return the identity in the header of a start-up file."""
    found = collected.match_patterns(files.get(FILE, "")[:4096], _HEADER)
    box = found.get("box", "")
    return collected.Identity("", box, found.get("release", ""), collected.own_name(box))


def output(text: str) -> collected.Output | None:
    """Read `nv show system`, `nv show platform`, os-release, and LLDP as NVUE and lldpd print it."""
    answer = collected.parse_json(text)
    if isinstance(answer, dict) and (box := collected.leaf_text(answer, "product-name", "platform-name")):
        return collected.Output(
            collected.Identity(
                collected.leaf_text(answer, "hostname"),
                box,
                collected.leaf_text(answer, "product-release"),
                (box,),
            )
        )
    neighbors = collected.parse_lldpd(text) or tuple(
        row for row in collected.parse_table(text, _TABLE, _ROW) if row.port.strip("-")
    )
    found = collected.match_patterns(text, _VERSION)
    if not neighbors and not found.keys() & {"release", "box"}:
        return None
    box = found.get("box", "")
    return collected.Output(
        collected.Identity(found.get("name", ""), box, found.get("release", ""), collected.own_name(box)),
        neighbors,
    )


port = collected.in_full
products = collected.own_name
