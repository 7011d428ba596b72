"""Limits of NX-OS and its releases, hashing and load balancing included, with the source of every entry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import limits
from fabricc.back.nos.base import LEFT_OUT, Departure
from fabricc.back.nos.limits import Limit, Range, Reservation, System
from fabricc.back.nos.nxos import words
from fabricc.back.nos.nxos.qos import Pause, is_long, pause_figures, pause_of, watchdog_timers
from fabricc.back.reading import Block, Document, Entry, Fact, Row, Topic, Types, rows
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass, replace
from fabricc.fabric.facts import SETTINGS, Facts, Value
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import Watchdog

RELEASES = ("10.3", "10.4", "10.5", "10.6")
DEFAULT_RELEASE = "10.4"

_PAUSE_SOURCE = "Nexus 9000 QoS guide 10.5, priority flow control"


def _describe_shares(switch: Switch) -> list[str]:
    """Return all shares in words where one is below 1 %, or they are more than 100 % in all."""
    weighted = [c for c in switch.qos.classes if not c.strict]
    if sum(c.weight_percent for c in weighted) <= 100 and all(c.weight_percent >= 1 for c in weighted):
        return []
    return [", ".join(f"{c.name} {c.weight_percent} %" for c in weighted)]


def _odd_pauses(switch: Switch) -> Iterator[Pause]:
    """Pause figures that are in no order, or out of the range of a pause buffer."""
    for pause in pause_figures(switch):
        ordered = pause.resume_bytes <= pause.pause_bytes < pause.buffer_bytes
        if not ordered or pause.buffer_bytes not in Range(*words.PAUSE_BUFFER_RANGE):
            yield pause


def _long_cables(switch: Switch) -> list[tuple[int, int | None]]:
    """Speed and length of the cables for which a lossless class has no figures."""
    unknown = (p for p in switch.ports if is_long(p) and pause_of(switch, p) is None)
    return sorted({(p.speed_gbps, p.cable_m) for p in unknown}, key=str) if switch.qos.lossless else []


def _held_timers(watchdog: Watchdog) -> tuple[int, int, int]:
    held = watchdog_timers(watchdog)
    return held.detect_ms, held.restore_ms, held.interval_ms


MODEL = Reservation("FAB5416", feature="the switch model", requested=lambda _: True,
    reason="the earliest release known to name its ASIC family is {since}, not {release}",
    remedy="use release {since} or later", since={words.CLOUDSCALE: "10.3", words.SILICON_ONE: "10.5"},
    source="pyATS genie.libs.conf 26.9",
)  # fmt: skip
DYNAMIC_LOAD_BALANCING = Limit("FAB5418", setting="load_balancing/mode", requested=limits.spreads_dynamically,
    remedy="use `mode: hash`, or a 9300-FX3, GX or GX2 switch with NX-OS 10.5 or later",
    since={words.CLOUDSCALE: "10.5", words.SILICON_ONE: None},
    words="published commands for dynamic load balancing",
    source="Nexus 9000 unicast routing guide 10.5: 9300-FX3, GX and GX2 from 10.5(1)F; QoS guide 10.6: 9364E-SG2, "
    "without its commands",
)  # fmt: skip
LIMITS = (
    Limit("FAB5841", feature=SETTINGS["management/ntp_key"],
        requested=lambda switch: [switch.management.ntp_key.kind] if switch.management.ntp_key else [],
        allowed={"it": frozenset({"md5"})}, reason="the key has type {it}, and `ntp authentication-key` has MD5 only",
        source="Cisco Nexus 9000 System Management Configuration Guide, Configuring NTP",
        remedy="write `type: md5`, or leave it out"),
    limits.log_certificate("Cisco Nexus 9000 System Management Configuration Guide, Secure Syslog Servers",
        "add it once: `crypto ca trustpoint {it}` and `crypto ca authenticate {it}`; pushes keep trustpoints"),
    limits.segments_limit("fabricc does not write it for NX-OS yet"),
    limits.unnumbered_evpn_limit("NX-OS"),
    Limit("FAB5401", feature="ports of {it} Gb/s", requested=limits.port_speeds, allowed={"it": words.SPEEDS_GBPS},
        reason="NX-OS has no such speed", source="terraform-provider-nxos, l1PhysIf.speed",
        remedy="use one of " + ", ".join(map(str, words.SPEEDS_GBPS)) + " Gb/s"),
    Limit("FAB5402", feature="cages split into {it[0]} x {it[1]} Gb/s",
        requested=lambda switch: sorted(
            {(p.children, p.speed_gbps) for p in switch.ports if p.children > 1 and words.breakout_word(p) is None}
        ),
        reason="NX-OS has no such breakout map", source="terraform-provider-nxos, imFpP.breakoutMap",
        remedy="use one of " + ", ".join(words.BREAKOUTS.values())),
    Limit("FAB5403", feature="IP MTU {it}",
        requested=lambda switch: sorted({port.mtu for port in switch.ports if port.enabled}),
        allowed={"it": Range(*words.MTU_RANGE)},
        reason="a routed port takes {allowed[it]} bytes", source="terraform-provider-nxos, l1PhysIf.mtu",
        remedy="set the fabric's MTU from {allowed[it]}"),
    limits.priorities_limit("FAB5404", "NX-OS has qos-groups, priorities and queues 0 to 7",
        "choose a priority from 0 to 7"),
    Limit("FAB5405", feature="bandwidth shares {it}", requested=_describe_shares,
        reason="`bandwidth remaining percent` takes 1 to 100 for a queue in use, and no more than 100 in all",
        remedy="give every weighted class at least one percent, and 100 in all"),
    limits.marking_limit("FAB5406",
        "`random-detect` takes thresholds from 1 byte, ascending, and a probability from 1 to 100 %"),
    Limit("FAB5407",
        feature="pause buffer of {it.buffer_bytes} bytes, pausing at {it.pause_bytes} and resuming at "
        "{it.resume_bytes}, at {it.speed_gbps} Gb/s over {it.cable_m} m",
        requested=_odd_pauses,
        reason=f"NX-OS takes {Range(*words.PAUSE_BUFFER_RANGE)} bytes, pauses below that and resumes at the pause "
        "threshold or below",
        source="terraform-provider-nxos, ipqosPause",
        remedy="check the `pause` figures of the switch model's NX-OS settings"),
    Limit("FAB5410", feature="PFC watchdog detection {it.detect_ms} ms and restoration {it.restore_ms} ms",
        requested=lambda switch: [
            requested
            for requested in limits.list_watchdogs(switch)
            if (held := watchdog_timers(requested)).shutdown > words.MAXIMUM_SHUTDOWN
            or held.restore > words.MAXIMUM_RESTORE
        ],
        reason=f"NX-OS takes up to {words.MAXIMUM_SHUTDOWN} and {words.MAXIMUM_RESTORE} intervals of at most 1000 ms",
        remedy="set detection to 10 s or less and restoration to 100 s or less"),
    limits.watchdog_limit("FAB5411", _held_timers,
        "NX-OS polls every 100 to 1000 ms and has multiples of that"),
    limits.watchdog_action("FAB5412", "NX-OS drops the packets of a stuck queue; that is written"),
    limits.paths_limit("FAB5413", lambda switch: words.MAXIMUM_PATHS[words.asic_family(switch)],
        "`maximum-paths` takes 1 to {most} on {family}"),
    limits.bfd_limit("FAB5414", "NX-OS", words.BFD_INTERVAL_RANGE_MS, words.BFD_MULTIPLIER_RANGE,
        "terraform-provider-nxos, bfdInst"),
    limits.open_management_limit("a VTY without `access-class` accepts SSH at every address, in every VRF",
        "Cisco Nexus 9000 Security Configuration Guide, VTY ACLs"),
    limits.accounts_limit("FAB5415",
        "after a full replace only the device's own `admin` is left, with the password it had"),
    MODEL,
    Reservation("FAB5417", feature="key of {it.name} on a security token",
        requested=lambda switch: [u for u in switch.management.users if u.ssh_key.startswith("sk-")],
        reason="NX-OS takes RSA, ECDSA and Ed25519 keys; `sk-` types are not among them",
        remedy="add a key of another type, or another user"),
    DYNAMIC_LOAD_BALANCING,
    replace(DYNAMIC_LOAD_BALANCING, setting="load_balancing/flowlet_idle_us", requested=None),
    limits.cluster_limit("FAB5418", "`mode: hash`; with 10.5 or later on Cloud Scale also `flowlet` or `packet`"),
    Reservation("FAB5419", setting="load_balancing/mode", feature="dynamic load balancing",
        requested=limits.spreads_dynamically,
        reason="NX-OS applies it after a reload, and applies no egress policies to its flows",
        source="Nexus 9000 unicast routing guide 10.5",
        remedy="try it on one switch first, marking and shares of the egress queues above all",
        where=DYNAMIC_LOAD_BALANCING),
    Limit("FAB5418", setting="load_balancing/global", words="load reports of the next switch",
        source="not in the Nexus 9000 unicast routing guide 10.6", remedy="leave `global` out"),
    Limit("FAB5418", setting="load_balancing/reassignment/", words="moves without a pause",
        source="not in the Nexus 9000 unicast routing guide 10.6", remedy="leave `reassignment` out"),
    Limit("FAB5420", setting="load_balancing/queue_pairs",
        reason="`ip load-sharing … udf` needs an offset whose base is not published, and is not documented for GX2 "
        "and Silicon One",
        source="Nexus 9000 interfaces guide 10.3, ECMP load balancing",
        remedy="omit it: NX-OS hashes the UDP source port, which differs between queue pairs"),
    Limit("FAB5421", feature="LLDP every {it} s", requested=lambda switch: [switch.management.lldp_interval_s],
        allowed={"it": Range(*words.LLDP_RANGE_S)},
        reason="`lldp holdtime` takes up to 255 s, and a neighbor must be able to miss four announcements",
        source="Cisco Network as Code, NX-OS data model, lldp",
        remedy="set `management.lldp.interval_s` from {allowed[it]}"),
    limits.access_over_ipv6("FAB5422",
        "the networks are IPv4 and the management address is IPv6, so the switch would be unreachable",
        "leave `management.access` out, or manage the switches over IPv4"),
    Reservation("FAB5685", feature="where lossless classes pause, in bytes",
        requested=lambda switch: bool(switch.qos.lossless),
        reason=f"up to {words.DEFAULT_PAUSE_M} m the platform's own buffers hold and are left alone ({_PAUSE_SOURCE}); "
        "their sizes are not published, so ECN before PFC is proved for the catalog's figures alone",
        remedy="compare `show queuing interface` of a device with the planned marks"),
    Limit("FAB5686", feature="a lossless class over {it[1]} m at {it[0]} Gb/s", requested=_long_cables,
        reason=f"beyond {words.DEFAULT_PAUSE_M} m NX-OS must be given pause thresholds ({_PAUSE_SOURCE}), "
        "and none are published",
        remedy=f"set `length_m` below `cables` to {words.DEFAULT_PAUSE_M} or less (cores have 300 by default), or add "
        "Cisco's figures for your switch as `pause` to the model's NX-OS settings"),
    limits.login_limit("FAB9045", "NX-API"),
)  # fmt: skip
SYSTEM = System("NX-OS", RELEASES, DEFAULT_RELEASE, LIMITS,
    later=(
        "release {release} has no {words} on {family}",
        "use release {since} or later, or {remedy}",
    ),
    never=("release {release} has no {words} on {family}", "{remedy}"),
    family=words.asic_family,
)  # fmt: skip
has, gaps = SYSTEM.has, SYSTEM.gaps


DEPARTURES = (
    Departure("management/syslog_ca", LEFT_OUT, "NX-OS accepts any CA of a trustpoint (FAB5844)"),
    Departure(
        "load_balancing/mode", LEFT_OUT, "no dynamic load balancing on this family or release (FAB5418)"
    ),
    Departure("load_balancing/flowlet_idle_us", LEFT_OUT, "no dynamic load balancing there (FAB5418)"),
    Departure("load_balancing/global", LEFT_OUT, "switches report no loads (FAB5418)"),
    Departure("load_balancing/reassignment/*", LEFT_OUT, "flows move after a pause only (FAB5418)"),
    Departure(
        "load_balancing/queue_pairs", LEFT_OUT, "hashed instead of the ports, not in addition (FAB5420)"
    ),
)

DLB_MODES = {Spreading.FLOWLET: "flowlet", Spreading.PACKET: "per-packet"}

DEFAULT_DLB_MAC = "00:cc:cc:cc:cc:cc"

# Random seeds of the ECMP hash, one per tier: multiples of 2**32 divided by the golden ratio, spread over all bits.
HASH_SEEDS = tuple(2_654_435_761 * tier % 2**32 for tier in (1, 2, 3))


def dynamic_mode(switch: Switch) -> str | None:
    """Return how load shares paths; None where flows are hashed and where the switch cannot but hash."""
    mode = DLB_MODES.get(switch.load_balancing.mode)
    return mode if mode and has(switch, DYNAMIC_LOAD_BALANCING) else None


def dynamic_ports(switch: Switch) -> list[str]:
    """Return the ports with BGP sessions, in panel order."""
    reached = {session.port for session in switch.bgp.sessions}
    return [port.name for port in switch.ports if port.name in reached]


def load_sharing(switch: Switch) -> str:
    """The ECMP hash: addresses and ports, so that the UDP source port of each queue pair counts; a seed per tier."""
    seed = HASH_SEEDS[switch.tier_index]
    return f"source-destination port source-destination universal-id {seed}"


@dataclass(frozen=True, slots=True)
class DynamicView:
    """Dynamic load balancing over the ports with BGP sessions; `aging_us` is None for the platform's own."""

    mode: str
    interfaces: str
    aging_us: int | None


def dynamic_view(switch: Switch) -> DynamicView | None:
    """Return the view of dynamic load balancing."""
    mode = dynamic_mode(switch)
    names = ",".join(name.replace("Ethernet", "Eth") for name in dynamic_ports(switch))
    return DynamicView(mode, names, switch.load_balancing.flowlet_idle_us) if mode else None


def state_balancing(facts: Facts, switch: Switch) -> None:
    """State hashing and dynamic paths, and drop settings that the switch does not have."""
    facts.pop("load_balancing/queue_pairs", None)
    for path in ("global", "reassignment/probability", "reassignment/quality_delta"):
        facts.pop(f"load_balancing/{path}", None)
    if dynamic_mode(switch):
        facts["load_balancing/interfaces"] = ",".join(sorted(dynamic_ports(switch)))
    else:
        for path in ("load_balancing/mode", "load_balancing/flowlet_idle_us"):
            facts.pop(path, None)
    facts["platform/load_sharing"] = load_sharing(switch)
    facts["platform/hash_seed"] = HASH_SEEDS[switch.tier_index]


_PORT = re.compile(r"Eth(?:ernet)?(\d+(?:/\d+)+)|(all)")


def _dynamic_ports(text: str) -> str | None:
    """Return the ports of `Eth1/1,Eth1/3-4`, comma-joined; None when any part is not known."""
    listed = rows.parse_ports("".join(text.split()))
    found = [_PORT.fullmatch(name) for name in ([listed] if isinstance(listed, str) else listed or ())]
    names = [each[2] or f"Ethernet{each[1]}" for each in found if each]
    return ",".join(names) if names and len(names) == len(found) else None


def _dynamic_mac(address: str) -> Mapping[str, Value]:
    return {} if address.lower() == DEFAULT_DLB_MAC else {"load_balancing/mac": address}


def _hashing_facts(text: str) -> Mapping[str, Value]:
    """Return what is hashed, and the seed where it is stated."""
    _, _, seed = text.partition("universal-id ")
    first = seed.partition(" ")[0]
    known = {"platform/hash_seed": int(first)} if is_number(first) else {}
    return {"platform/load_sharing": text, **known}


TYPES: Types = {"dynamic mode": {word: mode.value for mode, word in DLB_MODES.items()}}
ROWS: Sequence[Row] = (
    Fact("ip load-sharing address <rest>", _hashing_facts),
    Block("hardware profile dlb", "", (
        Fact("mode <dynamic mode>", "load_balancing/mode"),
        Fact("flowlet-aging <integer>", "load_balancing/flowlet_idle_us"),
        Fact("mac-address <word>", _dynamic_mac),
        Entry("dlb-interface <rest>", "dynamic ports", _dynamic_ports),
    )),
)  # fmt: skip


def finish(document: Document) -> None:
    """State the ports that share load dynamically."""
    ports = {
        name: line
        for text, line in document.scope.table("dynamic ports").values()
        for name in str(text).split(",")
    }
    if ports:
        document.put("load_balancing/interfaces", ",".join(sorted(ports)), max(ports.values()))


TOPIC = Topic(ROWS, finish)
