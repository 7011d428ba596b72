"""Links numbered from a network of their party: in a stable way, next to given addresses, and never twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.front.spec.lock import EMPTY_LOCK, Lock, format_lock, parse_lock
from tests.front.planning.support import planned
from tests.front.planning.test_external import with_links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.front.planning.plan import Plan


def make_link(port: int, **more: str) -> dict[str, Any]:
    """A link at a port that spines keep, without addresses."""
    peer = {"peer": "core-1", "peer_port": f"et-0/0/{port}"}
    return {"at": "spine01a", "port": f"swp{port}", "speed_gbps": 400, **peer, **more}


def plan_links(links: Sequence[dict[str, Any]], lock: Lock = EMPTY_LOCK, **party: Any) -> Plan:
    known = {"network": "192.0.2.0/29", **party}
    return planned(with_links(*links, party=known), lock=lock)


def find_addresses(result: Plan) -> dict[str, tuple[str | None, str | None]]:
    """Port -> both ends."""
    assert result.fabric is not None, result.diagnostics
    (party,) = result.fabric.external.outsiders
    return {each.port: (each.ipv4, each.remote4) for each in party.links}


def find_refusals(result: Plan) -> list[str]:
    return [f"{d.code} {d.message} | {d.help}" for d in result.diagnostics if d.code.startswith("FAB325")]


def test_each_link_has_a_subnet_of_two_the_lower_address_at_the_switch() -> None:
    result = plan_links([make_link(61), make_link(62)])
    assert find_addresses(result) == {
        "swp61": ("192.0.2.0/31", "192.0.2.1"),
        "swp62": ("192.0.2.2/31", "192.0.2.3"),
    }
    assert result.lock.links == {"core/spine01a/swp61": 0, "core/spine01a/swp62": 1}
    assert parse_lock(format_lock(result.lock), "lock") == (result.lock, ())


@settings(max_examples=12, deadline=None)
@given(st.lists(st.lists(st.sampled_from([61, 62, 63, 64]), min_size=1, unique=True), min_size=2, max_size=4))
def test_links_that_come_go_or_change_places_renumber_none(steps: list[list[int]]) -> None:
    lock, known = EMPTY_LOCK, dict[str, tuple[str | None, str | None]]()
    for ports in steps:
        result = plan_links([make_link(port) for port in ports], lock)
        now = find_addresses(result)
        assert all(known.get(port, ends) == ends for port, ends in now.items())
        known, lock = known | now, result.lock
        assert len({*known.values()}) == len(known)


def test_given_addresses_are_kept_and_reserved() -> None:
    known = make_link(61, local="192.0.2.1/30", remote="192.0.2.2"), make_link(63, local="198.51.100.0/31")
    assert find_addresses(plan_links([known[0], make_link(62), known[1]])) == {
        "swp61": ("192.0.2.1/30", "192.0.2.2"),
        "swp62": ("192.0.2.4/31", "192.0.2.5"),
        "swp63": ("198.51.100.0/31", "198.51.100.1"),
    }


def test_a_given_address_of_a_numbered_link_is_refused() -> None:
    before = plan_links([make_link(61), make_link(62)])
    (reported,) = find_refusals(
        plan_links([make_link(61), make_link(62), make_link(63, local="192.0.2.2/31")], before.lock)
    )
    assert reported.startswith(
        "FAB3251 external.core.links[2] has addresses of the link at swp62 of spine01a, which the lock pins | "
    )


def test_a_network_that_is_too_small_is_refused_with_one_that_holds_them() -> None:
    links = [make_link(port) for port in (61, 62, 63, 64)]
    (reported,) = find_refusals(plan_links(links, network="192.0.2.0/30"))
    assert reported == "FAB3250 192.0.2.0/30 holds 2 links, and external.core needs 4 | Take 192.0.2.0/29."
    assert len(find_addresses(plan_links(links, network="192.0.2.0/29"))) == 4
    before = plan_links(links[:2], network="192.0.2.4/30")
    (reported,) = find_refusals(plan_links(links[2:], before.lock, network="192.0.2.4/30"))
    assert "needs 4, with 2 numbers of links that left | Give further links addresses of another" in reported
    assert find_addresses(plan_links(links[2:], network="192.0.2.4/30"))


def test_both_families_have_one_number() -> None:
    family = {"addressing": {"family": "dual"}}
    text = with_links(
        make_link(61), make_link(62), party={"network": "192.0.2.0/29", "network6": "2001:db8::/64"}, **family
    )
    result = planned(text)
    assert result.fabric is not None
    (party,) = result.fabric.external.outsiders
    assert [(each.ipv6, each.remote6) for each in party.links] == [
        ("2001:db8::/127", "2001:db8::1"),
        ("2001:db8::2/127", "2001:db8::3"),
    ]


def test_two_lines_of_a_lock_with_one_number_are_reported() -> None:
    text = format_lock(Lock(links={"core/spine01a/swp61": 0}))
    _, reported = parse_lock(text + "link core/spine02a/swp61 0\nlink other/spine02a/swp62 0\n", "lock")
    assert [each.code for each in reported] == ["FAB0034"]
