"""Find the place that decided a value: a key of the spec, the lock, the catalog or a table."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Position
from fabricc.base.documents.document import KeyPath, clip
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.fabric.management import management_place
from fabricc.fabric.naming import computed_name
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.front.spec.document import cluster_schema, format_path, resolve_schema
from fabricc.review.explain.model import Explanation, Origin, Source, single_explanation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from ipaddress import IPv4Address, IPv6Address

    from fabricc.catalog.model import HostModel, NicModel, SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec
    from fabricc.review.explain.coordinates import Place

    Model = SwitchModel | HostModel | NicModel


_ITEM = re.compile(r"\[(\d+)\]")
_PORT = re.compile(r"overrides\.([^.]+)\.ports\.(.+)\.([a-z_]+)")
_LONGEST = 90
SCHEMA = "schemas/cluster.schema.json"
"""Where defaults are written down."""


@dataclass(frozen=True, slots=True)
class PlanSources:
    """Everything that explanations draw on.

    Attributes:
        spec, fabric: the plan.
        sources: file -> text, of the spec and the lock.
        lock_file: name of the lock.
        lock_text: the lock as this plan needs it, whether it is written or not.
    """

    spec: ClusterSpec
    fabric: Fabric
    sources: Mapping[str, str]
    lock_file: str = "fabricc.lock"
    lock_text: str = ""

    def snippet(self, position: Position) -> str:
        """Return the line at a place, clipped."""
        return clip(_line_at(self.sources.get(position.file, ""), position.line), _LONGEST)

    def spec_origin(self, key: str) -> Origin | None:
        """Return the place where a key of the spec was decided: the file, or its default; None without either."""
        path = path_of(key)
        if (position := self.spec.positions.get(path)) is not None:
            return Origin(Source.SPEC, key, "", position, self.snippet(position), key_description(path))
        taken = self.spec.assumptions
        if key in taken:
            return Origin(Source.DEFAULT, key, text_of(taken[key]), None, "", key_description(path))
        below = {name: value for name, value in taken.items() if name.startswith((f"{key}.", f"{key}["))}
        if below:
            shown = ", ".join(f"{name.removeprefix(key + '.')} {text_of(v)}" for name, v in below.items())
            return Origin(Source.DEFAULT, key, clip(shown, _LONGEST), None, "", key_description(path))
        if (above := self._find_origin_above(path)) is not None:
            return above
        if (description := key_description(path)) and " Default: " in f" {description}":
            return Origin(Source.COMPUTED, key, "", None, "", description)
        return None

    def _find_origin_above(self, path: KeyPath) -> Origin | None:
        """Return the nearest enclosing key that is not a mapping in the file, such as `bfd: false`."""
        for length in range(len(path) - 1, 1, -1):
            position = self.spec.positions.get(path[:length])
            if position is not None and self.snippet(position).rstrip(" ,}").endswith("false"):
                return Origin(Source.SPEC, format_path(path[:length]), "", position, self.snippet(position))
        return None

    def lock_origin(self, name: str, value: object) -> Origin:
        """Return the place of an item of the lock, such as `stride host` -> 32; a missing one is chosen now."""
        text = self.sources.get(self.lock_file, "")
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith(f"{name} "):
                return Origin(Source.LOCK, name, str(value), Position(self.lock_file, number, 1), line)
        note = "chosen by this plan; `fabricc build` pins it"
        return Origin(Source.LOCK, name, str(value), None, "", note)

    def all_of(self, keys: Iterable[str]) -> tuple[Origin, ...]:
        """Return the origins of those keys that were decided anywhere, each once."""
        found = (self.spec_origin(key) for key in dict.fromkeys(keys))
        return tuple(dict.fromkeys(origin for origin in found if origin is not None))


def stride_origins(plan: PlanSources, *names: str) -> tuple[Origin, ...]:
    """Return the lock's items of some strides."""
    values = plan.fabric.strides
    return tuple(plan.lock_origin(f"stride {name}", getattr(values, name)) for name in names)


def catalog_origin(model: Model, figure: str) -> Origin:
    """Return a figure of a model with the source that the catalog gives for it, or for what it is part of."""
    cited: Mapping[str, str] = getattr(model, "sources", {})
    parts = figure.split(".")
    beginnings = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    below = (note for name, note in cited.items() if name.startswith(f"{figure}."))
    note = next((cited[name] for name in beginnings if name in cited), next(below, ""))
    value: Any = model
    for part in parts:
        value = getattr(value, part, None) if not isinstance(value, dict) else value.get(part)
    shown = text_of(value) if isinstance(value, int | str | bool | float) else ""
    return Origin(Source.CATALOG, f"{model.name} {figure}", shown, None, "", note)


def path_of(key: str) -> KeyPath:
    """`gpus.groups[0].model` as a path; of all names in keys, those of ports alone may have dots."""
    if (override := _PORT.fullmatch(key)) is not None:
        return ("overrides", override[1], "ports", override[2], override[3])
    parts: list[str | int] = []
    for word in key.split("."):
        name, *indices = _ITEM.split(word)
        parts.append(name)
        parts += [int(index) for index in indices if is_number(index)]
    return tuple(parts)


def key_description(path: KeyPath) -> str:
    """Return the description of a key in the schema; "" without one."""
    schema: dict[str, Any] = cluster_schema()
    for part in path:
        schema = _object_schema(resolve_schema(schema))
        below = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
        below = below or schema.get("additionalProperties")
        if not isinstance(below, dict):
            return ""
        schema = below
    return str(resolve_schema(schema).get("description", ""))


def _object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    branches: Iterator[dict[str, Any]] = map(resolve_schema, schema.get("anyOf", ()))
    return next((branch for branch in branches if branch.get("type") in ("object", "array")), schema)


def text_of(value: Any) -> str:
    """Return a value as YAML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(text_of, value))}]"
    return "{}" if value == {} else str(value)


def _line_at(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


RULE = "The spec's table of identities gives it, in the place of the computed one."
DOCS = "fabricc docs identity"
TABLES = "identities."
"""What the keys of origins in the tables begin with."""
_USES = {
    "asn": "ASN",
    "loopback4": "loopback; also its BGP router ID",
    "loopback6": "loopback",
    "management": "management address",
}


def given_origins(plan: PlanSources, at: SwitchId, kind: str) -> tuple[Origin, ...]:
    """The cell of the table, or the line of the lock, that gives a switch something; none where it is computed."""
    name = computed_name(plan.fabric, at)
    row = next((each for each in plan.spec.given_devices if each.device == name), None)
    if row is None or getattr(row, kind) is None:
        own = plan.fabric.name(at)
        return (plan.lock_origin(f"name {name}", own),) if kind == "name" and own != name else ()
    position = row.positions[kind]
    return (Origin(Source.SPEC, f"{TABLES}devices {name} {kind}", "", position, plan.snippet(position)),)


def explain_given(
    plan: PlanSources, question: str, subject: str, value: str, kind: str, owners: Sequence[SwitchId]
) -> Explanation:
    """Explain the owner of a given value; `kind` is the column of the table, `question` the subject."""
    names = [plan.fabric.name(at) for at in owners]
    origins = tuple(origin for at in owners for origin in given_origins(plan, at, kind))
    details = (
        ("device" if len(names) == 1 else "devices", ", ".join(names)),
        ("use", _USES[kind]),
        ("coordinates", "; ".join(map(switch_text, owners))),
    )
    title = f"{_USES[kind].partition(';')[0]} of {', '.join(names)}"
    return single_explanation(question, subject, title, details, RULE, origins, value=value, docs=DOCS)


def given_address(plan: PlanSources, address: IPv4Address | IPv6Address) -> Explanation | None:
    """Return the owner of the address that a table gives; None for another."""
    fabric, text = plan.fabric, str(address)
    pools = fabric.addresses
    for at, own in fabric.given.switches.items():
        for kind, pool in (
            ("loopback4", pools.loopbacks4),
            ("loopback6", pools.loopbacks6),
            ("management", management_place(fabric, at).network.pool),
        ):
            offset: int | None = getattr(own, kind)
            if pool and offset is not None and pool.address(offset) == text:
                return explain_given(plan, "address", text, text, kind, [at])
    every = chain(fabric.given.links.values(), *(each.values() for each in fabric.given.hosts.values()))
    if not any(text in (pair or ()) for ends in every for pair in ends):
        return None
    return _explain_link(plan, text)


def _explain_link(plan: PlanSources, text: str) -> Explanation | None:
    fabric = plan.fabric
    switches = {fabric.name(at): at for at in fabric.switch_ids()}
    switches |= {computed_name(fabric, at): at for at in switches.values()}
    for row in plan.spec.given_links:
        for version, ends in (("4", row.ipv4), ("6", row.ipv6)):
            if text not in map(str, ends):
                continue
            own, far = (row.a, row.b) if str(ends[0]) == text else (row.b, row.a)
            ends_of = (fabric.name(switches[name]) if name in switches else name for name in (own[0], far[0]))
            device, other = ends_of
            position = row.positions[f"a_ipv{version}"]
            origin = Origin(Source.SPEC, f"{TABLES}links", "", position, plan.snippet(position))
            details = (("device", device), ("port", own[1]), ("far end", f"{other} {far[1]}"))
            title = f"link of {device} {own[1]} to {other} {far[1]}"
            return single_explanation("address", text, title, details, RULE, (origin,), docs=DOCS)
    return None


TIERS = {TierName.TOR: "ToR", TierName.SPINE: "spine", TierName.CORE: "core"}


def tier_text(place: Place) -> str:
    """`a host link of a ToR`, `an uplink of a spine`, `a core`."""
    tier = TIERS[place.tier]
    if place.slot >= 0:
        return f"a host link of a {tier}"
    return f"an uplink of a {tier}" if place.uplink >= 0 else f"a {tier}"


def coordinates_text(place: Place) -> str:
    """Return the coordinates that a place has, in words."""
    parts = [switch_text(place.switch)]
    if place.slot >= 0:
        parts.append(f"slot {place.slot}, rail {place.rail} of the ToR")
    if place.uplink >= 0:
        parts.append(f"uplink {place.uplink}")
    return ", ".join(parts)


def switch_text(at: SwitchId) -> str:
    """Return the coordinates of a switch, in words; all count from 0."""
    if at.tier is TierName.TOR:
        return f"unit {at.unit}, ToR group {at.index}, NIC port {at.nic_port}"
    if at.tier is TierName.SPINE:
        return f"pod {at.pod}, spine {at.index}, plane {at.plane}"
    return f"core {at.index}, plane {at.plane}"


def identity_origins(plan: PlanSources, unit: int, slot: int = -1) -> tuple[Origin, ...]:
    """Return lines of the lock with the coordinate of a unit and the slot of a named host; none for counted ones."""
    return tuple(_identity_origins(plan, unit, slot))


def _identity_origins(plan: PlanSources, unit: int, slot: int) -> Iterator[Origin]:
    found = plan.fabric.units.get(unit)
    if found is None:
        return
    host = found.hosts.get(slot)
    written = plan.sources.get(plan.lock_file, "")
    for name, line in _identity_items(plan.lock_text):
        if name not in (f"unit {unit}", f"host {host} {unit}"):
            continue
        lines = written.splitlines()
        place = Position(plan.lock_file, lines.index(line) + 1, 1) if line in lines else None
        note = "" if place else "chosen by this plan; `fabricc build` pins it"
        yield Origin(Source.LOCK, line.rpartition(" ")[0], line.rpartition(" ")[2], place, line, note)


def _identity_items(lock: str) -> Iterator[tuple[str, str]]:
    """Yield (`unit COORDINATE` or `host NAME UNIT`, line) of every identity in a lock."""
    for line in lock.splitlines():
        words = line.split()
        if words[:1] == ["unit"]:
            yield f"unit {words[2]}", line
        elif words[:1] == ["host"]:
            yield f"host {words[1]} {words[2]}", line
