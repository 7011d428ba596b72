"""ECN without PFC (lossy RoCE): a marked class is marked on every switch, and hosts send in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.driver import build_tree

if TYPE_CHECKING:
    from pathlib import Path

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIbjhp5XNJqtYLMiGTPnPQnmsPxrr2Pls6tAFfjVPYT3"
BOXES = {
    "sonic": "sn5600",
    "cumulus": "sn5600",
    "eos": "7060x6-64pe",
    "nxos": "9364e-sg2",
    "junos": "qfx5240-64od",
}
CLASSES = {"rdma": {"dscp": 26, "ecn": True}, "cnp": {"dscp": 48, "strict": True}, "default": {}}


def spec_of(nos: str, classes: dict[str, Any] = CLASSES, **further: Any) -> dict[str, Any]:
    box = {"model": BOXES[nos], "nos": nos}
    return {
        "cluster": "ecn",
        "gpus": {"model": "dgx-h100", "hosts": 4, "hosts_per_unit": 2},
        "tors": box,
        "spines": {**box, "count": 2},
        "priorities": classes,
        "management": {"users": [{"name": "ops", "ssh_key": KEY}]},
        **further,
    }


def compile_tree(spec: dict[str, Any], folder: Path) -> tuple[Any, Path]:
    path = folder / "cluster.yaml"
    path.write_text(json.dumps(spec))
    build_tree(path, folder / "build")
    return compile_spec(path), folder / "build" / "ecn"


def find_errors(result: Any) -> list[str]:
    return [f"{d.code} {d.message}" for d in result.diagnostics if d.severity is Severity.ERROR]


@pytest.mark.parametrize("nos", BOXES)
@pytest.mark.spread
def test_every_used_port_marks_the_class_on_every_system(nos: str, tmp_path: Path) -> None:
    result, _ = compile_tree(spec_of(nos), tmp_path)
    assert find_errors(result) == []
    fabric = result.fabric
    for at in fabric.switch_ids():
        switch = fabric.switch(at)
        marking = {profile.name for profile in switch.qos.profiles if profile.ecn}
        used = [port for port in switch.ports if port.peer]
        assert used
        assert {port.profile for port in used} <= marking
        assert switch.qos.pools is None
        assert switch.qos.watchdog is None


TEXTS = {
    "sonic": "wred_profile",
    "cumulus": "ecn: enable",
    "eos": "random-detect ecn minimum-threshold",
    "nxos": "random-detect minimum-threshold",
    "junos": "explicit-congestion-notification;",
}
PFC = {
    "sonic": "pfc_enable",
    "cumulus": "pfc:",
    "eos": "priority-flow-control on",
    "nxos": "priority-flow-control mode on",
    "junos": "no-loss",
}


@pytest.mark.parametrize("nos", BOXES)
@pytest.mark.spread
def test_the_files_mark_and_do_not_pause(nos: str, tmp_path: Path) -> None:
    _, tree = compile_tree(spec_of(nos), tmp_path)
    for switch in (tree / "switches").iterdir():
        text = "".join(file.read_text() for file in switch.iterdir())
        assert TEXTS[nos] in text, switch.name
        assert PFC[nos] not in text, switch.name


@pytest.mark.parametrize("nos", BOXES)
@pytest.mark.spread
def test_thresholds_of_the_spec_reach_the_switches(nos: str, tmp_path: Path) -> None:
    congestion = {"ecn": {"min_kb": 400, "max_kb": 1600, "max_percent": 10}}
    result, _ = compile_tree(spec_of(nos, congestion=congestion), tmp_path)
    assert find_errors(result) == []
    marks = {
        profile.ecn for at in result.fabric.switch_ids() for profile in result.fabric.switch(at).qos.profiles
    }
    assert {each.max_percent for each in marks} == {10}
    assert all(
        390_000 < each.min_bytes <= 400_000 and 1_590_000 < each.max_bytes <= 1_600_000 for each in marks
    )


def test_hosts_send_in_the_only_class_with_a_code_point(tmp_path: Path) -> None:
    _, tree = compile_tree(spec_of("sonic"), tmp_path)
    assert "NCCL_IB_TC=106" in (tree / "jobs/nccl.conf").read_text()  # DSCP 26, ECN-capable


def test_two_possible_classes_are_a_question_and_not_a_guess(tmp_path: Path) -> None:
    classes = {**CLASSES, "storage": {"dscp": 10, "ecn": True}}
    result, tree = compile_tree(spec_of("sonic", classes), tmp_path)
    assert {d.code for d in result.diagnostics} >= {"FAB2025", "FAB2026"}
    assert "NCCL_IB_TC" not in (tree / "jobs/nccl.conf").read_text()
    spec = spec_of("sonic", classes)
    spec["gpus"]["class"] = "rdma"
    result, _ = compile_tree(spec, tmp_path)
    assert [d.message for d in result.diagnostics if d.code in ("FAB2025", "FAB2026")] == [
        "no host sends its RDMA in the marked class 'storage'"
    ]


def test_a_further_network_marks_too(tmp_path: Path) -> None:
    box = {"model": "sn5600", "nos": "sonic"}
    spec = spec_of("sonic")
    spec["networks"] = {
        "storage": {
            "tors": box,
            "spines": {**box, "count": 2},
            "priorities": {"store": {"dscp": 18, "ecn": True}},
        }
    }
    result, _ = compile_tree(spec, tmp_path)
    assert find_errors(result) == []
    network = result.networks["storage"].fabric
    assert all(network.switch(at).qos.profiles for at in network.switch_ids())


@pytest.mark.parametrize(
    ("classes", "unused"),
    [
        ({"store": {"dscp": 18, "ecn": True}, "default": {}}, []),
        ({"default": {}}, []),
        ({"store": {"dscp": 18, "ecn": True}, "copy": {"dscp": 34, "ecn": True}}, ["copy", "store"]),
        ({"store": {"dscp": 18, "lossless": True}, "copy": {"dscp": 34, "lossless": True}}, ["copy"]),
    ],
)
def test_a_class_of_a_further_network_without_a_sender_is_reported(
    tmp_path: Path, classes: dict[str, Any], unused: list[str]
) -> None:
    box = {"model": "sn5600", "nos": "sonic"}
    spec = spec_of("sonic")
    spec["networks"] = {"storage": {"tors": box, "spines": {**box, "count": 2}, "priorities": classes}}
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(spec))
    found = [d.message for d in compile_spec(path).diagnostics if d.code in ("FAB2025", "FAB2026")]
    assert sorted(text.split("'")[1] for text in found) == unused


def test_thresholds_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    congestion = {"ecn": {"min_kb": 400_000, "max_kb": 800_000, "max_percent": 10}}
    result, _ = compile_tree(spec_of("sonic", congestion=congestion), tmp_path)
    assert [code[:7] for code in find_errors(result)] != []
    assert all("may drop on" in text for text in find_errors(result))
