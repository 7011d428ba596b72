"""A device as the comparison reads it: its facts, its ports and their far ends, without secrets."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from fabricc.base.numbers import is_number
from fabricc.base.secret_words import hide_secret_words
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, format_boolean, format_prefix_rule
from fabricc.fabric.model import Direction, Host, Switch
from fabricc.fabric.qos import TrafficClass, unsent_code_points
from fabricc.fabric.vocabulary import STRUCTURE
from fabricc.facts.paths import first_key, list_leaf, path_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.review.diff.model import Rail

_RAIL = re.compile(r"([a-z]+)(\d{1,9})[a-z]?")
"""A port of a host by its name, `rail0a` or `storage0`: the number is its NIC's."""
_FACT = path_pattern("(interface|bgp/neighbor)[*](.*)")
_DEFINITIONS = ("route_map[", "access_list[", "prefix_list[", "community_list[", "as_path_list[")
_OWN = (*_DEFINITIONS, STRUCTURE)
"""How facts begin that have the name of a definition although they do not use it."""
_FILTERS = ("]/access_list_in", "]/access_list_out")
_BUILT_IN = ("default", "copp-system")
"""How names of lists begin that a device applies by itself."""


@dataclass(frozen=True, slots=True)
class PortView:
    """A cabled port: `role` is `host`, `up`, `down`, or `rail` on a host.

    `panel` is its number among all ports of the box, whatever the NOS calls it; -1 where only its name is known.
    """

    role: str
    peer: str
    peer_port: str
    ordinal: int
    panel: int = -1

    @property
    def identity(self) -> str:
        """Return a key that survives other port names and numbers: the far end and the index of the link to it."""
        return f"{self.peer}#{self.ordinal}"


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A device's facts and cables.

    Attributes:
        kind: `tor`, `spine`, `core` or `host`; `platform`: NOS and release.
        ports: name -> cabled port.
        sessions: neighbor key as facts have it -> port name.
        rail_gpus: GPUs behind one rail of the hosts here; `others`: of those hosts that have another number.
        classes: the traffic classes of the fabric; none where they are not known.
        unsent: code points that no host sends.
        unread: lines of its configuration that the reader does not know, of devices whose text was read.
        pools: entries of the fabric's prefix lists that the spec plans for it.
        behind: rails that a device without ports serves, with their GPUs.
    """

    name: str
    kind: str
    nos: str
    platform: str
    model: str
    facts: Facts
    ports: Mapping[str, PortView]
    sessions: Mapping[str, str] = field(default_factory=dict)
    rail_gpus: Fraction = Fraction(1)
    others: Mapping[str, Fraction] = field(default_factory=dict)
    classes: tuple[TrafficClass, ...] = ()
    unsent: frozenset[int] = frozenset()
    unread: tuple[str, ...] = ()
    pools: frozenset[str] = frozenset()
    behind: Mapping[Rail, Fraction] = field(default_factory=dict)

    @property
    def layout(self) -> dict[str, str]:
        """Link identity -> port name."""
        return {port.identity: name for name, port in self.ports.items()}

    def reach(self, port: str | None = None) -> dict[Rail, Fraction]:
        """Return the rails, of all networks, behind one port or the whole device, with their GPUs."""
        found: dict[Rail, Fraction] = dict(self.behind)
        for name in self.ports if port is None else (port,):
            view = self.ports.get(name)
            if view is None or view.role not in ("host", "rail"):
                continue
            own = self.name.partition(" ")[0]  # a part in a further network has a suffix
            host, end = (own, name) if view.role == "rail" else (view.peer, view.peer_port)
            if match := _RAIL.fullmatch(end):
                network = "" if match[1] == "rail" else match[1]
                found[host, int(match[2]), network] = self.others.get(host, self.rail_gpus)
        return found

    def place(self, path: str) -> tuple[str, str, str, str]:
        """Split a fact path: (`interface`, `session` or "", role, identity or port name, rest of the path)."""
        match = _FACT.match(path)
        if match is None:
            return "", "", "", path
        kind, key, rest = match[1], match[2], match[3]
        name = key if kind == "interface" else self.sessions.get(key, "")
        port = self.ports.get(name)
        word = "interface" if kind == "interface" else "session"
        if port is None and kind != "interface" and (peer := self._find_overlay_peer(key)):
            return word, "loopback", f"{peer} loopback", rest
        if port is None:
            return word, "unused" if kind == "interface" else "other", key, rest
        transport = "" if kind == "interface" else _session_transport(key)
        return word, port.role, f"{port.identity}{transport}", rest

    def _find_overlay_peer(self, neighbor: str) -> str:
        """Return the first link to the switch whose loopback a session for EVPN routes is with; "" for none."""
        at = f"bgp/neighbor[{neighbor}]/"
        if self.facts.get(at + "families") != "evpn":
            return ""
        name = self.facts.get(at + "description")
        return next((port.identity for port in self.ports.values() if port.peer == name), "")


def name_definition(path: str) -> str:
    """Return the name of the policy or list that a fact defines; "" for another fact, and where a device uses it."""
    name = first_key(path) if path.startswith(_DEFINITIONS) else ""
    return "" if name.lower().startswith(_BUILT_IN) else name


def is_used(name: str, *views: DeviceView) -> bool:
    """Return whether something in these views names a policy or list; without that it has no effect."""
    return any(_names(view, name) for view in views)


def _names(view: DeviceView, name: str) -> bool:
    """Return whether a statement or an unknown line contains the name of a definition, besides its own facts."""
    for path, value in view.facts.items():
        own = path.startswith(_OWN) and first_key(path) == name
        if name in (list_leaf(path) if own else path) or name in str(value):
            return True
    return any(name in line for line in view.unread)


def filtered_ports(name: str, *views: DeviceView) -> list[set[str]]:
    """Return the ports of each view on which an access list filters packets; nothing if it is used elsewhere too."""
    found: list[set[str]] = [set() for _ in views]
    for view, ports in zip(views, found, strict=True):
        for path, value in view.facts.items():
            if path.endswith(_FILTERS) and value == name and first_key(path) in view.ports:
                ports.add(first_key(path))
            elif name in str(value) or (
                name in path and not (path.startswith(_OWN) and first_key(path) == name)
            ):
                return []
        if any(name in line for line in view.unread):
            return []
    return found if any(found) else []


def _session_transport(neighbor: str) -> str:
    return " ipv6" if ":" in neighbor else " ipv4" if is_number(neighbor[:1]) else " unnumbered"


def numbered_ports(
    cables: list[tuple[str, str, str, str]], panel: Mapping[str, int] = MappingProxyType({})
) -> dict[str, PortView]:
    """Return ports from (port, role, peer, peer port), with the links to one peer counted in that order.

    `panel` contains the place of a port on the box, as far as known.
    """
    counts: Counter[str] = Counter()
    found = {}
    for port, role, peer, peer_port in cables:
        found[port] = PortView(role, peer, peer_port, counts[peer], panel.get(port, -1))
        counts[peer] += 1
    return found


def switch_view(
    switch: Switch, planned: Facts, rail_gpus: Fraction, others: Mapping[str, Fraction] = MappingProxyType({})
) -> DeviceView:
    """Return the view of a planned switch; `planned` contains the facts from its back end."""
    facts = dict(planned)
    platform = f"{switch.nos} {switch.release}".strip()
    facts.update(identity_facts(switch.model.name, platform))
    facts["device/drained"] = format_boolean(switch.drained)
    cables = []
    for port in switch.ports:
        if port.peer is None:
            continue
        role = port.direction.value if port.direction is not Direction.UNUSED else "down"
        cables.append((port.name, role, port.peer.device, port.peer.port))
        facts.update(cable_facts(port.name, port.cable_m or 0, port.medium or ""))
    sessions = {session.remote or session.port: session.port for session in switch.bgp.sessions}
    ports = numbered_ports(cables, {port.name: number for number, port in enumerate(switch.ports)})
    return DeviceView(
        switch.name, switch.tier.value, switch.nos, platform, switch.model.name, facts, ports, sessions, rail_gpus,
        others, switch.qos.classes, unsent_code_points(switch.qos.classes), pools=_planned_pools(switch),
    )  # fmt: skip


def _planned_pools(switch: Switch) -> frozenset[str]:
    """Return the entries of the prefix lists of the whole fabric."""
    lists = (each for each in switch.bgp.prefix_lists if each.name.startswith("FABRIC-"))
    return frozenset(format_prefix_rule(rule) for each in lists for rule in each.rules)


def host_view(host: Host, planned: Facts, rail_gpus: Fraction) -> DeviceView:
    """Return the view of a planned host."""
    facts = dict(planned)
    facts["device/model"] = host.model.name
    ports = {}
    for port in host.ports:
        ports[port.name] = PortView("rail", port.name, port.peer.port, 0)
        facts[f"interface[{port.name}]/peer"] = f"{port.peer.device} {port.peer.port}"
        facts.update(cable_facts(port.name, port.cable_m, port.medium))
    return DeviceView(
        host.name, "host", "host", host.model.name, "host", facts, ports, {}, rail_gpus,
        classes=host.classes, unsent=unsent_code_points(host.classes),
    )  # fmt: skip


def identity_facts(model: str, platform: str) -> Facts:
    """Return the model and platform of a switch, which no configuration contains."""
    return {"device/model": model, "device/platform": platform}


def cable_facts(port: str, length_m: int, medium: str) -> Facts:
    """Return the cable of a port, which no configuration contains."""
    return {f"interface[{port}]/cable/length_m": length_m, f"interface[{port}]/cable/medium": medium}


MASK = "(masked)"
_NAMES = r"password|passwd|passphrase|secret|private[-_ ]?key|auth[-_ ]?key|token|md5[-_ ]?key|snmp-server community"
_NAMED = re.compile(rf"(?i)(^user\[|ssh_key|{_NAMES})")
_LINE = re.compile(rf"(?i)((?:{_NAMES})\b[\"']?\s*(?:[:=]\s*)?)(\S.*)")
_KEY = re.compile(r"\b((?:ssh|ecdsa|sk)-[a-z0-9@.-]+\s+)[A-Za-z0-9+/=]{20,}(?:[ \t]+[^\"'\s]+)?")
_REFERENCE = re.compile(r"\b(?:vault|secret|env|file|aws-sm|gcp-sm|op):(?://)?[^\s\"',}]+")


def is_secret(path: str) -> bool:
    """Return whether the name of a path shows that its values must not be printed: in a spec, or an undeclared fact."""
    return _NAMED.search(path) is not None


def mask_secrets(line: str) -> str:
    """Return the line without keys, passwords and references to secrets."""
    line = _KEY.sub(rf"\1{MASK}", line)
    line = _REFERENCE.sub(MASK, line)
    return hide_secret_words(_LINE.sub(rf"\1{MASK}", line), MASK)
