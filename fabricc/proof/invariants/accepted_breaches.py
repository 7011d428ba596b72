"""The part of the spec about invariants: declared ratios and accepted breaches."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.model import RULE_CODES
from fabricc.base.values import replace
from fabricc.proof.invariants.rules import CODES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.front.spec.model import ClusterSpec

ACCEPTABLE = CODES | {"FAB6101"}
"""Breaches, and ends of links that an overlay makes differ."""


class Ratio(NamedTuple):
    """Down over up bandwidth of a tier at most; with `n_minus_1` also when any one switch above is lost."""

    limit: Fraction
    n_minus_1: bool = False


def declared_ratios(spec: ClusterSpec) -> dict[int, Ratio]:
    """Return tier -> oversubscription; a tier with pinned uplinks has one only if the spec requests it."""
    ratios = {}
    for tier, name, wanted in ((0, "tors", spec.tors), (1, "spines", spec.spines)):
        above = spec.cores if tier else spec.spines
        if wanted is None or above is None:
            continue
        written = (name, "oversubscription") in spec.positions or wanted.n_minus_1
        if wanted.oversubscription is not None and (written or wanted.uplinks is None):
            ratios[tier] = Ratio(Fraction(str(wanted.oversubscription)), wanted.n_minus_1)
    return ratios


def soften_breaches(found: Iterable[Diagnostic], spec: ClusterSpec) -> list[Diagnostic]:
    """Return breaches that the spec accepts as warnings; its reason then turns them into notes."""
    accepted = {entry.code for entry in spec.accept}
    codes = {code for code in accepted if code in ACCEPTABLE or code.startswith(RULE_CODES)}
    return [replace(each, severity=Severity.WARNING) if each.code in codes else each for each in found]
