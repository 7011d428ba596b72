"""Renders `frr.conf` as `show running-config` prints it, so that frr-reload finds nothing to change.

What FRR leaves out because it is a default must be left out here too; the defaults are named in `defaults.py`.
Reused by back ends of other platforms that route with FRR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.back.nos.frr.defaults import (
    BFD_INTERVAL_MS,
    BFD_MULTIPLIER,
    BFD_PROFILE,
    DATACENTER_TIMERS,
    LOG_LEVEL,
    MULTIPATH_LIMIT,
    RA_INTERVAL_S,
    TTL_SECURITY_HOPS,
    any_prefix,
    community_name,
)
from fabricc.back.nos.templating import environment
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp, Clause, PrefixRule, Session

View = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GracefulRestart:
    """How long a restarting router's neighbours keep its routes, and it its own (RFC 4724), seconds.

    Attributes:
        restart_s: until neighbours drop the routes of one that has not come back.
        defer_s: until it chooses routes, though neighbours still send theirs.
    """

    restart_s: int
    defer_s: int


_SUFFIX = {Transport.IPV4: "-V4", Transport.IPV6: "-V6", Transport.UNNUMBERED: ""}


def render_frr_conf(
    switch: Switch,
    *,
    router_interfaces: bool = True,
    hostname: bool = True,
    extra_head: Sequence[str] = (),
    multipath_limit: int = MULTIPATH_LIMIT,
    log_facility: str = "",
    bfd_profile: str | None = BFD_PROFILE,
    route_maps_of_source: Mapping[str, str] | None = None,
    graceful_restart: GracefulRestart | None = None,
) -> str:
    """The text of `frr.conf` for one switch.

    Args:
        switch: what to render; only `name`, `ports`, `bgp` and the loopbacks are used.
        router_interfaces: True states the description and addresses of every port in `interface` blocks; False
            where another file holds them. Router advertisements of unnumbered ports are stated either way.
        hostname: False leaves the `hostname` line out. It must equal the kernel's hostname, else frr-reload
            never finds the running configuration equal.
        extra_head: global lines to add after `service integrated-vtysh-config`, such as
            `no zebra nexthop kernel enable`.
        multipath_limit: next hops that the FRR build was compiled for (`--enable-multipath`); FRR does not print
            `maximum-paths` when it equals this. The reader needs the same number.
        log_facility: of syslog; empty for FRR's own, which it does not print.
        bfd_profile: holds the timers of BFD; None leaves them to FRR, whatever the plan says.
        route_maps_of_source: `ip` or `ipv6` -> route map by which BGP's routes have the loopback as source address.
        graceful_restart: None states nothing, so that the router only helps its neighbours.

    Returns:
        The file, ending in a newline. `read_frr_conf` reads it.
    """
    bgp = switch.bgp
    groups = list(_groups(bgp))
    view: View = {
        "hostname": switch.name if hostname else None,
        "extra_head": extra_head,
        "log_level": LOG_LEVEL,
        "log_facility": log_facility,
        "interfaces": _interfaces(switch, router_interfaces),
        "prefix_lists": [
            {"keyword": _keyword(pl.family), "name": pl.name, "rules": [_rule(rule) for rule in pl.rules]}
            for pl in bgp.prefix_lists
        ],
        "community_lists": [
            {"name": cl.name, "community": community_name(cl.community)} for cl in bgp.community_lists
        ],
        "route_maps": [
            {"name": rm.name, "clauses": [_clause(clause) for clause in rm.clauses]} for rm in bgp.route_maps
        ],
        "source_maps": [
            {"keyword": keyword, "name": name, "address": address}
            for keyword, name in (route_maps_of_source or {}).items()
            if (address := switch.loopback6 if keyword == "ipv6" else switch.loopback4)
        ],
        "bfd": _bfd(bgp, bfd_profile),
        "graceful_restart": graceful_restart,
        "bgp": bgp,
        "ttl_security_hops": TTL_SECURITY_HOPS if bgp.ttl_security else None,
        "timers": (bgp.keepalive_s, bgp.hold_s) != DATACENTER_TIMERS,
        "groups": groups,
        "neighbors": [_neighbor(session) for session in bgp.sessions],
        "families": [
            {
                "name": name,
                "aggregates": [prefix for prefix in bgp.aggregates if (":" in prefix) == (name == "ipv6")],
                "groups": [group for group in groups if name in group["families"]],
                "maximum_paths": bgp.maximum_paths if bgp.maximum_paths != multipath_limit else None,
            }
            for name in _families(bgp)
        ],
    }
    return environment("frr").get_template("frr.conf.j2").render(view)


def group_name(session: Session) -> str:
    """The FRR peer group of a session: one per transport, since a group carries the same families for all members."""
    return session.group + _SUFFIX[session.transport]


def _families(bgp: Bgp) -> list[str]:
    return [name for name, on in (("ipv4", bgp.ipv4), ("ipv6", bgp.ipv6)) if on]


def _groups(bgp: Bgp) -> Iterator[View]:
    used = {(session.group, session.transport) for session in bgp.sessions}
    for group in bgp.groups:
        for transport in Transport:
            if (group.name, transport) in used:
                yield {
                    "name": group.name + _SUFFIX[transport],
                    "families": _families(bgp) if transport is Transport.UNNUMBERED else [transport.value],
                    "import_map": group.import_map,
                    "export_map": group.export_map,
                    "maximum_prefixes": group.maximum_prefixes,
                }


def _neighbor(session: Session) -> View:
    unnumbered = session.transport is Transport.UNNUMBERED
    return {
        "name": session.port if unnumbered else session.remote,
        "unnumbered": unnumbered,
        "group": group_name(session),
        "remote_asn": session.remote_asn,
        "description": session.peer,
    }


def _interfaces(switch: Switch, router_interfaces: bool) -> list[View]:
    return [
        {
            "name": port.name,
            "description": port.description if router_interfaces else None,
            "ipv4": port.ipv4 if router_interfaces else None,
            "ipv6": port.ipv6 if router_interfaces else None,
            "ra_interval_s": RA_INTERVAL_S if port.unnumbered else None,
        }
        for port in switch.ports
        if router_interfaces or (port.unnumbered and port.direction is not Direction.UNUSED)
    ]


def _bfd(bgp: Bgp, profile: str | None) -> View | None:
    if bgp.bfd_interval_ms is None:
        return None
    return {
        "profile": profile,
        "multiplier": bgp.bfd_multiplier if bgp.bfd_multiplier != BFD_MULTIPLIER else None,
        "interval_ms": bgp.bfd_interval_ms if bgp.bfd_interval_ms != BFD_INTERVAL_MS else None,
    }


def _keyword(family: int | None) -> str:
    return "ipv6" if family == 6 else "ip"


def _rule(rule: PrefixRule) -> str:
    text = rule.prefix
    text += f" ge {rule.ge}" if rule.ge is not None else ""
    text += f" le {rule.le}" if rule.le is not None else ""
    return "any" if text in (any_prefix(4), any_prefix(6)) else text


def _clause(clause: Clause) -> View:
    return {
        "action": "permit" if clause.permit else "deny",
        "sequence": clause.sequence,
        "keyword": _keyword(clause.family),
        "prefix_list": clause.prefix_list,
        "community_list": clause.community_list,
        "local_preference": clause.local_preference,
        "add_community": community_name(clause.add_community) if clause.add_community else None,
    }
