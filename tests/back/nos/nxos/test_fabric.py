"""A new user's first NX-OS fabrics, through the command line: built, proved, and caught when edited."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabricc.cli.entry import run

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """\
cluster: first
gpus: {model: grand-teton, racks: 4, hosts_per_rack: 2, wiring: rack}
tors: {model: %s}
spines: {model: %s}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
addressing: {%s}
cables:
  host: {medium: dac, length_m: 3}
  spine: {medium: smf, length_m: 40}
management:
  users:
    - {name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr"}
"""
CLOUDSCALE = "9332d-gx2b, nos: nxos, oversubscription: 1.0"
SILICON_ONE = "9364e-sg2, nos: nxos-10.5, oversubscription: 1.0"
FABRICS = {
    "cloudscale": (CLOUDSCALE, "9332d-gx2b, nos: nxos", "family: dual"),
    "unnumbered": (CLOUDSCALE, "9332d-gx2b, nos: nxos-10.6", "family: ipv4, fabric_links: unnumbered"),
    "silicon-one": (SILICON_ONE, "9364e-sg2, nos: nxos-10.5", "family: ipv4"),
    "two-makers": (CLOUDSCALE, "7060dx5-64s, nos: eos", "family: dual"),
}


def build(folder: Path, name: str) -> tuple[int, Path]:
    (folder / "cluster.yaml").write_text(SPEC % FABRICS[name], encoding="utf-8")
    status = run(["build", str(folder / "cluster.yaml"), "-o", str(folder / "out")])
    return status, folder / "out" / "first"


@pytest.mark.parametrize("name", FABRICS)
@pytest.mark.spread
def test_a_fabric_builds_and_is_proved(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, tree = build(tmp_path, name)
    reported = capsys.readouterr()
    assert status == 0, reported.err
    assert "error" not in reported.err
    assert "links agree at both ends" in reported.out
    files = json.loads((tree / "manifest.json").read_text(encoding="utf-8"))["files"]
    assert sum(path.endswith("-tor1a/running-config.cfg") for path in files) == 4


def test_an_edit_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, tree = build(tmp_path, "cloudscale")
    file = tree / "switches" / "rack001-tor1a" / "running-config.cfg"
    lines = file.read_text(encoding="utf-8").splitlines()
    at = lines.index("    pause pfc-cos 3")
    lines[at] = "    pause pfc-cos 4"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    capsys.readouterr()
    assert run(["check", str(tree)]) == 1
    assert f"running-config.cfg:{at + 1}:1: error FAB600" in capsys.readouterr().err


SERVICES = """\
  ntp: [172.16.0.9]
  access: [172.16.8.0/24]
  lldp: {interval_s: 10}
  tacacs: {servers: [172.16.0.5], key: {secret: tacacs}}
  snmp: {community: {secret: snmp}}
  telemetry: {gnmi_port: 9339}
"""


def test_services_are_built_and_touch_no_traffic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _ = build(tmp_path, "cloudscale")
    assert status == 0
    guarded = tmp_path / "guarded.yaml"
    guarded.write_text(SPEC % FABRICS["cloudscale"] + SERVICES, encoding="utf-8")
    capsys.readouterr()
    assert run(["diff", str(tmp_path / "cluster.yaml"), str(guarded)]) == 0
    reported = capsys.readouterr().out
    assert "no effect on traffic" in reported
    assert "structure/" not in reported
    assert run(["build", str(guarded), "-o", str(tmp_path / "guarded")]) == 0
