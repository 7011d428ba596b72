"""Build a planned-style switch from the facts of a foreign one and from the far ends of its links.

The invariants for planned switches can then run on it. Unknown values are left out if a rule does not need them, and
assumed if it does: the length of a cable.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos as back_ends
from fabricc.base.values import dataclass, replace
from fabricc.catalog.model import AnnexFigures, Buffers, Catalog, HeadroomRow, Pools, SwitchModel
from fabricc.catalog.support import model_at_release, release_numbers
from fabricc.fabric.facts import Reading
from fabricc.fabric.model import NO_CAGE, Direction, Management, Peer, Port, Switch
from fabricc.fabric.qos import SwitchQos, TrafficClass
from fabricc.fabric.routing import OPTIONS, Bgp
from fabricc.fabric.shape import TierName
from fabricc.facts.statement import End, Statement, Tier
from fabricc.proof.invariants import view
from fabricc.rules.classes import classes_of, group_of, priority_group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.facts.statement import Device


HOST_M, SWITCH_M = 5, 40
"""Cable lengths that are assumed where the device states none, metres: to hosts, between switches."""
CNP_DSCP = 48
"""Code point of congestion notifications that NICs use by default."""
_ANY = 1 << 62
_FORMULA = AnnexFigures(
    cell_bytes=1, interface_delay_ns=0, xon_bytes=0, dynamic_th=0, version="stands for rows that nobody gives"
)
UNKNOWN = SwitchModel(
    name="", title="", vendor="", asic="", asic_family="", chassis=False, cages=(), ecmp_max_paths=_ANY,
    forwarding_latency_ns=0, nos={},
    buffers=Buffers(_ANY, 1, (), _FORMULA, Pools(_ANY, 0, _ANY, None, False, False), 8),
)  # fmt: skip
"""A model of which nothing is known: no figure of it contradicts anything."""
_NO_BGP = Bgp(
    keepalive_s=0, hold_s=0, bfd_interval_ms=None, bfd_multiplier=0, **dict.fromkeys(OPTIONS, False), asn=0,
    router_id="", maximum_paths=0, multipath_relax=False, ipv4=False, ipv6=False, redistribute_map="", aggregates=(),
    groups=(), sessions=(), prefix_lists=(), community_lists=(), route_maps=(), static_map=None, evpn_transit=False,
    overlay=(),
)  # fmt: skip
_MANAGEMENT = Management(ntp=(), dns=(), syslog=(), users=())
_HEIGHT = {Tier.HOST: 0, Tier.TOR: 1, Tier.SPINE: 2, Tier.CORE: 3}
_NAMES = {Tier.TOR: TierName.TOR, Tier.SPINE: TierName.SPINE, Tier.CORE: TierName.CORE}


class ModelPorts(NamedTuple):
    """A model, and of every port that it can have: name -> speed -> cage, child, children, lanes."""

    model: SwitchModel
    cages: Mapping[str, Mapping[int, tuple[int, int, int, int]]]


@dataclass(slots=True)
class Models:
    """The models of the folder's devices, each looked up once."""

    catalog: Catalog
    known: dict[tuple[str | None, str, str], ModelPorts] = field(default_factory=dict)

    def of(self, device: Device) -> ModelPorts:
        """Return the catalog's model of a device under its system and release; a permissive one if unknown."""
        key = device.model, device.system, device.release
        if key not in self.known:
            self.known[key] = self._find(*key)
        return self.known[key]

    def _find(self, name: str | None, system: str, release: str) -> ModelPorts:
        if name is None or name not in self.catalog.switches:
            return ModelPorts(UNKNOWN, {})
        model = _model_at(self.catalog.switches[name], system, release)
        cages = cages_of(model, system)
        if model.buffers.formula is None:
            model = replace(model, buffers=replace(model.buffers, formula=_FORMULA))
        return ModelPorts(model, cages)


def _model_at(model: SwitchModel, system: str, release: str) -> SwitchModel:
    """Return the switch on a release; on an unknown one, with the least headroom that a release needs."""
    figures = model.releases.get(system, ())
    if not figures or release_numbers(release):
        return model_at_release(model, system, release)
    tables = [each.buffers for each in figures]
    if all(each.since is not None or each.until is not None for each in figures):
        tables.append(model.buffers)
    rows: dict[tuple[int, int], HeadroomRow] = {}
    for row in (row for table in tables for row in table.rows):
        key = row.speed_gbps, row.cable_m
        if key not in rows or row.xoff_bytes < rows[key].xoff_bytes:
            rows[key] = row
    return replace(model, buffers=replace(tables[-1], rows=tuple(rows.values())))


def direction_of(statement: Statement, port: str) -> Direction | None:
    """Return the direction of a port; None for a device of an unknown tier, or of the same one without addresses."""
    far = statement.fars[port].tier
    if far is Tier.HOST:
        return Direction.HOST
    if far is statement.place.tier is Tier.TOR:
        values = statement.ports.get(port, {})
        return Direction.PEER if "ipv4" in values or "ipv6" in values or "unnumbered" in values else None
    here, there = _HEIGHT.get(statement.place.tier), _HEIGHT.get(far)
    if here is None or there is None or here == there:
        return None
    return Direction.UP if there > here else Direction.DOWN


def view_of(statement: Statement, model_ports: ModelPorts, cnp: int | None) -> view.SwitchView:
    """Return the switch with its facts sorted for the rules; ports of similar devices are computed once."""
    same = statement.once(
        (view.make_view, cnp),
        lambda: view.make_view(switch_of(statement, model_ports, cnp), statement.device.reading).links,
    )
    ports = [_with_peer(statement, link.port) for link in same]
    seen = view.SwitchView(
        _make_switch(statement, model_ports, tuple(ports), cnp), Reading(statement.rest, statement.lines)
    )
    view.sort_facts(seen, statement.rest.items())
    seen.neighbors = {name: dict(values) for (vrf, name), values in statement.sessions.items() if not vrf}
    links = []
    for port, link in zip(ports, same, strict=True):
        values = statement.ports.get(port.name, {})
        ipv4, ipv6 = values.get("ipv4"), values.get("ipv6")
        links.append(
            link._replace(
                port=port,
                ipv4=ipv4 if isinstance(ipv4, str) else None,
                ipv6=ipv6 if isinstance(ipv6, str) else None,
            )
        )
    view.assign_links(seen, links)
    return seen


def switch_of(statement: Statement, model_ports: ModelPorts, cnp: int | None) -> Switch:
    """The switch, with the ports that lead to a higher or lower device, and lossless ones that lead to nobody here."""
    ports = tuple(
        _make_port(statement, name, direction, model_ports.cages)
        for name in statement.fars
        if (direction := direction_of(statement, name)) is not None
    ) + tuple(
        _make_port(statement, name, Direction.HOST, model_ports.cages)
        for name in statement.open_ports()
        if "pfc" in statement.ports[name]
    )
    return _make_switch(statement, model_ports, ports, cnp)


def _make_switch(
    statement: Statement, model_ports: ModelPorts, ports: tuple[Port, ...], cnp: int | None
) -> Switch:
    place, device = statement.place, statement.device
    return Switch(
        name=statement.name, cluster="", tier=_NAMES.get(place.tier, TierName.TOR), plane=place.plane or 0,
        pod=place.pod, unit=place.unit, model=model_ports.model, nos=device.system, release=device.release,
        loopback4=None, loopback6=None, drained=False, management=_MANAGEMENT, ports=ports, bgp=_NO_BGP,
        qos=SwitchQos(statement.once((classes_found, cnp), lambda: classes_found(statement, cnp)), (), None, None),
    )  # fmt: skip


def _make_port(
    statement: Statement,
    name: str,
    direction: Direction,
    cages: Mapping[str, Mapping[int, tuple[int, int, int, int]]],
) -> Port:
    speed = view.as_int(statement.of(name, "speed_gbps"))
    uses = cages.get(statement.base(name), {})
    if speed is None and len(uses) == 1:
        speed = next(iter(uses))
    cage, child, children, lanes = uses.get(speed or 0, (NO_CAGE, 1, 1, 1))
    mtu = view.as_int(statement.of(name, "mtu"))
    return Port(
        name=name, cage=cage, child=child, children=children, lanes=lanes, speed_gbps=speed or 0,
        direction=direction, enabled=statement.of(name, "enabled") != "false", mtu=mtu or 0,
        peer=_make_peer(statement, name), cable_m=cable_of(statement, name),
    )  # fmt: skip


def _make_peer(statement: Statement, port: str) -> Peer:
    far = statement.fars[port].end if port in statement.fars else End("", port)
    return Peer(far.device, far.port)


def _with_peer(statement: Statement, port: Port) -> Port:
    return Port(
        port.name, port.cage, port.child, port.children, port.lanes, port.speed_gbps, port.direction, port.enabled,
        port.mtu, _make_peer(statement, port.name), port.cable_m,
    )  # fmt: skip


def cable_of(statement: Statement, port: str) -> int:
    """Length of the cable: what its headroom is stated for, else what is assumed."""
    stated = view.as_int(statement.of(port, "headroom/cable_m"))
    between = port in statement.fars and statement.fars[port].tier is not Tier.HOST
    return stated or (SWITCH_M if between else HOST_M)


def cages_of(model: SwitchModel, system: str) -> dict[str, dict[int, tuple[int, int, int, int]]]:
    """Name of every port that a model can have -> speed -> cage, child, children, lanes."""
    back_end = back_ends.load(system)
    found: dict[str, dict[int, tuple[int, int, int, int]]] = {}
    if system not in model.nos and not back_end.supports(model):
        return found
    for group in model.cages:
        for cage in group.numbers:
            for use in group.breakouts:
                for child in range(1, use.children + 1):
                    name = back_ends.port_name_at_speed(
                        back_end, model, cage, child, use.children, use.speed_gbps
                    )
                    found.setdefault(name, {})[use.speed_gbps] = (cage, child, use.children, use.lanes)
    return found


def classes_found(statement: Statement, cnp: int | None) -> tuple[TrafficClass, ...]:
    """Traffic classes by what code points lead to; those with PFC on some port are lossless."""
    points: dict[int, list[int]] = {}
    for dscp, each in classes_of(statement).items():
        points.setdefault(each, []).append(dscp)
    paused = sorted(
        {p for values in statement.ports.values() for p in view.parse_priorities(values.get("pfc"))}
    )
    by_group = {priority_group(statement, each): each for each in paused}
    classes = []
    for each, dscps in sorted(points.items()):
        priority = by_group.get(group_of(statement, each))
        carries = cnp in dscps
        classes.append(
            TrafficClass(
                f"class {each}", each if priority is None else priority, tuple(dscps),
                cnp if carries and cnp is not None else dscps[0], priority is not None, False, 0, False, carries,
            )
        )  # fmt: skip
    return tuple(classes)
