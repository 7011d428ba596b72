"""Limits of Junos and its releases, with the source of every entry."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Any

from fabricc.back.nos import limits
from fabricc.back.nos.junos import cages, words
from fabricc.back.nos.junos.bgp import bfd_interval_ms, rule_lengths
from fabricc.back.nos.junos.qos import detection_timers, fill_levels, queue_bytes, shared_buffer
from fabricc.back.nos.limits import Limit, Range, Reservation, System
from fabricc.base.values import replace
from fabricc.catalog.figures import source_of
from fabricc.fabric.facts import SETTINGS
from fabricc.fabric.model import Direction, Switch
from fabricc.fabric.routing import PrefixList, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.qos import Watchdog

RELEASES = ("20.4", "21.4", "22.4", "23.4", "24.2", "24.4", "25.2", "25.4", "26.2")
DEFAULT_RELEASE = "24.4"

# 19.1 stands for that release or one before, and 23.4 is the first of Evolved: older models were not looked at.
_MODELS = "the first of Juniper's YANG models to have it, junos-qfx from 19.1 and Evolved from 23.4"


def _against_tunnels(switch: Switch) -> Iterator[str]:
    """Yield what sessions between loopbacks and VRFs with a VNI do not go with."""
    if switch.bgp.overlay and switch.bgp.ttl_security:
        yield "TTL security"
    if switch.bgp.overlay and words.junos_flavor(switch) == words.CLASSIC:
        yield "another Junos OS than Evolved"


def _carries_segments(switch: Switch) -> bool:
    """Return whether a switch has segments, or passes on their routes over sessions on its links."""
    has_segments = switch.vtep is not None and bool(switch.vtep.segments)
    return has_segments or (bool(switch.bgp.evpn_sessions) and not switch.bgp.overlay)


def _marking_figures(switch: Switch) -> list[dict[str, Any]]:
    """Return marked values of profiles next to a queue's share of the pool, for a switch that marks some class."""
    queue = queue_bytes(switch)
    marked = any(c.ecn for c in switch.qos.classes)
    return [
        {**mark, "queue": queue, "left_bytes": queue - mark["max_bytes"]}
        for mark in limits.marking_figures(switch)
        if marked
    ]


def _percent_figures(switch: Switch) -> Iterator[dict[str, Any]]:
    written = [
        f"{p.name}: {p.ecn.min_bytes} to {p.ecn.max_bytes} bytes as {levels.low} to {levels.high} %"
        for p in switch.qos.profiles
        if p.ecn and (levels := fill_levels(switch, p.ecn))
    ]
    if written:
        yield {"queue": queue_bytes(switch), "written": "; ".join(written)}


def _unsupported_exponents(switch: Switch) -> list[str]:
    """Return the thresholds of lossless groups, where they are not one that Junos takes."""
    exponents = sorted({headroom.dynamic_th for _, headroom in switch.qos.headrooms})
    if shared_buffer(switch) is None or (len(exponents) == 1 and exponents[0] in Range(*words.ALPHA_RANGE)):
        return []
    return [", ".join(f"2^{exponent}" for exponent in exponents)]


def _figures_bind(switch: Switch) -> bool:
    """Return whether the headroom figures are Juniper's, or its design has fewer lossless classes."""
    assumed = source_of(switch.model.sources, "buffers.formula").startswith("assumed")
    return not assumed or len(switch.qos.lossless) > 1


def _partition_figures(switch: Switch, *, binding: bool = True) -> Iterator[dict[str, int]]:
    """Headroom of all ports, and the partition where it holds less, for figures that bind or for those that do not."""
    if _figures_bind(switch) is binding and (split := shared_buffer(switch)):
        sizes = {profile.name: headroom.xoff_bytes for profile, headroom in switch.qos.headrooms}
        wanted = sum(sizes[port.profile] for port in switch.ports if port.profile) * len(switch.qos.lossless)
        given = switch.model.buffers.total_bytes * split.headroom // 100
        if wanted > given:
            yield {"wanted": wanted, "percent": split.headroom, "given": given}


def _supports_watchdog(watchdog: Watchdog) -> bool:
    """Return whether the timers are within Junos's ranges."""
    held, ranges = detection_timers(watchdog), _TIMER_RANGES
    return all(
        figure in taken
        for figure, taken in zip((held.poll_ms, held.polls, held.recovery_ms), ranges, strict=True)
    )


def _slower_bfd(switch: Switch) -> Iterator[dict[str, Any]]:
    """Yield BFD settings whose interval is below the platform's minimum."""
    bgp, held_ms = switch.bgp, bfd_interval_ms(switch)
    if held_ms is not None and held_ms != bgp.bfd_interval_ms:
        detection_ms = held_ms * bgp.bfd_multiplier
        in_time = detection_ms < 1000 * bgp.hold_s
        whose = "QFX5000 switches" + (", and by assumption this one," if _is_ptx(switch) else "")
        yield {
            "bgp": bgp, "held_ms": held_ms, "detection_ms": detection_ms, "in_time": in_time, "whose": whose,
        }  # fmt: skip


def _is_ptx(switch: Switch) -> bool:
    """Return whether a switch is one of Juniper's routers with its own ASICs, as the PTX10002."""
    return switch.model.asic_family == "express"


def _strict_queues(switch: Switch) -> list[str]:
    """Return the strict classes of a switch that has one `strict-high` queue, if there are several."""
    strict = [each.name for each in switch.qos.classes if each.strict] if _is_ptx(switch) else []
    return [", ".join(strict)] if len(strict) > 1 else []


def _find_hidden(prefix_list: PrefixList) -> tuple[str, str] | None:
    """Return a prefix of the list and a more permissive one around it; Junos matches the inner one only."""
    permitted: dict[IPv4Network | IPv6Network, set[int]] = {}
    for rule in prefix_list.rules:
        network = ip_network(rule.prefix)
        least, most = (length or network.prefixlen for length in rule_lengths(rule))
        permitted.setdefault(network, set()).update(range(least, most + 1))
    around: list[IPv4Network | IPv6Network] = []
    for inner in sorted(permitted, key=lambda each: (int(each.network_address), each.prefixlen)):
        while around and int(around[-1].broadcast_address) < int(inner.network_address):
            around.pop()
        if around and any(each >= inner.prefixlen for each in permitted[around[-1]] - permitted[inner]):
            return str(inner), str(around[-1])
        around.append(inner)
    return None


def _against_global(switch: Switch) -> Iterator[str]:
    """Yield what global load balancing does not allow of a switch for which a spec requests it."""
    if not switch.load_balancing.global_paths:
        return
    if switch.model.asic_family not in _GLOBAL_ASICS:
        yield f"on {switch.model.asic}"
    peers = {
        direction: Counter(
            port.peer.device for port in switch.ports if port.peer and port.direction is direction
        )
        for direction in (Direction.UP, Direction.DOWN)
    }
    if double := [name for links in peers.values() for name, count in links.items() if count > 1]:
        yield f"over several links to {double[0]}"
    if any(port.direction is Direction.PEER for port in switch.ports):
        yield "between two leaves without spines"
    if switch.tier_index > 1 or (switch.tier_index and peers[Direction.UP]):
        yield "in five stages"
    if switch.tier_index and len(peers[Direction.DOWN]) > _MOST_LEAVES:
        yield f"with {len(peers[Direction.DOWN])} leaves"


_TIMER_RANGES = Range(*words.POLL_RANGE_MS), Range(*words.DETECTION_RANGE), Range(*words.RECOVERY_RANGE_MS)
_SLOW = "{whose} support no interval below {held_ms} ms"
_SLOW_SOURCE = "Juniper, BFD for OSPF and for RIP"
QUEUE_PAIRS = Limit("FAB5523", setting="load_balancing/queue_pairs",
    since={words.CLASSIC: None, words.EVOLVED: "23.4"}, words="no statement: hashed by default",
    source="Juniper, AI-ML data center guide for Junos OS Evolved, queue-pair hashing for RDMA flows",
)  # fmt: skip
_GLOBAL = "Juniper, Global Load Balancing (GLB)"
_TENANTS = "JVD-AICLUSTERDC-EVPNType5 (Juniper/jvd, aiml_multitenancy_backend)"
_GLOBAL_ASICS, _MOST_LEAVES = ("tomahawk5",), 64
GLOBAL_LOAD_BALANCING = Limit("FAB5523", setting="load_balancing/global",
    since={words.CLASSIC: None, words.EVOLVED: "24.4"}, words="protocols bgp global-load-balancing", source=_GLOBAL,
)  # fmt: skip
_REASSIGNMENT = "Juniper, Dynamic Load Balancing: reactive path rebalancing; JVD, AI/ML multitenancy back end"
REASSIGNMENT = Limit("FAB5523", setting="load_balancing/reassignment/",
    since={words.CLASSIC: None, words.EVOLVED: "23.4"}, words="ecmp-dlb flowlet reassignment", source=_REASSIGNMENT,
)  # fmt: skip
LIMITS = (
    GLOBAL_LOAD_BALANCING,
    REASSIGNMENT,
    Limit("FAB5525", feature="reassignment of flows on {it}",
        requested=lambda switch: [switch.model.asic] if switch.load_balancing.reassignment
        and switch.model.asic_family not in _GLOBAL_ASICS else [],
        reason="only QFX5240 switches of Tomahawk 5 have it", source=_REASSIGNMENT,
        remedy="leave `reassignment` out", where=REASSIGNMENT),
    Limit("FAB5525", feature="global load balancing {it}", requested=lambda switch: list(_against_global(switch)),
        reason="it is for QFX5240 switches of Tomahawk 5 in three stages, with one link between a ToR and a spine and "
        f"{_MOST_LEAVES} ToRs at most",
        source=_GLOBAL, where=GLOBAL_LOAD_BALANCING,
        remedy="leave `global` out; over several links set `spines.count` to the uplinks of a ToR"),
    Limit("FAB3300", feature="{it} of tenants over spines",
        requested=lambda switch: list(_against_tunnels(switch)),
        reason="Juniper's validated design has none of it", source=_TENANTS,
        remedy="remove it, or remove `spines` and write `wiring: rail-only`, which has plain VRFs"),
    Limit("FAB5830", feature=SETTINGS["evpn/"], requested=_carries_segments,
        reason="fabricc does not write VLANs of segments for Junos",
        remedy="remove `evpn`, or use a system that supports it (`fabricc docs evpn`)"),
    Limit("FAB5501", feature="{it} Gb/s ports", requested=limits.port_speeds, allowed={"it": words.SPEEDS},
        reason="Junos has no `speed` value for this rate", source="Juniper YANG 24.4R1, interfaces speed",
        remedy="use one of " + ", ".join(words.SPEEDS.values())),
    Limit("FAB5526", feature="{it}", requested=lambda switch: list(cages.mixed_groups(switch)),
        reason="the first port of each group of four sets the speed of all four",
        source="Juniper, Port Settings, table 1",
        remedy="put ports of one speed into each group of four, or leave the rest of a group free"),
    limits.mtu_limit("FAB5502", words.MAXIMUM_MTU,
        f"a physical MTU of at most 9216 bytes counts the Ethernet header, which leaves {words.MAXIMUM_MTU}"),
    limits.priorities_limit("FAB5503", "Junos has PFC priorities and unicast queues 0 to 7 on these switches",
        "choose a priority from 0 to 7"),
    limits.shares_limit("FAB5504", "`transmit-rate percent` of a class that is to send anything takes 1 to 100"),
    Limit("FAB5506", feature="ECN from {min_bytes} to {max_bytes} bytes at {max_percent} % on {profile}",
        requested=_marking_figures,
        allowed={
            "min_bytes": Range(1),
            "ramp_bytes": Range(0),
            "left_bytes": Range(0),
            "max_percent": Range(1, 100),
        },
        reason="thresholds ascend from 1 byte to a queue's share of the pool ({queue} bytes), "
        "`drop-probability` goes from 1 to 100 %",
        remedy="set ECN thresholds and probability within these ranges"),
    Reservation("FAB5505", feature="ECN thresholds in bytes", requested=_percent_figures,
        reason="`fill-level` is a percentage of a dynamic buffer whose size is not published; fabricc takes {queue} "
        "bytes, the share when all such queues are full ({written})",
        remedy="measure where marking begins, or set the thresholds by a template of your own"),
    Reservation("FAB5507", feature="headroom, xon and xoff of lossless priority groups in bytes",
        requested=lambda switch: bool(switch.qos.headrooms),
        reason="Junos sizes them itself from `cable-length` and `mru`, which are written",
        remedy="compare `show class-of-service shared-buffer` of a device with the planned sizes"),
    Reservation("FAB5508", feature="split of the shared buffer and threshold of lossless priority groups",
        requested=lambda switch: bool(switch.qos.headrooms) and shared_buffer(switch) is None,
        reason="the catalog has no split for this model, so Junos's default split stays",
        remedy="add lossless_percent, headroom_percent and lossy_percent to the model's Junos settings"),
    Reservation("FAB5509", feature="alpha {it} for lossless priority groups", requested=_unsupported_exponents,
        reason="the switch has one `dynamic-threshold` from 2^{} to 2^{}; the smallest requested value is used within "
        "that range".format(*words.ALPHA_RANGE),
        remedy="none needed: a smaller one pauses earlier"),
    Limit("FAB5510", feature="{wanted} bytes of headroom", requested=_partition_figures,
        reason="the partition `lossless-headroom` of {percent} % holds {given} bytes, so not all ports can be "
        "paused at once without loss",
        remedy="use shorter cables, fewer lossless classes, or another split in the model's Junos settings; or accept "
        "FAB5510 with a reason"),
    Reservation("FAB5524", feature="{wanted} bytes of headroom",
        requested=lambda switch: _partition_figures(switch, binding=False),
        reason="the partition `lossless-headroom` of {percent} % holds {given} bytes; Juniper publishes this split, "
        "but the headroom figures are those of another maker's switch",
        remedy="pause all ports of one device at once and look for drops, or add measured figures to the model"),
    Limit("FAB5511",
        feature="PFC watchdog of {it.detect_ms} / {it.restore_ms} / {it.poll_ms} ms (detect, restore, poll)",
        requested=lambda switch: [each for each in limits.list_watchdogs(switch) if not _supports_watchdog(each)],
        reason="Junos polls every {} ms, detects after {} polls and recovers after {} ms".format(
            *_TIMER_RANGES
        ),
        remedy="set the timers within these ranges"),
    Reservation("FAB5512", feature="PFC watchdog detection after {it[0]} ms",
        requested=lambda switch: [
            (each.detect_ms, held_ms)
            for each in limits.list_watchdogs(switch)
            if _supports_watchdog(each) and (held_ms := detection_timers(each).detect_ms) != each.detect_ms
        ],
        reason="detection takes whole polls, at least two; written is {it[1]} ms",
        remedy="none needed, or set a multiple of the poll interval"),
    limits.open_management_limit("without a filter on `lo0`, Junos accepts SSH and NETCONF at every address",
        "Juniper, Routing Policies, Firewall Filters and Traffic Policers User Guide"),
    replace(
        limits.accounts_limit("FAB5513",
            "Junos refuses a commit without `root-authentication`, so it gets the first user's key"),
        fatal=True,
    ),
    Limit("FAB5514", feature="SSH key of {it[0]} of kind {it[1]}",
        requested=lambda switch: [
            (user.name, kind)
            for user in switch.management.users
            if (kind := user.ssh_key.partition(" ")[0]) not in words.KEY_STATEMENTS
        ],
        reason="Junos takes ECDSA, Ed25519 and RSA keys",
        remedy="use a key of kind " + ", ".join(words.KEY_STATEMENTS)),
    Reservation("FAB5527", feature="strict priority of {it}", requested=_strict_queues,
        reason="a PTX has one `strict-high` queue per interface; its commit may refuse a second",
        source="Juniper, Class of Service User Guide, strict-priority scheduling on a PTX Series router",
        remedy="make one class strict, and give the other a weight"),
    limits.paths_limit("FAB5515", lambda _: words.MAXIMUM_ECMP[-1], "`chassis maximum-ecmp` goes up to {most}"),
    limits.bfd_limit("FAB5516", "Junos", words.BFD_INTERVAL_RANGE_MS, words.BFD_MULTIPLIER_RANGE),
    Reservation("FAB5680", feature="BFD every {bgp.bfd_interval_ms} ms", requested=_slower_bfd,
        reason=_SLOW + "; written is {held_ms} ms, at which both ends then run",
        source=_SLOW_SOURCE,
        remedy="none needed, or set `routing.bfd.interval_ms` to {held_ms}"),
    Limit("FAB5681", feature="BFD with a hold time of {bgp.hold_s} s", requested=_slower_bfd,
        allowed={"in_time": (True,)},
        reason=_SLOW
        + ", and {bgp.bfd_multiplier} lost packets take {detection_ms} ms, so BGP would notice first",
        source=_SLOW_SOURCE,
        remedy="set `routing.hold_s` above that, or write `bfd: false`"),
    Reservation("FAB5517", feature="BGP keepalive every {it[1]} s with a hold time of {it[2]} s",
        requested=lambda switch: [
            (sent_s, bgp.keepalive_s, bgp.hold_s)
            for bgp in (switch.bgp,)
            if (sent_s := bgp.hold_s // words.HOLD_PER_KEEPALIVE) != bgp.keepalive_s
        ],
        reason="Junos sends a keepalive every third of the hold time, here {it[0]} s",
        remedy="set a hold time of three keepalives"),
    Limit("FAB5518", feature="prefix list {it[0]}, in which {it[1]} lies within {it[2]} and permits less",
        requested=lambda switch: [
            (each.name, *hidden) for each in switch.bgp.prefix_lists if (hidden := _find_hidden(each))
        ],
        reason="Junos compares a route only with the longest matching prefix of a filter list",
        remedy="use pools that do not overlap; of prefixes from outside, let the inner one go to the same length: "
        "`le`"),
    limits.access_over_ipv6("FAB5519",
        "the networks are IPv4 and this switch is managed over IPv6, so the filter would shut everyone out",
        "give the switch an IPv4 management address, or leave `access` out"),
    Reservation("FAB5520", setting="management/gnmi_port", feature="a certificate for gNMI",
        reason=f"Junos serves gRPC with a certificate of its own PKI store, here `{words.CERTIFICATE}`, which a "
        "configuration cannot contain",
        source="Juniper, configure gRPC services",
        remedy=f"load it once: `request security pki local-certificate load certificate-id "
        f"{words.CERTIFICATE} …`"),
    Limit("FAB5521", feature=f"an account named {words.TEMPLATE_USER} with TACACS+ or RADIUS",
        requested=lambda switch: (
            switch.management.login is not None
            and any(user.name == words.TEMPLATE_USER for user in switch.management.users)
        ),
        reason="Junos gives its rights to every user whom a server accepts and who has no account",
        source="Juniper, TACACS+ authentication, RADIUS authentication",
        remedy="choose another name"),
    Limit("FAB5725", setting="interface[",
        reason="`forwarding-class` of an interface sets only the class, and rewrite rules also change code points of "
        "the fabric's own packets",
        source="Juniper, class-of-service: forwarding-class, rewrite-rules",
        remedy="let the far end clear the code points of lossless classes and accept FAB5725 with that reason, or "
        "write `trust_dscp: true` if they mean the same there"),
    Reservation("FAB5522", setting="load_balancing/queue_pairs",
        reason="there is no statement: devices that can do it hash queue pairs by default",
        source="Juniper, queue-pair hashing for RDMA flows",
        remedy="look for `RDMA Queue Pair: yes` in `show forwarding-options enhanced-hash-key`",
        where=QUEUE_PAIRS),
    Limit("FAB5523", feature="Junos OS Evolved", requested=lambda switch: words.junos_flavor(switch) == words.EVOLVED,
        since={words.CLASSIC: None, words.EVOLVED: "23.4"},
        words="management port `re0:mgmt-0`, splits under `interfaces`",
        source="the first release whose models for Evolved Juniper publishes"),
    Limit("FAB5523", feature="BGP sessions over unnumbered links",
        requested=lambda switch: any(s.transport is Transport.UNNUMBERED for s in switch.bgp.sessions),
        since={words.CLASSIC: "21.1", words.EVOLVED: "23.4"},
        words="protocols bgp group … dynamic-neighbor … peer-auto-discovery family inet6 ipv6-nd",
        source="Juniper, BGP unnumbered peers; " + _MODELS),
    Limit("FAB5523", feature="a watchdog for PFC", requested=lambda switch: switch.qos.watchdog is not None,
        since={words.CLASSIC: "20.3", words.EVOLVED: "23.4"},
        words="class-of-service congestion-notification-profile … pfc-watchdog", source=_MODELS),
    limits.cluster_limit("FAB5523", "`mode: flowlet` or `hash`"),
    Limit("FAB5523", setting="load_balancing/mode", requested=limits.spreads_dynamically,
        since={words.CLASSIC: "19.4", words.EVOLVED: "23.4"},
        words="forwarding-options enhanced-hash-key ecmp-dlb", source=_MODELS),
    Limit("FAB5523", setting="management/gnmi_port", since={words.CLASSIC: "22.2", words.EVOLVED: "23.4"},
        words="system services extension-service request-response grpc ssl use-pki", source=_MODELS),
    Limit("FAB5523", setting="management/syslog_tls", since={words.CLASSIC: "21.2", words.EVOLVED: "23.4"},
        words="system syslog host … transport tls", source="Juniper, Syslog over TLS"),
    limits.log_certificate("Juniper, Syslog over TLS",
        "load it once: `request security pki ca-certificate load ca-profile {it} filename …`"),
    Limit("FAB5523", setting="bgp/ttl_security", since={words.CLASSIC: "19.1", words.EVOLVED: "23.4"},
        words="protocols bgp group … ttl 255", source=_MODELS),
    QUEUE_PAIRS,
)  # fmt: skip
SYSTEM = System("Junos", RELEASES, DEFAULT_RELEASE, LIMITS,
    later=("{words}: since {since}", "run {since} or later"),
    never=(
        "{words}: nothing published for `{family}`",
        "leave it out, or use a switch of Junos OS Evolved",
    ),
    family=words.junos_flavor,
)  # fmt: skip
has, gaps = SYSTEM.has, SYSTEM.gaps
