"""Every switch of the catalog that runs SONiC, with all its cages in use in each way they can be split."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.sonic import SONIC
from fabricc.catalog.library import Library
from fabricc.fabric.model import Direction, Peer, Port, Switch
from fabricc.front.qos import switch_qos
from tests import samples

if TYPE_CHECKING:
    from fabricc.catalog.model import Breakout, SwitchModel

LIBRARY = Library()
MODELS = {name: LIBRARY.switch(name) for name in LIBRARY.names("switches")}
CASES = [
    (name, run, breakout)
    for name, model in MODELS.items()
    if SONIC.supports(model)
    for run, group in enumerate(group for group in model.cages if group.fabric)
    for breakout in group.breakouts
]


def full_switch(model: SwitchModel, breakout: Breakout, run: int = 0) -> Switch:
    """The sample ToR as this model, every port of a run leading to a spine without profile or session."""
    children = breakout.children
    group = [group for group in model.cages if group.fabric][run]
    ports = tuple(
        Port(
            SONIC.port_name(model, cage, child, children),
            cage,
            child,
            children,
            breakout.lanes,
            breakout.speed_gbps,
            Direction.UP,
            True,
            9100,
            Peer(f"spine{cage}", f"p{child}"),
            unnumbered=True,
        )
        for cage in range(group.first, group.first + group.count)
        for child in range(1, children + 1)
    )
    sample = samples.tor(model=model, nos="sonic")
    return replace(sample, ports=ports, bgp=replace(sample.bgp, sessions=()))


@pytest.mark.parametrize(
    ("name", "run", "breakout"), CASES, ids=lambda value: str(value) if isinstance(value, str) else ""
)
def test_names_lanes_and_labels_are_unique_and_modes_exist(name: str, run: int, breakout: Breakout) -> None:
    switch = full_switch(MODELS[name], breakout, run)
    reported = {"FAB5302"} if breakout.speed_gbps > 800 else set()  # from 202511 on
    reported |= {"FAB5655"} if "lookup" in MODELS[name].nos["sonic"].get("sku", {}) else set()
    assert {gap.code for gap in SONIC.gaps(switch)} <= {"FAB5308", "FAB5310", "FAB5321"} | reported
    tables = json.loads(SONIC.render(switch)["config_db.json"])
    rows = list(tables["PORT"].values())
    service = MODELS[name].nos["sonic"].get("service_ports", ())
    assert len(rows) == len(switch.ports) + len(service)
    for unique in ("alias", "lanes"):
        values = Counter(value for row in rows for value in row[unique].split(","))
        assert [value for value, count in values.items() if count > 1] == []
    assert all(len(row["lanes"].split(",")) == breakout.lanes for row in rows[: len(switch.ports)])


@pytest.mark.parametrize("name", sorted({name for name, *_ in CASES}))
def test_it_reads_back(name: str) -> None:
    switch = full_switch(MODELS[name], next(breakout for case, _, breakout in CASES if case == name))
    reading = SONIC.read(SONIC.render(switch))
    assert reading.unknown == []
    assert reading.facts == SONIC.planned(switch)


SHIPPED = {
    "7060x6-64pe": ("dynamic", "static_th 167546528", "static_th 167546528", "dynamic_th 0", "1778"),
    "z9864f": ("static", "static_th 165867080", "static_th 165867080", "dynamic_th 0", "1778"),
    "z9664f": ("static", "static_th 113620296", "static_th 113620296", "dynamic_th 2", "0"),
    "sn5600": ("dynamic", "dynamic_th 7", "dynamic_th 3", "dynamic_th 3", "0"),
}
"""Mode of the egress pool, thresholds of lossless queue, lossy group and lossy queue, and the size of the last, as
`buffers_defaults_t1.j2` of the SKU has them (of the SN5600 `q_lossy_profile`)."""


@pytest.mark.parametrize("name", SHIPPED)
def test_buffer_profiles_are_those_that_the_sku_ships(name: str) -> None:
    model = MODELS[name]
    qos, _, _ = switch_qos(samples.CLASSES, model, {(400, 40): 32}, 9100, 7709)
    switch = replace(full_switch(model, model.cages[0].breakouts[0]), qos=qos)
    files = SONIC.render(switch)
    tables = json.loads(files["config_db.json"])
    profiles = tables["BUFFER_PROFILE"]
    thresholds = tuple(
        " ".join(item)
        for profile in ("egress_lossless_profile", "ingress_lossy_profile", "egress_lossy_profile")
        for item in profiles[profile].items()
        if item[0].endswith("_th")
    )
    mode = tables["BUFFER_POOL"]["egress_lossless_pool"]["mode"]
    assert (mode, *thresholds, profiles["egress_lossy_profile"]["size"]) == SHIPPED[name]
    reading = SONIC.read(files)
    assert reading.facts == SONIC.planned(switch)
