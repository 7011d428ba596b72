"""Defaults of systems for settings that a configuration omits, as far as rules over foreign switches need them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from fabricc.fabric.facts import Reading, Value

_CLASSIFIES = frozenset({"eos"})
"""Systems whose routed ports classify by DSCP without a statement (EOS user manual, "Quality of Service")."""

_ONE_PATH = frozenset({"eos", "nxos"})
"""Systems whose BGP installs one path without a statement (EOS and NX-OS command references: `maximum-paths`)."""

_ROUTED_MTU = {"eos": 1500, "nxos": 1500, "junos": 1500, "frr": 1500, "cumulus": 9216, "sonic": 9100}
"""IP MTU of a routed port that states none (EOS, NX-OS and Cumulus Linux user guides, Junos "Media MTU Sizes by
Interface Type", Linux `ether_setup`, SONiC `sonic-port.yang`).
"""


def default_mtu(system: str) -> int | None:
    """Return the IP MTU of a routed port without a statement, None where it is not known."""
    return _ROUTED_MTU.get(system)


def certain_default_mtu(system: str) -> int | None:
    """Return the default if a port of a system has it for certain: no other file of the device states MTUs."""
    return _ROUTED_MTU[system] if system in _WHOLE else None


_WHOLE = frozenset({"eos", "nxos", "junos"})
"""Systems whose ports are configured in one file."""


class OspfDefaults(NamedTuple):
    """The kind of network and the intervals of an Ethernet port without a statement."""

    network: str = "broadcast"
    hello_s: int = 10
    dead_s: int = 40


def ospf_defaults(system: str) -> OspfDefaults | None:
    """Return the defaults of OSPF (EOS, NX-OS and FRR user guides, "OSPF"), None where they are not known."""
    return OspfDefaults() if system in ("eos", "nxos", "frr") else None


def states_addresses_in_one_file(system: str) -> bool:
    """Return whether a system has the addresses of ports and loopbacks in one file."""
    return system in _WHOLE or system == "cumulus"


def classifies_by_default(system: str) -> bool:
    """Return whether a routed port of a system puts packets into classes by their code points without a statement."""
    return system in _CLASSIFIES


def installs_one_path_by_default(system: str) -> bool:
    """Return whether BGP of a system installs one path where no number of equal paths is stated."""
    return system in _ONE_PATH


def states_every_routed_port(system: str) -> bool:
    """Return whether files of a system that make one port routed make each routed port so: NX-OS omits the default."""
    return system == "nxos"


def bridges_by_default(system: str, model: str | None, facts: Collection[str]) -> bool:
    """Return whether an Ethernet port bridges without a statement, and its addresses have no effect.

    EOS user manual, "Switchport Mode Routed"; NX-OS of Nexus 9000, the only one with models here, "Configuring Layer 2
    Interfaces". A whole running configuration of EOS states the model of its routing agents, an excerpt may omit lines.
    """
    if system == "eos":
        return is_whole(facts)
    return system == "nxos" and model is not None


def accepts_every_number(system: str) -> bool:
    """Return whether a session without the neighbor's AS number can be external (not on Junos: `peer-as`)."""
    return system != "junos"


def exports_connected(system: str) -> bool:
    """Return whether exports of BGP apply to connected routes and aggregates as well (Junos policy user guide)."""
    return system == "junos"


def may_announce_loopback(system: str) -> bool:
    """Return whether a system announces its loopback by itself, depending on its files."""
    return system == "sonic"


def announces_loopback(file: str) -> bool:
    """Return whether such a system announces its loopback where this file states its AS number.

    SONiC does, where FRR has no file of its own (sonic-buildimage, dockers/docker-fpm-frr/frr/bgpd/bgpd.main.conf.j2).
    """
    return not file.endswith(".conf")


def states_dropping(path: str) -> bool:
    """Return whether a fact states that a queue drops packets early, or never marks them.

    That is `random-detect` of NX-OS without ECN, and a drop profile of Junos that does not rise from 0, or that is for
    other packets than those of a low loss priority.
    """
    return path.startswith("qos/setting[") and (
        path.endswith(" random-detect]")
        or " drop-probability " in path
        or " drop-profile-map loss-priority high " in path
    )


def class_statement(number: int) -> str:
    """Return the words by which a policy of NX-OS puts packets into a class, at another line than what they match."""
    return f"qos-group {number}"


def drops_in_queue(leaf: str, queue: int) -> bool:
    """Return whether a fact of a port states that a queue drops packets early (EOS, `random-detect drop`)."""
    return leaf == f"qos_setting[queue {queue} random-detect drop]"


def class_of_unlisted(system: str) -> int | None:
    """Return the class of code points that a map leaves out; None where the system has a map of its own.

    Junos puts them into `best-effort`, which is queue 0 ("Overview of Assigning Service Levels to Packets").
    """
    return 0 if system == "junos" else None


def installs_one_route(system: str, facts: Collection[str]) -> bool:
    """Return whether the forwarding table has one of several equal routes.

    Junos needs a policy with `load-balance per-packet` ("Configuring Per-Packet Load Balancing").
    """
    return system == "junos" and "platform/load_balance" not in facts


_PARTS = {
    "nxos": (re.compile(r"Ethernet1/(\d+)/(\d+)"), "cage[{}]/breakout", 1),
    "cumulus": (re.compile(r"(swp\d+)s(\d+)"), "breakout[{}]", 0),
    "junos": (re.compile(r"((?:et|xe)-\d+/\d+/\d+):(\d+)"), "platform/sub_ports[{}]", 0),
}
"""System -> name of a part of a split port, the fact that splits the port, and the number of the first part."""


def states_splits(system: str, model: str | None, facts: Iterable[str]) -> bool:
    """Return whether the files of a switch state all ports that are split: other forms and files are not read."""
    if system == "nxos":
        return any(path.startswith("system/feature[") for path in facts)
    if system == "cumulus":
        return "system/api_version" in facts
    return str(model).startswith("qfx52")


def splitting_fact(system: str, port: str) -> tuple[str, int] | None:
    """Return the path of the fact that splits the port of a part, and the place of the part from 0; None for others."""
    form, path, first = _PARTS.get(system, (None, "", 0))
    match = form.fullmatch(port) if form else None
    return (path.format(match[1]), int(match[2]) - first) if match else None


def accepts_the_rest(system: str, facts: Collection[str]) -> bool:
    """Return whether a chain of nftables accepts logins from some networks, and no rule drops those from others."""
    return system == "frr" and "management/access" in facts and "management/access_else" not in facts


def only_reports(action: str) -> bool:
    """Return whether a PFC watchdog with an action leaves a stuck queue (EOS and SONiC command references)."""
    return action in ("notify-only", "alert")


def lacks_lossless_pool(system: str, facts: Mapping[str, object]) -> bool:
    """Return whether a whole file states no pool, so that the system gives all of the buffer to lossy traffic.

    NVIDIA's user guide, "Quality of Service", flow control buffers: 100 % to `default-lossy` by default. The RoCE
    profile has pools of its own.
    """
    whole = system == "cumulus" and "system/api_version" in facts
    return whole and not any(path.startswith(_POOLS) for path in facts)


_POOLS = ("pool", "qos/roce", "qos/setting[roce]", "qos/setting[traffic-pool]")


_PORT_FORWARDING = ("setting[ip ipv4 forward]", "setting[ipv4 forward]")
_FORWARDING_OFF = ("off", "disabled")


def forwards_nothing(leaf: str, value: object) -> bool:
    """Return whether a fact of a port states that it forwards no IPv4 packets (NVUE, `ip ipv4 forward off`)."""
    return leaf in _PORT_FORWARDING and value in _FORWARDING_OFF


def names_communities(system: str) -> bool:
    """Return whether policies of a system add communities by names that must be defined (Junos policy user guide)."""
    return system == "junos"


def sends_communities_unstated(system: str) -> bool:
    """Return whether BGP of a system sends communities without a statement.

    FRR and Junos do (FRR user guide, `neighbor PEER send-community`; Junos BGP user guide); EOS and NX-OS do not (EOS
    and NX-OS command references).
    """
    return system not in _ONE_PATH


def sends_route_targets(system: str, stated: Iterable[str]) -> bool:
    """Return whether a session sends extended communities; `stated`: its settings about communities, as text.

    FRR and Junos send them (FRR user guide, `neighbor PEER send-community`). EOS sends all with `send-community`, NX-OS
    standard ones (EOS and NX-OS command references).
    """
    if system not in _ONE_PATH:
        return True
    texts = [*stated]
    kinds = [
        each for each in texts if "send-community" in each
    ]  # of EOS, beside a statement that any are sent
    return any("extended" in each or "both" in each for each in texts) or (
        system == "eos" and bool(texts) and not any("standard" in each for each in kinds)
    )


_STATED_DISTINGUISHERS = frozenset({"eos", "nxos", "junos"})
_DERIVES_DISTINGUISHERS = re.compile(r"routing/setting\[route-distinguisher-id(-use-router-id)?\]")


def derives_distinguishers(system: str, facts: Iterable[str]) -> bool:
    """Return whether a VRF without a route distinguisher gets one.

    FRR derives it (FRR user guide, "EVPN"). EOS and NX-OS announce nothing of a VRF without `rd` (their EVPN
    configuration guides), and Junos rejects a `vrf` instance without `route-distinguisher`, unless
    `route-distinguisher-id` has it derive one (Junos CLI reference).
    """
    return system not in _STATED_DISTINGUISHERS or any(map(_DERIVES_DISTINGUISHERS.fullmatch, facts))


_VTEP_SOURCES = {
    "eos": re.compile(r"^\s*vxlan source-interface \S", re.M),
    "nxos": re.compile(
        r"^interface nve\d+\n(?:[ \t]+.*\n)*?[ \t]+source-interface (?!hold-down-time)\S", re.M
    ),
}


def lacks_vtep_source(system: str, texts: Iterable[str]) -> bool:
    """Return whether the files of a system with VNIs name no source of VXLAN, without which no tunnel is up.

    EOS and NX-OS need `source-interface` (their VXLAN configuration guides).
    """
    wanted = _VTEP_SOURCES.get(system)
    return wanted is not None and not any(map(wanted.search, texts))


def announces_by_statement(system: str) -> bool:
    """Return whether a VRF announces prefixes as EVPN routes only by a statement that its facts show.

    FRR needs `advertise ipv4 unicast` (FRR user guide, "EVPN type-5 routes"), so SONiC does too.
    """
    return system in ("frr", "sonic")


_FOR_EVPN = (
    "evpn/vrf[{}]/route_target", "vrf[{}]/evpn/setting[ip-prefix-routes encapsulation]",
    "vrf[{}]/bgp/setting[route-export]", "vrf[{}]/bgp/setting[ipv4 route-export]",
)  # fmt: skip
_TARGETS, _TUNNEL_SOURCES = ("vrf[{}]/import", "vrf[{}]/export"), ("evpn/source", "vxlan/source")


def expects_vni(vrf: str, facts: Mapping[str, object], line_of: Callable[[str], str]) -> str:
    """Return the fact by which a VRF without a VNI is meant to be in EVPN; "" without one.

    Route targets of a switch that also has MPLS may be those of L3VPN (RFC 4364). Of NX-OS, those whose line has no
    `evpn` join VRFs of one switch or are of L3VPN (Nexus 9000 NX-OS VXLAN guide, centralized VRF route leaking).

    Args:
        vrf: its name.
        facts: of the switch.
        line_of: returns the line that states a fact.
    """
    own = next((path for path in (each.format(vrf) for each in _FOR_EVPN) if path in facts), "")
    if own and (own[0] == "v" or any(each in facts for each in _TUNNEL_SOURCES)):
        return own if "route-export" not in own or "to-evpn" in str(facts[own]) else ""
    if not any(each in facts for each in _TUNNEL_SOURCES) or any("mpls" in path for path in facts):
        return ""
    targets = (path for path in (each.format(vrf) for each in _TARGETS) if path in facts)
    return next((path for path in targets if "evpn" in line_of(path).split()), "")


def may_have_subnet_address(system: str) -> bool:
    """Return whether a system lets a port have the first or the last address of a larger subnet, as Linux does."""
    return system not in _ONE_PATH


def lists_vlans(system: str) -> bool:
    """Return whether the files of a system list all its VLANs, so that an interface of another VLAN stays down."""
    return system in _ONE_PATH


_MOST_PATHS = {"eos": 600, "nxos": 128}


def most_paths(system: str) -> int:
    """Return how many equal paths BGP of a system takes at most (EOS and NX-OS command references); 0 if unknown."""
    return _MOST_PATHS.get(system, 0)


def names_sources(system: str) -> bool:
    """Return whether services of a system name the port that they send from, and ports the length of their subnet."""
    return system in _ONE_PATH


def agents_without_evpn(facts: Mapping[str, object]) -> str:
    """Return the fact that selects routing agents without EVPN: `ribd` of EOS (Arista EVPN guide); "" for none."""
    return "platform/routing_agents" if facts.get("platform/routing_agents") == "ribd" else ""


def states_segments(system: str) -> bool:
    """Return whether the EVPN routes of a VLAN need their own statements: `vlan` below `router bgp` of EOS."""
    return system == "eos"


_PAIRS = {
    "eos": {
        "mlag/domain": "domain", "mlag/local": "local interface", "mlag/peer": "peer address",
        "mlag/peer_link": "peer link",
    },
    "nxos": {"mlag/domain": "domain", "mlag/backup": "peer keepalive", "mlag/peer_link": "peer link"},
}  # fmt: skip


def parts_of_pair(system: str) -> Mapping[str, str]:
    """Return the facts without which a pair of switches is not up, and what they are.

    Sources: Arista EOS user manual, "MLAG"; Nexus 9000 NX-OS interfaces guide, "Configuring vPCs".
    """
    return _PAIRS.get(system, {})


def shares_vtep(system: str) -> bool:
    """Return whether the source of VXLAN of both switches of a pair has one address (Arista EOS manual, "VXLAN")."""
    return system == "eos"


_NO_ROUTE = re.compile(
    r"routing/setting\[(?:ip (?:address virtual|load-sharing|hardware|icmp|virtual-router|domain|arp)|arp|logging)\b.*"
)


def leads_nowhere(path: str) -> bool:
    """Return whether a fact about routing neither adds a route nor lets packets take another way (EOS, NX-OS)."""
    return path[0] == "r" and bool(_NO_ROUTE.match(path))


def stays_unrouted(system: str, vrf: Collection[str]) -> bool:
    """Return whether a VRF with these facts routes nothing: EOS needs `ip routing vrf` (its manual, "VRF")."""
    return system == "eos" and "routed" not in vrf


def needs_gateway_mac(system: str, texts: Iterable[str]) -> bool:
    """Return whether virtual addresses of gateways need a stated MAC address, which all switches share.

    These are `ip virtual-router mac-address` of EOS and `fabric forwarding anycast-gateway-mac` of NX-OS (their guides
    of VXLAN and, for EOS, VARP); HSRP has one of its own.
    """
    anycast = "fabric forwarding mode anycast-gateway"
    return system == "eos" or (system == "nxos" and any(anycast in text for text in texts))


def unset_tunnel_copies(system: str) -> tuple[str, ...]:
    """Return the facts about headers of VXLAN that hold only where they are stated.

    EOS derives the outer code point from the traffic class and clears ECN (Arista user manual, "VXLAN DSCP Mapping").
    """
    return ("evpn/outer_dscp", "evpn/ecn") if system == "eos" else ()


_NO_COPY = "routing/setting[vxlan-disable-copy-tos-encap]"


def disabled_tunnel_copies(facts: Collection[str]) -> Mapping[str, str]:
    """Return what a switch does not copy into the outer header of VXLAN -> the fact that states it (Junos)."""
    return {"evpn/outer_dscp": _NO_COPY, "evpn/ecn": _NO_COPY} if _NO_COPY in facts else {}


def drops_unimported_targets(system: str, facts: Mapping[str, object]) -> bool:
    """Return whether a switch drops EVPN routes whose route targets none of its VRFs imports.

    NX-OS does without `retain route-target all` (Nexus 9000 NX-OS VXLAN guide, "Configuring VXLAN BGP EVPN", eBGP).
    """
    return system == "nxos" and facts.get("evpn/route_targets") != "all"


def changes_next_hops(system: str) -> bool:
    """Return whether BGP of a system is the next hop of EVPN routes that it passes on, unless a session states it.

    FRR leaves the next hop of these routes (FRR user guide, "EVPN"); EOS, NX-OS and Junos do not (Junos CLI reference,
    `no-nexthop-change`).
    """
    return system in _ONE_PATH or system == "junos"


def states_confederation_members(system: str) -> bool:
    """Return whether the fact of a confederation has the members that the switch knows (FRR user guide, "BGP")."""
    return system in ("frr", "sonic")


def is_log_sender(system: str) -> bool:
    """Return whether the file with a log server is that of the agent itself, as `rsyslog.conf` of FRR on Linux."""
    return system == "frr"


def states_pfc(system: str) -> bool:
    """Return whether the files of a system state PFC; those of FRR on Linux leave it to the NIC's driver."""
    return system != "frr"


def hashes_addresses_alone(path: str, value: object) -> bool:
    """Return whether a fact states that equal paths are chosen without the ports of UDP and TCP."""
    text = str(value)
    if path == "platform/load_sharing":
        return " port " not in f"{text} "
    if path == "bridging/setting[port-channel load-balance]":
        return "mac" in text and "ip" not in text
    if path[0] in "rp" and (fields := _EOS_FIELDS.fullmatch(path)):
        return "port" not in fields[1] and "tcp-udp" not in fields[1]
    if path == "table[SWITCH_HASH|GLOBAL ecmp_hash]":
        return "L4_SRC_PORT" not in text
    if path == "qos/setting[hash_config.sport]":
        return text == "false"
    if path.startswith(_JUNOS_HASH):
        return bool(_WITHOUT_PORTS.search(text))
    if path in _KERNEL_FIELDS:
        return is_number(text) and not int(text) & _PORT_FIELDS
    return path in _KERNEL_HASH and text not in ("1", "3")


_EOS_FIELDS = re.compile(
    r"(?:routing|platform)/setting\[(?:ip load-sharing|port-channel load-balance) \S+ fields ip(?:v6)? (.*)\]"
)
"""Arista EOS user manual, `ip load-sharing` and `port-channel load-balance`."""
_JUNOS_HASH = ("routing/setting[enhanced-hash-key inet]", "routing/setting[enhanced-hash-key hash-mode]")
_WITHOUT_PORTS = re.compile(r"\bno-l4-source-port\b|\blayer2-header\b")
"""Junos CLI reference, `enhanced-hash-key`: ports and the payload of layer 2 are left out of the hash."""

_KERNEL_HASH = ("kernel[net.ipv4.fib_multipath_hash_policy]", "kernel[net.ipv6.fib_multipath_hash_policy]")
_KERNEL_FIELDS = ("kernel[net.ipv4.fib_multipath_hash_fields]", "kernel[net.ipv6.fib_multipath_hash_fields]")
_PORT_FIELDS = 0x0030
"""Linux: 0 hashes addresses alone, 2 those of the inner packet, 3 the chosen fields, of which two are of ports
(Documentation/networking/ip-sysctl.rst).
"""


_ROLE_SEEDS = {"ToRRouter": 0, "LeafRouter": 10, "SpineRouter": 25}
"""Part of a role of SONiC -> the hash seed that orchagent starts with (sonic-buildimage, switch.json.j2)."""


def seed_of_role(path: str, value: object) -> int | None:
    """Return the hash seed that follows from a fact about the role of a switch, None for any other fact."""
    if path != "system/type":
        return None
    return next((seed for part, seed in _ROLE_SEEDS.items() if part in str(value)), None)


_STILL = {
    "routing/enabled[ipv4]": "ipv4", "routing/enabled[ipv6]": "ipv6", "kernel[net.ipv4.ip_forward]": "ipv4",
    "kernel[net.ipv4.conf.all.forwarding]": "ipv4", "kernel[net.ipv6.conf.all.forwarding]": "ipv6",
}  # fmt: skip


def unrouted_family(path: str, value: object) -> str:
    """Return the address family that a fact keeps a switch from routing; "" for other facts."""
    return _STILL.get(path, "") if value in ("false", "0", 0) else ""


def unset_kernel(system: str, facts: Collection[str]) -> tuple[str, ...]:
    """Return what a Linux switch that sets other kernel parameters leaves at 0: forwarding, and hashing of ports.

    Both are 0 by default (Documentation/networking/ip-sysctl.rst); FRR does not set them.
    """
    if system != "frr" or not any(path.startswith("kernel[") for path in facts):
        return ()
    forwarding = () if _FORWARDING.intersection(facts) else ("ipv4",)
    return (*forwarding, *(("hash",) if _KERNEL_HASH[0] not in facts else ()))


_FORWARDING = frozenset({"kernel[net.ipv4.ip_forward]", "kernel[net.ipv4.conf.all.forwarding]"})


def has_strict_rpf(path: str, value: object) -> bool:
    """Return whether a fact of a port, or of all, drops packets from sources that are not reached over the same port.

    Linux: 1 is strict, 2 is loose (ip-sysctl); `rx` is strict on EOS and NX-OS, a mode of Junos is loose.
    """
    if path == "setting[ip verify unicast]":
        return "reachable-via rx" in str(value)
    if path in ("kernel[net.ipv4.conf.all.rp_filter]", "kernel[net.ipv4.conf.*.rp_filter]"):
        return str(value) == "1"
    return path == "setting[rpf-check]" and value == "true"


def port_with_strict_rpf(path: str, value: object) -> str:
    """Return the port whose sources Linux checks strictly by a setting of its own, "" for none."""
    match = _PORT_RPF.fullmatch(path)
    return match[1] if match and str(value) == "1" else ""


_PORT_RPF = re.compile(r"kernel\[net\.ipv4\.conf\.(.+)\.rp_filter\]")


def is_whole(facts: Collection[str]) -> bool:
    """Return whether a file of EOS is a whole running configuration, which states the routing agents or these two.

    EOS prints the mode of spanning tree even if it is the default (EOS user manual, "Spanning Tree").
    """
    users = "spanning_tree/mode" in facts and any(path.startswith("user[") for path in facts)
    return "platform/routing_agents" in facts or users


def may_route_by_default(system: str, facts: Collection[str]) -> bool:
    """Return whether a system may route IPv4; EOS does after `ip routing` (user manual, "IPv4").

    A whole running configuration of EOS states the model of its routing agents, an excerpt often does not.
    """
    whole = system == "eos" and is_whole(facts)
    return not whole or "platform/routing" in facts or "routing/enabled[ipv4]" in facts


class RateLimit(NamedTuple):
    """A limit on what a port or a queue sends, in percent of the port's speed; `queue` is None for the whole port.

    Attributes:
        storm: whether it limits what a port receives, by storm control.
    """

    queue: int | None
    percent: float
    storm: bool = False


_RATE = re.compile(r"(\d+) ?(percent|kbps|mbps|gbps|[kmg](?!\w))?")
_KBPS = {"kbps": 1, "mbps": 1000, "gbps": 1_000_000, "k": 1, "m": 1000, "g": 1_000_000}
_PORT_LIMITS = ("qos_setting[shape rate]", "qos_setting[shape]", "qos_setting[shaping-rate]")
_STORM = re.compile(r"setting\[storm-control(?: (?:all|unicast|unknown-unicast))?(?: level)?\]")
_LEVEL = re.compile(r"(?:(?:all|unicast|unknown-unicast) )?(?:level )?(\d+(?:\.\d+)?)(?: percent)?")
_QUEUE_LIMIT = re.compile(
    r"(?:qos_setting\[queue (?=\d+ shape rate\])|queue\[)(\d+)"
    r"(?: shape rate\]|\]/(?:qos_)?(?:setting\[shape rate\]|shaping_percent|scheduler))"
)
_CLASS_LIMIT = re.compile(r"qos/setting\[.*q(\d) shape\]")


_LONGEST_PACKET = 9216
"""Bytes of the longest packet: a limit in packets permits no more than so many each."""


def rate_limit(leaf: str, value: object, speed_gbps: int | None) -> RateLimit | None:
    """Return the limit that a fact of a port, or one about a class of all ports, states.

    EOS counts in kb/s where no unit follows `shape rate`, NX-OS states a minimum before the maximum, and the `pir` of a
    SONiC scheduler is in bytes a second (EOS and NX-OS command references, sonic-scheduler.yang).
    """
    text, queue = str(value), None
    if _STORM.fullmatch(leaf):
        level = _LEVEL.fullmatch(text)
        return RateLimit(None, float(level[1]), storm=True) if level else None
    if match := _QUEUE_LIMIT.fullmatch(leaf) or _CLASS_LIMIT.fullmatch(leaf):
        queue = int(match[1])
    elif leaf not in _PORT_LIMITS:
        return None
    if leaf.endswith("/shaping_percent"):
        return RateLimit(queue, float(text)) if is_number(text) else None
    if leaf.endswith("/scheduler"):
        peak = text.partition(" pir ")[2].partition(" ")[0]
        if not is_number(peak) or not speed_gbps:
            return None
        most = _LONGEST_PACKET if "meter_type packets" in text else 1
        return RateLimit(queue, int(peak) * most * 8 * 100 / (speed_gbps * 1e9))
    found = _RATE.search(text.rpartition("max ")[2])
    if found is None:
        return None
    if found[2] == "percent":
        return RateLimit(queue, float(found[1]))
    if not speed_gbps:
        return None
    return RateLimit(queue, int(found[1]) * _KBPS[found[2] or "kbps"] * 100 / (speed_gbps * 1_000_000))


_OFF = {
    "platform/setting[no lldp run]": "true", "system/feature[lldp]": "off", "lldp/enabled": "false",
    "daemon[lldpd]/enabled": "no",
}  # fmt: skip


def fact_without_lldp(facts: Mapping[str, Value]) -> str:
    """Return the fact that switches LLDP off on a whole switch, "" for none."""
    return next((path for path, off in _OFF.items() if str(facts.get(path)) == off), "")


_NO_LLDP = {
    "setting[no lldp transmit]": "true", "setting[no lldp receive]": "true", "setting[lldp transmit]": "off",
    "setting[lldp receive]": "off",
}  # fmt: skip
_NO_LLDP_LINE = re.compile(
    r"protocols lldp interface (\S+?)(?:\.0)? disable|configure ports (\S+) lldp status (?:disabled|rx-only)"
)


def port_fact_without_lldp(values: Mapping[str, Value]) -> str:
    """Return the fact of a port that switches LLDP off there, "" for none."""
    return next((leaf for leaf in _NO_LLDP.keys() & values.keys() if str(values[leaf]) == _NO_LLDP[leaf]), "")


def port_without_lldp(text: str) -> str:
    """Return the port on which a line that no row reads switches LLDP off; "" for none."""
    match = _NO_LLDP_LINE.fullmatch(text.strip())
    return match[1] or match[2] if match else ""


_LLDP_ONLY_IF_STATED = ("nxos", "junos")
"""Systems that run LLDP only where the configuration enables it (`feature lldp`, `protocols lldp interface all`)."""


def lacks_lldp(nos: str, reading: Reading) -> bool:
    """Return whether a switch runs no LLDP since no line enables it."""
    if nos not in _LLDP_ONLY_IF_STATED or any("lldp" in path for path in reading.facts):
        return False
    return not any("lldp" in text for _, _, text in reading.unknown)


_SERVER_LINES = (
    re.compile(r"(?P<service>ntp server|logging|ip name-server) vrf (?P<vrf>\S+) .*"),
    re.compile(r"(?P<service>ntp server|logging server|ip name-server) .*\buse-vrf (?P<vrf>\S+).*"),
    re.compile(r"(?:system )?(?P<service>ntp|syslog)?\b.*\brouting-instance (?P<vrf>[^\s;]+);?"),
)


def built_in_instances(facts: Mapping[str, object]) -> tuple[str, ...]:
    """Return the routing instances that a switch with these facts has without a definition."""
    of_management = ("mgmt_junos",) if "platform/management_instance" in facts else ()
    return ("default", "management", *of_management)


def server_instance(text: str) -> tuple[str, str] | None:
    """Return the service and the routing instance that a line about a server names."""
    for pattern in _SERVER_LINES:
        if match := pattern.fullmatch(text.strip()):
            return match["service"] or "a server", match["vrf"]
    return None


_STRAY_SERVER = re.compile(
    r"(?:system )?(?P<service>ntp server|(?:logging|syslog) host|logging server) (?P<server>[0-9a-f.:]+)"
    r"(?!.*\b(?:use-vrf|vrf|routing-instance)\b).*"
)


_STRAY_ROW = re.compile(r"SYSLOG_SERVER\|(\S+) without vrf mgmt")
"""A row of SONiC, whose servers are in the default VRF unless their rows name another (rsyslog.conf.j2)."""


def row_of_fabric(text: str) -> tuple[str, str] | None:
    """Return the path of a service and the server of a row that names no routing instance."""
    match = _STRAY_ROW.fullmatch(text)
    return match and ("management/syslog", match[1])


def server_of_fabric(text: str) -> tuple[str, str] | None:
    """Return the path of a service and the server of a line that names no routing instance."""
    match = _STRAY_SERVER.fullmatch(text.strip())
    return match and (
        f"management/{'ntp' if match['service'].startswith('ntp') else 'syslog'}",
        match["server"],
    )


def may_use_management(text: str) -> bool:
    """Return whether a server whose line names no routing instance may be looked for in that of management.

    Published NX-OS switches have `logging server` so next to other servers in the VRF `management`.
    """
    return text.strip().startswith("logging server ")


_NO_AUTHENTICATION = re.compile(r"management/aaa(?:\[|/)authentication login (?:default|console)\]?")


def opens_logins(path: str, value: object) -> str:
    """Return what a fact about logins opens; "" for nothing.

    EOS and NX-OS let people in without a check by the method `none`.
    """
    if path.startswith("management/snmp_group[") and "noauth" in str(value).split()[:1]:
        return "answers SNMPv3 without a check of who asks"
    none = _NO_AUTHENTICATION.fullmatch(path) and "none" in str(value).split()
    return "lets people log in without a password where no server answers" if none else ""


_REPORTED = {
    "unread[routing-instance mgmt_junos]": "platform/management_instance",
    "unread[protocols lldp]": "lldp/interval_s",
}


def reported_part(path: str) -> str:
    """Return the fact that is missing where lines without effect are reported, "" for none."""
    return _REPORTED.get(path, "")


_TEARDOWN = re.compile(r"setting\[family \S+ \S+ (?:accepted-)?prefix-limit teardown.*\]")
_ACCEPTED = re.compile(r"setting\[family \S+ \S+ accepted-prefix-limit maximum\]")


def ending_limit(values: Mapping[str, Value]) -> int | None:
    """Return the number of prefixes that ends a session, for good or for some time; None without one.

    Junos writes a message only, unless a session has `teardown` (Juniper, `prefix-limit`).
    """
    stated = values.get("maximum_prefixes")
    if isinstance(stated, int):
        return stated
    if not any(map(_TEARDOWN.fullmatch, values)):
        return None
    accepted = next((value for leaf, value in values.items() if _ACCEPTED.fullmatch(leaf)), "")
    limits = (str(each).partition(" ")[0] for each in (stated, accepted))
    return min((int(each) for each in limits if is_number(each)), default=None)


class UnsafeLine(NamedTuple):
    """A line that no row reads, and by which people reach a switch who should not: what it does, and its kind."""

    words: str
    kind: str


_UNSAFE_LINES = (
    (re.compile(r"snmp\S*\b.*\bcommunity \"?(public|private)\b.*"), "answers SNMP with the community {0}",
     "SNMP community"),
    (re.compile(r"SNMP_COMMUNITY\|.* TYPE: RW"), "lets whoever has an SNMP community change settings",
     "SNMP community"),
    (re.compile(r"protocol http(?: port \d+)?|nxapi http(?: port \d+)?|ip http server|.*\bweb-management http(?: .*)?"
                r"|system services (?:rest http|xnm-clear-text)(?: .*)?"),
     "accepts HTTP, which sends passwords in the clear", "HTTP"),
    (re.compile(r"(?:system services )?(?:ftp|rlogin|rsh)(?: .*)?|feature (?:ftp|tftp)-server|ip ftp server.*"
                r"|system services (?:tftp-server|finger|telnet)(?: .*)?"),
     "accepts FTP, Telnet, remote shells or the like, which send passwords in the clear", "FTP"),
    (re.compile(r"system services ssh protocol-version v1"), "accepts version 1 of SSH, which is broken", "SSH"),
    (re.compile(r"system services extension-service request-response grpc clear-text(?: .*)?"),
     "accepts gRPC without encryption, which sends passwords in the clear", "gRPC"),
    (re.compile(r"system login user (\S+) authentication encrypted-password"), "has the account {0} without a password",
     "password"),
    (re.compile(r"username (\S+) .*\b(?:secret|password) 0 (?:\1|admin|password|cisco|arista|juniper)\b.*"),
     "has the account {0} with a password that everyone tries first", "password"),
    (re.compile(r"(?:nv set system ssh-server )?permit-root-login:? '?(?:enabled|yes|on)'?"),
     "lets root log in over SSH", "root"),
    (re.compile(r"auth-none:.*"), "answers SNMPv3 without authentication", "SNMP user"),
    (re.compile(r"(?:aaa )?root (?:secret|password) (?:0 .*|\"?(?:admin|root|arista|password)\"?)"),
     "has root with a password in the clear", "root"),
    (re.compile(r"aaa authentication policy local allow-nopassword-remote-login"),
     "lets accounts without a password log in over the network", "no password"),
    (re.compile(r"authentication empty-passwords permit"), "lets accounts without a password log in over SSH",
     "no password"),
    (re.compile(r"access-class (\S+) out"), "limits with {0} where its users go, and not who logs in", "logins"),
    (re.compile(r"(?:aaa )?root nopassword"), "lets people log in as root without a password", "root"),
)  # fmt: skip


def unsafe_line(text: str) -> UnsafeLine | None:
    """Return what a line without a meaning for the fabric opens, None for one that opens nothing."""
    for pattern, words, kind in _UNSAFE_LINES:
        if match := pattern.fullmatch(text.strip()):
            return UnsafeLine(words.format(*match.groups()), kind)
    return None
