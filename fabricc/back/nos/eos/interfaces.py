"""Interfaces of EOS: ports of the fabric, ports for service, the loopback, the management port."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.defaults import BRIDGED
from fabricc.back.nos.eos import evpn, qos, qos_rows, words
from fabricc.back.nos.eos.foreign import interfaces as others
from fabricc.back.nos.eos.foreign import qos as foreign_qos
from fabricc.back.nos.eos.foreign import routing
from fabricc.back.nos.management import state_isolation
from fabricc.back.reading import Block, Document, Entry, Keep, Row, Scope, Silent, StoredValue, Topic
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction, Port, Switch
from fabricc.fabric.vocabulary import UniformPorts, port_paths, shared_facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.nos.base import Departure
    from fabricc.fabric.facts import Facts, Value

DEFAULT_MTU = 1500
SERVICE_DESCRIPTION = "service port"
RA_MAX_S = 10
"""Seconds between router advertisements on unnumbered links, as in FRR's BGP; EOS's default is 200 s."""
UNUSED = Direction.UNUSED  # looking a member up costs more than what is done with it

DEPARTURES: tuple[Departure, ...] = ()


# --- what EOS makes of the Fabric's statements --------------------------------------------------------


class PortKind(NamedTuple):
    """Settings that ports share; `mtu` is None at the default, `speed`, `fec` and `ecn_delay` are EOS words.

    `ecn_delay` is None where nothing is marked, or by the bytes of a queue. `counted` are the queues whose marks the
    port itself counts.
    """

    mtu: int | None
    speed: str
    fec: bool
    qos_profile: str | None
    policy: str | None
    ecn_delay: str | None
    mmu_profile: str | None
    counted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InterfacesView:
    """The interfaces of a switch: ports, by runs of a kind; `service`, the cages that are not for the fabric.

    Attributes:
        ra_max_ms: time between router advertisements on unnumbered links.
        quiet: names of the ports that send none.
    """

    runs: list[tuple[PortKind, list[Port]]]
    service: list[str]
    service_description: str
    ra_max_ms: int
    quiet: frozenset[str]
    loopback4: str | None
    loopback6: str | None
    management: str


def interfaces_view(switch: Switch, view: qos.QosView) -> InterfacesView:
    """Return what EOS makes of a switch's ports."""
    return InterfacesView(
        runs=_port_runs(switch, buffers=bool(view.mmu_profiles)),
        service=words.service_ports(switch.model),
        service_description=SERVICE_DESCRIPTION,
        ra_max_ms=1000 * RA_MAX_S,
        quiet=frozenset([port.name for port in switch.ports if _is_quiet(port)]),
        loopback4=switch.loopback4,
        loopback6=switch.loopback6,
        management=words.management_interface(switch),
    )


def _port_runs(switch: Switch, buffers: bool) -> list[tuple[PortKind, list[Port]]]:
    runs: list[tuple[PortKind, list[Port]]] = []
    delays = {profile: qos.delay_words(us) for profile, us in qos.delays_by_profile(switch).items()}
    counted = qos.counted_on_ports(switch)
    before = None
    for port in switch.ports:
        of = (port.direction is UNUSED, port.mtu, port.speed_gbps, port.lanes, port.profile, port.trusted)
        if of != before:
            runs.append((_port_kind(port, delays, buffers, counted), []))
            before = of
        runs[-1][1].append(port)
    return runs


def _port_kind(
    port: Port, delays: Mapping[str, str], buffers: bool, counted: Mapping[str, tuple[int, ...]]
) -> PortKind:
    used = port.direction is not UNUSED
    return PortKind(
        port.mtu if used and port.mtu != DEFAULT_MTU else None,
        _speed_word(port),
        _port_fec(port) is not None,
        qos.profile_name(port.profile, port.trusted) if used else None,
        None if port.trusted else qos.UNTRUSTED_PROFILE,
        delays.get(port.profile or "") if used else None,
        qos.mmu_name(port.profile) if used and buffers and port.profile else None,
        counted.get(port.profile or "", ()) if used else (),
    )


def _speed_word(port: Port) -> str:
    """Return the speed as EOS spells it; `gaps` reports a combination that has no spelling."""
    key = port.speed_gbps, port.lanes
    return words.SPEEDS[key] if key in words.SPEEDS else f"{key[0]}g-{key[1]}"


def _is_quiet(port: Port) -> bool:
    """Return whether a host would receive router advertisements of the port: it has an IPv6 address there."""
    return port.direction is Direction.HOST and port.ipv6 is not None


def _port_fec(port: Port) -> str | None:
    """`rs` where a used port's lanes run at 25 Gb/s or more (IEEE 802.3 clauses 91, 119, 134 and 161), else None."""
    return "rs" if port.direction is not UNUSED and port.speed_gbps >= 25 * port.lanes else None


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add further facts of EOS about ports: lanes, FEC, routing, and marking by delay."""
    delays = qos.delays_by_profile(switch)
    waiting = [c.priority for c in switch.qos.classes if qos.can_wait(strict=c.strict, stopped=c.lossless)]
    for port in switch.ports:
        paths = port_paths(port.name)
        facts[paths["lanes"]] = port.lanes
        facts[paths["routed"]] = "true"
        if encoding := _port_fec(port):
            facts[paths["fec"]] = encoding
        if port.unnumbered:
            facts[paths["ra_max_s"]] = RA_MAX_S
        if _is_quiet(port):
            facts[paths["ra"]] = evpn.SUPPRESSED
        if delays and port.direction is not UNUSED and (threshold_us := delays.get(port.profile or "")):
            facts[paths["ecn_delay_us"]] = threshold_us
            held = qos.queue_facts(threshold_us, port.speed_gbps) | {"ecn_count": "true"}
            facts |= {paths[f"queue[{q}]/{leaf}"]: value for q in waiting for leaf, value in held.items()}
    for name in words.service_ports(switch.model):
        paths = port_paths(name)
        facts |= {
            paths["description"]: SERVICE_DESCRIPTION,
            paths["enabled"]: "false",
            paths["routed"]: "true",
        }
    facts["management/interface"] = words.management_interface(switch)


# --- and back -----------------------------------------------------------------------------------------

_LOOPBACK = "Loopback0"
_LEAK = re.compile(r"^\s*leak routes\b|\begress-vrf\b")
TYPES = {**others.TYPES, "ports": words.expand_ports}


def _interval_facts(milliseconds: int) -> dict[str, Value]:
    """State the time between router advertisements: in seconds where they are whole, else as a setting."""
    seconds, rest = divmod(milliseconds, 1000)
    return {"setting[ipv6 nd ra interval msec]": milliseconds} if rest else {"ra_max_s": seconds}


ROWS: Sequence[Row] = (
    Block("interface <ports>", "interface", (
        Keep("description <rest>", "description"),
        Keep("shutdown", "enabled", "false"),
        Keep("no shutdown", "enabled", "true"),
        Keep("mtu <68-65535>", "mtu"),
        Keep("speed <speed>", others.speed_facts),
        Keep("error-correction encoding reed-solomon", "fec", "rs"),
        Keep("no error-correction encoding", "fec", "none"),
        Keep("no switchport", "routed"),
        Keep("switchport access vlan <integer>", "access"),
        Keep("vrf <word>", "vrf"),
        Keep("ip address <prefix4>", "ipv4"),
        Keep("ip address virtual <prefix4>", "virtual ipv4"),
        Keep("ipv6 address virtual <prefix6>", "virtual ipv6"),
        Keep("ipv6 enable", "link_local"),
        Keep("ipv6 nd ra interval <integer>", "ra_max_s"),
        Keep("ipv6 nd ra interval msec <integer>", _interval_facts),
        Keep("ipv6 nd ra disabled all", "ra", evpn.SUPPRESSED),
        Entry("ipv6 address <prefix6>", "ipv6"),
        Silent("no (ip|ipv6) address"),
        Keep("service-profile <word>", "qos_profile"),
        Keep("service-policy type qos input <word>", "policy"),
        Keep("platform trident mmu queue interface-profile <word>", "mmu_profile"),
        Keep("platform trident mmu queue profile <word> apply", "mmu_profile"),
        *qos_rows.DELAY_ROWS,
        Block("(tx-queue|uc-tx-queue) <integer>", "queue", (*qos_rows.QUEUE, *foreign_qos.QUEUE)),
        *others.ROWS,
    )),
    Block("interface defaults", "", (
        Keep("mtu <68-65535>", "default mtu"),
        Block("ethernet", "", (Silent("no shutdown"), Keep("shutdown", "default enabled", "false"))),
    )),
    Silent("transceiver qsfp default-mode 4x10G"),
)  # fmt: skip
_KEPT = frozenset(
    {
        "qos_profile",
        "mmu_profile",
        "policy",
        "vrf",
        "link_local",
        "ecn_count",
        "access",
        "bridged",
        *qos_rows.OF_PORTS,
    }
)
"""Names of what is no fact of an interface by itself."""
_EXISTS = frozenset({"enabled", "mmu_profile", "vrf", "ecn_delay_us", "ecn_count"})
"""Statements about an unused interface."""
_OURS = {
    "description", "mtu", "speed_gbps", "lanes", "fec", "routed", "ipv4", "ipv6", "link_local", "ra_max_s", "ra",
    "qos_profile", "policy", "access", *_EXISTS - {"vrf"},
}  # fmt: skip
"""Statements of a port in our own fabrics."""
_BRIDGES_OR_ROUTES = ("Ethernet", "Port-Channel", "Vlan")
_ROUTES = frozenset({"ipv4", "ipv6", "link_local", "virtual ipv4", "virtual ipv6", "address_from", "dhcp"})
_BRIDGES = frozenset({"switchport", "bundle"})
_LOOPBACK_ADDRESSES = ("ipv4", "ipv6")
_NONE = (None, 0)


class _AppliedProfiles(NamedTuple):
    """Statements of the profiles of an interface, with their places."""

    facts: UniformPorts[Value]
    lines: UniformPorts[tuple[str, int]]
    waiting: tuple[int, ...]


def finish(document: Document) -> None:
    """State the facts of all interfaces; those of a profile carry the profile's lines."""
    facts, lines, file = document.reading.facts, document.reading.lines, document.file
    used: dict[tuple[object, object], _AppliedProfiles] = {}
    signalled = evpn.find_segments(document).signalled
    for name, block in document.scope.each("interface").items():
        port, values = str(name), block.values
        if "ipv6" in block.tables:
            _split_addresses(block)
        if port == _LOOPBACK:
            for leaf in _LOOPBACK_ADDRESSES:
                if leaf in values:
                    document.put(f"loopback/{leaf}", *values[leaf])
            if values.get("enabled", _NONE)[0] == "false":
                document.put(f"interface[{port}]/enabled", *values["enabled"])
            if "vrf" in values:
                document.put(f"interface[{port}]/vrf", *values["vrf"])
            block = _without_leaves(block, _LOOPBACK_ADDRESSES)
            values = block.values
            if values.keys() <= {"description", "enabled", "vrf"} and not block.tables:
                continue
        elif port.startswith("Management"):
            if _put_management(document, port, block):
                continue
        elif (vlan := evpn.vlan_of(port)) and int(vlan) in signalled:
            rest = evpn.finish_interface(document, vlan, block)
            if rest is None:
                continue
            block, values = rest, rest.values
        if values.keys() <= _EXISTS and not block.tables and not block.scopes:
            continue
        paths = port_paths(port)
        usual = ("true", block.line)
        shut, at = document.scope.values.get("default enabled", usual) if port.startswith("Ether") else usual
        lines[paths["enabled"]] = (file, at)
        facts[paths["enabled"]] = shut
        if "access" in values:
            _put_access(document, port, values, signalled)
        for leaf, (value, line) in values.items():
            if leaf not in _KEPT:
                path = paths[leaf]
                facts[path] = value
                lines[path] = (file, line)
        if "bridged" in values and "ipv4" in values and "routed" not in values:
            document.put(paths[BRIDGED], *values["bridged"])
        if "mtu" not in values or "link_local" in values:
            _put_addressed(document, port, paths, block)
        profiles = (values.get("qos_profile", _NONE)[0], values.get("mmu_profile", _NONE)[0])
        if profiles[1] is None and "no_drop" in block.tables:
            profiles = profiles[0], qos_rows.default_mmu(document)
        copied = used.get(profiles)
        if copied is None:
            copied = used[profiles] = _copy_profiles(document, *profiles)
            for kind in ("qos", "mmu"):
                if f"{kind}_profile" in values:
                    qos_rows.put_lost_pausing(document, port, block, profiles[0])
                    _put_lost_profile(document, kind, *values[f"{kind}_profile"])
        facts.update(copied.facts[port])
        lines.update(copied.lines[port])
        if "policy" in values:
            _put_policy(document, paths, values["policy"])
        if "pfc" in values or "no_drop" in block.tables:
            qos_rows.put_lost_pausing(document, port, block, profiles[0])
        if "ecn_delay_us" in values or "ecn_count" in values:
            _put_delay(document, paths, block, copied.waiting)
        if block.tables or block.scopes or not values.keys() <= _OURS:
            _put_beyond(document, port, paths, block)


def _split_addresses(block: Scope) -> None:
    """The first IPv6 address of an interface as its own, others as further ones."""
    table = block.tables.pop("ipv6")
    first, *further = table.items()
    block.values["ipv6"] = first[1]
    if further:
        block.tables.setdefault("secondary", {}).update(further)


def _without_leaves(block: Scope, leaves: Sequence[str]) -> Scope:
    rest = Scope(block.line)
    rest.values = {leaf: stored for leaf, stored in block.values.items() if leaf not in leaves}
    rest.tables, rest.scopes = block.tables, block.scopes
    return rest


def _put_access(
    document: Document, port: str, values: Mapping[str, StoredValue], signalled: frozenset[Value]
) -> None:
    vlan, line = values["access"]
    if "routed" in values:
        document.reject(line)
    if vlan in signalled or "routed" in values:
        document.put(f"evpn/port[{port}]", vlan, line)
        return
    document.put(f"interface[{port}]/access_vlan", vlan, line)
    if "switchport" not in values:
        document.put(f"interface[{port}]/switchport", "access", line)


def _put_policy(document: Document, paths: Mapping[str, str], policy: StoredValue) -> None:
    """Return the class that a policy map sets for all packets, or the map's name if it does something else."""
    if stored := qos_rows.marked_code_point(document, policy):
        document.put(paths["set_dscp"], *stored)
    else:
        document.put(paths["service_policy[qos input]"], *policy)
        if policy[0] not in document.scope.each("policy map"):
            document.put(
                f"unread[service-policy {policy[0]}]", "no policy of its type has this name", policy[1]
            )


def _put_beyond(document: Document, port: str, paths: Mapping[str, str], block: Scope) -> None:
    """State values that ports of our own fabrics never have."""
    values = block.values
    if "vrf" in values:
        document.put(paths["vrf"], *values["vrf"])
    for family in ("ipv4", "ipv6"):
        if f"virtual {family}" in values:
            address, line = values[f"virtual {family}"]
            document.reading.facts.pop(paths[f"virtual {family}"], None)
            document.reading.lines.pop(paths[f"virtual {family}"], None)
            document.put(paths[f"gateway[{address}]"], address, line)
    default = document.scope.values.get("default mode", _NONE)
    if (
        default[0] == "routed"
        and port.startswith(_BRIDGES_OR_ROUTES[:2])
        and values.keys().isdisjoint(_BRIDGES)
    ):
        document.put(paths["routed"], "true", default[1])
    others.finish(document, paths, block)
    for leaf, value, line in qos_rows.of_port(block):
        document.put(paths[leaf], value, line)


def _put_addressed(document: Document, port: str, paths: Mapping[str, str], block: Scope) -> None:
    """State the effects of an address: the default MTU, or only a link-local address."""
    values = block.values
    if "link_local" in values and "ipv6" not in values and "ipv4" not in values:
        document.put(paths["unnumbered"], *values["link_local"])
    if "mtu" not in values and not values.keys().isdisjoint(_ROUTES) and port.startswith(_BRIDGES_OR_ROUTES):
        document.put(paths["mtu"], *document.scope.values.get("default mtu", (DEFAULT_MTU, block.line)))


def _put_management(document: Document, name: str, block: Scope) -> bool:
    """State the management address; False for a further one, and for an interface without."""
    values = block.values
    address = values.get("ipv4") or values.get("ipv6")
    if address is None or "management/address" in document.reading.facts:
        return False
    facts = document.reading.facts
    document.put("management/address", *address)
    document.put("management/interface", name, block.line)
    if values.get("enabled", _NONE)[0] == "false":
        document.put("management/enabled", *values["enabled"])
    managed = values.get("vrf", _NONE)[0] == words.MANAGEMENT_VRF
    if "vrf" in values and not managed:
        document.put(f"interface[{name}]/vrf", *values["vrf"])
    instance = str(values.get("vrf", ("", 0))[0])
    apart = instance in document.scope.table("defined") or (managed and "platform/management_vrf" in facts)
    joined = routing.first_leak(document, instance)
    place = document.file, joined or address[1]
    state_isolation(document.reading, apart and not joined, place, _LEAK, instance)
    return True


def _copy_profiles(
    document: Document, qos_profile: Value | None, mmu_profile: Value | None
) -> _AppliedProfiles:
    profiles = qos_rows.profiles_of(document, qos_profile, mmu_profile)
    leaves = tuple([leaf for leaf, _, _ in profiles.stated])
    values = tuple([value for _, value, _ in profiles.stated])
    places = tuple([(document.file, line) for _, _, line in profiles.stated])
    return _AppliedProfiles(shared_facts(leaves, values), shared_facts(leaves, places), profiles.waiting)


def _put_lost_profile(document: Document, kind: str, name: Value, line: int) -> None:
    """State that a port names a profile that nothing defines, if other profiles or maps of QoS are defined."""
    known = document.scope.each(f"{kind} profile")
    if name not in known and (known or kind == "mmu" or document.scope.table("traffic classes")):
        document.put(f"unread[{kind} profile {name}]", f"no {kind.upper()} profile has this name", line)


def _put_delay(document: Document, paths: Mapping[str, str], block: Scope, waiting: tuple[int, ...]) -> None:
    """State marking by delay in bytes at the port's speed for each queue, and whether its marks are counted."""
    values = block.values
    for queue in waiting:
        if "ecn_count" in values:
            document.put(paths[f"queue[{queue}]/ecn_count"], *values["ecn_count"])
        if "ecn_delay_us" in values and "speed_gbps" in values:
            threshold_us, line = values["ecn_delay_us"]
            for leaf, value in qos.queue_facts(int(threshold_us), int(values["speed_gbps"][0])).items():
                document.put(paths[f"queue[{queue}]/{leaf}"], value, line)


TOPIC = Topic(ROWS, finish)
