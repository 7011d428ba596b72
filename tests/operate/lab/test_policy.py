"""A route map of the plan decides as a router does."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network

import pytest

from fabricc.fabric.routing import PrefixRule
from fabricc.fabric.routing_policy import FROM_ABOVE, GRACEFUL_SHUTDOWN, build_policy, prefix_lists
from fabricc.fabric.shape import TierName
from fabricc.operate.lab.predict import Route, apply_route_map
from tests.samples import tor

FABRIC = prefix_lists(
    "FABRIC", [(4, PrefixRule("10.0.0.0/10", 30, 30)), (4, PrefixRule("10.128.0.0/12", 32, 32))]
)
ROUTE = Route((65001,), frozenset(), 100, "a", "b")
AGGREGATE = ip_network("10.0.0.0/30")


def make_bgp(tier: TierName, *, drained: bool = False):
    made = build_policy(
        tier,
        upstream="" if tier is TierName.CORE else "UPSTREAM",
        drained=drained,
        fabric=FABRIC,
        connected=(),
        own=(),
    )
    return replace(
        tor().bgp,
        prefix_lists=made.prefix_lists,
        community_lists=made.community_lists,
        route_maps=made.route_maps,
    )


@pytest.mark.parametrize(
    ("prefix", "kept"),
    [
        ("10.0.0.0/30", True),
        ("10.0.0.0/31", False),
        ("10.128.0.1/32", True),
        ("10.192.0.0/30", False),
        ("0.0.0.0/0", False),
    ],
)
def test_nothing_but_aggregates_and_loopbacks_comes_in(prefix: str, kept: bool) -> None:
    found = apply_route_map(make_bgp(TierName.SPINE), "FROM-DOWNSTREAM", ip_network(prefix), ROUTE)
    assert (found is not None) == kept


def test_a_route_in_graceful_shutdown_is_the_last_choice() -> None:
    shutting = replace(ROUTE, communities=frozenset({GRACEFUL_SHUTDOWN}))
    found = apply_route_map(make_bgp(TierName.SPINE), "FROM-DOWNSTREAM", AGGREGATE, shutting)
    assert found is not None
    assert found.local_preference == 0


def test_spine_does_not_announce_core_routes_to_cores() -> None:
    spine = make_bgp(TierName.SPINE)
    learned = apply_route_map(spine, "FROM-UPSTREAM", AGGREGATE, ROUTE)
    assert learned is not None
    assert FROM_ABOVE in learned.communities
    assert apply_route_map(spine, "TO-UPSTREAM", AGGREGATE, learned) is None
    assert apply_route_map(spine, "TO-DOWNSTREAM", AGGREGATE, learned) is not None


def test_a_drained_switch_marks_all_it_announces() -> None:
    sent = apply_route_map(make_bgp(TierName.SPINE, drained=True), "TO-DOWNSTREAM", AGGREGATE, ROUTE)
    assert sent is not None
    assert GRACEFUL_SHUTDOWN in sent.communities
