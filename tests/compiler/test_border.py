"""Border leaves: ToRs without hosts that carry the ways out, on every system and in every shape."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.recheck import check_tree
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import TierName
from fabricc.operate.change.order import compute_waves
from fabricc.operate.change.resources import Effect, Impact, build_capacity_model
from fabricc.operate.lab.lab_fabric import sample_fabric, slice_fabric
from fabricc.paperwork.materials import list_materials
from fabricc.review.explain.answer import plan_sources
from fabricc.review.explain.facts import Explainer
from fabricc.review.explain.questions import explain_name, subject_of
from fabricc.review.report.page import render_report
from tests.outward import MODELS, spec_text

if TYPE_CHECKING:
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.model import Switch

BORDER = ("border01a", "border02a")


def text_of(nos: str, *, leaves: int = 2, hosts: int = 2) -> str:
    """The spec of `tests.outward` whose spines' links out are at border leaves."""
    text = spec_text(nos).replace("at: spine0", "at: border0").replace("racks: 2", f"racks: {hosts}")
    return text.replace("reserved_ports: 2}", f"reserved_ports: 2, border: {leaves}}}", 1)


def plain_spec(nos: str, hosts: int = 2) -> str:
    """The same without any way out."""
    text = text_of(nos, hosts=hosts).partition("external:")[0]
    return text.replace(", border: 2", "")


def compile_text(folder: Path, text: str) -> Compiled:
    (folder / "cluster.yaml").write_text(text)
    found = compile_spec(folder / "cluster.yaml", gaps=False)
    (folder / "fabricc.lock").write_text(found.lock_text)
    return found


@cache
def compile_border(nos: str) -> Compiled:
    with TemporaryDirectory() as folder:
        return compile_text(Path(folder), text_of(nos))


def find_switches(found: Compiled) -> dict[str, Switch]:
    return {switch.name: switch for switch in found.switches()}


def find_identities(found: Compiled) -> dict[str, object]:
    """Return what identifies a device: number, addresses of loopback and management, and ports with their far ends."""
    fabric, all_ = found.fabric, {}
    for switch in found.switches():
        ports = {
            (p.name, p.ipv4): p.peer for p in switch.ports if p.direction is not Direction.EXTERNAL and p.peer
        }
        all_[switch.name] = (switch.loopback4, switch.management.address, switch.bgp.asn, ports)
    for host in map(fabric.host, fabric.host_ids()):
        all_[host.name] = {(p.name, p.ipv4): p.peer for p in host.ports}
    return all_


@pytest.mark.parametrize("nos", MODELS)
def test_border_leaves_are_tors_with_uplinks_and_links_out_alone(nos: str) -> None:
    found = find_switches(compile_border(nos))
    for name in BORDER:
        leaf = found[name]
        ways = {port.direction for port in leaf.ports if port.peer}
        assert (leaf.tier, ways) == (TierName.TOR, {Direction.UP, Direction.EXTERNAL})
        assert sorted(p.peer.device for p in leaf.ports if p.peer and p.direction is Direction.UP) == [
            "spine01a",
            "spine02a",
        ]
        assert leaf.bgp.aggregates == ()
        assert leaf.loopback4
    assert compile_border(nos).fabric.counts()["tors"] == 4
    assert compile_border(nos).fabric.counts()["units"] == 2


@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.spread
def test_a_fabric_with_border_leaves_is_proved(nos: str, tmp_path: Path) -> None:
    found = compile_text(tmp_path, text_of(nos))
    result = found.write(tmp_path / "build", jobs=1)
    assert [
        d for d in result.diagnostics if d.severity is Severity.ERROR and not d.code.startswith("FAB5")
    ] == []
    assert result.tree is not None
    counts = found.fabric.counts()
    checked, _ = check_tree(result.tree, found.path, jobs=1)
    assert checked.links == sum(counts[f"{kind}_cables"] for kind in ("host", "spine"))
    for path in sorted((result.tree / "switches" / BORDER[0]).iterdir()):
        text = path.read_text()
        if "64999" in text:
            path.write_text(re.sub(r"\b64999\b", "64998", text))
    checked, _ = check_tree(result.tree, found.path, jobs=1)
    assert "FAB6208" in {d.code for d in checked.diagnostics} or [
        d for d in checked.diagnostics if d.severity is Severity.ERROR
    ]


def test_they_change_nothing_that_is_there_and_neither_does_growth(tmp_path: Path) -> None:
    known = find_identities(compile_text(tmp_path, plain_spec("frr", 2)))
    spines = {name for name in known if name.startswith("spine")}
    for hosts, leaves in ((2, 2), (3, 2), (3, 3)):
        now = find_identities(compile_text(tmp_path, text_of("frr", hosts=hosts, leaves=leaves)))
        for name, before in known.items():
            if name not in spines:
                assert now[name] == before, name
                continue
            assert now[name][:3] == before[:3]
            assert before[3].items() <= now[name][3].items()
        assert known.keys() < now.keys()
        known = now
    compile_text(tmp_path, plain_spec("frr", 3))
    again = find_identities(compile_text(tmp_path, text_of("frr", hosts=3, leaves=3)))
    assert again == known
    addresses = [address for each in known.values() if isinstance(each, tuple) for address in each[:2]]
    assert len(addresses) == len({*addresses})


def test_hosts_have_the_files_that_they_have_without(tmp_path: Path) -> None:
    one, other = compile_text(tmp_path, plain_spec("frr")), compile_text(tmp_path, text_of("frr"))
    for at in one.fabric.host_ids():
        assert one.fabric.host(at).ports == other.fabric.host(at).ports


@pytest.mark.parametrize("nos", ["frr", "eos"])
def test_every_fact_of_a_border_leaf_is_explained(nos: str) -> None:
    found = compile_border(nos)
    plan, leaf = plan_sources(found), find_switches(found)[BORDER[1]]
    subject = subject_of(plan, found.fabric.find(BORDER[1]))
    explainer = Explainer(plan)
    assert all(explainer.fact(subject, path).rule for path in subject.planned)
    assert explain_name(plan, BORDER[1]).statements[0].name
    own = [leaf.loopback4, leaf.management.address.partition("/")[0], f"AS{leaf.bgp.asn}"]
    own += [port.ipv4.partition("/")[0] for port in leaf.ports if port.ipv4]
    assert len(own) == 6
    for name in own:
        assert BORDER[1] in repr(explain_name(plan, name)), name


def test_reports_bills_and_labs_know_them() -> None:
    found = compile_border("frr")
    assert "2 ToRs at the border without hosts, 2 uplinks of 400G each" in str(render_report(found))
    assert {
        item.role: count for item, count in list_materials(found.fabric).bill.items() if item.item == "switch"
    } == {
        "tor": 4,
        "spine": 2,
    }
    for part in (slice_fabric(found.fabric, 1), sample_fabric(found.fabric)):
        names = {part.name(at) for at in part.switch_ids()}
        assert {*BORDER} < names
        assert all(part.switch(at).ports for at in part.switch_ids())
    assert len({name for name in map(part.name, part.switch_ids()) if "tor" in name}) == 2


def test_a_push_takes_one_border_leaf_of_a_plane_at_a_time() -> None:
    fabric = compile_border("frr").fabric
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    effects = dict.fromkeys(places, Effect("frr", Impact.RELOAD))
    waves = [
        wave.members for wave in compute_waves(build_capacity_model(fabric, places, effects), Fraction(0))
    ]
    assert {name for wave in waves for name in wave} == places.keys()
    assert all(len({*BORDER} & {*wave}) < 2 for wave in waves)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("border: 2", "border: 2, border_links: 9", "FAB3088"),
        (r"spines: .*\n", "", "FAB3050"),
        ("count: 2", "count: 2, rails: 1", "FAB3089"),
    ],
)
def test_impossible_border_tiers_are_rejected(tmp_path: Path, old: str, new: str, code: str) -> None:
    text = text_of("frr")
    if code == "FAB3089":
        text = text.replace("wiring: rack", "wiring: rail").replace(
            "racks: 2, hosts_per_rack: 1", "hosts: 4, hosts_per_unit: 2"
        )
    (tmp_path / "cluster.yaml").write_text(re.sub(old, new, text))
    found = compile_spec(tmp_path / "cluster.yaml", gaps=False)
    wrong = [each for each in found.diagnostics if each.severity is Severity.ERROR]
    assert code in {each.code for each in wrong}
    assert all(each.help for each in wrong if each.code == code)


@pytest.mark.parametrize("planes", [1, 2])
@pytest.mark.parametrize("cores", [False, True])
@pytest.mark.spread
def test_every_plane_has_as_many_in_two_tiers_and_in_three(tmp_path: Path, planes: int, cores: bool) -> None:
    tier = "{model: sn5600, nos: frr}"
    text = f"""\
cluster: planes
gpus: {{model: dgx-h100, hosts: 24, hosts_per_unit: 8}}
planes: {planes}
tors: {{model: sn5600, nos: frr, border: 9}}
spines: {tier}
{f"cores: {tier}" if cores else ""}
"""
    found = compile_text(tmp_path, text)
    assert [d for d in found.diagnostics if d.severity is Severity.ERROR] == []
    leaves = [switch for name, switch in find_switches(found).items() if name.startswith("border")]
    assert {leaf.plane for leaf in leaves} == {*range(planes)}
    assert len(leaves) == 9 * planes == len({leaf.name for leaf in leaves})
    for leaf in leaves:
        spines = [port.peer.device for port in leaf.ports if port.peer]
        assert len(spines) == found.fabric.shape.spines
        assert all(name.endswith(leaf.name[-1]) for name in spines)
    result = found.write(tmp_path / "build", jobs=1)
    assert [d for d in result.diagnostics if d.severity is Severity.ERROR and d.code > "FAB6"] == []


@pytest.mark.parametrize(
    ("border", "planes", "cores", "kept", "idle", "most"),
    [
        (2, 1, False, 8, 6, 8),
        (2, 2, False, 8, 6, 8),
        (9, 1, False, 16, 7, 16),
        (1, 1, True, 8, 7, 8),
        (8, 1, False, 8, 0, 8),
    ],
)
def test_spine_ports_that_few_border_leaves_keep_are_reported(
    tmp_path: Path, border: int, planes: int, cores: bool, kept: int, idle: int, most: int
) -> None:
    tier = "{model: sn5600, nos: frr}"

    def text(leaves: int) -> str:
        return f"""\
cluster: few
gpus: {{model: dgx-h100, hosts: 128, hosts_per_unit: 32}}
planes: {planes}
tors: {{model: sn5600, nos: frr, border: {leaves}}}
spines: {tier}
{f"cores: {tier}" if cores else ""}
"""

    found = compile_text(tmp_path, text(border))
    reported = [each for each in found.diagnostics if each.code == "FAB3370"]
    assert [each.severity for each in reported] == [Severity.NOTE] * bool(idle)
    ends = [link for link in found.fabric.cables() if link.a_device.startswith("border")]
    spines = len({link.b_device for link in ends})
    assert len(ends) == spines * (kept - idle)
    for each in reported:
        assert f"{kept} ports kept" in each.message
        assert f"{idle} of them without a link" in each.message
        assert f"`border: {most}`" in (each.help or "")
    full = compile_text(tmp_path, text(most))
    assert not [each for each in full.diagnostics if each.code == "FAB3370"]
    assert full.fabric.shape == found.fabric.shape
    assert full.fabric.spine_layout == found.fabric.spine_layout


@pytest.mark.parametrize(
    ("nic", "border", "links", "idle", "remedy"),
    [
        ("dgx-h100", 8, 1, 8, "`border_links: 2` takes no port more."),
        ("dgx-h100", 8, 2, 0, ""),
        ("hgx-2x200", 8, 2, 16, "Lead out from spines or ToRs of hosts if ports are short."),
    ],
)
def test_links_of_border_leaves_that_ports_are_kept_for_are_reported(
    tmp_path: Path, nic: str, border: int, links: int, idle: int, remedy: str
) -> None:
    tier = "{model: sn5600, nos: frr, count: 4}"
    text = f"""\
cluster: few
gpus: {{model: {nic}, hosts: 16, hosts_per_unit: 16}}
tors: {{model: sn5600, nos: frr, uplinks: 8, border: {border}, border_links: {links}}}
spines: {tier}
"""
    found = compile_text(tmp_path, text)
    reported = [each for each in found.diagnostics if each.code == "FAB3370"]
    assert [each.help for each in reported] == [remedy] * bool(idle)
    assert all(f"{idle} of them without a link" in each.message for each in reported)
