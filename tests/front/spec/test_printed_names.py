"""Names as quotes and makers print them: a refusal gives the name of the catalog, or the word of the spec."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.base.installation import load_package_yaml
from fabricc.catalog.library import (
    PRINTED_NAMES,
    explain_unlisted,
    find_printed_name,
    list_built_in,
    name_models,
    suggest_name,
)
from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from pathlib import Path

BOX = {"model": "sn5600", "nos": "sonic"}


def find_helps(folder: Path, **sections: Any) -> str:
    path = folder / "cluster.yaml"
    spec = {
        "cluster": "quoted",
        "gpus": {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4},
        "tors": BOX,
        "spines": BOX,
    }
    path.write_text(json.dumps(spec | sections))
    return " ".join(
        each.help for each in compile_spec(path, gaps=False).diagnostics if each.severity.value == "error"
    )


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("DCS-7060X6-64PE-F", "7060x6-64pe"),
        ("DCS-7060X6-64PE-B-R", "7060x6-64pe-b"),
        ("N9K-C9364E-SG2-O", "9364e-sg2"),
        ("N9K-C9332D-GX2B", "9332d-gx2b"),
        ("Z9864F-ON", "z9864f"),
        ("QFX5240-64OD", "qfx5240-64od"),
        ("MSN4700-WS2FC", "sn4700"),
        ("AIS800-64O", "ais800-64o"),
        ("SN9999", ""),
        ("x" * 70, ""),
    ],
)
def test_a_part_number_contains_the_name_of_its_model(printed: str, name: str) -> None:
    assert find_printed_name(printed, list_built_in("switches")) == name


@pytest.mark.parametrize(
    ("section", "printed", "names"),
    [
        ("switches", "920-9N42F-00RI-7C0", ["sn5600"]),
        ("switches", "920-9N42F-00RI-3C1", ["sn5610"]),
        ("switches", "920-9B210-00FN-0M0", ["qm9700"]),
        ("switches", "MQM9700-NS2F", ["qm9700"]),
        ("switches", "AS9817-64O", ["ais800-64o"]),
        ("switches", "7700R4C-38PE-F", ["7700r4-38pe"]),
        ("switches", "z9864", ["z9864f"]),
        ("switches", "QFX5241-64OD", ["qfx5240-64od"]),
        ("switches", "7220 IXR-H6-128", ["7220-h6-128"]),
        ("switches", "N9100", ["n9164e-ns4"]),
        ("nics", "MCX75310AAS-NEAT", ["connectx-7"]),
        ("nics", "900-9X81E-00EX-ST0", ["connectx-8"]),
        ("nics", "CX-8", ["connectx-8"]),
        ("nics", "BF3", ["bluefield-3"]),
        ("nics", "BCM957608-P2200GQF00", ["thor2"]),
        ("hosts", "gb200", ["gb200-nvl72"]),
        ("hosts", "MI350X", ["mi350x-pollara", "mi350x-thor2"]),
        ("hosts", "HGX H100", ["hgx-h100"]),
        ("hosts", "rtx-pro-server", ["rtx-pro-8gpu", "rtx-pro-8gpu-cx8"]),
        ("hosts", "PowerEdge XE9780L", ["hgx-b300-2x400", "hgx-b300"]),
        ("hosts", "ThinkSystem SR680a V4", ["hgx-b300-2x400", "hgx-b300"]),
        ("hosts", "SYS-822GS-NB3RT", ["hgx-b300-2x400", "hgx-b300"]),
        ("hosts", "AS-4126GS-NBR-LCC", ["hgx-b200"]),
        ("hosts", "AS-8126GS-TNMR2", ["mi325x-pollara", "mi325x-cx7", "mi350x-pollara", "mi350x-thor2"]),
        ("hosts", "HPE Cray XD685", ["hgx-h200", "hgx-b200", "mi325x-pollara", "mi355x-pollara"]),
        ("hosts", "UCSC-C880A-M8", ["hgx-b300-2x400", "hgx-b300"]),
        ("hosts", "zzzz", []),
    ],
)
def test_a_printed_name_leads_to_models(section: str, printed: str, names: list[str]) -> None:
    assert list(name_models(printed, list_built_in(section))) == names


def test_every_printed_name_is_of_a_model_and_has_a_source() -> None:
    table = load_package_yaml(PRINTED_NAMES)
    sections = table.keys() - {"sources", "unlisted"}
    rows = [(section, row) for section in sections for row in table[section].values()]
    unlisted = [row["source"] for row in table["unlisted"].values()]
    assert {row["source"] for _, row in rows} | set(unlisted) == set(table["sources"])
    for section, row in rows:
        assert {*row.get("models", [row.get("model")])} <= {*list_built_in(section)}


@pytest.mark.parametrize(
    ("host", "tor", "words"),
    [("gaudi3", "th6", "accept FAB5603"), ("vr200-nvl144", "Tomahawk 6", "extends gb300-nvl72")],
)
def test_products_and_asics_lead_to_what_can_be_planned(
    host: str, tor: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.yaml"
    tors = f"{{model: {tor.lower()}, nos: sonic}}"
    path.write_text(f"cluster: z\ngpus: {{model: {host}, hosts: 64}}\ntors: {tors}\nspines: {tors}\n")
    found = [
        each for each in compile_spec(path, gaps=False).diagnostics if each.code in ("FAB3013", "FAB1006")
    ]
    assert words in found[0].help
    assert "7220-h6-128" in found[1].help
    assert found[0].help == suggest_name(host, list_built_in("hosts"))


def test_a_wrong_model_is_reported_first(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "cluster: z\ngpus: {model: dgx-h1000, hosts: 64}\ntors: {model: sn56000, nos: sonic}\n"
        "spines: {model: qfx5240-64od}\nnetworks: {storage: {groups: [{name: s, model: storage-2x4000}]}}\n"
    )
    found = compile_spec(path, gaps=False).diagnostics
    assert [(each.code, each.help) for each in found][:3] == [
        ("FAB3013", "Did you mean dgx-h100?"),
        ("FAB3013", "Did you mean sn5600?"),
        ("FAB3013", "Did you mean storage-2x400?"),
    ]
    assert {each.code for each in found} >= {"FAB2003", "FAB1002"}
    assert any(each.help == "Add `nos: junos`." for each in found)


@pytest.mark.parametrize(
    ("printed", "written"),
    [
        ("nxos-10.6(4)M", "nxos-10.6"),
        ("Cisco NX-OS 10.5(3)F", "nxos-10.5"),
        ("junos-23.4X100-D41.2-EVO", "junos-23.4"),
        ("Junos OS Evolved 25.4R1", "junos-25.4"),
        ("eos-4.35.0F-cleur", "eos-4.35"),
        ("eos4.35", "eos-4.35"),
        ("cumulus-linux-5.13", "cumulus-5.13"),
        ("cumulus-5.20.0-beta", "cumulus-5.20"),
    ],
)
def test_a_release_as_its_maker_prints_it_has_a_word_of_the_spec(
    printed: str, written: str, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        f"cluster: z\ngpus: {{model: dgx-h100, hosts: 8, hosts_per_unit: 8}}\n"
        f"tors: {{model: sn5600, nos: {printed!r}}}\npriorities: {{default: {{}}}}\n"
    )
    found = compile_spec(path, gaps=False).diagnostics
    assert [each.help for each in found if each.code == "FAB1006"] == [f"Write `{written}`."]


def test_models_of_the_spec_count_for_the_size_of_a_unit(tmp_path: Path) -> None:
    own = "{extends: dgx-h100, title: Mine, vendor: acme}"
    (tmp_path / "mine.yaml").write_text(
        f"hosts: {{my-host: {own}}}\nswitches: {{my-box: {own.replace('dgx-h100', 'sn4700')}}}\n"
    )
    path = tmp_path / "cluster.yaml"
    text = (
        "cluster: z\ngpus: {model: my-host, hosts: 64}\ntors: {model: my-box, nos: sonic}\n"
        "spines: {model: my-box, nos: sonic}\npriorities: {default: {}}\ncatalog: [mine.yaml]\n"
    )
    path.write_text(text)
    (found,) = compile_spec(path, gaps=False).diagnostics
    assert (found.code, found.help) == ("FAB2003", "Add `hosts_per_unit: 16`.")
    path.write_text(text.replace("my-host", "my-hosts"))
    assert [each.code for each in compile_spec(path, gaps=False).diagnostics] == ["FAB3013", "FAB2003"]


@pytest.mark.parametrize(
    ("model", "nos", "near"),
    [
        ("n9164e-ns4", "nxos", "sn5600 (`nos: sonic`)"),
        ("n9164e-ns4", "nxos", "9364e-sg2"),
        ("8122-64eh-o", "sonic", "9364e-sg2 (`nos: nxos`)"),
        ("cx864e-n", "sonic", "7060x6-64pe"),
        ("sn6810", "cumulus", "sn6600"),
        ("minipack2", "sonic", "z9664f"),
    ],
)
def test_a_box_without_a_system_has_an_alternative(model: str, nos: str, near: str, tmp_path: Path) -> None:
    box = {"model": model, "nos": nos}
    assert near in find_helps(tmp_path, tors=box, spines=box)


@pytest.mark.parametrize(
    ("model", "help_"),
    [
        ("ais800-64o", "Add `nos: sonic-edgecore`."),
        ("sn5600", "Add `nos: sonic`; NVIDIA SN5600 also runs cumulus."),
        ("qm9700", "write `fabric: infiniband` at the top level"),
    ],
)
def test_a_missing_system_is_one_that_runs_on_the_model(model: str, help_: str, tmp_path: Path) -> None:
    assert help_ in find_helps(tmp_path, tors={"model": model}, spines={"model": model})


@pytest.mark.parametrize("nos", ["sonic", "sonic-edgecore", "sonic-enterprise-4.4"])
def test_a_box_of_a_vendors_build_warns_of_other_builds(nos: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    box = {"model": "ais800-64o", "nos": nos}
    path.write_text(json.dumps({"cluster": "z", "gpus": {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4},
                                "tors": box, "spines": box}))  # fmt: skip
    found = [each for each in compile_spec(path, gaps=False).diagnostics if each.code == "FAB3093"]
    assert len(found) == (0 if nos == "sonic-edgecore" else 2)
    assert all(each.help.startswith("Write `nos: sonic-edgecore`") for each in found)


@pytest.mark.parametrize(
    ("sections", "word"),
    [
        ({"tors": {"model": "DCS-7060X6-64PE-F", "nos": "eos"}}, "'7060x6-64pe'"),
        ({"tors": {"model": "dcs-7060x6-64pe-f", "nos": "eos"}}, "Did you mean 7060x6-64pe?"),
        ({"gpus": {"model": "PowerEdge XE9680", "hosts": 8, "hosts_per_unit": 4}}, "'xe9680'"),
        ({"gpus": {"model": "NVIDIA DGX H100", "hosts": 8, "hosts_per_unit": 4}}, "'dgx-h100'"),
        ({"gpus": {"model": "dgx-h100", "nic": "bcm57608", "hosts": 8, "hosts_per_unit": 4}}, "thor2"),
        ({"tors": {"model": "9364d-gx2a", "nos": "nx-os 10.6(3)F"}}, "`nxos-10.6`"),
        ({"tors": {"model": "sn5600", "nos": "Cumulus Linux 5.16.1"}}, "`cumulus-5.16`"),
        ({"tors": {"model": "sn5600", "nos": "SONiC 202511"}}, "`sonic-202511`"),
        ({"load_balancing": {"mode": "adaptive"}}, "`mode: packet`"),
        ({"load_balancing": {"mode": "Packet Spraying"}}, "`mode: packet`"),
        ({"load_balancing": {"mode": "dlb"}}, "`mode: flowlet`"),
        ({"load_balancing": {"mode": "glb"}}, "global: true"),
        ({"load_balancing": {"mode": "ecmp"}}, "`mode: hash`"),
        ({"tors": {"model": "as9736-64d", "nos": "sonic"}}, "this ASIC: 7060dx5-64s"),
    ],
)
def test_a_refusal_has_the_word_that_helps(sections: dict[str, Any], word: str, tmp_path: Path) -> None:
    assert word in find_helps(tmp_path, **sections)


@pytest.mark.parametrize(
    ("printed", "word"),
    [
        ("DCS-7388-16CD2", "7060dx5-64s"),
        ("HF6100-64ED", "9364e-sg2"),
        ("QFX5140-24CD8O", "qfx5130-32cd"),
        ("Z9964F-ON", "7220-h6-128"),
        ("OS10-10.5.6", "sonic-enterprise"),
    ],
)
def test_a_product_that_is_not_included_leads_to_another_one(printed: str, word: str) -> None:
    assert word in explain_unlisted(printed)
