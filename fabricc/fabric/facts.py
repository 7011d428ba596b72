"""Facts: vendor-neutral statements about a device, as `path -> value`.

The Fabric states them, a reader derives them from a configuration, and comparing the two proves the text.
Values are integers or text in canonical form; sets are comma-joined in ascending order.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fabricc.base.values import dataclass
from fabricc.fabric.evpn import route_target
from fabricc.fabric.model import Direction, Management, Port, Switch
from fabricc.fabric.routing import OPTIONS, Spreading, Transport
from fabricc.fabric.vocabulary import PortPaths, UniformPorts, port_paths, shared_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fabricc.fabric.qos import PortProfile, SwitchQos
    from fabricc.fabric.routing import Bgp, Clause, LoadBalancing, PrefixRule, RouteMap
    from fabricc.fabric.tenants import TenantVrfs

Value = str | int
Facts = dict[str, Value]


class Unplanned(NamedTuple):
    """An unknown line whose meaning is known: it has no place in what fabricc plans, or a plan contains more.

    It counts against configurations that fabricc wrote, and not against those of others.
    """

    file: str
    line: int
    text: str


class FileContents(Protocol):
    """The content of the files of one device, for inspection; see `Reading`."""

    @property
    def facts(self) -> Mapping[str, Value]:
        """Path -> value."""

    @property
    def lines(self) -> Mapping[str, tuple[str, int]]:
        """Path -> file and line."""


@dataclass(slots=True)
class Reading:
    """The facts that a reader found in the files of one device.

    Attributes:
        facts: path -> value.
        lines: path -> (file, line) the value was read from, lines from 1.
        unknown: (file, line, text) of each line that the reader does not know.
    """

    facts: Facts = field(default_factory=dict)
    lines: dict[str, tuple[str, int]] = field(default_factory=dict)
    unknown: list[tuple[str, int, str]] = field(default_factory=list)

    def put(self, path: str, value: Value, file: str, line: int) -> None:
        """State a fact; a later statement of the same path replaces the earlier one, as devices do."""
        self.facts[path] = value
        self.lines[path] = (file, line)


def format_boolean(value: bool) -> str:
    """Return a truth value as facts spell it."""
    return "true" if value else "false"


def switch_facts(
    switch: Switch, adjust_profile: Callable[[Facts, PortProfile | None], None] | None = None
) -> Facts:
    """Return every fact of a switch but those of `setting_facts`.

    A back end compares the facts that its platform can express; see `Nos.planned`.

    Args:
        switch: the switch.
        adjust_profile: changes the values that all used ports of a profile share to those of the platform; called
            once for each profile, and for None, with the rest of the paths and their values.
    """
    facts: Facts = {"system/hostname": switch.name}
    management = switch.management
    facts["management/address"] = management.address
    facts["management/gateway"] = management.gateway
    facts["management/isolated"] = format_boolean(True)
    for kind in ("ntp", "dns", "syslog"):
        if servers := getattr(management, kind):
            facts[f"management/{kind}"] = ",".join(sorted(servers))
    for user in management.users:
        facts[f"user[{user.name}]/ssh_key"] = user.ssh_key
        if user.password:
            facts[f"user[{user.name}]/secret"] = user.password
    if switch.loopback4:
        facts["loopback/ipv4"] = f"{switch.loopback4}/32"
    if switch.loopback6:
        facts["loopback/ipv6"] = f"{switch.loopback6}/128"
    _qos_facts(facts, switch.qos)
    profiles = {profile.name: profile for profile in switch.qos.profiles}
    kinds: dict[tuple[str | None, bool], UniformPorts[Value]] = {}
    for port in switch.ports:
        paths = port_paths(port.name)
        _port_facts(facts, paths, port)
        if port.direction is Direction.UNUSED:
            continue
        like = (port.profile, port.trusted)
        if like not in kinds:
            profile = profiles[port.profile] if port.profile else None
            quality = _quality_facts(switch.qos, profile, trusted=port.trusted)
            if adjust_profile:
                adjust_profile(quality, profile)
            kinds[like] = shared_facts(tuple(quality), tuple(quality.values()))
        facts.update(kinds[like][port.name])
    _bgp_facts(facts, switch.bgp)
    return facts


def static_text(via: Iterable[str]) -> str:
    """Return a static route as its fact's value: its next hops, or `discard`; readers build the same text."""
    return ",".join(sorted(via)) or "discard"


def _quality_facts(qos: SwitchQos, profile: PortProfile | None, *, trusted: bool) -> Facts:
    """Return the rest of the path -> value that is equal on all ports of a profile."""
    facts: Facts = {"trust": "dscp" if trusted else "none"}
    lossless = ",".join(str(c.priority) for c in qos.lossless)
    if profile and lossless and (headroom := profile.headroom) is not None:
        facts["pfc"] = lossless
        facts["watchdog"] = format_boolean(qos.watchdog is not None)
        facts["headroom/xoff_bytes"] = headroom.xoff_bytes
        facts["headroom/xon_bytes"] = headroom.xon_bytes
        facts["headroom/size_bytes"] = headroom.size_bytes
        if headroom.xon_offset_bytes is not None:
            facts["headroom/xon_offset_bytes"] = headroom.xon_offset_bytes
        facts["headroom/dynamic_th"] = headroom.dynamic_th
        facts["headroom/cable_m"] = headroom.cable_m
    if profile and (marking := profile.ecn) is not None:
        for priority in (c.priority for c in qos.marked):
            facts[f"queue[{priority}]/ecn_min_bytes"] = marking.min_bytes
            facts[f"queue[{priority}]/ecn_max_bytes"] = marking.max_bytes
            facts[f"queue[{priority}]/ecn_max_percent"] = marking.max_percent
    for traffic_class in qos.classes:
        facts[f"queue[{traffic_class.priority}]/scheduler"] = (
            "strict" if traffic_class.strict else f"dwrr {traffic_class.weight_percent}"
        )
    return facts


SETTINGS = {
    "management/access": "access networks of the management services",
    "management/tacacs/": "TACACS+",
    "management/radius/": "RADIUS",
    "management/ntp_key": "NTP authentication",
    "management/syslog_tls": "syslog over TLS",
    "management/banner": "a login banner",
    "management/snmp_trap[": "SNMP traps",
    "management/snmp/": "SNMP",
    "management/gnmi_port": "gNMI telemetry",
    "load_balancing/mode": "load balancing other than by flow",
    "load_balancing/flowlet_idle_us": "a flowlet pause",
    "load_balancing/queue_pairs": "hashing of RoCE queue pairs",
    "load_balancing/global": "global load balancing",
    "load_balancing/reassignment/": "moves of flows without a pause",
    **{f"bgp/{name}": words for name, words in OPTIONS.items()},
    "static_route[": "static routes",
    "vrf[": "external links of tenants",
    "bgp/redistribute_static": "static routes taken into BGP",
    "bgp/neighbor[": "passwords of BGP sessions",
    "interface[": "marking of packets from outside",
    "tenant[": "tenants",
    "evpn/": "EVPN-VXLAN",
    "trimming/": "packet trimming",
    "link_retry": "link-layer retry",
}
"""The prefixes of the paths in `setting_facts` that a spec must request -> the setting in words."""
SNMP_LEVEL = "sha aes-128"
"""Protocols of a user of SNMPv3, authentication before privacy, as every reader writes them."""


_BANNER_BREAK = " | "
"""Separates the lines of a banner in its fact; no line of a spec contains it."""


def join_banner(text: str) -> str:
    r"""Return a banner as its fact has it: its lines without blanks at their ends, in one text.

    Args:
        text: the banner, with line breaks or with `\n` for each, as Junos and SONiC accept it.
    """
    lines = text.replace("\\n", "\n").strip().split("\n")
    return _BANNER_BREAK.join(line.strip() for line in lines)


def split_banner(value: str) -> list[str]:
    """Return the lines of a banner from its fact."""
    return value.split(_BANNER_BREAK)


def setting_facts(switch: Switch) -> Facts:
    """Return the facts of settings that not every NOS has; a back end states those it expresses among its own.

    What none of its facts states is refused before anything is written, with `SETTINGS` for the words. A fact
    that ends in `secret` is a reference to a secret: what a device runs in its place is not for comparing.
    """
    facts: Facts = {}
    _service_facts(facts, switch.management)
    _balancing_facts(facts, switch.load_balancing)
    untrusted = [port.name for port in switch.ports if not port.trusted]
    marked = {port_paths(name)["set_dscp"]: switch.qos.default.data_dscp for name in untrusted}
    return facts | option_facts(switch.bgp) | outward_facts(switch) | marked | evpn_facts(switch)


def option_facts(bgp: Bgp) -> Facts:
    """Return the facts of `setting_facts` that are settings of BGP sessions; a switch without sessions has none."""
    return {f"bgp/{name}": "true" for name in OPTIONS if bgp.sessions and getattr(bgp, name)}


def outward_facts(switch: Switch) -> Facts:
    """Return the facts of `setting_facts` that are of routes out of the fabric."""
    facts: Facts = {f"static_route[{route.prefix}]": static_text(route.via) for route in switch.static_routes}
    if switch.bgp.static_map:
        facts["bgp/redistribute_static"] = switch.bgp.static_map
    passwords = {group.name: group.password for group in switch.bgp.groups if group.password}
    for session in switch.bgp.sessions:
        if password := passwords.get(session.group):
            key = neighbor_key(session.transport, session.remote, session.port)
            facts[f"bgp/neighbor[{key}]/secret"] = password
    return facts


def evpn_facts(switch: Switch) -> Facts:
    """Return the facts of `setting_facts` that are of segments and of the routes between VTEPs."""
    facts: Facts = {}
    for session, group in switch.bgp.evpn_sessions:
        prefix = f"evpn/neighbor[{neighbor_key(session.transport, session.remote, session.port)}]/"
        assert group.evpn is not None
        facts[prefix + "import"], facts[prefix + "export"] = group.evpn
        if switch.bgp.evpn_transit:
            facts[prefix + "next_hop"] = "unchanged"
    if switch.bgp.evpn_transit:
        facts["evpn/route_targets"] = "all"
    if switch.tenants:
        facts |= _tenant_facts(switch.tenants)
    if (vtep := switch.vtep) is None:
        return facts
    facts["evpn/source"] = vtep.source
    facts["evpn/anycast_mac"] = vtep.anycast_mac
    for segment in vtep.segments:
        prefix = f"evpn/segment[{segment.vlan}]/"
        facts[prefix + "name"] = segment.name
        facts[prefix + "vni"] = segment.vni
        facts[prefix + "vrf"] = segment.vrf
        facts[prefix + "distinguisher"] = vtep.distinguisher(segment.vlan)
        facts[prefix + "route_target"] = route_target(segment.vni)
        facts[prefix + "mtu"] = vtep.mtu
        for family, gateway in (("ipv4", segment.gateway4), ("ipv6", segment.gateway6)):
            if gateway:
                facts[prefix + family] = gateway
    for vrf in vtep.vrfs:
        prefix = f"evpn/vrf[{vrf.name}]/"
        facts[prefix + "vni"] = vrf.vni
        facts[prefix + "distinguisher"] = vtep.distinguisher(vrf.vlan)
        facts[prefix + "route_target"] = route_target(vrf.vni)
    facts |= {f"evpn/port[{port.name}]": port.segment for port in switch.ports if port.segment is not None}
    return facts


def _tenant_facts(tenants: TenantVrfs) -> Facts:
    """Return the facts of the VRFs of tenants, but for their ports; with one fact for VRFs that no tunnel joins."""
    facts: Facts = {
        f"vrf[{each.name}]/static_route[{route.prefix}]": static_text(route.via)
        for each in tenants.tenants
        for route in tenants.routes_of(each)
    }
    if tenants.source is None:
        return facts | {f"tenant[{each.name}]": "isolated" for each in tenants.tenants}
    facts |= {
        "evpn/source": tenants.source,
        "evpn/outer_dscp": "copied",
        "evpn/inner_dscp": "kept",
        "evpn/ecn": "carried",
    }
    for tenant in tenants.tenants:
        prefix = f"evpn/vrf[{tenant.name}]/"
        facts[prefix + "vni"] = tenant.vni
        facts[prefix + "distinguisher"] = tenants.distinguisher(tenant)
        facts[prefix + "route_target"] = tenant.route_target
        facts[prefix + "prefixes"] = ",".join(tenants.families)
        if static_map := tenants.static_map(tenant):
            facts[f"vrf[{tenant.name}]/bgp/redistribute_static"] = static_map
    return facts


def _service_facts(facts: Facts, management: Management) -> None:
    facts["lldp/interval_s"] = management.lldp_interval_s
    if management.access:
        facts["management/access"] = ",".join(sorted(management.access))
    for protocol, requested in (("tacacs", management.tacacs), ("radius", management.radius)):
        if requested:
            facts[f"management/{protocol}/servers"] = ",".join(requested.servers)
            facts[f"management/{protocol}/secret"] = requested.key
    if management.banner:
        facts["management/banner"] = join_banner(management.banner)
    if (key := management.ntp_key) and management.ntp:
        facts[f"management/ntp_key[{key.number}]/type"] = key.kind
        facts[f"management/ntp_key[{key.number}]/secret"] = key.key
        facts["management/ntp_key/use"] = f"{key.number} for all servers"
    if tls := management.syslog_tls:
        for server in management.syslog:
            facts[f"management/syslog_tls[{server}]/port"] = tls.port
            facts["management/syslog_ca"] = tls.ca
    if management.snmp:
        if management.snmp.community:
            facts["management/snmp/secret"] = management.snmp.community
        for user in management.snmp.users:
            prefix = f"management/snmp/user[{user.name}]/"
            facts[prefix + "level"] = SNMP_LEVEL
            facts[prefix + "auth/secret"] = user.auth
            facts[prefix + "privacy/secret"] = user.privacy
        if traps := management.snmp.traps:
            facts |= {f"management/snmp_trap[{server}]/user": traps.user for server in traps.servers}
        for kind in ("location", "contact"):
            if text := getattr(management.snmp, kind):
                facts[f"management/snmp/{kind}"] = text
    if management.gnmi_port is not None:
        facts["management/gnmi_port"] = management.gnmi_port


def _balancing_facts(facts: Facts, balancing: LoadBalancing) -> None:
    if balancing.global_paths:
        facts["load_balancing/global"] = "true"
    if balancing.mode is not Spreading.HASH:
        facts["load_balancing/mode"] = balancing.mode.value
    if balancing.flowlet_idle_us is not None:
        facts["load_balancing/flowlet_idle_us"] = balancing.flowlet_idle_us
    if balancing.reassignment is not None:
        facts["load_balancing/reassignment/probability"] = balancing.reassignment.probability
        facts["load_balancing/reassignment/quality_delta"] = balancing.reassignment.quality_delta
    if balancing.queue_pairs:
        facts["load_balancing/queue_pairs"] = "true"


def congestion_facts(qos: SwitchQos) -> Facts:
    """Return the facts of what Ultra Ethernet adds, treated as those of `setting_facts`; few NOSes express them."""
    facts: Facts = {}
    if qos.trimming:
        facts["trimming/size_bytes"] = qos.trimming.size_bytes
        facts["trimming/dscp"] = qos.trimming.dscp
        facts["trimming/queue"] = qos.trimming.queue
        facts["trimming/queues"] = ",".join(map(str, qos.trimming.queues))
    if qos.link_retry:
        facts["link_retry"] = "true"
    return facts


def _port_facts(facts: Facts, paths: PortPaths, port: Port) -> None:
    facts[paths["enabled"]] = format_boolean(port.enabled)
    facts[paths["description"]] = port.description
    facts[paths["speed_gbps"]] = port.speed_gbps
    if port.direction is Direction.UNUSED:
        return
    facts[paths["mtu"]] = port.mtu
    if port.ipv4:
        facts[paths["ipv4"]] = port.ipv4
    if port.ipv6:
        facts[paths["ipv6"]] = port.ipv6
    if port.unnumbered:
        facts[paths["unnumbered"]] = "true"
    if port.vrf:
        facts[paths["vrf"]] = port.vrf


def _qos_facts(facts: Facts, qos: SwitchQos) -> None:
    for traffic_class in qos.classes:
        priority = traffic_class.priority
        for dscp in traffic_class.dscps:
            facts[f"qos/dscp[{dscp}]/traffic_class"] = priority
        facts[f"qos/traffic_class[{priority}]/queue"] = priority
        if traffic_class.lossless:
            facts[f"qos/traffic_class[{priority}]/priority_group"] = priority
            facts[f"qos/pfc_priority[{priority}]/queue"] = priority
    if qos.watchdog:
        facts["watchdog/detect_ms"] = qos.watchdog.detect_ms
        facts["watchdog/restore_ms"] = qos.watchdog.restore_ms
        facts["watchdog/poll_ms"] = qos.watchdog.poll_ms
        facts["watchdog/action"] = qos.watchdog.action
    if qos.pools:
        facts["pool/ingress_lossless_bytes"] = qos.pools.ingress_lossless_bytes
        facts["pool/headroom_bytes"] = qos.pools.headroom_bytes
        facts["pool/egress_lossless_bytes"] = qos.pools.egress_lossless_bytes
        if qos.pools.egress_lossy_bytes is not None:
            facts["pool/egress_lossy_bytes"] = qos.pools.egress_lossy_bytes


def _bgp_facts(facts: Facts, bgp: Bgp) -> None:
    facts["bgp/asn"] = bgp.asn
    facts["bgp/router_id"] = bgp.router_id
    facts["bgp/keepalive_s"] = bgp.keepalive_s
    facts["bgp/hold_s"] = bgp.hold_s
    facts["bgp/maximum_paths"] = bgp.maximum_paths
    facts["bgp/multipath_relax"] = format_boolean(bgp.multipath_relax)
    facts["bgp/redistribute_connected"] = bgp.redistribute_map
    if bgp.bfd_interval_ms is not None:
        facts["bfd/interval_ms"] = bgp.bfd_interval_ms
        facts["bfd/multiplier"] = bgp.bfd_multiplier
    for aggregate in bgp.aggregates:
        facts[f"bgp/aggregate[{aggregate}]"] = "summary-only"
    groups = {group.name: group for group in bgp.groups}
    bfd = format_boolean(bgp.bfd_interval_ms is not None)
    carried = {transport: transport.value for transport in Transport}
    carried[Transport.UNNUMBERED] = ",".join(bgp.families)
    for session in bgp.sessions:
        prefix = f"bgp/neighbor[{neighbor_key(session.transport, session.remote, session.port)}]/"
        group = groups[session.group]
        facts[prefix + "remote_asn"] = session.remote_asn
        facts[prefix + "description"] = session.description
        facts[prefix + "bfd"] = bfd
        facts[prefix + "import"] = group.import_map
        facts[prefix + "export"] = group.export_map
        facts[prefix + "maximum_prefixes"] = group.maximum_prefixes
        facts[prefix + "families"] = carried[session.transport]
    for prefix_list in bgp.prefix_lists:
        for index, rule in enumerate(prefix_list.rules):
            facts[f"prefix_list[{prefix_list.name}]/{index}"] = format_prefix_rule(rule)
    for community_list in bgp.community_lists:
        facts[f"community_list[{community_list.name}]"] = community_list.community
    for route_map in bgp.route_maps:
        _route_map_facts(facts, route_map)


def _route_map_facts(facts: Facts, route_map: RouteMap) -> None:
    for clause in route_map.clauses:
        facts[f"route_map[{route_map.name}]/{clause.sequence}"] = clause_text(clause)


def format_prefix_rule(rule: PrefixRule) -> str:
    """Return an entry of a prefix list as facts have it: `10.0.0.0/8 ge 28 le 28`."""
    text = rule.prefix
    text += f" ge {rule.ge}" if rule.ge is not None else ""
    return text + (f" le {rule.le}" if rule.le is not None else "")


def clause_text(clause: Clause) -> str:
    """Return a route-map clause as its fact's value; readers build the same text."""
    parts = ["permit" if clause.permit else "deny"]
    if clause.prefix_list:
        parts.append(f"prefix_list {clause.prefix_list}")
    if clause.community_list:
        parts.append(f"community_list {clause.community_list}")
    if clause.local_preference is not None:
        parts.append(f"local_preference {clause.local_preference}")
    if clause.add_community:
        parts.append(f"add_community {clause.add_community}")
    return " ".join(parts)


def neighbor_key(transport: Transport, remote: str | None, port: str) -> str:
    """Return how facts name a BGP neighbor: its address, or the port of an unnumbered link."""
    return port if transport is Transport.UNNUMBERED or remote is None else remote
