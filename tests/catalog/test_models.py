"""The built-in models: complete, sourced, and free of contradictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from jsonschema import Draft202012Validator

from fabricc.back.nos.sonic.words import cage_runs
from fabricc.base.documents.schema import breaches, load_schema
from fabricc.base.installation import load_package_yaml
from fabricc.catalog import load, load_catalog, suggest_names
from fabricc.catalog.library import MODELS, Library
from fabricc.catalog.load import host_findings, switch_findings

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel

CATALOG, _ = load_catalog()
LIBRARY = Library()
FILES = sorted(MODELS.glob("*/*.yaml"))
TABLES = {name: table for file in FILES for name, table in load_package_yaml(file).get("tables", {}).items()}
SWITCHES_PROMISED = {
    "sn3700", "sn4700", "sn5400", "sn5600", "7060x6-64pe", "7060dx5-64s", "7816r3", "7808r4", "7816lr4",
    "7280r4-32qf-32df", "9332d-gx2b", "9364e-sg2",
    "qfx5220-32cd", "qfx5230-64cd", "qfx5240-64od", "z9664f", "z9864f", "ds4000", "ds5000", "as9736-64d", "q3400",
    "qm8700", "qm9700",
    "linux-64x400", "linux-16x100",
}  # fmt: skip
HOSTS_PROMISED = {
    "dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300", "dgx-b300-2x400",
    "hgx-8gpu", "hgx-2x200", "hgx-b200", "hgx-b300", "hgx-b300-2x400",
    "hgx-b300-8x100", "hgx-h200", "gb200-nvl72", "gb300-nvl72", "gb300-nvl72-2x400", "mi300x-cx7", "mi325x-cx7",
    "mi325x-pollara", "mi355x-pollara", "mi355x-thor2", "as-8125gs-tnmr2", "ucs-c885a-m8", "xe9680", "xe9712",
    "sys-821ge-tnhr", "cray-xd670", "sr680a-v3", "rtx-pro-8gpu", "rtx-pro-8gpu-cx8", "grand-teton", "lab-host",
}  # fmt: skip
NICS_PROMISED = {
    "connectx-5", "connectx-6", "connectx-6-dx", "connectx-7", "connectx-8", "connectx-9", "bluefield-2", "bluefield-3",
    "thor", "thor2", "pollara", "e810", "e810-iwarp", "e830",
}  # fmt: skip
SONIC = [name for name in CATALOG.switches if "sonic" in CATALOG.switches[name].nos]


def fabric_lanes(model: SwitchModel) -> list[int]:
    return [group.lanes for group in model.cages if group.fabric for _ in range(group.count)]


def test_the_catalog_has_what_it_promises():
    assert set(CATALOG.switches) >= SWITCHES_PROMISED
    assert set(CATALOG.hosts) >= HOSTS_PROMISED
    assert set(CATALOG.nics) >= NICS_PROMISED


def test_the_schema_is_a_valid_schema_that_describes_every_property():
    wanted = load_schema("catalog")
    Draft202012Validator.check_schema(wanted)

    def properties(node):
        if isinstance(node, dict):
            for name, value in node.get("properties", {}).items():
                if "type" in value or "oneOf" in value:
                    yield name, value
            for value in node.values():
                yield from properties(value)
        elif isinstance(node, list):
            for value in node:
                yield from properties(value)

    undescribed = [
        name
        for name, value in properties(wanted)
        if isinstance(value.get("type"), str)
        and "description" not in value
        and name not in ("first", "per_cage")
    ]
    assert undescribed == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_built_in_file_follows_the_schema_and_holds_the_model_it_is_named_after(file: Path):
    content = yaml.safe_load(file.read_text("utf-8"))
    assert [breach.message for breach in breaches(content, "catalog")] == []
    assert list(content[file.parent.name]) == [file.stem]


@pytest.mark.parametrize("name", CATALOG.switches)
def test_a_built_in_switch_is_whole_with_what_it_extends(name: str):
    content = {"switches": {name: LIBRARY.raw("switches", name)}}
    assert [breach.message for breach in breaches(content, "catalog")] == []


def test_the_schema_refuses_a_bare_figure_wherever_one_may_stand():
    validator = Draft202012Validator(load_schema("catalog"))
    content = yaml.safe_load((MODELS / "switches" / "sn5600.yaml").read_text("utf-8"))

    def strip(node, found):
        if isinstance(node, dict):
            if "source" in node or "assumed" in node:
                kept = {key: node.pop(key) for key in ("source", "assumed") if key in node}
                found.append(validator.is_valid(content))
                node.update(kept)
            for value in node.values():
                strip(value, found)
        elif isinstance(node, list):
            for value in node:
                strip(value, found)

    accepted: list[bool] = []
    strip(content["switches"], accepted)
    assert len(accepted) >= 10
    assert not any(accepted)


@pytest.mark.parametrize("name", CATALOG.switches)
def test_every_switch_figure_has_a_source(name: str):
    model = CATALOG.switches[name]
    expected = {"ecmp_max_paths", "forwarding_latency_ns", "buffers.total_bytes", "buffers.cell_bytes"}
    expected |= {"buffers.max_lossless_classes", "buffers.pools"}
    expected |= {f"cages.{index}" for index in range(len(model.cages))} | {f"nos.{nos}" for nos in model.nos}
    expected |= {f"buffers.rows.{row.speed_gbps}.{row.cable_m}" for row in model.buffers.rows}
    buffers = LIBRARY.raw("switches", name)["buffers"]
    expected |= {"buffers.formula"} & {f"buffers.{key}" for key in buffers}
    expected |= {f"buffers.limits.{key}" for key in buffers.get("limits", {})}
    expected |= {"buffers.pools.size_includes_headroom"} if "accounting" in buffers["pools"] else set()
    expected |= {"buffers.siblings"} & {f"buffers.{key}" for key in buffers}
    expected |= {f"nos.{nos}.support" for nos in model.support}
    for part in ("sku", "ecn_delay"):
        expected |= {f"nos.{nos}.{part}" for nos, settings in model.nos.items() if part in settings}
    expected |= {"power"} if model.power else set()
    assert set(model.sources) == expected
    assert all(
        text == "assumed" or text.startswith("assumed: ") or " " in text for text in model.sources.values()
    )


@pytest.mark.parametrize("name", CATALOG.hosts)
def test_every_host_figure_has_a_source(name: str):
    model = CATALOG.hosts[name]
    expected = {"gpus", "rails", "nic", "ports_per_nic", "port_gbps", "management_interface", "management"}
    expected |= ({"pci"} if model.pci else set()) | ({"cages", "form_factor"} if model.cages else set())
    expected |= {f"networks.{network}" for network in model.networks}
    expected |= {"nvlink_domain"} if model.nvlink_domain else set()
    expected |= {"gpu_interconnect"} if model.gpus else set()
    expected |= {"power"} if model.power else set()
    assert set(model.sources) == expected


@pytest.mark.parametrize("name", [*CATALOG.switches, *CATALOG.hosts])
def test_power_is_of_the_box_itself_and_has_a_source(name: str):
    model = CATALOG.switches.get(name) or CATALOG.hosts[name]
    section = "switches" if name in CATALOG.switches else "hosts"
    own = yaml.safe_load((MODELS / section / f"{name}.yaml").read_text("utf-8"))[section][name]
    assert (model.power is not None) == ("power" in own)
    if model.power is not None:
        typical, most = model.power.typical_w, model.power.maximum_w
        assert typical or most
        assert typical is None or most is None or typical <= most
        assert not model.sources["power"].startswith("assumed")


@pytest.mark.parametrize("name", CATALOG.switches)
def test_switch_supports_a_system_or_states_why_not(name: str):
    assert bool(CATALOG.switches[name].nos) != bool(CATALOG.switches[name].listed)


@pytest.mark.parametrize("name", CATALOG.switches)
def test_no_built_in_switch_contradicts_itself(name: str):
    assert list(switch_findings(CATALOG.switches[name])) == []


@pytest.mark.parametrize("name", CATALOG.hosts)
def test_no_built_in_host_contradicts_itself(name: str):
    assert list(host_findings(CATALOG.hosts[name])) == []


@pytest.mark.parametrize("name", SONIC)
def test_sonic_lanes_are_unique_and_fill_every_cage(name: str):
    model = CATALOG.switches[name]
    lanes = model.nos["sonic"]["lanes"]
    assert [len(cage) for cage in lanes] == fabric_lanes(model)
    every = [lane for cage in lanes for lane in cage]
    every += [lane for port in model.nos["sonic"].get("service_ports", []) for lane in port["lanes"]]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("name", SONIC)
def test_every_use_of_a_cage_has_its_sonic_breakout_mode(name: str):
    model = CATALOG.switches[name]
    split = 0
    for run in cage_runs(model):
        uses = {f"{use.children}x{use.speed_gbps}" for use in run.cages.breakouts}
        assert set(run.modes) in (uses, set())
        split += bool(run.modes)
        if not run.modes:  # the platform has no `platform.json`, hence no splits
            assert all(use.children == 1 for use in run.cages.breakouts)
    assert split in (0, len(cage_runs(model)))


@pytest.mark.parametrize("name", CATALOG.switches)
def test_children_never_take_more_lanes_than_the_cage_has(name: str):
    for group in CATALOG.switches[name].cages:
        assert all(use.children * use.lanes <= group.lanes for use in group.breakouts)


@pytest.mark.parametrize(
    "name",
    [name for name in TABLES if name.startswith(("dell-z9332", "dell-z9664", "dell-z9864", "tomahawk"))],
)
def test_broadcom_tables_are_whole_cells(name: str):
    cells = [row[column] for row in TABLES[name]["rows"] for column in (2, 3, 4, 6)]
    assert all(value % 254 == 0 for value in cells)


def test_spectrum_sizes_add_up_except_for_the_published_defect():
    short = []
    for name in ("sn3700", "sn4700", "sn5400", "sn5600"):
        rows = CATALOG.switches[name].buffers.rows
        short += [(name, r.speed_gbps, r.cable_m) for r in rows if r.size_bytes < r.xon_bytes + r.xoff_bytes]
    assert short == [("sn5400", 40, 5), ("sn5600", 40, 5)]


@pytest.mark.parametrize("name", CATALOG.switches)
def test_a_longer_cable_never_gets_less_headroom(name: str):
    by_speed: dict[int, list[int]] = {}
    for row in CATALOG.switches[name].buffers.rows:
        by_speed.setdefault(row.speed_gbps, []).append(row.xoff_bytes)
    known = {"7060x6-64pe-b": {400}}  # published: 425,958 at 30 m and 445,770 at 5 m
    fallen = {speed for speed, values in by_speed.items() if values != sorted(values)}
    assert fallen == known.get(name, set())


@pytest.mark.parametrize(
    "name", [name for name in CATALOG.switches if CATALOG.switches[name].asic_family != "quantum"]
)
def test_every_fabric_speed_from_100g_on_has_a_lossless_row_or_a_formula(name: str):
    model = CATALOG.switches[name]
    speeds = {use.speed_gbps for group in model.cages if group.fabric for use in group.breakouts}
    have = {row.speed_gbps for row in model.buffers.rows}
    lacking = {speed for speed in speeds if speed >= 100} - have
    known_gaps = {"express": {200}, "jericho2": {200}, "tomahawk3": {200}, "tomahawk6": {1600}}
    assert lacking <= known_gaps.get(model.asic_family, set())


@pytest.mark.parametrize("name", CATALOG.switches)
def test_pools_fit_the_packet_buffer(name: str):
    buffers = CATALOG.switches[name].buffers
    pools = buffers.pools
    own = 0 if pools.size_includes_headroom else pools.headroom_bytes
    assert pools.ingress_lossless_bytes + own <= buffers.total_bytes
    assert pools.egress_lossless_bytes <= buffers.total_bytes


def test_a_model_is_read_only_when_it_is_requested(monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    text = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda self, *args: read.append(self.name) or text(self, *args))
    monkeypatch.setattr(load, "_load_builtin", load._load_builtin.__wrapped__)
    load_package_yaml.cache_clear()
    catalog, diagnostics = load_catalog()
    assert (read, diagnostics) == ([], ())
    assert "sn5600" in catalog.switches
    assert catalog.switches["sn5600"].title == "NVIDIA SN5600"
    assert catalog.switches["sn5600"] is catalog.switches["sn5600"]
    assert read == ["sn5600.yaml", "nvidia-spectrum4.yaml"]


def test_looking_up_an_unknown_name_is_a_key_error_and_near_names_are_suggested():
    with pytest.raises(KeyError):
        CATALOG.switches["sn5601"]
    assert "sn5600" in suggest_names("sn5601", CATALOG.switches)
    assert suggest_names("7060X6", CATALOG.switches)[0] == "7060x6-64pe"
    assert suggest_names("zzzz", CATALOG.switches) == ()
    assert suggest_names("s" * 1_000_000, CATALOG.switches) == ()


@pytest.mark.parametrize("name", ["gb200-nvl72", "gb300-nvl72", "gb300-nvl72-2x400", "xe9712"])
def test_eighteen_trays_of_an_nvl72_share_nvlink(name: str):
    assert (CATALOG.hosts[name].nvlink_domain, CATALOG.hosts[name].domain_hosts) == (72, 18)
    assert CATALOG.hosts["dgx-b200"].domain_hosts == 1
