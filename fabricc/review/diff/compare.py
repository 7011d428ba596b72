"""Two views of one device to statements: links followed by their far end, values that differ per device left out."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.numbers import is_number
from fabricc.base.values import replace
from fabricc.fabric.vocabulary import STRUCTURE
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, first_word, last_key, list_leaf, path_pattern, split_list_path
from fabricc.review.diff import fact_impact
from fabricc.review.diff.closed_links import find_closed_links
from fabricc.review.diff.model import ClosedLink, DeviceDiff, Impact, Link, Rail, Renumbering, Statement
from fabricc.review.diff.phrases import fold_names
from fabricc.review.diff.view import DeviceView, filtered_ports, is_secret, is_used, name_definition

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from fractions import Fraction

    from fabricc.back.nos.base import Application
    from fabricc.fabric.facts import Facts, Value
    from fabricc.review.diff.unread import TextChange


_LIST = "prefix_list["
_FILTER = "access_list["
_SESSION = "session["
_CODE_POINT = path_pattern("qos/dscp[#](.*)")
_MARK = re.compile(r"qos/(\w+)_dscp|nccl/(?:control_)?dscp")
_LAST_KEY = path_pattern("[_]$")

Occurrence = tuple[str, str, "Value | None", "Value | None"]
"""(port identity or "", subject, before, after)."""
Placed = dict[tuple[str, str], "Value"]
"""(identity or "", subject) -> value."""
Layouts = tuple[dict[str, str], dict[str, str]]
"""Link identity -> port name, of both sides."""


def compare_views(
    base: DeviceView,
    head: DeviceView,
    staying: Container[str] | None = None,
    text: Iterable[TextChange] = (),
    standing: Container[str] | None = None,
) -> DeviceDiff | None:
    """Return what changes from one to the other; None when nothing does. Costs time proportional to the facts.

    Args:
        base: the device on the older side.
        head: the device on the newer side.
        staying: the devices that the newer side has; None when all stay.
        text: changed lines without a statement.
        standing: the devices that the older side has; None when none joins.
    """
    layouts = base.layout, head.layout
    lines = (("", each.subject, each.before, each.after) for each in text)
    values = _fold_nodes(_value_changes(base, head, layouts), head.nos, standing, staying)
    occurrences = [*_link_changes(base, head, layouts, staying), *values, *lines]
    if not occurrences:
        return None
    builder = _Builder(base, head, layouts)
    for occurrence in occurrences:
        builder.add(*occurrence)
    return builder.built()


def _link_changes(
    base: DeviceView, head: DeviceView, layouts: Layouts, staying: Container[str] | None
) -> Iterator[Occurrence]:
    """Yield links that appear, disappear or move to another port of this switch."""
    if head.kind == "host":
        return
    before, after = layouts
    for identity in before.keys() | after.keys():
        old, new = before.get(identity), after.get(identity)
        if old is None and new is not None:
            yield identity, f"link[{head.ports[new].role}]", None, head.ports[new].peer
        elif new is None and old is not None:
            port = base.ports[old]
            leaves = staying is not None and port.peer not in staying
            yield identity, f"link[{port.role}]{' left' if leaves else ''}", port.peer, None
        elif old is not None and new is not None and old != new and not _same_place(base, old, head, new):
            yield identity, f"interface[{head.ports[new].role}]/port", old, new


def _same_place(base: DeviceView, old: str, head: DeviceView, new: str) -> bool:
    """Return whether two ports are one place on the same box that another NOS calls by another name."""
    panel = base.ports[old].panel
    return base.nos != head.nos and base.model == head.model and panel == head.ports[new].panel != -1


def _value_changes(base: DeviceView, head: DeviceView, layouts: Layouts) -> Iterator[Occurrence]:
    old, new = _key_by_network(base), _key_by_network(head)
    if layouts[0] == layouts[1] and base.sessions == head.sessions:
        shared = {path for path, value in old.items() if new.get(path) == value}
        old = {path: value for path, value in old.items() if path not in shared}
        new = {path: value for path, value in new.items() if path not in shared}
    replaced = (base.model, base.nos) != (head.model, head.nos)
    before, after = _place_facts(base, old, head, layouts[1]), _place_facts(head, new, base, layouts[0])
    yield from _sessions_beside(before, after)
    yield from _sessions_gone(before, after)
    used = cache(lambda name: is_used(name, base, head))  # a list may have thousands of lines
    for key in before.keys() | after.keys():
        if (first := before.get(key)) == (second := after.get(key)):
            continue
        identity, subject = key
        if first is not None and second is not None:
            points = "points" in fact_impact.row_of(subject, head.nos).tags
            subject = _silent_subject(subject, str(first), str(second), base, head, points=points)
        if subject.startswith("device/") and (first is None or second is None):
            continue  # a built tree does not contain it
        if replaced and (
            first is None or second is None or "hardware" in fact_impact.row_of(subject, head.nos).tags
        ):
            continue
        if (name := name_definition(subject)) and not used(name):
            subject = f"unused/{subject}"
        yield identity, subject, first, second


def _fold_nodes(
    changes: Iterable[Occurrence], nos: str, standing: Container[str] | None, staying: Container[str] | None
) -> Iterator[Occurrence]:
    """Yield the changes, with what a subnet manager states of a node that joins or leaves as one change."""
    found: set[Occurrence] = set()
    for change in changes:
        identity, subject, before, after = change
        if (before is not None and after is not None) or "node" not in fact_impact.row_of(subject, nos).tags:
            yield change
            continue
        node = last_key(subject)
        device = node.partition(" ")[0]
        if before is None and standing is not None and device not in standing:
            found.add((identity, f"node joins[{node.partition(' port ')[0]}]", None, "listed"))
        elif after is None and staying is not None and device not in staying:
            found.add((identity, f"node left[{node.partition(' port ')[0]}]", "listed", None))
        else:
            yield change
    yield from sorted(found)


def _sessions_beside(before: Placed, after: Placed) -> Iterator[Occurrence]:
    """Takes sessions that are new on links of before out of the newer facts: each is one thing that comes."""
    known = {identity for identity, subject in before if subject.startswith(_SESSION)}
    new: dict[tuple[str, str], Value | None] = {}
    for identity, subject in list(after):
        if subject.startswith(_SESSION) and identity not in known and " " in identity:
            role, leaf = split_list_path(subject, "session")
            value = after.pop((identity, subject))
            new.setdefault((identity, role), None)
            if leaf == "families":
                new[identity, role] = value
    for (identity, role), families in new.items():
        yield identity, f"{_SESSION}{role}] beside", None, families or ""


def _sessions_gone(before: Placed, after: Placed) -> Iterator[Occurrence]:
    """Take sessions that only the older facts have out of them; each is one thing that goes."""
    known = {identity for identity, subject in after if subject.startswith(_SESSION)}
    gone: dict[tuple[str, str], Value] = {}
    for identity, subject in list(before):
        if subject.startswith(_SESSION) and identity not in known:
            role, leaf = split_list_path(subject, "session")
            value = before.pop((identity, subject))
            if leaf == "families" or (identity, role) not in gone:
                gone[identity, role] = value if leaf == "families" else ""
    for (identity, role), families in gone.items():
        yield identity, f"{_SESSION}{role}] gone", families, None


def _silent_subject(
    subject: str, first: str, second: str, base: DeviceView, head: DeviceView, *, points: bool
) -> str:
    """Return another subject for a change without effect on packets.

    This is the class of a code point that no sender uses on either side (`points`: values are lists of such), or
    another mark if both sides have both marks in one class.
    """
    unsent = base.unsent & head.unsent
    if found := _CODE_POINT.fullmatch(subject):
        idle = int(found[1]) in unsent
        return f"qos/unsent[{found[1]}]{found[2]}" if idle else subject
    if points:
        before, after = (
            {int(point) for point in text.split(",") if is_number(point)} for text in (first, second)
        )
        changed = sorted(before ^ after)
        idle = unsent >= {*changed}
        return f"qos/unsent[{','.join(map(str, changed))}]/pfc" if idle else subject
    if (found := _MARK.fullmatch(subject)) and is_number(first) and is_number(second):
        together = all(
            any({int(first), int(second)} <= {*each.dscps} for each in classes)
            for classes in (base.classes, head.classes)
        )
        name = found[1] or ("cnp" if "control" in subject else "rdma")
        return f"qos/mark[{name}]" if together else subject
    return subject


def _key_by_network(view: DeviceView) -> Facts:
    """Return the facts with entries of prefix lists keyed by network, if their order has no effect."""
    lists = [
        path
        for path in view.facts
        if path.startswith(_LIST) and "set" in fact_impact.row_of(path, view.nos).tags
    ]
    if not lists:
        return view.facts
    facts = dict(view.facts)
    for path in lists:
        value = facts.pop(path)
        name, place = split_list_path(path, "prefix_list")
        if is_number(place):
            facts[f"{_LIST}{name}{fact_impact.OUTSIDE}{str(value).partition(' ')[0]}]"] = value
    return facts


def _place_facts(
    view: DeviceView, facts: Facts, other: DeviceView, other_identities: Mapping[str, str]
) -> Placed:
    """Return facts by (identity, subject), without those of links that the other side lacks."""
    own_ports = view.ports
    found: Placed = {}
    for path, value in facts.items():
        if path.startswith(STRUCTURE):
            continue
        word, role, where, rest = view.place(path)
        if not word:
            found["", path] = value
            continue
        if role in ("unused", "other"):
            if where in other.ports:
                continue
        elif where.partition(" ")[0] not in other_identities:
            continue
        found[where, f"{word}[{role}]{rest}"] = value
    for neighbor, port in view.sessions.items():
        if port in own_ports and own_ports[port].identity in other_identities:
            _, role, where, _ = view.place(f"bgp/neighbor[{neighbor}]")
            found[where, f"session[{role}]/remote"] = neighbor if neighbor != port else ""
    return found


_LONGEST_EXAMPLE = 60  # characters of one value


@lru_cache(maxsize=4096)
def _subject_nature(subject: str, nos: str) -> tuple[str, bool, bool]:
    """Return the subject as shown, whether its values are secret, and whether each device has its own."""
    row = fact_impact.row_of(subject, nos)
    shown = _LAST_KEY.sub("[*]", subject) if "keyed" in row.tags else subject
    secret = not row.tags.isdisjoint(("secret", "private")) if row.declared else is_secret(subject)
    return shown, secret, "own" in row.tags


def shorten_values(before: Value | None, after: Value | None) -> str:
    """Return two values as an example shows them: long ones are cut, after what they have in common if need be."""
    texts = str(before), str(after)
    cut = [_shorten_text(text) for text in texts]
    if cut[0] == cut[1]:
        pairs = enumerate(zip(*texts, strict=False))
        common = next((at for at, (old, new) in pairs if old != new), min(map(len, texts)))
        start = max(texts[0].rfind(" ", 0, common) + 1, common - _LONGEST_EXAMPLE // 2)
        cut = [f"…{_shorten_text(text[start:])}" for text in texts]
    return " → ".join(cut)


def _shorten_text(text: str) -> str:
    return text if len(text) <= _LONGEST_EXAMPLE else f"{text[:_LONGEST_EXAMPLE]}…"


class _Builder:
    """Occurrences gathered to one `DeviceDiff`."""

    def __init__(self, base: DeviceView, head: DeviceView, layouts: Layouts) -> None:
        self.base, self.head = base, head
        self.layouts = layouts
        self.sides = fact_impact.DeviceStates(base.facts, head.facts, head.pools)
        self.counts: Counter[Statement] = Counter()
        self.examples: dict[Statement, tuple[str, str]] = {}
        self.impact = Impact.NONE
        self.renumbering = Renumbering()
        self.lost: tuple[set[str], set[str]] = (set(), set())
        self.down: set[str] = set()
        self.filtered_ports = cache(lambda name: filtered_ports(name, base, head))
        self.whole = False
        self.cut = False
        self.restarts = False
        self.links: dict[tuple[str, str], list[str]] = {}

    def add(self, identity: str, subject: str, before: Value | None, after: Value | None) -> None:
        op = "+" if before is None else "-" if after is None else "~"
        way = fact_impact.change_direction(
            subject, before, after, self.sides, fact_impact.row_of(subject, self.head.nos)
        )
        if subject.startswith("link["):
            self.links.setdefault((subject, op), []).append(str(after if before is None else before))
        else:
            self._add_statement(identity, subject, (op, way), before, after)
        self._count_number(subject, op)
        self._mark_disturbed(identity, subject, way)

    def _add_statement(
        self, identity: str, subject: str, way: tuple[str, str], before: Value | None, after: Value | None
    ) -> None:
        op, toward = way
        shown, secret, own = _subject_nature(subject, self.head.nos)
        values = (None, None) if secret or own else (_value_text(before), _value_text(after))
        statement = Statement(shown, op, *values, "" if toward == op else toward)
        self.counts[statement] += 1
        if secret:
            self.examples[statement] = "", "value not shown"
        elif own and op == "~":
            example = identity, f"{self._place_of(identity)} {shorten_values(before, after)}"
            self.examples[statement] = min(example, self.examples.get(statement, example))

    def _place_of(self, identity: str) -> str:
        """Return the device and the far end of the link."""
        peer, _, ordinal = identity.partition("#")
        if not peer or self.head.kind == "host":
            return f"{self.head.name} {peer}".strip()
        number, _, transport = ordinal.partition(" ")
        link = f" link {int(number) + 1}" if is_number(number) and int(number) else ""
        return f"{self.head.name} to {peer}{link}{' ' if transport else ''}{transport}"

    def _count_number(self, subject: str, op: str) -> None:
        if op != "~":
            return
        self.renumbering.addresses += "address" in fact_impact.row_of(subject, self.head.nos).tags
        self.renumbering.asns += subject == "bgp/asn"
        self.renumbering.ports += subject.startswith(PORT) and list_leaf(subject) == "port"

    def _mark_disturbed(self, identity: str, subject: str, way: str) -> None:
        found = fact_impact.judge_statement(subject, way, self.head.nos)
        impact = found.impact
        self.impact = max(self.impact, impact)
        if impact < Impact.SESSION_RESET:
            return
        word = first_word(subject)
        self.cut = self.cut or found.beyond
        if found.beyond and self.head.kind != "host":
            return
        if word in ("interface", "session", "link") and impact < Impact.RELOAD:
            side = 0 if word == "link" and way == "-" else 1
            port = self.layouts[side].get(identity.partition(" ")[0])
            if port is not None and impact >= Impact.TRAFFIC_LOSS:
                self.lost[side].add(port)
            if found.down and (port := self.layouts[0].get(identity.partition(" ")[0])) is not None:
                self.down.add(port)
        elif subject.startswith(_FILTER) and (ports := self.filtered_ports(first_key(subject))):
            for lost, names in zip(self.lost, ports, strict=True):
                lost.update(names)
        elif way == "leak" or fact_impact.row_of(subject, self.head.nos).tags.isdisjoint(
            ("elsewhere", fact_impact.OUTSIDE_ROUTE)
        ):
            self.whole = self.whole or impact >= Impact.TRAFFIC_LOSS
            self.restarts = self.restarts or found.down

    def _lost_rails(self) -> dict[Rail, Fraction]:
        """Return the rails that lose service: those behind the whole device, or behind the disturbed ports."""
        if self.whole or self.cut:
            return self.head.reach()
        found: dict[Rail, Fraction] = {}
        for view, ports in zip((self.base, self.head), self.lost, strict=True):
            for port in ports:
                found.update(view.reach(port))
        return found

    def _lost_sessions(self) -> frozenset[Link]:
        if self.restarts:
            return frozenset(sessions_on(self.base, self.base.ports.keys()))
        return frozenset(sessions_on(self.base, self.down))

    def _closed_links(self) -> frozenset[ClosedLink]:
        if self.impact < Impact.SESSION_RESET or self.head.kind == "host":
            return frozenset()
        return find_closed_links(self.base, self.head)

    def built(self) -> DeviceDiff:
        for (subject, op), peers in self.links.items():
            folded = fold_names(sorted(set(peers)))
            values = (folded, None) if op == "-" else (None, folded)
            self.counts[Statement(subject, op, *values)] = len(peers)
        self._drop_consequences()
        head = self.head
        examples = {statement: text for statement, (_, text) in self.examples.items()}
        return DeviceDiff(
            head.name, head.kind, head.platform, dict(self.counts), examples, self.impact, self.renumbering,
            self._lost_rails(), self._lost_sessions(), self._closed_links(), not self.whole,
        )  # fmt: skip

    def _drop_consequences(self) -> None:
        """Drop descriptions and hardware figures whose cause is listed."""
        tags = {s.subject: fact_impact.row_of(s.subject, self.head.nos).tags for s in self.counts}
        moved = any(subject.endswith("]/port") for subject in tags)
        causes = any(each.isdisjoint(("label", "hardware")) for each in tags.values())
        for statement in list(self.counts):
            own = tags[statement.subject]
            if (causes and "label" in own) or (moved and "hardware" in own):
                del self.counts[statement]
                self.examples.pop(statement, None)


def sessions_on(view: DeviceView, ports: AbstractSet[str]) -> Iterator[Link]:
    """Yield the BGP sessions on some ports of a device."""
    for neighbor, name in view.sessions.items():
        if name in ports and name in view.ports:
            port = view.ports[name]
            transport = "ipv6" if ":" in neighbor else "ipv4" if is_number(neighbor[:1]) else "unnumbered"
            first, second = sorted((view.name, port.peer))
            yield first, second, port.ordinal, transport


def _value_text(value: Value | None) -> str | None:
    return None if value is None else f"{value:,}" if isinstance(value, int) and value > 9999 else str(value)


_MINUTE = 60


def application_impact(base: DeviceView, application: Application) -> Impact:
    """Return what an application does to traffic on a device that runs `base`; ports of hosts lose their traffic."""
    if application.reloads:
        return Impact.RELOAD
    if any(base.reach(port) for port in application.ports):
        return Impact.TRAFFIC_LOSS
    return Impact.SESSION_RESET if application.interrupts else Impact.NONE


def with_application(found: DeviceDiff, base: DeviceView, application: Application | None) -> DeviceDiff:
    """Return the difference with the effect of its application: of a reload, or of ports that go down for a while."""
    if application is None:
        return found
    if application.reloads:
        return replace(
            found,
            application=application,
            impact=application_impact(base, application),
            reach=base.reach(),
            sessions=found.sessions | frozenset(sessions_on(base, base.ports.keys())),
            ports_only=False,
        )
    ports = base.ports.keys() & application.ports
    reach = {rail: gpus for port in ports for rail, gpus in base.reach(port).items()}
    down = base.ports.keys() if application.restarts_bgp else ports
    return replace(
        found,
        application=application,
        impact=max(found.impact, application_impact(base, application)),
        reach={**found.reach, **reach},
        sessions=found.sessions | frozenset(sessions_on(base, down)),
    )


def application_words(application: Application) -> str:
    """Return how a change is applied, how long that may take, and what it interrupts."""
    minutes = plural(-(-application.limit_s // _MINUTE), "minute")
    return f"{application.way}, at most {minutes}" + (
        f"; {application.interrupts}" if application.interrupts else ""
    )
