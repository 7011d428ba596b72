"""`fabricc catalog import`: published data about a switch becomes an entry that loads, with its gaps."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.nos.sonic.words import Platform, port_name
from fabricc.base.diagnostics import Severity
from fabricc.catalog.importing import ImportOptions, ImportResult, import_switch
from fabricc.catalog.load import load_catalog
from fabricc.cli.entry import run

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.catalog.model import SwitchModel

POOLS = """
{%- macro generate_buffer_pool_and_profiles() %}
    "BUFFER_POOL": {
        "ingress_lossless_pool": {"size": "160000000", "type": "ingress", "mode": "dynamic", "xoff": "30000000"},
        "egress_lossless_pool": {"size": "165000000", "type": "egress", "mode": "static"}
    },
    "BUFFER_PROFILE": {
        "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "static_th": "165000000"},
        "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "165867080"},
        "egress_lossy_profile": {"pool": "egress_lossless_pool", "size": "1778", "dynamic_th": "0"}
    },
{%- endmacro %}
"""
LOOKUP = "# speed cable size xon xoff threshold xon_offset\n" + "".join(
    f"{mbps} {metres}m 18796 0 {mbps + metres} 0 3556\n"
    for mbps in (100000, 200000, 400000, 800000)
    for metres in (5, 40)
)
WIDE = {"1x800G[400G]": 1, "2x400G": 2, "4x200G[100G]": 4}


class Box:
    """A platform folder: `cages` of (lanes, modes), as `platform.json` and `port_config.ini` state them."""

    def __init__(self, clone: Path, cages: list[tuple[list[int], dict[str, int]]], label: str = "letters"):
        (clone / ".git").mkdir(parents=True)
        self.folder = clone / "device" / "maker" / "x86_64-maker_box9-r0"
        self.sku = self.folder / "Box9-O64"
        self.sku.mkdir(parents=True)
        self.rows: list[tuple[str, str, str, int]] = []
        interfaces: dict[str, Any] = {}
        number = 0
        for cage, (lanes, modes) in enumerate(cages, start=1):
            parts = {
                mode: [self.label(label, cage, n, k, len(lanes)) for k in range(n)]
                for mode, n in modes.items()
            }
            listed = ",".join(map(str, lanes))
            interfaces[f"Ethernet{number}"] = {
                "index": ",".join([str(cage)] * len(lanes)), "lanes": listed, "breakout_modes": parts,
            }  # fmt: skip
            self.rows.append((f"Ethernet{number}", listed, next(iter(parts.values()))[0], cage))
            number += len(lanes)
        self.write("platform.json", json.dumps({"interfaces": interfaces}))
        self.write("default_sku", "Box9-O64 t1\n")
        self.write("platform_asic", "broadcom\n")
        table = "# name lanes alias index\n" + "".join(" ".join(map(str, row)) + "\n" for row in self.rows)
        self.write("Box9-O64/port_config.ini", table)
        self.write(
            "Box9-O64/sai.profile", "SAI_INIT_CONFIG_FILE=/usr/share/sonic/hwsku/th5-box9.config.bcm\n"
        )
        self.write("Box9-O64/pg_profile_lookup.ini", LOOKUP)
        self.write("Box9-O64/buffers_defaults_t1.j2", POOLS)

    @staticmethod
    def label(style: str, cage: int, children: int, child: int, lanes: int) -> str:
        if style == "lane":
            return f"Ethernet{cage}/{child * lanes // children + 1}"
        if style == "plain":
            return f"Port{cage}" if children == 1 else f"Port{cage}/{child + 1}"
        return f"etp{cage}" if children == 1 else f"etp{cage}{'abcdefgh'[child]}"

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def imported(self, **wishes: Any) -> ImportResult:
        return import_switch(self.folder, ImportOptions(**wishes))


def eight_lanes(count: int = 4) -> list[tuple[list[int], dict[str, int]]]:
    return [([8 * (cage ^ 1) + lane for lane in range(1, 9)], WIDE) for cage in range(count)]


def import_model(tmp_path: Path, made: ImportResult, name: str = "box9") -> SwitchModel:
    (tmp_path / "own.yaml").write_text(made.text)
    catalog, found = load_catalog([tmp_path / "own.yaml"])
    assert found == ()
    return catalog.switches[name]


def found_codes(made: ImportResult) -> list[str]:
    return [each.code for each in made.found]


@pytest.mark.parametrize("style", ["letters", "lane", "plain"])
def test_names_lanes_labels_and_indices_are_those_of_the_port_table(tmp_path: Path, style: str) -> None:
    mixed = [([200 + cage], {"1x25G[10G]": 1}) for cage in range(6)]
    box = Box(
        tmp_path / "clone", [*mixed, *eight_lanes(6), ([400], {"1x10G": 1}), ([401], {"1x10G": 1})], style
    )
    found = import_model(tmp_path, box.imported(since="202505"))
    platform = Platform.of(found)
    assert [(group.count, group.lanes, group.fabric) for group in found.cages] == [
        (6, 1, True), (6, 8, True), (2, 1, False),
    ]  # fmt: skip
    for name, lanes, alias, cage in box.rows[:12]:
        port: Any = SimpleNamespace(cage=cage, child=1, children=1, lanes=lanes.count(",") + 1)
        assert port_name(found, cage, 1, 1) == name
        assert (platform.port_lanes(port), platform.port_index(port)) == (lanes, cage)
        assert platform.port_alias(port) == alias
    stated = json.loads((box.folder / "platform.json").read_text())["interfaces"]["Ethernet6"][
        "breakout_modes"
    ]
    for children, mode in ((2, "2x400G"), (4, "4x200G[100G]")):
        ports: Any = [
            SimpleNamespace(cage=7, child=k + 1, children=children, lanes=8 // children)
            for k in range(children)
        ]
        assert [platform.port_alias(port) for port in ports] == stated[mode]
        assert platform.breakout_mode(7, children, 800 // children) == mode
    assert [service["name"] for service in platform.service_ports] == [row[0] for row in box.rows[12:]]
    assert found.support["sonic"] == "202505"


def test_buffers_are_the_literals_of_the_sku(tmp_path: Path) -> None:
    made = Box(tmp_path / "clone", eight_lanes()).imported(since="202505")
    assert found_codes(made) == ["FAB2128"]
    found = import_model(tmp_path, made)
    pools = found.buffers.pools
    assert (pools.ingress_lossless_bytes, pools.headroom_bytes) == (160_000_000, 30_000_000)
    assert (pools.size_includes_headroom, pools.egress_lossless_limit_bytes) == (True, 165_867_080)
    assert found.buffers.total_bytes == 165_867_080
    assert {(row.speed_gbps, row.cable_m): row.xoff_bytes for row in found.buffers.rows}[400, 40] == 400040
    sources = [found.sources["buffers.pools"], found.sources["buffers.rows.400.40"]]
    assert all("device/maker/x86_64-maker_box9-r0/Box9-O64/" in source for source in sources)
    assert found.sources["buffers.cell_bytes"] != ""
    assert found.asic == "Tomahawk 5"


def test_missing_figures_are_reported_as_assumed(tmp_path: Path) -> None:
    box = Box(tmp_path / "clone", eight_lanes())
    for name in ("pg_profile_lookup.ini", "sai.profile"):
        (box.sku / name).unlink()
    (box.folder / "platform.json").unlink()
    text = (
        (box.sku / "port_config.ini")
        .read_text()
        .replace("# name lanes alias index", "# name lanes alias index speed")
    )
    (box.sku / "port_config.ini").write_text(
        "\n".join(line if line.startswith("#") else f"{line} 800000" for line in text.splitlines())
    )
    made = box.imported(asic="tomahawk5", name="ours")
    assert found_codes(made) == ["FAB2124", "FAB2125", "FAB2126", "FAB2127", "FAB2128"]
    assert {each.severity for each in made.found} == {Severity.WARNING}
    found = import_model(tmp_path, made, "ours")
    assert [use.children for use in found.cages[0].breakouts] == [1]
    assert all(
        found.sources[path].startswith("assumed") for path in found.sources if path.startswith("buffers.rows")
    )


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (lambda box: box.write("default_sku", "Other t1\n"), "FAB2121"),
        (lambda box: box.write("Box9-O64/sai.profile", "SAI_INIT_CONFIG_FILE=/etc/config.bcm\n"), "FAB2122"),
        (lambda box: box.write("platform.json", "{"), "FAB2123"),
        (lambda box: box.write("Box9-O64/port_config.ini", "Ethernet0 1,2,3,4,5,6,7,9 etp1 1\n"), "FAB2123"),
    ],
)
def test_failed_import_states_the_reason(tmp_path: Path, harm: Any, code: str) -> None:
    box = Box(tmp_path / "clone", eight_lanes())
    harm(box)
    made = box.imported()
    assert (found_codes(made), made.text) == ([code], "")
    assert made.found[0].severity is Severity.ERROR
    assert made.found[0].help


def test_names_that_jump_within_equal_cages_are_refused(tmp_path: Path) -> None:
    box = Box(tmp_path / "clone", eight_lanes())
    text = (box.folder / "platform.json").read_text().replace('"Ethernet16"', '"Ethernet20"')
    box.write("platform.json", text)
    box.write("Box9-O64/port_config.ini", "")
    assert found_codes(box.imported()) == ["FAB2123"]


def test_a_service_port_that_the_sku_does_not_have_is_no_port(tmp_path: Path) -> None:
    box = Box(tmp_path / "clone", [*eight_lanes(), ([400], {"1x10G": 1}), ([401], {"1x10G": 1})])
    lines = (box.sku / "port_config.ini").read_text().splitlines(keepends=True)
    box.write("Box9-O64/port_config.ini", "".join(lines[:-1]))
    found = import_model(tmp_path, box.imported(since="202505"))
    assert [port["name"] for port in found.nos["sonic"]["service_ports"]] == ["Ethernet32"]
    assert found.cages[-1].count == 2


def test_a_template_is_searched_and_never_run(tmp_path: Path) -> None:
    box = Box(tmp_path / "clone", eight_lanes())
    box.write("Box9-O64/buffers_defaults_t1.j2", POOLS.replace('"160000000"', '"{{ 160000000 }}"'))
    assert found_codes(box.imported(since="202505")) == ["FAB2124", "FAB2128"]


def test_a_link_out_of_the_clone_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(LOOKUP.replace("18796", "66666"))
    box = Box(tmp_path / "clone", eight_lanes())
    (box.sku / "pg_profile_lookup.ini").unlink()
    (box.sku / "pg_profile_lookup.ini").symlink_to(secret)
    made = box.imported(since="202505")
    assert "66666" not in made.text
    assert "FAB2124" in found_codes(made)
    inside = box.folder.parent / "common.ini"
    inside.write_text(LOOKUP.replace("18796", "66666"))
    (box.sku / "pg_profile_lookup.ini").unlink()
    (box.sku / "pg_profile_lookup.ini").symlink_to("../../common.ini")
    assert "66666" in box.imported(since="202505").text


TYPE = """\
manufacturer: Maker
model: Nexus 9
interfaces:
  - {name: Ethernet1/1, type: 100gbase-x-qsfp28}
  - {name: Ethernet1/2, type: 100gbase-x-qsfp28}
  - {name: Ethernet1/3, type: 400gbase-x-qsfpdd}
  - {name: Ethernet1/4, type: 10gbase-x-sfpp}
  - {name: Ethernet1/5, type: 32gfc-sfp28}
  - {name: mgmt0, type: 1000base-t, mgmt_only: true}
"""


def test_a_device_type_of_netbox_gives_its_cages(tmp_path: Path) -> None:
    file = tmp_path / "N9.yaml"
    file.write_text(TYPE)
    made = import_switch(file, ImportOptions(asic="cloudscale"))
    assert found_codes(made) == ["FAB2129", "FAB2129", "FAB2126", "FAB2124"]
    assert "32gfc-sfp28" in made.found[0].message
    found = import_model(tmp_path, made, "nexus-9")
    assert [(g.count, g.lanes, g.breakouts[0].speed_gbps, g.fabric) for g in found.cages] == [
        (2, 4, 100, True), (1, 8, 400, True), (1, 1, 10, False),
    ]  # fmt: skip
    assert found_codes(import_switch(file, ImportOptions())) == ["FAB2122"]
    file.write_text("manufacturer: 3\n")
    assert found_codes(import_switch(file, ImportOptions(asic="cloudscale"))) == ["FAB2120"]
    assert found_codes(import_switch(tmp_path / "x.txt", ImportOptions())) == ["FAB2120"]


@pytest.mark.parametrize("turns", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_no_text_of_others_raises(tmp_path: Path, turns: int) -> None:
    chance = random.Random(5)
    box = Box(tmp_path / "clone", eight_lanes())
    names = [
        "platform.json",
        "default_sku",
        "platform_asic",
        *(f"Box9-O64/{f.name}" for f in box.sku.iterdir()),
    ]
    whole = {name: (box.folder / name).read_text() for name in names}
    bits = ['"', "{", "}", ",", "9" * 30, "-1", "null", "[]", "Ethernet", "\x00", "é", "(", "x", "\n", " "]
    for turn in range(turns):
        name = names[turn % len(names)]
        text = whole[name]
        for _ in range(chance.randint(1, 4)):
            at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
            text = text[:at] + chance.choice(bits) + text[min(end, at + 20) :]
        box.write(name, text)
        made = box.imported()
        assert made.found
        if made.text:
            (tmp_path / "own.yaml").write_text(made.text)
            assert load_catalog([tmp_path / "own.yaml"])[1] == ()
        box.write(name, whole[name])


def test_the_verb_writes_what_the_user_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    box = Box(tmp_path / "clone", eight_lanes())
    target = tmp_path / "box9.yaml"
    assert run(["catalog", "import", str(box.folder), "--since", "202505", "-o", str(target)]) == 0
    reported = capsys.readouterr()
    assert "FAB2128" in reported.err
    assert "extends: tomahawk5" in target.read_text()
    assert run(["catalog", "--add", str(target), "box9"]) == 0
    assert "maker box9" in capsys.readouterr().out
    assert run(["catalog", "import", str(box.folder), "--sku", "None"]) == 1
    assert "Box9-O64" in capsys.readouterr().err
