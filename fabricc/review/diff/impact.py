"""The rule table of impacts: what applying a changed fact does, per NOS, with the source of each rule."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass
from fabricc.fabric.paths import matching
from fabricc.review.diff.model import Impact, Verdict

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

TABLE = Path(__file__).with_name("impact.yaml")


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: subjects that match, on which operations, with a verdict for every NOS and exceptions by name."""

    pattern: re.Pattern[str]
    ops: str
    default: Verdict
    by_nos: Mapping[str, Verdict]


def verdict(subject: str, op: str, nos: str) -> Verdict:
    """The impact of a statement on a NOS (`host` for hosts): the first rule that matches; the last matches all."""
    return _verdict(subject, op, nos)


def operation(subject: str, op: str, after: object) -> str:
    """The operation as rules see it: a port that is switched on is one more, not a changed one."""
    return "+" if op == "~" and subject.endswith("]/enabled") and after == "true" else op


@cache
def _verdict(subject: str, op: str, nos: str) -> Verdict:
    rule = next(r for r in rules() if op in r.ops and r.pattern.fullmatch(subject))
    return rule.by_nos.get(nos, rule.default)


@cache
def rules() -> tuple[Rule, ...]:
    """The table, in its order.

    Raises:
        ValueError: a row of the table is not as it has to be.
    """
    import yaml

    rows: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text("utf-8"))["rules"]
    return tuple(_rule(row) for row in rows)


def _rule(row: dict[str, Any]) -> Rule:
    facts = row["fact"] if isinstance(row["fact"], list) else [row["fact"]]
    default = _row_verdict(row, row)
    exceptions = {name: _row_verdict(entry, row) for name, entry in row.get("nos", {}).items()}
    return Rule(matching(facts), row.get("ops", "~+-"), default, exceptions)


def _row_verdict(entry: dict[str, Any], row: dict[str, Any]) -> Verdict:
    try:
        impact = Impact[entry["impact"].upper().replace("-", "_")]
    except KeyError:
        raise ValueError(f"{TABLE.name}: no impact in the row of {row['fact']}") from None
    down = impact in (Impact.SESSION_RESET, Impact.RELOAD) or bool(entry.get("down"))
    return Verdict(impact, entry.get("why", row["why"]), entry["source"], down)
