"""A device, a port, or some facts of them: fields for a first look, and the values explained."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import format_share, plural
from fabricc.base.numbers import group_pairs
from fabricc.fabric.capacity.hosts import HOW, find_affected_hosts, find_newly_parted_hosts
from fabricc.fabric.capacity.remainder import Remainder
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.fabric.model import Direction, Host, HostPort, Port, Switch
from fabricc.fabric.naming import computed_name
from fabricc.fabric.shape import HostId, TierName
from fabricc.fabric.vocabulary import compile_patterns
from fabricc.facts.paths import replace_keys
from fabricc.front.planning.topology import clos
from fabricc.front.planning.topology.spread import PIN
from fabricc.front.qos.worksheet import Row
from fabricc.front.spec.document import format_path
from fabricc.review.explain.formulas import Numbers, make_formula
from fabricc.review.explain.model import Explanation, Source, Statement, SubjectError
from fabricc.review.explain.origins import TIERS, PlanSources, given_origins, identity_origins, switch_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.facts import Facts
    from fabricc.review.explain.facts import Explainer
    from fabricc.review.explain.subject import Subject


_HOST_RULE = (
    "A counted host is named after its unit and slot; one that the spec names keeps its slot by the lock."
)


_UPLINKS = (
    "As many as the ratio of bandwidth down to bandwidth up needs, and so many that every spine gets the same "
    "number of them."
)
_OWN = "A ToR has as many of these as its own host group needs, the same number to every spine."
_SPINES = (
    "Every ToR has the same number of links to every spine, so the count is the smallest divisor of a ToR's uplinks "
    "that gives the spines ports enough."
)
_BORDER = "A border leaf has the links to every spine that `tors.border_links` states, one by default."
_NO_SPINES = (
    "The spec has no spines: a ToR connects only its hosts, and its other ports stay free for growth."
)
_PEERS = "The spec has no spines: the two ToRs of each plane have as many links as `tors.peer_links` states."
DOCS = "fabricc docs architecture"
OUT = "while it is out"


def group_paths(facts: Facts) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield paths that differ in their first key and share one value, as (the first, the others)."""
    groups = group_pairs(((replace_keys(path, "[*]", 1), value), path) for path, value in facts.items())
    for first, *others in groups.values():
        yield first, tuple(others)


def explain_device(explainer: Explainer, subject: Subject) -> Explanation:
    """Return a switch or a host."""
    if isinstance(subject.device, Host):
        return _explain_host(subject, subject.device)
    switch = subject.device
    facts = [path for path in subject.waist if "number" in subject.vocabulary.row(path).tags]
    if "loopback/ipv4" in facts:
        facts.remove("bgp/router_id")
    statements = tuple(explainer.fact(subject, path) for path in facts)
    fabric = subject.plan.fabric
    if switch.tier is not TierName.CORE:
        unit = switch.unit
        own = (
            explain_spines(subject.plan)
            if unit is None
            else explain_uplinks(subject.plan, fabric.units[unit].group)
        )
        statements = (*statements, own)
    details = tuple(_switch_details(subject, switch))
    return Explanation("device", switch.name, f"a {TIERS[switch.tier]}", details, statements)


def _switch_details(subject: Subject, switch: Switch) -> Iterator[tuple[str, str]]:
    plan = subject.plan
    yield "tier", TIERS[switch.tier]
    if not isinstance(subject.at, HostId):
        plane = f", plane {switch.plane}" if switch.unit is not None else ""
        yield "coordinates", switch_text(subject.at) + plane
        for given in given_origins(plan, subject.at, "name"):
            line = f", line {given.position.line}" if given.position else ""
            source = "the lock" if given.source is Source.LOCK else given.key.split()[0]
            yield "given name", f"{source}{line}; computed: {computed_name(plan.fabric, subject.at)}"
    yield from _earlier_names(subject)
    yield "model", f"{switch.model.title}{_place_text(subject, '@model')}"
    yield "runs", f"{switch.nos} {switch.release}".strip() + _place_text(subject, "@nos")
    ways = {
        Direction.HOST: "to hosts", Direction.DOWN: "down", Direction.UP: "up", Direction.PEER: "to the other ToR",
    }  # fmt: skip
    for direction, words in ways.items():
        ports = [port for port in switch.ports if port.direction is direction]
        if ports:
            speeds = ", ".join(f"{speed}G" for speed in sorted({port.speed_gbps for port in ports}))
            yield f"ports {words}", f"{len(ports)} at {speeds}: {ports[0].name} to {ports[-1].name}"
    if switch.drained:
        origin = plan.spec_origin(f"overrides.{switch.name}.drain")
        where = origin.position if origin else None
        yield "drained", f"{where.file}:{where.line}:{where.column}" if where else "true"
    yield OUT, describe_outage(plan.fabric, Outage(gone=frozenset({switch.name})))


def describe_outage(fabric: Fabric, outage: Outage) -> str:
    """Describe what is left while a device or a link is out, besides what the spec drains and shuts."""
    wiring = Wiring(fabric)
    standing = wiring.shut.exclude_outage(outage)
    before, left = Remainder(wiring, standing), Remainder(wiring, standing | outage)
    share, at = left.least_share()
    hit = [each.how for each in find_affected_hosts(before, left)]
    hosts = [f"{plural(hit.count(how), 'host')}: {how}" for how in HOW if how in hit]
    hosts += [
        f"NICs of {plural(len(pair.hosts), 'host')} and of {plural(len(pair.others), 'host')}: no plane in common"
        for pair in find_newly_parted_hosts(left, before)
    ]
    where = f" of {at}" if share < 1 else ""
    others = "" if outage.gone <= wiring.switches.keys() else " for the other hosts"
    return "; ".join([f"{format_share(share)}{where} is left{others}", *hosts])


def _earlier_names(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield the former names of the device, and the device that it replaced, from the spec."""
    moves, name = subject.plan.fabric.moves, subject.device.name
    if (box := moves.replaced.get(name)) is not None:
        yield "in the place of", f"{box.name}{f', serial number {box.serial}' if box.serial else ''}"
    elif name in moves.renamed:
        yield "formerly", moves.renamed[name]


def _place_text(subject: Subject, name: str) -> str:
    """Return `, cluster.yaml:8:9`, where the first key of an @list was decided."""
    for key in subject.keys(name, ""):
        origin = subject.plan.spec_origin(key)
        if origin is not None and (at := origin.position) is not None:
            return f", {at.file}:{at.line}:{at.column}"
    return ""


def _explain_host(subject: Subject, host: Host) -> Explanation:
    details = [
        ("coordinates", f"unit {host.unit}, slot {host.slot}"),
        ("model", f"{host.model.title}{_place_text(subject, '@host_model')}"),
        *([("rack", host.rack)] if host.rack else []),
        *([("NVLink domain", host.domain)] if host.domain else []),
        *_earlier_names(subject),
        ("NIC", host.nic.title),
        ("runs", host.os + _place_text(subject, "@os")),
    ]
    for port in host.ports:
        addresses = " ".join(address for address in (port.ipv4, port.ipv6) if address)
        details.append((port.name, f"{addresses}, {port.peer.device} {port.peer.port}, {port.speed_gbps}G"))
    details.append((OUT, describe_outage(subject.plan.fabric, Outage(gone=frozenset({host.name})))))
    group = format_path(subject.group.path)
    keys = [f"{group}.{key}" for key in ("racks", "hosts", "hosts_per_unit", "hosts_per_rack")]
    origins = (*subject.plan.all_of(keys), *identity_origins(subject.plan, host.unit, host.slot))
    stated = tuple(origin for origin in origins if origin.value or origin.position)
    statement = Statement("name", host.name, _HOST_RULE, (), (), stated, docs="fabricc docs architecture")
    return Explanation("device", host.name, "a host", tuple(details), (statement,))


def explain_port(explainer: Explainer, subject: Subject, name: str) -> Explanation:
    """Return a port of a switch or a host, with all that is stated of it."""
    port = subject.ports[name]
    facts = _of_port(subject, name)
    statements = tuple(explainer.fact(subject, path) for path in facts)
    title = f"a port of {subject.device.name}"
    if port.peer:
        title = f"leads to {port.peer.device} {port.peer.port}"
    details = [*_port_details(port)]
    if port.peer:
        end = (subject.device.name, name)
        details.append((OUT, describe_outage(subject.plan.fabric, Outage(ends=frozenset({end})))))
    return Explanation("port", f"{subject.device.name}:{name}", title, tuple(details), statements)


def _of_port(subject: Subject, name: str) -> Facts:
    own = f"interface[{name}]/"
    keys = [key for key, session in subject.sessions.items() if session.port == name]
    beginnings = (own, *(f"bgp/neighbor[{key}]/" for key in keys))
    return {path: value for path, value in subject.planned.items() if path.startswith(beginnings)}


def _port_details(port: Port | HostPort) -> Iterator[tuple[str, str]]:
    if port.peer:
        yield "far end", f"{port.peer.device} {port.peer.port}"
    else:
        yield "far end", "none: the port is shut"
    if isinstance(port, Port):
        split = f", child {port.child} of {port.children}" if port.children > 1 else ""
        yield "cage", f"{port.cage}{split}"
    if port.cable_m is not None:
        yield "cable", f"{port.cable_m} m, {port.medium}"
    yield "speed", f"{port.speed_gbps} Gb/s"
    yield "MTU", f"{port.mtu} bytes (IP)"
    for family in ("ipv4", "ipv6"):
        if address := getattr(port, family):
            yield {"ipv4": "IPv4", "ipv6": "IPv6"}[family], address
    if getattr(port, "unnumbered", False):
        yield "addresses", "unnumbered: IPv6 link-local ones"
    if profile := getattr(port, "profile", None):
        yield "profile", profile


def explain_facts(explainer: Explainer, subject: Subject, port: str, word: str) -> Explanation:
    """Return the facts of a device or one of its ports that a word names, such as `headroom`, `ecn` or a whole path.

    Raises:
        SubjectError: FAB9274, there is no such fact.
    """
    whole = {**subject.waist, **subject.planned}
    facts = {**_of_port_waist(subject, port), **_of_port(subject, port)} if port else whole
    chosen = {path: value for path, value in facts.items() if path == word}
    if not chosen:
        wanted = compile_patterns([f"*{word.lower()}*"])
        chosen = {path: value for path, value in facts.items() if wanted.fullmatch(path.lower())}
    name = f"{subject.device.name}:{port}" if port else subject.device.name
    if not chosen:
        raise _no_fact(name, word, facts)
    pairs = list(group_paths(chosen))
    statements = tuple(explainer.fact(subject, first, also=others) for first, others in pairs)
    count = f"{len(statements)} value{'' if len(statements) == 1 else 's'}"
    return Explanation("fact", f"{name} {word}", count, (), statements)


def _of_port_waist(subject: Subject, name: str) -> Facts:
    own = f"interface[{name}]/"
    return {path: value for path, value in subject.waist.items() if path.startswith(own)}


def _no_fact(name: str, word: str, facts: Iterable[str]) -> SubjectError:
    leaves = sorted({part for path in facts for part in replace_keys(path, "").split("/") if part})
    near = get_close_matches(word, leaves, 3) or leaves[:8]
    message = f"{name} has no fact with '{word}' in its name"
    return SubjectError("FAB9274", message, f"There is, for example: {', '.join(near)}.")


def explain_uplinks(plan: PlanSources, group: int = 0) -> Statement:
    """Explain the uplinks of every ToR of a host group."""
    fabric, shape = plan.fabric, plan.fabric.shape
    if shape.peer_links:
        name, origins = "links to the other ToR", plan.all_of(("tors.peer_links", "tors.uplink_gbps"))
        return Statement(name, str(shape.peer_links), _PEERS, (), (), origins, docs="fabricc docs shapes")
    if not shape.spines:
        return Statement("uplinks of a ToR", "0", _NO_SPINES, (), (), (), docs=DOCS)
    own, count = fabric.tor_links[group], fabric.uplinks(group)
    numbers: Numbers = {"spines": shape.spines, "links_per_spine": own}
    closed = make_formula("uplinks", "spines * links_per_spine", numbers, count)
    if not fabric.attachments[group].slots:
        keys = ("tors.border", "tors.border_links", "tors.uplink_gbps", "spines.count")
        name, origins = "uplinks of a border leaf", plan.all_of(keys)
        return Statement(name, str(count), _BORDER, (closed,), (), origins, docs="fabricc docs external")
    keys = ("tors.oversubscription", "tors.uplinks", "tors.uplink_gbps", "spines.count")
    origins = (*plan.all_of(keys), plan.lock_origin("stride links_per_spine", shape.links_per_spine))
    rows, rule = tuple(_ratio_rows(plan, group)), _UPLINKS
    if own < shape.links_per_spine:
        rule = f"{_UPLINKS} {_OWN}"
        origins = (*origins, plan.lock_origin(f"stride {PIN}", shape.spines))
        needed, kept = (
            "uplinks needed / spines that the lock pins, rounded up",
            "lock; the busiest group's links",
        )
        rows = (*rows, Row("links to each spine", own, "", needed),
                Row("positions kept for each spine", shape.links_per_spine, "", kept))  # fmt: skip
    return Statement("uplinks of a ToR", str(count), rule, (closed,), rows, origins, docs=DOCS)


def _ratio_rows(plan: PlanSources, group: int) -> Iterator[Row]:
    fabric, tier = plan.fabric, plan.spec.tors
    own = fabric.tor_links[group] < fabric.shape.links_per_spine
    layouts = [fabric.tor_layouts[group]] if own else [each for each in fabric.tor_layouts if each.down]
    down = max((len(each.down) - each.reserved) * each.slots[each.down[0]].speed_gbps for each in layouts)
    of = "" if own else ", of the busiest ToR"
    yield Row("to hosts, with every slot taken", down, "Gb/s", f"host ports * speed{of}")
    fastest = "the spec, or the fastest that both models share"
    yield Row("speed of an uplink", fabric.shape.uplink_gbps, "Gb/s", fastest)
    if tier.uplinks:
        yield Row("requested uplinks", tier.uplinks, "", "spec")
        return
    ratio = tier.oversubscription or 1.0
    needed = clos.uplinks_needed(down, ratio, fabric.shape.uplink_gbps)
    yield Row("oversubscription, at most", ratio, "", "spec, or default")
    yield Row("uplinks that it needs", needed, "", "to hosts / oversubscription / speed, rounded up")


def explain_spines(plan: PlanSources) -> Statement:
    """Explain the spines of a plane, and of a pod if there are cores."""
    shape = plan.fabric.shape
    of = "a ToR" if plan.fabric.even else "the busiest ToR"
    rows = (
        Row(f"uplinks of {of}", shape.uplinks, "", "plan"),
        Row("links of a ToR to each spine", shape.links_per_spine, "", "lock"),
        Row("spines", shape.spines, "", "uplinks / links to each"),
    )
    origins = (
        *plan.all_of(("spines.count", "tors.uplinks", "tors.oversubscription")),
        plan.lock_origin("stride links_per_spine", shape.links_per_spine),
    )
    where = "of a plane and pod" if shape.cores else "of a plane"
    return Statement(f"spines {where}", str(shape.spines), _SPINES, (), rows, origins, docs=DOCS)
