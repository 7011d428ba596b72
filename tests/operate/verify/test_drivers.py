"""Cabling through the real driver of every system, against local servers that answer in the system's own form."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.fabric.model import Direction
from fabricc.operate.devices.access import Access
from fabricc.operate.devices.login import Login
from fabricc.operate.devices.secrets import Reference
from fabricc.operate.verify.model import Aspect
from fabricc.operate.verify.run import verify
from tests.operate.drivers.servers import eos, junos, linux_switch, nxos
from tests.operate.push.network import build_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fabricc.operate.push.built_tree import BuiltTree
    from tests.operate.drivers.servers.device import Device

Heard = list[tuple[str, str, str, str]]
"""Local port, and the neighbor's system name, port ID and port description."""
SPEC = """\
cluster: small
gpus: {{model: hgx-8gpu, hosts: 2, hosts_per_unit: 2}}
tors: {{model: {model}, nos: {nos}, uplinks: 2}}
spines: {{model: {model}, nos: {nos}, count: 2}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
management:
  users:
    - {{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr lab"}}
"""
NX_OS = """\
Chassis id: 0000.5e00.5301
Port id: {port}
Local Port id: Eth{short}
Port Description: {text}
System Name: {system}
System Description: Cisco Nexus Operating System (NX-OS) Software
Time remaining: 112 seconds
System Capabilities: B, R
Enabled Capabilities: B, R
Management Address: 192.0.2.1
Vlan ID: 1

"""


@contextmanager
def eos_device(folder: Path, heard: Heard, patch: pytest.MonkeyPatch) -> Iterator[Device]:
    usual = eos.EosSwitch._run

    def answer(self: eos.EosSwitch, text: str) -> dict[str, Any]:
        if text.split() != ["show", "lldp", "neighbors", "detail"]:
            return usual(self, text)
        return {
            "lldpNeighbors": {
                port: {
                    "lldpNeighborInfo": [
                        {
                            "systemName": system,
                            "chassisId": "00:00:5e:00:53:01",
                            "neighborInterfaceInfo": {
                                "interfaceId": f'"{far}"',
                                "interfaceDescription": reported,
                            },
                        }
                    ]
                }
                for port, system, far, reported in heard
            }
        }

    patch.setattr(eos.EosSwitch, "_run", answer)
    with eos.eos_switch(folder) as switch:
        yield switch.device


@contextmanager
def nxos_device(folder: Path, heard: Heard, patch: pytest.MonkeyPatch) -> Iterator[Device]:
    usual = nxos.NxosSwitch._run

    def answer(self: nxos.NxosSwitch, text: str) -> str | None:
        if text != "show lldp neighbors detail":
            return usual(self, text)
        return "".join(
            NX_OS.format(short=port.removeprefix("Ethernet"), system=system, port=far, text=reported)
            for port, system, far, reported in heard
        )

    patch.setattr(nxos.NxosSwitch, "_run", answer)
    with nxos.nxos_switch(folder) as switch:
        yield switch.device


@contextmanager
def junos_device(folder: Path, heard: Heard, patch: pytest.MonkeyPatch) -> Iterator[Device]:
    def one(port: str, system: str, far: str, reported: str) -> str:
        return (
            f"<lldp-neighbor-information><lldp-local-interface>{port}</lldp-local-interface>"
            f"<lldp-local-port-id>{port}</lldp-local-port-id><lldp-remote-port-id>{far}</lldp-remote-port-id>"
            "<lldp-remote-chassis-id>00:00:5e:00:53:01</lldp-remote-chassis-id>"
            f"<lldp-remote-port-description>{reported}</lldp-remote-port-description>"
            f"<lldp-remote-system-name>{system}</lldp-remote-system-name></lldp-neighbor-information>"
        )

    def every(self: junos.JunosSwitch, me: object, requested: Any) -> str:
        return f"<lldp-neighbors-information>{''.join(one(*each) for each in heard)}</lldp-neighbors-information>"

    def single(self: junos.JunosSwitch, me: object, requested: Any) -> str:
        wanted = "".join(requested.itertext())
        found = "".join(one(*each) for each in heard if each[0] == wanted)
        return f"<lldp-neighbors-information>{found}</lldp-neighbors-information>"

    patch.setattr(junos.JunosSwitch, "_get_lldp_neighbors_information", every, raising=False)
    patch.setattr(junos.JunosSwitch, "_get_lldp_interface_neighbors", single, raising=False)
    with junos.junos_switch(folder) as switch:
        yield switch.device


def lldpcli_answer(heard: Heard) -> str:
    def value(text: str) -> list[dict[str, str]]:
        return [{"value": text}]

    found = [
        {
            "name": port,
            "via": "LLDP",
            "chassis": [{"id": [{"type": "mac", "value": "00:00:5e:00:53:01"}], "name": value(system)}],
            "port": [{"id": [{"type": "local", "value": far}], "descr": value(reported)}],
        }
        for port, system, far, reported in heard
    ]
    return json.dumps({"lldp": [{"interface": found}]})


def linux_device(driver: str, text: str) -> Callable[..., Any]:
    @contextmanager
    def device(folder: Path, heard: Heard, patch: pytest.MonkeyPatch) -> Iterator[Device]:
        with linux_switch.linux_switch(folder, driver, text) as switch:
            (switch.root / "heard").write_text(lldpcli_answer(heard))
            program = switch.root / "bin" / "lldpcli"
            program.write_text('#!/bin/sh\ncat "$SWITCH_ROOT/heard"\n')
            program.chmod(0o755)
            yield switch.device

    return device


DEVICES: dict[str, tuple[str, Callable[..., Any]]] = {
    "eos": ("7060x6-64pe", eos_device),
    "nxos": ("9364e-sg2", nxos_device),
    "junos": ("qfx5240-64od", junos_device),
    "sonic": ("sn5600", linux_device("sonic", '{"DEVICE_METADATA": {"localhost": {}}}')),
    "cumulus": ("sn5600", linux_device("cumulus", "- header: {}\n")),
}


def lldp_port_name(source: BuiltTree, nos: str, device: str, port: str) -> str:
    """Return what a switch of this system calls its port over LLDP: SONiC its alias, the others its name."""
    from fabricc.back import nos as back_ends

    planned = back_ends.load(nos).planned(source.switch(device))
    return str(planned[f"interface[{port}]/alias"]) if nos == "sonic" else port


@pytest.mark.spread
@pytest.mark.parametrize("nos", DEVICES)
def test_crossed_cables_are_found_through_the_driver(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, device = DEVICES[nos]
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(model=model, nos=nos))
    source = build_spec(spec, tmp_path / "out")
    name = next(iter(source.devices))
    uplinks = [port for port in source.switch(name).ports if port.direction is Direction.UP]
    ends = [(port.name, port.peer) for port in uplinks if port.peer]
    swapped = [(ends[0][0], ends[1][1]), (ends[1][0], ends[0][1]), *ends[2:]]
    for seen, moves in (
        (ends, []),
        (swapped, [f"swap the cables in ports {ends[0][0]} and {ends[1][0]} of {name}"]),
    ):
        heard = [
            (
                port,
                f"{peer.device}.example.net",
                lldp_port_name(source, nos, peer.device, peer.port),
                "to somewhere",
            )
            for port, peer in seen
        ]
        folder = tmp_path / str(len(moves))
        folder.mkdir()
        with monkeypatch.context() as patch, device(folder, heard, patch) as far:
            patch.setenv("LAB_PASSWORD", far.password)
            login = Login(
                far.username, Reference("env", "LAB_PASSWORD"), address=far.host, options=far.options
            )
            report = verify(source, Access(login), only=[name], aspects=[Aspect.CABLING])
        assert report.unread == {}
        assert [move.words for group in report.moves for move in group] == moves
        assert len(report.found) == 2 * len(moves)
        assert report.exit_status == len(moves)
