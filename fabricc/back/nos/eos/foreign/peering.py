"""BGP of EOS beyond what a spine-leaf fabric of ours needs: rows of processes, of neighbors, of address families."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from fabricc.back.nos.eos.foreign.igp import ALL
from fabricc.back.nos.eos.words import default_rows, setting_rows, stored_rows
from fabricc.back.reading import Block, Each, Entry, Fact, Keep, Row, Silent

if TYPE_CHECKING:
    from fabricc.fabric.facts import Value

UNSET = "-"
"""Settings that a neighbor turns off, whatever its group has."""
STATED = (
    "local_asn", "update_source", "multihop", "reflector_client", "next_hop_self", "next_hop_unchanged",
    "as_override", "allow_as_in", "remove_private", "default_originate", "keepalive_s", "hold_s", "prefix_list_in",
    "prefix_list_out", "enabled",
)  # fmt: skip
"""Values of a neighbor that are facts as they are."""
FAMILY_POLICY = ("import", "export", "prefix_list_in", "prefix_list_out", "default_originate")
"""Settings that each address family may have."""

_NEIGHBOR_VALUED = (
    "weight <rest>", "transport ...", "fall-over ...", "as-path ...", "graceful-restart ...", "rib-in ...",
    "session tracker ...", "link-bandwidth ...", "link-bandwidth", "idle-restart-timer ...", "metric-out <rest>",
    "out-delay ...", "local-v6-addr ...", "local-v4-addr ...", "export-localpref <rest>", "import-localpref <rest>",
    "encapsulation ...", "domain ...", "missing-policy ...", "peer-tag <rest>", "bfd ...", "additional-paths ...",
    "maximum-accepted-routes ...", "maximum-advertised-routes ...", "local-as <asn> <rest>", "remove-private-as ...",
    "next-hop-self source-interface ...", "next-hop-self received-evpn-routes ...", "next-hop-unchanged ...",
    "next-hop address-family ...", "next-hop ...", "rcf ...", "ttl <rest>", "auto-local-addr", "passive",
    "enforce-first-as", "graceful-restart", "as-path-options ...", "dont-capability-negotiate",
    "soft-reconfiguration ...", "remote-as ...", "graceful-restart-helper", "no enforce-first-as",
    "auto-local-addr ...", "capability ...", "aigp-session", "route-to-peer", "layer-2 ...",
    "default-route ...", "unsuppress-map ...", "dynamic ...", "distribute-list ...", "filter-list ...",
    "update-source <word> <rest>", "maximum-routes <integer> <rest>",
)  # fmt: skip
_NEIGHBOR_OFF = {
    "description": "description", "route-map in": "import", "route-map out": "export",
    "prefix-list in": "prefix_list_in", "prefix-list out": "prefix_list_out", "next-hop-self": "next_hop_self",
    "next-hop-unchanged": "next_hop_unchanged", "route-reflector-client": "reflector_client",
    "send-community": "send_community", "update-source": "update_source", "ebgp-multihop": "multihop",
    "maximum-routes": "maximum_prefixes", "remove-private-as": "remove_private", "local-as": "local_asn",
    "as-path remote-as replace out": "as_override",
    "allowas-in": "allow_as_in", "password": "secret", "default-originate": "default_originate", "bfd": "bfd",
    "peer group": "group", "peer-group": "group", "remote-as": "remote_asn",
    "next-hop address-family ipv6 originate": "next_hop", "ttl maximum-hops": "maximum_hops",
    "route-map <word> in": "import", "route-map <word> out": "export", "prefix-list <word> in": "prefix_list_in",
    "prefix-list <word> out": "prefix_list_out",
}  # fmt: skip
_NEIGHBOR_SILENT = (
    "next-hop-peer", "monitoring", "next-hop-v6-addr <rest>", "next-hop-v4-addr <rest>", "weight", "transport <rest>",
    "fall-over <rest>", "as-path <rest>", "graceful-restart", "rib-in <rest>", "session tracker", "link-bandwidth",
    "idle-restart-timer", "metric-out", "out-delay", "local-v6-addr", "local-v4-addr", "export-localpref",
    "import-localpref", "encapsulation", "missing-policy <rest>", "additional-paths <rest>", "additional-paths",
    "shutdown", "maximum-accepted-routes", "next-hop-self <rest>", "next-hop address-family <rest>",
    "next-hop <rest>", "auto-local-addr", "passive", "aigp-session", "route-to-peer", "soft-reconfiguration",
    "timers", "graceful-restart-helper", "domain <rest>", "dont-capability-negotiate", "link-bandwidth <rest>",
    "enforce-first-as", "transport", "fall-over", "rcf <rest>", "default-originate <rest>", "layer-2 <rest>",
    "prefix-list", "rib-in", "peer-tag <rest>", "metric", "bfd <rest>",
)  # fmt: skip


def _prefix_limit(count: int, _percent: str) -> dict[str, Value]:
    return {"maximum_prefixes": count, "setting[maximum-routes]": f"{count} {_percent}"}


def _sent_communities(kinds: str) -> dict[str, Value | None]:
    """Standard communities are sent where the words name them, or add to what is sent."""
    standard = "standard" in kinds.split() or kinds.split()[0] == "add" or kinds == "all"
    return {"send_community": "true" if standard else None, "setting[send-community]": kinds}


def neighbor_rows(outer: int) -> tuple[Row, ...]:
    """Return lines about a neighbor or a group, behind so many captures."""
    return (
        Keep("update-source <word>", "update_source"),
        Keep("ebgp-multihop", "multihop", 255),
        Keep("ebgp-multihop <integer>", "multihop"),
        Keep("next-hop-self", "next_hop_self", ALL),
        Keep("next-hop-unchanged", "next_hop_unchanged", ALL),
        Keep("next-hop-peer", "setting[next-hop-peer]", "true"),
        Keep("route-reflector-client", "reflector_client", ALL),
        Keep("local-as <asn>", "local_asn"),
        Keep("local-as <asn> no-prepend [replace-as] [fallback]", "local_asn"),
        Keep("as-path remote-as replace out", "as_override", ALL),
        Keep("allowas-in", "allow_as_in", 3),
        Keep("allowas-in <integer>", "allow_as_in"),
        Keep("remove-private-as", "remove_private", "true"),
        Keep("remove-private-as all", "remove_private", ALL),
        Keep("remove-private-as all replace-as", "remove_private", "all replace-as"),
        Keep("timers <integer> <integer>", {"keepalive_s": f"{{{outer}}}", "hold_s": f"{{{outer + 1}}}"}),
        Keep(
            "timers <integer> <integer> <rest>", {"keepalive_s": f"{{{outer}}}", "hold_s": f"{{{outer + 1}}}"}
        ),
        Keep("shutdown", "enabled", "false"),
        Keep("shutdown reason <rest>", "enabled", "false"),
        Keep("passive", "setting[passive]", "true"),
        Keep("send-community <rest>", _sent_communities),
        Keep("fall-over bfd", "bfd", "true"),
        Keep("maximum-routes <integer> warning-only", "setting[maximum-routes]", f"{{{outer}}} warning-only"),
        Keep("maximum-routes <integer> warning-limit <rest>", _prefix_limit),
        *policy_rows(""),
        *(row for row in stored_rows("setting", outer, _NEIGHBOR_VALUED) if row.pattern != "passive"),
    )


def policy_rows(family: str) -> tuple[Row, ...]:
    """Return lines that filter what a neighbor sends and gets in an address family, or in all."""
    return (
        *(Keep(f"prefix-list <word> {way}", f"{family}prefix_list_{way}") for way in ("in", "out")),
        Keep("default-originate", f"{family}default_originate", ALL),
        Keep("default-originate always", f"{family}default_originate", ALL),
        Keep("default-originate route-map <word> [always]", f"{family}default_originate"),
    )


def no_neighbor(family: str = "") -> tuple[Row, ...]:
    """Return rows of settings that a neighbor or a group turns off; in an address family (by `family`), or in all."""
    return (
        *(
            Keep(pattern, f"{family}{leaf}", UNSET)
            if not family or leaf in FAMILY_POLICY
            else Silent(pattern)
            for pattern, leaf in _NEIGHBOR_OFF.items()
        ),
        *(Silent(pattern) for pattern in _NEIGHBOR_SILENT),
    )


def of_family(family: str, outer: int) -> tuple[Row, ...]:
    """Return lines about a neighbor in an address family whose values go by `family` and their name."""
    return (
        *policy_rows(family),
        *stored_rows("setting", outer, (
            "additional-paths ...", "next-hop ...", "next-hop-unchanged", "weight <rest>", "rcf ...",
            "graceful-restart", "encapsulation ...", "layer-2 ...", "domain ...", "default-route ...",
            "default-route", "missing-policy ...", "next-hop-self ...", "next-hop-self", "rib-in ...", "aigp-session",
            "default-originate ...", "maximum-accepted-routes ...", "filter-list ...", "next-hop address-family ...",
            "maximum-advertised-routes ...", "distribute-list ...", "default-route-target",
            "default-route-target ...", "multi-path", "graceful-restart-helper ...",
        )),
    )  # fmt: skip


_PROCESS = (
    "session tracker ...", "mpls control-word", "label flow", "label ...", "tunnel ...", "aigp-session ...",
    "identifier <rest>", "bgp monitoring", "graceful-restart-helper",
    "aggregate-address <address4> <address4> <rest>", "graceful-restart", "graceful-restart ...",
    "graceful-restart-helper ...", "update wait-for-convergence", "shutdown", "shutdown <rest>",
    "access-group <rest>", "bgp <word> ...", "bgp route-reflector ...", "bgp always-compare-med",
    "bgp log-neighbor-changes", "bgp advertise-inactive", "bgp next-hop-unchanged", "bgp redistribute-internal",
    "bgp enforce-first-as", "bgp host-routes fib direct-install", "bgp additional-paths ...", "bgp bestpath ...",
    "bgp transport ...", "bgp labeled-unicast rib ...", "bgp session tracker ...", "bgp missing-policy ...",
    "bgp monitoring ...", "bgp auto-local-addr", "bgp deterministic-med", "bgp log ...", "bgp trusted-peer ...",
    "bgp convergence ...", "dynamic peer max ...", "no bgp <word> ...", "no bgp client-to-client reflection",
    "no bgp fast-external-fallover", "default bgp ...", "rib ...", "route export ...", "route import ...",
    "next-hop ...", "evpn multicast", "evpn ...", "host-flap detection ...", "neighbor default ...",
    "default-route <rest>", "route ...", "ip address <rest>", "layer-2 ...", "domain ...", "comment <rest>",
    "monitoring <rest>", "default-metric <rest>", "neighbor default", "bgp always-compare-med ...",
    "bgp default ipv6-unicast", "no bgp default ipv6-unicast", "maximum-paths <integer> <rest>",
    "aggregate-address <prefix> <rest>", "aggregate-address <prefix>", "bgp route install-map ...",
    "peer-filter <rest>", "bgp peer-mac-resolution-timeout ...", "bgp graceful-shutdown", "import ...", "export ...",
    "leak <rest>", "bgp local-preference ...", "table-map <rest>", "rd <word> <rest>", "host-flap ...", "mac <rest>",
    "bgp aigp ...", "bgp control-plane-filter default-allow", "bgp asn notation ...", "bgp allowas-in", "ucmp <rest>",
    "path-selection", "path-selection <rest>",
)  # fmt: skip
_PROCESS_OFF = (
    "bgp allowas-in", "bgp auto-local-addr", "bgp monitoring", "bgp aspath-cmp-include-nexthop", "default-metric",
    "ucmp <rest>", "router-id", "graceful-restart-helper", "bgp next-hop-unchanged", "bgp always-compare-med",
    "bgp enforce-first-as", "bgp advertise-inactive", "bgp cluster-id", "bgp redistribute-internal",
    "bgp log-neighbor-changes", "shutdown", "graceful-restart", "redistribute <rest>", "network <rest>",
    "next-hop <rest>", "timers bgp", "distance <rest>", "rib <rest>", "update wait-for-convergence",
    "update wait-install", "host-flap detection",
)  # fmt: skip
_OTHER_FAMILIES = (
    "ipv4 labeled-unicast", "ipv6 labeled-unicast", "ipv4 multicast", "ipv6 multicast", "ipv4 sr-te", "ipv6 sr-te",
    "vpn-ipv4", "vpn-ipv6", "rt-membership", "link-state", "path-selection", "flow-spec ipv4", "flow-spec ipv6",
    "flow-spec vpn-ipv4", "flow-spec vpn-ipv6", "dps", "ipv4 mvpn", "mvpn-ipv4", "vpls", "rt-constrain",
)  # fmt: skip


def _listening_group(_range: str, group: str, peers: int | str = "") -> str:
    """Return the group of a range, and the AS number or the filter of AS numbers of its neighbors."""
    return f"{group} {peers}"


def _map_in(_protocol: str, rest: str) -> str:
    """Return the route map behind the kinds of routes that enter BGP, `all` without one."""
    return rest.rpartition("route-map ")[2] if "route-map " in rest else ALL


@cache
def process_rows(at: str, outer: int) -> tuple[Row, ...]:
    """Return rows of a process or an address family, whose facts begin with `at`, behind so many captures.

    Cached, because a process and its two dozen families use it: importing all of EOS takes 34 ms of CPU instead of 40.
    """
    first, second, third = (f"{{{outer + place}}}" for place in range(3))
    redistribute = f"{at}bgp/redistribute[{first}]"
    return (
        Fact("network <prefix>", f"{at}bgp/network[{first}]", ALL),
        Fact("network <prefix> route-map <word>", f"{at}bgp/network[{first}]"),
        Fact("network <prefix> rcf <rest>", f"{at}bgp/network[{first}]"),
        Fact("network <address4> mask <address4>", f"{at}bgp/network[{first} {second}]", ALL),
        Fact("network <address4> mask <address4> route-map <word>", f"{at}bgp/network[{first} {second}]", third),
        Fact("redistribute <word> [[include] leaked]", redistribute, ALL),
        Fact("redistribute <word> [[include] leaked] route-map <word>", redistribute, second),
        Fact("redistribute <word> [include leaked] rcf <rest>", redistribute, second),
        Fact("redistribute <ospf|ospf3|ospfv3|isis> <rest>", redistribute, _map_in),
        Fact("distance bgp <rest>", f"{at}bgp/distance"),
        Fact("bgp cluster-id <word>", f"{at}bgp/cluster_id"),
        Fact("bgp confederation identifier <word>", f"{at}bgp/confederation"),
        *(
            Entry(f"bgp listen range <prefix> (peer-group|peer group) <word>{end}", "listen", _listening_group)
            for end in ("", " remote-as <asn>", " peer-filter <word>")
        ),
        Fact("maximum-paths <integer>", f"{at}bgp/maximum_paths"),
        Fact("(no|default) maximum-paths [<rest>]", f"{at}bgp/maximum_paths", lambda *_: 1),
        Fact("maximum-paths ibgp <integer>", f"{at}bgp/multipath_ibgp"),
        Silent("bgp client-to-client reflection"),
        *setting_rows(f"{at}bgp/setting", outer, _PROCESS),
        *default_rows(_PROCESS_OFF),
    )  # fmt: skip


def other_families(at: str, outer: int) -> tuple[Row, ...]:
    """Address families that no fabric of ours has."""
    return tuple(
        [
            row
            for name in _OTHER_FAMILIES
            for row in (
                Fact(f"address-family {name}", f"{at}bgp/setting[address-family {name}]", "true"),
                Block(f"address-family {name}", "", partial(_other_family, name, at, outer)),
            )
        ]
    )


def _other_family(name: str, at: str, outer: int) -> tuple[Row, ...]:
    family = name.replace(" ", "-")
    return (
        Each("neighbor <word>", "neighbor", (
            Keep("activate", f"family {family}", "true"),
            *(Keep(f"{what} <word> {way}", f"setting[{family} {what} {way}]")
              for what in ("route-map", "prefix-list") for way in ("in", "out")),
            *(row for row in of_family(f"{family} ", outer + 1) if "prefix-list" not in row.pattern),
        )),
        *(Each(f"{word} neighbor <word>", "neighbor", (
            Keep("activate", f"family {family}", UNSET), *no_neighbor(f"{family} "),
        )) for word in ("no", "default")),
        *process_rows(at, outer),
        Fact("neighbor interface <rest>", f"{at}bgp/setting[{name} neighbor interface]"),
    )  # fmt: skip
