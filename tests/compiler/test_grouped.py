"""Findings are the same, whichever worker was done first."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from fabricc.compiler.prove.finding_groups import SHOWN, FindingGroups
from fabricc.proof import Finding

findings = st.builds(
    lambda code, group, file, line: Finding(code, f"{file} {line}", file, line, group),
    st.sampled_from(["FAB6001", "FAB6002"]), st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 9),
)  # fmt: skip
pieces = st.lists(st.lists(findings, max_size=6), max_size=5)


@given(pieces.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_finding_order_is_independent_of_workers(
    orders: tuple[list[list[Finding]], list[list[Finding]]],
) -> None:
    reported = []
    for order in orders:
        whole = FindingGroups()
        for piece in order:
            part = FindingGroups()
            part.add(piece)
            whole.merge(part)
        reported.append(list(whole.diagnostics("tree")))
    assert reported[0] == reported[1]
    assert all(len(list(shown)) <= 2 * SHOWN for _, shown in groupby(reported[0], lambda each: each.code))
