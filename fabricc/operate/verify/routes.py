"""Compare routes: every planned prefix has the planned number of equal-cost next hops, and there is no other."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.operate.verify.model import Aspect, Found, make_finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.shape import SwitchId
    from fabricc.operate.verify.widths import Widths

_SHOWN = 2


def compare_routes(
    device: str, at: SwitchId, widths: Widths, told: Mapping[str, int]
) -> tuple[list[Found], int]:
    """Return one finding for each class of prefixes and width, and the number of prefixes compared."""
    expected = widths.expected(at)
    groups: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    totals: dict[str, int] = defaultdict(int)
    for prefix, width in expected.items():
        kind = widths.kind(at, prefix)
        totals[kind] += 1
        if (is_now := told.get(prefix, 0)) != width:
            groups[kind, width, is_now].append(prefix)
    findings = []
    for (kind, width, is_now), prefixes in groups.items():
        count = f"{len(prefixes)} of {totals[kind]} {kind}"
        if is_now:
            have = "has" if len(prefixes) == 1 else "have"
            hops = "next hop" if is_now == 1 else "next hops"
            message = f"{count} {have} {is_now} {hops}, planned {width}: {join_words(prefixes, _SHOWN)}"
            findings.append(make_finding(Aspect.ROUTES, device, "FAB9221", message))
        else:
            are = "is" if len(prefixes) == 1 else "are"
            message = f"{count} {are} not reached: {join_words(prefixes, _SHOWN)}"
            findings.append(make_finding(Aspect.ROUTES, device, "FAB9222", message))
    if extra := sorted(told.keys() - expected.keys() - widths.owners.keys()):
        message = (
            f"{len(extra)} BGP route{'s' if len(extra) > 1 else ''} that the plan does not have: "
            f"{join_words(extra, _SHOWN)}"
        )
        findings.append(make_finding(Aspect.ROUTES, device, "FAB9223", message, severity=Severity.WARNING))
    return findings, len(expected)
