"""Published clusters come out with the published numbers of leaves, spines, cores and cables."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.front.planning.support import fabric_of, make_document, planned

NV_B200 = "docs.nvidia.com DGX SuperPOD reference architecture, B200"
NV_B300 = "docs.nvidia.com DGX SuperPOD scalable infrastructure, B300"
NV_XDR = "docs.nvidia.com DGX SuperPOD, B300 with XDR"
NV_ERA = "NVIDIA Enterprise Reference Architectures, single tier of two leaves for each plane"
HPN = "Alibaba HPN, SIGCOMM 2024"
SIMAI = "SimAI topology template generator"
DEEPSEEK = "Insights into DeepSeek-V3, ISCA 2025, comparison of topologies of 64-port switches"
JVD = "Juniper validated design AI/ML multitenancy backend, table 5"


NO_HOSTS = {"hosts": None, "hosts_per_unit": None}


def superpod_spec(hosts: int, **more: Any) -> dict[str, Any]:
    """B200 SuperPOD: 32 hosts a unit, 64 x 400G switches."""
    return make_document(gpus={"hosts": hosts, **more.pop("gpus", {})}, **more)


def single_tier(model: str, hosts: int, rails: int, **more: Any) -> dict[str, Any]:
    """Two leaves for each plane, joined by inter-switch links."""
    gpus = {"model": model, "hosts": hosts, "hosts_per_unit": hosts, "rails_per_tor": rails}
    return make_document(gpus=gpus, tors={"model": "sn5600", "peer_links": 8}, spines=None, **more)


def b300_spec(hosts: int, **gpus: Any) -> dict[str, Any]:
    """Return B300 on 64 x 800G switches; the uplinks are 800G by default."""
    box = {"model": "sn5600"}
    return make_document(gpus={"model": "dgx-b300", "hosts": hosts, **gpus}, tors=box, spines=box)


def xdr_spec(hosts: int) -> dict[str, Any]:
    """B300 on 144-port 800G switches, 72 hosts a unit; InfiniBand has credits, hence no lossless Ethernet class."""
    box = {"model": "q3400"}
    gpus = {"model": "dgx-b300", "hosts": hosts, "hosts_per_unit": 72}
    return make_document(gpus=gpus, tors=box, spines=box, priorities={"rdma": None, "cnp": None})


def hpn_spec(hosts: int, planes: int, uplink: int, **more: Any) -> dict[str, Any]:
    """HPN segments of 128 hosts with 2 x 200G a GPU."""
    box = {"model": "sn5600", "uplink_gbps": uplink}
    return make_document(
        gpus={"model": "hgx-2x200", "hosts": hosts, "hosts_per_unit": 128},
        planes=planes,
        tors={**box, "oversubscription": 1.067, "reserved_ports": 8 if uplink == 400 else 0},
        spines=more.pop("spines", {"model": "sn5600"}),
        **more,
    )


def stripe_spec(model: str, hosts: int) -> dict[str, Any]:
    """One Juniper stripe: 8 leaves, each with as many uplinks as hosts."""
    box = {"model": model, "uplink_gbps": 400}
    return make_document(gpus={"hosts": hosts, "hosts_per_unit": hosts}, tors=box, spines={"model": model})


ROWS = [
    # id, source, spec, leaves, spines, cores, host cables, leaf-spine cables, spine-core cables
    ("T1", NV_B200, superpod_spec(64), 16, 8, 0, 512, 512, 0),
    ("T2", NV_B200, superpod_spec(128), 32, 16, 0, 1024, 1024, 0),
    ("T3", NV_B200, superpod_spec(256), 64, 32, 0, 2048, 2048, 0),
    ("ERA-00010, 16 nodes", NV_ERA, single_tier("dgx-h100", 16, 4), 2, 0, 0, 128, 0, 0),
    ("ERA-00011, dual plane", NV_ERA, single_tier("dgx-b300-2x400", 16, 4, planes=2), 4, 0, 0, 256, 0, 0),
    ("ERA-00016, 32 nodes", NV_ERA, single_tier("rtx-pro-8gpu", 32, 2), 2, 0, 0, 128, 0, 0),
    ("T4", NV_B200, superpod_spec(512, cores={"model": "sn5400", "nos": "frr"}), 128, 128, 64, 4096, 4096, 4096),
    # T7 and T8 count 4 links of a management appliance in addition to those of 31 and 127 hosts (252, 1020)
    ("T7", NV_B200 + ", as built", superpod_spec(31), 8, 4, 0, 252 - 4, 256, 0),
    ("T8", NV_B200 + ", as built", superpod_spec(127), 32, 16, 0, 1020 - 4, 1024, 0),
    ("T9", NV_B300, b300_spec(64), 16, 8, 0, 512, 512, 0),
    ("T10", NV_B300, b300_spec(128), 32, 16, 0, 1024, 1024, 0),
    ("T14", NV_XDR, xdr_spec(72), 8, 4, 0, 576, 576, 0),
    ("T16", NV_XDR, xdr_spec(288), 32, 18, 0, 2304, 2304, 0),
    ("T17", NV_XDR, xdr_spec(576), 64, 36, 0, 4608, 4608, 0),
    ("T18", NV_XDR + " (the page prints 9,216 GPUs; its cables say 10,368)", xdr_spec(1296), 144, 72, 0, 10368,
        10368, 0),
    ("T23", SIMAI, make_document(
        gpus={"hosts": 512, "hosts_per_unit": 64}, tors={"model": "sn5600", "uplink_gbps": 400}
    ), 64, 64, 0, 4096, 4096, 0),
    ("T25-5220", JVD, stripe_spec("qfx5220-32cd", 16), 8, 4, 0, 128, 128, 0),
    ("T25-5230", JVD, stripe_spec("qfx5230-64cd", 32), 8, 4, 0, 256, 256, 0),
    ("T25-5240", JVD, stripe_spec("qfx5240-64od", 64), 8, 4, 0, 512, 512, 0),
    ("T20", HPN, hpn_spec(1920, 2, 400, spines={"model": "sn5600", "oversubscription": 15, "uplink_gbps": 400},
                     cores={"model": "sn5600", "nos": "frr"}), 240, 120, 8, 30720, 14400, 960),
    ("T21", SIMAI, hpn_spec(1920, 1, 200), 240, 120, 0, 30720, 28800, 0),
    # the table has 16,384 endpoints on 768 switches of eight planes, and 65,536 on 5,120 of three tiers
    ("MPFT", DEEPSEEK, superpod_spec(2048, gpus={"wiring": "rail-only"}), 512, 256, 0, 16384, 16384, 0),
    ("FT3", DEEPSEEK, superpod_spec(8192, cores={"model": "sn5400", "nos": "frr"}), 2048, 2048, 1024, 65536, 65536,
        65536),
    # the comparison has 16,384 GPUs in three tiers; the counts are those of 64-port switches at full bandwidth
    ("T29", HPN + ", table 1", superpod_spec(2048, cores={"model": "sn5400", "nos": "frr"}),
     512, 512, 256, 16384, 16384, 16384),
    ("T12 by rail", NV_B300, b300_spec(512, wiring="rail-only"), 128, 64, 0, 4096, 4096, 0),
    ("T13 by rail", NV_B300, b300_spec(1024, wiring="rail-only"), 256, 128, 0, 8192, 8192, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "leaves", "spines", "cores", "host", "spine", "core"),
    [pytest.param(*row[2:], id=f"{row[0]} {row[1]}") for row in ROWS],
)
def test_row(
    spec: dict[str, Any], leaves: int, spines: int, cores: int, host: int, spine: int, core: int
) -> None:
    counts = fabric_of(spec).counts()
    found = [counts[k] for k in ("tors", "spines", "cores", "host_cables", "spine_cables", "core_cables")]
    assert found == [leaves, spines, cores, host, spine, core]


def test_t19_an_hpn_segment_has_sixteen_tors_and_2048_host_ports() -> None:
    """HPN: 1,024 GPUs; a ToR has 128 + 8 host ports at 200G and 60 uplinks at 400G, 1.067:1 without the spares."""
    fabric = fabric_of(hpn_spec(128, 2, 400))
    tor = fabric.tor_layouts[0]
    assert (fabric.counts()["tors"], fabric.counts()["host_cables"]) == (16, 2048)
    assert (len(tor.down), tor.reserved, len(tor.up)) == (136, 8, 60)
    assert {slot.cage for slot in tor.slots} == set(range(1, 65))


@pytest.mark.parametrize(
    ("row", "hosts", "leaves", "spines"), [("T12", 512, 128, 64), ("T13", 1024, 256, 128)]
)
def test_rows_that_cannot_be_one_flat_mesh_are_refused_and_fit_with_two_planes(
    row: str, hosts: int, leaves: int, spines: int
) -> None:
    """A 64-port spine reaches 64 leaves; with NIC ports as 2 x 400G in two planes the published counts come out."""
    refused = planned(b300_spec(hosts))
    assert refused.fabric is None
    (problem,) = refused.diagnostics
    assert problem.code == "FAB3009"
    remedy = next(text for text in problem.help.split(". ") if text.startswith("`planes"))
    assert f"per plane {leaves // 2} ToRs and {spines // 2} spines" in remedy
    keys: dict[str, int] = {key: int(value) for key, value in re.findall(r"`([a-z_.]+): (\d+)`", remedy)}
    gpus = {"model": "dgx-b300", "hosts": hosts, "hosts_per_unit": keys.get("gpus.hosts_per_unit", 32)}
    box = {"model": "sn5600", "uplink_gbps": keys.get("tors.uplink_gbps")}
    planes = keys["planes"]
    counts = fabric_of(make_document(gpus=gpus, planes=planes, tors=box, spines={"model": "sn5600"})).counts()
    assert (counts["tors"], counts["spines"]) == (leaves, spines)


def test_meta_24k_is_eight_zones_of_192_racks_with_one_to_seven_above() -> None:
    """T24 and Llama 3 section 3.3: 3,072 GPUs a zone, full bisection in it; 192 downlinks per spine, 1:7 up."""
    fabric = fabric_of(
        make_document(
            gpus={"model": "grand-teton", "racks": 1536, "hosts_per_rack": 2, "wiring": "rack", **NO_HOSTS},
            tors={"model": "7060dx5-64s"},
            spines={"model": "7816r3", "count": 16, "oversubscription": 7, "units_per_pod": 192},
            cores={"model": "7060x6-64pe", "nos": "frr"},
        )
    )
    counts, shape = fabric.counts(), fabric.shape
    assert (counts["gpus"], counts["tors"], shape.pods) == (24_576, 8 * 192, 8)
    assert shape.uplinks * 400 >= 16 * 400
    assert counts["spine_cables"] == 8 * 192 * shape.uplinks
    assert 192 / shape.spine_uplinks <= 7 < 192 / (shape.spine_uplinks - 1)


@pytest.mark.parametrize("spine", ["sn5400", "7060dx5-64s", "qfx5230-64cd", "sn5600"])
def test_no_box_of_64_ports_reaches_256_tors_and_the_refusal_names_switches_that_do(spine: str) -> None:
    """'Each spine connects to 256 ToRs': 256 racks of 16 GPUs need 256 spine ports at 400G."""
    gpus = {"model": "grand-teton", "racks": 256, "hosts_per_rack": 2, "wiring": "rack", **NO_HOSTS}
    refused = planned(make_document(gpus=gpus, tors={"model": "7060dx5-64s"}, spines={"model": spine}))
    (problem,) = refused.diagnostics
    assert problem.code == "FAB3009"
    named = re.findall(r"([\w.-]+) \((\d+) ports\)", problem.help)
    assert named
    assert all(int(ports) >= 256 for _, ports in named)
    assert fabric_of(make_document(gpus=gpus, tors={"model": "7060dx5-64s"}, spines={"model": named[0][0]}))
    assert fabric_of(make_document(gpus=gpus, tors={"model": "7060dx5-64s"}, spines={"model": "7816r3"}))


def test_meta_rack_switches_have_an_eighth_more_uplinks_than_they_need() -> None:
    """Rack switch uplinks 1:1.125, 16 down and 18 up: the zone stays non-blocking after two spine failures."""
    fabric = fabric_of(
        make_document(
            gpus={"model": "grand-teton", "racks": 192, "hosts_per_rack": 2, "wiring": "rack", **NO_HOSTS},
            tors={"model": "7060dx5-64s", "oversubscription": 0.889},
            spines={"model": "7816r3"},
        )
    )
    assert (len(fabric.tor_layouts[0].down), fabric.shape.uplinks) == (16, 18)
    assert fabric.shape.spines * fabric.shape.links_per_spine == 18


def astral_spec(hosts: int) -> dict[str, Any]:
    """Blocks of 128 hosts with 2 x 200G a GPU to two ToRs; aggregation by rail, cores join the rails."""
    box = {"model": "sn5600", "nos": "frr", "uplink_gbps": 400}
    return make_document(
        gpus={"model": "hgx-2x200", "hosts": hosts, "hosts_per_unit": 128}, planes=2, tors=box,
        spines={**box, "rails": 1}, cores={"model": "sn5600", "nos": "frr"},
    )  # fmt: skip


def test_an_astral_pod_has_64k_gpus_and_equal_bandwidth_in_every_tier() -> None:
    """Tencent, Astral, SIGCOMM 2025: same-rail aggregation makes a pod of 64K GPUs, nothing oversubscribed."""
    fabric = fabric_of(astral_spec(64 * 128))
    counts, shape = fabric.counts(), fabric.shape
    assert (counts["gpus"], shape.pods, shape.units_per_pod) == (65_536, 1, 64)
    assert (shape.planes, shape.rail_planes, shape.spines) == (16, 8, 64)
    assert counts["spine_cables"] == counts["core_cables"] == 65_536
    assert counts["host_cables"] * 200 == counts["spine_cables"] * 400
    assert fabric_of(astral_spec(65 * 128)).shape.pods == 2


@pytest.mark.parametrize(
    ("host", "box", "ports"),
    [("dgx-a100", "7060dx5-64s", 400), ("hgx-8gpu", "sn5600", 800)],
    ids=["T27 MegaScale, NSDI 2024", "T28 Barre"],
)
def test_groups_of_64_servers_on_8_tors_in_three_tiers_of_equal_bandwidth(
    host: str, box: str, ports: int
) -> None:
    """A switch port is two NICs' cables: 32 ports down to 64 servers, 32 up, 512 NICs a group, over 10,000 GPUs."""
    tier = {"model": box, "nos": "frr"}
    gpus = {"model": host, "hosts": 1280, "hosts_per_unit": 64}
    fabric = fabric_of(make_document(gpus=gpus, tors=tier, spines=tier, cores=tier))
    counts, tor = fabric.counts(), fabric.tor_layouts[0]
    assert counts["gpus"] == counts["host_cables"] == 20 * 512 > 10_000
    assert (counts["tors"], counts["spine_cables"]) == (20 * 8, 20 * 256)
    assert counts["core_cables"] == counts["spine_cables"]
    assert len({tor.slots[slot].cage for slot in tor.down}) == len(tor.up) == 32
    assert {tor.slots[slot].speed_gbps for slot in tor.up} == {ports}


def test_spines_whose_ports_are_all_reserved_are_refused() -> None:
    refused = planned(
        make_document(tors={"model": "sn5600"}, spines={"model": "sn5600", "count": 2, "reserved_ports": 64})
    )
    assert [each.code for each in refused.diagnostics] == ["FAB3009"]


@pytest.mark.parametrize(
    ("gpus", "key"),
    [
        ({"model": "hgx-8gpu", "hosts": 64, "hosts_per_unit": 4}, "gpus.hosts_per_unit"),
        (
            {"model": "hgx-2x200", "hosts": 128, "hosts_per_unit": 8, "rails_per_tor": 1},
            "gpus.hosts_per_unit",
        ),
    ],
)
def test_a_mesh_of_too_many_tors_names_more_hosts_behind_each(gpus: dict[str, Any], key: str) -> None:
    box = {"model": "sn5400", "nos": "frr"}
    (problem,) = planned(make_document(gpus=gpus, tors=box, spines=box)).diagnostics
    assert problem.code == "FAB3009"
    found = re.search(rf"(?:^|\. )`{key}: (\d+)` fits: per plane (\d+) ToRs and (\d+) spines", problem.help)
    assert found
    larger = {**gpus, key.removeprefix("gpus."): int(found[1])}
    counts = fabric_of(make_document(gpus=larger, tors=box, spines=box)).counts()
    assert (counts["tors"], counts["spines"]) == (int(found[2]), int(found[3]))


def test_a_mesh_of_full_tors_names_no_more_hosts_behind_each() -> None:
    tor = {"model": "sn5600", "nos": "frr", "uplink_gbps": 400}
    gpus = {"model": "hgx-8gpu", "hosts": 4096, "hosts_per_unit": 64}
    (problem,) = planned(
        make_document(gpus=gpus, tors=tor, spines={"model": "sn5600", "nos": "frr"})
    ).diagnostics
    assert problem.code == "FAB3009"
    assert "hosts_per_unit" not in problem.help
    assert "rails_per_tor" not in problem.help
