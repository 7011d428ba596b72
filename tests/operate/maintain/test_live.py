"""Maintenance carried out on real FRR under traffic: the specs that it writes, and nothing lost that it promises."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.lab import demands, faults, lifecycle, observe, scenarios, state
from fabricc.operate.lab.flows import Stream
from fabricc.operate.lab.steady import Network, render_frr
from tests.operate.lab import specs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fabricc.operate.lab.flows import Outage
    from fabricc.operate.lab.predict import Prediction
    from tests.cli.conftest import Ran

LIMIT_S = 120.0
TWO_PORTS = """\
hosts:
  lab-host-2:
    title: Lab host, one rail of two ports
    vendor: generic
    gpus: {value: 2, assumed: true, reason: a lab}
    rails: {value: 2, assumed: true, reason: a lab}
    nic: {value: connectx-6, assumed: true, reason: a lab}
    ports_per_nic: {value: 2, assumed: true, reason: a lab}
    port_gbps: {value: 100, assumed: true, reason: a lab}
    management_interface: {value: eth0, assumed: true, reason: a lab}
"""


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    """A lab of hosts that each rail connects to two ToRs."""
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := demands.missing_programs():
        pytest.skip(f"a lab needs {', '.join(missing)}")
    spec = specs.two_tiers(tmp_path / "spec", more="catalog: [hosts.yaml]")
    spec.write_text(
        spec.read_text()
        .replace("lab-host,", "lab-host-2, rails_per_tor: 2,")
        .replace("nos: frr", "nos: frr-8.4")
    )
    (spec.parent / "hosts.yaml").write_text(TWO_PORTS)
    lab, source = lifecycle.boot_lab(spec, tmp_path / "lab")
    try:
        network = Network.of(lab, source.fabric)
        assert observe.wait_until_settled(lab, network.predict(), LIMIT_S) is not None
        yield network
    finally:
        if (tmp_path / "lab" / state.RECORD).exists():
            lifecycle.take_down_lab(tmp_path / "lab")


def reload_switch(network: Network, name: str, wanted: Prediction, stream: Stream) -> Outage:
    """Return what the traffic saw of a switch that takes its configuration of a network."""
    switch = next(switch for switch in network.switches if switch.name == name)
    stream.start()
    scenarios.while_running(lambda: network.lab.reload(name, render_frr(switch)), stream)
    assert observe.wait_until_settled(network.lab, wanted, LIMIT_S, stream.run) is not None
    stream.recover(LIMIT_S)
    return stream.outage()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spine01a", "su001-tor1a"])
def test_maintenance_window_loses_no_datagram(
    tmp_path: Path, network: Network, fabricc: Callable[..., Ran], name: str
) -> None:
    spec, window, lab = tmp_path / "spec" / "cluster.yaml", tmp_path / "window", network.lab
    ran = fabricc("maintain", name, "--window", "10m", "--write", str(window), str(spec))
    assert ran.status == 0, ran.err
    drained, back = (
        Network.of(lab, specs.source(window / each / "cluster.yaml").fabric) for each in ("drain", "undrain")
    )
    off = drained.predict(frozenset(faults.ends_of(lab, name)))
    whole = [(a, b) for a, b in scenarios.surviving_pairs(network, network.predict(), near=frozenset({name}))]
    with Stream(lab, whole) as stream:
        outages = [reload_switch(drained, name, drained.predict(), stream)]
    with Stream(lab, scenarios.surviving_pairs(network, drained.predict(), off)) as stream:
        stream.start()
        scenarios.while_running(lambda: faults.break_target(lab, name), stream)
        assert observe.wait_until_settled(lab, off, LIMIT_S, stream.run) is not None
        scenarios.while_running(lambda: faults.heal_target(lab, name), stream)
        assert observe.wait_until_settled(lab, drained.predict(), LIMIT_S, stream.run) is not None
        stream.recover(LIMIT_S)
        outages.append(stream.outage())
    with Stream(lab, whole) as stream:
        outages.append(reload_switch(back, name, network.predict(), stream))
    for outage in outages:
        print(f"{name}: {outage.lost} of {outage.sent} lost, longest gap {outage.worst_s * 1000:.0f} ms")
    assert [(outage.lost, outage.silent) for outage in outages] == [(0, 0)] * 3
    assert all(outage.sent > 1000 for outage in outages)
