"""The two sides of a comparison, with one or several networks: nothing, or a planned spec; a built tree is in `trees`.

Networks of the same name are compared, their devices reported together.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.back.nos.templating import use_template_path
from fabricc.base.values import dataclass, replace
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.given_identities import Moves
from fabricc.fabric.model import Host, Switch
from fabricc.fabric.shape import DeviceId, HostId
from fabricc.review.diff.figures import fabric_figures
from fabricc.review.diff.model import Figure
from fabricc.review.diff.unread import unread_lines
from fabricc.review.diff.view import DeviceView, host_view, switch_view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric

_BESIDE = "device/"
"""Facts that a review adds and no configuration states."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The parts of a whole cluster that a review needs.

    Attributes:
        name: "" when there is none.
        moves: what its devices were called before.
    """

    name: str = ""
    gpus: int = 0
    nic_ports: int = 1
    spines: int = 0
    moves: Moves = field(default_factory=Moves)


@dataclass(frozen=True)
class Side:
    """One of the two; by itself that of a spec that did not exist yet.

    Attributes:
        label: what it is, for people.
        kinds: every device in the fabric's order -> `tor`, `spine`, `core` or `host`.
    """

    label: str
    cluster: Cluster
    kinds: Mapping[str, str]

    @property
    def vouched_lines(self) -> Mapping[str, str]:
        """Lines without a statement that the spec vouches for, with `*` for any text -> the reason."""
        return {}

    @property
    def partitions(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """Host and RDMA device -> its partitions of InfiniBand without the default one; none of Ethernet."""
        return {}

    @property
    def partition_keys(self) -> Mapping[str, int]:
        """Partition of InfiniBand -> its P_Key; none of Ethernet."""
        return {}

    def planned(self, name: str) -> Switch | Host | None:  # noqa: ARG002
        """Return the planned device; None if only its files are known."""
        return None

    def possible_changes(self, other: Side) -> frozenset[str] | None:  # noqa: ARG002
        """Return the only devices that can differ from the other side; None if any can."""
        return None

    def same(self, other: Side, name: str) -> bool:  # noqa: ARG002
        """Return whether the device is certainly the same on both sides, by a cheap check."""
        return False

    def view(self, name: str) -> DeviceView:
        """Return the device's facts and cables.

        Raises:
            KeyError: there is no such device.
        """
        raise KeyError(name)

    def files(self, name: str) -> Mapping[str, str]:  # noqa: ARG002
        """Return the device's files."""
        return {}

    def figures(self) -> Mapping[str, str]:
        """Return figures of the plan, in display order."""
        return {}

    def gpus_of(self, name: str) -> Fraction:  # noqa: ARG002
        """GPUs in a host; 0 for a switch."""
        return Fraction(0)


@dataclass(frozen=True)
class SpecSide(Side):
    """A planned fabric; devices are computed on use and not stored."""

    compiled: Compiled
    fabric: Fabric
    places: Mapping[str, DeviceId]

    @staticmethod
    def of(label: str, compiled: Compiled, fabric: Fabric) -> SpecSide:
        """Return the side of a fabric."""
        places: dict[str, DeviceId] = {}
        kinds: dict[str, str] = {}
        for switch in fabric.switch_ids():
            name = fabric.name(switch)
            places[name], kinds[name] = switch, switch.tier.value
        for host in fabric.host_ids():
            name = fabric.units[host.unit].hosts[host.slot]
            places[name], kinds[name] = host, "host"
        shape, gpus = fabric.shape, fabric.counts()["gpus"]
        cluster = Cluster(
            fabric.cluster,
            gpus,
            max(len(each.present) for each in fabric.attachments),
            shape.spines,
            fabric.moves,
        )
        return SpecSide(label, cluster, kinds, compiled, fabric, places)

    @property
    def vouched_lines(self) -> Mapping[str, str]:
        """The lines that `accept` of the spec names."""
        return {each.line: each.reason for each in self.compiled.spec.accept if each.line}

    def planned(self, name: str) -> Switch | Host | None:
        """Return the planned device."""
        return self.device(name)

    def device(self, name: str) -> Switch | Host:
        """Return the device, everything decided."""
        place = self.places[name]
        return self.fabric.host(place) if isinstance(place, HostId) else self.fabric.switch(place)

    def same(self, other: Side, name: str) -> bool:
        """Compare values: files and facts are functions of them, and of the templates."""
        if self.kinds[name] != "host" and not self.has_templates_of(other):
            return False
        return other.planned(name) == self.device(name)

    def has_templates_of(self, other: Side) -> bool:
        """Return whether the files of both sides are rendered with the same templates of the user's own."""
        return not isinstance(other, SpecSide) or self.compiled.templates == other.compiled.templates

    def possible_changes(self, other: Side) -> frozenset[str] | None:
        """If the fabrics differ in overrides and tenants only, return the devices concerned and their neighbors."""
        if not isinstance(other, SpecSide) or not self.has_templates_of(other):
            return None
        if _without_overrides(self.fabric) != _without_overrides(other.fabric):
            return None
        before, after = self.fabric.changes, other.fabric.changes
        named = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        named |= _switches_of_moved(self.fabric, other.fabric)
        return frozenset(other.fabric.with_far_ends(named))

    def view(self, name: str) -> DeviceView:
        """Return the device's planned facts and cables."""
        device = self.device(name)
        if isinstance(device, Host):
            return host_view(device, host_files.planned(device), self.rail_gpus(device.unit))
        rail_gpus = Fraction(1) if device.unit is None else self.rail_gpus(device.unit)
        beside = self.fabric.units[device.unit].guests if device.unit is not None else ()
        others = {
            name: self.rail_gpus(guest)
            for guest in beside
            for name in self.fabric.units[guest].hosts.values()
        }
        view = switch_view(device, back_ends.load(device.nos).planned(device), rail_gpus, others)
        if not (device.overlays or self.compiled.templates):
            return view
        with use_template_path(self.compiled.templates):
            return _as_written(view, device)

    def rail_gpus(self, unit: int) -> Fraction:
        """GPUs behind one rail of the hosts in a unit."""
        group = self.fabric.units[unit].group
        return Fraction(self.fabric.host_models[group].gpus, self.fabric.attachments[group].rails)

    def files(self, name: str) -> Mapping[str, str]:
        """Return the device's files, rendered."""
        device = self.device(name)
        if isinstance(device, Host):
            return host_files.render(device)
        with use_template_path(self.compiled.templates):
            return render_switch(device)

    def figures(self) -> Mapping[str, str]:
        """Return the figures of the plan."""
        return fabric_figures(self.fabric)

    def gpus_of(self, name: str) -> Fraction:
        """GPUs in a host; 0 for a switch."""
        place = self.places[name]
        if not isinstance(place, HostId):
            return Fraction(0)
        return Fraction(self.fabric.host_models[self.fabric.units[place.unit].group].gpus)


def _as_written(view: DeviceView, switch: Switch) -> DeviceView:
    """Return the view of a switch with the facts of its final text: with overlays, removals and own templates."""
    files = render_switch(switch)
    reading = back_ends.load(switch.nos).read(files)
    planned = {path: value for path, value in view.facts.items() if path.startswith(_BESIDE)}
    cables = {path: value for path, value in view.facts.items() if "]/cable/" in path}
    facts = {**reading.facts, **planned, **cables}
    return replace(view, facts=facts, unread=unread_lines(switch.nos, files, reading))


def _without_overrides(fabric: Fabric) -> tuple[Fabric, list[object]]:
    """Return the part that overrides and tenants leave unchanged, including the hosts of further networks."""
    others: list[object] = [(each.network, each.guests) for each in fabric.networks]
    tenancy = fabric.tenancy.without_hosts() if fabric.tenancy else None
    return replace(fabric, changes={}, networks=(), tenancy=tenancy), others


def _switches_of_moved(base: Fabric, head: Fabric) -> set[str]:
    """Return the ToRs of hosts that are in another tenant; both fabrics have the same hosts."""
    if base.tenancy is None or head.tenancy is None:
        return set()
    moved = base.tenancy.moved_hosts(head.tenancy)
    places = (
        HostId(coordinate, slot)
        for coordinate, unit in (head.units.items() if moved else ())
        for slot, name in unit.hosts.items()
        if name in moved
    )
    return {port.peer.device for place in places for port in head.host(place).ports}


def share_objects(base: Fabric, head: Fabric) -> Fabric:
    """Return the head with equal objects replaced by those of the base, so that devices compare by identity."""
    tiers = {
        tier: replace(plan, model=base.tiers[tier].model)
        if tier in base.tiers and base.tiers[tier].model == plan.model
        else plan
        for tier, plan in head.tiers.items()
    }
    models = {model.name: model for model in base.host_models}
    hosts = tuple(models[m.name] if models.get(m.name) == m else m for m in head.host_models)
    qos = {key: base.qos[key] if base.qos.get(key) == policy else policy for key, policy in head.qos.items()}
    services = base.services if base.services == head.services else head.services
    return replace(head, tiers=tiers, host_models=hosts, qos=qos, services=services)


def figure_rows(base: Side, head: Side) -> tuple[Figure, ...]:
    """Figures of both sides, in the head's order, then those that only the base has."""
    before, after = base.figures(), head.figures()
    names = [*after, *(name for name in before if name not in after)]
    if type(base) is not type(head) and before:
        names = [name for name in after if name in before]
    return tuple(Figure(name, before.get(name), after.get(name)) for name in names)


_NOTHING = Side("", Cluster(), {})


@dataclass(frozen=True)
class Networks(Side):
    """The sides of a cluster's networks.

    Attributes:
        parts: network -> its side; that of the rails, which speaks for the whole, has the name "".
        places: device -> its network, and its name there; the part of a host in a further network is a device.
    """

    parts: Mapping[str, Side]
    places: Mapping[str, tuple[str, str]]

    @staticmethod
    def of(parts: Mapping[str, Side]) -> Networks:
        """Return the side of some networks."""
        places: dict[str, tuple[str, str]] = {}
        kinds: dict[str, str] = {}
        for network, side in parts.items():
            for name, kind in side.kinds.items():
                shown = f"{name} ({network})" if network and kind == "host" else name
                places[shown], kinds[shown] = (network, name), kind
        rails = parts[""]
        return Networks(rails.label, rails.cluster, kinds, parts, places)

    @property
    def vouched_lines(self) -> Mapping[str, str]:
        """Return the vouched lines of the rails' network, whose acceptances count for all."""
        return self.parts[""].vouched_lines

    def planned(self, name: str) -> Switch | Host | None:
        """Return the device as in its network."""
        network, own = self.places[name]
        return self.parts[network].planned(own)

    def possible_changes(self, other: Side) -> frozenset[str] | None:
        """Return those of every network; None if any device of one network can differ."""
        found: set[str] = set()
        theirs = parts_of(other)
        for network, side in self.parts.items():
            named = side.possible_changes(theirs.get(network, _NOTHING))
            if named is None:
                return None
            found |= {
                shown for shown, place in self.places.items() if place[0] == network and place[1] in named
            }
        return frozenset(found)

    def same(self, other: Side, name: str) -> bool:
        """Compare as in its network."""
        network, own = self.places[name]
        theirs = parts_of(other).get(network)
        return theirs is not None and self.parts[network].same(theirs, own)

    def view(self, name: str) -> DeviceView:
        """Return the view as in its network."""
        network, own = self.places[name]
        return replace(self.parts[network].view(own), name=name)

    def files(self, name: str) -> Mapping[str, str]:
        """Return the files as in its network."""
        network, own = self.places[name]
        return self.parts[network].files(own)

    def figures(self) -> Mapping[str, str]:
        """Return the figures of every network."""
        return {
            f"{network}: {title}" if network else title: figure
            for network, side in self.parts.items()
            for title, figure in side.figures().items()
        }

    def gpus_of(self, name: str) -> Fraction:
        """GPUs in a host, counted with its rails."""
        network, own = self.places[name]
        gpus = self.parts[network].gpus_of(own)
        return gpus if name == own else gpus * 0


def parts_of(side: Side) -> Mapping[str, Side]:
    """Return the sides of a side's networks."""
    return side.parts if isinstance(side, Networks) else {"": side}


def merge_networks(parts: Mapping[str, Side]) -> Side:
    """Return the side of one network, or of several."""
    return Networks.of(parts) if len(parts) > 1 else parts[""]
