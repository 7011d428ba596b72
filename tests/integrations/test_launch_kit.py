"""Files for NVIDIA's Kubernetes Launch Kit, held to its published loader and to the values of its own tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc.cli.entry import run

if TYPE_CHECKING:
    from pathlib import Path

FABRICS = {
    "one plane": "gpus: {model: dgx-b200, hosts: 3, hosts_per_unit: 2}\n",
    "two planes": "gpus: {model: dgx-b300, hosts: 2, hosts_per_unit: 2}\nplanes: 2\n",
    "cores": "gpus: {model: dgx-b200, hosts: 6, hosts_per_unit: 2}\ncores: {model: sn5600, nos: cumulus}\n",
}
REST = """\
cluster: lab
tors: {model: sn5600, nos: cumulus}
spines: {model: sn5600, nos: cumulus, count: 2%s}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
"""


def write_spec(folder: Path, kind: str, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    spec = folder / "cluster.yaml"
    spec.write_text(REST % (", units_per_pod: 2" if kind == "cores" else "") + FABRICS[kind] + more)
    return spec


def number_hosts(topology: dict[str, Any], profile: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Return host and port -> address by the rule of `allocateIPv4HostLeaf`; asserts what `hostLinks` refuses."""
    spectrum = profile["profile"]["spectrumX"]
    planes = spectrum["multiplaneMode"] == "swplb"
    indexes: dict[tuple[int, int], list[str]] = {}
    found = {}
    for leaf, host in topology["links"]:
        at, where = host["attributes"], leaf["attributes"]
        assert (at["role"], where["role"]) == ("host", "leaf")
        unit = indexes.setdefault((at["pod"], at["su"]), [])
        if host["node"] not in unit:
            unit.append(host["node"])
        index, rail, su, pod, plane = (
            unit.index(host["node"]),
            at["rail"],
            at["su"],
            at["pod"],
            where["plane"],
        )
        if spectrum["topologyType"] == "2-tier":
            second, third = (
                (16 | plane << 2 | rail >> 2 & 1, (rail & 3) << 6 | su) if planes else (16 | rail << 1, su)
            )
        else:
            assert not planes
            second, third = rail << 5 | pod, su
        found[host["node"], host["interface"]] = f"{spectrum['hostFirstOctet']}.{second}.{third}.{index << 1}"
    return found


def export(spec: Path, folder: Path, *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    assert run(["export", "launch-kit", str(spec), "-o", str(folder), *options]) == 0
    return json.loads((folder / "topology.json").read_text()), yaml.safe_load(
        (folder / "profile.yaml").read_text()
    )


@pytest.mark.parametrize(
    ("kind", "pool"),
    [("one plane", "172.16.0.0/12"), ("two planes", "172.16.0.0/12"), ("cores", "10.0.0.0/8")],
)
def test_the_tables_give_the_plan_the_addresses_of_the_kit(
    kind: str, pool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(tmp_path / "a", kind)
    topology, profile = export(spec, tmp_path / "a" / "kit")
    captured = capsys.readouterr()
    printed = captured.out + captured.err
    assert "FAB2155" in printed
    assert f"`addressing.hosts: {pool}`" in printed
    assert ("Move management out of" in printed) == (kind != "cores")
    rows = [line.split(",") for line in (tmp_path / "a" / "kit" / "links.csv").read_text().splitlines()[1:]]
    assert {(row[0], row[1]): row[4] for row in rows} == number_hosts(topology, profile)
    others = "loopbacks: 192.168.0.0/20, links: 192.168.64.0/18, " if kind == "cores" else ""
    more = f"addressing: {{{others}hosts: {pool}}}\nidentities: {{devices: kit/devices.csv, links: kit/links.csv}}\n"
    write_spec(tmp_path / "a", kind, f"{more}management: {{network: 192.168.128.0/17}}\n")
    assert export(spec, tmp_path / "a" / "again") == (topology, profile)
    captured = capsys.readouterr()
    assert "have the addresses that the kit computes" in captured.out, captured.err
    assert not (tmp_path / "a" / "again" / "links.csv").exists()


def test_addresses_are_those_of_the_published_tests(tmp_path: Path) -> None:
    topology, profile = export(write_spec(tmp_path / "a", "two planes"), tmp_path / "kit")
    found = number_hosts(topology, profile)
    assert found["su001-host01", "rail0a"] == "172.16.0.0"
    assert found["su001-host02", "rail0a"] == "172.16.0.2"
    assert found["su001-host01", "rail1b"] == "172.20.64.0"


def test_a_first_octet_is_used_in_both_files(tmp_path: Path) -> None:
    spec = write_spec(tmp_path / "a", "one plane")
    _, profile = export(spec, tmp_path / "kit", "--first-octet", "11")
    assert profile["profile"]["spectrumX"]["hostFirstOctet"] == 11
    assert ",11.16.0.0,11.16.0.1" in (tmp_path / "kit" / "links.csv").read_text()
    assert "spectrumX" not in profile


def test_tenants_in_tunnels_have_the_overlay_of_the_kit(tmp_path: Path) -> None:
    """`overlay: l3` makes the operator leave a gap for VXLAN between packets of the NICs."""
    spec = write_spec(tmp_path / "a", "one plane", "tenants: {acme: {racks: [su001, su002]}}\n")
    _, profile = export(spec, tmp_path / "kit")
    assert profile["spectrumX"] == {"overlay": "l3"}


def test_a_tor_of_all_rails_gets_no_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "cluster.yaml"
    racks = "gpus: {model: dgx-b200, hosts: 4, hosts_per_unit: 2, wiring: rack}\n"
    spec.write_text(REST % "" + racks)
    export(spec, tmp_path / "kit")
    captured = capsys.readouterr()
    assert "has links of several rails" in captured.out + captured.err
    assert not (tmp_path / "kit" / "links.csv").exists()


def test_two_links_on_one_rail_are_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(REST % "" + "gpus: {model: dgx-b300-2x400, hosts: 2, hosts_per_unit: 2}\n")
    assert run(["export", "launch-kit", str(spec), "-o", str(tmp_path / "kit")]) == 1
    captured = capsys.readouterr()
    assert "FAB2154" in captured.out + captured.err


def test_the_split_of_planes_is_that_of_the_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(write_spec(tmp_path / "a", "two planes"), tmp_path / "open")
    assert "`plane_split: software`" in "".join(capsys.readouterr())
    _, profile = export(write_spec(tmp_path / "b", "two planes", "plane_split: software\n"), tmp_path / "kit")
    assert profile["profile"]["spectrumX"]["multiplaneMode"] == "swplb"
    assert "FAB2157" not in "".join(capsys.readouterr())
    spec = write_spec(tmp_path / "c", "two planes", "plane_split: none\n")
    assert run(["export", "launch-kit", str(spec), "-o", str(tmp_path / "none")]) == 1
    assert "FAB2157" in "".join(capsys.readouterr())
