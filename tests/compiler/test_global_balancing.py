"""`load_balancing.global`: Junos Evolved reports the load of links in BGP, within published limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc.back.nos.junos import JUNOS
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.shape import TierName
from fabricc.proof.compare import compare
from tests.compiler.test_marked_lossy import KEY

if TYPE_CHECKING:
    from pathlib import Path


def compile_only(folder: Path, nos: str = "junos-24.4", spines: int = 16, **further: Any) -> Any:
    box = {"model": "qfx5240-64od" if nos.startswith("junos") else "7060x6-64pe", "nos": nos}
    spec = {
        "cluster": "glb",
        "gpus": {"model": "dgx-h100", "hosts": 64, "hosts_per_unit": 32},
        "tors": box,
        "spines": {**box, "count": spines},
        "load_balancing": {"mode": "flowlet", "global": True},
        "management": {"users": [{"name": "ops", "ssh_key": KEY}]},
        **further,
    }
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(spec))
    return compile_spec(path)


def found_codes(result: Any) -> set[str]:
    return {f"{each.code} {each.severity.value}" for each in result.diagnostics}


def test_leaves_balance_and_spines_report(tmp_path: Path) -> None:
    result = compile_only(tmp_path)
    assert not [each for each in found_codes(result) if each.endswith("error")]
    parts = {}
    for at in result.fabric.switch_ids():
        switch = result.fabric.switch(at)
        files = JUNOS.render(switch)
        (text,) = files.values()
        lines = [line.strip() for line in text.split("\n")]
        parts[at.tier] = lines[lines.index("global-load-balancing {") + 1]
        reading = JUNOS.read(files)
        assert not reading.unknown
        assert compare(JUNOS.planned(switch), reading) == []
    assert parts == {TierName.TOR: "load-balancer-only;", TierName.SPINE: "helper-only;"}


def test_the_other_part_or_none_shows(tmp_path: Path) -> None:
    fabric = compile_only(tmp_path).fabric
    switch = fabric.switch(next(iter(fabric.switch_ids())))
    ((name, text),) = JUNOS.render(switch).items()
    for old, new in (("load-balancer-only;", "helper-only;"), ("load-balancer-only;", "")):
        reading = JUNOS.read({name: text.replace(old, new)})
        assert compare(JUNOS.planned(switch), reading)


def test_nothing_is_written_unless_it_is_requested(tmp_path: Path) -> None:
    fabric = compile_only(tmp_path, load_balancing={"mode": "flowlet"}).fabric
    switch = fabric.switch(next(iter(fabric.switch_ids())))
    assert "global-load-balancing" not in "".join(JUNOS.render(switch).values())


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"spines": 8}, "FAB5525 error"),
        ({"nos": "junos-23.4"}, "FAB5523 error"),
        ({"nos": "eos"}, "FAB5117 error"),
        ({"load_balancing": {"global": True}}, "FAB2043 error"),
    ],
)
def test_limits_are_rules(options: dict[str, Any], code: str, tmp_path: Path) -> None:
    assert code in found_codes(compile_only(tmp_path, **options))


def test_limits_name_the_cause(tmp_path: Path) -> None:
    fabric = compile_only(tmp_path).fabric
    spine = next(fabric.switch(at) for at in fabric.switch_ids() if at.tier is TierName.SPINE)
    older = replace(spine, model=replace(spine.model, asic_family="tomahawk4", asic="Tomahawk 4"))
    assert [gap for gap in JUNOS.gaps(older) if gap.code == "FAB5525" and "Tomahawk 4" in gap.feature]
    many = tuple(
        replace(port, peer=replace(port.peer, device=f"leaf{number}"))
        for number, port in enumerate(65 * [next(port for port in spine.ports if port.peer)])
        if port.peer
    )
    crowded = replace(spine, ports=many)
    assert [gap for gap in JUNOS.gaps(crowded) if gap.code == "FAB5525" and "65 leaves" in gap.feature]
