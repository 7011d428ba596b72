"""Find hops on which lossless traffic drops, and settings that slow RDMA down, from what one switch states.

Slow are a small share of the link, late marking, and a link without FEC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import defaults, qos_defaults
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key
from fabricc.facts.statement import Statement, Tier
from fabricc.proof.invariants.view import as_int
from fabricc.rules.classes import classes_of, group_of, lossless_ports, priority_group, queue_of
from fabricc.rules.findings import finding_at
from fabricc.rules.lossless import moved_point
from fabricc.rules.next_hops import ports_of_static_routes
from fabricc.rules.rule import CLASSIFICATION, ECN, INTERFACES, OTHER, PFC, Input, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

HOP, UNCLASSIFIED, BUFFER, SHORT = "FAB9666", "FAB9667", "FAB9668", "FAB9669"
ROCE_4096 = 4096 + 20 + 8 + 12 + 16 + 4 + 4
"""IP packet of an RDMA write of 4,096 bytes: payload, IPv4, UDP, BTH, RETH, immediate data, ICRC (annex A17)."""
_INTENT = "watchdog/detect_ms"
_PFC_MODE = "qos_setting[priority-flow-control]"
_IN_USE = ("ipv4", "ipv6", "unnumbered", "switchport")
_SWITCHES = (Tier.TOR, Tier.SPINE, Tier.CORE)


def _bare_hops(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report PFC that takes effect on no port, and links without PFC next to lossless ones."""
    if lossless := lossless_ports(statement):
        yield from _report_bare(
            statement, lossless, {*ports_of_static_routes(statement), *sessions.near.values()}
        )
    else:
        yield from _without_effect(statement)


def _without_effect(statement: Statement) -> Iterator[Finding]:
    """Report that a switch states parts of PFC, and no port has it in effect."""
    ports = [port for port, values in statement.ports.items() if _is_prepared(values)]
    used = statement.fars or any(is_used(values) for values in statement.ports.values())
    unused = [*statement.facts_below(qos_defaults.UNUSED_PAUSES)]
    if not used or (_INTENT not in statement.rest and not ports and not unused):
        return
    leaves = (_BY_TAG, "pfc", _ONE_WAY, "headroom/xoff_bytes", "watchdog")
    off = [f"{PORT}{port}]/{_PFC_MODE}" for port in ports if statement.ports[port].get(_PFC_MODE) == "off"]
    paths = [*off[:1], *_moved_points(statement), *(f"{PORT}{ports[0]}]/{leaf}" for leaf in leaves if ports)]
    message = f"{statement.name} states parts of PFC, and it takes effect on no port: RDMA drops here"
    remedy = "Enable PFC for the class of RDMA on every port, or remove it everywhere."
    yield finding_at(
        HOP,
        statement.device,
        (*paths, *unused, _INTENT),
        message,
        "PFC without effect",
        Severity.WARNING,
        remedy,
    )


def _moved_points(statement: Statement) -> Iterator[str]:
    """Yield the facts of code points in another class than that of their priority, which no other one is in."""
    classes = classes_of(statement)
    groups = {group_of(statement, each) for each in classes.values()}
    for path in statement.facts_below("qos/pfc_priority["):
        priority = first_key(path)
        if is_number(priority) and priority_group(statement, int(priority)) not in groups:
            yield from moved_point(statement, classes, int(priority))[0]


_BY_TAG = "qos_setting[classifiers ieee-802.1]"
"""A map of the tags of frames, which packets between routed ports do not have."""
_ONE_WAY = "qos_setting[pfc one way]"
"""PFC that a port sends and does not honor, or the reverse."""


def _is_prepared(values: Mapping[str, Value]) -> bool:
    requested = values.get("pfc") == "" or values.get(_PFC_MODE) == "on"
    return requested or "headroom/xoff_bytes" in values or values.get("watchdog") == "true"


def is_used(values: Mapping[str, Value]) -> bool:
    """Return whether a port has an address or bridges."""
    return any(leaf in values for leaf in _IN_USE)


def _report_bare(
    statement: Statement, lossless: dict[str, tuple[int, ...]], to_routers: AbstractSet[str]
) -> Iterator[Finding]:
    """Report links to switches, or all ports to hosts, that have no PFC where other ports of the switch have it.

    `to_routers`: ports with a session or with the next hop of a static route, where RDMA ends.
    """
    covered = {each for port in lossless for each in statement.chain(port)}
    links = _switch_links(statement)
    bare = [port for port in links if not covered.intersection(statement.chain(port))]
    if bare:
        message = (
            f"{statement.name} {join_words(bare, 2)}: a link to a switch without PFC, which other "
            f"ports have: RDMA drops"
        )
        remedy = "Enable PFC for the same priorities on both ends of every link between switches."
        paths = [f"{PORT}{bare[0]}]/{leaf}" for leaf in ("pfc", _PFC_MODE, "mtu")]
        yield finding_at(HOP, statement.device, paths, message, "link without PFC", Severity.WARNING, remedy)
    hosts = [port for port, far in statement.fars.items() if far.tier is Tier.HOST] + [
        port for port in statement.open_ports() if is_used(statement.ports[port]) and port not in to_routers
    ]
    if (
        statement.place.tier is Tier.TOR
        and hosts
        and len(bare) < len(links)
        and not covered.intersection(hosts)
    ):
        message = (
            f"{statement.name} {join_words(hosts, 2)}: no port to hosts has PFC, which links to switches have"
        )
        remedy = "Enable PFC on the ports to hosts that run RDMA."
        leaves = ("pfc", "qos_setting[pfc]", _PFC_MODE, "mtu", "ipv4", "description")
        paths = [f"{PORT}{hosts[0]}]/{leaf}" for leaf in leaves]
        yield finding_at(HOP, statement.device, paths, message, "hosts without PFC", Severity.WARNING, remedy)


def _switch_links(statement: Statement) -> list[str]:
    """Return the ports in use that lead to known switches."""
    links = [port for port, far in statement.fars.items() if far.known and far.tier in _SWITCHES]
    return [port for port in links if statement.of(port, "enabled") != "false"]


def _report_unclassified(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lossless ports that do not put packets into classes by their code points."""
    lossless = lossless_ports(statement)
    unsaid = qos_defaults.classifies_by_default(statement.device.system)
    if unsaid and not classes_of(statement):
        return
    found: dict[str, list[str]] = {}
    for port in lossless:
        trust = statement.of(port, "trust")
        if trust in ("dscp", "l3") or (trust is None and unsaid) or _is_tagged(statement, port):
            continue
        found.setdefault("" if trust is None else str(trust), []).append(port)
    for trust, ports in found.items():
        how = f"classify by {trust}, not by DSCP" if trust else "have no classification by DSCP"
        message = f"{statement.name} {join_words(ports, 2)} {how}: RDMA does not reach its lossless class"
        remedy = "Bind the map of code points to every port, or trust DSCP there."
        leaves = (_BY_TAG, "trust", "pfc")
        paths = [f"{PORT}{ports[0]}]/{leaf}" for leaf in leaves]
        yield finding_at(UNCLASSIFIED, statement.device, paths, message, "no classification", remedy=remedy)


def _is_tagged(statement: Statement, port: str) -> bool:
    """Return whether frames of a port carry a priority in their VLAN tag."""
    return statement.of(port, "switchport") == "trunk" or "." in port


def _small_packets(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lossless ports, or links between switches without PFC, with an MTU too small for packets of 4,096 bytes.

    A routed lossless port without an MTU has the default of its system. Without PFC it is a note, unless the system
    has no statement for PFC.
    """
    lossless = lossless_ports(statement)
    found: dict[int, list[str]] = {}
    unstated: list[str] = []
    for port in lossless or _switch_links(statement):
        values = statement.ports.get(port, {})
        if (
            not is_used(values) and "bundle" not in values
        ):  # PFC of a wildcard, on a port that carries nothing
            continue
        mtu = smallest_mtu(statement.of(port, "mtu"))
        if mtu is None and lossless and _is_routed(statement, port):
            unstated.append(port)
        elif mtu is not None and mtu < ROCE_4096:
            found.setdefault(mtu, []).append(port)
    default = defaults.default_mtu(statement.device.system)
    if default is not None and default < ROCE_4096 and unstated:
        found.setdefault(default, []).extend(unstated)
    severity = (
        Severity.NOTE
        if not lossless and qos_defaults.states_pfc(statement.device.system)
        else Severity.WARNING
    )
    for mtu, ports in found.items():
        message = (
            f"{statement.name} {join_words(ports, 2)}: the MTU is {mtu:,} bytes, an RDMA packet of 4,096 bytes "
            f"needs {ROCE_4096:,}: RDMA falls back to smaller packets, or drops"
        )
        group = "small MTU" if len(ports) > 1 else "small MTU of a port"
        remedy = f"Set an MTU of {ROCE_4096:,} bytes or more on every port that RDMA crosses, the same on both ends."
        yield finding_at(SHORT, statement.device, f"{PORT}{ports[0]}]/mtu", message, group, severity, remedy)


def smallest_mtu(value: Value | None) -> int | None:
    """Return the MTU of a port; of address families that differ, `9170,9202`, the smallest one."""
    return min((int(size) for size in str(value).split(",") if is_number(size)), default=None)


def _is_routed(statement: Statement, port: str) -> bool:
    """Return whether a port has an address of its own."""
    return any(statement.of(port, leaf) is not None for leaf in ("ipv4", "ipv6", "unnumbered"))


SLOW = "FAB9678"
_LATEST_US, _LATEST_PERCENT = 500, 80
"""Time that a port takes to send what is queued when marking begins, and share of the buffer: far above any advice."""
_LONGEST_US = 5000
"""Time that a port takes to send more than any queue of a lossless class holds."""
_FEC_GBPS = 200
"""Speed from which FEC is a part of the link (IEEE 802.3 clause 119)."""
_NO_FEC = ("off", "none", "disabled", "false")
_WEAK_FEC = ("baser", "base-r", "fire-code", "fc", "fec74")
"""Spellings of the FEC of links up to 25 Gb/s a lane without PAM4 (IEEE 802.3 clause 74)."""
_LEAST_GBPS, _MOST_GBPS = 10, 800
"""Speeds of ports that state none: those between which RDMA is in use."""
_HALF = 50
"""Percent of a link that a limit has to leave to RDMA."""
_WEIGHTED = ("dwrr", "wrr")


def _small_shares(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report queues with PFC that get less than equal weights would give them, in favor of a queue that may drop.

    Vendor profiles for RoCE give its class at least as much as any other one: half of the link or more.
    """
    found: dict[tuple[int, int, int], list[str]] = {}
    for port, priorities in lossless_ports(statement).items():
        weights = _weights(statement.ports[port])
        total = sum(weights.values())
        lossless = {queue_of(statement, each) for each in priorities}
        most, other = max(((weights[each], each) for each in weights if each not in lossless), default=(0, 0))
        for queue in lossless & weights.keys():
            if weights[queue] < most and weights[queue] * len(weights) < total:
                odd = other if weights[queue] >= _HALF else queue  # half of 100 is enough for RDMA
                found.setdefault((queue, 100 * weights[queue] // total, odd), []).append(port)
    for (queue, percent, odd), ports in found.items():
        message = (
            f"{statement.name} {join_words(ports, 2)}: queue {queue}, which has PFC, gets {percent} % of the link, "
            "less than with equal weights"
        )
        remedy = "Give RDMA's queue at least the weight of every queue that may drop packets."
        path = f"{PORT}{ports[0]}]/queue[{odd}]/scheduler"
        yield finding_at(SLOW, statement.device, path, message, "small share", Severity.WARNING, remedy)


def _weights(values: Mapping[str, Value]) -> dict[int, int]:
    """Return the weight of each queue of a port that has one."""
    found = {}
    for leaf, value in values.items():
        if leaf.startswith("queue[") and leaf.endswith("]/scheduler"):
            kind, _, weight = str(value).partition(" ")
            queue = first_key(leaf)
            if kind in _WEIGHTED and is_number(weight) and is_number(queue):
                found[int(queue)] = int(weight)
    return found


def _late_marking(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lossless queues that mark packets when senders are paused already."""
    late: dict[tuple[int, str], list[str]] = {}
    unending: dict[tuple[int, int], list[str]] = {}
    for port, priorities in lossless_ports(statement).items():
        values = statement.ports[port]
        speed = as_int(statement.of(port, "speed_gbps")) or _MOST_GBPS
        for queue in {queue_of(statement, each) for each in priorities}:
            size = as_int(values.get(f"queue[{queue}]/ecn_min_bytes"))
            percent = as_int(values.get(f"queue[{queue}]/ecn_min_fill_percent"))
            last = as_int(values.get(f"queue[{queue}]/ecn_max_bytes")) or 0
            if size is not None and speed and size * 8 > _LATEST_US * speed * 1000:
                late.setdefault((queue, f"{size:,} bytes"), []).append(port)
            elif percent is not None and percent > _LATEST_PERCENT:
                late.setdefault((queue, f"{percent} % of the buffer"), []).append(port)
            elif speed and last * 8 > _LONGEST_US * speed * 1000:
                unending.setdefault((queue, last), []).append(port)
    for (queue, level), ports in late.items():
        message = f"{statement.name} {join_words(ports, 2)}: queue {queue} marks from {level}, when senders are paused"
        remedy = "Mark the queue from below the point at which the port pauses."
        leaves = ("ecn_min_bytes", "ecn_min_fill_percent")
        paths = [f"{PORT}{ports[0]}]/queue[{queue}]/{leaf}" for leaf in leaves]
        yield finding_at(SLOW, statement.device, paths, message, "late marking", Severity.WARNING, remedy)
    for (queue, last), ports in unending.items():
        message = (
            f"{statement.name} {join_words(ports, 2)}: queue {queue} marks fully from {last:,} bytes, more than the "
            "buffer holds: few packets are marked"
        )
        remedy = "Set the upper threshold below what the queue can hold."
        path = f"{PORT}{ports[0]}]/queue[{queue}]/ecn_max_bytes"
        yield finding_at(SLOW, statement.device, path, message, "late marking", Severity.WARNING, remedy)


def _limited_rates(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports and queues with PFC that may send at less than half of the port's speed."""
    lossless = lossless_ports(statement)
    queues = {queue_of(statement, each) for priorities in lossless.values() for each in priorities}
    found: dict[tuple[int | None, str], list[str]] = {}
    paths: dict[tuple[int | None, str], str] = {}
    storms: set[tuple[int | None, str]] = set()
    for port in lossless:
        speed = as_int(statement.of(port, "speed_gbps")) or _LEAST_GBPS
        for leaf, value in statement.ports[port].items():
            limit = qos_defaults.rate_limit(leaf, value, speed)
            if limit and limit.percent < _HALF and (limit.queue is None or limit.queue in queues):
                key = limit.queue, f"{limit.percent:.1f}".removesuffix(".0")
                found.setdefault(key, []).append(port)
                paths.setdefault(key, f"{PORT}{port}]/{leaf}")
                storms |= {key} if limit.storm else set()
    slowest = min((as_int(statement.of(port, "speed_gbps")) or 0 for port in lossless), default=0)
    for path, value in statement.rest.items() if lossless else ():
        limit = qos_defaults.rate_limit(path, value, slowest or None)
        if limit and limit.percent < _HALF and limit.queue in queues:
            key = limit.queue, f"{limit.percent:.1f}".removesuffix(".0")
            found.setdefault(key, [])
            paths.setdefault(key, path)
    for (queue, percent), ports in found.items():
        where = f" {join_words(ports, 2)}" if ports else ""
        what = "a port with PFC" if queue is None else f"queue {queue}, which has PFC,"
        rate = "drops frames above" if (queue, percent) in storms else "may send at"
        message = f"{statement.name}{where}: {what} {rate} {percent} % of the link"
        remedy = "Remove the limit, or apply it to queues that may drop packets."
        yield finding_at(
            SLOW, statement.device, paths[queue, percent], message, "rate limit", Severity.WARNING, remedy
        )


def _no_correction(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports of 200 Gb/s and more on which FEC is off."""
    ports = [
        port
        for port, values in statement.ports.items()
        if str(values.get("fec")) in (*_NO_FEC, *_WEAK_FEC)
        and values.get("enabled") != "false"
        and (as_int(values.get("speed_gbps")) or 0) >= _FEC_GBPS
    ]
    if ports:
        weak = str(statement.ports[ports[0]]["fec"]) in _WEAK_FEC
        what = "FEC is not RS-FEC" if weak else "FEC is off"
        message = (
            f"{statement.name} {join_words(ports, 2)}: {what}, which links of {_FEC_GBPS} Gb/s and more need"
        )
        remedy = "Enable RS-FEC on both ends."
        path = f"{PORT}{ports[0]}]/fec"
        yield finding_at(SLOW, statement.device, path, message, "no FEC", Severity.WARNING, remedy)


def _hash_of_addresses(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that all flows between two NICs take one of several equal paths."""
    unset = "hash" in defaults.unset_kernel(statement.device.system, statement.rest) and statement.fars
    for path, value in statement.rest.items():
        if qos_defaults.hashes_addresses_alone(path, value) or (unset and path.startswith("kernel[")):
            message = f"{statement.name} hashes addresses alone: all queue pairs of two NICs share one path"
            remedy = "Hash the UDP source port too, which differs between queue pairs (RoCEv2, annex A17)."
            yield finding_at(
                SLOW, statement.device, path, message, "hash of addresses", Severity.WARNING, remedy
            )
            return


RULES = (
    SwitchRule(HOP, PFC, (Input.PFC, Input.LINKS), _bare_hops, shared=True),
    SwitchRule(UNCLASSIFIED, CLASSIFICATION, (Input.PFC,), _report_unclassified, shared=True),
    SwitchRule(SHORT, INTERFACES, (), _small_packets, shared=True),
    SwitchRule(SLOW, PFC, (Input.PFC,), _small_shares, shared=True),
    SwitchRule(SLOW, ECN, (Input.PFC,), _late_marking, shared=True),
    SwitchRule(SLOW, PFC, (Input.PFC,), _limited_rates, shared=True),
    SwitchRule(SLOW, INTERFACES, (), _no_correction, shared=True),
    SwitchRule(SLOW, OTHER, (), _hash_of_addresses, shared=True),
)
