"""`fabricc plan --alternatives`: its output, its files, and its findings about prices."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.catalog.load import load_catalog
from fabricc.compiler.compiled import compile_spec
from fabricc.front.planning.alternatives import own_shape
from fabricc.paperwork.bill import Prices, link_parts
from fabricc.paperwork.materials import list_materials
from tests.cli.conftest import SPEC

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

INVENTORIES = Path(__file__).parents[2] / "inventories"
DOCUMENTED = re.findall(
    r"GPUs: `gpus: (.*?)`.*?\n```\n(.*?)```",
    (Path(__file__).parents[2] / "docs" / "alternatives.md").read_text(),
    re.DOTALL,
)
POD = """\
# 1,024 GPUs.
cluster: pod
gpus: {model: dgx-b200, hosts: 128, hosts_per_unit: 32}   # SU
tors: {model: sn5400, nos: sonic}
spines: {model: sn5400, nos: sonic}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
"""
FAST = POD.replace("sn5400", "sn5600")


def shapes(fabricc: Fabricc, *arguments: str, spec: str = "cluster.yaml") -> dict[str, Any]:
    ran = fabricc("plan", spec, "--alternatives", "--format", "json", *arguments)
    return json.loads(ran.out)  # type: ignore[no-any-return]


@pytest.mark.slow
def test_the_shape_of_the_spec_is_marked(repo: Path, fabricc: Fabricc) -> None:
    (repo / "cluster.yaml").write_text(POD)
    ran = fabricc("plan", "cluster.yaml", "--alternatives")
    assert ran.status == 0
    taken, given = (line.split()[1:] for line in ran.out.splitlines() if "spec" in line)
    assert taken == ["spec", "48", "32", "+", "16", "sn5400", "32", "1", "1:1"]
    assert given == ["spec", "3,584", "2,048", "0", "32", "93.75", "%", "128", "-", "0/3,632"]
    assert "shapes that one of these betters" in ran.out


@pytest.mark.slow
def test_shapes_show_power_and_how_many_figures_are_known(repo: Path, fabricc: Fabricc) -> None:
    (repo / "own.yaml").write_text(
        'switches:\n  sn5600: {extends: sn5600, power: {typical_w: 900, maximum_w: 2000, source: "our meter"}}\n'
    )
    (repo / "cluster.yaml").write_text(FAST + "catalog: [own.yaml]\n")
    reported = {
        tuple(each["model"] for each in shape["tiers"]): shape for shape in shapes(fabricc)["alternatives"]
    }
    own = reported["sn5600", "sn5600"]
    draw, optics = own["power"], own["optics"]
    assert draw["devices"] == own["switches"] + optics
    assert (draw["typical_w"], draw["typical_of"]) == (900 * own["switches"], own["switches"])
    known = draw["maximum_of"] - own["switches"]
    assert 0 < known < optics, "the modules of the hosts have no published maximum"
    assert draw["maximum_w"] == 2000 * own["switches"] + 16 * known
    other = next(shape for models, shape in reported.items() if "sn5600" not in models)
    assert other["power"]["maximum_of"] < other["power"]["devices"]


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, pytest.param(99, marks=pytest.mark.slow)])
def test_every_shape_that_is_listed_is_written_as_a_spec_that_builds(
    repo: Path, fabricc: Fabricc, most: int
) -> None:
    (repo / "cluster.yaml").write_text(POD)
    reported = shapes(fabricc)
    (repo / "other").mkdir()
    file = repo / "other" / "cluster.yaml"
    for shape in reported["alternatives"][:most]:
        number = str(shape["number"])
        assert fabricc("plan", "cluster.yaml", "--alternatives", "--write", number, str(file)).status == 0
        text = file.read_text()
        assert text.startswith("# 1,024 GPUs.\ncluster: pod\n")
        assert "# SU" in text
        compiled = compile_spec(file)
        assert compiled.sound, compiled.diagnostics
        counts = compiled.fabric.counts()
        assert {f"{tier['tier']}s": tier["switches"] for tier in shape["tiers"]} == {
            key: counts[key] for key in ("tors", "spines", "cores") if counts[key]
        }
        assert shape["cables"] == {kind: counts[f"{kind}_cables"] for kind in shape["cables"]}
        assert (counts["gpus"], compiled.fabric.shape.planes) == (1024, shape["planes"])
    assert len(reported["alternatives"]) > 5


@pytest.mark.slow
def test_a_spec_that_cannot_be_has_alternatives(repo: Path, fabricc: Fabricc) -> None:
    (repo / "cluster.yaml").write_text(POD.replace("hosts: 128", "hosts: 512"))
    ran = fabricc("plan", "cluster.yaml", "--alternatives", "--write", "1", "other.yaml")
    assert (ran.status, "FAB3009" in ran.err) == (1, True)
    assert not any("spec" in line for line in ran.out.splitlines())
    assert compile_spec(repo / "other.yaml").sound


def test_a_number_that_is_not_listed_is_bad_usage(repo: Path, fabricc: Fabricc) -> None:
    ran = fabricc("plan", "cluster.yaml", "--alternatives", "--write", "999", "other.yaml")
    assert ran.status == 2
    assert "there are shapes 1 to " in ran.err
    assert not (repo / "other.yaml").exists()
    for option in (("--prices", "p.csv"), ("--write", "1", "other.yaml")):
        assert fabricc("plan", "cluster.yaml", *option).status == 2


@pytest.mark.slow
def test_a_text_that_does_not_take_a_shape_is_not_written(repo: Path, fabricc: Fabricc) -> None:
    shared = "tors: &tier {model: sn5400, nos: sonic}\nspines: *tier\n"
    tiers = POD[POD.index("tors:") : POD.index("priorities:")]
    (repo / "cluster.yaml").write_text(POD.replace(tiers, shared))
    reported = {shape["number"]: shape["changes"] for shape in shapes(fabricc)["alternatives"]}
    mixed = next(
        n for n, changes in reported.items() if "spines.model" in changes and "tors.model" not in changes
    )
    ran = fabricc("plan", "cluster.yaml", "--alternatives", "--write", str(mixed), "other.yaml")
    assert (ran.status, "FAB3163" in ran.err) == (1, True)
    assert not (repo / "other.yaml").exists()


@pytest.mark.slow
def test_prices_decide_instead_of_counts(repo: Path, fabricc: Fabricc) -> None:
    (repo / "cluster.yaml").write_text(POD)
    (repo / "prices.csv").write_text("model,price\nsn5400,10000\nsn5600,90000.50\n\nnh-4010,1\n")
    reported = shapes(fabricc, "--prices", "prices.csv")
    assert [each["code"] for each in reported["findings"] if each["code"].startswith("FAB316")] == ["FAB3162"]
    assert reported["unpriced"] > 0
    each = {"sn5400": 10000, "sn5600": 90000.5, "nh-4010": 1}
    for shape in reported["alternatives"]:
        assert shape["price"] == sum(each[tier["model"]] * tier["switches"] for tier in shape["tiers"])
    assert any(tier["model"] == "nh-4010" for shape in reported["alternatives"] for tier in shape["tiers"])
    lines = fabricc("plan", "cluster.yaml", "--alternatives", "--prices", "prices.csv").out.splitlines()
    assert any(line.split()[-2:] == ["known", "price"] for line in lines)


@pytest.mark.parametrize(
    ("table", "line", "reported"),
    [
        ("", 1, "the first line is not item,price"),
        ("sn5400,1\n", 1, "the first line is not item,price"),
        ("item,price\nsn5400,ten\n", 2, "sn5400 has no price"),
        ("item,price\n\nsn5400,-1\n", 3, "sn5400 has no price"),
        ("item,price\nsn5400,NaN\n", 2, "sn5400 has no price"),
        ("item,price\nsn5400,1e40\n", 2, "sn5400 has no price"),
        ("item,price\nsn5400\n", 2, "sn5400 has no price"),
        ("item,price\n,5\n", 2, "this line has no price"),
        ("item,price\nsn5400,1,000\n", 2, "sn5400 has no price"),
        ("item,price\nsn5400,1\nsn5600,2\nsn5400,1\n", 4, "'sn5400' has two prices"),
        ("item,price\nsn5400,\"1\n", 1, "prices.csv cannot be read: it is no CSV in UTF-8"),
    ],
)  # fmt: skip
def test_a_bad_table_of_prices_is_reported_by_line(
    repo: Path, fabricc: Fabricc, table: str, line: int, reported: str
) -> None:
    (repo / "prices.csv").write_text(table)
    ran = fabricc(
        "plan", "cluster.yaml", "--alternatives", "--prices", "prices.csv", "--write", "1", "o.yaml"
    )
    assert ran.status == 1
    assert f"prices.csv:{line}:" in ran.err
    assert f"FAB3160: {reported}" in ran.err
    assert not (repo / "o.yaml").exists()


def test_a_price_of_nothing_known_is_reported(repo: Path, fabricc: Fabricc) -> None:
    (repo / "prices.csv").write_text("part,price\nlinux-16x100,5\nlinux-16x10,5\n")
    ran = fabricc("plan", "cluster.yaml", "--alternatives", "--prices", "prices.csv")
    assert "prices.csv:3:" in ran.err
    assert "FAB3161: the catalog has no model or part 'linux-16x10'" in ran.err
    assert "`linux-16x100`" in ran.err


def test_a_table_that_is_not_there_is_reported(repo: Path, fabricc: Fabricc) -> None:
    ran = fabricc("plan", "cluster.yaml", "--alternatives", "--prices", "none.csv")
    assert (ran.status, "FAB3160" in ran.err) == (1, True)


def test_infiniband_has_none(fabricc: Fabricc) -> None:
    ran = fabricc("plan", str(INVENTORIES / "quantum2-512" / "cluster.yaml"), "--alternatives")
    assert (ran.status, "FAB5817" in ran.err, ran.out) == (1, True, "")


@pytest.mark.parametrize(
    "spec",
    [SPEC, POD, FAST, POD.replace("hosts: 128", "hosts: 30"),
     POD.replace("dgx-b200", "hgx-2x200").replace("}   #", ", wiring: rail}   #"), POD + "planes: 2\n",
     POD + "cables: {host: {medium: smf, length_m: 30}, spine: {medium: mmf, length_m: 30}}\n",
     FAST + "cables: {host: {medium: dac, length_m: 2}, spine: {medium: aoc, length_m: 20}}\n",
     FAST.replace("32}", "8, wiring: rack, rails_per_tor: 0}") + "cables: {host: {medium: aec, length_m: 2}}\n"],
)  # fmt: skip
def test_parts_of_links_equal_the_bill(tmp_path: Path, spec: str) -> None:
    (tmp_path / "cluster.yaml").write_text(spec)
    compiled = compile_spec(tmp_path / "cluster.yaml")
    shape = own_shape(compiled.spec, compiled.fabric)
    bill = {
        item: n
        for item, n in list_materials(compiled.fabric).bill.items()
        if item.item not in ("switch", "host")
    }

    def by_part(lines: Any) -> dict[tuple[str, ...], int]:
        found: dict[tuple[str, ...], int] = {}
        for item, number in lines.items():
            key = item.item, item.title, item.vendor, item.number
            found[key] = found.get(key, 0) + number
        return found

    assert by_part(link_parts(shape)) == by_part(bill)
    catalog, _ = load_catalog()
    prices = dict.fromkeys((*catalog.switches, *(item.number for item in bill if item.number)), 3)
    switches = sum(shape.figures.switches.values())
    parts = sum(number for item, number in bill.items() if item.number)
    assert Prices(prices, "", ()).of(shape) == 3 * (switches + parts)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gpus", "rest", "model", "published"),
    [
        ("{model: dgx-b200, hosts: 128, hosts_per_unit: 32}", "", "sn5400", (32, 16, 0)),
        ("{model: dgx-b300, hosts: 512, hosts_per_unit: 64}", "planes: 2", "sn5600", (128, 64, 0)),
        (
            "{model: dgx-h100, hosts: 3072, hosts_per_unit: 32}", "cores: {model: sn5600, nos: sonic}", "sn5600",
            (768, 384, 256),
        ),
    ],
)  # fmt: skip
def test_published_shapes_are_listed_as_the_page_shows_them(
    repo: Path, fabricc: Fabricc, gpus: str, rest: str, model: str, published: tuple[int, ...]
) -> None:
    """Of the spec's own models alone: others come and go with the catalog."""
    text = POD.replace("{model: dgx-b200, hosts: 128, hosts_per_unit: 32}", gpus).replace("sn5400", model)
    (repo / "cluster.yaml").write_text(f"{text}{rest}\n")

    def rows(lines: str) -> set[tuple[str, ...]]:
        shapes: dict[str, list[str]] = {}
        for number, *cells in (re.split(r"  +", line.strip()) for line in lines.splitlines()):
            shapes.setdefault(number, []).extend(cells)
        return {
            tuple(row) for row in shapes.values() if len(row) == 14 and row[2] == model and row[5] == "1:1"
        }

    printed = rows(fabricc("plan", "cluster.yaml", "--alternatives").out)
    assert any(row[1] == " + ".join(str(count) for count in published if count) for row in printed)
    assert all(rows(text) == printed for documented, text in DOCUMENTED if documented == gpus)


def test_the_page_shows_one_table() -> None:
    assert [gpus for gpus, _ in DOCUMENTED] == ["{model: dgx-b200, hosts: 128, hosts_per_unit: 32}"]


def test_shared_host_groups_have_no_alternatives_and_a_note(repo: Path, fabricc: Fabricc) -> None:
    groups = """\
gpus:
  groups:
    - {name: gpu, model: dgx-b200, hosts: 16, hosts_per_unit: 8}
    - {name: login, model: cpu-2x100, hosts: 4, hosts_per_unit: 2, beside: gpu}
"""
    own = POD[POD.index("gpus:") : POD.index("tors:")]
    (repo / "cluster.yaml").write_text(POD.replace(own, groups))
    assert compile_spec(repo / "cluster.yaml").sound
    ran = fabricc("plan", "cluster.yaml", "--alternatives")
    assert (ran.status, "FAB3164" in ran.err, "No shape to show." in ran.out) == (0, True, True)


OUTWARD = """\
cluster: out
gpus: {model: dgx-b200, hosts: 16, hosts_per_unit: 8}
tors: {model: sn5400, nos: frr, border: 2}
spines: {model: sn5400, nos: frr, reserved_ports: 2}
accept: [{code: FAB5201, reason: "a lab without PFC"}]
external:
  dc-core:
    asn: 64999
    network: 192.0.2.0/24
    links:
      - {at: border01a, port: swp64, speed_gbps: 400, peer: core-1, peer_port: et-0/0/1}
      - {at: border02a, port: swp64, speed_gbps: 400, peer: core-2, peer_port: et-0/0/1}
      - {at: border02a, port: swp63, speed_gbps: 400, peer: core-2, peer_port: et-0/0/2}
      - {at: spine01a, port: swp64, speed_gbps: 400, peer: core-3, peer_port: et-0/0/1}
"""


@pytest.mark.slow
def test_every_shape_keeps_border_leaves_and_ways_out(repo: Path, fabricc: Fabricc) -> None:
    (repo / "cluster.yaml").write_text(OUTWARD)
    assert compile_spec(repo / "cluster.yaml").sound
    reported = shapes(fabricc)["alternatives"]
    assert len(reported) > 5
    assert len({shape["tiers"][0]["model"] for shape in reported}) > 1
    assert any(key.endswith("port") for shape in reported for key in shape["changes"])
    for shape in reported:
        number = str(shape["number"])
        (repo / number).mkdir()
        file = repo / number / "cluster.yaml"
        assert fabricc("plan", "cluster.yaml", "--alternatives", "--write", number, str(file)).status == 0
        compiled = compile_spec(file)
        fabric = compiled.fabric
        assert compiled.sound, compiled.diagnostics
        assert [link.at for party in fabric.external.outsiders for link in party.links] == [
            "border01a", "border02a", "border02a", "spine01a",
        ]  # fmt: skip
        switches = [fabric.switch(at) for at in fabric.switch_ids()]
        assert sum(each.name.startswith("border") for each in switches) == 2 * shape["planes"]
        assert shape["switches"] == len(switches)
        assert shape["idle_ports"] == sum(not port.peer for each in switches for port in each.ports)
        assert shape["cables"] == {
            kind: sum(row.kind == kind for row in fabric.cables()) for kind in ("host", "spine", "core")
            if kind in shape["cables"]
        } | {"external": 4}  # fmt: skip
        bought = list_materials(fabric)
        if not bought.lacking and not bought.torn:
            modules = sum(number for item, number in bought.bill.items() if item.item == "transceiver")
            assert shape["optics"] == modules
        built = compiled.write(repo / number / "build", jobs=1)
        assert [each for each in built.diagnostics if each.severity is Severity.ERROR] == []


@pytest.mark.slow
def test_shapes_without_room_for_ways_out_are_left_out(repo: Path, fabricc: Fabricc) -> None:
    (repo / "cluster.yaml").write_text(OUTWARD.replace("at: spine01a", "at: spine05a"))
    reported = shapes(fabricc)["alternatives"]
    assert reported
    assert all(shape["tiers"][1]["switches"] >= 5 * shape["planes"] for shape in reported)
