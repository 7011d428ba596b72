"""Routing instances of Junos, overlays, DHCP relays, and settings of routing as a whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.junos import bgp_rows
from fabricc.back.nos.junos.foreign import igp, switching
from fabricc.back.nos.junos.tenants import put_isolated, put_tunnels
from fabricc.back.nos.junos.words import MANAGEMENT_INSTANCE, put_settings, verbatim_rows
from fabricc.back.reading import Block, Document, Entry, Keep, Row, Scope, StoredValue, Topic
from fabricc.back.reading.scope import Part
from fabricc.base.numbers import is_number
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.facts import Value

DEFAULT_SWITCH = "default-switch"
"""Junos's name of the bridge of VLANs that are in no routing instance."""
GATEWAYS = "gateways"
"""Default routes of the management instance, which its address goes with."""
_DEFAULTS = re.compile(r"0\.0\.0\.0/0|(?=[0:]*::)[0:]+/0")
EVPN, PLATFORM = "evpn", "platform"

_TARGETS: Sequence[Keep | Entry] = (
    Keep("route-distinguisher <word>", "distinguisher"),
    Entry("vrf-target <word>", "both"),
    Entry("vrf-target import <word>", "import"),
    Entry("vrf-target export <word>", "export"),
    Entry("vrf-import <word>", "import"),
    Entry("vrf-export <word>", "export"),
    Keep("vtep-source-interface <unit> [<below>]", "vtep", lambda unit, _below: unit),
)  # fmt: skip
_COMMON: Sequence[Row] = (
    *switching.COMMON,
    *bgp_rows.COMMON,
    *igp.COMMON,
    *(row._replace(pattern=f"switch-options {row.pattern}") for row in _TARGETS),
    Keep("protocols evpn ip-prefix-routes vni <integer>", "routed vni"),
    Entry("protocols evpn vni-options vni <integer> vrf-target <word>", "targets of VNIs", lambda _vni, target: target),
    *verbatim_rows("advertise assisted-replication bum-hashing default-gateway designated-forwarder-election "
              "designated-forwarder-preference-highest designated-forwarder-preference-least "
              "duplicate-mac-detection encapsulation es-label-oldstyle extended-vlan-list extended-vni-list "
              "interconnect interconnect-multihoming-peer-gateways interface interface-mac-limit ip-prefix-routes "
              "leave-sync-route-oldstyle mac-ip-table-size mac-mobility mac-notification mac-statistics "
              "mac-table-aging-time mac-table-size multicast-mode no-core-isolation no-mac-learning oism "
              "p2mp-bud-support remote-ip-host-routes smet-nexthop-limit vlan-id vni-options "
              "advertise-evpn-esi-routes advertise-zero-ethernet-tag associate-profile auto-service-id community "
              "connectivity-type control-word core-isolation-delay-response designated-forwarder-election-hold-time "
              "drop-unknown-mac-ip enable-mac-move-action encapsulation-type es-import-oldstyle esi "
              "esi-resolution-per-bridge-domain evi-options evpn-etree extended-isid-list "
              "flexible-cross-connect-vlan-aware flexible-cross-connect-vlan-unaware flow-label flow-label-receive "
              "flow-label-receive-static flow-label-static flow-label-transmit flow-label-transmit-static group "
              "hot-standby-on igmp-id ignore-encapsulation-mismatch ignore-mtu-mismatch import-labeled-routes "
              "interconnect-multihoming-peer-v6-gateways interface-history interface-mac-ip-limit "
              "irb-symmetric-routing label-allocation label-block-size mac-flush mac-history mac-ip-limit mac-list "
              "mac-move-limit mac-pinning mark-local-ip-host-routes mclag mesh-group mib mtu multi-homing neighbor "
              "no-control-word no-normalization no-tunnel-services node-detection normalization oam "
              "oism-core-route-history pbb-evpn-core peg-df-election-history pmsi-tunnel-endpoint "
              "pmsi-tunnel-endpoint-inet6 proxy-mac pseudowire-status-tlv riot-loopback service-type site "
              "site-range smet-etag-carry-vid source-packet-routing static-multihoming-peer "
              "static-multihoming-peer-v6 static-rvtep-mac tunnel-services vpls-id",
              "protocols evpn", EVPN),
    *verbatim_rows("amt connections dvmrp esis igmp igmp-snooping l2circuit l2vpn ldp link-management mld mld-snooping "
              "mpls msdp mvpn pcep pgm pim rift rip ripng rsvp sap source-packet-routing vpls vrrp bfd bier l2ckt "
              "overlay fabric bgpmcast express-segments l2iw lacp loop-detect mvrp ovsdb pim-snooping r2cp",
              "protocols"),
    *verbatim_rows("access-internal auto-bandwidth auto-export backup-selection bgp-orf-cisco-mode bmp confederation "
              "dynamic-tunnels fate-sharing flow forwarding-table generate graceful-restart host-fast-reroute "
              "instance-export instance-import interface interface-routes l3vpn-composite-nexthop localized-fib "
              "martians maximum-paths maximum-prefixes med-igp-update-interval mtu-discovery multicast multipath "
              "nonstop-routing nonstop-routing-options nsr-phantom-holdtime no-delegate-processing options ppm "
              "programmable-rpd protect resolution restart-duration rib rib-groups rib-sharding "
              "route-distinguisher-id route-record rpf-check-policy source-routing srlg static topologies "
              "transport-class update-threading validation warm-standby aggregate access admin-groups-extended "
              "admin-groups-extended-range bgp-static congestion-protection diversity-association domain-path-id "
              "enable-sensors flex-algorithm highwatermark-log-interval ipv6-router-id label logical-system-mux "
              "loopback-strict-disable lsp-telemetry maximum-ecmp maximum-routes no-bfd-triggered-local-repair "
              "no-soft-core policy-multipath pre-export-filter route-distinguisher-id-use-router-id rpm-tracking "
              "sla-tracking source-packet-routing te-policy-association time-averaged-watermark-interval "
              "vpn-global-import", "routing-options"),
    Block("forwarding-options dhcp-relay server-group <word>", "servers", (Entry("<address>", "addresses"),)),
    Keep("forwarding-options dhcp-relay active-server-group <word> [<below>]", "relay", lambda name, _below: name),
    Block("forwarding-options dhcp-relay group <word>", "relays", (
        Keep("active-server-group <word> [<below>]", "relay", lambda name, _below: name),
        Block("interface <unit>", "port", verbatim_rows("exclude overrides service-profile trace upto access-profile")),
        *verbatim_rows("access-profile authentication dynamic-profile forward-only forward-only-replies "
                  "lease-time-validation liveness-detection overrides relay-option relay-option-60 relay-option-82 "
                  "relay-agent-interface-id remote-id-mismatch route-suppression server-match service-profile "
                  "short-cycle-protection source-ip-change client-response-ttl interface-tag maximum-hop-count "
                  "minimum-wait-time"),
    )),
    *verbatim_rows("access-profile authentication bulk-leasequery dhcpv6 dual-stack-group dynamic-profile "
              "exclude-relay-agent-identifier forward-only forward-only-replies forward-snooped-clients "
              "lease-time-validation leasequery liveness-detection no-snoop overrides persistent-storage "
              "relay-option relay-option-60 relay-option-82 relay-source remote-id-mismatch route-suppression "
              "server-match server-response-time service-profile short-cycle-protection source-ip-change "
              "active-leasequery arp-inspection client-response-ttl duplicate-clients-in-subnet "
              "duplicate-clients-on-interface interface-traceoptions maximum-hop-count minimum-wait-time",
              "forwarding-options dhcp-relay", lead="dhcp-relay"),
    Entry("forwarding-options helpers bootp server <address> [<below>]", "helpers", lambda _address, _below: "true"),
    Block("forwarding-options helpers bootp interface <unit>", "helped", (
        Entry("server <address> [<below>]", "addresses", lambda _address, _below: "true"),
        *verbatim_rows("broadcast description client-response-ttl maximum-hop-count minimum-wait-time no-listen vpn"),
    )),
    *verbatim_rows("dhcp-security enhanced-hash-key evpn-vxlan family flood hash-key helpers load-balance local-bias "
              "multicast multicast-replication no-load-balance-label-capability rpf-loose-mode-discard satellite "
              "storm-control storm-control-profiles tunnel-termination vxlan-disable-copy-tos-decap "
              "vxlan-disable-copy-tos-encap vxlan-routing vxlan-tos-copy-filter fast-reroute-priority "
              "ip-options-protocol-queue cut-through access-security accounting analyzer bier count "
              "ecmp-do-local-lookup enhance-fp-thread explicit-null-cos forwarding-sandbox global-load-balancing "
              "hyper-mode inband-telemetry inband-telemetry-metaoptions inline-bfd-sw-based ipmc-miss-do-l2mc "
              "l2circuit-control-passthrough link-layer-broadcast-inet-check load-balance-label-capability loopback "
              "mirror-profile monitoring mpls-tunnel-extend next-hop next-hop-group no-hierarchical-ecmp "
              "no-hyper-mode ospf2-flow-check-disable packet-capture packet-capture-telemetry pfe-sensor "
              "port-mac-in-tcam port-mirroring sampling sflow suppress-interface-leaf-nodes tunnels vrf-fallback "
              "vrrp-flow-check-disable vxlan-bum-bit-disable vxlan-flexflow", "forwarding-options"),
    *verbatim_rows("interface interface-mac-limit interface-mac-ip-limit mac-ip-table-size mac-notification "
              "mac-statistics mac-table-aging-time mac-table-size no-mac-learning ovsdb-managed redundancy-group "
              "remote-vtep-list remote-vtep-v6-list static-rvtep-mac voip mac-move-limit unknown-unicast-forwarding "
              "service-id authentication-whitelist drop-unknown-mac-ip interface-shutdown-action mib "
              "network-isolation-profile no-normalization redundant-trunk-group vstp-flooding vtep-remote-interface",
              "switch-options", lead="switch-options"),
)  # fmt: skip


def _of_card(place: str, word: str, below: str | None) -> Mapping[str, Value]:
    return {f"{PLATFORM} {place} {word} {below or 'true'}": "true"}


_OF_FPC = "power|sampling-instance|offline|inline-services|error|lite-mode|traffic-manager"
_OF_PIC = (
    "number-of-ports|pic-mode|tunnel-services|inline-services|power|adaptive-services|framing|traffic-manager|fec"
    "|aggregate-ports|max-queues-per-interface|tunnel-port"
)
_OF_PORT = "channel-speed|unused|fec|no-mcast-replication|port-mode|power"

ROWS: Sequence[Row] = (
    *_COMMON,
    *switching.ROWS,
    Block("routing-instances <word>", "instance", (
        Keep("instance-type <word>", "kind"),
        Keep("description <word>", "description"),
        Entry("interface <unit> [<below>]", "ports", lambda _port, _below: "true"),
        *_TARGETS,
        *_COMMON,
        *verbatim_rows("access egress-protection forwarding-context instance-role l2vpn-id multicast-snooping-options "
                  "no-irb-layer-2-copy no-local-switching no-normalization no-vrf-advertise no-vrf-propagate-ttl "
                  "provider-tunnel qualified-bum-pruning-mode routing-interface service-type system vlan-id "
                  "vlan-model vlan-tags vrf-advertise-selective vrf-mtu-check vrf-propagate-ttl vrf-table-label "
                  "vxlan pbb-options igmp-snooping-options access-profile connector-id-advertise "
                  "export-default-action forwarding-instance import-default-action l2-domain-id-for-l3 l3-interface "
                  "layer3-domain-identifier mld-snooping-options non-forwarding-vrf remote-vtep-list "
                  "remote-vtep-v6-list service-groups vtep-remote-interface",
                  kind="instance"),
    )),
    Keep(f"chassis fpc <integer> <{_OF_FPC}> [<below>]", lambda fpc, *captured: _of_card(f"fpc {fpc}", *captured)),
    Keep(f"chassis fpc <integer> pic <integer> <{_OF_PIC}> [<below>]",
         lambda fpc, pic, *captured: _of_card(f"fpc {fpc} pic {pic}", *captured)),
    Keep(f"chassis fpc <integer> pic <integer> port <integer> <{_OF_PORT}> [<below>]",
         lambda fpc, pic, port, *captured: _of_card(f"fpc {fpc} pic {pic} port {port}", *captured)),
    *verbatim_rows("aggregated-devices container-devices device-count error fabric fpc forwarding-options "
              "fru-poweron-sequence inline-services lacp maximum-ecmp network-services nssu pic-mode "
              "pseudowire-service redundancy-group synchronization multicast-replication slow-pfe-alarm "
              "traffic-statistics", "chassis", PLATFORM),
    *verbatim_rows("packet-forwarding-options ddos-protection default-address-selection", "system", PLATFORM),
)  # fmt: skip


def finish(document: Document) -> None:
    """State the default routing instance and all others, and what ports bridge by the VLANs of all."""
    ids = _put_common(document, document.scope)
    _put_overlay(document, f"vrf[{DEFAULT_SWITCH}]/", "", document.scope)
    _put_idle_vnis(document, "", document.scope)
    put_settings(document, "platform/", document.scope, PLATFORM)
    interfaces = document.scope.each("interface")
    for name, instance in document.scope.each("instance").items():
        if name == MANAGEMENT_INSTANCE:
            routes = instance.each("static route")
            found = {
                prefix: routes.pop(prefix) for prefix in [*routes] if _is_gateway(str(prefix), routes[prefix])
            }
            document.scope.scopes[GATEWAYS] = found
        part = Part(document, f"vrf[{name}]/", instance)
        ids |= _put_common(part, instance)
        for port, (_, line) in instance.table("ports").items():
            document.put(port_paths(str(port))["vrf"], str(name), line)
            base, _, unit = str(port).partition(".")
            if base in interfaces and int(unit or 0) not in interfaces[base].each("unit"):
                document.put(f"unread[interface {port} of {name}]", "the port has no such unit", line)
        if name == MANAGEMENT_INSTANCE and not instance.values.keys() & {"kind", "distinguisher", "vtep"}:
            continue
        isolated = put_isolated(document, str(name), instance)
        if not isolated:
            document.put(f"vrf[{name}]", "present", instance.line)
            ways = [
                way for way in ("import", "export") if not (instance.table("both") or instance.table(way))
            ]
            if instance.values.get("kind", ("", 0))[0] in _WITH_TARGETS and ways:
                why = f"it states neither `vrf-target` nor `vrf-{ways[0]}` (Juniper, `vrf-target`)"
                document.put(f"unread[VRF {name}]", why, instance.values["kind"][1])
            if "kind" not in instance.values and "distinguisher" in instance.values:
                why = "the instance forwards nothing without `instance-type vrf` (Juniper, `instance-type`)"
                document.put(f"unread[VRF {name}]", why, instance.values["distinguisher"][1])
            alone = instance.each("static route") and not instance.each("bgp") and not instance.table("ports")
            if alone and "kind" not in instance.values:
                why = "routes alone, without a type or a port, are of use in `mgmt_junos` only"
                document.put(f"unread[routing-instance {name}]", why, instance.line)
            document.put_leaves(f"vrf[{name}]/", instance.values, ("kind", "description"))
        _put_overlay(document, f"vrf[{name}]/", f"vrf[{name}]/", instance)
        _put_idle_vnis(document, f"vrf[{name}]/", instance)
        put_settings(document, f"vrf[{name}]/", instance, "instance")
        document.put_kept(f"vxlan/vrf[{name}]/vni", instance.values, "routed vni")
    put_tunnels(document)
    switching.finish(document, ids)
    document.reject_unused("as-list")


def _is_gateway(prefix: str, route: Scope) -> bool:
    """Return whether a route is a default route with a next hop and no other settings."""
    return _DEFAULTS.fullmatch(prefix) is not None and bool(route.tables) and not route.values


def _put_common(document: Document, scope: Scope) -> dict[str, int]:
    """State settings that a routing instance shares with the default one; return the numbers of its VLANs."""
    ids = switching.state(document, scope)
    bgp_rows.finish(document)
    igp.finish(document)
    for vni, (target, line) in scope.table("targets of VNIs").items():
        document.put(f"evpn/vni[{vni}]/route_target", target, line)
    put_settings(document, "evpn/", scope, EVPN)
    put_settings(document, "routing/", scope)
    _put_relays(document, scope)
    return ids


def _put_overlay(document: Document, prefix: str, place: str, scope: Scope) -> None:
    """State distinguisher, targets and VTEP: of `vrf-target` both ways where none is named."""
    document.put_kept(f"{prefix}distinguisher", scope.values, "distinguisher")
    for way in ("import", "export"):
        document.put_set(f"{prefix}{way}", scope.table("both") | scope.table(way))
    document.put_kept(f"{place}vxlan/source", scope.values, "vtep")


_WITH_TARGETS = ("vrf", "mac-vrf")
"""Types of routing instances that exchange routes of VPNs by route targets."""


def _put_idle_vnis(document: Document, prefix: str, scope: Scope) -> None:
    """State VNIs of VLANs that no tunnel has: without a VTEP, or not in the list of EVPN, and VNIs of no VLAN."""
    vnis = {
        str(each.values["vni"][0]): each.values["vni"][1]
        for each in scope.each("vlan").values()
        if "vni" in each.values
    }
    path = f"{prefix}evpn/setting[extended-vni-list]"
    listed = [*filter(None, str(document.reading.facts.get(path, "")).split(","))]
    encapsulation = document.reading.facts.get(evpn := f"{prefix}evpn/setting[encapsulation]")
    if vnis and encapsulation is not None:
        at = document.reading.lines[evpn][1]
        if "vtep" not in scope.values:
            document.put("unread[EVPN]", "no `vtep-source-interface` is the source of its tunnels", at)
        if encapsulation != "vxlan":
            document.put("unread[EVPN with VNIs]", f"its encapsulation is {encapsulation}", at)
    if not listed or switching.ALL in listed or not all(map(is_number, listed)):
        return
    for vni in vnis.keys() - listed:
        document.put(
            f"unread[VNI {vni}]",
            "`extended-vni-list` leaves it out, so EVPN has none of its routes",
            vnis[vni],
        )
    for vni in set(listed) - vnis.keys() if vnis else ():
        document.put(f"unread[VNI {vni} of EVPN]", "no VLAN has it", document.reading.lines[path][1])


def _put_relays(document: Document, scope: Scope) -> None:
    """State to which servers the requests on an interface go: those of its group, else those of all."""
    servers = {name: group.table("addresses") for name, group in scope.each("servers").items()}
    usual = scope.values.get("relay")
    for name, group in scope.each("relays").items():
        active = group.values.get("relay", usual)
        found = servers.get(active[0], {}) if active else {}
        put_settings(document, f"routing/relay[{name}]/", group)
        for port, each in group.each("port").items():
            _put_relay(document, str(port), found, each.line)
            put_settings(document.whole, port_paths(str(port)).prefix, each)
    for port, each in scope.each("helped").items():
        _put_relay(document, str(port), each.table("addresses") or scope.table("helpers"), each.line)
        put_settings(document.whole, port_paths(str(port)).prefix, each)


def _put_relay(document: Document, port: str, servers: dict[Value, StoredValue], line: int) -> None:
    document.whole.put(port_paths(port)["dhcp_relay"], ",".join(sorted(map(str, servers))) or "none", line)


TOPIC = Topic(ROWS, finish)
