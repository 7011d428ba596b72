"""Compare both ends of a link: speed, MTU, error correction, PFC, marking, addresses, VLANs, bundles.

The worker that reads a device reduces each end to a few values. `differing_values` compares two ends, for links that a
plan has (`planned_links.py`) and for links that are found in a folder. Of the latter, the end with the rarer value is
reported.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.defaults import certain_default_mtu, negotiates, ospf_defaults
from fabricc.back.nos.harmful_settings import guard_of, states_guards
from fabricc.back.nos.lost_lines import NAMES_ADDRESS
from fabricc.back.nos.qos_defaults import states_pfc
from fabricc.base.diagnostics import Severity
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT, SharedTable
from fabricc.facts.statement import Device, End, Kind, Statement, Tier
from fabricc.proof.invariants.view import as_int, parse_priorities, sibling_address
from fabricc.rules.classes import marks_packets, queue_of
from fabricc.rules.findings import finding_at, line_in_block, line_of, nearest_shared_fact
from fabricc.rules.lossless import protected_code_points
from fabricc.rules.records import COMPARED, LEFT_OPEN, EndValues, Votes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding

DIFFER, ADDRESSES, BRIDGED = "FAB9600", "FAB9602", "FAB9603"
WORDS = {
    "mtu": "MTU", "speed_gbps": "speed", "fec": "error correction", "pfc": "PFC priorities", "trust": "trust",
    "autoneg": "autonegotiation", "marked": "queues with ECN", "native_vlan": "native VLAN", "vlans": "VLANs",
    "access_vlan": "VLAN", "switchport": "kind of port", "bundle": "membership of a bundle",
    "settings": "session settings", "bfd": "BFD",
    "bundle_mode": "protocol of the bundle", "ospf_area": "OSPF area", "ospf_network": "kind of network of OSPF",
    "ospf_hello": "hello interval of OSPF", "ospf_dead": "dead interval of OSPF", "isis": "IS-IS",
    "ospf_key": "authentication of OSPF", "isis_level": "level of IS-IS",
    "isis_network": "kind of network of IS-IS", "guard": "tag or security",
    "points": "code points with PFC", "cable": "meters of cable that headroom is for",
}  # fmt: skip
_WHY = {
    "mtu": "packets of the larger size are lost on the way to the smaller",
    "speed_gbps": "the link does not come up",
    "fec": "the link does not come up, or with errors",
    "pfc": "one end pauses and the other continues to send",
    "trust": "packets change their class from one end to the other",
    "autoneg": "the link may not come up",
    "marked": "senders are notified of congestion in one direction only",
    "native_vlan": "frames without a tag change their VLAN",
    "vlans": "frames of the others are dropped",
    "access_vlan": "frames change their VLAN",
    "switchport": "one end expects tags that the other does not send",
    "bundle_mode": "one end waits for LACP, and the bundle does not come up",
    "bundle": "one end takes the link for one of several, the other for one alone",
    "ospf_area": "the neighbors do not agree",
    "ospf_network": "routes over the link are not used",
    "ospf_hello": "the neighbors do not agree",
    "ospf_dead": "the neighbors do not agree",
    "isis": "the neighbors do not agree",
    "ospf_key": "the neighbors do not agree",
    "isis_level": "the neighbors do not agree",
    "isis_network": "the neighbors do not agree",
    "guard": "each end drops what the other one sends",
    "points": "packets leave the lossless class on their way",
    "cable": "it is one cable, and short headroom drops packets",
}
LAYER_2_BYTES = 14
"""The Ethernet header, which the largest frame of a port includes and its MTU does not."""
_HELLO = ("ospf_setting[ip ospf hello-interval]", "ospf_setting[hello-interval]")
_DEAD = ("ospf_setting[ip ospf dead-interval]", "ospf_setting[dead-interval]")
_AUTHENTICATION = ("ospf_setting[ip ospf authentication]", "ospf_setting[authentication]")
_CIRCUIT = ("isis_setting[isis circuit-type]", "isis_setting[circuit-type]")
_ISIS_NETWORK = ("isis_setting[isis network]", "isis_setting[network]")
_NAMES = {
    "ospf_hello": (*_HELLO, "ospf_area"), "ospf_dead": (*_DEAD, "ospf_area"),
    "ospf_key": (*_AUTHENTICATION, "ospf_area"),
    "isis": ("isis_setting[password]", "isis"), "isis_level": (*_CIRCUIT, "isis"),
    "isis_network": (*_ISIS_NETWORK, "isis"), "marked": ("queue",),
    "cable": ("headroom/cable_m",),
}  # fmt: skip
"""Value -> the statements that it comes from, where their names differ: the first that is there counts."""
_REMEDY = "Set both ends of the link to the same value."


_WARNINGS = frozenset(("trust", "autoneg", "marked", "vlans", "access_vlan", "points", "cable"))


class Ends(NamedTuple):
    """The values of the ends of a device's links, by port; `addresses` of those that have some."""

    values: Mapping[str, EndValues]
    addresses: Mapping[str, tuple[str, ...]]


def ends_of(statement: Statement) -> Ends:
    """Return the ends of a device's links; equal ends are one object."""
    addresses: dict[str, tuple[str, ...]] = {}
    for port in statement.fars:
        if texts := statement.addresses.get(statement.carrier(port)):
            addresses[port] = tuple(texts)
    return Ends(statement.once(ends_of, lambda: _ends_of(statement)), addresses)


def _ends_of(statement: Statement) -> SharedTable[str, EndValues]:
    alike: dict[EndValues, EndValues] = {}
    device = statement.device
    states_qos = (device.kind is Kind.SWITCH and states_pfc(device.system)) or statement.states_quality
    bundles = any("bundle" in values for values in statement.ports.values())
    values = {port: _end_values(statement, port, states_qos, bundles) for port in statement.fars}
    return SharedTable({port: alike.setdefault(end, end) for port, end in values.items()})


def _end_values(statement: Statement, port: str, states_qos: bool, bundles: bool) -> EndValues:
    def value_of(leaf: str) -> Value | None:
        return statement.of(port, leaf)

    def bundle_value(leaf: str) -> Value | None:
        """Return the value of a member's bundle: its own lines count only without a bundle."""
        carrier = statement.carrier(port) if bundles else port
        return value_of(leaf) if carrier == port else statement.ports.get(carrier, {}).get(leaf)

    pfc = value_of("pfc")
    lossless, points = parse_priorities(pfc), protected_code_points(statement)
    queues = [queue_of(statement, each) for each in lossless]
    marked = [queue for queue in queues if marks_packets(statement, port, queue)]
    member = None if not bundles else "a member" if value_of("bundle") is not None else "no member"
    host = statement.device.kind is Kind.HOST
    return EndValues(
        host=statement.place.tier is Tier.HOST,
        shut=value_of("enabled") == "false",
        mtu=_mtu_of(statement, port),
        speed_gbps=value_of("speed_gbps"),
        fec=value_of("fec"),
        autoneg=value_of("autoneg") or negotiates(statement.device.system),
        pfc=(str(pfc) if lossless else "none") if pfc is not None or states_qos else None,
        trust=value_of("trust") if statement.states_quality and not host else None,
        marked=",".join(map(str, marked)) or "none" if lossless and not host else None,
        switchport=bundle_value("switchport"),
        access_vlan=bundle_value("access_vlan"),
        native_vlan=bundle_value("native_vlan"),
        vlans=_in_order(bundle_value("vlans")),
        bundle=member,
        bundle_mode=_bundle_protocol(value_of("bundle_mode")),
        guard=_guard_of(statement, port),
        cable=value_of("headroom/cable_m") if lossless else None,
        points=",".join(map(str, sorted(points))) if lossless and points and not host else None,
        **_ospf_values(statement, port),
        **_isis_values(statement, port),
    )


def _guard_of(statement: Statement, port: str) -> str | None:
    """Return what each packet on a routed port must have; None where the other end may be a VLAN."""
    if statement.of(port, "switchport") is not None or not states_guards(statement.device.system):
        return None
    values = statement.ports.get(port, {})
    return ", ".join(filter(None, (guard_of(leaf, value) for leaf, value in values.items()))) or "none"


def _ospf_values(statement: Statement, port: str) -> dict[str, str]:
    """Return what both neighbors of OSPF must agree on, with the defaults of the system (RFC 2328 section 10.5)."""
    area, defaults = statement.ospf_area(port), ospf_defaults(statement.device.system)
    if area is None or defaults is None or statement.passive_path(port):
        return {}
    if area == "none":
        return {"ospf_area": area}
    text = str(ip_address(int(area))) if is_number(str(area)) else str(area)
    hello, dead = (
        next((str(value) for leaf in leaves if (value := statement.of(port, leaf)) is not None), "")
        for leaves in (_HELLO, _DEAD)
    )
    network = statement.of(port, "ospf_network")
    return {
        "ospf_area": text,
        "ospf_network": str(network or defaults.network),
        "ospf_hello": hello or str(defaults.hello_s),
        **({"ospf_dead": dead or str(defaults.dead_s)} if dead or not hello else {}),
        **_authentication(statement, port),
    }


def _authentication(statement: Statement, port: str) -> dict[str, str]:
    """Return how OSPF of a port authenticates its neighbor, unless the process states it for areas."""
    if any("authentication" in path or "auth" in path for path in statement.facts_below("ospf[")):
        return {}
    stated = (statement.of(port, leaf) for leaf in _AUTHENTICATION)
    return {"ospf_key": str(next((each for each in stated if each is not None), "none"))}


_LINK_STATE = ("ospf_", "isis_")
_LEVELS = ("level-1", "level-2")


def _isis_values(statement: Statement, port: str) -> dict[str, str]:
    """Return what both neighbors of IS-IS must agree on: one level, if an end has no more, and the kind of network."""
    process = statement.of(port, "isis")
    if ospf_defaults(statement.device.system) is None or statement.passive_path(port):
        return {}
    if process is None:
        routed = statement.of(port, "ipv4") is not None and statement.of(port, "vrf") is None
        return {"isis": "none"} if routed and "isis" in statement.port_leaves else {}

    def stated(leaves: tuple[str, ...]) -> str:
        return next((str(each) for leaf in leaves if (each := statement.of(port, leaf)) is not None), "")

    levels = {stated(_CIRCUIT).removesuffix("-only"), str(statement.rest.get(f"isis[{process}]/level", ""))}
    single = sorted({level.removesuffix("-only") for level in levels}.intersection(_LEVELS))
    level = {"isis": "on" if statement.of(port, _NAMES["isis"][0]) is None else "on with a password"}
    if single:
        title = str(statement.rest.get(f"isis[{process}]/net", "")) if single == ["level-1"] else ""
        level["isis_level"] = " and ".join(single) + (f" of area {title[:-18]}" if title else "")
    return {**level, "isis_network": stated(_ISIS_NETWORK) or "broadcast"}


def _mtu_of(statement: Statement, port: str) -> Value | None:
    """Return the MTU of a port; of a routed port without a statement, the default of its system."""
    stated, physical = statement.of(port, "mtu"), as_int(statement.of(port, "physical_mtu"))
    if isinstance(stated, int) and physical is not None and physical - LAYER_2_BYTES < stated:
        return physical - LAYER_2_BYTES
    routed = any(statement.of(port, leaf) is not None for leaf in ("ipv4", "ipv6", "unnumbered"))
    if stated is None and routed and statement.of(port, "bundle") is None:
        return certain_default_mtu(statement.device.system)
    return (
        stated if stated is not None else statement.once(_mtu_of, lambda: _mtus_of_units(statement)).get(port)
    )


def _mtus_of_units(statement: Statement) -> dict[str, int]:
    """Return port -> the largest MTU of its logical interfaces, whose packets it sends."""
    found: dict[str, int] = {}
    for port, values in statement.ports.items():
        mtu, base = values.get("mtu"), statement.base(port)
        if base != port and isinstance(mtu, int):
            found[base] = max(mtu, found.get(base, 0))
    return found


@lru_cache(maxsize=1024)
def differing_values(one: EndValues, two: EndValues) -> tuple[str, ...]:
    """Return the names of the values on which two ends differ; a value that one end does not state does not count."""
    found = []
    for name in COMPARED:
        mine, other = getattr(one, name), getattr(two, name)
        if mine is None or other is None or mine == other:
            continue
        if name == "vlans" and "all" in (mine, other):
            continue  # the other end alone decides
        if name == "mtu" and _host_sends_less(one, two):
            continue
        if name == "cable" and 2 * min(int(mine), int(other)) > max(int(mine), int(other)):
            continue  # a reserve
        found.append(name)
    return tuple(found)


def _host_sends_less(one: EndValues, two: EndValues) -> bool:
    """Return whether one end is a host with the smaller MTU, which loses nothing."""
    host, switch = (one, two) if one.host else (two, one)
    mine, other = host.mtu, switch.mtu
    return host.host and isinstance(mine, int) and isinstance(other, int) and mine < other


def _bundle_protocol(mode: Value | None) -> str | None:
    """Return how a bundle is agreed on: an end that waits for LACP agrees with one that begins it."""
    return None if mode is None else "none" if mode == "on" else "LACP"


def _in_order(vlans: Value | None) -> Value | None:
    """Return a list of VLANs in the order of its text, so that two lists of the same VLANs are equal."""
    return ",".join(sorted(str(vlans).split(","))) if isinstance(vlans, str) else vlans


class Side(NamedTuple):
    """One end of a link with its device."""

    device: Device
    end: End
    values: EndValues
    addresses: tuple[str, ...]
    tiers: tuple[Tier, Tier]

    def path(self, leaf: str) -> str:
        """Return the path of a fact of the port."""
        return f"{PORT}{self.end.port}]/{leaf}"


def end_findings(a: Side, b: Side, votes: Votes) -> Iterator[Finding]:
    """Report what the ends of one link do not agree on."""
    if a.values.shut or b.values.shut:
        if a.values.shut != b.values.shut:
            yield _half_shut(*((a, b) if a.values.shut else (b, a)))
        return
    for name in differing_values(a.values, b.values):
        odd, right = _odd_end_first(a, b, name, votes)
        yield _difference_finding(odd, right, name)
    for one, other in ((a, b), (b, a)):
        yield from _lone_statements(one, other, votes)
    yield from _check_subnets(a, b)
    for bare, other in ((a, b), (b, a)):
        if other.addresses and not bare.addresses and _lacks_address(bare):
            yield _bare_end(bare, other)


_RARE, _MANY = 4, 4


def _lone_statements(one: Side, other: Side, votes: Votes) -> Iterator[Finding]:
    """Report a speed, error correction or no negotiation of one port alone, of which the other end states none."""
    for name, usual in LEFT_OPEN.items():
        value = getattr(one.values, name)
        if value is None or value in usual or getattr(other.values, name) is not None or other.values.host:
            continue
        if votes.ends < _MANY or votes.stated[name] * _RARE > votes.ends or one.values.host:
            continue
        if sum(path.endswith(f"]/{name}") for path in one.device.reading.facts) == 1:  # others are by design
            message = (
                f"{one.device.name} {one.end.port} states {WORDS[name]} {value}, and the other end of the link "
                f"({other.device.name} {other.end.port}) nothing, as nearly all others: the link may not come up"
            )
            paths = _fact_paths(one, name)
            yield finding_at(DIFFER, one.device, paths, message, f"link {name}", Severity.WARNING, _REMEDY)


def _odd_end_first(a: Side, b: Side, name: str, votes: Votes) -> tuple[Side, Side]:
    """Return the end with the rarer value first; if both are as common, the end without a value."""
    mine = votes.of(a.tiers, name, getattr(a.values, name))
    other = votes.of(b.tiers, name, getattr(b.values, name))
    nothing = getattr(b.values, name) == "none"
    if (
        name.startswith(_LINK_STATE) and name in _NAMES
    ):  # one end has the default, the other its own statement
        nothing = _states_default(a, name) and not _states_default(b, name)
    if name == "autoneg":  # of two, the one that negotiates
        nothing = getattr(b.values, name) in ("on", "true")
    if name == "guard":  # what has to be stated is the odd one
        nothing = getattr(a.values, name) == "none"
    if name == "cable":  # too little headroom drops packets
        nothing = int(b.values.cable or 0) < int(a.values.cable or 0)
    nothing = nothing and other == mine
    return (b, a) if other < mine or nothing else (a, b)


def _states_default(side: Side, name: str) -> bool:
    """Return whether an end states nothing of a value, which then is the default of its system."""
    return _stated_leaf(side, name) == _NAMES.get(name, ("",))[-1]


def _stated_leaf(side: Side, name: str) -> str:
    """Return the first of the statements of a value that an end has, else the last of them."""
    facts, leaves = side.device.reading.facts, _NAMES.get(name, (name,))
    if name == "guard":
        own = (path.removeprefix(side.path("")) for path in facts if path.startswith(side.path("")))
        leaves = (*(leaf for leaf in own if guard_of(leaf, "")), "vlan_tag")
    stated = (each for each in leaves if any(path in facts for path in _fact_paths(side, each)))
    return next(stated, leaves[-1])


def _difference_finding(odd: Side, right: Side, name: str) -> Finding:
    mine, other = getattr(odd.values, name), getattr(right.values, name)
    message = (
        f"{odd.device.name} {odd.end.port}: {WORDS[name]} {mine}, at the other end of the link "
        f"({right.device.name} {right.end.port}) {other}: {_WHY[name]}"
    )
    code = BRIDGED if name in ("native_vlan", "vlans", "access_vlan", "switchport", "bundle") else DIFFER
    leaf = "physical_mtu" if name == "mtu" and _is_cut_short(odd) else _stated_leaf(odd, name)
    severity = Severity.WARNING if name in _WARNINGS else Severity.ERROR
    paths = (*_fact_paths(odd, leaf), *_fact_paths(odd, "description"))
    if name == "points":
        every = {*str(mine).split(","), *str(other).split(",")}
        paths = (*(f"qos/dscp[{each}]/traffic_class" for each in sorted(every, key=int)), *paths)
    if name == "isis_level" and leaf == "isis":  # what the process states
        process = f"isis[{odd.device.reading.facts.get(odd.path(leaf))}]/"
        apart = str(mine).partition(" of ")[0] == str(other).partition(" of ")[0]
        paths = (f"{process}{'net' if apart else 'level'}", *paths)
    if name == "marked":
        lacking = [each for each in str(other).split(",") if each not in str(mine).split(",")]
        paths = (*(odd.path(f"queue[{each}]/ecn_min_bytes") for each in lacking), *paths)
    facts, other_paths = odd.device.reading.facts, _fact_paths(right, leaf)
    stated = any(path in facts for path in _fact_paths(odd, leaf))
    like = "" if stated else next(filter(None, (line_of(right.device, path) for path in other_paths)), "")
    if like and odd.device.system == right.device.system:
        stating = next(path for path in other_paths if line_of(right.device, path))
        paths = (
            *_fact_paths(odd, leaf),
            nearest_shared_fact(odd.device, odd.path(""), right.device, stating),
        )
    return finding_at(code, odd.device, paths, message, f"link {name}", severity, _REMEDY, like=like)


def _is_cut_short(side: Side) -> bool:
    """Return whether the largest frame of a port is smaller than its MTU needs."""
    stated = [side.device.reading.facts.get(path) for path in _fact_paths(side, "mtu")]
    return side.values.mtu is not None and any(
        isinstance(each, int) and each > int(side.values.mtu) for each in stated
    )


def _fact_paths(side: Side, leaf: str) -> tuple[str, ...]:
    """Return paths of a fact of a port: its own, that of the port below it, that of its bundle."""
    facts = side.device.reading.facts
    base = side.end.port.rpartition(".")[0]
    bundle = facts.get(f"{PORT}{base or side.end.port}]/bundle", "")
    return tuple(f"{PORT}{each}]/{leaf}" for each in (side.end.port, base, bundle) if each)


def _half_shut(shut: Side, other: Side) -> Finding:
    message = (
        f"{shut.device.name} {shut.end.port} is shut, and the other end of the link ({other.device.name} "
        f"{other.end.port}) is not: the capacity is missing"
    )
    remedy = "Enable the port, or shut the other end as well."
    return finding_at(
        DIFFER, shut.device, shut.path("enabled"), message, "link shut", Severity.WARNING, remedy
    )


_ADDRESSED = ("ipv4", "ipv6", "unnumbered", "bundle", "switchport", "secondary", "link_local", "dhcp")


def _lacks_address(side: Side) -> bool:
    """Return whether a port is stated to route, and neither it nor a port of it has an address."""
    facts, start = side.device.reading.facts, side.path("")
    if facts.get(side.path("routed")) != "true":
        return False
    inner = f"{PORT}{side.end.port}."
    return not any(
        path.startswith(inner) or path.removeprefix(start).startswith(_ADDRESSED)
        for path in facts
        if path.startswith((start, inner))
    )


def _bare_end(bare: Side, other: Side) -> Finding:
    where = f"{other.device.name} {other.end.port} at the other end {other.addresses[0]}"
    message = (
        f"{bare.device.name} {bare.end.port} routes and has no address, {where}: nothing crosses the link"
    )
    remedy = "Give both ends of the link addresses of one subnet."
    paths = (bare.path("routed"), bare.path("description"))
    found = finding_at(ADDRESSES, bare.device, paths, message, "link addresses", Severity.WARNING, remedy)
    return line_in_block(bare.device, found, NAMES_ADDRESS)


def _check_subnets(a: Side, b: Side) -> Iterator[Finding]:
    """Report ends whose addresses are not two different ones of one subnet."""
    if len(a.addresses) == len(b.addresses) == 1 and sibling_address(a.addresses[0]):
        its, _, length = b.addresses[0].partition("/")
        if its == sibling_address(a.addresses[0]) and a.addresses[0].endswith(f"/{length}"):
            return
    for version in (4, 6):
        mine, other = _of_version(a.addresses, version), _of_version(b.addresses, version)
        if not mine or not other:
            continue
        if all(each.network.prefixlen == each.max_prefixlen for each in (*mine, *other)):
            continue  # ports without a subnet borrow the address of a loopback
        if any(m.network == o.network and m.ip != o.ip for m in mine for o in other):
            continue
        one, two = mine[0], other[0]
        where = f"{a.device.name} {a.end.port} has {one}, {b.device.name} {b.end.port} at the other end {two}"
        if one.ip == two.ip:
            what = "one address for both ends"
        elif one.ip in two.network or two.ip in one.network:
            what = "prefix lengths that differ"
        else:
            what = "no common subnet"
        leaf = f"ipv{version}"
        message = f"{where}: {what}"
        remedy = "Give both ends of the link addresses of one subnet."
        yield finding_at(
            ADDRESSES, a.device, _fact_paths(a, leaf), message, "link addresses", Severity.ERROR, remedy
        )
        yield finding_at(
            ADDRESSES, b.device, _fact_paths(b, leaf), message, "link addresses", Severity.ERROR, remedy
        )


def _of_version(texts: Iterable[str], version: int) -> list[IPv4Interface | IPv6Interface]:
    found = []
    for text in texts:
        try:
            each = ip_interface(text)
        except ValueError:
            continue
        if each.version == version and not each.is_link_local:
            found.append(each)
    return found


def side_of(
    end: End, far: End, devices: Mapping[str, Device], ends: Mapping[str, Ends], tiers: Mapping[str, Tier]
) -> Side | None:
    """Return one end of a link; None if the folder lacks its device."""
    if end.device not in ends or end.port not in ends[end.device].values:
        return None
    of = ends[end.device]
    both = tiers.get(end.device, Tier.OTHER), tiers.get(far.device, Tier.OTHER)
    return Side(devices[end.device], end, of.values[end.port], of.addresses.get(end.port, ()), both)
