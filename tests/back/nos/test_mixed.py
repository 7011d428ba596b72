"""Fabrics of several makers: each builds, every switch reads back as planned, both ends agree, the invariants hold."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics.wording import plural
from fabricc.cli.entry import run

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """\
cluster: mixed
gpus: {model: grand-teton, racks: 4, hosts_per_rack: 2, wiring: rack, socket_interface: eth0}
%s
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
cables:
  host: {medium: aec, length_m: 3}
  spine: {medium: smf, length_m: 40}
routing: {ttl_security: true}
management:
  access: [172.16.8.0/24]
  lldp: {interval_s: 10}
  users:
    - {name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr"}
"""
MIXES = {
    "eos-nxos-sonic": """\
tors: {model: 7060dx5-64s, nos: eos, oversubscription: 1.0}
spines: {model: 9332d-gx2b, nos: nxos, count: 2}
overrides:
  rack002-tor1a: {nos: sonic}
addressing: {family: dual}""",
    "sonic-junos-cumulus": """\
tors: {model: sn5600, nos: sonic, oversubscription: 1.0}
spines: {model: qfx5240-64od, nos: junos, count: 2}
overrides:
  rack003-tor1a: {nos: cumulus}
addressing: {family: ipv4}""",
    "nxos-eos-junos": """\
tors: {model: 9364e-sg2, nos: nxos-10.5, oversubscription: 1.0}
spines: {model: 7060x6-64pe, nos: eos, count: 2, oversubscription: 2, units_per_pod: 2}
cores: {model: qfx5240-64od, nos: junos, count: 2}
overrides:
  pod2-spine01a: {nos: sonic}
accept: [{code: FAB5655, reason: headroom of another box with the same ASIC is enough for a test of mixed makers}]
addressing: {family: ipv4}""",
    "unnumbered-ipv4": """\
tors: {model: 7060dx5-64s, nos: eos, oversubscription: 1.0}
spines: {model: 9332d-gx2b, nos: nxos, count: 2}
overrides:
  rack002-tor1a: {nos: sonic}
addressing: {family: ipv4, fabric_links: unnumbered}""",
    "unnumbered-ipv6": """\
tors: {model: 9332d-gx2b, nos: nxos, oversubscription: 1.0}
spines: {model: qfx5240-64od, nos: junos, count: 2}
addressing: {family: ipv6, fabric_links: unnumbered}""",
}


# The file that identifies each maker's devices, and how many devices of each mix have it.
FILES = {
    "eos or nxos": "running-config.cfg",
    "sonic": "config_db.json",
    "junos": "juniper.conf",
    "cumulus": "startup.yaml",
}
COUNTS = {
    "eos-nxos-sonic": {"eos or nxos": 5, "sonic": 1, "junos": 0, "cumulus": 0},
    "sonic-junos-cumulus": {"eos or nxos": 0, "sonic": 3, "junos": 2, "cumulus": 1},
    "nxos-eos-junos": {"eos or nxos": 7, "sonic": 1, "junos": 2, "cumulus": 0},
    "unnumbered-ipv4": {"eos or nxos": 5, "sonic": 1, "junos": 0, "cumulus": 0},
    "unnumbered-ipv6": {"eos or nxos": 4, "sonic": 0, "junos": 2, "cumulus": 0},
}


FIELD_PROBLEMS = {"nxos-eos-junos": ["FAB3091"]}
"""Known problems of boxes: CVE-2026-20212 of the 9364E-SG2."""


def build(folder: Path, name: str) -> tuple[int, Path]:
    (folder / "cluster.yaml").write_text(SPEC % MIXES[name], encoding="utf-8")
    status = run(["build", str(folder / "cluster.yaml"), "-o", str(folder / "out")])
    return status, folder / "out" / "mixed"


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.spread
def test_a_fabric_of_several_makers_builds_and_is_proved(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, tree = build(tmp_path, name)
    reported = capsys.readouterr()
    assert status == 0, reported.err
    assert " error FAB" not in reported.err
    warned = sorted(re.findall(r"warning (FAB\d+):", reported.err))
    files = json.loads((tree / "manifest.json").read_text(encoding="utf-8"))["files"]
    assert {
        maker: sum(path.endswith("/" + file) for path in files) for maker, file in FILES.items()
    } == COUNTS[name]
    assert run(["check", str(tree)]) == 0
    reported = capsys.readouterr()
    assert {*FIELD_PROBLEMS.get(name, [])} <= {*warned}
    count = plural(len(warned), "warning") if warned else "no findings"
    assert f"links compared at both ends, {count}" in reported.out
    assert sorted(re.findall(r"(?:error|warning|note) (FAB\d+):", reported.err)) == warned


def test_one_maker_s_mistake_shows_at_the_other_s_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, tree = build(tmp_path, "eos-nxos-sonic")
    file = tree / "switches" / "spine01a" / "running-config.cfg"
    lines = file.read_text(encoding="utf-8").splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("    remote-as "))
    lines[at] = "    remote-as 65000"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    capsys.readouterr()
    assert run(["check", str(tree)]) == 1
    reported = capsys.readouterr()
    assert f"spine01a/running-config.cfg:{at + 1}:1: error FAB600" in reported.err
    assert (
        "error FAB6101: the ends of a link disagree on BGP session: rack001-tor1a Ethernet17/1"
        in reported.err
    )
