"""Limits of EOS and its releases, hashing and load balancing included, with the source of every entry."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from fabricc.back.nos import limits
from fabricc.back.nos.base import LEFT_OUT, Departure
from fabricc.back.nos.eos import words
from fabricc.back.nos.eos.qos import delay_thresholds, delay_us, delay_words, watchdog_timers
from fabricc.back.nos.limits import Limit, Range, Reservation, System
from fabricc.back.reading import Block, Document, Each, Entry, Fact, Keep, Row, Topic
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction, Switch
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.facts import Facts
    from fabricc.fabric.qos import PortProfile, Watchdog

RELEASES = ("4.30", "4.31", "4.32", "4.33", "4.34", "4.35", "4.36")
DEFAULT_RELEASE = "4.32"

_ALL = {words.TRIDENT: RELEASES[0], words.SAND: RELEASES[0]}
_TRIDENT = {words.TRIDENT: RELEASES[0], words.SAND: None}
_AVD = "Arista AVD 6.4, which names no first release: assumed for all of these"
_MANUAL = "EOS user manual 4.35.2F, IPv4"
_TRY = "type the line on one switch before you load the configuration, which it may fail"


def _class_figures(switch: Switch) -> Iterator[dict[str, Any]]:
    for c in limits.class_figures(switch):
        yield {**c, "control": c["priority"] == words.MAXIMUM_PRIORITY}


CLUSTER_GROUP = "HOSTS"
CLUSTER_AGING_S = 30
"""The least that AVD 6.4 permits: how long a flow without packets keeps its uplink."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """Cluster load balancing of a ToR.

    Attributes:
        prefix_length: of the aggregates of ToRs, by which destinations are grouped.
        ports: to hosts, as one list.
        aging_s: after how long a flow without packets ends.
    """

    prefix_length: int
    ports: str
    aging_s: int = CLUSTER_AGING_S


def cluster_view(switch: Switch) -> ClusterView | None:
    """Return the view of cluster load balancing; None where it is not requested or not possible."""
    if switch.load_balancing.mode is not Spreading.CLUSTER or _beside_clusters(switch):
        return None
    names = [port.name for port in switch.ports if port.direction is Direction.HOST]
    lengths = [ip_network(each).prefixlen for each in switch.bgp.aggregates if ":" not in each]
    first, *others = (name.removeprefix("Ethernet") for name in names)
    return ClusterView(max(lengths), ",".join([f"Ethernet{first}", *others]))


def _beside_clusters(switch: Switch) -> list[str]:
    """Return why a ToR cannot group its destinations."""
    if switch.load_balancing.mode is not Spreading.CLUSTER:
        return []
    if switch.vtep or switch.tenants:
        return ["with segments or tenants"]
    return [] if any(":" not in each for each in switch.bgp.aggregates) else ["without an IPv4 aggregate"]


def _has_buffers(switch: Switch) -> bool:
    return bool(switch.qos.lossless) and words.is_trident(switch)


def _marking_delays(switch: Switch) -> list[tuple[PortProfile, int]]:
    """Return where EOS marks by delay: the profiles that mark, and their one threshold in microseconds."""
    return [(p, us) for p in switch.qos.profiles if (us := delay_us(switch, p)) is not None]


def _ramp_names(switch: Switch) -> list[str]:
    text = ", ".join(f"{profile.name} {delay_words(us)}" for profile, us in _marking_delays(switch))
    return [text] if text else []


def _late_marks(switch: Switch) -> Iterator[tuple[PortProfile, str, int]]:
    """Yield profiles that mark later than requested, with their delay in words and in bytes."""
    for profile, us in _marking_delays(switch):
        late_bytes = delay_thresholds(us, profile.speed_gbps).min_bytes
        if profile.ecn and late_bytes > profile.ecn.max_bytes:
            yield profile, delay_words(us), late_bytes


def _watchdog_timers(switch: Switch) -> Iterator[dict[str, int]]:
    """Yield timers of the watchdog as requested and as EOS stores them."""
    for requested in limits.list_watchdogs(switch):
        timeout_ms, recovery_ms, polling_ms = _held_timers(requested)
        wanted = {"detect_ms": requested.detect_ms, "restore_ms": requested.restore_ms}
        yield {**wanted, "timeout_ms": timeout_ms, "recovery_ms": recovery_ms, "polling_ms": polling_ms}


def _held_timers(watchdog: Watchdog) -> tuple[int, int, int]:
    held = watchdog_timers(watchdog)
    return held.timeout_ms, held.recovery_ms, held.polling_ms


HASH_SEED = Limit(feature="a hash seed per tier", words="ip load-sharing trident SEED", since=_TRIDENT,
    source=f"{_MANUAL}: seeds 0 to 5 for `trident`, assumed for all of these releases; of the sand family it names "
    "`arad`, an older chip than the catalog's",
)  # fmt: skip
FLOWLETS = Limit("FAB5117", setting="load_balancing/mode",
    requested=lambda switch: switch.load_balancing.mode is Spreading.FLOWLET, remedy="use `mode: hash`",
    since={words.TRIDENT: "4.30", words.SAND: None}, words="ip hardware fib load-balance distribution dynamic",
    source="Arista's list of new features of EOS 4.30.0F; documented for fixed switches of the trident family "
    "(AVD 6.4)",
)  # fmt: skip
PACKETS = Limit("FAB5117", setting="load_balancing/mode",
    requested=lambda switch: switch.load_balancing.mode is Spreading.PACKET, remedy="use `mode: hash`",
    since={words.TRIDENT: "4.30", words.SAND: None},
    words="ip hardware fib load-balance distribution dynamic member-selection optimal always",
    source=f"{_MANUAL}; that it came with dynamic load balancing is assumed",
)  # fmt: skip
CLUSTER = Limit("FAB5117", setting="load_balancing/mode",
    requested=lambda switch: switch.load_balancing.mode is Spreading.CLUSTER,
    remedy="use release 4.34 or later, or `mode: flowlet` or `hash`",
    since={words.TRIDENT: "4.34", words.SAND: "4.34"}, words="load-balance cluster",
    source="Arista's list of new features of EOS 4.34.0F; commands of AVD 6.4, `load_balance.cluster`",
)  # fmt: skip
PAUSE = Limit("FAB5118", setting="load_balancing/flowlet_idle_us", remedy="leave `flowlet_idle_us` out",
    since=_TRIDENT,
    words="ip hardware fib load-balance distribution dynamic inactivity-threshold … microseconds",
    source="RoCE templates for 7060X6 (michaely-cb/cluster-cp, commit 5cd969f); release and range are in no public "
    "document",
)  # fmt: skip
LIMITS = (
    limits.unnumbered_evpn_limit("EOS"),
    Limit("FAB5832", feature="VXLAN routing on {it.title}",
        requested=lambda switch: [switch.model] if switch.vtep and words.is_trident(switch) else [],
        reason="some chips of this family cannot route into VXLAN, and no source confirms this one",
        remedy="use a ToR with a chip of Arista's R series, or confirm the model with Arista and accept FAB5832"),
    Reservation("FAB5831", feature="limits of prefixes on sessions with EVPN routes",
        requested=lambda switch: bool(switch.bgp.evpn_sessions),
        reason="`maximum-routes` counts routes of all families, and those of hosts have no limit; none is written",
        remedy="none needed: filters accept loopbacks only"),
    Limit("FAB5101", feature="{it[0]} Gb/s over {it[1]} lanes",
        requested=lambda switch: sorted({(p.speed_gbps, p.lanes) for p in switch.ports}),
        allowed={"it": words.SPEEDS},
        reason="EOS has no `speed` value for this rate and number of lanes",
        source="Arista AVD 6.4, ethernet_interfaces.speed",
        remedy="use one of " + ", ".join(words.SPEEDS.values())),
    limits.mtu_limit("FAB5102", words.MAXIMUM_MTU,
        f"the largest that EOS takes on a routed port is {words.MAXIMUM_MTU}"),
    limits.priorities_limit("FAB5103", "EOS has traffic classes, priorities and transmit queues 0 to 7",
        "choose a priority from 0 to 6", _class_figures),
    Reservation("FAB5104", feature="class {name} on priority 7", requested=_class_figures,
        allowed={"control": (False,)},
        reason="EOS keeps traffic class 7 for its own control traffic, which would share the queue",
        remedy="choose a priority from 0 to 6"),
    limits.shares_limit("FAB5105", "`bandwidth percent` takes 1 to 100", _class_figures),
    limits.marking_limit("FAB5106",
        "EOS takes thresholds from 1 byte, ascending, and a probability from 1 to 100 %"),
    Reservation("FAB5107", feature="headroom and thresholds of lossless priority groups",
        requested=lambda switch: bool(switch.qos.lossless),
        reason="EOS sets the ingress buffers of the sand family itself; `platform trident mmu` does not exist there",
        remedy="check the cable lengths against Arista's figures for the line card", since=_TRIDENT,
        words="platform trident mmu queue profile", source=_AVD),
    Reservation("FAB5108", feature="alpha 2^{it} for lossless priority groups",
        requested=lambda s: sorted({headroom.dynamic_th for _, headroom in s.qos.headrooms}) if _has_buffers(s) else [],
        allowed={"it": words.ALPHAS},
        reason=f"EOS has thresholds from {words.ALPHAS[min(words.ALPHAS)]} to "
        f"{words.ALPHAS[max(words.ALPHAS)]}; the nearest of them is written",
        remedy=f"choose a dynamic threshold from {min(words.ALPHAS)} to {max(words.ALPHAS)}"),
    Reservation("FAB5673", feature="a headroom pool of {it.headroom_bytes} bytes",
        requested=lambda switch: [switch.qos.pools] if _has_buffers(switch) and switch.qos.pools else [],
        allowed={"headroom_bytes": Range(0, words.HEADROOM_POOL_BYTES)},
        reason=f"EOS's help has `headroom-pool limit` up to {words.HEADROOM_POOL_BYTES} bytes, and no document "
        "has the range of this switch",
        source="aristanetworks/avd issue 4921",
        remedy=_TRY),
    Reservation("FAB5674", feature="a ramp between two thresholds for one class", requested=_ramp_names,
        reason="this line card marks by delay, all packets above one threshold, in every queue that can wait: {it}, "
        "the time in which the port sends Kmax",
        remedy="none needed; `congestion: {{profile: dctcp}}` plans with one threshold"),
    Reservation("FAB5675", feature="a delay in microseconds",
        requested=lambda switch: any(us % 1000 for _, us in _marking_delays(switch)),
        reason="the only public text about `random-detect ecn delay threshold` uses milliseconds; other ECN "
        "thresholds of this family also take microseconds",
        source="Arista AVD 6.4, qos_profiles.tx_queues",
        remedy="type the line on one switch first; where it is refused, give its model `ecn_delay: {{step_us: 1000}}`"),
    Reservation("FAB5676", feature="marks from {it[0].ecn.max_bytes} bytes on {it[0].name}",
        requested=_late_marks,
        reason="the shortest delay that is written is {it[1]}, {it[2]} bytes at {it[0].speed_gbps}G",
        remedy="where the switch takes microseconds, give its model `ecn_delay: {{step_us: 1}}`"),
    Limit("FAB5109", feature="PFC watchdog detection {detect_ms} ms and restoration {restore_ms} ms",
        requested=_watchdog_timers,
        allowed=dict.fromkeys(("timeout_ms", "recovery_ms"), Range(*words.WATCHDOG_RANGE_MS)),
        reason="EOS takes 0.01 to 60 seconds for both", remedy="set both from {allowed[timeout_ms]} ms"),
    Limit("FAB5110", feature="PFC watchdog polling every {polling_ms} ms", requested=_watchdog_timers,
        allowed={"polling_ms": Range(*words.POLLING_RANGE_MS)},
        reason="EOS polls every 0.005 to 30 seconds, at most half of the shorter timer",
        remedy="set the poll interval from {allowed[polling_ms]} ms and the timers to at least twice that"),
    limits.watchdog_limit("FAB5111", _held_timers,
        "EOS has steps of 10 ms and polls at most at half of the shorter timer"),
    limits.watchdog_action("FAB5112",
        "EOS drops, disables the port or only notifies; `notify-only` is written"),
    Reservation("FAB5113", feature="PFC watchdog for the strict class {it.name}",
        requested=lambda s: [c for c in s.qos.lossless if c.strict] if s.qos.watchdog else [],
        reason="EOS watches queues with guaranteed bandwidth only, and a strict queue has none",
        remedy="give the lossless class a weight"),
    limits.paths_limit("FAB5114", lambda _: words.MAXIMUM_PATHS, "`maximum-paths` takes 1 to {most}"),
    limits.bfd_limit("FAB5116", "EOS", words.BFD_INTERVAL_RANGE_MS, words.BFD_MULTIPLIER_RANGE),
    FLOWLETS,
    PACKETS,
    CLUSTER,
    Limit("FAB5117", feature="cluster load balancing of a ToR {it}", requested=_beside_clusters,
        reason="what is written groups destinations by the IPv4 aggregate of their ToR",
        remedy="route IPv4 links to the hosts, or use `mode: flowlet` or `hash`"),
    PAUSE,
    Limit("FAB5117", setting="load_balancing/global", words="load reports of the next switch",
        remedy="leave `global` out", source="no list of new features of EOS to 4.36 has it"),
    Limit("FAB5117", setting="load_balancing/reassignment/", words="moves without a pause",
        remedy="leave `reassignment` out", source="no list of new features of EOS to 4.36 has it"),
    Limit("FAB5119", setting="load_balancing/queue_pairs",
        remedy="use release 4.33 (4.33.1F or later), or leave `queue_pairs` out",
        since={words.TRIDENT: RELEASES[0], words.SAND: "4.33"},
        words="port-channel load-balance trident udf … / load-balance sand profile … fields udp … payload bytes",
        source="Arista AVD 6.4: `load_balance.policies.sand_profiles.fields.udp` from EOS 4.33.1F; for `trident` it "
        "names no release, assumed for all of these"),
    Limit("FAB5120", setting="trimming/", remedy="leave it out, or use another NOS",
        source="Arista's description of October 2025, newer than these releases, picks packets by an ingress traffic "
        "policy; its commands are in no public document"),
    Limit("FAB5120", setting="link_retry", remedy="leave it out",
        source="no public document of EOS has it, nor has Arista AVD 6.4"),
    Limit("FAB5677", feature="marking by delay", requested=lambda switch: bool(_marking_delays(switch)),
        remedy="use release 4.33 or later, or leave `ecn_delay` out of the catalog entry",
        since={words.TRIDENT: None, words.SAND: "4.33"},
        words="random-detect ecn delay threshold … / random-detect ecn count",
        source="RoCE templates for 7800R4C-36PE (michaely-cb/cluster-cp, commit 1206bbe); Arista's description of ECN "
        "by latency is of July 2024, so 4.33 is assumed"),
    Reservation("FAB5121", setting="load_balancing/mode", requested=PACKETS.requested,
        reason="the manual's syntax has `member-selection` before `optimal always`, its example has not, and it "
        "was not tried on a switch",
        source=PACKETS.source,
        remedy=_TRY, where=PACKETS),
    Reservation("FAB5121", feature="cluster load balancing on {it}", setting="load_balancing/mode",
        requested=lambda switch: [switch.model.title] if cluster_view(switch) else [],
        reason="no public document lists the switches that have it, and groups by aggregates and the aging after "
        f"{CLUSTER_AGING_S} s are assumed",
        source=CLUSTER.source, remedy=_TRY, where=CLUSTER),
    Reservation("FAB5121", setting="load_balancing/flowlet_idle_us",
        reason="the manual names `inactivity` and neither its unit nor its range",
        source=PAUSE.source,
        remedy=_TRY, where=PAUSE),
    Reservation("FAB5670", feature="a certificate for gNMI", setting="management/gnmi_port",
        reason=f"the TLS profile `{words.SSL_PROFILE}` needs a certificate that a configuration cannot contain; "
        "without it EOS serves gNMI unencrypted",
        source="Arista AVD 6.4, management_security",
        remedy=f"put it there once: `copy … certificate:{words.SSL_PROFILE}.crt` and "
        f"`copy … sslkey:{words.SSL_PROFILE}.key`"),
    Limit("FAB5671", feature="gNMI at port {it.gnmi_port} over IPv6",
        requested=lambda switch: [m for m in limits.managed_over_ipv6(switch) if words.control_plane(m)],
        reason=f"by default EOS permits gNMI to its CPU on port {words.GRPC_PORT} only, and the list for another "
        "port is an IPv4 list",
        source="Arista openmgmt, Securing Management Services",
        remedy=f"use port {words.GRPC_PORT}, or give switches an IPv4 management address"),
    limits.access_over_ipv6("FAB5122",
        "they are IPv4 networks and {it.address} is not, so the lists would have no effect",
        "give switches an IPv4 management address, or leave `access` out"),
    limits.accounts_limit("FAB5115",
        "a full replace leaves only EOS's own `admin`, which without a password logs in at the console only"),
    limits.login_limit("FAB5672", "eAPI"),
    limits.log_certificate("Arista AVD 6.4, management_security", "put it there once: `copy … certificate:{it}.crt`"),
    HASH_SEED,
    *limits.always_supported(
        _ALL,
        ("BGP over unnumbered links", "neighbor interface … / next-hop address-family ipv6 originate", _AVD),
        ("bgp/ttl_security", "neighbor … ttl maximum-hops", _AVD),
        ("evpn/", "interface Vxlan1, ip address virtual, address-family evpn, next-hop-unchanged", _AVD),
        ("a watchdog for PFC", "priority-flow-control pause watchdog",
         "Arista's description of June 2022, older than these releases; commands from AVD 6.4"),
        ("management/gnmi_port", "management api gnmi", _AVD),
        ("management/snmp_trap[", "snmp-server host … version 3 priv", _AVD),
        ("management/syslog_tls", "logging vrf … host … protocol tls ssl-profile", _AVD),
        ("the source of syslog", "logging vrf … source-interface",
         "Arista AVD 6.4: replaced by `local-interface` in EOS 4.35.1, later than these releases"),
    ),
)  # fmt: skip
SYSTEM = System("EOS", RELEASES, DEFAULT_RELEASE, LIMITS,
    later=("begins with EOS {since}", "{remedy}"),
    never=("no EOS release is known to have it on {family}", "{remedy}"),
    family=words.asic_family,
)  # fmt: skip
has, gaps = SYSTEM.has, SYSTEM.gaps


# Destination queue pair in the base transport header (InfiniBand Architecture 1.4, 9.2.1): bytes 5 to 7 after the
# 8 bytes of UDP. The trident family takes one byte a line, counted from the UDP header.
QUEUE_PAIR_OFFSETS = (13, 14, 15)

QUEUE_PAIR_BYTES = "5-7"

QUEUE_PAIR_PROFILE = "ROCE-QP"

ROCE_PORT = 4791

QUEUE_PAIR_PAYLOAD = f"udp {ROCE_PORT} payload {QUEUE_PAIR_BYTES}"

# One hash seed per tier, from 1, as EOS's own is 0 and not printed; `trident` takes up to 5 (EOS user manual, IPv4).
HASH_SEEDS = (1, 2, 3)

DEPARTURES = (
    Departure("load_balancing/mode", LEFT_OUT, "the sand family has no dynamic load balancing (FAB5117)"),
    Departure("load_balancing/flowlet_idle_us", LEFT_OUT, "nor its pause (FAB5118)"),
    Departure("load_balancing/global", LEFT_OUT, "switches report no loads (FAB5117)"),
    Departure("load_balancing/reassignment/*", LEFT_OUT, "flows move after a pause only (FAB5117)"),
)


@dataclass(frozen=True, slots=True)
class BalancingView:
    """Routing of packets and spreading of flows.

    Attributes:
        unnumbered: whether IPv4 is routed over interfaces with IPv6 alone; `ipv6`: whether IPv6 is routed.
        seed: the tier's, None where EOS has no word for it.
        mode: of dynamic load balancing, None where it is off.
        flowlet_idle_us: after how long a pause a flow may move; None for EOS's own.
        queue_pair_fields: (Ethernet type, offset) of each byte hashed of the queue pair, trident family.
        queue_pair_profile: name of the hash profile that does so, sand family.
        cluster: cluster load balancing, None without.
    """

    unnumbered: bool
    ipv6: bool
    seed: int | None
    mode: Spreading | None
    per_packet: bool
    flowlet_idle_us: int | None
    queue_pair_fields: list[tuple[str, int]]
    queue_pair_profile: str | None
    cluster: ClusterView | None


def balancing_view(switch: Switch) -> BalancingView:
    """Return the view of routing and load balancing."""
    requested, trident = switch.load_balancing, words.is_trident(switch)
    unnumbered = True in [port.unnumbered for port in switch.ports]
    types = [name for name, used in (("IPv4", switch.bgp.ipv4), ("IPv6", switch.bgp.ipv6)) if used]
    dynamic = trident and limits.spreads_dynamically(switch)
    return BalancingView(
        unnumbered=unnumbered,
        ipv6=unnumbered or switch.bgp.ipv6,
        seed=HASH_SEEDS[switch.tier_index] if has(switch, HASH_SEED) else None,
        mode=requested.mode if dynamic else None,
        per_packet=dynamic and requested.mode is Spreading.PACKET,
        flowlet_idle_us=requested.flowlet_idle_us if trident else None,
        queue_pair_fields=[(name, at) for name in types for at in QUEUE_PAIR_OFFSETS]
        if requested.queue_pairs and trident
        else [],
        queue_pair_profile=QUEUE_PAIR_PROFILE if requested.queue_pairs and not trident else None,
        cluster=cluster_view(switch),
    )


CLUSTER_FORWARDING = "routed ipv4"


def state_balancing(facts: Facts, view: BalancingView) -> None:
    """State routing and hashing, and drop settings that the switch does not have."""
    facts["platform/routing"] = "ipv6 interfaces" if view.unnumbered else "ip"
    if view.ipv6:
        facts["platform/routing_ipv6"] = "true"
    if view.seed is not None:
        facts["platform/hash_seed"] = view.seed
    for path in ("global", "reassignment/probability", "reassignment/quality_delta"):
        facts.pop(f"load_balancing/{path}", None)
    if view.mode is None and view.cluster is None:
        facts.pop("load_balancing/mode", None)
    if view.cluster:
        facts["load_balancing/cluster/forwarding"] = CLUSTER_FORWARDING
        facts["load_balancing/cluster/destinations"] = f"prefix length {view.cluster.prefix_length}"
        facts["load_balancing/cluster/aging_s"] = view.cluster.aging_s
        facts[f"load_balancing/cluster/group[{CLUSTER_GROUP}]"] = join_ports(view.cluster.ports)
    if view.flowlet_idle_us is None:
        facts.pop("load_balancing/flowlet_idle_us", None)
    for kind in {kind for kind, _ in view.queue_pair_fields}:
        facts[f"load_balancing/hash_bytes[{kind}]"] = ",".join(map(str, QUEUE_PAIR_OFFSETS))
    if view.queue_pair_profile:
        facts["load_balancing/hash_profile"] = view.queue_pair_profile
        facts[f"load_balancing/hash_profile[{view.queue_pair_profile}]"] = QUEUE_PAIR_PAYLOAD


def join_ports(text: str) -> str:
    """Return the ports of `Ethernet1/1-2,2/1` one by one, comma-joined; the text itself if it is no such list."""
    found = words.expand_ports("".join(text.split()))
    return ",".join(map(str, found)) if isinstance(found, tuple) else text


_DYNAMIC = "ip hardware fib load-balance distribution dynamic"
ROWS: Sequence[Row] = (
    Fact("ip routing", "platform/routing", "ip"),
    Fact("ip routing ipv6 interfaces", "platform/routing", "ipv6 interfaces"),
    Fact("ipv6 unicast-routing", "platform/routing_ipv6"),
    Fact("ip load-sharing trident <integer>", "platform/hash_seed"),
    Keep(_DYNAMIC, "dynamic"),
    Keep(f"{_DYNAMIC} inactivity-threshold <integer> microseconds", "dynamic pause"),
    Keep(f"{_DYNAMIC} member-selection optimal always", "dynamic packet"),
    Block("load-balance cluster", "", (
        Fact("forwarding type <rest>", "load_balancing/cluster/forwarding"),
        Fact("destination grouping <rest>", "load_balancing/cluster/destinations"),
        Fact("load-balance method flow round-robin", "load_balancing/mode", "cluster"),
        Block("flow source learning", "", (
            Fact("aging timeout <integer> seconds", "load_balancing/cluster/aging_s"),
        )),
        Block("port group host <word>", "", (
            Fact("interface <rest>", "load_balancing/cluster/group[{0}]", join_ports),
        )),
    )),
    Each("port-channel load-balance trident udf eth-type <word> ip-protocol udp header outer l4", "hashed", (
        Entry("offset <integer> mask 0xFF", "offsets"),
    )),
    Fact("port-channel load-balance sand profile <word>", "load_balancing/hash_profile"),
    Block("load-balance policies", "", (
        Block("load-balance sand profile <word>", "", (
            Block("fields udp dst-port <word>", "", (
                Fact("payload bytes <word>", "load_balancing/hash_profile[{0}]", "udp {1} payload {2}"),
            )),
        )),
    )),
)  # fmt: skip


def finish(document: Document) -> None:
    """State the mode of load balancing and what is hashed."""
    values, facts = document.scope.values, document.reading.facts
    if "dynamic" in values:
        mode = "packet" if "dynamic packet" in values else "flowlet"
        document.put("load_balancing/mode", mode, values.get("dynamic packet", values["dynamic"])[1])
        if "dynamic pause" in values:
            document.put("load_balancing/flowlet_idle_us", *values["dynamic pause"])
    else:
        for _, line in (values[name] for name in ("dynamic pause", "dynamic packet") if name in values):
            document.reject(line)
    for kind, hashed in document.scope.each("hashed").items():
        offsets = hashed.table("offsets")
        line = max(line for _, line in offsets.values())
        document.put(f"load_balancing/hash_bytes[{kind}]", ",".join(map(str, sorted(offsets))), line)
        if sorted(offsets) == list(QUEUE_PAIR_OFFSETS):
            document.put("load_balancing/queue_pairs", "true", line)
    path = "load_balancing/hash_profile"
    if path in facts and facts.get(f"{path}[{facts[path]}]") == QUEUE_PAIR_PAYLOAD:
        document.put("load_balancing/queue_pairs", "true", document.reading.lines[path][1])


TOPIC = Topic(ROWS, finish)
