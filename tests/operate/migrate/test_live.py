"""Migrations and maintenance carried out on real FRR with `fabricc push`, under traffic between hosts."""

from __future__ import annotations

import json
import os
import shutil
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.operate.lab import demands, faults, lifecycle, observe, state
from tests.operate.migrate.carried import LIMIT_S, Seen, hosts_turned, pushed, under_traffic
from tests.operate.push.live import Live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fabricc.operate.lab.predict import Prediction
    from tests.cli.conftest import Ran

KEPT = Fraction(1, 2)
"""Of two spines, the share that the push was told to keep."""


@pytest.fixture(params=[4])
def live(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Live]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := [*demands.missing_programs(), *([] if shutil.which("sshd") else ["sshd"])]:
        pytest.skip(f"a push to a lab needs {', '.join(missing)}")
    try:
        yield Live.start(tmp_path, request.param)
    finally:
        if (tmp_path / "lab" / state.RECORD).exists():
            lifecycle.down(tmp_path / "lab")


def steps(live: Live, fabricc: Callable[..., Ran], *change: str) -> dict[str, tuple[Path, str]]:
    """Name of each step from what runs to what is wanted -> its spec, and what `diff` says of it."""
    wanted = live.folder / "wanted" / "cluster.yaml"
    wanted.parent.mkdir()
    wanted.write_text(live.text.replace(*change))
    shutil.copy(live.spec.with_name("fabricc.lock"), wanted.parent)
    way = live.folder / "steps"
    ran = fabricc("migrate", str(live.spec), str(wanted), "--write", str(way), "--format", "json")
    assert ran.status == 0, ran.err
    found: list[dict[str, Any]] = json.loads(ran.out)["steps"]
    return {
        step["name"]: (way / f"{step['number']}-{step['name']}" / "cluster.yaml", step["review"]["impact"])
        for step in found
    }


def told(name: str, rating: str, seen: Seen) -> None:
    print(f"{name}: {rating}; {seen}")


@pytest.mark.slow
@pytest.mark.parametrize("live", [2], indirect=True)
def test_both_code_points_arrive_as_sent_at_every_step_to_another_dscp(
    live: Live, fabricc: Callable[..., Ran]
) -> None:
    way = steps(live, fabricc, "dscp: 26", "dscp: 34, priority: 3")
    assert {name: rating for name, (_, rating) in way.items()} == {
        "rdma-both-code-points": "hitless",
        "rdma-senders": "hitless",
        "wanted": "hitless",
    }
    for marks, (name, (spec, rating)) in zip(((26,), (26, 34), (34,)), way.items(), strict=True):
        seen = pushed(live, spec, "--adopt", marks=marks)
        told(name, rating, seen)
        assert (seen.lost, seen.least) == (0, 1)
        assert seen.sent > 1000
        assert set(live.states().values()) == {"unchanged"}


@pytest.mark.slow
def test_another_family_comes_beside_the_first_and_no_datagram_of_that_is_lost(
    live: Live, fabricc: Callable[..., Ran]
) -> None:
    both, rating = steps(live, fabricc, "priorities:", "addressing: {family: ipv6}\npriorities:")[
        "both-families"
    ]
    first = live.network
    seen = [pushed(live, both, "--adopt", "--no-drain")]
    told("ipv6 beside ipv4 on switches", rating, seen[0])
    dual, live.network = live.network, first
    seen.append(under_traffic(live, dual, lambda: hosts_turned(live, dual)))
    told("ipv6 beside ipv4 on hosts", rating, seen[1])
    assert [(each.lost, each.least) for each in seen] == [(0, 1), (0, 1)]
    assert min(each.sent for each in seen) > 1000


@pytest.mark.slow
def test_a_spine_drained_by_push_goes_off_comes_back_and_no_datagram_is_lost(
    live: Live, fabricc: Callable[..., Ran]
) -> None:
    name, window = "spine01a", live.folder / "window"
    ran = fabricc("maintain", name, "--window", "10m", "--write", str(window), str(live.spec))
    assert ran.status == 0, ran.err
    seen = [pushed(live, window / "drain" / "cluster.yaml", "--adopt")]
    told("drained", "hitless", seen[0])
    drained = live.network
    off = drained.predict(frozenset(faults.ends_of(live.lab, name)))
    seen.append(under_traffic(live, drained, lambda: gone_and_back(live, name, off)))
    told("off and back", "drained already", seen[1])
    seen.append(pushed(live, window / "undrain" / "cluster.yaml"))
    told("undrained", "hitless", seen[2])
    assert [each.lost for each in seen] == [0, 0, 0]
    assert [each.least for each in seen] == [KEPT, Fraction(1), KEPT]
    assert min(each.sent for each in seen) > 1000


def gone_and_back(live: Live, name: str, off: Prediction) -> None:
    faults.break_(live.lab, name)
    assert observe.settle(live.lab, off, LIMIT_S) is not None
    faults.heal(live.lab, name)
