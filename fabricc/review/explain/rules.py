"""The table of rules: which rule, keys of the spec and steps of the worksheet stand behind a fact."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass
from fabricc.fabric.paths import matching

if TYPE_CHECKING:
    import re

TABLE = Path(__file__).with_name("rules.yaml")
_KEYS = frozenset(
    {"fact", "of", "rule", "from", "lock", "catalog", "nic", "steps", "formula", "fixed", "docs"}
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table.

    Attributes:
        pattern: paths that it explains.
        on: `switch`, `host`, `service` (a port outside the fabric), or "" for switches and hosts.
        text: the rule in words, with {names} to fill in.
        keys: of the spec, with {names} and @lists to fill in.
        strides: items of the lock.
        figures: of the switch model; `nic`: of the NIC.
        steps: labels of the worksheet, with `*`.
        formula: name of a function of `closed_forms`, or "".
        fixed: the same in every fabric.
        docs: page of the documentation, or "".
    """

    pattern: re.Pattern[str]
    on: str
    text: str
    keys: tuple[str, ...]
    strides: tuple[str, ...]
    figures: tuple[str, ...]
    nic: tuple[str, ...]
    steps: re.Pattern[str]
    formula: str
    fixed: bool
    docs: str


def rule_of(path: str, on: str) -> Rule | None:
    """The rule of a fact: the first row that matches; None for a path that no row is about.

    Args:
        path: the fact's.
        on: `switch`, `host` or `service`.
    """
    for rule in rules():
        fits = rule.on in ("", on) if on != "service" else rule.on == "service"
        if fits and rule.pattern.fullmatch(path):
            return rule
    return None


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
    if unknown := row.keys() - _KEYS:
        raise ValueError(f"{TABLE.name}: {', '.join(sorted(unknown))} in the row of {row.get('fact')}")
    facts = row["fact"] if isinstance(row["fact"], list) else [row["fact"]]
    fixed = bool(row.get("fixed"))
    return Rule(
        pattern=matching(facts),
        on=row.get("of", ""),
        text=row["rule"],
        keys=tuple(row.get("from", ())),
        strides=tuple(row.get("lock", ())),
        figures=tuple(row.get("catalog", ())),
        nic=tuple(row.get("nic", ())),
        steps=matching(row.get("steps", ())),
        formula=row.get("formula", ""),
        fixed=fixed,
        docs=row.get("docs", "fabricc docs nos-{nos}" if fixed else ""),
    )
