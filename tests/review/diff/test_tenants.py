"""A move between tenants touches the ports of one host, and the review reports it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fabricc.cli.diff import review_lines
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.incremental.ledger import altered_devices, fabric_outline
from fabricc.fabric.shape import SwitchId
from fabricc.review.diff.model import Impact, Review
from fabricc.review.diff.review_json import as_json
from fabricc.review.diff.review_policy import Policy, policy_violations
from fabricc.review.diff.run import Context, compare_sides
from fabricc.review.diff.sides import SpecSide
from tests.tenanted import EXPRESSED, TENANTS, exits_text, spec_text

MOVED = TENANTS.replace("[rack001-host01, rack002-host01]", "[rack001-host01]").replace(
    "[rack001-host02]", "[rack001-host02, rack002-host01]"
)
ADDED = TENANTS.replace("  globex: {hosts: [rack001-host02]}\n", "")
assert len({MOVED, ADDED, TENANTS}) == 3


def make_side(nos: str, tenants: str, lock: str = "", hosts: int = 4) -> SpecSide:
    """Return a side of a review; `lock`: the lock that it continues."""
    return side_of(spec_text(nos, tenants=tenants, hosts=hosts), lock)


def side_of(text: str, lock: str = "") -> SpecSide:
    """Return a side of a review by the text of its spec."""
    with TemporaryDirectory() as folder:
        spec = Path(folder, "cluster.yaml")
        spec.write_text(text)
        if lock:
            Path(folder, "fabricc.lock").write_text(lock)
        found = compile_spec(spec, gaps=False)
        assert found.fabric is not None
        return SpecSide.of("side", found, found.fabric)


def review_tenants(nos: str, before: str, after: str) -> Review:
    """Review a change of tenants."""
    base = make_side(nos, before)
    return compare_sides(base, make_side(nos, after, base.compiled.lock_text), Context(), jobs=1)


@pytest.mark.parametrize("nos", EXPRESSED)
def test_a_move_touches_the_ports_of_one_host(nos: str) -> None:
    found = review_tenants(nos, TENANTS, MOVED)
    assert found.tenants == (
        "tenant acme loses 8 GPUs: 8 ports on 1 ToR, no session of another tenant resets",
        "tenant globex gains 8 GPUs: 8 ports on 1 ToR, no session of another tenant resets",
    )
    assert found.drain_hosts == ("rack002-host01",)
    assert (found.sessions, found.changed, found.renumbering.total) == (0, 1, 0)
    assert [line.text for line in review_lines(found)].count("tenants") == 1
    assert as_json(found)["tenants"] == list(found.tenants)


def test_only_the_tors_of_a_moved_host_and_their_neighbors_are_compared() -> None:
    base = make_side("frr", TENANTS)
    head = make_side("frr", MOVED, base.compiled.lock_text)
    suspects = head.possible_changes(base)
    assert suspects is not None
    assert "rack002-tor1a" in suspects
    assert "rack001-tor1a" not in suspects
    swapped = "".join(reversed(TENANTS.splitlines(keepends=True)))
    assert review_tenants("frr", TENANTS, swapped).changed == 0


def test_the_policy_forbids_moves_and_not_new_hosts() -> None:
    policy = Policy(forbid_tenant_moves=True)
    reported = policy_violations([policy], review_tenants("frr", TENANTS, MOVED), frozenset(), "s")
    assert [(each.code, each.message) for each in reported] == [
        ("FAB9048", "the policy forbids moves between tenants: rack002-host01 from acme to globex")
    ]
    grown = review_tenants("frr", ADDED, TENANTS)
    assert policy_violations([policy], grown, frozenset(), "s") == ()
    assert grown.tenants == (
        "tenant globex gains 8 GPUs: 8 ports on 1 ToR, no session of another tenant resets",
    )
    assert grown.impact <= Impact.TRAFFIC_LOSS


RENAMED = TENANTS.replace("  globex:", "  newco:")


def test_a_tenant_that_has_another_name_is_no_move() -> None:
    base = make_side("frr", TENANTS)
    found = {}
    for tenants in (RENAMED, MOVED.replace("  globex:", "  newco:")):
        text = spec_text("frr", tenants=tenants, more="\nmoved: {globex: newco}")
        head = side_of(text, base.compiled.lock_text)
        found[tenants] = compare_sides(base, head, Context(), jobs=1)
    renamed, moved = found.values()
    assert (renamed.tenant_moves, renamed.tenants) == ((), ("tenant globex becomes newco",))
    assert moved.tenant_moves == ("rack002-host01 from acme to newco",)
    unstated = compare_sides(base, make_side("frr", RENAMED), Context(), jobs=1)
    assert unstated.tenant_moves == ("rack001-host02 from globex to newco",)


def test_a_host_that_has_another_name_moves_all_the_same() -> None:
    base = make_side("frr", TENANTS)
    moves = []
    for tenants in (TENANTS, MOVED):
        text = spec_text("frr", tenants=tenants).replace("rack002", "rack009")
        head = side_of(text + "\nmoved: {rack002: rack009}\n", base.compiled.lock_text)
        moves.append(compare_sides(base, head, Context(), jobs=1).tenant_moves)
    assert moves == [(), ("rack009-host01 from acme to globex",)]


def test_the_policy_forbids_that_links_outside_change_their_tenant() -> None:
    text = exits_text("frr")
    moved = text.replace(", internet]", "]").replace("[vault]", "[vault, internet]")
    base = side_of(text)
    found = compare_sides(base, side_of(moved, base.compiled.lock_text), Context(), jobs=1)
    reported = policy_violations([Policy(forbid_tenant_moves=True)], found, frozenset(), "s")
    assert [each.message for each in reported] == [
        "the policy forbids moves between tenants: links to internet from acme to globex"
    ]


def test_another_number_of_a_tenant_changes_every_switch_with_its_vrf() -> None:
    """The border leaf has a link outside and no host of the tenant."""
    text = exits_text("frr")
    base = side_of(text)
    head = side_of(text.replace("acme: {hosts", "acme: {vni: 5010, hosts"), base.compiled.lock_text)
    assert compare_sides(base, head, Context(), jobs=1).changed == 2
    outlines = [fabric_outline(each.fabric) for each in (base, head)]
    altered = altered_devices(*outlines, head.fabric)
    assert altered is None or {"border01a"} <= {
        head.fabric.name(at) for at in altered if isinstance(at, SwitchId)
    }


def test_diff_without_tenant_changes_has_no_tenant_section() -> None:
    found = review_tenants("frr", TENANTS, TENANTS)
    assert (found.tenants, found.tenant_moves) == ((), ())
    assert "tenants" not in as_json(found)


def test_a_new_tor_resets_no_session_between_loopbacks() -> None:
    """Its own sessions come with its links, at spines whose other sessions stay."""
    base = make_side("junos", TENANTS)
    found = compare_sides(
        base, make_side("junos", TENANTS, base.compiled.lock_text, hosts=6), Context(), jobs=1
    )
    assert (found.impact, found.sessions, {*found.safeguards_lost}) == (Impact.HITLESS, 0, set())
