# ruff: noqa: E501  (an edit is one line)
"""Faults of settings of FRR and Linux that by themselves keep sessions, routes or the kernel from working."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.audit.faults.edits import add, chain_edits, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]


def _edit(*edits: Callable[[Files], Files]) -> Fault:
    return {"frr": chain_edits(*edits)}


def _router(line: str) -> Fault:
    """Add a line to the process."""
    return _edit(replace(r"^ bgp router-id (\S+)$", rf"\g<0>\n {line}"))


def _group(words: str) -> Fault:
    """Add a line about the peer group."""
    return _edit(replace(r"^ neighbor (\S+-V4) peer-group$", rf"\g<0>\n neighbor \1 {words}"))


def _family(words: str) -> Fault:
    """Add a line about the peer group to the address family."""
    return _edit(replace(r"^  neighbor (\S+-V4) activate", rf"\g<0>\n  neighbor \1 {words}"))


def _import(line: str) -> Fault:
    """Add a line to the last clause of the import."""
    clause = r"^(route-map FROM-UPSTREAM permit 20\n match ip address prefix-list FABRIC-V4)"
    return _edit(replace(clause, rf"\1\n {line}"))


def _kernel(line: str) -> Fault:
    """Add a setting of the kernel."""
    return _edit(add(f"{line}\n", file="sysctl.conf"))


KINDS: dict[str, tuple[str, Fault]] = {
    "few prefixes are announced": ("tor", _family("maximum-prefix-out 1")),
    "late announcements": ("all", _group("advertisement-interval 600")),
    "sessions that open late": ("all", _group("timers connect 65535")),
    "no route after a start": ("all", _router("update-delay 3600")),
    "the worst metric": ("spine-", _router("bgp max-med administrative")),
    "a confederation of nobody": ("all", _router("bgp confederation identifier 65000")),
    "long hold times alone": ("all", _router("bgp minimum-holdtime 60")),
    "a role without an answer": ("tor", _group("local-role provider strict-mode")),
    "the own number is left out": ("tor", _family("attribute-unchanged as-path")),
    "a route server": ("spine-", _family("route-server-client")),
    "another port of BGP": ("all", _group("port 1179")),
    "both ends of BFD wait": ("all", _edit(replace(r"^ profile FABRIC\n", " profile FABRIC\n  passive-mode\n"))),
    "BFD over several hops": ("tor-", _group("ebgp-multihop 5")),
    "BFD of a neighbor is shut": ("tor", _edit(replace(r"^bfd\n((?:.*\n)*? neighbor (10\.\S+) remote-as)", r"bfd\n peer \2\n  shutdown\n exit\n !\n\1"))),
    "a distance of all neighbors": ("all", _edit(replace(r"^  maximum-paths 64$", r"\g<0>\n  distance 255 0.0.0.0/0"))),
    "next hops that are not tracked": ("all", _edit(replace(r"^router bgp", "route-map NONE deny 10\nexit\n!\nip nht bgp route-map NONE\nrouter bgp"))),
    "an undefined VRF": ("all", _edit(replace(r"^  maximum-paths 64$", r"\g<0>\n  import vrf RED"))),
    "an undefined map of an aggregate": ("tor", _edit(replace(r"summary-only$", "summary-only route-map NOPE"))),
    "an undefined large community": ("tor", _import("match large-community NOPE")),
    "routes in another table": ("tor", _import("set table 100")),
    "a peer of nobody": ("tor", _import("match peer 192.0.2.9")),
    "next hops of hosts": ("tor", _import("match ip next-hop prefix-list CONNECTED-V4")),
    "half of the routes": ("tor", _import("match probability 50")),
    "a preference of no route": ("tor", _import("match local-preference 777")),
    "a port that does not forward": ("all", _kernel("net.ipv4.conf.swp1.forwarding = 0")),
    "no answer to ARP": ("all", _kernel("net.ipv4.conf.all.arp_ignore = 8")),
    "room for few neighbors": ("all", _edit(replace(r"(ipv4.neigh.default.gc_thresh3) = .*", r"\1 = 1", file="sysctl.conf"))),
    "few open files": ("all", _edit(replace("MAX_FDS=4096", "MAX_FDS=16", file="daemons"))),
    "a buffer of zebra for nothing": ("all", _edit(replace("-s 90000000", "-s 1000", file="daemons"))),
}  # fmt: skip
