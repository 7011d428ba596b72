"""Read filters from facts, in the words of `packet_filters`: those before a CPU, and traffic policies of EOS."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.packet_filters import CONDITIONS, dropped_services
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.facts import Value

ARP, LLDP, OWN = "ARP", "LLDP", "what is for its own addresses"
"""What a switch gets besides BGP and BFD."""
_LOOPBACK = re.compile(r"platform/filter_input\[lo0 (inet6?)\]")
"""Junos filters what arrives for the routing engine at the loopback."""
_OPENS_NOTHING = "port 0"
"""Stands for packets of open connections: a session has to be opened first."""
_TERM = re.compile(r"platform/filter\[([^]]+)\]/(\d+)/(\w+)")
_GROUPS = {"control_plane/access_list_in": False, "control_plane/ipv6_access_list_in": True}
_STARTS = (*_GROUPS, "platform/filter_input[", "acl[")
_LIST = re.compile(r"access_list\[([^]]+)\]/(\d+)")
_BOUND = re.compile(r"acl\[([^]]+)\]/bound")
_RULE = re.compile(r"acl\[([^]]+)\]/rule\[(\d+)\]/(action|protocol|source|(?:tcp|udp)\[(\d+)\])")


class CpuFilter(NamedTuple):
    """A filter in front of the CPU: whether it is for IPv6, and the path and text of each rule in order."""

    name: str
    ipv6: bool
    rules: list[tuple[str, str]]


def filters_before_cpu(facts: Mapping[str, Value]) -> list[CpuFilter]:
    """Return the filters of what arrives for the switch itself from any port, as far as its files state them."""
    found = []
    for path, value in facts.items():
        if not path.startswith(_STARTS):
            continue
        if path in _GROUPS:
            found.append(CpuFilter(str(value), _GROUPS[path], _list_rules(facts, str(value))))
        elif match := _LOOPBACK.fullmatch(path):
            rules = _term_rules(facts, str(value)) or _list_rules(facts, str(value))
            found.append(CpuFilter(str(value), match[1] == "inet6", rules))
        elif (match := _BOUND.fullmatch(path)) and "inbound" in str(value):
            ipv6 = facts.get(f"acl[{match[1]}]/type") == "ipv6"
            found.append(CpuFilter(match[1], ipv6, _acl_rules(facts, match[1])))
    return found


def _list_rules(facts: Mapping[str, Value], name: str) -> list[tuple[str, str]]:
    found = [
        (int(match[2]), path, str(value))
        for path, value in facts.items()
        if (match := _LIST.fullmatch(path)) and match[1] == name
    ]
    return [(path, text) for _, path, text in sorted(found)]


def _term_rules(facts: Mapping[str, Value], name: str) -> list[tuple[str, str]]:
    """Return the terms of a filter of Junos: the action, then each condition with its values."""
    terms: dict[int, list[str]] = {}
    for path, value in facts.items():
        if (match := _TERM.fullmatch(path)) and match[1] == name:
            words = terms.setdefault(int(match[2]), [""])
            if match[3] == "action":
                words[0] = str(value)
            elif match[3] == "tcp_established":
                words.append(_OPENS_NOTHING)
            else:
                key = match[3].replace("_", "-")
                words.append(f"{key if key in CONDITIONS else 'other'} {value}")
    return [(f"platform/filter[{name}]/{at}/action", " ".join(words)) for at, words in sorted(terms.items())]


def _acl_rules(facts: Mapping[str, Value], name: str) -> list[tuple[str, str]]:
    """Return the rules of a list of NVUE."""
    rules: dict[int, list[str]] = {}
    for path, value in facts.items():
        if (match := _RULE.fullmatch(path)) and match[1] == name:
            words = rules.setdefault(int(match[2]), [""])
            if match[3] == "action":
                words[0] = str(value)
            else:
                words.append({"protocol": f"protocol {value}", "source": f"source-ip {value}"}.get(
                    match[3], f"dest-port {match[4]}"))  # fmt: skip
    return [(f"acl[{name}]/rule[{at}]/action", " ".join(words)) for at, words in sorted(rules.items())]


_CLASS = re.compile(r"class-map type control-plane (?:match-(?:any|all) )?(\S+)")
_POLICY = re.compile(r"policy-map type control-plane (\S+)")
_MATCH = re.compile(r"match access-group name (\S+)")
_PART = re.compile(r"class (\S+)")
_DROPS = re.compile(r"police .*\bconform drop\b.*")
_POLICE = re.compile(r"police (?:(?P<pps>pps )|cir )?(?P<rate>\d+)(?: (?P<unit>[kmg]?bps|pps))?\b.*")
"""`conform drop` drops each packet (Nexus 9000 NX-OS security guide, control plane policing)."""
_UNITS = {"kbps": 1000, "mbps": 1000**2, "gbps": 1000**3}
_KEEPALIVE = 8 * 85
"""The bits of a keepalive of BGP in a frame; a packet of BFD has 70 bytes."""
_STATIC = {
    "copp-s-bfd": {"BFD"}, "copp-s-arp": {ARP}, "copp-s-selfIp": {OWN}, "class-default": {"BGP", "BFD", ARP},
}  # fmt: skip
"""Classes without a list, and what is in them: those of Nexus 3000, and that of all packets of no other class."""
_APPLIED = re.compile(r"service-policy input (\S+)")
_LIMIT = re.compile(
    r"(?:platform|qos)/setting\[(?:"
    r"rate-limiter (?P<nxos>bfd) (?P<pps>\d+)"
    r"|policy-map copp-system-policy class copp-system-(?P<eos>bgp|bfd) shape"
    r"|ddos-protection protocols (?P<junos>bgpv?6?|bfdv?6?) aggregate bandwidth"
    r"|policer (?P<cumulus>bgp|bfd) rate"
    r"|copp (?P<sonic>bgp|bfd|arp_req|lldp|ip2me)"
    r")\]"
)
"""Facts about limits of what the CPU gets of BGP or BFD, whose values are packets in a second.

Sources: `hardware rate-limiter bfd` 0 to 10,000 (Nexus 9000 NX-OS security guide), `shape` in pps or kbps (EOS manual,
control plane policies), DDoS protection's `bandwidth`, which is packets in a second (Junos CLI reference), policers
(Cumulus Linux, policers.conf), and `sonic-copp.yang`.
"""


_SERVICES = {"arp_req": ARP, "lldp": LLDP, "ip2me": OWN}


class CpuPolicer(NamedTuple):
    """A limit of what the CPU gets of a service, and its place; `pps` packets in a second, 0 where it drops all."""

    service: str
    name: str
    pps: int
    path: str = ""
    file: str = ""
    line: int = 0


def limits_before_cpu(
    facts: Mapping[str, Value], unknown: Iterable[tuple[str, int, str]]
) -> Iterator[CpuPolicer]:
    """Yield the limits of BGP and BFD, but those in bytes that let packets pass."""
    for path, value in facts.items():
        if path[0] in "pq" and (match := _LIMIT.fullmatch(path)):
            words = str(match["pps"] or value).split() or [""]
            service = next(filter(None, match.group("nxos", "eos", "junos", "cumulus", "sonic")))
            off = facts.get(path.replace(" rate]", " state]")) == "off"
            if is_number(words[-1]) and not off and (words[0] != "kbps" or words[-1] == "0"):
                name = _SERVICES.get(service, service[:3].upper())
                yield CpuPolicer(name, path[path.index("[") + 1 : -1], int(words[-1]), path)
    yield from _dropping_policers(facts, unknown)


def _dropping_policers(
    facts: Mapping[str, Value], unknown: Iterable[tuple[str, int, str]]
) -> Iterator[CpuPolicer]:
    """Yield the policers of NX-OS, from the lines of the applied policy, which no row reads."""
    matches: dict[str, list[str]] = {}
    policies: dict[str, dict[str, tuple[str, int, int | None]]] = {}
    section, part, applied = "", "", ""
    for file, line, text in unknown:
        if found := _CLASS.fullmatch(text):
            section, part = "", found[1]
        elif found := _POLICY.fullmatch(text):
            section, part = found[1], ""
        elif text.startswith(("class-map ", "policy-map ")):
            section = part = ""
        elif not section and part and (found := _MATCH.fullmatch(text)):
            matches.setdefault(part, []).append(found[1])
        elif section and (found := _PART.fullmatch(text)):
            part = found[1]
            policies.setdefault(section, {})[part] = file, line, None
        elif section and part and (rate := _policed_rate(text)) is not None:
            policies[section][part] = file, line, rate
        elif found := _APPLIED.fullmatch(text):
            applied = found[1]
    seen: set[str] = set()
    for name, (file, line, rate) in policies.get(applied, {}).items():
        own = _STATIC.get(name, set[str]())
        for service in sorted(
            own.union(*(_matched_services(facts, each) for each in matches.get(name, ()))) - seen
        ):
            seen.add(service)
            if rate is not None:
                yield CpuPolicer(service, f"the class {name}", rate, "", file, line)


def _policed_rate(text: str) -> int | None:
    """Return how many packets in a second a line passes, of the size of keepalives; None for another line."""
    if _DROPS.fullmatch(text):
        return 0
    if (match := _POLICE.fullmatch(text)) is None or not is_number(match["rate"]):
        return None
    rate = int(match["rate"])
    return (
        rate if match["pps"] or match["unit"] == "pps" else rate * _UNITS.get(match["unit"], 1) // _KEEPALIVE
    )


def _matched_services(facts: Mapping[str, Value], name: str) -> set[str]:
    """Return the services that a list permits: those that it drops with the opposite actions."""
    rules = [text for _, text in _list_rules(facts, name)]
    opposite = [
        f"deny{text.removeprefix('permit')}"
        if text.startswith("permit")
        else f"permit{text.removeprefix('deny')}"
        for text in rules
    ]
    return {service for service, at in dropped_services(opposite, "nxos") if at >= 0}


_LOSING = re.compile(r"qos/setting\[policy-map (\S+) class (\S+) (?:drop|police (?:cir|rate))\]")
_POLICED = re.compile(r"(\d+) ?([kmg]?)bps\b.*")
_KBPS = {"": 0.001, "k": 1, "m": 1000, "g": 1_000_000}
_SLOW_KBPS = 500_000
"""Half of the slowest port of a data center."""
_MATCHED = re.compile(r"ip access-group (?:name )?(\S+)")
_OF_ROCE = re.compile(r"\b4791\b|permit (?:ip|udp) any any$")


def losing_policies(facts: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Yield the name of a policy map, and the path of a fact by which it drops RDMA or most packets (EOS)."""
    for path, value in (
        facts.items() if any(path.startswith("qos/setting[policy-map ") for path in facts) else ()
    ):
        if not (match := _LOSING.fullmatch(path)):
            continue
        rate = _POLICED.fullmatch(str(value))
        if "police" in path and not (rate and int(rate[1]) * _KBPS[rate[2]] < _SLOW_KBPS):
            continue
        about = _MATCHED.fullmatch(str(facts.get(f"qos/setting[class-map {match[2]} match]")))
        listed = f"access_list[{about[1]}]/" if about else ""
        if match[2] == "class-default" or (
            listed
            and any(each.startswith(listed) and _OF_ROCE.search(str(text)) for each, text in facts.items())
        ):
            yield match[1], path


_POLICY_START = "routing/setting[traffic-policies traffic-policy "
_POLICY_MATCH = re.compile(r"match (\S+) ipv4(?: (.+))?")
_PROTOCOL = re.compile(r"protocol (\S+)(?: destination port (\S+))?")
_PREFIX = re.compile(r"(source|destination) prefix (.+)")
_ACTIONS = re.compile(r"actions(?: (\S+))?")


def policy_rules(facts: Mapping[str, Value], name: str) -> list[tuple[str, str]]:
    """Return the path and the text of each rule of a traffic policy for IPv4, in order.

    A match applies to packets that meet all of its conditions; what none matches is forwarded (EOS manual, "Traffic
    Policy").
    """
    rules: dict[str, tuple[str, list[str]]] = {}
    start = f"{_POLICY_START}{name} "
    for path in facts:
        match = _POLICY_MATCH.fullmatch(path[len(start) : -1]) if path.startswith(start) else None
        if match is None:
            continue
        place, words = rules.get(match[1], (path, ["permit"]))
        rest = match[2] or ""
        if found := _PROTOCOL.fullmatch(rest):
            words.append(f"protocol {found[1]}" + (f" destination-port {found[2]}" if found[2] else ""))
        elif found := _PREFIX.fullmatch(rest):
            words.append(f"{found[1]}-address {found[2]}")
        elif found := _ACTIONS.fullmatch(rest):
            if found[1] == "drop":
                place, words[0] = path, "deny"
        elif rest:
            words.append("other condition")
        rules[match[1]] = place, words
    return [(place, " ".join(words)) for place, words in rules.values()]
