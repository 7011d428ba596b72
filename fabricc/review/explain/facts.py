"""A fact of a device explained: its rule, the keys of the spec behind it, and the numbers in between."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from fabricc.back.nos import BUILT_IN
from fabricc.base.values import dataclass
from fabricc.fabric.links import layout_key
from fabricc.fabric.model import Host
from fabricc.fabric.paths import compile_patterns
from fabricc.fabric.shape import HostId
from fabricc.front.planning.quality import list_worksheets
from fabricc.review.explain.closed_forms import Closed, closed_form
from fabricc.review.explain.given import DOCS, RULE, TABLES
from fabricc.review.explain.model import Origin, Source, Statement
from fabricc.review.explain.origins import catalog_origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.facts import Value
    from fabricc.fabric.vocabulary import Reason
    from fabricc.front.planning.quality import Sheet
    from fabricc.front.qos.worksheet import Row
    from fabricc.review.explain.origins import PlanSources
    from fabricc.review.explain.subject import Subject

_UNRULED = "A statement of a back end that does not come with fabricc: the table of rules has no row for it."


@dataclass(frozen=True)
class Explainer:
    """Explains facts of one device after another; worksheets are computed once."""

    plan: PlanSources

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
        closed = closed_form(rule.formula, subject, path, value or "") if rule.formula else Closed()
        if given := tuple(each for each in closed.origins if each.key.startswith(TABLES)):
            return Statement(path, shown, RULE, (), (), given, off, held, also, DOCS)
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

    def _find_sheet(self, subject: Subject, path: str) -> Sheet | None:
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
    def _sheets(self) -> tuple[Sheet, ...]:
        return list_worksheets(self.plan.spec, self.plan.fabric)


def _find_origins(rule: Reason, subject: Subject, path: str, words: dict[str, str]) -> Iterator[Origin]:
    """Yield the inputs of a value: keys of the spec, items of the lock, figures of the catalog."""
    plan, device = subject.plan, subject.device
    keys: list[str] = []
    for key in rule.keys:
        keys += subject.keys(key, path) if key.startswith("@") else [key.format_map(words)]
    said = plan.all_of(keys)
    yield from said
    if keys and not said:
        yield Origin(Source.COMPUTED, keys[0], note="the spec has no such key")
    for name in rule.strides:
        pinned = [line for line in plan.lock_text.splitlines() if line.startswith(f"stride {name} ")]
        if pinned:
            yield plan.lock_origin(f"stride {name}", pinned[0].split()[2])
    if isinstance(device, Host):
        yield from (catalog_origin(device.nic, figure) for figure in rule.nic)
    else:
        yield from (catalog_origin(device.model, figure.format_map(words)) for figure in rule.figures)
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
