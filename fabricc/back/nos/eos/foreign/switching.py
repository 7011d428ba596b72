"""Bridging of EOS, which fabricc reads and does not write: VLANs, switch ports, spanning tree, bundles, MLAG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.eos.words import default_rows, setting_rows, stored_rows
from fabricc.back.reading import Block, Entry, Fact, Keep, Row, Scope, StoredValue, Topic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.facts import Value

VLAN_ROWS: Sequence[Row] = (
    Keep("state active", "enabled", "true"),
    Keep("state suspend", "enabled", "false"),
    *stored_rows("setting", 1, (
        "trunk group <word>", "private-vlan <rest>", "mac address learning <rest>", "mac address forwarding <rest>",
    )),
    *default_rows(("mac address learning", "private-vlan", "trunk group", "name", "state")),
)  # fmt: skip
"""Rows of a VLAN other than its name."""

_MODES = {"access": "access", "trunk": "trunk", "dot1q-tunnel": "tunnel", "tap": None, "tool": None}


def _port_mode(mode: str) -> Mapping[str, Value | None] | None:
    found = _MODES.get(mode)
    return {"switchport": found} if found else {"setting[switchport mode]": mode}


PORT_ROWS: Sequence[Row] = (
    Keep("[default] switchport", "bridged", "true"),
    Keep("switchport mode <word>", _port_mode),
    Keep("switchport mode trunk phone", {"switchport": "trunk", "setting[switchport mode trunk phone]": "true"}),
    Keep("switchport trunk native vlan <integer>", "native_vlan"),
    Entry("switchport trunk allowed vlan <all|none>", "vlans", "set"),
    Entry("switchport trunk allowed vlan <spans>", "vlans", "set"),
    *(Entry(f"switchport trunk allowed vlan {how} <spans>", "vlans", how) for how in ("add", "except", "remove")),
    Entry("spanning-tree <rest>", "spanning_tree"),
    Keep("channel-group <integer> mode <active|passive|on>", {"bundle": "Port-Channel{1}", "bundle_mode": "{2}"}),
    Keep("mlag <word>", "mlag"),
    Block("evpn ethernet-segment", "", (
        Keep("identifier <word>", "ethernet_segment"),
        *stored_rows("setting", 1, (
            "route-target import <rest>", "designated-forwarder ...", "redundancy <rest>", "mpls <rest>",
        )),
        *default_rows((
            "identifier", "redundancy", "designated-forwarder <rest>", "route-target import", "mpls <rest>",
        )),
    )),
    *stored_rows("setting", 1, (
        "switchport trunk group <word>", "switchport trunk native vlan tag", "switchport trunk private-vlan <rest>",
        "switchport phone ...", "switchport vlan translation ...", "switchport vlan forwarding <rest>",
        "switchport dot1q ...", "switchport source-interface <rest>", "switchport pvlan mapping ...",
        "switchport backup-link <rest>", "switchport backup ...", "switchport port-security",
        "switchport port-security ...", "switchport private-vlan <rest>", "switchport voice <rest>",
        "lacp timer <rest>", "lacp rate <rest>", "lacp port-priority <rest>", "lacp system-id <rest>",
        "lacp rate-limit <rest>", "port-channel <word> ...", "port-channel lacp fallback",
        "port-channel lacp fallback <rest>", "l2-protocol ...", "l2-protocol forwarding profile <rest>",
        "l2-protocol encapsulation <rest>", "storm-control <word> <rest>", "mac access-list <rest>",
        "switchport mac ...", "switchport recirculation ...", "link tracking group <rest>", "traffic-loopback <rest>",
    )),
    *default_rows((
        "switchport port-security <rest>", "switchport port-security", "switchport dot1q <rest>", "switchport <rest>",
        "spanning-tree <rest>", "storm-control <rest>", "channel-group", "channel-group <rest>", "mlag",
        "mlag <rest>", "lacp <rest>", "port-channel <rest>", "l2-protocol <rest>", "l2 <rest>", "traffic-loopback",
        "link tracking <rest>",
    )),
)  # fmt: skip
"""Of an interface."""

_MLAG: Sequence[Row] = (
    Fact("domain-id <rest>", "mlag/domain"),
    Fact("local-interface <word>", "mlag/local"),
    Fact("peer-address <address>", "mlag/peer"),
    Fact("peer-address heartbeat <rest>", "mlag/backup"),
    Fact("peer-link <word>", "mlag/peer_link"),
    Fact("system-id <word>", "mlag/mac"),
    *setting_rows("mlag/setting", 0, (
        "reload-delay <word>", "reload-delay mlag <rest>", "reload-delay non-mlag <rest>", "reload-delay mode <rest>",
        "reload-delay lacp <rest>", "dual-primary <word> <rest>", "heartbeat-interval <rest>",
        "heartbeat-timeout <rest>", "primary-priority <rest>", "lacp standby", "shutdown", "hello <rest>",
        "heartbeat <rest>", "ethernet-segment <rest>",
    )),
    *default_rows((
        "shutdown", "domain-id", "local-interface", "peer-address", "peer-address heartbeat", "peer-link",
        "reload-delay <rest>", "dual-primary <rest>", "heartbeat-interval", "primary-priority", "lacp standby",
    )),
)  # fmt: skip

ROWS: Sequence[Row] = (
    Block("mlag configuration", "", _MLAG),
    Block("mlag", "", _MLAG),
    Keep("switchport default mode <access|routed>", "default mode"),
    Fact("spanning-tree mode <word>", "spanning_tree/mode"),
    *setting_rows("spanning_tree/setting", 0, (
        "spanning-tree mst <word> <rest>", "spanning-tree vlan-id <word> <rest>", "spanning-tree vlan <word> <rest>",
        "spanning-tree root <rest>", "spanning-tree priority <rest>", "spanning-tree edge-port <rest>",
        "spanning-tree portchannel <rest>", "spanning-tree portfast <rest>", "spanning-tree bpduguard <rest>",
        "spanning-tree bpdufilter <rest>", "spanning-tree guard <rest>", "spanning-tree loopguard <rest>",
        "spanning-tree transmit <rest>", "spanning-tree forward-time <rest>", "spanning-tree hello-time <rest>",
        "spanning-tree max-age <rest>", "spanning-tree max-hops <rest>", "spanning-tree bridge <rest>",
        "spanning-tree mst pvst border", "no spanning-tree vlan-id <word>", "no spanning-tree vlan <word>",
        "spanning-tree counters <rest>",
    )),
    Block("spanning-tree mst configuration", "", setting_rows("spanning_tree/setting", 0, (
        "name <rest>", "revision <rest>", "instance <word> vlan <rest>",
    ))),
    *setting_rows("platform/setting", 0, (
        "vlan internal order <rest>", "vlan internal allocation policy <rest>", "port-channel load-balance ...",
        "port-channel lacp <rest>", "port-channel min-links <rest>", "lacp system-priority <rest>",
        "mac address-table aging-time <rest>", "mac address-table <word> ...", "switchport backup-link <rest>",
        "vlan tag native <rest>", "errdisable <word> ...", "link tracking group <rest>",
    )),
    Block("link tracking group <word>", "", setting_rows("platform/setting", 1, ("links <rest>", "recovery <rest>"))),
    *default_rows(("spanning-tree <rest>", "mac address-table <rest>", "lacp <rest>", "errdisable <rest>")),
)  # fmt: skip


def trunk_vlans(block: Scope) -> StoredValue | None:
    """Return the VLANs of a trunk as one text; None without a line."""
    vlans: list[str] = []
    last = 0
    for text, (how, line) in block.table("vlans").items():
        last = line
        if how == "set":
            vlans = [str(text)]
        else:
            vlans.append(str(text) if how == "add" else f"{how} {text}")
    return (",".join(vlans), last) if vlans else None


TOPIC = Topic(ROWS)
