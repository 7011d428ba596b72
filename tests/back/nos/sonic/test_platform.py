"""Port names, labels and breakout modes are those of the platform's own files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.sonic import SONIC
from fabricc.back.nos.sonic.words import Platform, lane_list
from fabricc.base.diagnostics.wording import split_ranges
from fabricc.catalog.model import Breakout, CageGroup
from tests import samples
from tests.back.nos.sonic.variants import BROADCOM, MELLANOX, tor

if TYPE_CHECKING:
    from fabricc.back.nos.base import Nos

BACK_END: Nos = SONIC
MODEL = samples.switch_model(sonic=MELLANOX)


@pytest.mark.parametrize(
    ("cage", "child", "children", "name"),
    [(1, 1, 1, "Ethernet0"), (1, 2, 2, "Ethernet4"), (3, 1, 1, "Ethernet16"), (4, 3, 4, "Ethernet28")],
)
def test_names_count_lanes(cage: int, child: int, children: int, name: str) -> None:
    assert BACK_END.port_name(MODEL, cage, child, children) == name


def test_names_scale_to_the_step_of_the_platform() -> None:
    model = samples.switch_model(sonic={**MELLANOX, "port_step": 4})
    assert SONIC.port_name(model, 2, 2, 2) == "Ethernet6"


def test_a_breakout_that_leaves_lanes_idle_counts_only_its_own() -> None:
    cages = (CageGroup(1, 4, 8, (Breakout(4, 100, 1),)),)
    assert SONIC.port_name(replace(MODEL, cages=cages), 1, 4, 4) == "Ethernet3"


def alias(cage: int, child: int, children: int, **settings: object) -> str:
    platform = Platform.of(samples.switch_model(sonic={**MELLANOX, **settings}))
    port = replace(tor().ports[0], cage=cage, child=child, children=children, lanes=8 // children)
    return platform.port_alias(port)


def test_aliases_follow_the_style() -> None:
    assert alias(3, 1, 1) == "etp3"
    assert alias(3, 2, 4) == "etp3b"
    assert alias(3, 2, 2, alias="Ethernet{cage}/{lane}", alias_style="lane") == "Ethernet3/5"
    assert alias(3, 1, 1, alias="Ethernet{cage}/{lane}", alias_style="lane") == "Ethernet3/1"
    assert alias(3, 1, 1, alias="Eth{cage}", alias_style="lane") == "Eth3"
    assert alias(3, 2, 2, alias="Eth{cage}", alias_style="lane") == "Eth3/5"
    assert alias(3, 2, 2, alias="Eth{cage}", alias_style="plain") == "Eth3/2"


def test_a_mode_is_found_by_its_own_speed_or_an_alternative() -> None:
    platform = Platform.of(MODEL)
    assert platform.breakout_mode(1, 2, 400) == "2x400G[200G,100G,50G,40G,25G,10G]"
    assert platform.breakout_mode(1, 4, 100) == "4x200G[100G,50G,25G,10G]"
    assert platform.breakout_mode(1, 8, 100) is None
    spaced = Platform.of(
        samples.switch_model(sonic={**MELLANOX, "breakouts": {"2x400": "2x400G[200G, 100G]"}})
    )
    assert spaced.breakout_mode(1, 2, 100) == "2x400G[200G, 100G]"


def test_lanes_come_from_the_map() -> None:
    platform = Platform.of(samples.switch_model(sonic=BROADCOM))
    assert platform.port_lanes(tor(BROADCOM).ports[1]) == "21,22,23,24"
    assert lane_list([513]) == lane_list("513") == lane_list(513) == "513"


def test_ranges_join_neighbors() -> None:
    assert split_ranges([0, 1, 2, 5, 7]) == ["0-2", "5", "7"]
    assert split_ranges([]) == []
