"""Support is a fact with a source: since which release a NOS runs, and which files of a SKU belong together."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from fabricc.back import nos as back_ends
from fabricc.back.nos.sonic.words import Platform
from fabricc.base.diagnostics import Severity
from fabricc.catalog.library import Library
from fabricc.catalog.load import load_catalog
from fabricc.catalog.model import SpectrumFigures
from fabricc.catalog.support import model_at_release, oldest_release, release_numbers, runs_release
from fabricc.cli.catalog import command
from fabricc.compiler.compiled import compile_spec
from tests.back.nos.sonic.variants import tor

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = Library()
MODELS = {name: LIBRARY.switch(name) for name in LIBRARY.names("switches")}
PAIRS = [(name, nos) for name, model in MODELS.items() for nos in model.nos if nos != "infiniband"]
SONIC = sorted(name for name, model in MODELS.items() if "sonic" in model.nos)
BRANCHES = {
    "sn3700": "202305", "sn4700": "202305", "sn5400": "202311", "sn5600": "202305", "7060x6-64pe": "202505",
    "7060dx5-64s": "202305", "ds4000": "202305", "z9664f": "202505", "z9864f": "202605",
}  # fmt: skip

SPEC = """\
cluster: support
gpus: {{hosts: 64, model: dgx-b200, wiring: rail, hosts_per_unit: 32}}
tors: {{model: {model}, nos: {nos}{more}, oversubscription: 1.0}}
spines: {{model: {model}, nos: {nos}}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
{catalog}
{accept}
"""


def found(folder: Path, code: str, model: str, nos: str, more: str = "", accept: str = "") -> list[Any]:
    spec = folder / "cluster.yaml"
    accept = accept and f"accept: [{{code: {accept}, reason: an image of our own}}]"
    catalog = "catalog: [own.yaml]" if (folder / "own.yaml").exists() else ""
    spec.write_text(SPEC.format(model=model, nos=nos, more=more, accept=accept, catalog=catalog))
    return [d for d in compile_spec(spec).diagnostics if d.code == code]


@pytest.mark.parametrize(("name", "nos"), PAIRS)
def test_every_supported_system_has_a_first_release_and_a_source(name: str, nos: str) -> None:
    model = MODELS[name]
    assert release_numbers(model.support[nos])
    source = model.sources[f"nos.{nos}.support"]
    assert source.startswith("assumed: ") or len(source) > 20
    read = nos == "sonic" or name.startswith("qfx5240-64")
    assert read or source.startswith("assumed: ")


@pytest.mark.parametrize("name", SONIC)
def test_sonic_runs_from_the_branch_whose_tree_has_the_folder(name: str) -> None:
    model = MODELS[name]
    since, source = model.support["sonic"], model.sources["nos.sonic.support"]
    assert since == BRANCHES.get(name, since)
    assert model.nos["sonic"]["platform"] in source
    if "build" in model.nos["sonic"]["support"]:
        assert "in no community branch to 202605" in source
        return
    if "pull request" in source:  # no branch has the tree yet: the one after the newest known release
        assert "in no branch to 202605" in source
        assert since not in back_ends.load("sonic").releases
        return
    assert re.search(rf"branch(es)? {since}\b", source)
    assert re.search(
        r"not in \d{6}|oldest looked at|has the box without|empty table|202605 and master", source
    )


@pytest.mark.parametrize("name", SONIC)
def test_hwsku_port_table_lookup_table_and_pools_are_of_one_sku(name: str) -> None:
    model, settings = MODELS[name], MODELS[name].nos["sonic"]
    if "sku" not in settings:  # `sai.profile` names no file
        assert name in {"as4630-54te", "as9726-32d"}
        return
    sku, folder = settings["sku"], f"{settings['platform']}/{settings['hwsku']}"
    assert folder in model.sources["nos.sonic.sku"]
    shown = model_at_release(model, "sonic", "202605")
    note = LIBRARY.raw("switches", name)["nos"]["sonic"]["sku"].get("note", "")
    if "pools" in sku and not shown.sources["buffers.pools"].startswith("assumed"):
        assert f"{folder}/{sku['pools']}" in shown.sources["buffers.pools"]
    elif "pools" in sku and shown.buffers.formula and not isinstance(shown.buffers.formula, SpectrumFigures):
        assert "not used" in note  # the template of the SKU, and why its pools do not count
    tables = {
        row.table: shown.sources[f"buffers.rows.{row.speed_gbps}.{row.cable_m}"] for row in shown.buffers.rows
    }
    if "lookup" in sku:
        own = LIBRARY.raw("tables", sku["lookup"])["source"]
        assert folder in own or re.sub(r"^.*is that of |,.*$", "", note) in own or name == "sn5400"
        assert sku["lookup"] in tables
        assert all(
            source.startswith("assumed") for table, source in tables.items() if table != sku["lookup"]
        ) or (name == "7060x6-64pe")
    else:
        assert all(source.startswith("assumed") for source in tables.values())


@pytest.mark.parametrize(
    ("name", "release", "lookup", "cell", "xoff"),
    [
        ("7060x6-64pe-b", "202505", "arista-7060x6-64pe-b-202505", (400, 150), 445_770),
        ("7060x6-64pe-b", "202511", "arista-7060x6-64pe-b-202511", (400, 150), 611_328),
        ("7060x6-64pe-b", "202605", "arista-7060x6-64pe-b", (400, 150), 445_770),
        ("7220-d4", "202505", "nokia-7220-d4-202505", (400, 300), 325_632),
        ("7220-d4", "202511", "nokia-7220-d4", (400, 300), 325_632),
        ("m2-w6940-64oc", "202605", None, (400, 40), 446_024),
        ("7050sx3-48yc8", "202505", "arista-7050sx3-48yc8", (100, 40), 177_632),
        ("7050sx3-48yc8", "202511", None, (100, 40), 177_632),
        ("sn5610", "202605", "nvidia-sn5610n", (800, 40), 132_096),
        ("sn5640", "202511", "nvidia-sn5640", (400, 40), 104_448),
        ("nh-4010", "202605", "nexthop-nh-4010", (400, 40), 612_140),
        ("nh-5010", "202605", "nexthop-nh-5010", (400, 300), 651_640),
        ("ds3000", "202505", "celestica-silverstone-v2", (100, 40), 55_120),
        ("7220-h4-64d", "202505", "nokia-7220-h4", (400, 40), 330_200),
        ("7220-h6-64", "202605", "nokia-7220-h5", (800, 40), 614_172),
        ("7260cx3-64", "202505", "arista-7260cx3-64", (100, 40), 59_696),
    ],
)
def test_headroom_is_that_of_the_branch_of_the_release(
    name: str, release: str, lookup: str | None, cell: tuple[int, int], xoff: int
) -> None:
    model = model_at_release(MODELS[name], "sonic", release)
    assert model.nos["sonic"]["sku"].get("lookup") == lookup
    found = {(row.speed_gbps, row.cable_m): row.xoff_bytes for row in model.buffers.rows}
    assert found[cell] == xoff
    assumed = model.sources[f"buffers.rows.{cell[0]}.{cell[1]}"].startswith("assumed")
    assert assumed == (lookup is None)


def test_pools_are_those_of_the_branch_of_the_release() -> None:
    pools = {
        release: model_at_release(MODELS["7060x6-64pe-b"], "sonic", release).buffers.pools
        for release in ("202505", "202511", "202605")
    }
    assert [each.ingress_lossless_bytes for each in pools.values()] == [164_075_364, 164_505_640, 164_505_640]
    assert pools["202505"].egress_lossless_limit_bytes == 165_364_160
    other = MODELS["7060x6-64pe-b"]
    assert model_at_release(other, "eos", "4.32") is other


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("202411", "202505"),
        ("4.9.1F", "4.32"),
        ("10.4(3)F", "10.5"),
        ("22.4R1", "23.4R2"),
        ("5.9", "5.14"),
        ("9.1", "10.0"),
    ],
)
def test_releases_compare_as_their_makers_count(older: str, newer: str) -> None:
    assert release_numbers(older) < release_numbers(newer)
    model = replace(MODELS["sn5600"], support={"x": newer})
    assert (runs_release(model, "x", older), runs_release(model, "x", newer)) == (False, True)
    assert oldest_release(model, "x", (older, newer)) == newer
    assert oldest_release(model, "x", (older,)) is None


@pytest.mark.parametrize(
    ("model", "nos"),
    [
        ("z9864f", "sonic-202511"),
        ("z9664f", "sonic-202411"),
        ("sn5400", "sonic-202305"),
        ("7060x6-64pe", "sonic-202411"),
        ("7060x6-64pe", "eos-4.31"),
        ("qfx5240-64od", "junos-22.4"),
    ],
)
def test_a_release_older_than_the_platform_is_refused_until_accepted(
    tmp_path: Path, model: str, nos: str
) -> None:
    (tor, spine) = found(tmp_path, "FAB5653", model, nos)
    assert {tor.severity, spine.severity} == {Severity.ERROR}
    assert MODELS[model].support[nos.partition("-")[0]] in tor.message
    assert tor.position.line == 3
    accepted = found(tmp_path, "FAB5653", model, nos, accept="FAB5653")
    assert {d.severity for d in accepted} == {Severity.NOTE}


def test_no_release_with_other_port_labels_builds_on_the_7060x6(tmp_path: Path) -> None:
    """`port_config.ini` of Arista-7060X6-64PE-O128S2 by branch: `Ethernet1/1` in 202405 and 202411, then `etp1a`."""
    labels = {
        "202405": "Ethernet1/1",
        "202411": "Ethernet1/1",
        "202505": "etp1a",
        "202511": "etp1a",
        "202605": "etp1a",
    }
    port = replace(tor().ports[0], cage=1, child=1, children=2, lanes=4)
    ours = Platform.of(MODELS["7060x6-64pe"]).port_alias(port)
    assert labels.keys() < set(back_ends.load("sonic").releases)
    for release in back_ends.load("sonic").releases:  # the older ones have no such SKU
        refused = found(tmp_path, "FAB5653", "7060x6-64pe", f"sonic-{release}")
        severities = [] if labels.get(release) == ours else [Severity.ERROR] * 2
        assert [d.severity for d in refused] == severities
        output = "labels ports Ethernet1/1 up to 202411 and etp1a from 202505"
        assert all(output in d.message for d in refused)


def test_a_release_that_is_not_stated_is_one_that_runs(tmp_path: Path) -> None:
    default = back_ends.load("nxos").default_release
    assert release_numbers(default) < release_numbers(MODELS["9364e-sg2"].support["nxos"])
    assert found(tmp_path, "FAB5653", "9364e-sg2", "nxos") == []
    assert len(found(tmp_path, "FAB5653", "9364e-sg2", f"nxos-{default}")) == 2


def test_user_catalog_switch_without_a_first_release_warns(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "switches:\n  ours:\n    extends: sn5600\n    nos:\n      xnos: {source: a sheet, port: 'swp{cage}'}\n"
    )
    catalog, wrong = load_catalog([tmp_path / "own.yaml"])
    assert wrong == ()
    ours = catalog.switches["ours"]
    assert "xnos" in ours.nos
    assert "xnos" not in ours.support
    assert runs_release(ours, "xnos", "1")
    assert not runs_release(ours, "sonic", "202211")
    eos = "{source: a sheet, family: trident, port: 'Ethernet{cage}'}"
    silent = f"switches:\n  silent:\n    extends: sn5600\n    nos: {{eos: {eos}}}\n"
    (tmp_path / "own.yaml").write_text(silent)
    (tor, spine) = found(tmp_path, "FAB5654", "silent", "eos", accept="", more="")
    assert {tor.severity, spine.severity} == {Severity.WARNING}


def test_figures_of_two_skus_are_refused_until_accepted(tmp_path: Path) -> None:
    whole = found(tmp_path, "FAB5655", "7060x6-64pe", "sonic-202505")
    assert {d.severity for d in whole} == {Severity.ERROR}
    assert "Arista-7060X6-64PE-O128S2" in whole[0].message
    assert "tomahawk5-beyond-7060x6" in whole[0].message
    assert re.search("Use a .* that the table lists", whole[0].help)
    accepted = found(tmp_path, "FAB5655", "7060x6-64pe", "sonic-202505", accept="FAB5655")
    assert {d.severity for d in accepted} == {Severity.NOTE}
    assert found(tmp_path, "FAB5655", "7060x6-64pe", "sonic-202505", ", uplink_gbps: 400") == []


def test_the_page_of_a_model_shows_both() -> None:
    shown = CliRunner().invoke(command, ["7060x6-64pe"], standalone_mode=False).output
    assert re.search(r"runs: eos since 4\.32 +assumed: ", shown)
    assert re.search(r"runs: sonic since 202505 +\[\d+\]", shown)
    assert "Arista-7060X6-64PE-O128S2: port_config.ini, lossless table arista-7060x6-400g" in shown
    figures = json.loads(
        CliRunner().invoke(command, ["7060x6-64pe", "--format", "json"], standalone_mode=False).output
    )
    values = {row["figure"]: row["value"] for row in figures["figures"]}
    assert values["nos.sonic.support"] == "202505"
    assert values["nos.sonic.sku.sdk"] == "th5-a7060x6-64pe.config.bcm"
    assert all(row["source"] for row in figures["figures"] if row["figure"].startswith("nos."))
