"""The steps of a migration through a push: each in its turn, and rated by what nobody sends."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.push.sequence import FILE
from tests.operate.push.network import Network, build_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Ran

SPEC = """\
cluster: zone
gpus: {model: dgx-h100, hosts: 2, hosts_per_unit: 1, rails_per_tor: 8}
tors: {model: sn5400, nos: sonic-202505, uplinks: 2}
spines: {model: sn5400, nos: sonic-202505, count: 2}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
"""
STEPS = ["1-rdma-both-code-points", "2-rdma-senders", "3-wanted"]


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    found = Network.start(tmp_path, SPEC)
    found.direct = True
    try:
        yield found
    finally:
        found.stop()


def find_steps(network: Network, fabricc: Callable[..., Ran]) -> list[Path]:
    """The specs of the way to another DSCP."""
    wanted = network.folder / "wanted" / "cluster.yaml"
    wanted.parent.mkdir()
    wanted.write_text(SPEC.replace("dscp: 26", "dscp: 34, priority: 3"))
    shutil.copy(network.spec.with_name("fabricc.lock"), wanted.parent)
    way = network.folder / "steps"
    ran = fabricc("migrate", str(network.spec), str(wanted), "--write", str(way))
    assert ran.status == 0, ran.err
    assert sorted(each.name for each in way.iterdir()) == STEPS
    for each in way.iterdir():
        shutil.copy(network.spec.with_name("fabricc-access.yaml"), each)
    return [way / each / "cluster.yaml" for each in STEPS]


def turn_session(network: Network, spec: Path) -> None:
    network.spec, network.source = spec, build_spec(spec, network.folder / "out")


@pytest.mark.slow
def test_unsent_code_point_changes_class_without_a_drain(
    network: Network, fabricc: Callable[..., Ran]
) -> None:
    network.push(status=0)
    both, senders, wanted = find_steps(network, fabricc)
    for spec, changed in ((both, "confirmed"), (senders, "unchanged"), (wanted, "confirmed")):
        turn_session(network, spec)
        assert ", 0 disruptively;" in network.push(status=0).stderr
        assert set(network.states().values()) == {changed}
    network.push("--rollback", "4", status=0)
    assert set(network.states().values()) == {"undrained"}, "what goes back is not known to be sent by nobody"


@pytest.mark.slow
def test_a_code_point_that_may_be_sent_is_drained_for(network: Network, fabricc: Callable[..., Ran]) -> None:
    both, *_ = find_steps(network, fabricc)
    turn_session(network, both)
    network.push("--adopt", status=0)
    assert set(network.states().values()) == {"undrained"}, "no push tells what is sent"


@pytest.mark.slow
def test_a_step_before_its_turn_is_reported_before_anything_is_touched(
    network: Network, fabricc: Callable[..., Ran]
) -> None:
    network.push(status=0)
    both, senders, wanted = find_steps(network, fabricc)
    turn_session(network, wanted)
    for options in ([], ["--dry-run"], ["--plan"]):
        output = network.push(*options, status=1).stderr
        assert "FAB9460" in output
        assert "the step wanted comes after rdma-senders, which was not pushed to" in output
    assert set(network.states().values()) == {"unchanged"}, "of the first push: no run was begun"

    turn_session(network, both)
    network.push("--only", "spine01a", status=0)
    turn_session(network, senders)
    assert "not pushed to su001-tor1a and" in network.push(status=1).stderr
    turn_session(network, both)
    network.push(status=0)
    for spec in (senders, wanted, wanted):
        turn_session(network, spec)
        network.push(status=0)
    network.push("--rollback", "6", status=0)
    network.push(status=0)


@pytest.mark.slow
def test_adopted_configuration_counts_as_the_previous_step(
    network: Network, fabricc: Callable[..., Ran]
) -> None:
    network.push(status=0)
    *_, wanted = find_steps(network, fabricc)
    turn_session(network, wanted)
    assert "warning[FAB9460]" in network.push("--adopt", status=0).stderr


@pytest.mark.slow
def test_a_spec_that_goes_on_from_the_last_step_has_no_turn(
    network: Network, fabricc: Callable[..., Ran]
) -> None:
    network.push(status=0)
    *_, wanted = find_steps(network, fabricc)
    wanted.write_text(wanted.read_text() + "routing: {bfd: {interval_ms: 500}}\n")
    turn_session(network, wanted)
    network.push(status=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["{}", "[" * 9999, *(pytest.param(each, marks=pytest.mark.slow) for each in ("", "[]", '{"format": 2}'))],
)
def test_a_damaged_word_about_the_order_is_reported(
    network: Network, fabricc: Callable[..., Ran], text: str
) -> None:
    network.push(status=0)
    *_, wanted = find_steps(network, fabricc)
    stated = json.loads(wanted.with_name(FILE).read_text())
    assert stated["name"] == "wanted"
    turn_session(network, wanted)
    wanted.with_name(FILE).write_text(text)
    assert "FAB9461" in network.push(status=1).stderr
