"""A device as explanations see it: its facts, the parts that a path names, and the spec's keys behind them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fabricc.back import hosts
from fabricc.back import nos as back_ends
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, neighbor_key
from fabricc.fabric.model import Account, Direction, Host, HostPort, Port, Services, SnmpUser, Switch
from fabricc.fabric.shape import DeviceId, HostId
from fabricc.facts.frame import PORT
from fabricc.facts.paths import path_pattern
from fabricc.front.spec.document import format_path
from fabricc.review.explain.origins import TIERS, PlanSources, switch_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabricc.fabric.external import Exit
    from fabricc.fabric.qos import TrafficClass
    from fabricc.fabric.routing import Session
    from fabricc.fabric.vocabulary import Reason, Vocabulary
    from fabricc.front.spec.model import HostGroup

_KEY = path_pattern("[*]")
_PORT = path_pattern("(?:interface|structure/port)[*]")
_NEIGHBOR = path_pattern("(?:bgp|structure)/neighbor[*]")
_QUEUE = path_pattern("(?:queue|traffic_class|priority)[#]")
_PFC = path_pattern("pfc_priority[#]")
_DSCP = path_pattern("dscp[#]")
_KINDS = {
    Direction.HOST: "host", Direction.DOWN: "spine", Direction.UP: "spine", Direction.PEER: "peer",
}  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """One device with its facts.

    Attributes:
        plan: the plan.
        device: the switch or host, `at` its coordinates.
        planned: the facts that its back end states.
        waist: the facts that the fabric states of it, whatever its back end can express; of a host as `planned`.
    """

    plan: PlanSources
    at: DeviceId
    device: Switch | Host
    planned: Facts
    waist: Facts

    @property
    def on(self) -> str:
        """`switch` or `host`, as the rules have it."""
        return "host" if isinstance(self.device, Host) else "switch"

    @property
    def nos(self) -> str:
        """The operating system of a switch; of a host its own and the release."""
        return self.device.os if isinstance(self.device, Host) else self.device.nos

    @property
    def tier(self) -> str:
        """The section of the spec about the switch's tier; `gpus` for a host."""
        return "gpus" if isinstance(self.device, Host) else f"{self.device.tier.value}s"

    @property
    def group(self) -> HostGroup:
        """The hosts' group: a host's own, that of a ToR's unit, else the first."""
        unit = self.device.unit
        groups = self.plan.spec.gpus.groups
        return groups[0 if unit is None else self.plan.fabric.units[unit].group]

    @cached_property
    def ports(self) -> Mapping[str, Port | HostPort]:
        """The ports by name."""
        return {port.name: port for port in self.device.ports}

    @cached_property
    def sessions(self) -> Mapping[str, Session]:
        """BGP sessions by what facts call the neighbor."""
        if isinstance(self.device, Host):
            return {}
        return {neighbor_key(s.transport, s.remote, s.port): s for s in self.device.bgp.every_session}

    def port_of(self, path: str) -> Port | HostPort | None:
        """Return the port that a path is about."""
        found = _PORT.match(path)
        return self.ports.get(found[1]) if found else None

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The facts of such devices."""
        return hosts.vocabulary() if isinstance(self.device, Host) else back_ends.load_vocabulary(self.nos)

    def reason_of(self, path: str) -> Reason | None:
        """Return why a fact has its value; None if unknown."""
        is_port = path.startswith(PORT) and self.on == "switch"
        if self.exit_of(path) and not path.endswith("/set_dscp"):
            return self.vocabulary.external
        outside = is_port and self.port_of(path) is None
        return self.vocabulary.outside if outside else self.vocabulary.row(path).reason

    def session_of(self, path: str) -> Session | None:
        """Return the BGP session that a path is about."""
        found = _NEIGHBOR.match(path)
        return self.sessions.get(found[1]) if found else None

    def exit_of(self, path: str) -> Exit | None:
        """Return the way out of the fabric that a path's port or session belongs to."""
        port, session = self.port_of(path), self.session_of(path)
        name = port.name if port else session.port if session else ""
        return self.plan.fabric.external.at(self.device.name).get(name)

    def link_kind(self, path: str) -> str:
        """`host`, `spine`, `core` or `peer`: the kind of link of the port that a path is about."""
        port = self.port_of(path)
        if isinstance(self.device, Host) or port is None or not hasattr(port, "direction"):
            return "host"
        above = {"spine": Direction.UP, "core": Direction.DOWN}.get(self.device.tier.value)
        return "core" if port.direction is above else _KINDS.get(port.direction, "host")

    def class_of(self, path: str) -> str:
        """The traffic class that a path is about: by code point, PFC priority or queue; else the lossless one."""
        classes = self.classes
        if found := _DSCP.search(path):
            return next((c.name for c in classes if int(found[1]) in c.dscps), "default")
        if found := _PFC.search(path):
            return next((c.name for c in classes if c.priority == int(found[1])), "default")
        if found := _QUEUE.search(path):
            queue = int(found[1])
            of_queue = (c.name for c in classes if self._class_number(c.data_dscp, c.priority) == queue)
            return next(of_queue, "default")
        return next((c.name for c in classes if c.lossless), "default")

    @property
    def classes(self) -> tuple[TrafficClass, ...]:
        """The fabric's traffic classes."""
        return self.device.classes if isinstance(self.device, Host) else self.device.qos.classes

    def _class_number(self, dscp: int, priority: int) -> int:
        """Return the back end's number for the class of a code point; some count differently."""
        return int(self.planned.get(f"qos/dscp[{dscp}]/traffic_class", priority))

    def words(self, path: str) -> dict[str, str]:
        """Return the {names} of rules about a path."""
        port, session = self.port_of(path), self.session_of(path)
        key = _KEY.search(path)
        host = isinstance(self.device, Host)
        kind = self.link_kind(path)
        way = self.exit_of(path)
        session_peer = f"{session.peer}, by {session.port}" if session else "the neighbor"
        return {
            "address_rule": _ADDRESS_RULES["host" if kind == "host" else "fabric"],
            "class": self.class_of(path),
            "coordinates": self._coordinate_words(),
            "device": self.device.name,
            "key": key[1] if key else "",
            "nos": self.nos.partition("-")[0] if host else self.nos,
            "party": way.outsider.name if way else "",
            "peer": session_peer,
            "pool": "hosts" if kind == "host" else "links",
            "port": port.name if port else "",
            "six": "6" if path.count(":") > 1 or "-V6]" in path else "",
            "tier": "host" if isinstance(self.device, Host) else TIERS[self.device.tier],
            "user": str(_index_of(key[1] if key else "", self._services.users)),
            "snmp_user": str(_index_of(key[1] if key else "", self._services.snmp_users)),
        }

    def _coordinate_words(self) -> str:
        if isinstance(self.at, HostId):
            return f"unit {self.at.unit}, slot {self.at.slot}"
        return switch_text(self.at)

    @property
    def _services(self) -> Services:
        return self.plan.spec.management.services

    def keys(self, name: str, path: str) -> tuple[str, ...]:
        """Return the keys of the spec for an @list of a rule."""
        return LISTS[name](self, path)

    def lossless_names(self) -> list[str]:
        """Names of the lossless classes."""
        return [c.name for c in self.classes if c.lossless]


_ADDRESS_RULES = {
    "host": "A /31 or /127 of the hosts pool for each link of a NIC port: the ToR has the even address, the host the "
    "odd one; the links of a ToR are one aligned block.",
    "fabric": "A /31 (a /30 where `link_prefix_length` sets it) or /127 of the links pool for each cable between "
    "switches: the upper switch has the lower address.",
}


def _index_of(name: str, users: Sequence[Account | SnmpUser]) -> int:
    """Return the position of the user of that name, 0 if there is none."""
    return next((at for at, user in enumerate(users) if user.name == name), 0)


def _group_key(subject: Subject, key: str) -> tuple[str, ...]:
    own = f"{format_path(subject.group.path)}.{key}"
    return (own,) if own == f"gpus.{key}" else (own, f"gpus.{key}")


def _own_key(subject: Subject, key: str) -> tuple[str, ...]:
    """Return a key of the switch's override, or of its tier."""
    own = f"overrides.{subject.device.name}.{key}"
    return (own,) if subject.plan.spec.positions.get(tuple(own.split("."))) else (f"{subject.tier}.{key}",)


def _link_keys(subject: Subject, path: str, override: str, key: str) -> tuple[str, ...]:
    """Overrides of either end of a port's cable, which come first, and the key of its kind of link."""
    port = subject.port_of(path)
    ends = [(subject.device.name, port.name)] if port else []
    if port and port.peer:
        ends.append((port.peer.device, port.peer.port))
    own = [f"overrides.{device}.ports.{name}.{override}" for device, name in ends]
    if override == "cable_m":
        own += [f"overrides.{device}.cable_m" for device, _ in ends]
    stated = [each for each in own if subject.plan.spec_origin(each)]
    return (*stated, f"cables.{subject.link_kind(path)}.{key}")


def _cable_keys(subject: Subject, _path: str) -> tuple[str, ...]:
    shape = subject.plan.fabric.shape
    kinds = ("host", "spine", "core") if shape.cores else ("host", "peer" if shape.peer_links else "spine")
    return tuple(f"cables.{kind}.length_m" for kind in kinds)


def _speed_keys(subject: Subject, path: str) -> tuple[str, ...]:
    port = subject.port_of(path)
    if port is None or port.peer is None:
        return (f"{subject.tier}.model",)
    kind = subject.link_kind(path)
    if kind == "host":
        return (*_group_key(subject, "model"), *_group_key(subject, "nic"), "planes", "tors.model")
    if kind == "peer":
        return ("tors.uplink_gbps", "tors.model")
    low, high = ("tors", "spines") if kind == "spine" else ("spines", "cores")
    return (f"{low}.uplink_gbps", f"{low}.model", f"{high}.model")


def _lossless_keys(subject: Subject, _path: str) -> tuple[str, ...]:
    return tuple(f"priorities.{name}.lossless" for name in subject.lossless_names()) or ("priorities",)


def _marking_keys(subject: Subject, path: str) -> tuple[str, ...]:
    """Return the keys of marking thresholds, which follow the round trip and so the cables."""
    return (*_congestion_keys(subject, path), *_cable_keys(subject, path))


def _congestion_keys(subject: Subject, path: str) -> tuple[str, ...]:
    congestion = subject.plan.spec.congestion
    own = ("congestion.ecn.min_kb", "congestion.ecn.max_kb", "congestion.ecn.max_percent")
    chosen = own if congestion.thresholds else ("congestion.ecn.preset",) if congestion.preset else ()
    return (*chosen, "congestion.profile", f"priorities.{subject.class_of(path)}.ecn")


def _cabling_keys(subject: Subject, path: str) -> tuple[str, ...]:
    """Return the keys that decide which ports are cabled, and to which device."""
    port = subject.port_of(path)
    if port is not None and port.peer is None:
        return (f"{subject.tier}.reserved_ports",)
    if port is not None and subject.link_kind(path) == "host":
        return ("gpus.wiring", "gpus.rails_per_tor")
    if subject.link_kind(path) == "peer":
        return ("tors.peer_links",)
    above = ("spines.uplinks", "cores.count") if subject.link_kind(path) == "core" else ()
    return ("tors.uplinks", "spines.count", *above)


LISTS: dict[str, Callable[[Subject, str], tuple[str, ...]]] = {
    "@cable": lambda subject, path: _link_keys(subject, path, "cable_m", "length_m"),
    "@cables": _cable_keys,
    "@cabling": _cabling_keys,
    "@classes": lambda _subject, _path: ("priorities",),
    "@congestion": _congestion_keys,
    "@count": lambda _subject, _path: ("spines.count", "cores.count"),
    "@host_model": lambda subject, _path: _group_key(subject, "model"),
    "@lossless": _lossless_keys,
    "@marking": _marking_keys,
    "@medium": lambda subject, path: _link_keys(subject, path, "medium", "medium"),
    "@model": lambda subject, _: (
        _group_key(subject, "model") if subject.on == "host" else _own_key(subject, "model")
    ),
    "@nic": lambda subject, _path: (*_group_key(subject, "nic"), *_group_key(subject, "model")),
    "@nos": lambda subject, _path: _own_key(subject, "nos"),
    "@os": lambda subject, _path: _group_key(subject, "os"),
    "@speed": _speed_keys,
}
"""@list in the table of rules -> the keys of the spec that it stands for."""
