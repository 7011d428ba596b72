"""Interfaces of Junos: ports of the fabric, split cages, the loopback."""

from __future__ import annotations

import re
from ipaddress import ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.junos import cages, words
from fabricc.back.nos.junos.words import put_settings, verbatim_rows
from fabricc.back.reading import Block, Entry, Fact, Keep, Silent, Topic
from fabricc.fabric.model import Direction, Port, Switch
from fabricc.fabric.vocabulary import PortPaths, port_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabricc.back.nos.base import Departure
    from fabricc.back.reading import Captured, Document, Row, Scope, StoredValue, Types
    from fabricc.fabric.facts import Facts

DEFAULT_MTU = 1514
LOOPBACK = "lo0"
_PORTS = ("et-", "xe-", "ge-")
ISIS = "default"
"""The one process of IS-IS in a routing instance."""

DEPARTURES: tuple[Departure, ...] = ()


# --- what Junos makes of the Fabric's statements ------------------------------------------------------


class FamilyView(NamedTuple):
    """`family inet` or `inet6` of a unit; `filter` is that of what reaches the switch itself."""

    name: str
    mtu: int | None = None
    address: str | None = None
    filter: str | None = None


class InterfaceView(NamedTuple):
    """One et- interface, or a split cage, which has nothing but its split."""

    name: str
    description: str | None
    disable: bool
    sub_ports: int | None
    speed: str | None
    mtu: int | None
    fec: str | None
    families: list[FamilyView]


def interface_views(switch: Switch) -> list[InterfaceView]:
    """Return the ports; on Evolved each split cage before its first child, and the speed of each port."""
    evolved = words.junos_flavor(switch) == words.EVOLVED
    splits = cages.split_cages(switch) if evolved else {}
    found = []
    for port in switch.ports:
        if split := splits.pop(words.cage_name(port.name), None):
            found.append(_split_view(split))
        view = _interface_view(port)
        found.append(view if evolved else view._replace(speed=None))
    shut = [
        InterfaceView(name, None, True, None, None, None, None, [])
        for name in cages.other_names(switch).values()
    ]
    return found + shut


def loopback_views(switch: Switch, filters: Mapping[str, str]) -> list[FamilyView]:
    """Return the families of `lo0`, by the filters that it has."""
    addresses = {
        "inet": f"{switch.loopback4}/32" if switch.loopback4 else None,
        "inet6": f"{switch.loopback6}/128" if switch.loopback6 else None,
    }
    return [
        FamilyView(family, address=address, filter=filters.get(family))
        for family, address in addresses.items()
        if address or family in filters
    ]


def physical_mtu(port: Port) -> int:
    """Return the MTU of the physical interface in bytes, which counts the Ethernet header."""
    return port.mtu + words.LAYER_2_HEADER_BYTES


def _split_view(port: Port) -> InterfaceView:
    parent, speed = words.cage_name(port.name), f"{port.speed_gbps}g"
    return InterfaceView(parent, None, False, port.children, speed, None, None, [])


def _interface_view(port: Port) -> InterfaceView:
    whole = f"{port.speed_gbps}g" if port.children == 1 else None
    described, shut = words.quote_text(port.description), not port.enabled
    if port.direction is Direction.UNUSED:
        return InterfaceView(port.name, described, shut, None, whole, None, None, [])
    families = []
    if port.ipv4 or port.unnumbered:
        families.append(FamilyView("inet", port.mtu, port.ipv4))
    if port.ipv6 or port.unnumbered:
        families.append(FamilyView("inet6", port.mtu, port.ipv6))
    fec = "fec91" if _port_fec(port) else None
    return InterfaceView(port.name, described, shut, None, whole, physical_mtu(port), fec, families)


def _port_fec(port: Port) -> str | None:
    """`rs` for 25 Gb/s lanes, where IEEE 802.3 clause 91 is a choice; faster lanes have RS-544 anyway."""
    choice = port.lanes > 1 and port.speed_gbps == 25 * port.lanes
    return "rs" if choice and port.direction is not Direction.UNUSED else None


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add further facts of Junos about ports: splits, the physical MTU, FEC."""
    cages.state(facts, switch)
    for port in switch.ports:
        if port.direction is not Direction.UNUSED:
            facts[port_paths(port.name)["physical_mtu"]] = physical_mtu(port)
            if encoding := _port_fec(port):
                facts[port_paths(port.name)["fec"]] = encoding


# --- and back -----------------------------------------------------------------------------------------

_FEC = {"fec91": "rs", "fec74": "fc"}
_MANAGEMENT = re.compile(r"em\d|fxp\d|vme|me\d|re\d:mgmt-\d")
_ESI = re.compile(r"(?:[0-9A-Fa-f]{1,2}:){9}[0-9A-Fa-f]{1,2}")
TAG_BYTES = {"setting vlan-tagging": 4, "setting flexible-vlan-tagging": 8, "setting stacked-vlan-tagging": 8}
"""Bytes in an interface's MTU besides the Ethernet header for tagged frames (Juniper, "Protocol MTU")."""
_ETHER = "(ether-options|gigether-options|fastether-options)"
_LACP = "aggregated-ether-options lacp"

TYPES: Types = {
    "speed": lambda word: words.SPEED_OF.get(word.lower(), word),
    "fec": lambda word: _FEC.get(word, word),
    "esi": lambda word: word if _ESI.fullmatch(word) else None,
    "unit": lambda word: word.removesuffix(".0"),
}

_FAMILY: Sequence[Row] = (
    Keep("mtu <integer>", "mtu"),
    Keep("dhcp [<below>]", "dhcp", "true"),
    Keep("unnumbered-address <unit> [<below>]", "address_from", lambda unit, _below: unit),
    Entry("filter (input|input-list) <word>", "in"),
    Entry("filter (output|output-list) <word>", "out"),
    Block("address <word>", "address", (
        Keep("primary", "primary"),
        Entry("virtual-gateway-address <address>", "gateways"),
        Block("(vrrp-group|vrrp-inet6-group) <integer>", "shared", (
            Entry("(virtual-address|virtual-inet6-address) <address>", "gateways"),
            *verbatim_rows("accept-data advertise-interval advertisements-threshold authentication-key "
                           "authentication-type "
                      "checksum-without-pseudoheader fast-interval inet6-advertise-interval no-accept-data no-preempt "
                      "preempt preferred priority track virtual-link-local-address vrrp-inherit-from", lead="vrrp"),
        )),
        *verbatim_rows("arp broadcast eui-64 master-only multipoint-destination ndp preferred"),
    )),
    *verbatim_rows("accounting dad-disable dhcp-client no-neighbor-learn no-redirects policer primary rpf-check "
                   "sampling "
              "targeted-broadcast tcp-mss filter ndp nd6-stale-time arp-prefix-limit demux-source load-balance"),
)  # fmt: skip
_UNIT: Sequence[Row] = (
    Keep("description <word>", "description"),
    Keep("disable", "enabled", "false"),
    Keep("vlan-id <1-4094>", "vlan_tag"),
    *(Block(f"family {family}", family, _FAMILY) for family in words.FAMILIES),
    Block("family (ethernet-switching|bridge)", "bridge", (
        Keep("(interface-mode|port-mode) <access|trunk|tagged-access>", "mode"),
        Entry("(vlan members|vlan-id|vlan-id-list) <word>", "vlans"),
        Entry("filter input <word>", "in"),
        Entry("filter output <word>", "out"),
        *verbatim_rows("storm-control recovery-timeout interface-mac-limit inner-vlan-id-list native-vlan-id "
                  "vlan-auto-sense mac-move-limit vlan-rewrite isid-list policer"),
    )),
    Entry("family iso address <word>", "nets", lambda _net: "true"),
    *verbatim_rows("ccc mpls tcc vpls iso inet-vpn any evpn fibre-channel", "family", lead="family"),
    *verbatim_rows("accept-source-mac bandwidth clear-dont-fragment-bit encapsulation esi gratuitous-arp-reply "
              "input-vlan-map mac mtu no-dhcp-flood no-gratuitous-arp-request no-traps output-vlan-map "
              "peer-interface peer-unit point-to-point proxy-arp proxy-macip-advertisement service-domain "
              "statistics swap-by-poppush traps tunnel virtual-gateway-accept-data virtual-gateway-esi "
              "virtual-gateway-v4-mac virtual-gateway-v6-mac vlan-id vlan-id-list vlan-id-range vlan-tags "
              "interface-shared-with rpm"),
)  # fmt: skip
_INTERFACE: Sequence[Row] = (
    Keep("description <word>", "description"),
    Keep("(disable|unused)", "enabled", "false"),
    Fact("number-of-sub-ports <integer>", "platform/sub_ports[{0}]"),
    Keep("speed <speed>", "speed_gbps"),
    Keep("mtu <integer>", "physical_mtu"),
    Keep("native-vlan-id <0-4094>", "native_vlan"),
    Keep(f"{_ETHER} fec <fec>", "fec"),
    Keep(f"{_ETHER} 802.3ad <word>", "bundle"),
    Keep(f"{_ETHER} auto-negotiation [<below>]", "autoneg", "true"),
    Keep(f"{_ETHER} no-auto-negotiation", "autoneg", "false"),
    Keep(f"{_ETHER} flow-control", "flow_control", "both"),
    Keep(f"{_ETHER} no-flow-control", "flow_control", "none"),
    Silent(_ETHER),
    *verbatim_rows("802.3ad configured-flow-control ethernet-switch-profile ignore-l3-incompletes link-mode loopback "
              "loopback-remote no-auto-mdix redundant-parent source-address-filter source-filtering speed "
              "asynchronous-notification mac-rewrite autostate-exclude ieee-802-3az-eee ingress-rate-limit mpls mru "
              "no-loopback no-source-filtering pad-to-minimum-frame-size", _ETHER),
    Keep(f"{_LACP} <active|passive>", "lacp"),
    *verbatim_rows("accept-data admin-key aggregate-wait-time fast-failover force-up hold-time link-protection "
                   "periodic "
              "sync-reset system-id system-priority multiplier no-peer-loopback-validation", _LACP, lead="lacp"),
    Keep("aggregated-ether-options mc-ae mc-ae-id <integer>", "mlag"),
    *verbatim_rows("mc-ae", "aggregated-ether-options"),
    *verbatim_rows("bfd-liveness-detection flow-control link-protection link-speed load-balance local-bias loopback "
              "logical-interface-fpc-redundancy mac minimum-bandwidth minimum-links no-flow-control "
              "rebalance-periodic resilient-hash source-filtering system-id ethernet-switch-profile "
              "autostate-exclude configured-flow-control dlb fcoe-lag link-protection-sub-group "
              "local-minimum-links-threshold logical-interface-chassis-redundancy no-fcoe-lag no-loopback "
              "no-source-filtering pad-to-minimum-frame-size share-standby source-address-filter targeted-options",
              "aggregated-ether-options"),
    Keep("esi <esi>", "ethernet_segment"),
    *verbatim_rows("esi flexible-vlan-tagging vlan-tagging stacked-vlan-tagging encapsulation hold-time link-mode mac "
              "gratuitous-arp-reply no-gratuitous-arp-request no-gratuitous-arp-reply per-unit-scheduler "
              "hierarchical-scheduler damping optics-options otn-options media-type multi-chassis-protection "
              "redundant-ether-options fabric-options forwarding-options arp-l2-validate passive-monitor-mode "
              "native-vlan-id layer2-policer transmit-delay radio-router framing fpc-slot cascade-port "
              "port-priority anchor-point lmi dce interface-mib interface-transmit-statistics keepalives "
              "multicast-statistics no-interface-mib no-keepalives no-native-vlan-insert no-per-unit-scheduler "
              "promiscuous-mode redundancy-group redundancy-options rpf-stats schedulers shared-scheduler "
              "unidirectional vlan-vci-tagging"),
    Block("unit <integer>", "unit", _UNIT),
)  # fmt: skip

ROWS: Sequence[Row] = (
    *cages.ROWS,
    Block("interfaces <word>", "interface", _INTERFACE),
)  # fmt: skip
_IDLE = frozenset({"physical_mtu", "fec", "speed_gbps"})
"""Statements about an unused port, such as a split cage."""
_STATED = (
    "description", "fec", "physical_mtu", "bundle", "native_vlan", "autoneg", "flow_control", "ethernet_segment",
)  # fmt: skip


def finish(document: Document) -> None:
    """State the facts of all interfaces and their units; unit 0 is the interface itself."""
    cages.put_splits(document)
    for repeated, line in words.repeated_blocks(
        (document.tree.text or document.tree.nodes) if document.tree else ()
    ):
        document.put(f"unread[second block {repeated}]", "it continues the one above that has its name", line)
    interfaces, announced = document.scope.each("interface"), document.scope.each("announced")
    speeds = cages.SpeedStatements.from_scope(document.scope, interfaces)
    for name, block in interfaces.items():
        port, values, units = str(name), block.values, block.each("unit")
        paths = port_paths(port)
        for leaf in _STATED:
            if leaf in values:
                document.put(paths[leaf], *values[leaf])
        put_settings(document, paths.prefix, block)
        apart = port.startswith(LOOPBACK[:2]) or _MANAGEMENT.fullmatch(port) is not None
        if not apart and (units or values.keys() - _IDLE):
            document.put(paths["enabled"], *values.get("enabled", ("true", block.line)))
            if speed := speeds.find(port, block):
                document.put(paths["speed_gbps"], *speed)
        elif "enabled" in values:
            document.put(paths["enabled"], *values["enabled"])
        _put_bundle(document, paths, block, interfaces)
        tags = max([size for leaf, size in TAG_BYTES.items() if leaf in values], default=0)
        words.put_refused(document, f"{port} mtu", values.get("physical_mtu", ("", 0)), *words.MTU_RANGE)
        whole, line = values.get("physical_mtu", (DEFAULT_MTU + tags, block.line))
        left = None if apart else (int(whole) - words.LAYER_2_HEADER_BYTES - tags, line)
        first = _loopback_unit(document, units) if port == LOOPBACK else None
        for number, unit in units.items():
            if number == first:
                _put_loopback(document, unit)
            if port == LOOPBACK and number == 0:
                _put_further_of_loopback(document, unit)
            elif (
                number == 0
                and _MANAGEMENT.fullmatch(port)
                and "management/address" not in document.reading.facts
            ):
                _put_management(document, port, unit)
            else:
                _put_unit(document, port if number == 0 else f"{port}.{number}", unit, left, announced)
    for port, stored in speeds.unnamed():
        document.put(port_paths(port)["speed_gbps"], *stored)


def _put_bundle(
    document: Document, paths: PortPaths, block: Scope, interfaces: Mapping[Captured, Scope]
) -> None:
    """State how a member's bundle is agreed on, and under which number two switches share a bundle."""
    if "bundle" in block.values:
        bundle, line = block.values["bundle"]
        agreed_on = interfaces[bundle].values.get("lacp") if bundle in interfaces else None
        document.put(paths["bundle_mode"], *(agreed_on or ("on", line)))
    if "mlag" in block.values:
        number, line = block.values["mlag"]
        document.put(paths["mlag"], str(number), line)


def _loopback_unit(document: Document, units: Iterable[Captured]) -> Captured | None:
    """Return the unit of the loopback with the switch's own addresses: the first that no routing instance has."""
    instances = document.scope.each("instance").values()
    taken = {str(port) for instance in instances for port in instance.table("ports")}
    return next((each for each in sorted(units, key=str) if f"{LOOPBACK}.{each}" not in taken), None)


def _put_loopback(document: Document, unit: Scope) -> None:
    """State the loopback's addresses, one of each family, and the filters of what arrives for the switch."""
    for family, version in words.FAMILIES.items():
        for stored in unit.each(family).values():
            document.put_all((f"loopback/{version}", *first) for first in _order_addresses(stored)[:1])
            _put_filters(document, LOOPBACK, family, stored)


def _put_further_of_loopback(document: Document, unit: Scope) -> None:
    """State what else the loopback has: addresses other than the first of each family."""
    for family in words.FAMILIES:
        for stored in unit.each(family).values():
            _put_strange(document, family, stored)
            _put_others(document, LOOPBACK, stored, _order_addresses(stored)[1:])
    _put_rest(document, LOOPBACK, unit)


def _put_management(document: Document, port: str, unit: Scope) -> None:
    """State the address of the out-of-band port, the first one that is stated."""
    for family in words.FAMILIES:
        for stored in unit.each(family).values():
            _put_strange(document, family, stored)
            addresses = _order_addresses(stored)
            for address, line in addresses[:1]:
                document.put_also("management/address", address, line)
                document.put("platform/management_interface", port, line)
            _put_others(document, port, stored, addresses[1:])
            _put_filters(document, port, family, stored)
    _put_rest(document, port, unit)


def _put_unit(
    document: Document,
    name: str,
    unit: Scope,
    family_mtu: StoredValue | None,
    announced: Mapping[Captured, Scope],
) -> None:
    """State MTU and addresses of a unit, `family_mtu` being the MTU that the port leaves to a family."""
    paths = port_paths(name)
    families = {family: scopes[""] for family in words.FAMILIES if (scopes := unit.each(family))}
    mtus = dict([mtu for stored in families.values() if (mtu := stored.values.get("mtu") or family_mtu)])
    if len(mtus) == 1:
        document.put(paths["mtu"], *next(iter(mtus.items())))
    elif mtus:
        odd = max(line for mtu, line in mtus.items() if family_mtu is None or mtu != family_mtu[0])
        document.put(paths["mtu"], ",".join(map(str, sorted(mtus))), odd)
    for family, stored in families.items():
        _put_strange(document, family, stored)
        addresses = _order_addresses(stored)
        words.put_refused(
            document, f"{name} {family} mtu", stored.values.get("mtu", ("", 0)), *words.MTU_RANGE
        )
        if (
            (mtu := stored.values.get("mtu"))
            and family_mtu
            and int(mtu[0]) > int(family_mtu[0])
            and name.startswith(_PORTS)
        ):
            why = f"the port leaves {family_mtu[0]:,} bytes to it (Juniper, `mtu`: a commit fails)"
            document.put(f"unread[MTU {mtu[0]} of {name} {family}]", why, mtu[1])
        if addresses:
            document.put(paths[words.FAMILIES[family]], *addresses[0])
        elif family == "inet6" and name in announced:
            document.put(
                paths["unnumbered"], "true" if "inet" in families else "inet6 only", announced[name].line
            )
        _put_others(document, name, stored, addresses[1:])
        _put_filters(document, name, family, stored)
        for leaf in ("dhcp", "address_from"):
            document.put_kept(paths[leaf], stored.values, leaf)
    _put_rest(document, name, unit)


def _put_rest(document: Document, name: str, unit: Scope) -> None:
    """State the settings of a unit other than its addresses."""
    paths = port_paths(name)
    if "." in name:
        document.put(paths["enabled"], *unit.values.get("enabled", ("true", unit.line)))
        document.put_kept(paths["description"], unit.values, "description")
    else:
        document.put_kept(paths["enabled"], unit.values, "enabled")
        if "description" in unit.values:
            has_description = paths["description"] in document.reading.facts
            document.put(
                paths["setting[unit description]" if has_description else "description"],
                *unit.values["description"],
            )
    document.put_kept(paths["vlan_tag"], unit.values, "vlan_tag")
    put_settings(document, paths.prefix, unit)
    document.put_set(f"isis[{ISIS}]/net", unit.table("nets"))


def _order_addresses(scope: Scope) -> list[StoredValue]:
    """Return the addresses of a family, the primary one first: the stated one, else the lowest (Juniper, `primary`)."""
    addresses = scope.each("address")
    order = [*addresses]
    if len(order) > 1:
        order.sort(key=lambda each: ("primary" not in addresses[each].values, _address_order(str(each))))
    return [(str(each), addresses[each].line) for each in order]


def _put_strange(document: Document, family: str, stored: Scope) -> None:
    """State addresses of the other family, which a commit refuses."""
    strange = [str(each) for each in stored.each("address") if (":" in str(each)) != (family == "inet6")]
    if strange:
        document.put(f"unread[address {strange[0]}]", f"it is none of the family {family}", stored.line)


def _address_order(address: str) -> tuple[bool, int]:
    """Sorts addresses, those of the host itself at the end."""
    try:
        found = ip_interface(address)
    except ValueError:
        return True, 0
    return found.ip.is_loopback, int(found.ip)


def _put_others(document: Document, name: str, scope: Scope, others: Sequence[StoredValue]) -> None:
    """State further addresses, and those that other switches have as well."""
    prefix = port_paths(name).prefix
    for address, line in others:
        document.put(f"{prefix}secondary[{address}]", address, line)
    for each in scope.each("address").values():
        if not (each.values or each.tables or each.scopes):
            continue
        for shared in (each, *each.each("shared").values()):
            for gateway, (_, line) in shared.table("gateways").items():
                document.put(f"{prefix}gateway[{gateway}]", gateway, line)
            put_settings(document, prefix, shared)
    put_settings(document, prefix, scope)


def _put_filters(document: Document, name: str, family: str, scope: Scope) -> None:
    """State the filters of a family: in front of the switch itself, or of what passes."""
    itself = name == LOOPBACK or name in words.MANAGEMENT_INTERFACES.values()
    for way in ("in", "out"):
        for listed, (_, line) in scope.table(way).items():
            if itself and way == "in":
                document.put(f"platform/filter_input[{name} {family}]", listed, line)
            else:
                document.put_also(port_paths(name)[f"access_list_{way}"], listed, line)


TOPIC = Topic(ROWS, finish)
