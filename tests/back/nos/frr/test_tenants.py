"""Tenants on real FRR: its syntax, and commands that fabricc writes and a reader knows."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.frr import FRR
from tests.back.nos.frr.test_peer import check_syntax
from tests.tenanted import SPINE, TOR, compiled, switch

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(
    shutil.which("vtysh") is None or os.geteuid() != 0, reason="needs vtysh (package frr) and root"
)
@pytest.mark.parametrize("name", [TOR, SPINE])
def test_vtysh_accepts_the_syntax(name: str, tmp_path: Path) -> None:
    assert check_syntax(FRR.render(switch("frr", name, dual=True))["frr.conf"], tmp_path) == "0"


def test_a_port_that_zebra_shuts_is_down_although_ifupdown2_brings_it_up() -> None:
    files = {"interfaces": "auto swp1\niface swp1\n", "frr.conf": "interface swp1\n shutdown\nexit\n"}
    reading = FRR.read(files)
    assert reading.facts["interface[swp1]/enabled"] == "false"
    assert reading.lines["interface[swp1]/enabled"] == ("frr.conf", 2)


def test_zebra_leaves_ports_of_no_tenant_shut() -> None:
    """Zebra brings a port up to set its address, whatever ifupdown2 did, unless `shutdown` precedes the address."""
    built = compiled("frr", tenants="  acme: {hosts: [rack001-host01]}\n").fabric
    assert built is not None
    tor = next(each for each in map(built.switch, built.switch_ids()) if each.name == TOR)
    files = FRR.render(tor)
    shut = [port.name for port in tor.ports if port.ipv4 and not port.enabled]
    assert len(shut) == 8
    for name in shut:
        block = files["frr.conf"].partition(f"interface {name}\n")[2].partition("exit\n")[0]
        assert block.index(" shutdown\n") < block.index(" ip address ")
    open_ports = {**files, "frr.conf": files["frr.conf"].replace(" shutdown\n", "")}
    for changed, state in ((files, "false"), (open_ports, "true")):
        facts = FRR.read(changed).facts
        assert {facts[f"interface[{name}]/enabled"] for name in shut} == {state}


@pytest.mark.parametrize(
    "command",
    [
        "ip link set dev vni20001 type vxlan tos inherit; reboot",
        "ip -4 route replace unreachable default metric 1 table 1002",
        "ip -4 route replace default via 10.0.0.1 table 1002",
    ],
)
def test_another_command_of_a_vrf_is_reported(command: str) -> None:
    files = FRR.render(switch("frr", TOR))
    assert list(FRR.command_lines(files)) == []
    text = files["interfaces"].replace("    vrf-table 1003\n", f"    vrf-table 1003\n    up {command}\n")
    assert text != files["interfaces"]
    changed = {**files, "interfaces": text}
    assert [file for file, _ in FRR.command_lines(changed)] == ["interfaces"]
    assert FRR.read(changed).unknown
