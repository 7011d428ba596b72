"""Migrations and maintenance carried out on real FRR with `fabricc push`, under traffic between hosts."""

from __future__ import annotations

import json
import os
import re
import shutil
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from fabricc.operate.lab import demands, faults, lifecycle, observe, state
from fabricc.operate.lab.steady import Network
from tests.operate.lab import specs
from tests.operate.migrate.carried import LIMIT_S, Seen, hosts_turned, push_spec, under_traffic
from tests.operate.push.live import Live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fabricc.operate.lab.predict import Prediction
    from tests.cli.conftest import Ran

KEPT = Fraction(1, 2)
"""Of two spines, the share that the push must keep."""


@pytest.fixture(params=[4])
def live(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Live]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := [*demands.missing_programs(), *([] if shutil.which("sshd") else ["sshd"])]:
        pytest.skip(f"a push to a lab needs {', '.join(missing)}")
    try:
        hosts, gpus = (4, request.param) if isinstance(request.param, str) else (request.param, "")
        yield Live.start(tmp_path, hosts, gpus)
    finally:
        if (tmp_path / "lab" / state.RECORD).exists():
            lifecycle.take_down_lab(tmp_path / "lab")


class Step(NamedTuple):
    """A step of the output: its spec, the result of `diff` for it, the least share that its order keeps; 0 if none
    does.
    """

    spec: Path
    rating: str
    kept: Fraction


def find_steps(
    live: Live,
    fabricc: Callable[..., Ran],
    old: str,
    new: str,
    *more: tuple[str, str],
    pins: Mapping[str, int] | None = None,
) -> dict[str, Step]:
    """Return the steps from the running spec to the new one by name, with other strides if `pins` is set."""
    wanted = live.folder / "wanted" / "cluster.yaml"
    wanted.parent.mkdir()
    text = live.text
    for before, after in ((old, new), *more):
        assert before in text
        text = text.replace(before, after)
    wanted.write_text(text)
    lock = live.spec.with_name("fabricc.lock").read_text()
    for name, value in (pins or {}).items():
        lock, found = re.subn(f"(?m)^stride {name} .*$", f"stride {name} {value}", lock)
        assert found == 1
    wanted.with_name("fabricc.lock").write_text(lock)
    way = live.folder / "steps"
    words = ["migrate", str(live.spec), str(wanted), "--keep", "50%", "--write", str(way), "--format", "json"]
    ran = fabricc(*words)
    assert ran.status == 0, ran.err
    output: list[dict[str, Any]] = json.loads(ran.out)["steps"]
    return {
        step["name"]: Step(
            way / f"{step['number']}-{step['name']}" / "cluster.yaml", step["review"]["impact"], kept(step)
        )
        for step in output
    }


def kept(step: Mapping[str, Any]) -> Fraction:
    orders = step["waves"].values()
    parts = [*step["rounds"], *(wave for order in orders for wave in order["order"])]
    refused = any(order["refused"] for order in orders)
    return min((Fraction(part["kept"]) for part in parts), default=Fraction(not refused))


def print_result(name: str, rating: str, seen: Seen) -> None:
    print(f"{name}: {rating}; {seen}")


@pytest.mark.slow
@pytest.mark.parametrize("live", [2], indirect=True)
@pytest.mark.parametrize(
    ("change", "marks"),
    [
        pytest.param("dscp: 34, priority: 3", [(26,), (26, 34), (34,)], id="dscp"),
        pytest.param("dscp: 26, priority: 4", [(26,), (26, 25), (25,), (25, 26), (26,)], id="priority"),
    ],
)
def test_every_mark_of_a_step_to_another_class_arrives_as_sent(
    live: Live, fabricc: Callable[..., Ran], change: str, marks: list[tuple[int, ...]]
) -> None:
    way = find_steps(live, fabricc, "dscp: 26", change)
    for sent, (name, step) in zip(marks, way.items(), strict=True):
        seen = push_spec(live, step.spec, "--adopt", marks=sent)
        print_result(name, step.rating, seen)
        assert (seen.lost, seen.least) == (0, 1)
        assert seen.sent > 1000
        assert set(live.states().values()) == {"unchanged"}, "its switches have no queues"
    ratings = {step.rating for step in way.values()}
    assert ratings == {"hitless"} if "34" in change else ratings > {"hitless"}


@pytest.mark.slow
def test_one_family_takes_the_place_of_the_other_and_what_is_sent_in_each_arrives(
    live: Live, fabricc: Callable[..., Ran]
) -> None:
    way = find_steps(live, fabricc, "priorities:", "addressing: {family: ipv6}\npriorities:")
    assert list(way) == ["both-families", "wanted"]
    first = live.network
    seen = [push_spec(live, way["both-families"].spec, "--adopt")]
    print_result("ipv6 beside ipv4 on switches", way["both-families"].rating, seen[0])
    assert set(live.states().values()) == {"confirmed"}, "no switch is drained for it"
    dual, live.network = live.network, first
    seen.append(under_traffic(live, dual, lambda: hosts_turned(live, dual)))
    print_result("ipv6 beside ipv4 on hosts", way["both-families"].rating, seen[1])
    seen.append(push_spec(live, way["wanted"].spec, version=6))
    print_result("ipv6 alone on switches", way["wanted"].rating, seen[2])
    six, live.network = live.network, dual
    seen.append(under_traffic(live, six, lambda: hosts_turned(live, six), version=6))
    print_result("ipv6 alone on hosts", way["wanted"].rating, seen[3])
    assert [each.lost for each in seen] == [0, 0, 0, 0]
    assert [each.least for each in seen] == [1, 1, KEPT, 1]
    assert min(each.sent for each in seen) > 1000


@pytest.mark.slow
def test_another_release_goes_in_its_steps_with_every_switch_drained(
    live: Live, fabricc: Callable[..., Ran]
) -> None:
    way = find_steps(live, fabricc, "nos: frr-8.4", "nos: frr-9.1")
    assert list(way) == ["spine-first", "spines", "tor-first", "tor-half", "tors", "wanted"]
    for name, step in way.items():
        seen = push_spec(live, step.spec, "--adopt")
        print_result(name, step.rating, seen)
        assert seen.lost == 0
        assert seen.least >= step.kept


@pytest.mark.slow
def test_a_spine_of_another_name_forwards_on(live: Live, fabricc: Callable[..., Ran]) -> None:
    known = live.network
    way = find_steps(live, fabricc, "priorities:", "moved: {spine01a: spine-east}\npriorities:")
    (step,) = way.values()
    seen = push_spec(live, step.spec, "--adopt", named=known)
    print_result("renamed", step.rating, seen)
    assert (step.rating, seen.lost, seen.least) == ("hitless", 0, 1)
    assert seen.sent > 1000
    assert live.lab.run("spine01a", ["hostname"]).stdout.strip() == "spine-east"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "names"),
    [
        pytest.param("addressing: {links: 100.64.0.0/10}", ["links-1", "links-2"], id="pool"),
        pytest.param("addressing: {fabric_links: unnumbered}", ["links-1", "links-2"], id="unnumbered"),
        pytest.param("routing: {spine_asn: unique}", ["devices-1", "devices-2"], id="spines"),
        pytest.param(
            "addressing: {loopbacks: 10.128.0.0/11}", ["pools", "devices-1", "devices-2"], id="loopbacks"
        ),
    ],
)
def test_renumbering_one_spine_at_a_time_loses_no_packets(
    live: Live, fabricc: Callable[..., Ran], change: str, names: list[str]
) -> None:
    way = find_steps(live, fabricc, "priorities:", f"{change}\npriorities:")
    assert list(way) == [*names, "wanted"]
    for name, step in way.items():
        seen = push_spec(live, step.spec, "--adopt")
        print_result(f"{change}: {name}", step.rating, seen)
        assert seen.lost == 0
        assert seen.least >= step.kept == (1 if name in ("pools", "wanted") else KEPT)
        assert seen.sent > 1000


SPINES, LINKS, UNITS = ["devices-1", "devices-2"], ["links-1", "links-2"], ["tors-1", "tors-2", "tors-3"]


@pytest.mark.slow
@pytest.mark.parametrize("live", [6], indirect=True)
@pytest.mark.parametrize(
    ("change", "pins", "names"),
    [
        pytest.param("routing: {asn_base: 4210000000}\n", {}, [*SPINES, *UNITS], id="asns"),
        pytest.param("", {"uplink": 32, "unit": 4096}, [*LINKS, *UNITS], id="uplink"),
    ],
)
def test_tors_get_other_numbers_and_only_their_own_hosts_lose_anything(
    live: Live, fabricc: Callable[..., Ran], change: str, pins: dict[str, int], names: list[str]
) -> None:
    way = find_steps(live, fabricc, "priorities:", f"{change}priorities:", pins=pins)
    assert list(way) == [*names, "wanted"]
    for name, step in way.items():
        unit = f"su00{name[-1]}-" if name.startswith("tors") else "-"
        out = [host.name for host in live.network.hosts if host.name.startswith(unit)]
        assert bool(out) == name.startswith("tors")
        after = Network.of(live.lab, specs.source(step.spec).fabric)
        seen = push_spec(live, step.spec, "--adopt", first=partial(hosts_turned, live, after), out=out)
        print_result(f"{change or pins}: {name}", step.rating, seen)
        assert seen.lost == 0
        assert step.kept >= KEPT
        assert not pins or seen.least >= step.kept
        assert seen.sent > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    "live",
    ["{model: lab-host, wiring: rack, hosts_per_rack: 2, racks: {rack01: 2, rack02: 2, rack03: 2}}"],
    indirect=True,
)
def test_a_retired_rack_leaves_and_the_others_forward_on(live: Live, fabricc: Callable[..., Ran]) -> None:
    gone = ("priorities:", "retired: [rack03]\npriorities:")
    way = find_steps(live, fabricc, ", rack03: 2}", "}", gone)
    (step,) = way.values()
    seen = push_spec(live, step.spec, "--adopt")
    print_result("retired", step.rating, seen)
    assert seen.lost == 0
    assert seen.least >= step.kept
    assert seen.sent > 1000


@pytest.mark.slow
def test_another_box_takes_the_place_of_a_drained_spine(live: Live, fabricc: Callable[..., Ran]) -> None:
    name, window, known = "spine01a", live.folder / "window", live.network
    ran = fabricc("maintain", name, "--window", "10m", "--write", str(window), str(live.spec))
    assert ran.status == 0, ran.err
    seen = [push_spec(live, window / "drain" / "cluster.yaml", "--adopt")]
    off = live.network.predict(frozenset(faults.ends_of(live.lab, name)))
    box = live.folder / "box" / "cluster.yaml"
    box.parent.mkdir()
    box.write_text(live.text + f"replaced: {{{name}: {{by: spine-new, serial: MT1}}}}\n")
    shutil.copy(live.spec.with_name("fabricc.lock"), box.parent)
    asn = known.switches[-2].bgp.asn
    assert known.switches[-2].name == name

    def exchanged() -> None:
        faults.break_target(live.lab, name)
        assert observe.wait_until_settled(live.lab, off, LIMIT_S) is not None
        ran = live.lab.run(name, ["vtysh", "-c", "configure", "-c", f"no router bgp {asn}"])
        assert ran.returncode == 0, ran.stderr
        faults.heal_target(live.lab, name)

    seen.append(push_spec(live, box, "--adopt", named=known, first=exchanged))
    print_result("another box", "drained already", seen[1])
    assert [each.lost for each in seen] == [0, 0]
    assert "router bgp" in live.runs(name)


@pytest.mark.slow
def test_a_spine_drained_by_push_goes_off_comes_back_and_no_datagram_is_lost(
    live: Live, fabricc: Callable[..., Ran]
) -> None:
    name, window = "spine01a", live.folder / "window"
    ran = fabricc("maintain", name, "--window", "10m", "--write", str(window), str(live.spec))
    assert ran.status == 0, ran.err
    seen = [push_spec(live, window / "drain" / "cluster.yaml", "--adopt")]
    print_result("drained", "hitless", seen[0])
    drained = live.network
    off = drained.predict(frozenset(faults.ends_of(live.lab, name)))
    seen.append(under_traffic(live, drained, lambda: gone_and_back(live, name, off)))
    print_result("off and back", "drained already", seen[1])
    seen.append(push_spec(live, window / "undrain" / "cluster.yaml"))
    print_result("undrained", "hitless", seen[2])
    assert [each.lost for each in seen] == [0, 0, 0]
    assert [each.least for each in seen] == [KEPT, Fraction(1), KEPT]
    assert min(each.sent for each in seen) > 1000


def gone_and_back(live: Live, name: str, off: Prediction) -> None:
    faults.break_target(live.lab, name)
    assert observe.wait_until_settled(live.lab, off, LIMIT_S) is not None
    faults.heal_target(live.lab, name)
