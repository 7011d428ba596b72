"""Migrations: the steps between two specs, what each does, and that each is a spec that builds."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections import Counter
from fractions import Fraction
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.shape import TierName
from fabricc.front.spec.priorities import effective_priority
from fabricc.operate.migrate.cables import group_switches_by_round, plan_moves
from fabricc.operate.migrate.prepare import Migration, find_steps, prepare_migration
from tests.operate.lab.specs import TWO_TIERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.operate.migrate.cables import Ends

SPEC = """\
cluster: zone  # this comment stays
gpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 4}
tors: {model: sn5400, nos: sonic-202505, uplinks: 8}
spines: {model: sn5400, nos: sonic-202505, count: 4}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
"""
NARROW = SPEC.replace("hosts: 8, hosts_per_unit: 4", "hosts: 8, hosts_per_unit: 1, rails_per_tor: 8")
"""Eight ToRs."""
FOUR = NARROW.replace("hosts: 8,", "hosts: 4,")
ROOM, HALF = Fraction(3, 4), Fraction(1, 2)
ASNS = ("priorities:", "routing: {asn_base: 4210000000}\npriorities:")


def check_migration(path: Path) -> Compiled:
    compiled = compile_spec(path)
    assert compiled.sound, compiled.diagnostics
    return compiled


def compile_pair(folder: Path, *changes: tuple[str, str], base: str = SPEC) -> tuple[Compiled, Compiled]:
    """A deployed spec with its lock, and another that goes on from it."""
    old, new = (folder / side / "cluster.yaml" for side in ("old", "new"))
    for path in (old, new):
        path.parent.mkdir(exist_ok=True)
    old.write_text(base)
    text = base
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    new.write_text(text)
    for path in (old, new):
        path.with_name("fabricc.lock").write_text(check_migration(old).lock_text)
    if (grown := compile_spec(new, repin=())).sound:
        new.with_name("fabricc.lock").write_text(grown.lock_text)
    return check_migration(old), check_migration(new)


def _is_move(cable: dict[str, object]) -> bool:
    return bool(cable["was"] and cable["now"])


def find_cables(fabric: Fabric) -> set[Ends]:
    return {((c.a_device, c.a_port), (c.b_device, c.b_port)) for c in fabric.cables()}


def migrate_specs(
    folder: Path, *changes: tuple[str, str], base: str = SPEC, keep: Fraction = ROOM
) -> Migration:
    old, new = compile_pair(folder, *changes, base=base)
    return prepare_migration(old, new, keep, folder / "steps", lambda *_: None)


def list_stages(found: Migration) -> list[tuple[str, str, int]]:
    return [
        (stage.step.name, stage.review.impact.label, stage.review.gpus_affected) for stage in found.stages
    ]


@pytest.mark.slow
def test_another_code_point_is_lossless_everywhere_before_anybody_sends_it(tmp_path: Path) -> None:
    found = migrate_specs(tmp_path, ("dscp: 26", "dscp: 34, priority: 3"))
    assert list_stages(found) == [
        ("rdma-both-code-points", "hitless", 0),
        ("rdma-senders", "hitless", 0),
        ("wanted", "hitless", 0),
    ]
    assert found.at_once.impact.label == "traffic-loss"
    kinds = [{group.kind for group in stage.review.groups} for stage in found.stages]
    assert kinds == [{"tor", "spine", "host"}, {"host"}, {"tor", "spine", "host"}]
    assert "every job" in found.stages[1].step.after
    for stage in found.stages:
        assert stage.spec is not None
        compiled = check_migration(stage.spec)
        (rdma,) = (c for c in compiled.spec.priorities if c.name == "rdma")
        assert effective_priority(rdma) == 3
        assert "# this comment stays" in stage.spec.read_text()
    assert found.stages[2].spec is not None
    assert found.stages[2].spec.read_text() == (tmp_path / "new" / "cluster.yaml").read_text()


@pytest.mark.slow
def test_a_code_point_that_another_class_has_is_no_way_round(tmp_path: Path) -> None:
    taken = ("  default: {}", "  bulk: {dscp: 34}\n  default: {}")
    base = SPEC.replace(*taken)
    found = migrate_specs(
        tmp_path, ("dscp: 26", "dscp: 35, priority: 3"), ("dscp: 34}", "dscp: 26, priority: 4}"), base=base
    )
    assert [name for name, _, _ in list_stages(found)] == ["wanted"]


@pytest.mark.slow
def test_another_priority_takes_a_class_of_its_own_and_ends_at_the_code_point(tmp_path: Path) -> None:
    found = migrate_specs(tmp_path, ("dscp: 26", "dscp: 26, priority: 4"))
    assert [name for name, _, _ in list_stages(found)] == [
        "rdma-both-priorities",
        "rdma-senders",
        "rdma-code-points",
        "rdma-code-point-senders",
        "wanted",
    ]
    states = []
    for stage in found.stages:
        assert stage.spec is not None
        fabric = check_migration(stage.spec).fabric
        users = {fabric.host(at).rdma_class or "rdma" for at in fabric.host_ids()}
        lossless = {
            c.name: (c.priority, c.dscps)
            for c in fabric.host(next(iter(fabric.host_ids()))).classes
            if c.lossless
        }
        states.append((users, lossless))
    assert states == [
        ({"rdma"}, {"rdma": (3, (26,)), "rdma-next": (4, (25,))}),
        ({"rdma-next"}, {"rdma": (3, (26,)), "rdma-next": (4, (25,))}),
        ({"rdma-next"}, {"rdma-next": (4, (25, 26))}),
        ({"rdma-next"}, {"rdma-next": (4, (25, 26))}),
        ({"rdma"}, {"rdma": (4, (26,))}),
    ]


@pytest.mark.slow
def test_another_family_stands_next_to_the_first_for_a_time(tmp_path: Path) -> None:
    found = migrate_specs(tmp_path, ("priorities:", "addressing: {family: ipv6}\npriorities:"), base=NARROW)
    assert [name for name, _, _ in list_stages(found)] == ["both-families", "wanted"]
    spec = found.stages[0].spec
    assert spec is not None
    assert check_migration(spec).fabric.addresses.hosts4 is not None
    assert check_migration(spec).fabric.addresses.hosts6 is not None
    both, wanted = (stage.orders for stage in found.stages)
    assert "sent in ipv4" in found.stages[0].step.after
    assert both == (), "no switch is drained for a family beside the first"
    assert [(order.refused, min(wave.kept for wave in order.waves)) for order in wanted] == [("", ROOM)]


@pytest.mark.slow
def test_another_release_goes_from_one_switch_to_a_half_to_all_from_the_top_down(tmp_path: Path) -> None:
    found = migrate_specs(tmp_path, ("sonic-202505", "sonic-202511"))
    names = [name for name, _, _ in list_stages(found)]
    assert names == ["spine-first", "spine-half", "spines", "tor-first", "tor-half", "tors", "wanted"]
    changed = [[name for group in stage.review.groups for name in group.devices] for stage in found.stages]
    assert [len(each) for each in changed] == [1, 1, 2, 1, 7, 8, 0]
    assert Counter(name for each in changed for name in each).most_common(1)[0][1] == 1
    whole = check_migration(tmp_path / "old" / "cluster.yaml").fabric
    assert {name for each in changed for name in each} == {whole.name(at) for at in whole.switch_ids()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        ("priorities:", "addressing: {links: 100.64.0.0/10}\npriorities:"),
        ("priorities:", "routing: {spine_asn: unique}\npriorities:"),
    ],
)
def test_settings_of_both_link_ends_change_a_few_spines_at_a_time(
    tmp_path: Path, change: tuple[str, str]
) -> None:
    found = migrate_specs(tmp_path, change, keep=Fraction(3, 4), base=NARROW)
    *parts, wanted = found.stages
    assert len(parts) == 4
    assert wanted.review.impact.label in ("none", "hitless")
    whole = check_migration(tmp_path / "old" / "cluster.yaml").fabric
    tors = {whole.name(at) for at in whole.switch_ids() if at.tier.value == "tor"}
    for number, stage in enumerate(parts, 1):
        assert stage.review.impact.label in ("session-reset", "traffic-loss")
        (order,) = stage.orders
        assert not order.refused
        assert {name for wave in order.waves for name in wave.members} == {*tors, f"spine0{number}a"}
        assert min(wave.kept for wave in order.waves) == Fraction(3, 4)
    assert wanted.spec is not None
    assert "identities" not in wanted.spec.read_text()


@pytest.mark.slow
def test_spines_of_another_model_are_drained_exchanged_and_cabled_a_few_at_a_time(tmp_path: Path) -> None:
    other = ("spines: {model: sn5400, nos: sonic-202505", "spines: {model: 7060dx5-64s, nos: eos-4.32")
    found = migrate_specs(tmp_path, other, base=FOUR, keep=HALF)
    assert list_stages(found) == [
        ("spine-box-1-drain", "hitless", 0),
        ("spine-box-1", "reload", 0),
        ("spine-box-2-drain", "hitless", 0),
        ("spine-box-2", "reload", 0),
        ("wanted", "hitless", 0),
    ]
    for number in (1, 3):
        stage = found.stages[number]
        spines = {f"spine0{number}a", f"spine0{number + 1}a"}
        assert {device for move in stage.moves for device, _ in move.was or ()} >= spines
        assert {name for move in stage.moves for name, _ in move.now or () if "spine" in name} == spines
        assert {move.keeps for move in stage.moves} == {HALF}, "four of the eight uplinks of a ToR"
        kept, switches = ends(found, stage.step.name)
        assert kept >= HALF
        assert spines <= switches
    assert found.stages[-1].moves == ()
    spec = found.stages[1].spec
    assert spec is not None
    mixed = check_migration(spec).fabric
    models = [mixed.model(at).name for at in mixed.switch_ids() if at.tier is TierName.SPINE]
    assert models == ["7060dx5-64s", "7060dx5-64s", "sn5400", "sn5400"]


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True])
def test_a_model_of_a_catalog_file_that_comes_with_the_wanted_spec_is_known_to_every_step(
    tmp_path: Path, known: bool
) -> None:
    """Also where what is deployed has the file without that model."""
    model = files("fabricc.catalog").joinpath("models/switches/linux-16x100.yaml").read_text()
    texts = {name: model.replace("linux-16x100:", f"{name}:") for name in ("box-a", "box-b")}
    lab = TWO_TIERS.format(cluster="zone", hosts=4, more="").replace("nos: frr", "nos: frr-8.4")
    named = "catalog: [switches/boxes.yaml]\n"
    for side in ("old", "new"):
        (tmp_path / side / "switches").mkdir(parents=True)
        (tmp_path / side / "switches" / "boxes.yaml").write_text(texts["box-b" if side == "new" else "box-a"])
    change = ("spines: {model: linux-16x100", f"{'' if known else named}spines: {{model: box-b")
    found = migrate_specs(tmp_path, change, base=(named if known else "") + lab, keep=HALF)
    kinds = ["spine-box-1-drain", "spine-box-1", "spine-box-2-drain", "spine-box-2", "wanted"]
    assert [stage.step.name for stage in found.stages] == kinds


def test_a_model_that_cannot_stand_among_the_others_comes_at_once(tmp_path: Path) -> None:
    full = NARROW.replace("hosts: 8,", "hosts: 16,").replace("count: 4", "count: 2")
    smaller = (
        "spines: {model: sn5400, nos: sonic-202505, count: 2",
        "spines: {model: sn4700, nos: sonic-202505, count: 4",
    )
    assert not [*find_steps(*compile_pair(tmp_path, smaller, base=full), ROOM)]


@pytest.mark.slow
def test_one_number_for_spines_that_had_their_own_is_one_step(tmp_path: Path) -> None:
    """No table gives one AS number to switches that have numbers of their own."""
    own = NARROW.replace("priorities:", "routing: {spine_asn: unique}\npriorities:")
    found = migrate_specs(tmp_path, ("routing: {spine_asn: unique}\n", ""), base=own)
    assert [name for name, _, _ in list_stages(found)] == ["wanted"]


def ends(found: Migration, name: str) -> tuple[Fraction, set[str]]:
    """The least that the waves of a step keep, and the switches that they have."""
    (stage,) = (stage for stage in found.stages if stage.step.name == name)
    (order,) = stage.orders
    assert not order.refused
    return min(wave.kept for wave in order.waves), {at for wave in order.waves for at in wave.members}


@pytest.mark.slow
@pytest.mark.parametrize("back", [False, True])
def test_links_lose_and_get_addresses_with_a_few_spines_at_a_time(tmp_path: Path, back: bool) -> None:
    bare = FOUR.replace("priorities:", "addressing: {fabric_links: unnumbered}\npriorities:")
    change = ("addressing: {fabric_links: unnumbered}\n", "")
    ways = {False: (FOUR, ("priorities:", f"{change[0]}priorities:")), True: (bare, change)}
    found = migrate_specs(tmp_path, ways[back][1], base=ways[back][0], keep=HALF)
    assert list_stages(found) == [
        ("links-1", "session-reset", 0),
        ("links-2", "session-reset", 0),
        ("wanted", "none", 0),
    ]
    assert [ends(found, name)[0] for name in ("links-1", "links-2")] == [HALF, HALF]
    spec = found.stages[0].spec
    assert spec is not None
    mixed = check_migration(spec).fabric
    (first, *_, last) = (mixed.switch(at) for at in mixed.switch_ids() if at.tier is TierName.SPINE)
    kinds = [{session.transport.value for session in each.bgp.sessions} for each in (first, last)]
    assert kinds == ([{"ipv4"}, {"unnumbered"}] if back else [{"unnumbered"}, {"ipv4"}])
    assert {s.transport.value for s in mixed.switch(next(mixed.switch_ids())).bgp.sessions} == {
        "ipv4",
        "unnumbered",
    }


@pytest.mark.slow
def test_tors_get_their_asns_a_few_units_at_a_time_between_two_halves_of_the_spines(tmp_path: Path) -> None:
    found = migrate_specs(tmp_path, ASNS, base=FOUR, keep=HALF)
    assert [name for name, _, _ in list_stages(found)] == [
        "devices-1",
        "devices-2",
        "tors-1",
        "tors-2",
        "wanted",
    ]
    spines = {f"spine0{number}a" for number in range(1, 5)}
    batches = [{"su001-tor1a", "su002-tor1a"}, {"su003-tor1a", "su004-tor1a"}]
    for stage, own, before in zip(found.stages[2:4], batches, [set(), batches[0]], strict=True):
        assert stage.review.gpus_affected == 16, "two hosts of four"
        assert f"take 2 hosts ({min(own)[:5]}-host01" in stage.step.before
        kept, switches = ends(found, stage.step.name)
        assert kept >= HALF
        assert switches == own | spines | before
        (order,) = stage.orders
        turns = [set(wave.members) for wave in order.waves]
        places = [at for at, members in enumerate(turns) if members & own]
        for first, last in ((0, places[0]), (places[-1] + 1, len(turns))):
            assert len(spines & set().union(*turns[first:last])) == 2, "one half of the spines"
    wanted = found.stages[-1]
    assert (wanted.review.impact.label, wanted.review.gpus_affected) == ("hitless", 0)


def test_migrate_names_links_whose_ends_must_change_together(
    fabricc: Callable[..., Any], tmp_path: Path
) -> None:
    compile_pair(tmp_path, ASNS, base=FOUR.replace("hosts: 4,", "hosts: 2,"))
    specs = [str(tmp_path / side / "cluster.yaml") for side in ("old", "new")]
    output = {}
    for keep in ("75%", "50%"):
        steps = json.loads(fabricc("migrate", *specs, "--keep", keep, "--format", "json").out)["steps"]
        output[keep] = [any("one window" in each for each in step["review"]["drain"]) for step in steps]
    assert output == {"75%": [*[True] * 6, False], "50%": [False] * 5}, "half of a rail is more than is to go"


@pytest.mark.slow
def test_asns_of_tors_that_carry_half_of_a_rail_have_no_order_that_keeps_more(tmp_path: Path) -> None:
    *_, stage, _ = migrate_specs(tmp_path, ASNS, base=FOUR.replace("hosts: 4,", "hosts: 2,")).stages
    (order,) = stage.orders
    assert "no order keeps 75 %" in order.refused
    assert order.waves == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pins", "change", "names"),
    [
        ({"uplink": 128, "unit": 2048}, ("zone", "zone"), ["links-1", "links-2", "wanted"]),
        (
            {"nic_port": 8, "unit": 2048},
            ("zone", "zone"),
            ["links-1", "links-2", "tors-1", "tors-2", "wanted"],
        ),
        (
            {},
            ("priorities:", "addressing: {loopbacks: 10.128.0.0/11}\npriorities:"),
            ["pools", "devices-1", "devices-2", "wanted"],
        ),
    ],
)
def test_larger_strides_and_pools_renumber_a_few_switches_at_a_time(
    tmp_path: Path, pins: dict[str, int], change: tuple[str, str], names: list[str]
) -> None:
    old, new = compile_pair(tmp_path, change, base=FOUR)
    lock = new.lock_path.read_text()
    for name, value in pins.items():
        lock = re.sub(rf"(?m)^stride {name} .*$", f"stride {name} {value}", lock)
    new.lock_path.write_text(lock)
    wanted = check_migration(new.path)
    assert old.fabric.strides != wanted.fabric.strides or not pins
    found = prepare_migration(old, wanted, HALF, tmp_path / "steps", lambda *_: None)
    assert [name for name, _, _ in list_stages(found)] == names
    assert {stage.review.impact.label for stage in found.stages[-1:]} <= {"none", "hitless"}
    assert max(stage.review.gpus_affected for stage in found.stages) <= 16 < 32
    for name in names[names[0] == "pools" : -1]:
        assert ends(found, name)[0] >= HALF


@pytest.mark.parametrize(
    ("base", "change", "least"),
    [
        pytest.param(SPEC, ("count: 4", "count: 8"), ROOM, id="more"),
        pytest.param(SPEC.replace("count: 4", "count: 8"), ("count: 8", "count: 4"), ROOM, id="fewer"),
        pytest.param(SPEC, ("count: 4", "count: 2"), Fraction(3, 4), id="a half"),
        pytest.param(
            SPEC.replace("priorities:", "addressing: {fabric_links: unnumbered}\npriorities:"),
            ("count: 4", "count: 8"), ROOM, id="unnumbered",
        ),
        pytest.param(
            SPEC.replace("priorities:", "routing: {spine_asn: unique}\npriorities:"),
            ("count: 4", "count: 8"), Fraction(0), id="own numbers",
        ),
    ],
)  # fmt: skip
def test_cable_rounds_keep_the_stated_capacity(
    tmp_path: Path, base: str, change: tuple[str, str], least: Fraction
) -> None:
    """Each round only uses free ports; shares kept on remaining switches are those of the worksheet."""
    old, new = compile_pair(tmp_path, change, base=base)
    found = plan_moves(old.fabric, new.fabric, ROOM)
    plugged, after = find_cables(old.fabric), find_cables(new.fabric)
    assert {move.was for move in found if move.was} == plugged - after
    assert {move.now for move in found if move.now} == after - plugged
    links = Counter(lower for (lower, _), _ in plugged)
    turned = {upper for _, (upper, _) in after} - {upper for _, (upper, _) in plugged}
    moved: set[Ends] = set()
    for number, out in group_switches_by_round(found).items():
        rows = [move for move in found if move.round == number]
        carries = plugged - (moved if "unique" in base else set())
        left = Counter(lower for (lower, _), (upper, _) in carries if upper not in out)
        assert {move.keeps for move in rows} == {min(Fraction(left[one], links[one]) for one in links)}
        plugged -= {move.was for move in rows if move.was}
        ports = Counter(end for ends in plugged for end in ends)
        ports.update(end for move in rows if move.now for end in move.now)
        assert set(ports.values()) == {1}
        turned |= set(out)
        moved |= {move.now for move in rows if move.now}
        plugged |= moved
        assert {upper for _, (upper, _) in moved} <= turned, (
            "nothing is plugged into what has not had its turn"
        )
    assert plugged == after
    assert [move.round for move in found] == sorted(move.round for move in found)
    assert min(move.keeps for move in found) == least


def test_a_rack_that_leaves_lets_a_round_keep_what_the_others_have(tmp_path: Path) -> None:
    racks = "wiring: rack, hosts_per_rack: 2, racks: {rack01: 2, rack02: 2, rack03: 2}"
    base = SPEC.replace("hosts: 8, hosts_per_unit: 4", racks)
    gone = (", rack03: 2}", "}"), ("priorities:", "retired: [rack03]\npriorities:")
    (stage,) = migrate_specs(tmp_path, *gone, base=base, keep=HALF).stages
    assert all(move.was and not move.now for move in stage.moves)
    assert {move.keeps for move in stage.moves} == {HALF}
    rounds = {
        number: [name for name in out if "spine" in name]
        for number, out in group_switches_by_round(stage.moves).items()
    }
    assert rounds == {1: ["spine01a", "spine02a"], 2: ["spine03a", "spine04a"]}


@pytest.mark.slow
def test_another_name_of_a_switch_moves_no_cable(tmp_path: Path) -> None:
    names = "moved: {spine01a: spine-east, su001-tor1a: tor-east}\npriorities:"
    (stage,) = migrate_specs(tmp_path, ("priorities:", names)).stages
    assert (stage.review.impact.label, stage.moves) == ("hitless", ())


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [("count: 4", "count: 4, reserved_ports: 1"), ("cluster: zone", "mtu: {host: 4200}\ncluster: zone")],
)
def test_change_that_needs_one_step_has_one_step(tmp_path: Path, change: tuple[str, str]) -> None:
    assert [name for name, _, _ in list_stages(migrate_specs(tmp_path, change))] == ["wanted"]


def test_a_step_without_room_is_refused_with_its_own_errors(
    fabricc: Callable[..., Any], tmp_path: Path
) -> None:
    compile_pair(
        tmp_path,
        ("dscp: 26", "dscp: 34"),
        base=SPEC.replace("  default: {}", "  default: {}\ncables: {spine: {medium: smf, length_m: 1000}}"),
    )
    ran = fabricc("migrate", *(str(tmp_path / side / "cluster.yaml") for side in ("old", "new")))
    assert ran.status == 1
    assert "FAB9450" in ran.err
    assert "rdma-both-priorities" in ran.err


@pytest.mark.slow
def test_migrate_reads_the_deployed_spec_from_git(fabricc: Callable[..., Any], tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC)
    spec.with_name("fabricc.lock").write_text(check_migration(spec).lock_text)
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    spec.write_text(SPEC.replace("dscp: 26", "dscp: 34, priority: 3").replace("count: 4", "count: 8"))
    assert fabricc("lock", str(spec), "--repin").status == 0
    ran = fabricc("migrate", str(spec), "--write", str(tmp_path / "steps"), "--format", "json")
    assert ran.status == 0, ran.err
    answer = json.loads(ran.out)
    assert [step["name"] for step in answer["steps"]] == ["rdma-both-code-points", "rdma-senders", "wanted"]
    moved = answer["steps"][2]["cables"]
    with (tmp_path / "steps" / "3-wanted" / "recabling.csv").open() as text:
        assert len(list(csv.DictReader(text))) == len(moved) > 0
    words = f"{len(moved)} cables ({sum(map(_is_move, moved))} moved)"
    assert words in " ".join(fabricc("migrate", str(spec)).out.split())
    ran = fabricc("migrate", str(tmp_path / "other.yaml"))
    assert (ran.status, "FAB7001" in ran.err, "other.yaml" in ran.err) == (3, True, True)
