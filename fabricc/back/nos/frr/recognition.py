"""Texts of FRR on Linux that people collect: its configuration, the box's files, lldpd's; see `back.nos.collected`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import collected

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMENTS = "!#"
FILE = "frr.conf"
_INTERFACES = "interfaces"
_BY_NAME = {"daemons", "sysctl.conf", "lldpd.conf", "nftables.conf", "timesyncd.conf", "resolv.conf", "rsyslog.conf",
            "hostname", "vtysh.conf"}  # fmt: skip
"""Files of the box with too little content to recognize them by text."""
DAEMON_FILES = tuple(
    f"{daemon}.conf"
    for daemon in ("zebra", "staticd", "bgpd", "ospfd", "ospf6d", "isisd", "bfdd", "pimd", "ldpd", "ripd")
)
"""Files that a switch has in place of `frr.conf` without `service integrated-vtysh-config`, in order of reading."""
_OWN = (*DAEMON_FILES, *_BY_NAME, "Quagga.conf")
NAMES = frozenset(("frr", "interfaces", *(name.partition(".")[0] for name in _OWN)))
_SIGNS = {
    "> bgp router-id": 1, "> bgp suppress-fib-pending": 3, "> bgp bestpath": 1, "> bgp log-neighbor-changes": 1,
    "frr version": 9, "frr defaults": 9, "service integrated-vtysh-config": 9, "ip nht": 3, "ipv6 nht": 3,
    "log syslog": 2, "log file": 2, "log timestamp": 3, "log stdout": 2, "line vty": 2, "agentx": 2, "zebra": 2,
    "no zebra": 6, "no ipv6": 2, "no ip": 1, "interface lo": 4, "interface eth0": 2, "interface swp1": 4,
    "interface Ethernet0": 3, "interface eth1": 3, "exit-vrf": 5, "> exit-vrf": 5, "> exit-address-family": 3,
    "exit": 1,
    "debug bgp": 2, "bgp as-path": 1, "router bgp": 2, "router ospf": 1, "router ospf6": 2, "router isis": 1, "vrf": 1,
    "> neighbor": 1, "> bgp": 1, "> no bgp": 2, "indent 1": 4, "ip prefix-list": 1, "ip route": 1, "route-map": 1,
    "bgp community-list": 3, "bfd": 1, "hostname": 1, "password": 1, "bgp": 1, "ipv6 route": 1, "segment-routing": 2,
    "feature": -6, "vrf context": -6, "vrf instance": -6, "! device:": -6, "boot-start-marker": -9, "indent 3": -4,
    "service timestamps": -9, "interface mgmt0": -5, "interface Management1": -5, "boot nxos": -9, "vdc": -9,
    "interface GigabitEthernet0/0": -9, "interface GigabitEthernet1": -9, "interface FastEthernet0/0": -9,
    "interface Loopback0": -4, "interface GigabitEthernet0/0/0": -9, "transceiver qsfp": -9, "version": -3,
    "interface Loopback100": -4, "interface loopback0": -3, "interface Ethernet1/1": -3,
}  # fmt: skip
"""Starts of lines of `frr.conf`, which indents by one."""
_OTHER_CLI = re.compile(
    r"^interface (?:[^\s/]*/|\S{16,}|\S+ (?!vrf ))|^\s+ip address \d+(?:\.\d+){3} \d+(?:\.\d+){3}\s*$",
    re.MULTILINE,
)
"""Lines of similar CLIs: FRR takes prefix lengths, not masks, and no netdev of Linux has a slash, a blank or 16
letters (`dev_valid_name`, IFNAMSIZ)."""
_OWN_CLI = re.compile(r"^frr (?:version|defaults) ", re.MULTILINE)
_HEADER = {"release": re.compile(r"^frr version (\d[\w.+~-]*)", re.MULTILINE)}
_VERSION = {
    "release": re.compile(r"^FRRouting (\d[\w.+~-]*)", re.MULTILINE),
    "name": re.compile(r"^FRRouting \S+ \(([^)]+)\)", re.MULTILINE),
}


def takes(path: str, text: str) -> collected.FileMatch | None:
    """`frr.conf`, ifupdown's `interfaces`, and files of the box by their names."""
    name = path.rpartition("/")[2]
    if name in _BY_NAME:
        return collected.FileMatch(name, 1)
    if is_ifupdown(text):
        return collected.FileMatch(_INTERFACES, 3)
    if _OTHER_CLI.search(text) and not _OWN_CLI.search(text):
        return None
    own = name in (FILE, *_OWN)
    file = name if name in DAEMON_FILES else FILE
    return collected.score_match(file, collected.weigh_signs(text, _SIGNS) + (3 if own else 0))


def is_ifupdown(text: str) -> bool:
    """Return whether a text is one of ifupdown's, which others than this system have as well."""
    script = text.startswith("#!")  # which may write such a file
    return (
        not script
        and collected.weigh_signs(text, {"auto": 1, "iface": 3, "source": 1, "allow-hotplug": 1}) > 3
    )


def identity(files: Mapping[str, str]) -> collected.Identity:
    """Return the release in the first line of `frr.conf`; no file names the box."""
    found = collected.match_patterns(files.get(FILE, "")[:65536], _HEADER)
    return collected.Identity(release=found.get("release", ""))


def output(text: str) -> collected.Output | None:
    """Read `vtysh -c "show version"` and the output of lldpd."""
    found, neighbors = collected.match_patterns(text, _VERSION), collected.parse_lldpd(text)
    if not found and not neighbors:
        return None
    return collected.Output(
        collected.Identity(found.get("name", ""), "", found.get("release", "")), neighbors
    )


port = collected.in_full


def products(box: str) -> tuple[str, ...]:
    """Return the name itself; none for `Linux`, which is no box."""
    return (box,) if box not in ("", "Linux") else ()
