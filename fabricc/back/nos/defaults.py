"""What interfaces and routing protocols of systems do where a configuration states nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping

    from fabricc.fabric.facts import Value

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


def installs_one_path_by_default(system: str) -> bool:
    """Return whether BGP of a system installs one path where no number of equal paths is stated."""
    return system in _ONE_PATH


def states_every_routed_port(system: str) -> bool:
    """Return whether files of a system that make one port routed make each routed port so: NX-OS omits the default."""
    return system == "nxos"


def bridges_by_default(system: str, model: str | None, facts: Collection[str], release: str = "") -> bool:
    """Return whether an Ethernet port bridges without a statement, and its addresses have no effect.

    EOS user manual, "Switchport Mode Routed"; NX-OS of Nexus 9000 and 3000, "Configuring Layer 2 Interfaces", which
    alone have releases from 9 on, and such with I or U. A whole running configuration of EOS states the model of its
    routing agents, an excerpt may omit lines.
    """
    if system == "eos":
        return is_whole(facts)
    return system == "nxos" and (model is not None or _OF_NEXUS_9000.match(release) is not None)


_OF_NEXUS_9000 = re.compile(r"(?:9|1\d)\.|\d\.\d+\(\d+\)[IU]")


def accepts_every_number(system: str) -> bool:
    """Return whether a session without the neighbor's AS number can be external (not on Junos: `peer-as`)."""
    return system != "junos"


def exports_connected(system: str) -> bool:
    """Return whether exports of BGP apply to connected routes and aggregates as well (Junos policy user guide)."""
    return system == "junos"


def negotiates(system: str) -> str | None:
    """Return whether a port without a statement negotiates, None if that depends on the platform.

    SONiC sets nothing then (sonic-swss, portsorch.cpp), and ports of switches are without it (SAI, saiport.h).
    """
    return "off" if system == "sonic" else None


def may_announce_loopback(system: str) -> bool:
    """Return whether a system announces its loopback by itself, depending on its files."""
    return system == "sonic"


def announces_loopback(file: str, facts: Container[str]) -> bool:
    """Return whether such a system announces its loopback where this file states its AS number.

    SONiC does, where FRR has no file of its own (sonic-buildimage, dockers/docker-fpm-frr/frr/bgpd/bgpd.main.conf.j2),
    and the tables of frrcfgd, which have an identifier, do not replace that template.
    """
    return not file.endswith(".conf") and "bgp/router_id" not in facts


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


def may_have_subnet_address(system: str) -> bool:
    """Return whether a system lets a port have the first or the last address of a larger subnet, as Linux does."""
    return system not in _ONE_PATH


def lists_vlans(system: str) -> bool:
    """Return whether the files of a system list all its VLANs, so that an interface of another VLAN stays down."""
    return system in _ONE_PATH


_MOST_PATHS = {"eos": 600, "nxos": 128, "frr": 256, "cumulus": 256, "sonic": 514}


def most_paths(system: str) -> int:
    """Return how many equal paths BGP of a system takes at most; 0 if unknown.

    Sources: EOS and NX-OS command references; `--enable-multipath` of the packages of FRR, and of SONiC's image.
    """
    return _MOST_PATHS.get(system, 0)


def creates_instances(system: str) -> bool:
    """Return whether a port in a routing instance that no line creates stays down (NX-OS, `vrf context`)."""
    return system == "nxos"


def names_sources(system: str) -> bool:
    """Return whether services of a system name the port that they send from, and ports the length of their subnet."""
    return system in _ONE_PATH


def agents_without_evpn(facts: Mapping[str, object]) -> str:
    """Return the fact that selects routing agents without EVPN: `ribd` of EOS (Arista EVPN guide); "" for none."""
    return "platform/routing_agents" if facts.get("platform/routing_agents") == "ribd" else ""


_STOPPED = re.compile(
    r"unread\[(?:frr\.conf for bgpd|bgp|vrf/default/router/bgp)\]|(?:vrf\[[^]]+\]/)?bgp/setting\[shutdown\]"
)


def stops_bgp(path: str, value: object) -> bool:
    """Return whether BGP does not run by a fact: its daemon, feature or container is off, or it is shut."""
    if path == "unread[frr.conf for vtysh]":
        return "FEATURE|bgp " in str(value)
    return value != "false" and bool(_STOPPED.fullmatch(path))


_NO_ROUTE = re.compile(
    r"routing/setting\[(?:ip (?:address virtual|load-sharing|hardware|icmp|virtual-router|domain|arp)|arp|logging"
    r"|router vrr)\b.*"
)


def leads_nowhere(path: str) -> bool:
    """Return whether a fact about routing neither adds a route nor lets packets take another way (EOS, NX-OS, NVUE)."""
    return path[0] == "r" and bool(_NO_ROUTE.match(path))


def changes_next_hops(system: str) -> bool:
    """Return whether BGP of a system is the next hop of EVPN routes that it passes on, unless a session states it.

    FRR leaves the next hop of these routes (FRR user guide, "EVPN"); EOS, NX-OS and Junos do not (Junos CLI reference,
    `no-nexthop-change`).
    """
    return system in _ONE_PATH or system == "junos"


def states_confederation_members(system: str) -> bool:
    """Return whether the fact of a confederation has the members that the switch knows (FRR user guide, "BGP")."""
    return system in ("frr", "sonic")


KERNEL_HASH = ("kernel[net.ipv4.fib_multipath_hash_policy]", "kernel[net.ipv6.fib_multipath_hash_policy]")
"""Facts about what Linux hashes for equal paths, by family."""


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
    return (*forwarding, *(("hash",) if KERNEL_HASH[0] not in facts else ()))


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


ROUTES = re.compile(r"^\s*[!#]+ *(?:no )?(?:ip routing|(?:no )?ip forwarding)\s*$")
"""A comment that was a line by which a switch routes."""
BRIDGED = "setting[switchport]"
"""Leaf of a port with an address that a line turns into a bridged one (EOS, `switchport`)."""


def may_route_by_default(system: str, facts: Collection[str]) -> bool:
    """Return whether a system may route IPv4; EOS does after `ip routing` (user manual, "IPv4").

    A whole running configuration of EOS states the model of its routing agents, an excerpt often does not.
    """
    whole = system == "eos" and is_whole(facts)
    return not whole or "platform/routing" in facts or "routing/enabled[ipv4]" in facts


_TEARDOWN = re.compile(r"setting\[family \S+ \S+ (?:accepted-)?prefix-limit teardown.*\]")


_ACCEPTED = re.compile(r"setting\[family \S+ \S+ accepted-prefix-limit maximum\]")


def ending_limit(values: Mapping[str, Value]) -> int | None:
    """Return the number of prefixes that ends a session, for good or for some time; None without one.

    Junos writes a message only, unless a session has `teardown` (Juniper, `prefix-limit`).
    """
    stated = values.get("maximum_prefixes")
    if isinstance(stated, int):
        return stated
    ends = (
        leaf.endswith("prefix-limit]") and str(value).startswith("teardown") for leaf, value in values.items()
    )
    if not any(map(_TEARDOWN.fullmatch, values)) and not any(ends):
        return None
    accepted = next((value for leaf, value in values.items() if _ACCEPTED.fullmatch(leaf)), "")
    limits = (str(each).partition(" ")[0] for each in (stated, accepted))
    return min((int(each) for each in limits if is_number(each)), default=None)
