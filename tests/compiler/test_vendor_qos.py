"""`qos: vendor`: the policy that one command of the system sets, proved with the hosts on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.back.nos.cumulus.limits import RELEASES
from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.proof.compare import compare
from tests.back.nos.cumulus.test_judges import needs_models, run_judge
from tests.compiler.test_marked_lossy import compile_tree, find_errors, spec_of

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

CLASSES = {"rdma": {"dscp": 26, "lossless": True}, "cnp": {"dscp": 48, "strict": True}, "default": {}}


def wanted_spec(nos: str = "cumulus", classes: dict[str, Any] = CLASSES, **further: Any) -> dict[str, Any]:
    spec = spec_of(nos.partition("-")[0], classes, qos="vendor", **further)
    for tier in ("tors", "spines"):
        spec[tier]["nos"] = nos
    return spec


def compile_only(spec: dict[str, Any], folder: Path) -> Any:
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(spec))
    return compile_spec(path)


def switch_files(tree: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted(tree.glob("switches/*/startup.yaml")):
        sections = yaml.safe_load(path.read_text())
        found[path.parent.name] = next(each["set"] for each in sections if "set" in each)
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    return compile_tree(wanted_spec(), tmp_path_factory.mktemp("vendor"))


@pytest.mark.slow
def test_the_tree_is_proved_with_its_hosts(built: tuple[Any, Path]) -> None:
    result, tree = built
    assert find_errors(result) == []
    assert (tree / "manifest.json").exists()
    assert {"FAB5728"} <= {each.code for each in result.diagnostics}


@pytest.mark.slow
def test_the_command_replaces_every_computed_figure(built: tuple[Any, Path]) -> None:
    files = switch_files(built[1])
    assert files
    for content in files.values():
        assert content["qos"].keys() == {"roce", "pfc-watchdog"}
        assert content["qos"]["roce"] == {"enable": "on", "mode": "lossless"}
        ports = [
            row for name, row in content["interface"].items() if "link" in row and "state" in row["link"]
        ]
        assert {tuple(row["qos"]) for row in ports} == {("pfc-watchdog",)}, name_of(content)


def name_of(content: dict[str, Any]) -> str:
    return str(content["system"]["hostname"])


def sample_switch(built: tuple[Any, Path]) -> Switch:
    fabric = built[0].fabric
    switch: Switch = fabric.switch(next(iter(fabric.switch_ids())))
    return switch


def test_classes_have_the_code_points_and_weights_of_the_system(built: tuple[Any, Path]) -> None:
    classes = {each.name: each for each in sample_switch(built).qos.classes}
    assert classes["rdma"].dscps == tuple(range(24, 32))
    assert classes["rdma"].data_dscp == 26
    assert classes["cnp"].dscps == tuple(range(48, 56))
    assert classes["cnp"].cnp
    assert (classes["rdma"].weight_percent, classes["default"].weight_percent) == (50, 50)


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_reads_back_what_it_writes(release: str, built: tuple[Any, Path]) -> None:
    switch = replace(sample_switch(built), release=release)
    reading = CUMULUS.read(CUMULUS.render(switch))
    assert not reading.unknown
    assert compare(CUMULUS.planned(switch), reading) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mode: lossless", "mode: lossy"),
        ("mode: lossless", "mode: lossless-single-ipool"),
        ("enable: 'on'\n        mode: lossless", "enable: 'off'\n        mode: lossless"),
        ("      roce:\n", "      mapping:\n        default-global:\n          trust: l2\n      roce:\n"),
        ("      roce:\n", "      pfc:\n        default-global:\n          rx: disable\n      roce:\n"),
        (
            "          pfc-watchdog:\n            state: enable",
            "          pfc-watchdog:\n            state: disable",
        ),
    ],
)
def test_every_alteration_shows(old: str, new: str, built: tuple[Any, Path]) -> None:
    switch = sample_switch(built)
    (name, text), = CUMULUS.render(switch).items()  # fmt: skip
    changed = text.replace(old, new, 1)
    assert changed != text
    reading = CUMULUS.read({name: changed})
    assert compare(CUMULUS.planned(switch), reading) or reading.unknown


@pytest.mark.slow
@pytest.mark.spread
@needs_models
@pytest.mark.parametrize("release", ["5.9", "5.14", "5.18"])
def test_object_models_of_the_maker_accept_it(release: str, built: tuple[Any, Path], tmp_path: Path) -> None:
    file = tmp_path / "switch.yaml"
    file.write_text(CUMULUS.render(replace(sample_switch(built), release=release))["startup.yaml"])
    found = run_judge(release, [file])
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.slow
def test_stated_thresholds_and_long_cables_are_written_next_to_it(tmp_path: Path) -> None:
    spec = wanted_spec(
        cables={"spine": {"length_m": 250, "medium": "smf"}},
        congestion={"ecn": {"min_kb": 200, "max_kb": 400, "max_percent": 20}},
    )
    result, tree = compile_tree(spec, tmp_path)
    assert find_errors(result) == []
    for content in switch_files(tree).values():
        marking = content["qos"]["congestion-control"]["default-global"]["traffic-class"]
        assert set(marking) == {"3"}
        assert marking["3"]["max-threshold"] <= 400_000
        assert content["qos"]["pfc"] == {"default-global": {"cable-length": 250}}


@pytest.mark.parametrize(
    ("classes", "outputs"),
    [
        (CLASSES | {"rdma": {"dscp": 34, "lossless": True}}, "'rdma' is lossy"),
        (CLASSES | {"rdma": {"dscp": [26, 34], "lossless": True}}, "'rdma' does not have code point 34"),
        (CLASSES | {"rdma": {"dscp": 26, "lossless": True, "priority": 4}}, "'rdma' has priority 3, not 4,"),
        (
            CLASSES | {"rdma": {"dscp": 26, "lossless": True, "weight_percent": 90}},
            "has 50 % of the bandwidth",
        ),
        (CLASSES | {"rdma": {"dscp": 26, "ecn": True}}, "'rdma' is lossless"),
        (CLASSES | {"cnp": {"dscp": 48}}, "'cnp' is strict"),
        (CLASSES | {"storage": {"dscp": 10}}, "'storage' has priority 0, not 1,"),
    ],
)
def test_classes_that_the_command_does_not_have_are_rejected(
    classes: dict[str, Any], outputs: str, tmp_path: Path
) -> None:
    result = compile_only(wanted_spec(classes=classes), tmp_path)
    found = [each for each in result.diagnostics if each.code == "FAB4018"]
    assert any(outputs in each.message for each in found), [each.message for each in found]
    assert all(each.severity is Severity.ERROR for each in found)


@pytest.mark.parametrize(
    "further",
    [
        {"congestion": {"profile": "uec"}},
        {"congestion": {"ecn": {"preset": "hpcc"}}},
        {"buffers": {"headroom_oversubscription": 2}},
    ],
)
def test_settings_that_the_command_does_not_have_are_rejected(
    further: dict[str, Any], tmp_path: Path
) -> None:
    result = compile_only(wanted_spec(**further), tmp_path)
    assert "FAB4018" in {each.code for each in result.diagnostics}


@pytest.mark.parametrize("nos", ["sonic", "eos", "nxos", "junos"])
def test_systems_without_such_a_command_are_rejected_with_the_way_out(nos: str, tmp_path: Path) -> None:
    result = compile_only(wanted_spec(nos), tmp_path)
    found = [each for each in result.diagnostics if each.code == "FAB4017"]
    assert found
    assert "cumulus" in found[0].help
    assert "computed policy" in found[0].help
