"""Ethernet ports that a NIC does not have are reported where a fabric is planned with them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.front.planning.support import make_document, planned


@pytest.mark.parametrize(
    ("model", "planes", "reported"),
    [
        ("dgx-b300", 1, True),
        ("dgx-b300", 2, False),
        ("dgx-b300-2x400", 1, False),
        ("dgx-b300-2x400", 2, False),
        ("hgx-b300", 1, True),
        ("gb300-nvl72", 1, True),
        ("dgx-b200", 1, False),
    ],
)
def test_800g_on_one_port_of_a_connectx_8_is_reported(model: str, planes: int, reported: bool) -> None:
    tier = {"model": "sn5600", "nos": "frr"}
    text: dict[str, Any] = make_document(
        gpus={"model": model, "hosts": 8, "hosts_per_unit": 4}, tors=tier, spines=tier, planes=planes
    )
    plan = planned(text)
    assert plan.fabric is not None
    found = [each for each in plan.diagnostics if each.code == "FAB3350"]
    assert bool(found) == reported
    assert all("no Ethernet port of 800G" in each.message for each in found)


def test_border_leaves_need_no_nic() -> None:
    tier = {"model": "sn5600", "nos": "frr"}
    gpus = {"model": "dgx-b300", "hosts": 8, "hosts_per_unit": 4}
    plan = planned(make_document(gpus=gpus, tors=tier | {"border": 2}, spines=tier))
    assert plan.fabric is not None
    assert [each.code for each in plan.diagnostics].count("FAB3350") == 1
