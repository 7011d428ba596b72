"""Bridging on NX-OS, which designs of others have: VLANs, switch ports, bundles, vPC, spanning tree, gateways."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.nos.nxos import words
from fabricc.back.reading import Block, Entry, Fact, Keep, Silent, Topic
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.back.reading import Document, Row, Scope, StoredValue, Types
    from fabricc.fabric.facts import Value

    Stated = tuple[str, Value, int]

OWN = "/"
"""Before the name of a value that is a fact of its interface by itself: the rest of the path."""
BUNDLE = "port-channel"
DEFAULT_VLAN = 1
_MLAG = "mlag/setting"
_BRIDGING = "bridging/setting"
_TREE = "spanning_tree/setting"


def own_line(pattern: str, leaf: str, value: Value | None = None) -> Keep:
    """Return a line of an interface that states a fact of it by itself."""
    return Keep(pattern, OWN + leaf, value)


def setting_rows(heads: Sequence[str], family: str, before: int = 0) -> tuple[Row, ...]:
    """Return rows of lines that begin so: a setting by that name and the next word, with all that follows.

    Args:
        heads: beginnings of lines.
        family: path of the settings, such as `mlag/setting`; what is of a block around has its captures in it, and is
            known by its beginning alone.
        before: how many captures those blocks have.
    """
    kind = Keep if family.startswith(OWN) else Fact
    rest = f"{{{before}}}"
    rows: list[Row] = []
    for head in heads:
        name = f"{family}[{head}]"
        if "{" in family:
            rows += [
                kind(f"{head} <rest>", name, rest),
                kind(f"no {head} <rest>", f"{family}[{head} {rest}]", "off"),
            ]
        else:
            rows += [
                kind(f"{head} <rest>", partial(_setting_value, family, head)),
                kind(f"no {head} <rest>", partial(_setting_off, family, head)),
            ]
        rows += [kind(head, name, "on"), kind(f"no {head}", name, "off")]
    return tuple(rows)


def _setting_value(family: str, head: str, rest: str) -> Mapping[str, Value]:
    name, value = words.split_name(head, rest)
    return {f"{family}[{name}]": value}


def _setting_off(family: str, head: str, rest: str) -> Mapping[str, Value]:
    return {f"{family}[{head} {' '.join(rest.split())}]": "off"}


_ROUTED = frozenset({
    "defined", "description", "enabled", "routed", "mtu", "speed_gbps", "fec", "fec_code", "vrf", "ipv4", "ipv6",
    "forward", "link_local",
    "no ip redirects", "no ipv6 redirects", "unnumbered", "ra", "ra_max_s", "ra_min_s", "ra_lifetime_s", "pfc",
    "watchdog",
    "qos input", "queuing input", "queuing output", "bfd",
})  # fmt: skip
"""Values of a port without any of the statements here."""
TYPES: Types = {"bundle": lambda number: f"{BUNDLE}{number}" if is_number(number) else None}
_GATEWAY: Sequence[Row] = (
    Entry("(ip|ipv6|address) <address> [secondary|primary]", "addresses"),
    Silent("(ip|ipv6) (autoconfig|dhcp)"),
    *(
        Keep(f"{leaf} {rest}", leaf)
        for leaf in words.split_beginnings("""
            priority, preempt, timers, name, mac-address, advertisement-interval, bfd, shutdown
        """)
        for rest in ("", "<rest>")
    ),
    Silent("no (preempt|bfd|shutdown|authentication|track) [<rest>]"),
    Keep("follow <word>", "follow"),
    Entry("track <integer> [decrement <integer>]", "tracks", lambda _, by: by or "on"),
    Silent("(authentication|vrrpv2|match-address|object-track) [<rest>]"),
)  # fmt: skip
_PORT: Sequence[Row] = (
    Keep("switchport", "switchport"),
    own_line("switchport mode <access|trunk>", "switchport"),
    own_line("switchport mode dot1q-tunnel", "switchport", "tunnel"),
    own_line("switchport mode <word>", "setting[switchport mode]"),
    own_line("switchport access vlan <integer>", "access_vlan"),
    own_line("switchport trunk native vlan <integer>", "native_vlan"),
    own_line("switchport trunk allowed vlan <all|none>", "vlans"),
    Entry("switchport trunk allowed vlan [add] <numbers>", "vlans"),
    *setting_rows(
        words.split_beginnings("""
            switchport host, switchport block, switchport isolated, switchport monitor, switchport
            port-security, switchport private-vlan, switchport trunk allow-multi-tag, switchport trunk pruning,
            switchport trunk native vlan tag, switchport vlan mapping, switchport voice, switchport dot1q,
            switchport priority, switchport mac-learn, switchport autostate, link transmit, ip dhcp option82,
            private-vlan mapping, storm-control, udld, lacp, link debounce, bandwidth, delay, medium,
            mac-address, vpc orphan-port, bfd echo, bfd per-link, bfd neighbor, bfd authentication, bfd
            optimize, bfd ipv4, bfd ipv6, ip proxy-arp, ip local-proxy-arp, ip arp, ip unreachables, ip
            port-unreachable, ip directed-broadcast, ip verify, ipv6 verify, ip policy, ipv6 policy, ip pim,
            ipv6 pim, ip igmp, ipv6 mld, ip flow, ipv6 flow, ip dhcp relay, ip dhcp smart-relay, ip dhcp
            snooping, ip sticky-arp, ip tcp, ip drop-glean, ip address dhcp route, ipv6 dhcp relay, ipv6 nd,
            ipv6 forward, hsrp version, hsrp delay, hsrp bfd, hsrp use-bia, hsrp mac-refresh, autostate, evpn,
            hardware, tunnel, mpls, port-channel port, load-balance, vlan dot1q, transceiver, lldp,
            dfe-tuning-delay, link mac-up, link loopback, switchport trunk allowed vlan except, private-vlan,
            errdisable, fabric, keepalive, packet, management, carrier-delay, mdix, shutdown lan, macsec keychain
        """),
        OWN + "setting"
    ),
    Entry("spanning-tree <rest>", "spanning tree"),
    Silent("no spanning-tree <rest>"),
    Silent("no switchport (access|trunk) [<rest>]"),
    Silent("(ip|ipv6) redirects"),
    Silent("no (channel-group|vpc|encapsulation|service-policy|flowcontrol|port-type|fec|media-type) [<rest>]"),
    Silent("port-type <rest>"),
    Keep("shutdown force", "enabled", "false"),
    Silent("no (bfd|description|mtu|speed)"),
    own_line("negotiate auto [<integer>]", "autoneg", "true"),
    own_line("no negotiate auto [<integer>]", "autoneg", "false"),
    Keep("flowcontrol receive <on|off|desired>", "receives pause"),
    Keep("flowcontrol send <on|off|desired>", "sends pause"),
    own_line("media-type <rest>", "media"),
    own_line("duplex <word>", "setting[duplex]"),
    own_line("speed auto", "autoneg", "true"),
    Keep("channel-group <bundle> [force]", {"/bundle": "{1}", "/bundle_mode": "on"}),
    Keep("channel-group <bundle> [force] mode <active|passive|on>", {"/bundle": "{1}", "/bundle_mode": "{2}"}),
    own_line("vpc <integer>", "mlag", "{1}"),
    Keep("vpc peer-link", "peer link"),
    own_line("encapsulation dot1q <integer>", "vlan_tag"),
    own_line("ip address <prefix4> (secondary|tag <integer> secondary|secondary tag <integer>)",
        "secondary[{1}]", "{1}"),
    Keep("ip address <prefix4> tag <integer>", {"ipv4": "{1}", "/setting[route tag]": "{2}"}),
    Keep("ip address <prefix4> route-preference <integer> [tag <integer>]", "ipv4", "{1}"),
    own_line("ip address dhcp", "dhcp", "true"),
    own_line("ip unnumbered <interface>", "address_from"),
    Keep("ipv6 address <prefix6> (eui64|anycast|[route-preference <integer>] tag <integer>)", "ipv6", "{1}"),
    Keep("ipv6 address <prefix6> route-preference <integer>", "ipv6", "{1}"),
    own_line("ipv6 link-local <address6>", "link_local"),
    *(
        Keep(f"{line} <word> {way}", f"list {way} {kind}", "{1}")
        for line, kind in (("ip access-group", "ip"), ("ipv6 traffic-filter", "ipv6"), ("ip port access-group", "port"),
                           ("ipv6 port traffic-filter", "ipv6 port"), ("mac port access-group", "mac"),
                           ("mac access-group", "mac"))
        for way in ("in", "out") if (kind, way) != ("ip", "in")
    ),
    Silent("mac port access-group <word>"),
    Entry("(ip|ipv6) dhcp relay address <address> [use-vrf <word>]", "relays", lambda server, _: server),
    Keep("fabric forwarding mode anycast-gateway", "anycast"),
    *(Block(group, "gateway", _GATEWAY) for group in (
        "hsrp <integer>", "hsrp <integer> (ipv4|ipv6)", "vrrp <integer>", "vrrpv3 <integer> address-family (ipv4|ipv6)",
    )),
)  # fmt: skip
_VPC: Sequence[Row] = (
    *(
        Fact(f"peer-keepalive destination <address> {rest}", {"mlag/backup": "{1}", **more})
        for rest, more in (
            ("", {}), ("<rest>", {f"{_MLAG}[peer-keepalive]": "{2}"}),
            ("source <address>", {"mlag/local": "{2}"}),
            ("source <address> <rest>", {"mlag/local": "{2}", f"{_MLAG}[peer-keepalive]": "{3}"}),
        )
    ),
    Fact("system-mac <word>", "mlag/mac"),
    Fact("virtual peer-link destination <address> source <address> [<rest>]",
         {"mlag/peer": "{1}", "mlag/local": "{2}", "mlag/peer_link": "virtual"}),
    *setting_rows(
        words.split_beginnings("""
            role priority, system-priority, peer-switch, peer-gateway, auto-recovery, reload restore, delay
            restore, delay peer-link, dual-active exclude, graceful consistency-check, ip arp synchronize, ipv6
            nd synchronize, layer3 peer-router, fast-convergence, track, mac-address bpdu, multicast, host-learn
        """),
        _MLAG
    ),
    Silent("(shutdown|no shutdown)"),
)  # fmt: skip
_VLAN: Sequence[Row] = (
    Keep("name <rest>", "name"),
    Keep("vn-segment <integer>", "vni"),
    Keep("state <active|suspend>", "enabled", {"active": "true", "suspend": "false"}.get),
    Keep("shutdown", "enabled", "false"),
    Silent("no shutdown"),
    Silent("(mode|private-vlan|xconnect|fabricpath) [<rest>]"),
)
ROWS: Sequence[Row] = (
    *words.interface_blocks(_PORT),
    Block("vlan <numbers>", "vlan", _VLAN),
    Block("vlan configuration <numbers>", "", (
        Fact("service-policy [type qos] input <word> [no-stats]", "bridging/setting[service-policy of VLANs]"),
        Silent("(ip|ipv6|layer-2|device-tracking) <rest>"),
    )),
    Fact("vpc domain <integer>", "mlag/domain", str),
    Block("vpc domain <integer>", "", _VPC),
    Fact("spanning-tree mode <word>", "spanning_tree/mode"),
    Block("spanning-tree mst configuration", "", (
        *(Fact(f"{leaf} <rest>", f"{_TREE}[mst {leaf}]") for leaf in ("name", "revision")),
        Fact("instance <integer> vlan <word>", _TREE + "[mst instance {0}]"),
    )),
    *(
        Fact(f"spanning-tree {kind} <word> {leaf} <rest>", f"{_TREE}[{kind} {{0}} {leaf}]")
        for kind in ("vlan", "mst")
        for leaf in ("priority", "root", "hello-time", "forward-time", "max-age")
    ),
    *(
        row
        for leaf in ("port type", "pathcost", "loopguard", "bridge", "domain", "mst", "pseudo-information")
        for row in (
            Fact(f"spanning-tree {leaf} <rest>", f"{_TREE}[{leaf} {{0}}]", "on"),
            Fact(f"no spanning-tree {leaf} <rest>", f"{_TREE}[{leaf} {{0}}]", "off"),
        )
    ),
    *setting_rows(
        words.split_beginnings("""
            mac-learn, vlan dot1q tag native, lacp system-priority, lacp system-mac, udld, vtp, system vlan,
            system private-vlan, switching-mode, port-channel limit, port-channel load-defer, port-channel
            hash-distribution, system default interface, l2protocol, storm-control, fex, system default
            port-channel
        """),
        _BRIDGING
    ),
    *setting_rows(("mac address-table", "errdisable", "ip igmp snooping", "ipv6 mld snooping"), _BRIDGING),
    *(
        Keep(f"{no}system default switchport {shut}", f"default {shut or 'bridged'}", value)
        for no, value in (("", "true"), ("no ", "false")) for shut in ("", "shutdown")
    ),
    Fact("port-channel load-balance <rest>", _BRIDGING + "[port-channel load-balance]"),
    Fact("system jumbomtu <integer>", "system/jumbo_mtu"),
    Keep("version <word> [<rest>]", "version", "{0}"),
)  # fmt: skip


def finish(document: Document) -> None:
    """State VLANs, and facts that need several lines of an interface."""
    put, scope = document.put, document.scope
    for vlan, block in scope.each("vlan").items():
        # Every switch prints VLAN 1, which cannot be removed.
        leaf = "built_in" if vlan == DEFAULT_VLAN and "enabled" not in block.values else "enabled"
        put(f"vlan[{vlan}]/{leaf}", *block.values.get("enabled", ("true", block.line)))
        document.put_kept(f"vlan[{vlan}]/name", block.values, "name")
    for name, block in scope.each("interface").items():
        if str(name).startswith("Vlan") and "version" in scope.values and _is_shut_by_default(block):
            put(f"unread[the address of {name}]", "a VLAN interface is shut until `no shutdown`", block.line)
        if name == words.MANAGEMENT_INTERFACE or (
            block.values.keys() <= _ROUTED and not block.tables and not block.scopes
        ):
            continue
        for leaf, value, line in of_interface(block):
            put(f"interface[{name}]/{leaf}", value, line)
        if "peer link" in block.values:
            put("mlag/peer_link", str(name), block.values["peer link"][1])


def _is_shut_by_default(block: Scope) -> bool:
    """Return whether an interface with an address states neither that it is up nor that it is shut."""
    values = block.values.keys()
    return "enabled" not in values and not values.isdisjoint(("ipv4", "ipv6"))


def enabled_by_default(name: str, block: Scope, document: Document) -> bool:
    """Return whether an interface is up by default.

    Ports that bridge are up unless `system default switchport shutdown` is set; those that route are shut, but
    on Nexus 3000 in releases of its own such as 6.0(2)U6(1) (Nexus 3000 interfaces command reference 5.0(3), shutdown).
    So are SVIs, subinterfaces and the VTEP; bundles and loopbacks are up.
    """
    values = document.scope.values
    if name.startswith(("loopback", "mgmt")):
        return True
    if name.startswith(("Vlan", "nve")) or "." in name:
        return False
    if name.startswith(BUNDLE):
        return True
    if block.values.keys().isdisjoint(("routed", "ipv4", "ipv6")):
        return values.get("default shutdown", ("false", 0))[0] != "true"
    return ")U" in str(values.get("version", ("", 0))[0])


def of_interface(block: Scope) -> Iterator[Stated]:
    """Yield (rest of the path, value, line) of facts from several lines, or from one with its own list."""
    values = block.values
    yield from _bridge_facts(block)
    for way in ("in", "out"):
        named = [
            values[name]
            for name in values
            if name.startswith(f"list {way} ") or (name, way) == ("access_list", "in")
        ]
        if named:
            yield (
                f"access_list_{way}",
                ",".join(str(name) for name, _ in named),
                max(line for _, line in named),
            )
    pauses = [(way, *values[f"{way}s pause"]) for way in ("receive", "send") if f"{way}s pause" in values]
    if pauses:
        on = [way for way, value, _ in pauses if value != "off"]
        yield (
            "flow_control",
            "both" if len(on) > 1 else on[0] if on else "off",
            max(line for *_, line in pauses),
        )
    for name, leaf in (("spanning tree", "spanning_tree"), ("relays", "dhcp_relay")):
        if table := block.table(name):
            lines = [line for _, line in table.values()]
            yield leaf, ",".join(map(str, table)), max(lines)
    for number, gateway in block.each("gateway").items():
        for address, (_, line) in gateway.table("addresses").items():
            yield f"gateway[{address}]", str(address), line
        for leaf, (value, line) in gateway.values.items():
            yield f"setting[gateway {number} {leaf}]", value, line
        for track, (value, line) in gateway.table("tracks").items():
            yield f"setting[gateway {number} track {track}]", value, line
    if "anycast" in values:
        for family in ("ipv4", "ipv6"):
            if family in values:
                address = str(values[family][0]).partition("/")[0]
                yield f"gateway[{address}]", address, values["anycast"][1]


def _bridge_facts(block: Scope) -> Iterator[Stated]:
    """Yield the mode of a port that bridges, with its VLANs where these are the default ones."""
    values: Mapping[str, StoredValue] = block.values
    mode, line = values.get("/switchport") or values.get("/access_vlan") or values.get("switchport", ("", 0))
    if not line or "routed" in values:
        return
    if mode == "trunk":
        table = block.table("vlans")
        if table:
            yield (
                "vlans",
                words.format_ranges(int(vlan) for vlan in table),
                max(at for _, at in table.values()),
            )
        elif "/vlans" not in values:
            yield "vlans", "all", line
        if "/native_vlan" not in values:
            yield "native_vlan", DEFAULT_VLAN, line
        return
    if "/switchport" not in values:
        yield "switchport", "access", line
    if "/access_vlan" not in values:
        yield "access_vlan", DEFAULT_VLAN, line


TOPIC = Topic(ROWS, finish)
