"""`planes_present`: planes that come later keep their ports and numbers, and nothing of them is built."""

from __future__ import annotations

import csv
import json
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.compiler.driver import build_tree
from fabricc.fabric.capacity.wiring import Wiring
from fabricc.review.diff.figures import fabric_figures
from fabricc.review.diff.model import Impact
from fabricc.review.diff.requested_review import review_change
from tests.compiler.test_marked_lossy import KEY, find_errors

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric

SPEC = {
    "cluster": "stages",
    "gpus": {"model": "dgx-b200", "hosts": 8, "hosts_per_unit": 4},
    "tors": {"model": "sn5600", "nos": "cumulus-5.15"},
    "spines": {"model": "sn5600", "nos": "cumulus-5.15"},
    "planes": 4,
    "management": {"users": [{"name": "ops", "ssh_key": KEY}]},
}
CORES = {**SPEC, "spines": {**SPEC["spines"], "units_per_pod": 1}, "cores": SPEC["spines"]}


@cache
def compile_planes(present: int, *, cores: bool = False, **more: Any) -> Compiled:
    with TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        path.write_text(yaml.safe_dump(with_present(present, CORES if cores else SPEC) | more))
        return compile_spec(path)


def with_present(present: int, spec: dict[str, Any] = SPEC) -> dict[str, Any]:
    return spec | ({"planes_present": present} if present else {})


def make_fabric(present: int, *, cores: bool = False) -> Fabric:
    found = compile_planes(present, cores=cores)
    assert find_errors(found) == []
    assert found.fabric is not None
    return found.fabric


@pytest.mark.parametrize(("present", "cores"), [*product((1, 2, 3), (False, True))])
def test_every_switch_and_port_is_as_with_all_planes(present: int, cores: bool) -> None:
    some, whole = make_fabric(present, cores=cores), make_fabric(0, cores=cores)
    assert [at for at in whole.switch_ids() if at.plane < present] == list(some.switch_ids())
    for at in some.switch_ids():
        assert some.switch(at) == whole.switch(at)
    for at in some.host_ids():
        ports = [port for port in whole.host(at).ports if port.nic_port < present]
        mine = some.host(at).ports
        assert [(port.name, port.peer, port.ipv4, port.table) for port in mine] == [
            (port.name, port.peer, port.ipv4, port.table) for port in ports
        ]


@pytest.mark.parametrize("present", [1, 2, 3])
def test_the_lock_is_that_of_all_planes(present: int) -> None:
    assert compile_planes(present).lock_text == compile_planes(0).lock_text


@pytest.mark.parametrize("cores", [False, True])
def test_counts_are_those_of_the_planes_that_exist(cores: bool) -> None:
    some, whole = make_fabric(1, cores=cores).counts(), make_fabric(0, cores=cores).counts()
    for each in ("tors", "spines", "cores", "host_cables", "spine_cables", "core_cables"):
        assert some[each] * 4 == whole[each]
    assert some["gpus"] == whole["gpus"]
    found = make_fabric(1, cores=cores)
    assert sum(1 for _ in found.cables()) == sum(some[each] for each in some if each.endswith("_cables"))


def test_the_capacity_of_a_host_is_that_of_its_cabled_ports() -> None:
    wiring = Wiring(make_fabric(2))
    at = next(iter(wiring.hosts.values()))
    assert len(wiring.host_ports(at)) == 8 * 2
    assert set(wiring.host_ports(at).values()) <= wiring.switches.keys()


def test_a_tree_has_the_existing_planes_alone(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(with_present(2)))
    build_tree(path, tmp_path / "build")
    tree = tmp_path / "build/stages"
    assert {name.name[-1] for name in (tree / "switches").iterdir()} == {"a", "b"}
    cables = csv.DictReader((tree / "plan/cabling.csv").read_text().splitlines())
    assert {row["b_device"][-1] for row in cables} == {"a", "b"}
    assert json.loads((tree / "plan/fabric.json").read_text())["shape"]["planes_present"] == 2
    hca = (tree / "hosts/su001-host01/etc/nccl.conf").read_text()
    assert "mlx5_r7b" in hca
    assert "mlx5_r0c" not in hca
    shape = json.loads((tree / "acceptance/plan.json").read_text())["shape"]
    assert (shape["planes"], shape["nic_ports"]) == (2, 2)


@pytest.mark.parametrize(("present", "kept"), [(1, "0 %"), (2, "50 %"), (0, "75 %")])
def test_the_loss_of_a_link_counts_the_ports_that_exist(present: int, kept: str) -> None:
    assert fabric_figures(make_fabric(present))["worst single link"].endswith(
        f"keeps {kept} of its bandwidth"
    )


def test_more_planes_join_without_an_effect_on_traffic(tmp_path: Path) -> None:
    paths = []
    for name, present in (("before", 2), ("after", 0)):
        paths.append(tmp_path / name / "cluster.yaml")
        paths[-1].parent.mkdir()
        paths[-1].write_text(yaml.safe_dump(with_present(present)))
    review = review_change(*paths)
    assert review.impact is Impact.NONE
    changed = {name for group in review.groups for name in group.devices}
    assert changed == {f"su00{unit}-host0{host}" for unit in (1, 2) for host in range(1, 5)}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"planes_present": 4}, "FAB2044"),
        ({"planes": 1, "planes_present": 1}, "FAB2044"),
        ({"planes_present": 2, "gpus": {**SPEC["gpus"], "wiring": "rail-only"}}, "FAB3078"),
        ({"planes": 1, "plane_split": "software"}, "FAB2045"),
        ({"plane_split": "hardware"}, "FAB2046"),
    ],
)
def test_stages_that_cannot_be_are_rejected(more: dict[str, Any], code: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(SPEC | more))
    assert code in {each.code for each in compile_spec(path).diagnostics}


def test_planes_are_split_by_nics_that_are_known_to_do_so(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(SPEC | {"plane_split": "software"}))
    refused = [each for each in compile_spec(path).diagnostics if each.code == "FAB3352"]
    assert "`plane_split: none`" in str(refused[0].help)
    path.write_text(yaml.safe_dump(SPEC | {"plane_split": "none"}))
    assert compile_spec(path).sound
    path.write_text(
        yaml.safe_dump(SPEC | {"plane_split": "software", "gpus": {**SPEC["gpus"], "model": "dgx-b300"}})
    )
    assert compile_spec(path).sound


@pytest.mark.parametrize(
    ("nic", "planes", "warned"),
    [
        ("pollara", 2, True),
        ("pollara", 1, False),
        ("thor-ultra", 4, True),
        ("connectx-7", 2, True),
        ("connectx-8", 2, False),
    ],
)
def test_a_split_of_a_nic_that_no_source_shows_is_reported(
    nic: str, planes: int, warned: bool, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.yaml"
    host = "hgx-b300" if nic in ("thor-ultra", "connectx-8") else "dgx-b200"
    path.write_text(
        yaml.safe_dump(SPEC | {"planes": planes, "gpus": {**SPEC["gpus"], "model": host, "nic": nic}})
    )
    found = [each for each in compile_spec(path, gaps=False).diagnostics if each.code == "FAB3353"]
    assert bool(found) is warned
