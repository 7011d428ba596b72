# ruff: noqa: E501  (an edit is one line)
"""Faults beside the policies of sessions: lists, distances, maps of the process, marks, and sessions that cannot open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.audit.faults.edits import chain_edits, edit_tables, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]


def _in_router(pattern: str, repl: str, *definition: str) -> Fault:
    """Replace text of frr.conf, and add lines before the route maps."""
    edits = [replace(pattern, repl)]
    if definition:
        lines = "".join(f"{line}\n" for line in definition)
        edits.append(replace(r"^route-map CONNECTED", f"{lines}route-map CONNECTED"))
    return dict.fromkeys(("frr", "sonic"), chain_edits(*edits))


_ACTIVE, _GROUP = r"^  neighbor (\S+-V4) activate", r"^ neighbor (\S+-V4) peer-group$"
_PATHS, _ROUTER = r"^  maximum-paths 64$", r"^ bgp router-id (\S+)$"
_EXPORT = r"^(route-map TO-UPSTREAM permit 20\n match ip address prefix-list OWN-V4)"
_IMPORT = r"^(route-map FROM-UPSTREAM permit 20\n match ip address prefix-list FABRIC-V4)"

KINDS: dict[str, tuple[str, Fault]] = {
    "a list of AS paths without the spines": ("tor", _in_router(_ACTIVE, r"\g<0>\n  neighbor \1 filter-list NOSPINE in",
        "bgp as-path access-list NOSPINE seq 5 deny _4200065536_", "bgp as-path access-list NOSPINE seq 10 permit .*")),
    "a list of own prefixes at the sessions": ("tor", _in_router(_ACTIVE, r"\g<0>\n  neighbor \1 prefix-list CONNECTED-V4 in")),
    "a list that denies at the sessions": ("tor", _in_router(_ACTIVE, r"\g<0>\n  neighbor \1 distribute-list NONE out", "access-list NONE seq 5 deny any")),
    "an unreachable distance": ("all", _in_router(_PATHS, r"\g<0>\n  distance bgp 255 255 255")),
    "a table without routes": ("all", _in_router(_PATHS, r"\g<0>\n  table-map NONE", "route-map NONE deny 10", "exit", "!")),
    "an undefined table": ("all", _in_router(_PATHS, r"\g<0>\n  table-map NONE")),
    "shut by default": ("all", _in_router(_ROUTER, r"\g<0>\n bgp default shutdown")),
    "no capabilities": ("all", _in_router(_GROUP, r"\g<0>\n neighbor \1 dont-capability-negotiate")),
    "BFD is shut": ("all", {"frr": replace(r"^ profile FABRIC\n", " profile FABRIC\n  shutdown\n")}),
    "announced on an undefined condition": ("all", _in_router(_ACTIVE, r"\g<0>\n  neighbor \1 advertise-map CONNECTED exist-map NONE")),
    "own routes in graceful shutdown": ("tor", _in_router(_EXPORT, r"\1\n set community graceful-shutdown")),
    "own routes to be dropped": ("tor", _in_router(_EXPORT, r"\1\n set community blackhole")),
    "a call of nothing": ("tor", _in_router(_IMPORT, r"\1\n call NOPE")),
    "draining switches are preferred": ("all", _in_router("set local-preference 0", "set local-preference 500")),
    "another mark of draining switches": ("all", _in_router("permit graceful-shutdown", "permit 65535:1")),
    "a network of another rack": ("tor", _in_router(_PATHS, r"\g<0>\n  network 10.0.0.64/27")),
    "a tag that no route has": ("tor", _in_router(_IMPORT, r"\1\n match tag 77")),
    "a next hop of nobody": ("tor", _in_router(_IMPORT, r"\1\n match ip next-hop address 192.0.2.99")),
    "a prefix list as an access list": ("tor", _in_router(r"^(route-map FROM-UPSTREAM permit 20\n match ip address) prefix-list", r"\1")),
    "an interface that does not exist": ("all", _in_router(r"^(route-map CONNECTED permit 10\n match ip address prefix-list .*)", r"\1\n match interface Loopback9")),
    "suppressed after a flap": ("all", _in_router(_PATHS, r"\g<0>\n  bgp dampening 45 1 1 255")),
    "a view": ("all", {"sonic": replace(r"^(router bgp \d+)$", r"\1 view X")}),
    "pauses of every priority": ("tor", {"sonic": edit_tables(lambda tables: [row.update(pfc_asym="on") for row in tables["PORT"].values()])}),
    "another FPM": ("all", {"sonic": replace("fpm address 127.0.0.1", "fpm address 192.0.2.99")}),
    "BFD after one packet": ("all", {"frr": replace(r"^ profile FABRIC\n", " profile FABRIC\n  detect-multiplier 1\n")}),
    "bgpd does not listen": ("all", {"frr": replace(r'bgpd_options="-A 127.0.0.1', 'bgpd_options="-A 127.0.0.1 -p 0', file="daemons")}),
    "bgpd installs nothing": ("all", {"frr": replace(r'bgpd_options="-A 127.0.0.1', 'bgpd_options="-A 127.0.0.1 -n', file="daemons")}),
    "bgpd with one path": ("all", {"frr": replace(r'bgpd_options="-A 127.0.0.1', 'bgpd_options="-A 127.0.0.1 -e 1', file="daemons")}),
    "the clock of the switch itself": ("all", {"frr": replace("NTP=.*", "NTP=127.0.0.1", file="timesyncd.conf")}),
    "a clock in a comment": ("all", {"frr": replace("NTP=", "#NTP=", file="timesyncd.conf")}),
    "logs of the kernel alone": ("all", {"frr": replace(r"^\*\.\*", "kern.emerg", file="rsyslog.conf")}),
    "logins dropped first": ("all", {"frr": replace(r"^(.*iifname \"eth0\".*\n)(.*dport 22 drop\n)", r"\2\1", file="nftables.conf")}),
    "another port protected": ("all", {"frr": replace("tcp dport 22 drop", "tcp dport 2222 drop", file="nftables.conf")}),
    "a port without room": ("tor", {"frr": replace(r"(host01 rail0\n ip address [\d.]+)/31", r"\1/32")}),
    "the source of another switch": ("all", {"sonic": replace(r"^ set src [\d.]+", " set src 192.0.2.77")}),
    "a denying map of sources": ("all", {"sonic": replace("RM_SET_SRC permit", "RM_SET_SRC deny")}),
}  # fmt: skip
