"""Users' catalog files: they add and change models, and no content of theirs raises."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.catalog import load_catalog
from fabricc.catalog.library import MODELS
from fabricc.catalog.load import MAX_BYTES
from tests.effort import scale_examples

SHIPPED = (MODELS / "switches" / "sn5600.yaml").read_text("utf-8")

VARIANT = """\
sources:
  sheet: our procurement sheet, rev 3
switches:
  sn5600-small:
    extends: sn5600
    title: SN5600 with half its cages
    cages:
      - {first: 1, count: 32, lanes: 8, breakouts: [1x800/8, 2x400/4], source: sheet}
    buffers:
      total_bytes: {value: 83886080, source: sheet}
    nos:
      sonic:
        source: sheet
        hwsku: Our-SKU
        service_ports: []
"""


def load(tmp_path: Path, *texts: str | bytes):
    paths = []
    for index, text in enumerate(texts):
        path = tmp_path / f"catalog-{index}.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        paths.append(path)
    return load_catalog(paths)


def list_findings(tmp_path: Path, text: str):
    _, diagnostics = load(tmp_path, text)
    return [
        (d.code, d.position.line, d.position.column, d.message, d.help) for d in diagnostics if d.position
    ]


def test_switch_variant_inherits_from_its_base(tmp_path: Path):
    catalog, diagnostics = load(tmp_path, VARIANT)
    assert diagnostics == ()
    base, variant = catalog.switches["sn5600"], catalog.switches["sn5600-small"]
    assert (variant.name, variant.title, variant.vendor) == (
        "sn5600-small",
        "SN5600 with half its cages",
        "nvidia",
    )
    assert [group.count for group in variant.cages] == [32]
    assert (variant.buffers.total_bytes, variant.buffers.rows) == (83886080, base.buffers.rows)
    assert variant.nos["sonic"]["hwsku"] == "Our-SKU"
    assert variant.nos["sonic"]["lanes"] == base.nos["sonic"]["lanes"][:32]
    assert variant.sources["buffers.total_bytes"] == "our procurement sheet, rev 3"
    assert variant.sources["buffers.cell_bytes"] == base.sources["buffers.cell_bytes"]


def test_a_whole_switch_with_its_own_table_host_and_nic_is_added(tmp_path: Path):
    text = SHIPPED.replace("  sn5600:", "  ours:").replace("table: nvidia-spectrum4", "table: measured")
    text += """\
tables:
  measured:
    source: our measurement of 2026-03
    columns: [speed_gbps, cable_m, size_bytes, xon_bytes, xoff_bytes, dynamic_th, xon_offset_bytes]
    rows:
      - [800, 40, 410000, 38912, 362000, 0, null]
nics:
  our-nic:
    title: Our NIC
    vendor: us
    driver: {value: mlx5_core, assumed: true}
    rdma_prefix: {value: mlx5, assumed: true}
    ports: {splits: [1x800/8], assumed: true}
hosts:
  our-host: {extends: dgx-b300, nic: {value: our-nic, assumed: true}}
"""
    catalog, diagnostics = load(tmp_path, text)
    assert diagnostics == ()
    (row,) = catalog.switches["ours"].buffers.rows
    assert (row.speed_gbps, row.xoff_bytes, row.xon_offset_bytes) == (800, 362000, None)
    assert catalog.switches["ours"].sources["buffers.rows.800.40"] == "our measurement of 2026-03"
    assert (catalog.hosts["our-host"].nic.title, catalog.hosts["our-host"].gpus) == ("Our NIC", 8)


def test_a_user_overrides_a_built_in_model_and_a_later_file_an_earlier(tmp_path: Path):
    change = "switches: {sn5600: {extends: sn5600, ecmp_max_paths: {value: %d, source: lab test %d}}}"
    catalog, diagnostics = load(tmp_path, change % (64, 1), change % (96, 2))
    assert diagnostics == ()
    assert catalog.switches["sn5600"].ecmp_max_paths == 96
    assert catalog.switches["sn5600"].sources["ecmp_max_paths"] == "lab test 2"


def test_nic_variant_inherits_from_its_base(tmp_path: Path):
    text = """\
nics:
  ours: {extends: connectx-7, title: Ours, rings: {rx: 4096, tx: 4096, source: our sheet 3}}
hosts:
  our-host: {extends: dgx-h100, title: Ours, nic: {value: ours, source: our sheet 3}}
"""
    catalog, diagnostics = load(tmp_path, text)
    assert diagnostics == ()
    base, ours = catalog.nics["connectx-7"], catalog.nics["ours"]
    assert (ours.name, ours.title, ours.driver, ours.port_splits) == (
        "ours", "Ours", base.driver, base.port_splits
    )  # fmt: skip
    assert ours.sources == {**base.sources, "rings": "our sheet 3"}
    host = catalog.hosts["our-host"]
    assert (host.nic, host.pci) == (ours, catalog.hosts["dgx-h100"].pci)


@pytest.mark.parametrize("section", ["switches", "hosts", "nics"])
def test_a_base_that_does_not_exist_is_reported_at_its_name(tmp_path: Path, section: str):
    text = f"{section}:\n  a:\n    title: A\n    extends: nothing-like-it\n"
    ((code, line, column, _, _),) = list_findings(tmp_path, text)
    assert (code, line, column) == ("FAB2105", 4, 5)


@pytest.mark.parametrize("section", ["switches", "hosts", "nics"])
def test_missing_keys_are_reported_once(tmp_path: Path, section: str):
    ((code, line, _, message, _),) = list_findings(tmp_path, f"{section}:\n  a:\n    title: A\n")
    assert (code, line) == ("FAB2103", 2)
    assert message.startswith(f"{section}.a: the key `vendor`, `")


def test_a_bare_figure_is_refused_where_it_stands(tmp_path: Path):
    text = "switches:\n  mine:\n    extends: sn5600\n    ecmp_max_paths: {value: 64}\n"
    ((code, line, column, message, remedy),) = list_findings(tmp_path, text)
    assert (code, line, column) == ("FAB2103", 4, 5)
    assert "`source`" in message
    assert "assumed: true" in remedy


def test_an_unknown_key_is_named_with_the_key_meant(tmp_path: Path):
    text = "switches:\n  mine:\n    extends: sn5600\n    titel: Mine\n"
    ((code, line, column, message, remedy),) = list_findings(tmp_path, text)
    assert (code, line, column) == ("FAB2103", 4, 5)
    assert "'titel'" in message
    assert remedy == "Did you mean `title`?"


TWO_RAILS = """\
hosts:
  a:
    extends: lab-host
    rails: {{value: 2, assumed: true}}
    pci: {{addresses: [{}], assumed: true}}
"""


@pytest.mark.spread
@pytest.mark.parametrize(
    ("text", "code", "line", "words"),
    [
        ("switches:\n  a: {extends: sn56000}\n", "FAB2105", 2, "sn56000"),
        ("switches:\n  a: {extends: b}\n  b: {extends: a}\n", "FAB2105", 2, "extends itself"),
        ("hosts:\n  a:\n    extends: dgx-b300\n    nic: {value: cx9, assumed: true}\n", "FAB2105", 4, "cx9"),
        (
            "hosts:\n  a:\n    extends: dgx-b300\n    port_gbps: {value: 3, assumed: true}\n",
            "FAB2106",
            4,
            "3G",
        ),
        (
            "hosts:\n  a:\n    extends: gb200-nvl72\n    nvlink_domain: {value: 70, assumed: true}\n",
            "FAB2106",
            4,
            "70 GPUs",
        ),
        (
            TWO_RAILS.format("'0000:01:00.0', '0000:01:00.1', '0000:02:00.0'"),
            "FAB2106",
            5,
            "3 PCI addresses for 2",
        ),
        ("switches:\n  a: {extends: sn5600, ecmp_max_paths: {value: 1, source: x}}\n", "FAB2104", 2, "'x'"),
        (VARIANT.replace("1x800/8", "1x800/8, 4x400/4"), "FAB2106", 8, "16 lanes of 8"),
        (VARIANT.replace("[1x800/8, 2x400/4]", "[2x400/4]"), "FAB2106", 8, "whole cage"),
        (VARIANT + "        lanes: 0-7 8-15\n", "FAB2106", 16, "2 lane lists for 32"),
        (VARIANT + "        lanes: 0-99999 8-15\n", "FAB2106", 4, "0-99999"),
        (
            "switches:\n  a: {extends: 7060xe7-64ps, nos: {sonic: {hwsku: X, assumed: true}}}\n",
            "FAB2103",
            2,
            "`lanes`",
        ),
        (
            "switches:\n  a: {extends: ds4100, nos: {eos: {family: sand, assumed: true}}}\n",
            "FAB2103",
            2,
            "`port`",
        ),
        (
            "switches:\n  a: {extends: ds4100, nos: {frr: {port: '{x.y}', assumed: true}}}\n",
            "FAB2103",
            2,
            "port",
        ),
        ("switches: {}\nswitches: {}\n", "FAB2102", 2, "duplicate key"),
        ("a: &a [1]\nb: *a\n", "FAB2102", 2, "aliases"),
        ("switches:\n\t- a\n", "FAB2102", 2, "YAML"),
        ("sources: {a: !!python/name:os.system x}\n", "FAB2102", 1, "tag"),
        ("sources: {a: .nan}\n", "FAB2102", 1, "finite"),
        ("sources: {a: 1" + "0" * 5000 + "}\n", "FAB2102", 1, "decimal"),
        ("sources:\n  a: |\n    x\n    y\n", "FAB2102", 2, "several lines"),
        ("[" * 100_000, "FAB2102", 1, "nested"),
        ("a: [" + "0," * 300_000 + "0]\n", "FAB2102", 1, "more than 200000 values"),
        ("--- {}\n--- {}\n", "FAB2102", 2, "more than one"),
        ("- 1\n", "FAB2103", 1, "mapping"),
        ("", "FAB2103", 1, "mapping"),
    ],
)
def test_catalog_errors_point_to_their_lines(tmp_path: Path, text: str, code: str, line: int, words: str):
    found = list_findings(tmp_path, text)
    assert (code, line) in [(entry[0], entry[1]) for entry in found]
    assert words in " ".join(entry[3] for entry in found)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe\x00", "UTF-8"), (b"# " + b"x" * MAX_BYTES, "4 MB"), (b"ok: \x00", "")],
)
def test_bytes_that_are_no_catalog_are_refused(tmp_path: Path, content: bytes, words: str):
    _, diagnostics = load(tmp_path, content)
    assert [d.code[:5] for d in diagnostics] == ["FAB21"]
    assert words in diagnostics[0].message


def test_a_missing_file_a_folder_and_an_impossible_name_are_reported(tmp_path: Path):
    _, diagnostics = load_catalog([tmp_path / "none.yaml", tmp_path, Path("nul\0byte")])
    assert [d.code for d in diagnostics] == ["FAB2101"] * 3
    assert {d.severity for d in diagnostics} == {Severity.ERROR}


def test_a_wrong_file_leaves_the_rest_of_the_catalog_as_it_was(tmp_path: Path):
    catalog, diagnostics = load(tmp_path, "switches: {sn5600: {title: 7}}", VARIANT)
    assert diagnostics
    assert catalog.switches["sn5600"].title == "NVIDIA SN5600"
    assert "sn5600-small" in catalog.switches


def test_models_built_on_a_refused_model_are_refused_with_it(tmp_path: Path):
    text = "switches:\n  a: {extends: b, title: A}\n  b: {extends: nothing-like-it, title: B}\n"
    catalog, diagnostics = load(tmp_path, text)
    assert {d.position.line for d in diagnostics if d.position} == {2, 3}
    assert not {"a", "b"} & set(catalog.switches)


@pytest.mark.slow
def test_a_chain_of_a_thousand_models_ends_in_diagnostics(tmp_path: Path):
    links = "\n".join(f"  m{n}: {{extends: m{n + 1}}}" for n in range(900))
    catalog, diagnostics = load(tmp_path, f"switches:\n{links}\n  m900: {{extends: sn5600}}\n")
    assert {d.code for d in diagnostics} == {"FAB2105"}
    assert catalog.switches["m900"].asic_family == "spectrum4"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
PATHS = [
    ("title",), ("cages",), ("cages", 0), ("cages", 0, "count"), ("cages", 0, "breakouts"), ("ecmp_max_paths",),
    ("ecmp_max_paths", "value"), ("buffers",), ("buffers", "pools"), ("buffers", "formula"),
    ("buffers", "headroom"), ("buffers", "headroom", 0, "table"), ("nos",), ("nos", "sonic"),
    ("nos", "sonic", "lanes"), ("nos", "sonic", "service_ports"), ("nos", "sonic", "port_step"), ("extends",),
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=scale_examples(60), deadline=None)
@given(value=JSON, path=st.sampled_from(PATHS), drop=st.booleans())
def test_a_mutilated_switch_gives_diagnostics_or_a_usable_model(tmp_path_factory, value, path, drop: bool):
    content = yaml.safe_load(SHIPPED)
    node = content["switches"]["sn5600"]
    for step in path[:-1]:
        node = node[step]
    if drop and path[-1] in (node if isinstance(node, dict) else ()):
        del node[path[-1]]
    else:
        node[path[-1]] = value
    file = tmp_path_factory.getbasetemp() / "mutilated.yaml"
    file.write_text(yaml.safe_dump(content), "utf-8")
    catalog, diagnostics = load_catalog([file])
    model = catalog.switches["sn5600"]
    assert diagnostics or model.buffers.rows is not None
    assert all(d.code.startswith("FAB21") and d.position for d in diagnostics)


@settings(max_examples=scale_examples(100), deadline=None)
@given(start=st.integers(0, len(SHIPPED)), length=st.integers(0, 40), junk=st.binary(max_size=12))
def test_a_damaged_file_never_raises(tmp_path_factory, start: int, length: int, junk: bytes):
    content = SHIPPED.encode()
    file = tmp_path_factory.getbasetemp() / "damaged.yaml"
    file.write_bytes(content[:start] + junk + content[start + length :])
    catalog, _ = load_catalog([file])
    assert catalog.switches["sn5600"].asic_family


TOFINO = """\
sources:
  sheet: our procurement sheet, rev 3
switches:
  as9516:
    extends: z9864f
    title: A Tofino 2
    buffers:
      cell_bytes: {value: 176, source: sheet}
      headroom: []
      formula:
        source: sheet
        family: tofino
        version: "2023"
        cell_bytes: 176
        pipeline_latency_kb: 68
        mac_phy_delay_kb: 0.8
        peer_response_kb: 9
        gearbox_delay_ns: 365
        lossless_mtu_bytes: 1024
        small_packet_percent: 100
        dynamic_th: -3
      limits:
        alpha_exponents: {least: -8, most: 3, source: sheet}
        port_profiles: {value: 16, source: sheet}
"""


def test_a_headroom_formula_of_another_family_with_its_limits(tmp_path: Path):
    catalog, diagnostics = load(tmp_path, TOFINO)
    assert diagnostics == ()
    buffers = catalog.switches["as9516"].buffers
    assert type(buffers.formula).__name__ == "TofinoFigures"
    assert (buffers.formula.version, buffers.formula.dynamic_th) == ("2023", -3)
    assert (buffers.limits.alpha_exponents, buffers.limits.port_profiles) == ((-8, 3), 16)
    assert buffers.limits.detect_ms == (100, 5000)
    assert (
        catalog.switches["as9516"].sources["buffers.limits.port_profiles"] == "our procurement sheet, rev 3"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        family: tofino\n", ""),
        ('        version: "2023"\n', ""),
        ("        dynamic_th: -3\n", ""),
        ("family: tofino", "family: spectrum"),
        ("family: tofino", "family: table"),
        ("family: tofino", "family: trident"),
        ("        dynamic_th: -3\n", "        dynamic_th: -3\n        tile: true\n"),
        ("least: -8, ", ""),
        ("least: -8, most: 3, source: sheet", "least: -8, most: 3"),
    ],
)
def test_a_formula_without_family_version_or_its_own_figures_is_refused(tmp_path: Path, old: str, new: str):
    _, diagnostics = load(tmp_path, TOFINO.replace(old, new, 1))
    assert {each.code for each in diagnostics} == {"FAB2103"}
    assert all(each.position is not None for each in diagnostics)


def test_a_switch_extends_an_asic_of_the_catalog_or_of_its_own_file(tmp_path: Path):
    file = tmp_path / "own.yaml"
    cages = "cages: [{first: 1, count: 8, lanes: 8, breakouts: [1x800/8], source: a sheet}]"
    file.write_text(
        "asics:\n  chip:\n    asic: Chip\n    asic_family: tomahawk5\n"
        "    ecmp_max_paths: {value: 8, source: a sheet}\n    forwarding_latency_ns: {value: 9, source: a sheet}\n"
        "    buffers:\n      total_bytes: {value: 9000, source: a sheet}\n"
        "      cell_bytes: {value: 100, source: a sheet}\n"
        "      max_lossless_classes: {value: 1, source: a sheet}\n      headroom: [{table: dell-z9864f}]\n"
        "      pools: {source: a sheet, ingress_lossless_bytes: 1, headroom_bytes: 0, egress_lossless_bytes: 1,\n"
        "        egress_lossy_bytes: null, egress_lossless_static: false, size_includes_headroom: false}\n"
        f"switches:\n  mine: {{extends: chip, title: Mine, vendor: me, {cages}, nos: {{}}}}\n"
        f"  theirs: {{extends: tomahawk5, title: Theirs, vendor: me, {cages}, nos: {{}}}}\n"
        f"  none: {{extends: chips, title: None of both, vendor: me, {cages}, nos: {{}}}}\n"
        f"  half: {{extends: tomahawk5, title: No cages, vendor: me}}\n"
    )
    catalog, found = load_catalog([file])
    assert (catalog.switches["mine"].asic, catalog.switches["mine"].buffers.total_bytes) == ("Chip", 9000)
    assert catalog.switches["theirs"].asic == "Tomahawk 5"
    assert [each.code for each in found] == ["FAB2105", "FAB2103"]
    assert "`chips`" in found[0].message
    assert "`cages`, `nos`" in found[1].message
