"""A link that a change closes for good counts by what it leaves: a ToR without any path has no service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.base.values import dataclass, replace
from fabricc.review.diff.inputs import open_inputs
from fabricc.review.diff.model import Impact
from fabricc.review.diff.run import Context, compare_sides
from fabricc.review.diff.sides import Side
from tests.review.diff.conftest import INVENTORIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.review.diff.view import DeviceView


@dataclass(frozen=True)
class EditedSide(Side):
    """A side of which some devices have further facts, as an overlay or an edited tree gives them."""

    whole: Side
    edits: Mapping[str, Callable[[DeviceView], Mapping[str, str]]]

    def view(self, name: str) -> DeviceView:
        view = self.whole.view(name)
        edit = self.edits.get(name)
        return view if edit is None else replace(view, facts={**view.facts, **edit(view)})


@pytest.fixture(scope="module")
def lab() -> Iterator[Side]:
    spec = INVENTORIES / "lab-smallest" / "cluster.yaml"
    with open_inputs(spec, spec, None, None) as sides:
        yield sides.base


def edited_side(lab: Side, **edits: Callable[[DeviceView], Mapping[str, str]]) -> EditedSide:
    named = {name.replace("_", "-"): edit for name, edit in edits.items()}
    return EditedSide("", lab.cluster, lab.kinds, lab, named)


def shut_sessions(peer: str = "", count: int | None = None) -> Callable[[DeviceView], Mapping[str, str]]:
    """Return an edit that shuts the sessions with a peer, or with every one."""

    def edit(view: DeviceView) -> Mapping[str, str]:
        found = [
            neighbor for neighbor, port in view.sessions.items() if view.ports[port].peer.startswith(peer)
        ]
        return {f"bgp/neighbor[{neighbor}]/enabled": "false" for neighbor in found[:count]}

    return edit


def shut_ports(view: DeviceView) -> Mapping[str, str]:
    return {f"interface[{name}]/enabled": "false" for name, port in view.ports.items() if port.role == "up"}


def stop_bgp(view: DeviceView) -> Mapping[str, str]:
    return {"bgp/setting[shutdown]": "true"}


@pytest.mark.parametrize(
    ("edits", "gpus"),
    [
        ({"su001_tor1a": shut_sessions(count=1)}, 0),
        ({"su001_tor1a": shut_sessions()}, 2),
        ({"su001_tor1a": shut_ports}, 2),
        ({"su001_tor1a": stop_bgp}, 2),
        ({"spine01a": shut_sessions()}, 0),
        ({"spine01a": shut_sessions("su001-tor1a")}, 0),
        ({"spine01a": shut_sessions("su001-tor1a"), "spine02a": shut_sessions("su001-tor1a")}, 2),
        ({"spine01a": stop_bgp, "spine02a": shut_sessions("su002-tor2a")}, 2),
        ({"spine01a": stop_bgp, "spine02a": stop_bgp}, 8),
        ({"su001_tor1a": shut_sessions("spine01a"), "spine02a": shut_sessions("su001-tor1a")}, 2),
    ],
)
def test_gpus_without_any_path_lose_service(
    lab: Side, edits: dict[str, Callable[[DeviceView], Mapping[str, str]]], gpus: int
) -> None:
    review = compare_sides(edited_side(lab), edited_side(lab, **edits), Context(), 1)
    assert (review.risk, review.impact) == ("high", Impact.TRAFFIC_LOSS)
    assert review.gpus_affected == gpus
    assert len(review.drain_hosts) == min(4, gpus)
    assert review.sessions > 0
    assert max(group.gpus for group in review.groups) == gpus


def test_a_link_that_was_closed_before_counts_as_no_path(lab: Side) -> None:
    before = edited_side(lab, su001_tor1a=shut_sessions("spine01a"))
    after = edited_side(lab, su001_tor1a=shut_sessions("spine01a"), spine02a=shut_sessions("su001-tor1a"))
    assert compare_sides(before, after, Context(), 1).gpus_affected == 2


def test_a_session_that_may_come_up_again_is_no_loss(lab: Side) -> None:
    review = compare_sides(edited_side(lab, su001_tor1a=shut_sessions()), edited_side(lab), Context(), 1)
    assert (review.impact, review.gpus_affected) == (Impact.SESSION_RESET, 0)
