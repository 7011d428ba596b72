"""Explain a fact of a device: its rule, the keys of the spec behind it, its closed form and the numbers in between."""

from __future__ import annotations

import re
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.hosts.words import rule_priority
from fabricc.back.nos import BUILT_IN
from fabricc.base.values import dataclass
from fabricc.fabric import links
from fabricc.fabric.fabric import MOST
from fabricc.fabric.links import layout_key, loopback_offset
from fabricc.fabric.model import Host, HostPort
from fabricc.fabric.shape import HostId, SwitchId, TierName
from fabricc.fabric.vocabulary import Reason, compile_patterns
from fabricc.facts.paths import path_pattern
from fabricc.front.planning.quality import QosWorksheet, list_worksheets
from fabricc.front.planning.topology.layout import port_speeds
from fabricc.front.qos.worksheet import Row
from fabricc.review.explain import formulas
from fabricc.review.explain import origins as value_origins
from fabricc.review.explain.addresses import explain_address
from fabricc.review.explain.asns import asn_origins
from fabricc.review.explain.model import Formula, Origin, Source, Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.facts import Value
    from fabricc.review.explain.subject import Subject

_UNRULED = "A statement of a back end that does not come with fabricc: the table of rules has no row for it."


@dataclass(frozen=True)
class Explainer:
    """Explains facts of one device after another; worksheets are computed once."""

    plan: value_origins.PlanSources

    def fact(
        self, subject: Subject, path: str, found: Value | None = None, also: tuple[str, ...] = ()
    ) -> Statement:
        """Explain one fact.

        `found` is its value in a file, None takes the planned one; `also` are other paths with the same value and
        reason.
        """
        planned = subject.planned.get(path, subject.waist.get(path))
        value = planned if found is None else found
        shown = "" if value is None else str(value)
        rule = subject.reason_of(path)
        waist = subject.waist.get(path)
        held = None if waist is None or planned is None or waist == planned else str(waist)
        off = None if found is None or found == planned else "not stated" if planned is None else str(planned)
        if rule is None:
            return Statement(path, shown, _UNRULED, planned=off, waist=held, also=also)
        closed = closed_form(rule.formula, subject, path, value or "") if rule.formula else ClosedForm()
        if given := tuple(each for each in closed.origins if each.key.startswith(value_origins.TABLES)):
            return Statement(
                path, shown, value_origins.RULE, (), (), given, off, held, also, value_origins.DOCS
            )
        steps = (*closed.steps, *self._worksheet_steps(rule, subject, path))
        words = subject.words(path)
        text = rule.text.format_map(words)
        if found is None and path not in subject.planned:
            text += f" {subject.nos} does not express it."
        origins = tuple(dict.fromkeys((*_find_origins(rule, subject, path, words), *closed.origins)))
        return Statement(
            path,
            shown,
            text,
            closed.formulas,
            steps,
            origins,
            off,
            held,
            also,
            _docs_page(rule, subject, words),
        )

    def _worksheet_steps(self, rule: Reason, subject: Subject, path: str) -> tuple[Row, ...]:
        sheet = self._find_sheet(subject, path)
        wanted = compile_patterns(rule.steps)
        return tuple(row for row in sheet.rows if wanted.fullmatch(row.label)) if sheet else ()

    def _find_sheet(self, subject: Subject, path: str) -> QosWorksheet | None:
        """Return the worksheet of a path's port; for a path without a port, the first of the switch."""
        if isinstance(subject.at, HostId):
            return None
        fabric = self.plan.fabric
        key = layout_key(fabric, subject.at)
        owner = subject.device.name if subject.device.name in fabric.qos else key
        if owner == "tor0" and len(fabric.tor_layouts) == 1:
            owner = "tor"
        port = subject.port_of(path)
        profile = getattr(port, "profile", None)
        of_switch = (sheet for sheet in self._sheets if sheet.switches == owner)
        return next((sheet for sheet in of_switch if port is None or sheet.profile.name == profile), None)

    @cached_property
    def _sheets(self) -> tuple[QosWorksheet, ...]:
        return list_worksheets(self.plan.spec, self.plan.fabric)


def _find_origins(rule: Reason, subject: Subject, path: str, words: dict[str, str]) -> Iterator[Origin]:
    """Yield the inputs of a value: keys of the spec, items of the lock, figures of the catalog."""
    plan, device = subject.plan, subject.device
    keys: list[str] = []
    for key in rule.keys:
        keys += subject.keys(key, path) if key.startswith("@") else [key.format_map(words)]
    statements = plan.all_of(keys)
    yield from statements
    if keys and not statements:
        yield Origin(Source.COMPUTED, keys[0], note="the spec has no such key")
    for name in rule.strides:
        pinned = [line for line in plan.lock_text.splitlines() if line.startswith(f"stride {name} ")]
        if pinned:
            yield plan.lock_origin(f"stride {name}", pinned[0].split()[2])
    if isinstance(device, Host):
        yield from (value_origins.catalog_origin(device.nic, figure) for figure in rule.nic)
    else:
        yield from (
            value_origins.catalog_origin(device.model, figure.format_map(words)) for figure in rule.figures
        )
    if rule.fixed:
        yield Origin(Source.FIXED, words["nos"], note="the same in every fabric")


def _docs_page(rule: Reason, subject: Subject, words: dict[str, str]) -> str:
    if "{nos}" not in rule.docs:
        return rule.docs
    if subject.on == "host":
        return "fabricc docs hosts"
    return rule.docs.format_map(words) if subject.nos in _built_in() else "fabricc docs add-a-nos"


@cache
def _built_in() -> frozenset[str]:
    return frozenset(BUILT_IN)


_PREFIX = re.compile(r"[0-9a-f.:]+/\d+")
_INDEXED = path_pattern(r"prefix_list[_]/\d+")
_ADDRESS = re.compile(r"via (\S+)")
_FIRST_TABLE = 100
_MOST_PATHS = "the most of 64, paths as a power of two, and stride"


class ClosedForm(NamedTuple):
    """The result of a closed form: formulas, figures, and the items of the lock that it needs."""

    formulas: tuple[Formula, ...] = ()
    steps: tuple[Row, ...] = ()
    origins: tuple[Origin, ...] = ()


def closed_form(name: str, subject: Subject, path: str, value: Value) -> ClosedForm:
    """Return the closed form of that name for a fact; empty where the fact has none."""
    return FORMS[name](subject, path, value)


def _switch_id(subject: Subject) -> SwitchId | None:
    return None if isinstance(subject.at, HostId) else subject.at


def _of_address(subject: Subject, address: str) -> ClosedForm:
    statement = explain_address(subject.plan, address).statements[0]
    return ClosedForm(statement.formulas, (), statement.origins)


def _address_form(subject: Subject, path: str, _value: Value) -> ClosedForm:
    port = subject.port_of(path)
    planned = getattr(port, path.rpartition("/")[2], None)
    return _of_address(subject, str(planned).partition("/")[0]) if planned else ClosedForm()


def _management_form(subject: Subject, _path: str, _value: Value) -> ClosedForm:
    if isinstance(subject.device, Host):
        return ClosedForm()
    return _of_address(subject, subject.device.management.address.partition("/")[0])


def _loopback_form(version: int) -> Callable[[Subject, str, Value], ClosedForm]:
    def form(subject: Subject, _path: str, _value: Value) -> ClosedForm:
        pool, at = subject.plan.fabric.pool("loopbacks", version), _switch_id(subject)
        if pool is None or at is None:
            return ClosedForm()
        return _of_address(subject, pool.address(loopback_offset(subject.plan.fabric, at, pool)))

    return form


def _name_form(subject: Subject, _path: str, _value: Value) -> ClosedForm:
    at = _switch_id(subject)
    return ClosedForm((), (), value_origins.given_origins(subject.plan, at, "name")) if at else ClosedForm()


def _asn_form(subject: Subject, _path: str, _value: Value) -> ClosedForm:
    at = _switch_id(subject)
    return _asn_of(subject, at) if at else ClosedForm()


def _remote_asn(subject: Subject, path: str, _value: Value) -> ClosedForm:
    session = subject.session_of(path)
    at = subject.plan.fabric.find(session.peer) if session else None
    return _asn_of(subject, at) if at is not None and not isinstance(at, HostId) else ClosedForm()


def _asn_of(subject: Subject, at: SwitchId) -> ClosedForm:
    if given := value_origins.given_origins(subject.plan, at, "asn"):
        return ClosedForm((), (), given)
    return ClosedForm(formulas.asn_formulas(subject.plan.fabric, at), (), asn_origins(subject.plan, at))


def _hosts_pool(subject: Subject, prefix: str) -> Pool | None:
    return subject.plan.fabric.pool("hosts", 6 if ":" in prefix else 4)


def _aggregate_form(subject: Subject, path: str, value: Value) -> ClosedForm:
    found, at = _PREFIX.search(f"{path} {value}"), _switch_id(subject)
    pool = _hosts_pool(subject, found[0]) if found else None
    if pool is None or at is None or at.tier is not TierName.TOR:
        return ClosedForm()
    fabric, unit = subject.plan.fabric, at.unit
    for each, _, _ in links.served_slots(fabric, at):
        block = links.host_blocks(fabric, at, each.coordinate)[pool.version == 6]
        if found and found[0] == pool.prefix(block, fabric.aggregate_bits()):
            unit = each.coordinate
    if formulas.given_block(fabric, at, unit, pool.version):
        return ClosedForm((), (), value_origins.given_origins(subject.plan, at, f"hosts{pool.version}"))
    steps = formulas.aggregate_formulas(fabric, at, unit, pool)
    return ClosedForm(
        steps, (), value_origins.stride_origins(subject.plan, "host", "rail", "unit", "nic_port")
    )


def _aggregate_length(subject: Subject, path: str, value: Value) -> ClosedForm:
    fabric = subject.plan.fabric
    entry = str(subject.planned.get(_entry_name(path), value))
    pool = _hosts_pool(subject, entry)
    if pool is None or not entry.startswith(str(pool)):
        return ClosedForm()
    return ClosedForm((formulas.length_formula(fabric, pool),))


def _own_prefix(subject: Subject, path: str, value: Value) -> ClosedForm:
    """Explain an entry of a list of own prefixes: the aggregate, or the loopback."""
    entry = str(subject.planned.get(_entry_name(path), value))
    found = _PREFIX.match(entry)
    if found is None:
        return ClosedForm()
    if found[0].endswith(("/32", "/128")):
        return _loopback_form(6 if ":" in found[0] else 4)(subject, path, value)
    return _aggregate_form(subject, "", found[0])


def _entry_name(path: str) -> str:
    found = _INDEXED.match(path)
    return found[0] if found else path


def _maximum_paths(subject: Subject, _path: str, _value: Value) -> ClosedForm:
    fabric = subject.plan.fabric
    if (given := subject.plan.spec.routing.maximum_paths) is not None:
        return ClosedForm((), (Row("maximum paths", given, "", "spec"),))
    shape = fabric.shape
    least = min((plan.model for plan in fabric.tiers.values()), key=lambda model: model.ecmp_max_paths)
    rows = (
        Row("uplinks of a ToR" if fabric.even else "uplinks of the busiest ToR", shape.uplinks, "", "plan"),
        Row("uplinks of a spine", shape.spine_uplinks, "", "plan"),
        *([Row("links to the other ToR", shape.peer_links, "", "spec")] if shape.peer_links else ()),
        Row("stride of uplinks", fabric.strides.uplink, "", "lock: room that a ToR's uplinks have"),
        Row(f"{least.title} holds", least.ecmp_max_paths, "", least.sources.get("ecmp_max_paths", "catalog")),
        Row("maximum paths", fabric.routing.maximum_paths, "", _MOST_PATHS),
    )
    return ClosedForm((), rows)


def _maximum_prefixes(subject: Subject, path: str, _value: Value) -> ClosedForm:
    """Return what can come from a neighbor: of a ToR its own, of a spine its pod's, from above everybody's."""
    if (given := subject.plan.spec.routing.maximum_prefixes) is not None:
        return ClosedForm((), (Row("limit", given, "prefixes", "spec"),))
    shape, session = subject.plan.fabric.shape, subject.session_of(path)
    if session is None or isinstance(subject.device, Host):
        return ClosedForm()
    limits = {group.name: group.maximum_prefixes for group in subject.device.bgp.groups}
    limit = limits[session.group]
    if session.group == "DOWNSTREAM" and subject.device.tier is TierName.SPINE:
        rule = "of a ToR: an aggregate and a loopback of each family"
        return ClosedForm((), (Row("limit", limit, "prefixes", rule),))
    if session.group == "UPSTREAM" and shape.cores:
        rule = "twice the prefixes of all pods for which the cores have ports, as a power of two"
        return ClosedForm((), (Row("limit", limit, "prefixes", rule),))
    tors, spines = shape.units_per_pod * shape.tors_per_unit_plane, shape.spines
    numbers: formulas.Numbers = {"tors": tors, "spines": spines}
    closed = formulas.make_formula("prefixes", "2 * tors + spines", numbers, 2 * tors + spines)
    rule = "twice that, as a power of two, 128 at least; ToRs as many as the spines have ports for"
    return ClosedForm((closed,), (Row("limit", limit, "prefixes", rule),))


def _gateway_form(subject: Subject, path: str, value: Value) -> ClosedForm:
    found = _ADDRESS.match(str(value))
    closed = _of_address(subject, found[1]) if found else ClosedForm()
    if "/main_route[" in path:
        return closed
    return closed._replace(formulas=(*closed.formulas, *_table_form(subject, path, value).formulas[:1]))


def _table_form(subject: Subject, path: str, _value: Value) -> ClosedForm:
    port = subject.port_of(path)
    if not isinstance(port, HostPort):
        return ClosedForm()
    attached = subject.plan.fabric.attachments[_host_group(subject, path)]
    numbers: formulas.Numbers = {
        "first": _FIRST_TABLE, "rail": port.rail, "nic_ports": attached.nic_ports, "nic_port": port.nic_port,
    }  # fmt: skip
    expression = "first + rail * nic_ports + nic_port"
    if number := subject.plan.fabric.number:
        expression, numbers["network"] = f"first + 1000 * network + {expression.partition(' + ')[2]}", number
    table = formulas.make_formula("table", expression, numbers, port.table)
    numbers = {"table": port.table, "first": _FIRST_TABLE}
    symbols = "1000 + table - first"
    return ClosedForm((table, formulas.make_formula("priority", symbols, numbers, rule_priority(port.table))))


def _host_group(subject: Subject, path: str) -> int:
    """Return the host group that a path is about: a host's own, or that of the host at a ToR's port."""
    fabric, unit, port = subject.plan.fabric, subject.device.unit, subject.port_of(path)
    if unit is None:
        return 0
    peer = port.peer.device if port is not None and port.peer and subject.on == "switch" else ""
    units = [fabric.units[unit], *(fabric.units[guest] for guest in fabric.units[unit].guests)]
    return next((each.group for each in units if peer in each.hosts.values()), units[0].group)


def _queue_pairs(subject: Subject, _path: str, _value: Value) -> ClosedForm:
    fabric, unit = subject.plan.fabric, subject.device.unit
    group = fabric.units[unit].group if unit is not None else 0
    least = fabric.host_models[group].nic.queue_pairs
    rows = (
        Row("equal-cost paths", fabric.paths(group), "", "plan"),
        Row("most", MOST, "", "assumed; more cost NIC memory for each peer"),
        *((Row("least", least, "", "NIC: what a port needs for its speed"),) if least > 1 else ()),
    )
    return ClosedForm((), rows)


def _weights_form(subject: Subject, _path: str, _value: Value) -> ClosedForm:
    stated = {each.name: each.weight_percent for each in subject.plan.spec.priorities}
    rows = []
    for each in subject.classes:
        rule = "strict: before all others" if each.strict else "nine parts lossless, one part lossy"
        rule = "spec" if stated.get(each.name) is not None else rule
        rows.append(Row(f"class {each.name}", each.weight_percent, "" if each.strict else "%", rule))
    return ClosedForm((), tuple(rows))


def _class_form(subject: Subject, path: str, _value: Value) -> ClosedForm:
    """Return the priority of a path's class, and the code point that it comes from."""
    name = subject.class_of(path)
    requested = next((each for each in subject.plan.spec.priorities if each.name == name), None)
    own = next((each for each in subject.classes if each.name == name), None)
    if own is None or requested is None or requested.priority is not None or not requested.dscps:
        rule = (
            "spec" if requested and requested.priority is not None else "0: takes the remaining code points"
        )
        return ClosedForm((), (Row(f"priority of {name}", own.priority, "", rule),) if own else ())
    rows = (
        Row(f"lowest code point of {name}", min(requested.dscps), "", "spec"),
        Row(f"priority of {name}", own.priority, "", "lowest code point / 8, the whole part"),
    )
    return ClosedForm((), rows)


def _speed_form(subject: Subject, path: str, _value: Value) -> ClosedForm:
    fabric, kind = subject.plan.fabric, subject.link_kind(path)
    port = subject.port_of(path)
    if port is None or port.peer is None:
        return ClosedForm()
    if kind == "host":
        group = _host_group(subject, path)
        model, attached = fabric.host_models[group], fabric.attachments[group]
        rows = (
            Row("ports of a NIC", model.ports_per_nic, "", model.sources.get("ports_per_nic", "catalog")),
            Row("speed of one", model.port_gbps, "Gb/s", model.sources.get("port_gbps", "catalog")),
            Row("ports after splitting", attached.ports_per_nic, "", "a multiple of the planes"),
        )
        return ClosedForm((), rows)
    low, high = (TierName.TOR, TierName.SPINE) if kind == "spine" else (TierName.SPINE, TierName.CORE)
    ends = [fabric.tiers[tier].model for tier in (low, high)]
    shared = max(port_speeds(ends[0]) & port_speeds(ends[1]))
    both = " and ".join(model.title for model in ends)
    return ClosedForm((), (Row("fastest that both models share", shared, "Gb/s", both),))


FORMS: dict[str, Callable[[Subject, str, Value], ClosedForm]] = {
    "aggregate": _aggregate_form,
    "aggregate_length": _aggregate_length,
    "asn": _asn_form,
    "gateway": _gateway_form,
    "ipv4": _address_form,
    "ipv6": _address_form,
    "loopback4": _loopback_form(4),
    "loopback6": _loopback_form(6),
    "management": _management_form,
    "name": _name_form,
    "maximum_paths": _maximum_paths,
    "maximum_prefixes": _maximum_prefixes,
    "own_prefix": _own_prefix,
    "queue_pairs": _queue_pairs,
    "remote_asn": _remote_asn,
    "class": _class_form,
    "speed": _speed_form,
    "table": _table_form,
    "weights": _weights_form,
}
"""Name in the table of rules -> the closed form."""
