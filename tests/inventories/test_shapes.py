"""Every shape of a cluster on every operating system: built, proved, cabled, labeled, and exported to jobs."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.specs import MILLION
from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.catalog.load import load_catalog
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.model import Host
from fabricc.paperwork.bill import label_rows
from fabricc.paperwork.materials import list_materials

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BOXES = {
    "cumulus": "sn5600", "eos": "7060x6-64pe", "frr": "linux-64x400", "junos": "qfx5240-64od", "nxos": "9364d-gx2a",
    "sonic": "sn5600",
}  # fmt: skip
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZhYnJpY2MtdGVzdC1rZXktbm90LXJlYWwtMDAwMDA"
ACCEPTED = {
    "frr": ("FAB5201", "FAB5202"), "junos": ("FAB5510", "FAB5725"), "sonic": ("FAB5725",), "cumulus": ("FAB5725",)
}  # fmt: skip
TWO_PORTS = {"model": "hgx-2x200", "hosts": 8}
RACKS = {"hosts": None, "hosts_per_unit": None, "wiring": "rack", "racks": 4, "hosts_per_rack": 2}
GROUPS = {
    "model": None, "hosts": None, "hosts_per_unit": None,
    "groups": [
        {"name": "train", "model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4},
        {"name": "store", "model": "storage-2x400", "hosts": 6, "hosts_per_unit": 4},
        {"name": "login", "model": "storage-2x400", "hosts": 2, "hosts_per_unit": 1, "beside": "train"},
    ],
}  # fmt: skip
PODS = {"count": 2, "uplink_gbps": 400}
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, set[str], tuple[int, int, int]]] = {
    # name: (gpus, spines, what else there is, (ToRs, spines, cores))
    "one ToR": ({"hosts": 4, "rails_per_tor": 0}, None, set(), (1, 0, 0)),
    "a ToR a plane": ({**TWO_PORTS, "hosts": 4, "rails_per_tor": 0}, None, {"planes"}, (2, 0, 0)),
    "rails without spines": ({"hosts": 4, "wiring": "rail-only"}, None, set(), (8, 0, 0)),
    "rails of their own": ({"wiring": "rail-only"}, {"count": 2}, set(), (16, 16, 0)),
    "rails that meet": ({}, {"count": 2}, set(), (16, 2, 0)),
    "racks": (RACKS, {"count": 2}, set(), (4, 2, 0)),
    "pairs of ToRs": ({**RACKS, "model": "hgx-2x200"}, {"count": 2}, set(), (8, 2, 0)),
    "two planes": (TWO_PORTS, {"count": 2}, {"planes"}, (32, 4, 0)),
    "racks of rails": ({"hosts": None, "racks": ["a", "b", "c"], "hosts_per_rack": 2}, {"count": 2}, set(), (16, 2, 0)),
    "trays of NVL72": ({"model": "gb200-nvl72", "hosts": None, "racks": ["a", "b"], "hosts_per_rack": 4,
                        "hosts_per_unit": 8}, {"count": 2}, set(), (4, 2, 0)),
    "sets of rails": ({"hosts": 16}, {**PODS, "rails": 4, "units_per_pod": 2}, {"cores"}, (32, 8, 2)),
    "unequal pods": ({"hosts": 12}, {**PODS, "units_per_pod": [2, 1]}, {"cores"}, (24, 4, 2)),
    "more than GPUs": (GROUPS, {"count": 4}, set(), (20, 4, 0)),
    "a way out": ({}, {"count": 2}, {"external"}, (16, 2, 0)),
    "a front end": ({}, {"count": 2}, {"networks"}, (17, 3, 0)),
    "all of it": (GROUPS, {**PODS, "count": 4, "units_per_pod": 2, "oversubscription": 2.0},
                  {"cores", "external", "networks"}, (22, 9, 2)),
}  # fmt: skip


def spec_of(nos: str, shape: str) -> dict[str, Any]:
    gpus, spines, more, _ = SHAPES[shape]
    box = {"model": BOXES[nos], "nos": nos}
    hosts = {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4, **gpus}
    found: dict[str, Any] = {
        "cluster": "shape",
        "gpus": {key: value for key, value in hosts.items() if value is not None},
        "tors": box,
        "management": {"users": [{"name": "ops", "ssh_key": KEY}]},
        "cables": {"core": {"length_m": 40}},
        "accept": [{"code": code, "reason": "shapes are tried here"} for code in ACCEPTED.get(nos, ())],
    }
    if spines is not None:
        found["spines"] = {**box, **spines}
    if "planes" in more:
        found["planes"] = 2
    if "cores" in more:
        found["cores"] = {**box, "count": 2}
    if "external" in more:
        found["spines"]["reserved_ports"] = 4
        at = "pod1-spine01a" if "cores" in more else "spine01a"
        found["external"] = {"dc": way_out(nos, at, "198.51.100.0/31")}
    if "networks" in more:
        ports = {"tors": {**box, "oversubscription": 2.0}, "spines": {**box, "count": 1, "reserved_ports": 8}}
        outside = {"dc": way_out(nos, "frontend-spine01a", "192.0.2.0/31")}
        front = {"hosts_per_unit": 8, "priorities": {"default": {}}, **ports, "external": outside}
        found["networks"] = {"frontend": front}
    return found


def write_spec(folder: Path, nos: str, shape: str) -> Path:
    path = folder / "cluster.yaml"
    path.write_text(json.dumps(spec_of(nos, shape)))
    return path


def way_out(nos: str, at: str, local: str) -> dict[str, Any]:
    """A link at the last cage of a switch, undivided."""
    model = load_catalog()[0].switches[BOXES[nos]]
    group = max((each for each in model.cages if each.fabric), key=lambda each: each.first)
    port = back_ends.load(nos).port_name(model, group.first + group.count - 1, 1, 1)
    speed = max(each.speed_gbps for each in group.breakouts if each.children == 1)
    link = {
        "at": at,
        "port": port,
        "speed_gbps": speed,
        "local": local,
        "peer": "core-1",
        "peer_port": f"to-{at}",
    }
    return {"asn": 64999, "accept": ["0.0.0.0/0", "203.0.113.0/24"], "links": [link]}


def expand_list(text: str) -> Iterator[str]:
    """The names of a Slurm list: `a-host[01-04],b`."""
    for stem, ranges in re.findall(r"([^,\[]+)(?:\[([^]]*)\])?", text):
        if not ranges:
            yield stem
        for part in filter(None, ranges.split(",")):
            first, _, last = part.partition("-")
            yield from (
                f"{stem}{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1)
            )


def on_every_system() -> Iterator[object]:
    """Each shape on a system, in turn, and all of it on every one; the rest in the long run."""
    systems = [*BOXES]
    for at, shape in enumerate(SHAPES):
        for nos in systems:
            quick = nos == systems[at % len(systems)] or shape == "all of it"
            yield pytest.param(nos, shape, id=f"{nos}-{shape}", marks=[] if quick else [pytest.mark.slow])


@pytest.mark.spread
@pytest.mark.parametrize(("nos", "shape"), [*on_every_system()])
def test_every_shape_builds_on_every_system(nos: str, shape: str, tmp_path: Path) -> None:
    spec = spec_of(nos, shape)
    compiled = compile_spec(write_spec(tmp_path, nos, shape))
    assert [each.message for each in compiled.diagnostics if each.severity is Severity.ERROR] == []
    result = compiled.write(tmp_path / "build", jobs=1)
    assert [each.message for each in result.diagnostics if each.severity is Severity.ERROR] == []
    assert result.tree is not None
    counts = compiled.counts()
    assert (counts["tors"], counts["spines"], counts["cores"]) == SHAPES[shape][3]
    cabled = {name: rows_of(result.tree / "plan" / name / "cabling.csv") for name in ("", *compiled.networks)}
    ends = [end for rows in cabled.values() for row in rows for end in ends_of(row)]
    assert len(ends) == len(set(ends))
    for part, rows in zip([compiled, *compiled.networks.values()], cabled.values(), strict=True):
        kinds, counted = Counter(row["kind"] for row in rows), part.fabric.counts()
        outside = spec if part is compiled else spec["networks"][part.fabric.network]
        assert kinds.pop("external", 0) == len(outside.get("external", {}))
        assert kinds == {kind: n for kind in ("host", "spine", "core") if (n := counted[f"{kind}_cables"])}
        labels = Counter((str(row[2]), str(row[3])) for row in label_rows(list_materials(part.fabric), {}))
        assert labels == Counter(end for row in rows for end in ends_of(row))
    reached = {host.name: {port.peer.device for port in host.ports} for host in compiled.hosts()}
    slurm = (result.tree / "jobs" / "slurm" / "topology.conf").read_text()
    leaves = [list(expand_list(nodes)) for nodes in re.findall(r"Nodes=(\S+)", slurm)]
    ranked = rows_of(result.tree / "jobs" / "hosts.csv")
    assert sorted(host for leaf in leaves for host in leaf) == sorted(reached)
    of_gpus = {row["host"] for row in ranked}
    assert all(len({frozenset(reached[host]) for host in leaf if host in of_gpus}) <= 1 for leaf in leaves)
    assert sum(int(row["gpus"]) for row in ranked) == counts["gpus"]


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open()))


def ends_of(row: dict[str, str]) -> list[tuple[str, str]]:
    return [(row["a_device"], row["a_port"]), (row["b_device"], row["b_port"])]


@pytest.mark.slow
def test_single_devices_of_a_million_gpus_are_planned_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(MILLION)
    compiled = compile_spec(path)
    counts = compiled.counts()
    assert (counts["gpus"], counts["tors"], counts["cores"]) == (1 << 20, 16384, 8192)
    for name in ("su0500-tor3a", "pod4-spine11b", "core4096a", "su1024-host128"):
        device = compiled.device(name)
        files = compiled.files(device)
        back_end = host_files if isinstance(device, Host) else back_ends.load(device.nos)
        assert back_end.read(files).facts == back_end.planned(device)
