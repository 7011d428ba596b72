# ruff: noqa: E501  (an edit is one line)
"""Faults of preferences and marks: paths that look worse, routes that stay where they are, and classes that swap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.audit.faults.edits import add, chain_edits, edit_nvue, edit_tables, replace, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]

_FIRST = r"10\.64\.2\.0"
"""The first neighbor of the second ToR."""


def _add_clause(name: str, action: str, *, out: str = "") -> Fault:
    """Give one uplink a route map of its own that also sets something."""
    way, group = ("out", "TO") if out else ("in", "FROM")
    prefixes = "OWN-V4" if out else "FABRIC-V4"
    head = f"route-map {name} permit 10\n"
    eos = f"{head}   match ip address prefix-list {prefixes}\n   {action}\n!\n"
    other = f"{head} match ip address prefix-list {prefixes}\n {action}\nexit\n!\n"
    return {
        "eos": chain_edits(
            add(eos, before="^router bfd"),
            add(f"   neighbor 10.64.2.0 route-map {name} {way}\n", after=f"neighbor {_FIRST} description"),
        ),
        "frr": chain_edits(
            add(other, before="^bfd$"),
            add(
                f"  neighbor 10.64.2.0 route-map {name} {way}\n",
                after=f"neighbor UPSTREAM-V4 route-map {group}",
            ),
        ),
        "sonic": chain_edits(
            add(other, before="^route-map FROM-UPSTREAM permit 10"),
            add(
                f"  neighbor 10.64.2.0 route-map {name} {way}\n",
                after=f"neighbor UPSTREAM-V4 route-map {group}",
            ),
        ),
        "nxos": chain_edits(
            add(f"{head}  match ip address prefix-list {prefixes}\n  {action}\n", before="^vrf context"),
            replace(
                rf"^(  neighbor {_FIRST}\n    inherit peer UPSTREAM\n(?:    .*\n)*)",
                rf"\1    address-family ipv4 unicast\n      route-map {name} {way}\n",
            ),
        ),
    }


def _of_every_clause(
    direction: str, action: str, junos: str, key: Callable[[dict[str, object]], object]
) -> Fault:
    """Set something on all routes of a direction."""
    name = f"{direction}-(?:UP|DOWN)STREAM"
    return {
        "eos": replace(rf"^(route-map {name} permit 20\n(?:   match .*\n)*)", rf"\1   {action}\n"),
        "nxos": replace(rf"^(route-map {name} permit 20\n(?:  match .*\n)*)", rf"\1  {action}\n"),
        "frr": replace(rf"^(route-map {name} permit 20\n(?: match .*\n)*)", rf"\1 {action}\n"),
        "sonic": replace(rf"^(route-map {name} permit 20\n(?: match .*\n)*)", rf"\1 {action}\n"),
        "junos": replace(
            rf"(policy-statement {name} \{{\n(?:.*\n)*?        term 20 \{{\n(?:.*\n)*?            then \{{\n)",
            rf"\1                {junos}\n",
        ),
        "cumulus": edit_nvue(lambda tree: key(walk(
            tree, "router", "policy", "route-map", f"{direction}-UPSTREAM", "rule", "20", "set"))),
    }  # fmt: skip


def _of_neighbor(eos: str, nxos: str = "", frr: str = "") -> Fault:
    """Add a setting to one uplink."""
    found: Fault = {"eos": add(f"   neighbor 10.64.2.0 {eos}\n", after=f"neighbor {_FIRST} description")}
    line = f"  neighbor 10.64.2.0 {frr or eos}\n"
    found["frr"] = found["sonic"] = add(line, after="neighbor UPSTREAM-V4 route-map FROM")
    if nxos:
        found["nxos"] = replace(
            rf"^(  neighbor {_FIRST}\n    inherit peer UPSTREAM\n(?:    .*\n)*)",
            rf"\1    address-family ipv4 unicast\n      {nxos}\n",
        )
    return found


def _of_group(eos: str, nxos: str, frr: str, junos: str = "") -> Fault:
    """Add a setting to all sessions of a spine."""
    line = add(f"  neighbor DOWNSTREAM-V4 {frr}\n", after="neighbor DOWNSTREAM-V4 route-map FROM")
    found: Fault = {"frr": line, "sonic": line}
    if eos:
        found["eos"] = add(f"   neighbor DOWNSTREAM {eos}\n", after="neighbor DOWNSTREAM bfd")
    if nxos:
        found["nxos"] = add(f"      {nxos}\n", after="^      send-community")
    if junos:
        found["junos"] = add(f"            {junos}\n", after="            type external;")
    return found


def _permit_all(direction: str) -> Fault:
    head = f"route-map {direction}-UPSTREAM permit 30\n"
    name = f"{direction}-UPSTREAM"
    return {
        "eos": add(f"{head}!\n", before="^router bfd"),
        "nxos": add(head, before="^vrf context"),
        "frr": add(f"{head}exit\n!\n", before="^bfd$"),
        "sonic": add(f"{head}exit\n!\n", before="^route-map RM_SET_SRC"),
        "junos": replace(
            rf"(policy-statement {name} \{{\n(?:.*\n)*?        term DEFAULT \{{\n            then \{{\n                )reject;",
            r"\1accept;",
        ),
        "cumulus": edit_nvue(lambda tree: walk(
            tree, "router", "policy", "route-map", name, "rule").update({"30": {"action": {"permit": {}}}})),
    }  # fmt: skip


def _no_loopbacks() -> Fault:
    """Import no loopbacks: the entry of their pool is gone."""
    line = replace(r"^.*prefix-list FABRIC-V4 (?:seq \d+ )?permit 10\.128\.0\.0/12.*\n", "")
    return {
        "eos": replace(r"^.*permit 10\.128\.0\.0/12.*\n", ""), "nxos": line, "frr": line, "sonic": line,
        "junos": replace(r"^        10\.128\.0\.0/12 prefix-length-range.*\n", ""),
        "cumulus": edit_nvue(lambda tree: walk(
            tree, "router", "policy", "prefix-list", "FABRIC-V4", "rule").pop("20")),
    }  # fmt: skip


def _statics_announced() -> Fault:
    """Announce static routes, one of which is a default route to a discard, without a policy."""
    return {
        "eos": chain_edits(add("ip route 0.0.0.0/0 Null0\n!\n", before="^router bfd"),
                    add("   redistribute static\n", before="^   redistribute connected")),
        "nxos": chain_edits(add("ip route 0.0.0.0/0 Null0\n", before="^vrf context"),
                     add("    redistribute static route-map ALL\n", before="redistribute direct"),
                     add("route-map ALL permit 10\n", before="^vrf context")),
        "frr": chain_edits(add("ip route 0.0.0.0/0 blackhole\n!\n", before="^bfd$"),
                    add("  redistribute static\n", before="^  redistribute connected")),
        "sonic": chain_edits(add("ip route 0.0.0.0/0 blackhole\n!\n", before="^route-map FROM"),
                      add("  redistribute static\n", before="^  redistribute connected")),
    }  # fmt: skip


def _default_to_discard() -> Fault:
    return {
        "eos": add("ip route 0.0.0.0/0 Null0\n!\n", before="^router bfd"),
        "nxos": add("ip route 0.0.0.0/0 Null0\n", before="^vrf context"),
        "frr": add("ip route 0.0.0.0/0 blackhole\n!\n", before="^bfd$"),
        "sonic": add("ip route 0.0.0.0/0 blackhole\n!\n", before="^route-map FROM"),
    }


def _notifications_in_the_class_of_rdma() -> Fault:
    return {
        "eos": replace(r"(qos map dscp 48 to traffic-class) 6", r"\1 3"),
        "sonic": edit_tables(
            lambda tables: next(iter(tables["DSCP_TO_TC_MAP"].values())).update({"48": "3"})
        ),
    }


def _no_communities() -> Fault:
    """Send no communities, so that a drain has no effect."""
    line = replace(r"^.*send-community\n", "")
    off = replace(r"^(  neighbor (\S+) activate\n)", r"\1  no neighbor \2 send-community\n", file="frr.conf")
    return {"eos": line, "nxos": line, "frr": off, "sonic": off}


def _quiet_watchdog() -> Fault:
    """Let the watchdog report and not act."""
    return {
        "eos": replace(r"watchdog action drop", "watchdog action notify-only"),
        "sonic": edit_tables(lambda tables: [
            row.update(action="alert") for row in tables["PFC_WD"].values() if "action" in row]),
    }  # fmt: skip


KINDS: dict[str, tuple[str, Fault]] = {
    "one uplink is preferred": ("tor-", _add_clause("PREFERRED", "set local-preference 500")),
    "one uplink has another metric": ("tor-", _add_clause("FARTHER", "set metric 500")),
    "a longer path to one spine": ("tor-", _add_clause("LONGER", "set as-path prepend 65001 65001", out="out")),
    "weight of one uplink": ("tor-", _of_neighbor("weight 500", "weight 500")),
    "routes stay where they are": ("tor", _of_every_clause(
        "TO", "set community no-export", "community add NOWHERE;", lambda s: s.update({"community": {"no-export": {}}}))),
    "paths lose their AS numbers": ("all", {system: edit for system, edit in _of_every_clause("FROM", "set as-path exclude all", "", dict).items() if system in ("frr", "sonic")}),
    "another next hop of all routes": ("tor", _of_every_clause(
        "FROM", "set ip next-hop 192.0.2.1", "next-hop 192.0.2.1;", lambda s: s.update({"ip-nexthop": "192.0.2.1"}))),
    "own numbers are replaced": ("spine", _of_group("", "as-override", "as-override", "as-override;")),
    "private numbers are removed": ("spine", _of_group(
        "remove-private-as all", "", "remove-private-AS all", "remove-private all;")),
    "import permits everything": ("tor", _permit_all("FROM")),
    "export permits everything": ("tor", _permit_all("TO")),
    "import loses loopbacks": ("all", _no_loopbacks()),
    "static routes are announced": ("tor", _statics_announced()),
    "a default route to nowhere": ("tor", _default_to_discard()),
    "notifications in the class of RDMA": ("all", _notifications_in_the_class_of_rdma()),
    "no communities are sent": ("all", _no_communities()),
    "the watchdog only reports": ("all", _quiet_watchdog()),
}  # fmt: skip
"""Kind of fault -> the tier on which it is planted, and the edit for each system."""
