"""A recabling carried out in the rounds of its worksheet, on real FRR and under traffic between hosts."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from fabricc.fabric.shape import TierName
from fabricc.operate.lab import demands, growth, lifecycle, observe, scenarios, state
from fabricc.operate.lab.flows import Stream
from fabricc.operate.lab.node import LabError
from fabricc.operate.lab.observe import bgp_widths
from fabricc.operate.lab.scenarios import trial_of
from fabricc.operate.lab.steady import compare_steady
from tests.operate.migrate.carried import ANSWER_S, LIMIT_S
from tests.operate.push.live import Live
from tests.operate.push.network import build_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fabricc.operate.lab.steady import Network
    from tests.cli.conftest import Ran

KEPT = Fraction(1, 2)
"""Of two spines, the share that stays while one is drained."""
PACE_S = 0.1
DRAIN_S = 10
"""Twice the time after which FRR announces that it is drained (docs/maintain.md)."""


@pytest.fixture(params=["uplinks: 4"])
def live(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Live]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := [*demands.missing_programs(), *([] if shutil.which("sshd") else ["sshd"])]:
        pytest.skip(f"a push to a lab needs {', '.join(missing)}")
    try:
        yield Live.start(tmp_path, tors=request.param)
    finally:
        if (tmp_path / "lab" / state.RECORD).exists():
            lifecycle.take_down_lab(tmp_path / "lab")


class Links:
    """Looks again and again how many next hops each ToR has to the racks of other ToRs, of those that it had."""

    def __init__(self, network: Network) -> None:
        self.network, self.least, self.looks, self._stop = network, Fraction(1), 0, threading.Event()
        self.hosts = {rail.prefix: rail.tor for rail in network.rails()}
        self.before = network.predict().widths

    def look(self) -> None:
        for switch in self.network.switches:
            if switch.tier is TierName.TOR:
                seen, before = (
                    bgp_widths(self.network.lab.record.namespace(switch.name)),
                    self.before[switch.name],
                )
                for prefix, tor in self.hosts.items():
                    if tor != switch.name and prefix in before:
                        self.least = min(self.least, Fraction(seen.get(prefix, 0), before[prefix]))
        self.looks += 1

    def _run(self) -> None:
        while not self._stop.wait(PACE_S):
            self.look()

    @contextmanager
    def watched(self) -> Iterator[Links]:
        looking = threading.Thread(target=self._run)
        looking.start()
        try:
            yield self
        finally:
            self._stop.set()
            looking.join()


def under_traffic(live: Live, what: str, promised: Fraction, work: Callable[[], None]) -> None:
    """Nothing is lost meanwhile, and every ToR has the share of next hops that was promised."""
    links = Links(live.network)
    with (
        Stream(live.lab, scenarios.surviving_pairs(live.network, live.network.predict())) as stream,
        links.watched(),
    ):
        stream.start()
        scenarios.while_running(work, stream)
        stream.recover(LIMIT_S)
        outage = stream.outage()
    gap = f"longest gap {outage.worst_s * 1000:.0f} ms"
    print(
        f"{what}: {outage.lost} of {outage.sent} lost, {gap}; {links.least} of next hops, {links.looks} looks"
    )
    assert (outage.lost, outage.silent) == (0, 0)
    assert outage.sent > 1000
    assert links.looks > 3
    assert links.least >= promised


def push(live: Live, spec: Path, *options: str) -> None:
    live.spec, live.source = spec, build_spec(spec, spec.parent / "out")
    live.access(ANSWER_S)
    status, output = live.push("--adopt", *options)
    assert status == 0, output


def push_drain(live: Live, spec: Path, *options: str) -> None:
    push(live, spec, *options)
    time.sleep(DRAIN_S)


def write_beside(spec: Path, name: str, text: str) -> Path:
    """Another spec with the lock of the first."""
    other = spec.parents[1] / name / "cluster.yaml"
    other.parent.mkdir()
    other.write_text(text)
    shutil.copy(spec.with_name("fabricc.lock"), other.parent)
    return other


@pytest.mark.slow
def test_more_spines_join_a_full_fabric_and_no_datagram_is_lost(
    live: Live, fabricc: Callable[..., Ran]
) -> None:
    """Two spines of two links to each ToR become four of one: drained, recabled and pushed one after the other."""
    old = live.spec
    wanted = write_beside(old, "wanted", live.text.replace("count: 2", "count: 4"))
    assert fabricc("lock", "--repin", str(wanted)).status == 0
    words = ["--keep", "50%", "--write", str(live.folder / "steps"), "--format", "json"]
    ran = fabricc("migrate", str(old), str(wanted), *words)
    assert ran.status == 0, ran.err
    (step,) = json.loads(ran.out)["steps"]
    new = live.folder / "steps" / "1-wanted" / "cluster.yaml"
    rows = growth.read_worksheet(new.with_name("recabling.csv"))

    joined = growth.plan_step(live.network, new, None, hands=True)
    with pytest.raises(LabError, match="the lab's spec has no cable from"):
        growth.recable_lab(live.network, rows)
    under_traffic(live, "new spines boot", Fraction(1), lambda: growth.add_cables(joined))
    cabled = joined.after
    with pytest.raises(LabError, match="has another"):
        growth.recable_lab(cabled, rows, 2)

    def move(number: int) -> None:
        nonlocal cabled
        cabled = growth.recable_lab(cabled, rows, number)

    for number, turn in enumerate(step["rounds"], 1):
        (name,), kept = turn["switches"], Fraction(turn["kept"])
        assert kept == Fraction(1, 2)
        drain = write_beside(old, name, f"{live.text}overrides: {{{name}: {{drain: true}}}}\n")

        under_traffic(live, f"{name} drained", kept, partial(push_drain, live, drain, "--only", name))
        under_traffic(live, f"cables of {name} moved", kept, partial(move, number))
        under_traffic(live, f"{name} pushed", kept, partial(push, live, new, "--only", name))
        settled = cabled.predict(cabled.miswired_ports())
        assert number < 2 or observe.wait_until_settled(live.lab, settled, LIMIT_S) is not None
    under_traffic(live, "ToRs pushed", Fraction(1), partial(push, live, new))
    require_sound(cabled)


def require_sound(cabled: Network) -> None:
    """Every cable is where the plan has it, and every switch has the routes and sessions of the plan."""
    assert not cabled.unplugged_cables()
    assert observe.wait_until_settled(cabled.lab, cabled.predict(), LIMIT_S) is not None
    assert observe.session_differences(cabled.lab, cabled.predict()) == []
    trial = trial_of(cabled.lab)
    compare_steady(cabled, trial)
    assert {check.name: check.wrong for check in trial.wrong} == {}


def wider_catalog() -> str:
    """A catalog file with another box for FRR: two ports in a cage, so of other names and numbers."""
    model = files("fabricc.catalog").joinpath("models/switches/linux-16x100.yaml").read_text()
    for old, new in (
        ("linux-16x100:", "linux-8x200:"),
        ("Linux switch, 16 x 100G", "Linux switch, 8 x 200G"),
        ("count: 16, lanes: 4", "count: 8, lanes: 8"),
        ("[1x100/4, 2x50/2, 4x25/1]", "[1x200/8, 2x100/4]"),
    ):
        assert model.count(old) == 1
        model = model.replace(old, new)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("live", ["uplinks: 2"], indirect=True)
def test_spines_of_another_model_take_the_places_and_no_datagram_is_lost(
    live: Live, fabricc: Callable[..., Ran]
) -> None:
    """Each is drained, exchanged for an empty box with ports of other names, cabled and pushed."""
    old, cabled = live.spec, live.network
    text = live.text.replace(
        "spines: {model: linux-16x100", "catalog: [boxes.yaml]\nspines: {model: linux-8x200"
    )
    wanted = write_beside(old, "wanted", text)
    wanted.with_name("boxes.yaml").write_text(wider_catalog())
    words = ["--keep", "50%", "--write", str(live.folder / "steps"), "--format", "json"]
    ran = fabricc("migrate", str(old), str(wanted), *words)
    assert ran.status == 0, ran.err
    steps = json.loads(ran.out)["steps"]
    boxes = ["spine-box-1-drain", "spine-box-1", "spine-box-2-drain", "spine-box-2"]
    assert [step["name"] for step in steps] == [*boxes, "wanted"]

    def exchanged(new: Path, name: str, asn: int) -> None:
        """Another box in the place: nothing of the old one's, and its cables in the ports of the worksheet."""
        nonlocal cabled
        ran = live.lab.run(name, ["vtysh", "-c", "configure", "-c", f"no router bgp {asn}"])
        assert ran.returncode == 0, ran.stderr
        planned = growth.plan_step(cabled, new, None, hands=True)
        growth.add_cables(planned)
        cabled = growth.recable_lab(planned.after, growth.read_worksheet(new.with_name("recabling.csv")))

    for number, step in enumerate(steps, 1):
        new = live.folder / "steps" / f"{number}-{step['name']}" / "cluster.yaml"
        promised = Fraction(1) if step["name"] == "wanted" else KEPT
        assert step["review"]["gpus"] == 0
        assert {order["refused"] for order in step["waves"].values()} <= {None}
        if step["name"].endswith("-drain"):
            under_traffic(live, step["name"], promised, partial(push_drain, live, new))
            continue
        for turn in step["rounds"]:
            (name,) = turn["switches"]
            assert Fraction(turn["kept"]) == KEPT
            (asn,) = (switch.bgp.asn for switch in cabled.switches if switch.name == name)
            what = partial(exchanged, new, name, asn)
            under_traffic(live, f"{name} exchanged and cabled", KEPT, what)
            assert "router bgp" not in live.runs(name)
        under_traffic(live, step["name"], promised, partial(push, live, new))
        assert observe.wait_until_settled(cabled.lab, cabled.predict(), LIMIT_S) is not None
    ports = [{port.name for port in switch.ports if port.enabled} for switch in cabled.switches[-2:]]
    assert ports == [{"swp1s0", "swp1s1", "swp2s0", "swp2s1"}] * 2
    require_sound(cabled)
