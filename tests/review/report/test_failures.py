"""The failure table against the fabric itself: cables are taken away one by one, and what is left is followed."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from fabricc.fabric.capacity.remainder import Remainder, count_even_links
from fabricc.fabric.capacity.throughput import OutageRates, Throughput, measure_throughput
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.fabric.naming import PLANE_LETTERS
from fabricc.fabric.shape import TierName
from fabricc.review.report.failures import describe_kept_bandwidth, hardest_single, single_failures
from fabricc.review.report.topology import topology_section
from fabricc.review.report.values import NONE, Picture, Table, switch_kinds
from tests.review.report.flows import Graph, find_bisection
from tests.review.report.specs import MIXED_SPEEDS, SMALL, front_of, lab_spec

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableRow
    from fabricc.review.report.failures import Failure


@pytest.fixture(scope="module", params=SMALL)
def fabric(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fabric:
    planned = front_of(tmp_path_factory.mktemp("spec"), SMALL[request.param]).fabric
    assert planned is not None
    return planned


def whole_throughput(fabric: Fabric) -> Throughput:
    return measure_throughput(OutageRates(Remainder(Wiring(fabric), Outage())))


def find_failure(fabric: Fabric, beginning: str) -> Failure | None:
    found = [each for each in single_failures(fabric, hashed=True) if each.part.startswith(beginning)]
    assert len(found) < 2
    return found[0] if found else None


def tier_names(fabric: Fabric, name: str) -> list[str]:
    return [fabric.name(at) for at in fabric.switch_ids() if at.tier.value == name]


def find_cages(fabric: Fabric, name: str) -> dict[str, int]:
    """Port of a switch -> its cage."""
    at = fabric.find(name)
    return {port.name: port.cage for port in fabric.switch(at).ports}  # type: ignore[arg-type]


def touching_cables(cables: list[CableRow], *devices: str) -> set[CableRow]:
    return {cable for cable in cables if {cable.a_device, cable.b_device} & set(devices)}


def find_losses(fabric: Fabric, cables: list[CableRow]) -> dict[str, list[set[CableRow]]]:
    """Beginning of a row's first cell -> the cables that each single such part takes with it."""
    tors, spines, cores = (tier_names(fabric, name) for name in ("tor", "spine", "core"))
    host, spine, core = ([{c} for c in cables if c.kind == kind] for kind in ("host", "spine", "core"))
    nics: dict[tuple[str, str], set[CableRow]] = {}
    split: dict[tuple[str, str, int], set[CableRow]] = {}
    for cable in cables:
        if cable.kind == "host":
            nics.setdefault((cable.a_device, cable.a_port.rstrip("".join(PLANE_LETTERS[:8]))), set()).add(
                cable
            )
        for device, port in ((cable.a_device, cable.a_port), (cable.b_device, cable.b_port)):
            if device in tors or (device in spines and cable.kind == "spine"):
                cage = find_cages(fabric, device)[port]
                split.setdefault((device, cable.kind, cage), set()).add(cable)
    planes = range(fabric.shape.planes)
    plane_of = {fabric.name(at): at.plane for at in fabric.switch_ids()}
    return {
        "Host link": host,
        "ToR uplink": spine,
        "Split cage of a ToR, host side": [c for (d, k, _), c in split.items() if d in tors and k == "host"],
        "Split cage of a ToR, uplinks": [c for (d, k, _), c in split.items() if d in tors and k == "spine"],
        "Split cage of a spine": [c for (d, _, _), c in split.items() if d in spines],
        "NIC": list(nics.values()),
        "ToR": [touching_cables(cables, name) for name in tors],
        "Spine": [touching_cables(cables, name) for name in spines],
        "Link of a spine": core,
        "Core": [touching_cables(cables, name) for name in cores],
        "A whole plane": [
            touching_cables(cables, *(name for name, plane in plane_of.items() if plane == p)) for p in planes
        ],
    }


def find_exactly(fabric: Fabric, beginning: str) -> Failure | None:
    """The row of that part; `ToR` is not `ToR uplink`."""
    found = [
        each for each in single_failures(fabric, hashed=True) if each.part.partition(":")[0] == beginning
    ]
    return (
        found[0]
        if found
        else find_failure(fabric, beginning)
        if beginning not in ("ToR", "Spine", "Core")
        else None
    )


def count_hit(fabric: Fabric, gone: set[CableRow], cables: list[CableRow]) -> tuple[int, int, int, Fraction]:
    """Hosts and GPUs without a port, GPUs with fewer, and the least share that one of these keeps."""
    left = Counter(cable.a_device for cable in cables if cable.kind == "host" and cable not in gone)
    hosts = {cable.a_device for cable in gone if cable.kind == "host"}
    nics = Counter(
        (c.a_device, c.a_port.rstrip("".join(PLANE_LETTERS[:8]))) for c in gone if c.kind == "host"
    )
    ports = fabric.shape.nic_ports  # of the one NIC of each GPU
    cut = sum(1 for lost in nics.values() if lost == ports)
    fewer = [Fraction(ports - lost, ports) for lost in nics.values() if lost < ports]
    return sum(1 for host in hosts if not left[host]), cut, len(fewer), min(fewer, default=Fraction(1))


def test_losses_of_a_part_equal_the_losses_of_its_cables(fabric: Fabric) -> None:
    cables = list(fabric.cables())
    for part, singles in find_losses(fabric, cables).items():
        row = find_exactly(fabric, part)
        if part.startswith("Split") and max(map(len, singles)) == 1:
            assert row is None  # a cage with one link is the link's own row
            continue
        if row is None:
            assert not singles or part == "A whole plane" or (part == "NIC" and fabric.shape.nic_ports == 1)
            continue
        assert row.number == len(singles), part
        worst = max(singles, key=lambda gone: (*count_hit(fabric, gone, cables)[:3], len(gone)))
        assert row.links == len(worst), part
        hosts, cut, fewer, kept = count_hit(fabric, worst, cables)
        assert (row.hosts_cut, row.gpus_cut) == (hosts, cut), part
        if row.where == "at the NIC":
            assert (row.reduced, row.kept) == (fewer, kept), part


def test_the_bisection_that_is_left_is_what_flows(fabric: Fabric) -> None:
    cables = list(fabric.cables())
    before = find_bisection(fabric, cables)
    assert whole_throughput(fabric).bisection_gbps == before
    for part, singles in find_losses(fabric, cables).items():
        if (row := find_exactly(fabric, part)) is None or not singles:
            continue
        largest = max(singles, key=len)
        after = find_bisection(fabric, [cable for cable in cables if cable not in largest])
        assert row.bisection == Fraction(after, before), part


def test_gpus_keep_beyond_their_tor_what_flows_through_it(fabric: Fabric) -> None:
    """Hosts on one ToR send to those of all other units: whole, and with the part lost."""
    cables = list(fabric.cables())
    tor = next(iter(fabric.tor_ids(0)))
    name, own = fabric.name(tor), set(fabric.units[0].hosts.values())
    others = {host for unit in fabric.units.values() for host in unit.hosts.values()} - own
    through = [c for c in cables if c.kind != "host" or c.b_device == name or c.a_device in others]
    before = Graph(through).flow(own, others)
    share = Fraction(1, fabric.shape.nic_ports)  # of a GPU's ports, the one on this ToR
    for part in ("ToR uplink", "Split cage of a ToR, uplinks"):
        if (row := find_failure(fabric, part)) is None:
            continue
        gone = max(
            (one for one in find_losses(fabric, cables)[part] if all(c.a_device == name for c in one)),
            key=len,
        )
        after = Graph(c for c in through if c not in gone).flow(own, others)
        assert row.kept == 1 - share * (1 - Fraction(after, before)), part


def test_next_hops_left_are_uplinks_left(fabric: Fabric) -> None:
    cables = list(fabric.cables())
    tor, spine = tier_names(fabric, "tor")[0], tier_names(fabric, "spine")[0]
    up = [cable for cable in cables if cable.kind == "spine" and cable.a_device == tor]
    left = sum(1 for cable in up if cable.b_device != spine)
    row = find_failure(fabric, "Spine")
    assert row is not None
    assert row.width.startswith(f"{left} of {len(up)} ")


def test_a_unit_without_power_takes_its_hosts_and_leaves_the_rest(fabric: Fabric) -> None:
    row = find_failure(fabric, "Power")
    unit = next(iter(fabric.units.values()))
    assert row is not None
    assert row.hosts_cut == len(unit.hosts)
    assert row.number == len(fabric.units)
    gone = touching_cables(
        list(fabric.cables()), *(fabric.name(at) for at in fabric.tor_ids(unit.coordinate))
    )
    assert row.links == len(gone)
    assert row.bisection == 1 - Fraction(1, len(fabric.units))


def test_even_hashing_over_parallel_links_is_reported(tmp_path: Path) -> None:
    """Two spines by two links each: one link lost leaves three, but each spine is sent half."""
    parallel = find_failure(front_of(tmp_path, lab_spec(8, 4, 4, 2)).fabric, "ToR uplink")  # type: ignore[arg-type]
    assert parallel is not None
    assert (parallel.kept, parallel.evenly) == (Fraction(3, 4), Fraction(1, 2))
    assert describe_kept_bandwidth(parallel) == "75 % beyond the ToR; 50 % if hashed evenly"
    single = find_failure(front_of(tmp_path, lab_spec(8, 4, 4, 4)).fabric, "ToR uplink")  # type: ignore[arg-type]
    assert single is not None
    assert (single.kept, single.evenly) == (Fraction(3, 4), None)


@pytest.fixture(scope="module")
def speeds(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return front_of(tmp_path_factory.mktemp("speeds"), MIXED_SPEEDS)


def test_tors_of_either_speed_lose_their_own_uplinks(speeds: Compiled) -> None:
    fabric = speeds.fabric
    assert fabric is not None
    assert fabric.tor_links == (4, 8)
    cables = list(fabric.cables())
    for model, tor, links in (("H100", "a1-tor1a", 4), ("B300", "b1-tor1a", 8)):
        rows = {
            each.part.partition(":")[0]: each
            for each in single_failures(fabric, hashed=True)
            if each.example == tor and model in each.part
        }
        own = [cable for cable in cables if cable.kind == "spine" and cable.a_device == tor]
        assert len(own) == 8 * links
        uplink, split = rows["ToR uplink"], rows["Split cage of a ToR, uplinks"]
        assert (uplink.number, uplink.width) == (2 * len(own), f"{len(own) - 1} of {len(own)} at that ToR")
        in_cages = Counter(find_cages(fabric, tor)[cable.a_port] for cable in own)
        assert (split.number, split.links) == (2 * len(in_cages), max(in_cages.values()))
        assert uplink.kept == 1 - Fraction(1, len(own))
        assert uplink.evenly == 1 - Fraction(1, links)


def test_a_spine_below_which_tors_differ_takes_the_same_share_of_each(speeds: Compiled) -> None:
    fabric = speeds.fabric
    assert fabric is not None
    cables = list(fabric.cables())
    row, cage = find_exactly(fabric, "Spine"), find_failure(fabric, "Split cage of a spine")
    assert row is not None
    assert row.links == len(touching_cables(cables, "spine01a")) == 2 * 4 + 2 * 8
    assert row.kept == row.bisection == Fraction(7, 8)
    assert row.width == "56 of 64 or 28 of 32 at every ToR"
    assert cage is not None
    in_cages: dict[int, set[str]] = {}
    for cable in touching_cables(cables, "spine01a"):
        in_cages.setdefault(find_cages(fabric, "spine01a")[cable.b_port], set()).add(cable.a_port)
    assert cage.number == len(in_cages) * fabric.shape.spines
    whole = whole_throughput(fabric)
    assert whole.hosts_gbps == whole.carried_gbps == 2 * 12_800 + 2 * 25_600


def test_tiers_are_listed_by_the_hosts_below_where_uplinks_differ(speeds: Compiled) -> None:
    assert speeds.fabric is not None
    assert speeds.spec is not None
    section = topology_section(speeds.spec, speeds.fabric, switch_kinds(speeds.fabric))
    tiers = next(part for part in section.parts if isinstance(part, Table) and part.key == "tiers")
    rows = {row[0]: (row[1], row[5], row[7]) for row in tiers.rows}
    assert rows == {
        "ToR of NVIDIA DGX H100": (2, "32 \N{MULTIPLICATION SIGN} 400G = 12.8 Tb/s", "1:1"),
        "ToR of NVIDIA DGX B300": (2, "64 \N{MULTIPLICATION SIGN} 400G = 25.6 Tb/s", "1:1"),
        "spine": (8, NONE, NONE),
    }
    shown = next(part for part in section.parts if isinstance(part, Picture))
    words = " ".join(shown.words)
    assert (
        "64 uplinks of 400G, 8 to each, or by its hosts 32 uplinks of 400G, 4 to each of the 8 spines"
        in words
    )


def test_hashing_evenly_is_bound_by_the_narrowest_next_hop() -> None:
    assert count_even_links([2, 2, 1]) == 3
    assert count_even_links([2, 2, 0]) == 4
    assert count_even_links([0, 0]) == 0


def test_the_hardest_single_loss_is_of_one_device(fabric: Fabric) -> None:
    found = single_failures(fabric, hashed=True)
    hardest = hardest_single(found)
    assert hardest is not None
    assert hardest.device
    assert hardest.gpus_cut == max(each.gpus_cut for each in found if each.device)


def test_tiers_without_cores_name_none(fabric: Fabric) -> None:
    assert (find_failure(fabric, "Core") is None) == (TierName.CORE not in fabric.tiers)
