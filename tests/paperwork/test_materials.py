"""The bill of materials: every cable of the plan is on it once, each end is fitted, and nothing is too short."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.catalog.optics import load_optics
from fabricc.compiler.compiled import compile_spec
from fabricc.front.planning.alternatives import own_shape
from fabricc.paperwork.bill import (
    BILL,
    LABELS,
    bill_rows,
    label_rows,
    link_parts,
    material_findings,
    power_of,
)
from fabricc.paperwork.materials import list_materials, merge_materials
from fabricc.paperwork.racks import Place
from tests.compiler.test_networks import WHOLE
from tests.effort import scale_examples
from tests.front.planning.support import fabric_of, make_document, planned, spec_of

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.paperwork.materials import Item, Materials

INVENTORIES = Path(__file__).parents[2] / "inventories"
LARGE = {"hpn-dual-plane-pod", "meta-24k"}
HOSTS = ["dgx-b200", "hgx-8gpu", "hgx-2x200", "hgx-b300-2x400", "dgx-a100", "mi355x-pollara", "gb200-nvl72"]
MODULES = {module.title: module for module in load_optics().transceivers}
CABLES = ("host_cables", "spine_cables", "core_cables")


def small_spec(
    host: str = "dgx-b200", switch: str = "sn5600", medium: str = "smf", metres: int = 40, **more: Any
) -> dict[str, Any]:
    cable = {"medium": medium, "length_m": metres}
    tier = {"model": switch, "nos": "frr"}
    return make_document(
        gpus={"model": host, "hosts": 8, "hosts_per_unit": 4}, tors=tier, spines={**tier, "count": 2},
        cables={"host": cable, "spine": cable}, **more,
    )  # fmt: skip


def check_bill(fabric: Fabric, found: Materials) -> None:
    """Check properties of every bill."""
    counts = fabric.counts()
    assert len(found.joints) == sum(counts[kind] for kind in CABLES)
    assert [joint.row for joint in found.joints] == list(fabric.cables())
    without = [joint for joint in found.joints if joint.cable is None]
    assert len(without) == sum(found.lacking.values())
    assert count_parts(found, "missing") == len(without)
    assert count_parts(found, "switch") == counts["tors"] + counts["spines"] + counts["cores"]
    assert count_parts(found, "host") == counts["hosts"]
    for joint in found.joints:
        if joint.cable is None:
            assert joint.modules == (None, None)
        elif joint.cable.item == "fibre":
            for module in joint.modules:
                assert module is not None
                assert MODULES[module.title].reach_m >= joint.row.length_m
        else:
            assert joint.modules == (None, None)
            assert joint.cable.length_m == joint.row.length_m
    assert {item for joint in found.joints for item in (joint.cable, *joint.modules) if item} == {
        item for item in found.bill if item.item in ("transceiver", "fibre", "cable")
    }


def count_parts(found: Materials, kind: str, role: str | None = None) -> int:
    return sum(n for item, n in found.bill.items() if item.item == kind and role in (None, item.role))


def lines(found: Materials, kind: str) -> dict[str, int]:
    return {item.title: n for item, n in found.bill.items() if item.item == kind}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.name, marks=[pytest.mark.slow] if path.name in LARGE else [])
        for path in sorted(INVENTORIES.iterdir())
    ],
)
def test_every_cable_of_an_inventory_is_fitted(name: str) -> None:
    compiled = compile_spec(INVENTORIES / name / "cluster.yaml")
    subnets = compiled.infiniband
    fabric = subnets.wiring if subnets else compiled.planned
    assert fabric is not None
    found = list_materials(fabric, "infiniband" if subnets else "ethernet")
    check_bill(fabric, found)
    findings = list(material_findings(compiled.spec, found))
    assert {each.code for each in findings} <= {"FAB3144"}
    numberless = {
        item.title for item in found.bill if item.item in ("transceiver", "cable") and not item.number
    }
    for title in numberless:
        assert any(title in each.message or " more" in each.message for each in findings), title
    assert bool(findings) == bool(numberless)
    labels = list(label_rows(found, {}))
    assert len(labels) == 2 * len(found.joints)
    ends = {(row[2], row[3]) for row in labels}
    assert len(ends) == len(labels)


@settings(max_examples=scale_examples(60), deadline=None)
@given(
    st.sampled_from(HOSTS),
    st.sampled_from(["sn5600", "sn5400", "sn4700", "7060x6-64pe", "7060dx5-64s", "z9864f"]),
    st.sampled_from(["dac", "aec", "aoc", "mmf", "smf"]),
    st.integers(1, 700),
    st.sampled_from([1, 1, 2, 4]),
)  # fmt: skip
def test_a_bill_adds_up_and_never_exceeds_a_reach(
    host: str, switch: str, medium: str, metres: int, planes: int
) -> None:
    metres = min(metres, {"dac": 5, "aec": 7}.get(medium, 100 if medium != "smf" else 700))
    text = small_spec(host, switch, medium, metres, planes=planes)
    fabric = planned(text).fabric
    if fabric is None:
        return
    found = list_materials(fabric)
    check_bill(fabric, found)
    codes = [d.code for d in material_findings(spec_of(text), found)]
    assert codes.count("FAB3140") == len(found.lacking)
    assert "FAB3141" not in codes


def test_two_nics_of_a_dgx_share_a_module_and_each_keeps_its_fibre() -> None:
    fabric = fabric_of(small_spec("dgx-h100"))
    found = list_materials(fabric)
    hosts, counts = fabric.counts()["hosts"], fabric.counts()
    assert count_parts(found, "transceiver", "host") == 4 * hosts
    assert count_parts(found, "fibre", "host") == counts["host_cables"] == 8 * hosts


def test_a_port_of_800g_takes_two_fibres_of_a_twin_port_module() -> None:
    found = list_materials(fabric := fabric_of(small_spec()))
    assert fabric.shape.uplink_gbps == 800
    assert count_parts(found, "fibre", "spine") == 2 * fabric.counts()["spine_cables"]
    assert count_parts(found, "transceiver", "spine") == fabric.counts()["spine_cables"]


def test_a_splitter_is_bought_once_for_its_children() -> None:
    copper = list_materials(fabric := fabric_of(small_spec("hgx-8gpu", medium="dac", metres=2)))
    hosts = fabric.counts()["host_cables"]
    assert lines(copper, "cable")["dac 2x400G osfp to 2 x osfp-rhs"] == hosts // 2
    parts = {item.number for item in copper.bill if item.item == "cable" and item.role == "host"}
    assert parts == {"MCP7Y00-N002"}
    fibre = list_materials(fabric := fabric_of(small_spec("hgx-2x200", planes=2, medium="mmf")))
    assert count_parts(fibre, "fibre", "host") == fabric.counts()["host_cables"] // 2
    assert lines(fibre, "fibre")["mmf mpo-12 to 2 x mpo-12"] == fabric.counts()["host_cables"] // 2


def test_planes_on_a_split_port_need_the_parts_of_two_sold_ports() -> None:
    split = list_materials(fabric_of(small_spec("dgx-b300", medium="mmf", planes=2)))
    sold = list_materials(fabric_of(small_spec("dgx-b300-2x400", medium="mmf", planes=2)))
    parts = ("transceiver", "fibre", "cable", "missing")
    bills = [{item: n for item, n in each.bill.items() if item.item in parts} for each in (split, sold)]
    assert bills[0] == bills[1]
    assert count_parts(split, "transceiver", "host") == 8 * count_parts(split, "host")


@pytest.mark.parametrize(
    ("host", "planes"), [("dgx-b300", 4), ("dgx-h100", 2), ("hgx-8gpu", 2), ("mi355x-pollara", 4)]
)
def test_a_cage_that_planes_split_takes_no_splitter_of_the_tor(host: str, planes: int) -> None:
    fabric = fabric_of(small_spec(host, medium="aec", metres=3, planes=planes))
    found = list_materials(fabric)
    assert count_parts(found, "missing", "host") == fabric.counts()["host_cables"]
    text = small_spec(host, medium="aec", metres=3, planes=planes)
    (wrong,) = [d for d in material_findings(spec_of(text), found) if d.message.startswith("cables.host")]
    assert (wrong.code, "are both split" in wrong.message) == ("FAB3140", True)
    assert "shuffle" in str(wrong.help)


@pytest.mark.parametrize("planes", [1, 2])
@pytest.mark.parametrize("host", ["dgx-b300", "hgx-2x200", "dgx-h100"])
def test_parts_of_split_ports_in_closed_form_are_those_of_the_bill(host: str, planes: int) -> None:
    text = small_spec(host, medium="mmf", planes=planes)
    text["gpus"]["rails_per_tor"] = 8
    fabric = fabric_of(text)
    bought: Counter[tuple[str, str]] = Counter()
    for item, number in list_materials(fabric).bill.items():
        if item.item not in ("switch", "host"):
            bought[item.item, item.title] += number
    computed: Counter[tuple[str, str]] = Counter()
    for item, number in link_parts(own_shape(spec_of(text), fabric)).items():
        computed[item.item, item.title] += number
    assert computed == bought


@pytest.mark.parametrize("medium", ["", "smf"])
@pytest.mark.parametrize("host", ["dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300-2x400", "rtx-pro-8gpu-cx8"])
def test_hosts_of_nvidia_have_parts_with_a_number(host: str, medium: str) -> None:
    """Their cages are of the flat form, of which NVIDIA sells twin-port modules (-FLT)."""
    text = small_spec(host, medium=medium or "mmf", metres=5)
    if not medium:
        del text["cables"]["host"]
    bought = {
        (item.number, item.vendor)
        for item in list_materials(fabric_of(text)).bill
        if item.item in ("transceiver", "cable") and item.role == "host"
    }
    assert bought == {("MMS4X00-NS-FLT" if medium else "MMA4Z00-NS-FLT", "nvidia")}


def test_part_numbers_are_those_of_the_maker_of_each_end() -> None:
    text = small_spec("mi355x-pollara", "7060x6-64pe", metres=40)
    modules = {
        (item.role, item.vendor, item.number)
        for item in list_materials(fabric_of(text)).bill
        if item.item == "transceiver"
    }
    assert ("tor", "arista", "OSFP-800G-2XDR4") in modules
    assert ("host", "", "") in modules
    nvidia = {
        item.number
        for item in list_materials(fabric_of(small_spec(metres=90))).bill
        if item.item == "transceiver"
    }
    assert "MMS4X00-NS" in nvidia
    assert "MMS4X00-NM" in {
        item.number
        for item in list_materials(fabric_of(small_spec(metres=400))).bill
        if item.item == "transceiver"
    }


def test_a_plug_has_the_lanes_of_its_ports() -> None:
    """A QSFP-DD cage takes QSFP56 plugs, which have half of its lanes and no port of 400G."""
    text = small_spec("dgx-a100", "sn4700", medium="aoc", metres=5)
    text["cables"]["spine"] = {"medium": "dac", "length_m": 2}
    found = list_materials(fabric_of(text))
    assert set(lines(found, "cable")) == {"dac 1x400G qsfp-dd to qsfp-dd"}
    assert {lack.kind for lack in found.lacking} == {"host"}


@pytest.mark.parametrize(
    ("host", "switch", "medium", "instead"),
    [
        ("mi355x-pollara", "sn5600", "smf", ["dac", "aec"]),
        ("hgx-8gpu", "7060x6-64pe", "mmf", ["dac", "aec", "smf"]),
        ("mi355x-pollara", "7060x6-64pe", "aec", []),
        ("dgx-b300", "7060x6-64pe", "aec", None),
    ],
)
def test_parts_without_a_number_are_reported_with_media_that_have_them(
    host: str, switch: str, medium: str, instead: list[str] | None
) -> None:
    """Without any part (None) or any number the remedy names the keys of both ends."""

    def numberless(chosen: str) -> list[str | None]:
        text = small_spec(host, switch, chosen, 2)
        findings = material_findings(spec_of(text), list_materials(fabric_of(text)))
        return [d.help for d in findings if d.message.startswith("cables.host") and d.code != "FAB3141"]

    (remedy,) = numberless(medium)
    assert remedy is not None
    if instead:
        assert remedy.startswith(f"Use `medium: {' or '.join(instead)}`")
    else:
        assert remedy.startswith("Take another" if instead is None else "No `medium` has numbers here")
        assert "`gpus.model`" in remedy
        assert "`tors.model`" in remedy
    assert [other for other in instead or () if numberless(other)] == []


@pytest.mark.parametrize(
    ("host", "switch", "medium", "numberless"),
    [
        ("dgx-h100", "sn5600", "mmf", set()),
        ("dgx-h100", "7060x6-64pe", "smf", set()),  # Arista's number of 2x400GBASE-SR4 is not in the catalog
        ("dgx-h100", "qfx5240-64od", "smf", set()),
        ("dgx-b200", "ds5000", "mmf", {"2x400GBASE-SR4 OSFP"}),
        ("hgx-h100", "7060x6-64pe", "aec", set()),
    ],
)
def test_the_default_medium_of_a_dgx_is_one_with_numbers_where_there_is_one(
    host: str, switch: str, medium: str, numberless: set[str]
) -> None:
    text = small_spec(host, switch)
    del text["cables"]["host"]
    fabric = fabric_of(text)
    found = list_materials(fabric)
    assert fabric.cable_kinds["host"].medium == medium
    items = {i.title for j in found.joints if j.row.kind == "host" for i in j.unnumbered}
    assert items == numberless


@pytest.mark.parametrize(
    ("host", "switch", "medium", "metres", "words", "instead"),
    [
        ("hgx-8gpu", "sn4700", "dac", 3, "which passive copper does not convert", ["aec", "mmf", "smf"]),
        ("dgx-h100", "sn5600", "aec", 5, "are both split", ["mmf", "smf"]),
        ("hgx-8gpu", "sn5600", "mmf", 120, "reaches 100 m", ["smf"]),
        ("hgx-8gpu", "sn5600", "aoc", 20, "no part in the catalog joins", ["mmf", "smf"]),
    ],
)
def test_unconnectable_links_are_reported_with_a_working_remedy(
    host: str, switch: str, medium: str, metres: int, words: str, instead: list[str]
) -> None:
    text = small_spec(host, switch, medium, metres)
    reported = [
        d
        for d in material_findings(spec_of(text), list_materials(fabric_of(text)))
        if d.message.startswith("cables.host")
    ]
    (wrong,) = reported
    assert wrong.code == "FAB3140"
    assert words in wrong.message
    assert wrong.help is not None
    assert wrong.help.startswith(f"Use {' or '.join(instead)} of that length")
    for other in instead:
        again = list_materials(fabric_of(small_spec(host, switch, other, metres)))
        assert [lack for lack in again.lacking if lack.kind == "host"] == []


def test_cables_of_one_cage_that_need_different_modules_are_reported() -> None:
    host = {"overrides": {"su001-tor1a": {"ports": {"swp1s0": {"medium": "mmf"}}}}}
    text = small_spec("hgx-8gpu", **host)
    found = list_materials(fabric_of(text))
    assert found.torn == {"host": 1}
    assert [d.code for d in material_findings(spec_of(text), found)] == ["FAB3141"]


def test_spares_are_rounded_up_for_each_line_of_optics_and_cables() -> None:
    found = list_materials(fabric_of(small_spec()))
    for row in bill_rows(found, Fraction(2, 100)):
        line = dict(zip(BILL, row, strict=True))
        if line["item"] == "power":
            continue
        wanted = (
            -(-int(str(line["quantity"])) * 2 // 100)
            if line["item"] in ("transceiver", "fibre", "cable")
            else 0
        )
        assert line["spares"] == wanted
        assert line["total"] == int(str(line["quantity"])) + wanted


def test_a_label_names_its_own_end_first_and_a_cable_by_its_lower_end() -> None:
    rows = [
        dict(zip(LABELS, row, strict=True)) for row in label_rows(list_materials(fabric_of(small_spec())), {})
    ]
    near, far = rows[:2]
    assert near["cable"] == far["cable"] == f"{near['device']} {near['port']}"
    assert (near["line_1"], near["line_2"]) == ("su001-host01 rail0", f"to {far['line_1']}")
    assert far["line_2"] == f"to {near['line_1']}"
    assert near["line_3"] == "smf 40 m, 400G"


def test_growth_moves_no_label() -> None:
    def named(hosts: int) -> set[tuple[object, ...]]:
        text = small_spec()
        text["gpus"] |= {"hosts": hosts, "capacity": 32}
        return set(label_rows(list_materials(fabric_of(text)), {}))

    assert named(8) < named(12)


def test_a_bill_of_several_networks_counts_their_hosts_once(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(WHOLE)
    compiled = compile_spec(tmp_path / "cluster.yaml")
    fabrics = [each.planned for each in (compiled, *compiled.networks.values()) if each.planned is not None]
    assert len(fabrics) == 3
    found = merge_materials(list_materials(fabric) for fabric in fabrics)
    counts = [fabric.counts() for fabric in fabrics]
    assert count_parts(found, "host") == counts[0]["hosts"]
    assert count_parts(found, "switch") == sum(each["tors"] + each["spines"] for each in counts)
    assert [joint.row for joint in found.joints] == [row for fabric in fabrics for row in fabric.cables()]
    labels = [(row[2], row[3]) for row in label_rows(found, {})]
    assert len(set(labels)) == len(labels)


def test_bill_items_have_sources() -> None:
    bill: list[Item] = [
        item for item in list_materials(fabric_of(small_spec())).bill if item.item == "transceiver"
    ]
    assert bill
    assert all(item.source for item in bill)


POWER = """\
sources: {meter: "measured in our hall, with copper alone"}
switches:
  sn5600: {extends: sn5600, power: {typical_w: 900, maximum_w: 2000, source: meter}}
  sn5400: {extends: sn5400, power: {maximum_w: 1500, with_optics: [maximum], source: meter}}
hosts:
  dgx-b200: {extends: dgx-b200, power: {maximum_w: 14300, source: meter}}
"""
SPEC = """\
cluster: drawing
catalog: [power.yaml]
gpus: {model: dgx-b200, hosts: 8, hosts_per_unit: 4}
tors: {model: sn5600, nos: sonic}
spines: {model: %s, nos: sonic, count: 2}
priorities: {rdma: {dscp: 26, lossless: true}, default: {}}
cables: {host: {medium: smf, length_m: 40}, spine: {medium: smf, length_m: 40}}
"""


def lines_of(
    folder: Path, spine: str = "sn5600", places: Any = None
) -> dict[tuple[str, str], dict[str, Any]]:
    (folder / "power.yaml").write_text(POWER)
    (folder / "cluster.yaml").write_text(SPEC % spine)
    found = list_materials(compile_spec(folder / "cluster.yaml").fabric)
    rows = (dict(zip(BILL, row, strict=True)) for row in bill_rows(found, Fraction(1, 100), places))
    return {(line["item"], line["for"]): line for line in rows}


def test_a_line_draws_what_its_quantity_draws_and_a_rack_what_stands_in_it(tmp_path: Path) -> None:
    places = {
        "su001-tor1a": Place("A1", 40, 2),
        "spine01a": Place("A1", 38, 2),
        "su001-host01": Place("A2", 1, 8),
    }
    lines = lines_of(tmp_path, places=places)
    tors, modules = lines["switch", "tor"], lines["transceiver", "tor"]
    assert (tors["typical_w"], tors["maximum_w"]) == (900 * tors["quantity"], 2000 * tors["quantity"])
    assert (modules["part_number"], modules["maximum_w"]) == ("MMS4X00-NS", 17 * modules["quantity"])
    of = [line for (item, _), line in lines.items() if item in ("switch", "host", "transceiver")]
    whole = lines["power", "all"]
    assert whole["quantity"] == sum(line["quantity"] for line in of)
    assert whole["maximum_w"] == sum(line["maximum_w"] or 0 for line in of)
    assert lines["fibre", "host"]["maximum_w"] == ""
    in_tor = modules["quantity"] // tors["quantity"]
    in_spine = lines["transceiver", "spine"]["quantity"] // 2
    assert lines["power", "A1"]["quantity"] == 2 + in_tor + in_spine
    assert lines["power", "A1"]["maximum_w"] == 4000 + 17 * (in_tor + in_spine)
    assert lines["power", "A2"]["title"].startswith("known of ") or lines["power", "A2"]["maximum_w"] >= 14300


def test_unknown_power_is_reported_instead_of_guessed(tmp_path: Path) -> None:
    lines = lines_of(tmp_path)
    whole = lines["power", "all"]
    known = sum(
        line["quantity"]
        for (item, _), line in lines.items()
        if item in ("switch", "host", "transceiver") and line["maximum_w"] != ""
    )
    assert f"maximum of {known} of {whole['quantity']} devices" in whole["title"]
    assert lines["host", "host"]["typical_w"] == ""


def test_optics_that_a_figure_counts_already_are_not_counted_again(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "sn5400")
    assert lines["transceiver", "tor"]["maximum_w"] > 0
    assert lines["transceiver", "spine"]["maximum_w"] == 0


def test_closed_form_power_equals_the_bill(tmp_path: Path) -> None:
    lines = lines_of(tmp_path)
    compiled = compile_spec(tmp_path / "cluster.yaml")
    parts = power_of(link_parts(own_shape(compiled.spec, compiled.fabric)).items())
    boxes = [line for (item, _), line in lines.items() if item in ("switch", "host")]
    assert lines["power", "all"]["maximum_w"] == parts.maximum_w + sum(line["maximum_w"] for line in boxes)
