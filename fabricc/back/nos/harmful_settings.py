"""Settings that by themselves keep a switch, a port, a session, a route or a log server from its purpose.

Sources: FRR user guide, "BGP", "BFD" and "Basic setup"; Linux, Documentation/networking/ip-sysctl.rst.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.fabric.facts import Value


class Harm(NamedTuple):
    """What a setting does: `kind` is the theme of it, such as `sessions` or `kernel`."""

    kind: str
    effect: str


class Scale(NamedTuple):
    """What the settings of a switch have to be enough for.

    Attributes:
        sessions: number of its sessions; `neighbors`: of its ports with an address; `prefixes`: of those to announce.
        hold_s: hold time of its sessions.
        upper: whether other switches of its tier have the same routes.
        ipv6: whether it has sessions over IPv6.
    """

    sessions: int = 0
    neighbors: int = 0
    prefixes: int = 0
    hold_s: int | None = None
    upper: bool = False
    ipv6: bool = False


_NUMBER = re.compile(r"\d+")
_SLOWEST_S = 60
"""Seconds within which changes are announced: twice the default of the first implementations (RFC 4271, section 10)."""
_LONGEST_S = 600
"""Seconds that a start or a new attempt may take; the defaults are 0 and 120."""
_BGP = 179
_DEFAULT_BUFFER = 212_992
"""Bytes of a socket's buffer without any setting (Linux, net.core.rmem_default)."""
_SPARE_FILES = 32
"""Files of a daemon besides its sessions: logs, sockets of other daemons, of terminals."""
_NO_ANSWER = 8
_FEW = 1024
_PORT_KERNEL = re.compile(r"kernel\[net\.ipv[46]\.conf\.([^.\]]+)\.forwarding\]")
_PORT_QUEUE = re.compile(r"routing/setting\[tc (\S+)\]")
_TABLE = re.compile(r"kernel\[net\.ipv[46]\.neigh\.default\.gc_thresh3\]")


def _number(value: Value) -> int:
    """Return the first number of a value, -1 without one."""
    match = _NUMBER.search(str(value))
    return int(match[0]) if match else -1


def _above(limit: int) -> Callable[[Value, Scale], bool]:
    return lambda value, _: _number(value) > limit


def _is_on(value: Value, _: Scale) -> bool:
    return value not in ("false", "no", "off")


_FLAP = 1000
"""The penalty of one flap (FRR, bgpd/bgp_damp.h: DEFAULT_PENALTY)."""
_LOCAL = ("127.0.0.1", "::1")


def _suppression(value: Value) -> int:
    """Return from which penalty on a route is suppressed, the third number of dampening; -1 where it is not stated."""
    numbers = _NUMBER.findall(str(value))
    return int(numbers[2]) if len(numbers) > 2 else -1


_SESSION: tuple[tuple[re.Pattern[str], Callable[[Value, Scale], bool], Harm], ...] = (
    (
        re.compile(r"setting\[(?:advertisement-interval|timers route-advertisement)\]"),
        _above(_SLOWEST_S),
        Harm("timers", "announces changes up to {} s late"),
    ),
    (
        re.compile(r"setting\[timers connect\]"),
        _above(_LONGEST_S),
        Harm("timers", "opens a lost session only after {} s again"),
    ),
    (
        re.compile(r"setting\[timers delayopen\]"),
        _above(_SLOWEST_S),
        Harm("timers", "opens a session only {} s after its connection"),
    ),
    (
        re.compile(r"setting\[port\]"),
        lambda value, _: _number(value) not in (_BGP, -1),
        Harm("sessions", "connects to TCP port {}, where no BGP listens"),
    ),
    (
        re.compile(r"setting\[ipv[46] maximum-prefix-out\]"),
        lambda value, scale: 0 <= _number(value) < scale.prefixes,
        Harm("routes", "announces no more than {} of its prefixes"),
    ),
    (
        re.compile(r"setting\[ipv[46] attribute-unchanged as-path\]"),
        _is_on,
        Harm("loops", "does not add its AS number to paths: no loop is detected"),
    ),
    (
        re.compile(r"setting\[as-path prepend-own disabled\]"),
        _is_on,
        Harm("loops", "does not add its AS number to paths: its neighbor refuses them, or detects no loop"),
    ),
    (
        re.compile(r"setting\[(?:ipv[46] )?allowas-in\]"),
        _is_on,
        Harm("loops", "accepts routes that begin with its own AS number: they come back to it"),
    ),
    (
        re.compile(r"setting\[ipv[46] route-server-client\]"),
        _is_on,
        Harm("routes", "announces next hops and paths of others unchanged, as a route server"),
    ),
    (
        re.compile(r"maximum_prefixes"),
        lambda value, _: str(value) == "1",
        Harm("sessions", "ends at the second prefix that the neighbor announces"),
    ),
    (
        re.compile(r"setting\[graceful-shutdown(?: activate)?\]"),
        _is_on,
        Harm("avoided", "is in graceful shutdown: the neighbor avoids its routes"),
    ),
    (
        re.compile(r"setting\[multipath\]"),
        lambda value, _: value == "disable",
        Harm("routes", "uses no route of it beside equal ones of others (`multipath disable`)"),
    ),
)
_SWITCH: tuple[tuple[re.Pattern[str], Callable[[Value, Scale], bool], Harm], ...] = (
    (
        re.compile(r"bgp/setting\[update-delay\]"),
        _above(_LONGEST_S),
        Harm("timers", "announces and installs no route for {} s after a start"),
    ),
    (
        re.compile(r"bgp/setting\[max-med\]"),
        lambda value, scale: (
            scale.upper and (str(value).startswith("administrative") or _number(value) > _LONGEST_S)
        ),
        Harm("avoided", "announces the worst metric: switches below it use others of its tier alone"),
    ),
    (
        re.compile(r"bgp/setting\[minimum-holdtime\]"),
        lambda value, scale: scale.hold_s is not None and scale.hold_s < _number(value),
        Harm("sessions", "refuses hold times below {} s, and its sessions have a shorter one"),
    ),
    (
        re.compile(r"bgp/setting\[bestpath as-path ignore\]"),
        _is_on,
        Harm("routes", "does not compare the lengths of paths: it uses detours beside the shortest ones"),
    ),
    (
        re.compile(r"kernel\[net\.ipv6\.conf\.(?:all|default)\.disable_ipv6\]"),
        lambda value, scale: scale.ipv6 and _number(value) == 1,
        Harm("kernel", "its ports have no IPv6, by which its sessions reach the neighbors"),
    ),
    (
        re.compile(r"bgp/setting\[(?:ipv[46] )?bgp dampening\]"),
        lambda value, _: 0 <= _suppression(value) < _FLAP,
        Harm("timers", "suppresses a route after one flap"),
    ),
    (
        re.compile(r"zebra/fpm_address"),
        lambda value, _: value not in _LOCAL,
        Harm("routes", "sends its routes to another switch, and not to its own ASIC"),
    ),
    (
        _PORT_KERNEL,
        lambda value, _: _number(value) == 0,
        Harm("kernel", "the kernel does not forward what arrives at {port}"),
    ),
    (
        re.compile(r"kernel\[net\.ipv4\.conf\.(?:all|default)\.arp_ignore\]"),
        lambda value, _: _number(value) == _NO_ANSWER,
        Harm("kernel", "answers no ARP request, so no neighbor finds it"),
    ),
    (
        re.compile(r"routing/setting\[dscp set\]"),
        lambda value, _: str(value).lower() in ("0", "0x0", "0x00", "cs0", "be", "df"),
        Harm("kernel", "sets the code point of packets to 0: the next hops take RDMA for other traffic"),
    ),
    (
        re.compile(r"(?:evpn/segment|structure/vrf)\[[^]]+\]/learns_from_tunnels"),
        _is_on,
        Harm("kernel", "learns addresses from tunnels besides those of EVPN, which then move at random"),
    ),
    (
        _PORT_QUEUE,
        _is_on,
        Harm("kernel", "a command at boot drops or slows packets at {port}"),
    ),
    (
        _TABLE,
        lambda value, scale: 0 <= _number(value) < scale.neighbors,
        Harm("kernel", "has room for {} neighbors, fewer than its ports have"),
    ),
    (
        re.compile(r"kernel\[net\.ipv[46]\.conf\.all\.accept_source_route\]"),
        lambda value, _: _number(value) > 0,
        Harm("unsafe", "lets senders choose the way of their packets (source routes)"),
    ),
    (
        re.compile(r"daemon\[zebra\]/netlink_bytes"),
        lambda value, _: 0 <= _number(value) < _DEFAULT_BUFFER,
        Harm("kernel", "zebra loses messages of the kernel: its buffer has {} bytes, less than without a setting"),
    ),
    (
        re.compile(r"loopback/enabled"),
        lambda value, _: value == "false",
        Harm("kernel", "its loopback is not set up at boot, so it lacks the address by which others reach it"),
    ),
    (
        re.compile(r"vxlan/setting\[shutdown\]"),
        _is_on,
        Harm("kernel", "its VXLAN interface is shut, so no tunnel is up"),
    ),
    (
        re.compile(r"mlag/setting\[shutdown\]"),
        _is_on,
        Harm("kernel", "its pair with another switch is shut"),
    ),
    (
        re.compile(r"qos/setting\[hardware profile pfc mmu\]"),
        lambda value, _: not 0 < _number(value) <= _MOST_RESERVED,
        Harm("buffers", "reserves {} percent of the buffer for PFC: lossless or other classes have none"),
    ),
    (
        re.compile(r"daemon/open_files"),
        lambda value, scale: 0 <= _number(value) < min(scale.sessions + _SPARE_FILES, _FEW),
        Harm("sessions", "its daemons may open {} files, fewer than their sessions need"),
    ),
)  # fmt: skip
_MOST_RESERVED = 90
ABOUT = (
    "qos/setting[hardware ",
    "bgp/setting[", "kernel[", "daemon", "loopback/enabled", "zebra/", "routing/setting[tc ", "routing/setting[dscp ",
    "evpn/segment[", "structure/vrf[", "vxlan/setting[", "mlag/setting[",
)  # fmt: skip
"""What the paths of settings of a whole switch begin with."""
STRICT_ROLE = "strict-mode"
"""The word of a role that refuses neighbors without one (`local-role`, RFC 9234)."""


def may_harm_session(leaf: str) -> bool:
    """Return whether some value of a setting of a session does harm."""
    return any(form.fullmatch(leaf) for form, _, _ in _SESSION)


def may_harm_switch(path: str) -> bool:
    """Return whether some value of a setting of a whole switch does harm."""
    return any(form.fullmatch(path) for form, _, _ in _SWITCH)


def harm_of_session(leaf: str, value: Value, scale: Scale) -> Harm | None:
    """Return what a setting of a session does to it, None if nothing."""
    return _find_harm(_SESSION, leaf, value, scale)


def harm_of_switch(path: str, value: Value, scale: Scale) -> Harm | None:
    """Return what a setting of a whole switch does, None if nothing."""
    return _find_harm(_SWITCH, path, value, scale)


def _find_harm(
    rows: tuple[tuple[re.Pattern[str], Callable[[Value, Scale], bool], Harm], ...],
    path: str,
    value: Value,
    scale: Scale,
) -> Harm | None:
    for form, is_harmful, harm in rows:
        if (match := form.fullmatch(path)) and is_harmful(value, scale):
            port = match[1] if form in (_PORT_KERNEL, _PORT_QUEUE) else ""
            return harm._replace(effect=harm.effect.format(_number(value), port=port))
    return None


def port_of_kernel(path: str) -> str:
    """Return the interface about whose forwarding a setting of the kernel is, "" for others and for all."""
    match = _PORT_KERNEL.fullmatch(path)
    return "" if match is None or match[1] in ("all", "*") else match[1]


_IDLE_SWITCH = (
    (
        re.compile(r"bgp/setting\[isolate\]"),
        re.compile(r"(?!false).*"),
        "is isolated: its neighbors avoid it",
    ),
    (
        re.compile(r"bgp/distance"),
        re.compile(r"255( .*)?"),
        "gives routes of BGP the distance 255, so it uses none",
    ),
    (
        re.compile(
            r"(?:isis|ospf)\[[^]]+\]/setting\[(?:set-overload-bit|overload|max-metric(?: router-lsa)?)\]"
        ),
        re.compile(r"(?!false|off|.*\b(?:on-startup|timeout|wait)).*"),
        "says that it is overloaded: no traffic passes through it",
    ),
)
"""Nexus 9000 NX-OS unicast guide, `isolate`, and Arista EOS user manual, `distance bgp`."""
_LINES = ((re.compile(r"quiesce|system mode maintenance"), "is in maintenance: its neighbors avoid it"),)
"""Arista EOS user manual, "Maintenance Mode", and Nexus 9000 NX-OS system management guide, "GIR"."""
_LOOPED = ("setting[loopback]", "setting[traffic-loopback]")
DELAY = "setting[out-delay"
"""The facts of sessions that hold announcements back begin with this."""
_DELAY = re.compile(rf"{re.escape(DELAY)}(?: (\d+))?\]")
_LONGEST_DELAY_S = 30
"""A delay of announcements that exceeds every default (RFC 4271, section 10: 30 s for eBGP)."""
_QUIET = re.compile(
    r"no logging on|logging trap (?:emergencies|alerts|critical|[012])|logging server \S+ [012](?: .*)?"
)
_SILENT = ("none", "emergency", "alert", "critical")
_GRAVEST = ("emergencies", "alerts", "critical", "off")
FRR_LOG = "log/syslog"
_JUNOS_LOG = re.compile(r"platform/syslog\[([^]]+)\]/any")
_NXOS_LOG = re.compile(r"\s*logging server \S+ [012](?: .*)?")


def describe_idle_switch(path: str, value: object) -> str:
    """Return how a fact keeps a switch from its traffic, "" for any other fact."""
    for form, text, effect in _IDLE_SWITCH:
        if form.fullmatch(path) and text.fullmatch(str(value)):
            return effect
    return ""


def describe_idle_line(text: str) -> str:
    """Return how a line that no row reads keeps a switch from its traffic, "" for any other line."""
    return next((effect for form, effect in _LINES if form.fullmatch(text.strip())), "")


def is_looped(leaf: str, value: object) -> bool:
    """Return whether a port returns its packets to itself: `loopback` of Junos, `traffic-loopback` of EOS."""
    return leaf in _LOOPED and value not in ("false", "off", "none")


def announcement_delay(leaf: str, value: object) -> int | None:
    """Return for how many seconds a session holds its announcements back, if that is longer than any default."""
    match = _DELAY.fullmatch(leaf)
    seconds = match and (match[1] or str(value))
    return int(seconds) if seconds and is_number(seconds) and int(seconds) > _LONGEST_DELAY_S else None


_ARP = (
    re.compile(r"routing/setting\[arp (\S+) \S+ arpa\]"),
    re.compile(r"interface\[[^]]+\]/setting\[(?:ip )?arp (\S+?)(?: mac)?\]"),
)
"""A fixed MAC address of a neighbor: `arp` of EOS, `ip arp` of NX-OS, and `arp` below an address of Junos."""


def fixed_neighbor(path: str) -> str:
    """Return the address whose MAC address a fact fixes, "" for any other fact."""
    return next((match[1] for form in _ARP if (match := form.fullmatch(path))), "")


_BFD_OF_PORT = re.compile(r"(\d+) (?:min-rx )?(\d+) (?:multiplier )?(\d+)")


def detection_of_port(leaf: str, value: object) -> int | None:
    """Return the milliseconds after which BFD of a port notices a failure (EOS, NX-OS)."""
    match = _BFD_OF_PORT.fullmatch(str(value)) if leaf in ("bfd", "setting[bfd interval]") else None
    return int(match[2]) * int(match[3]) if match else None


_SHORTENS = re.compile(r"set as-path (?:exclude|replace|match all replacement)\b.*")


def shortening_action(clause: str) -> str:
    """Return by which action a clause takes AS numbers out of a path, "" without one (FRR, NX-OS; EOS: `match all`)."""
    match = _SHORTENS.search(clause)
    return match[0] if match else ""


_HIDING = ("no-advertise", "no-export")
_AGGREGATES = ("bgp/aggregate[", "bgp/setting[aggregate-address ", "routing/setting[aggregate ")


def hiding_aggregates(facts_below: Callable[[str], Mapping[str, Value]]) -> Iterator[tuple[str, str]]:
    """Yield the path of an aggregate that neighbors do not pass on, or of the map that marks it so, and the mark.

    Args:
        facts_below: returns the facts of a switch whose paths begin with a text.
    """
    for start in _AGGREGATES:
        for path, value in facts_below(start).items():
            words = str(value).split()
            if path.endswith(" community]") and words[:1] and words[0] in _HIDING:
                yield path, words[0]
            name = words[words.index("attribute-map") + 1] if "attribute-map" in words[:-1] else ""
            for clause, text in facts_below(f"route_map[{name}]/").items() if name else ():
                yield from ((clause, mark) for mark in _HIDING if f"community {mark}" in str(text))


def quiets_log(system: str, path: str, value: object, line: Callable[[], str]) -> bool:
    """Return whether a log server gets next to nothing: no message, or those of the gravest levels alone.

    Args:
        system: of the switch.
        path: of the fact.
        value: of the fact.
        line: returns the line that states it.
    """
    if match := _JUNOS_LOG.fullmatch(path):
        return match[1] != "messages" and str(value) in _SILENT
    return (path == FRR_LOG and value in _GRAVEST) or (
        system == "nxos" and path == "management/syslog" and bool(_NXOS_LOG.fullmatch(line()))
    )


def quiets_all_logs(text: str, stated: bool) -> bool:
    """Return whether a line keeps messages from log servers that other lines state, or from the one that it states."""
    return (_QUIET.fullmatch(text.strip()) if stated else _NXOS_LOG.fullmatch(text)) is not None


_EOS_MARK = re.compile(r"qos/setting\[qos map traffic-class (\d) to dscp\]")
_EOS_ON = ("qos/setting[qos rewrite]", "qos/setting[qos rewrite dscp]")
_NXOS_MARK = re.compile(r"qos/setting\[set dscp of qos-group (\d)\]")
_POLICE = re.compile(r"qos/setting\[police of qos-group (\d)\]")
_LOSS = re.compile(r"qos/setting\[dscp (\d+) loss-priority\]")


def rewritten_classes(facts: Mapping[str, Value]) -> Iterator[tuple[str, int, int]]:
    """Yield the path of a fact that states the code point which packets of a class leave with, class and code point.

    EOS rewrites with `qos rewrite dscp` alone (EOS user manual, "Quality of Service").
    """
    rewrites = any(path in facts for path in _EOS_ON)
    for path, value in facts.items():
        match = (_EOS_MARK.fullmatch(path) if rewrites else None) or _NXOS_MARK.fullmatch(path)
        if match and is_number(str(value)):
            yield path, int(match[1]), int(str(value))


_GUARD = "platform/filter_input["


def guard_of_port_alone(facts_below: Callable[[str], Mapping[str, Value]]) -> str:
    """Return the path of a filter on the management port where `lo0`, for all other ports, has none; or ""."""
    guards = [*facts_below(_GUARD)] if "management/access" in facts_below("management/access") else []
    return "" if any(path.startswith(f"{_GUARD}lo0 ") for path in guards) else next(iter(guards), "")


_CLASS_MTU = re.compile(r"structure/policy_map\[network-qos [^]]+\]/c-8q-nq(\d)/mtu")


def small_classes(facts: Mapping[str, Value], size: int) -> Iterator[tuple[str, int, int]]:
    """Yield the path of a fact by which packets of a class are shorter than a size, the class, and its MTU (NX-OS)."""
    for path, value in facts.items():
        if (match := _CLASS_MTU.fullmatch(path)) and isinstance(value, int) and value < size:
            yield path, int(match[1]), value


def policed_classes(facts: Mapping[str, Value]) -> Iterator[tuple[str, int]]:
    """Yield the path of a fact about a policer that drops packets of a class, and the class (NX-OS)."""
    for path, value in facts.items():
        if (match := _POLICE.fullmatch(path)) and "drop" in str(value).split():
            yield path, int(match[1])


def odd_loss_priorities(facts: Mapping[str, Value]) -> Iterator[tuple[str, int, str]]:
    """Yield facts about code points with another loss priority than the lowest, by which Junos drops them first."""
    for path, value in facts.items():
        if match := _LOSS.fullmatch(path):
            yield path, int(match[1]), str(value)


_GUARDS = {
    "vlan_tag": "VLAN tag", "setting[mac security profile": "MACsec", "setting[macsec": "MACsec",
    "setting[bfd authentication": "BFD authentication",
}  # fmt: skip
"""Beginning of a leaf of a port -> what both ends of its link need (BFD authentication: NX-OS alone)."""


def states_guards(system: str) -> bool:
    """Return whether the files of a system state on its ports what packets must have."""
    return system in ("eos", "nxos")


def guard_of(leaf: str, value: Value) -> str:
    """Return what a leaf of a port requires of both ends of its link, "" for nothing."""
    words = next((words for start, words in _GUARDS.items() if leaf.startswith(start)), "")
    return "" if value == "off" or not words else f"{words} {value}" if leaf == "vlan_tag" else words
