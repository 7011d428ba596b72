"""Find devices and ports whose values differ from those of nearly all similar ones; see `consensus`."""

from __future__ import annotations

from collections import Counter, defaultdict
from ipaddress import ip_address, ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos import qos_defaults
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import area_of, first_key, first_word
from fabricc.facts.statement import Device, Statement, Tier, session_path
from fabricc.proof.compare import Finding
from fabricc.rules import consensus
from fabricc.rules.findings import fact_beside, finding_at, line_of, nearest_shared_fact
from fabricc.rules.next_hops import parse_addresses
from fabricc.rules.rule import ADDRESSES, SwitchRule
from fabricc.rules.segments import SEGMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.rules.sessions import Sessions

UNLIKE = "FAB9610"
_WITH_PFC = ("watchdog", "headroom/", "queue[", "ecn_", "trust", "qos_setting[")
"""Settings that a port without PFC usually lacks too; reported once."""
_POOL = "pool/"
_SERVICES = ("management/ntp", "management/syslog", "management/access")
_GATEWAY = "management/gateway"
_DRAIN = " add_community 65535:0"
"""How a clause marks routes for graceful shutdown (RFC 8326)."""
_AREAS = 3
"""Areas of statements, such as QoS, BFD and lists of communities."""
_ENDS = tuple(tier.value for tier in Tier)


class AbsentSetting(Finding):
    """A setting that a device lacks, at the line next to which its peers have it: one about other settings."""

    __slots__ = ()


def find_outliers(
    statement: Statement, near: Mapping[tuple[str, str], str], expected: consensus.Expected, peer: Device
) -> Iterator[Finding]:
    """Report values of a device that differ from the expected ones, and of its ports; `peer` is a typical device."""
    if _has_another_role(statement, expected):
        return
    absent = _absent_topics(statement, expected)
    for head, paths in absent.items():
        if expected.kind[1] is not Tier.OTHER:
            who = consensus.describe_peers(max(expected.device[path][1] for path in paths), expected.kind)
            what = f"{_path_words(head)} ({len(paths)} statements)"
            where = OutlierPlace([paths[0], *fact_beside(statement.device, peer, paths[0])], "")
            yield AbsentSetting(*_outlier_finding(statement, where, what, None, "something", who))
    alone = {path for paths in absent.values() for path in paths}
    sized = consensus.has_own_cables(statement, expected)
    for path, (value, times) in expected.device.items():
        mine = statement.rest.get(path)
        if path.startswith(_POOL) and sized:
            continue  # a pool is what the headroom of the ports leaves
        if path in _SERVICES and mine is None and times > 1:
            continue  # reported as a missing service
        if path == _GATEWAY and not _is_in_own_subnet(statement, value):
            continue  # of another management network
        if mine is None and _permits_addresses_of_peer(statement, peer, path, str(value)):
            continue  # as a switch without a partner, whose link has such addresses
        if mine != value and path not in alone and not _whole_map(statement, path):
            beside = fact_beside(statement.device, peer, path) if mine is None else ()
            like = line_of(peer, path) if mine is None else ""
            parts = [f"{path}[{each}]" for each in str(mine).split(",") if each != str(value)]
            odd = [each for each in parts if each in statement.rest]  # each of several values has a line
            where = OutlierPlace([*odd, path, *beside], like, _odd_word(mine, value))
            one = _outlier_finding(
                statement,
                where,
                _path_words(path),
                mine,
                value,
                consensus.describe_peers(times, expected.kind),
                Severity.NOTE if _is_drained(path, mine, value) else Severity.WARNING,
            )
            yield AbsentSetting(*one) if beside else one
    ports, sessions = consensus.roles_of(statement), consensus.session_roles(statement, near)
    if consensus.BETWEEN in expected.roles:
        ports = {
            consensus.BETWEEN: [
                port for role, each in ports.items() if consensus.is_between_switches(role) for port in each
            ]
        }
        sessions = {}
    for role, names in ports.items():
        statements = {port: consensus.port_statements(statement, port, role) for port in names}
        yield from _compare_ports(
            statement, expected, role, statements, {port: f"{PORT}{port}]/" for port in names}, peer
        )
    for role, keys in sessions.items():
        statements = {key[1]: consensus.session_statements(statement, key) for key in keys}
        yield from _compare_ports(
            statement, expected, role, statements, {key[1]: session_path(key, "") for key in keys}, peer
        )


def _has_another_role(statement: Statement, expected: consensus.Expected) -> bool:
    """Return whether a device states nothing in several areas of its peers, as a gateway next to spines does."""
    wanted = {area_of(path) for path, (value, _) in expected.device.items() if value is not None}
    return len(wanted - {area_of(path) for path in statement.rest}) >= _AREAS


def _absent_topics(statement: Statement, expected: consensus.Expected) -> dict[str, list[str]]:
    """Return topics that the device lacks completely, with the values of others; each is reported once."""
    missing: dict[str, list[str]] = {}
    for path, (value, _) in expected.device.items():
        if value is not None and path not in statement.rest and not path.startswith(consensus.MAPS):
            missing.setdefault(_topic_of(path), []).append(path)
    if not missing:
        return {}
    stated = {_topic_of(path) for path in statement.rest}
    return {head: paths for head, paths in missing.items() if len(paths) > 1 and head not in stated}


def _is_in_own_subnet(statement: Statement, address: Value | None) -> bool:
    """Return whether an address is in the subnet of the management port of a switch that has another gateway."""
    own, stated = statement.rest.get(_GATEWAY), str(statement.rest.get("management/address", ""))
    try:
        return own is not None and ip_address(str(address)) in ip_interface(stated).network
    except ValueError:
        return False


def _permits_addresses_of_peer(statement: Statement, peer: Device, path: str, value: str) -> bool:
    """Return whether a clause of a prefix list permits a range in which a peer has addresses, and this device none."""
    if not path.startswith("prefix_list["):
        return False
    ranges = [word for word in value.split() if "/" in word]
    own = parse_addresses(address for texts in statement.addresses.values() for address in texts)
    others = parse_addresses(
        str(fact)
        for each, fact in peer.reading.facts.items()
        if each.startswith(PORT) and each.endswith(("/ipv4", "/ipv6"))
    )
    return any(
        any(address in network for address in others) and not any(address in network for address in own)
        for network in (each.network for each in parse_addresses(ranges))
    )


def _topic_of(path: str) -> str:
    return first_word(path) if "[" in path else path.rpartition("/")[0]


def _whole_map(statement: Statement, path: str) -> bool:
    """Return whether a path belongs to a map or list that the device lacks completely, as by design."""
    if not path.startswith(consensus.MAPS):
        return False
    start = f"{first_word(path)}[{first_key(path)}]"
    return not any(known.startswith(start) for known in statement.rest)


def _is_drained(path: str, own: Value | None, value: Value | None) -> bool:
    """Return whether a clause differs by the mark of a drained switch alone, see `blocked_routes`."""
    return path.startswith("route_map[") and str(own).split(_DRAIN) == [str(value), ""]


class OutlierPlace(NamedTuple):
    """The place of an outlier: see `place_of`."""

    paths: list[str]
    like: str
    word: str = ""


def _odd_word(own: Value | None, value: Value | None) -> str:
    """Return the last word of a value that the expected one does not have: the first ones are those of its kind."""
    words = set(str(value).split())
    odd = [word for word in str(own).split() if word not in words]
    return odd[-1] if odd and " " in str(value) else ""


def _compare_ports(
    statement: Statement,
    expected: consensus.Expected,
    role: consensus.Role,
    statements: Mapping[str, Mapping[str, Value]],
    paths: Mapping[str, str],
    peer: Device,
) -> Iterator[Finding]:
    """Report leaves on which some ports or sessions of one kind on a device differ, from here or from elsewhere."""
    wanted: dict[str, tuple[Value | None, str]] = {**expected.roles.get(role, {})}
    counts: dict[str, Counter[Value | None]] = {}
    for each in statements.values():
        for leaf, value in each.items():
            counts.setdefault(leaf, Counter())[value] += 1
    for leaf, values in counts.items() if role != consensus.BETWEEN else ():
        if leaf not in wanted:
            values[None] = len(statements) - values.total()
            most, times = values.most_common(1)[0]
            enough = times >= consensus.LEAST or most is not None
            if (
                len(+values) > 1
                and role[0] == "session"
                and leaf.endswith(consensus.PREFERENCES)
                and values[None]
            ):
                most, times = None, values[None]  # one session with a weight takes the routes of all others
            elif len(+values) < 2 or not enough or not consensus.is_overwhelming(times, len(statements)):
                continue
            kin = f"to {role[1]}s" if role[1] in _ENDS else f"that are {role[1]}"
            wanted[leaf] = most, f"{times} others of its {role[0]}s {kin}"
    protected = wanted.get("pfc", (None,))[0]
    bare = {name for name, each in statements.items() if protected and "pfc" not in each}
    for leaf, (right, who) in wanted.items():
        odd: dict[Value | None, list[str]] = {}
        for name, each in statements.items():
            if name in bare and leaf not in each and leaf.startswith(_WITH_PFC):
                continue
            if each.get(leaf) != right:
                odd.setdefault(each.get(leaf), []).append(name)
        for mine, names in odd.items():
            start = paths[names[0]]
            where = OutlierPlace([start + leaf], "")
            if mine is None and (stated := _find_statement(statement.device, peer, leaf, paths, role)):
                device, path = stated
                near = nearest_shared_fact(statement.device, start, device, path)
                where = OutlierPlace([start + leaf, near], line_of(device, path))
            yield _outlier_finding(
                statement, where, f"{join_words(names, 2)}: {_path_words(leaf)}", mine, right, who
            )


def _find_statement(
    device: Device, peer: Device, leaf: str, paths: Mapping[str, str], role: consensus.Role
) -> tuple[Device, str] | None:
    """Return the fact by which this device states the same about another port, or a peer about any."""
    for each in paths.values():
        if each + leaf in device.reading.lines:
            return device, each + leaf
    kind = PORT if role[0] != "session" else "bgp/neighbor["
    suffix = f"]/{leaf}"
    path = next((p for p in peer.reading.lines if p.startswith(kind) and p.endswith(suffix)), "")
    return (peer, path) if path else None


def _outlier_finding(
    statement: Statement,
    where: OutlierPlace,
    what: str,
    own: Value | None,
    value: Value | None,
    who: str,
    severity: Severity = Severity.WARNING,
) -> Finding:
    here = "nothing here" if own is None else f"{_show_value(own)} here"
    there = "nothing" if value is None else _show_value(value)
    message, group = f"{statement.name} {what}: {here}, {there} on {who}", f"unlike {statement.name}"
    remedy, (paths, like, word) = "Use the value of its peers, or state there why it differs.", where
    return finding_at(UNLIKE, statement.device, paths, message, group, severity, remedy, like=like, word=word)


def _show_value(value: Value) -> str:
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value) or "none"


_SPELLED = str.maketrans({"_": " ", "/": " ", "[": " ", "]": None})


def _path_words(path: str) -> str:
    return path.translate(_SPELLED)


def _lone_instances(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a port for RDMA in another routing instance than all other ports that lead to the same host."""
    hosts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for port, values in statement.ports.items():
        words = str(values.get("description", "")).split()
        if (
            words
            and "vrf" in values
            and ("pfc" in values or not qos_defaults.states_pfc(statement.device.system))
        ):
            hosts[words[0]][port] = str(values["vrf"])
    for host, ports in hosts.items():
        counts = Counter(ports.values())
        most, times = counts.most_common(1)[0]
        if times < _ALIKE or len(ports) - times != 1:
            continue
        port = next(port for port, vrf in ports.items() if vrf != most)
        message = f"{statement.name} {port} is in the VRF {ports[port]}, {times} other ports to {host} are in {most}"
        path = f"{PORT}{port}]/vrf"
        remedy = "Put the ports of a host into one routing instance."
        yield finding_at(SEGMENT, statement.device, path, message, "VRF of a port", Severity.WARNING, remedy)


_ALIKE = 3
"""Ports to a host in one routing instance from which a single other one is odd."""


RULES = (SwitchRule(SEGMENT, ADDRESSES, (), _lone_instances),)
