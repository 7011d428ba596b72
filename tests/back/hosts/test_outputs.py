"""Output of NIC tools becomes facts, and both ends of a host's link are compared."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from fabricc.audit import audit_fabric
from fabricc.audit.gather import device_of
from fabricc.back import hosts
from fabricc.back.hosts import recognition
from tests.back.nos.test_vocabulary import fits_type

if TYPE_CHECKING:
    from pathlib import Path

MAP = "".join(
    f"\tprio:{priority} dscp:{','.join(f'{priority * 8 + low:02}' for low in reversed(range(8)))},\n"
    for priority in range(8)
)


def mlnx_qos(lossless: int = 3, trust: str = "dscp") -> str:
    """As of a ConnectX with OFED: three classes, the rest in the first."""
    flags = "   ".join(str(int(priority == lossless)) for priority in range(8))
    mapping = f"dscp2prio mapping:\n{MAP}" if trust == "dscp" else ""
    rest = "".join(f"\t priority:  {priority}\n" for priority in (0, 1, 2, 4, 5, 7))
    return (
        f"DCBX mode: OS controlled\nPriority trust state: {trust}\n{mapping}default priority:\n"
        "Receive buffer size (bytes): 20016,156096,0,0,0,0,0,0,max_buffer_size=1027728\nCable len: 7\n"
        "PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n"
        f"\tenabled     {flags}   \n\tbuffer      0   0   0   1   0   0   0   0   \n"
        f"tc: 0 ratelimit: unlimited, tsa: ets, bw: 40%\n{rest}"
        "tc: 3 ratelimit: unlimited, tsa: ets, bw: 60%\n\t priority:  3\n"
        "tc: 6 ratelimit: unlimited, tsa: strict\n\t priority:  6\n"
    )


DEVICES = "mlx5_0 port 1 ==> ens1f0np0 (Up)\nmlx5_1 port 1 ==> ens2f0np0 (Down)\n"
VERBOSE = """\
0000:1a:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) ConnectX-7 adapter card fw 28.39.1002 port 1 (ACTIVE) ==> ens1f0np0 (Up)
0000:1a:00.2 mlx5_2 (MT4126 - NA)  fw 28.39.1002 port 1 (DOWN  ) ==> ens1f0v0 (Down)
"""
GIDS = """\
DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV
---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---
mlx5_0\t1\t0\tfe80:0000:0000:0000:0e42:a1ff:fe00:0001\t\t\tv1\tens1f0np0
mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a0a:0105\t10.10.1.5  \tv2\tens1f0np0
mlx5_1\t1\t0\tfe80:0000:0000:0000:0e42:a1ff:fe00:0002\t\t\tv1
n_gids_found=3
"""
PORT = "interface[ens1f0np0]/"


def read(name: str, text: str) -> dict[str, str | int]:
    file = recognition.host_path(f"node1/{name}", text)
    assert file, name
    reading = hosts.read({file: text})
    assert reading.unknown == []
    for path, value in reading.facts.items():
        row = hosts.vocabulary().row(path)
        assert row.declared, path
        assert fits_type(row.type, value), (path, value)
    return reading.facts


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mlnx_qos_ens1f0np0.txt", mlnx_qos()),
        ("mlnx_qos-i-ens1f0np0.log", mlnx_qos()),
        ("mlnx_qos -i ens1f0np0", mlnx_qos()),
        ("all.txt", f"root@node1:~# mlnx_qos -i ens1f0np0\n{mlnx_qos()}"),
        ("all.txt", f"\n\n$ sudo mlnx_qos -i ens1f0np0 --trust dscp\n{mlnx_qos()}"),
        ("all.txt", f"mlnx_qos --interface=ens1f0np0\n{mlnx_qos()}"),
    ],
)
def test_mlnx_qos(name: str, text: str) -> None:
    facts = read(name, text)
    wanted = {
        PORT + "trust": "dscp", PORT + "pfc": "3", PORT + "cable_m": 7, "qos/dscp[26]/priority": 3,
        "qos/dscp[7]/priority": 0, "qos/dscp[48]/priority": 6, "qos/priority[7]/traffic_class": 0,
        "qos/priority[6]/traffic_class": 6, "qos/traffic_class[0]/scheduler": "dwrr 40",
        "qos/traffic_class[3]/scheduler": "dwrr 60", "qos/traffic_class[6]/scheduler": "strict",
    }  # fmt: skip
    assert facts.items() >= wanted.items()


def test_a_nic_out_of_the_box_has_no_pfc_and_trusts_vlan_tags() -> None:
    text = mlnx_qos(-1, "pcp").replace("ets, bw: 40%", "vendor")
    facts = read("mlnx_qos_ens1f0np0.txt", text)
    assert (facts[PORT + "pfc"], facts[PORT + "trust"]) == ("", "cos")
    assert "qos/traffic_class[0]/scheduler" not in facts
    assert not [path for path in facts if path.startswith("qos/dscp[")]


def test_output_without_a_port_has_no_path() -> None:
    assert recognition.host_path("node1/mlnx_qos.txt", mlnx_qos()) is None


def test_an_unknown_line_is_reported() -> None:
    text = mlnx_qos().replace("tc: 6 ratelimit: unlimited", "tc: 6 ratelimit: 10 Gbps")
    reading = hosts.read({"mlnx_qos/eth0": text})
    assert [text for _, _, text in reading.unknown] == ["tc: 6 ratelimit: 10 Gbps, tsa: strict"]


def test_devices_of_ports() -> None:
    facts = read("ibdev2netdev.txt", DEVICES)
    assert facts == {PORT + "rdma": "mlx5_0", "interface[ens2f0np0]/rdma": "mlx5_1"}
    facts = read("ibdev2netdev.txt", VERBOSE)
    assert facts == {
        PORT + "rdma": "mlx5_0", "rdma[mlx5_0]/pci": "0000:1a:00.0", "interface[ens1f0v0]/rdma": "mlx5_2",
        "rdma[mlx5_2]/pci": "0000:1a:00.2",
    }  # fmt: skip


def test_gids() -> None:
    assert read("show_gids.txt", GIDS) == {
        PORT + "rdma": "mlx5_0", PORT + "gid[0]": "v1 fe80:0000:0000:0000:0e42:a1ff:fe00:0001",
        PORT + "gid[3]": "v2 10.10.1.5",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["106\n", "root@node1:~# cma_roce_tos -d mlx5_0\n106\n"])
def test_code_point_of_rdma(text: str) -> None:
    assert read("cma_roce_tos_mlx5_0.txt", text) == {"qos/rdma_dscp": 26}


@pytest.mark.parametrize(
    "path",
    ["node1/mlnx_qos_ens1f0np0.txt", "node1_mlnx_qos_-i_eth0.txt", "node1.show_gids", "nics/node1-ibdev2netdev.log",
     "node1/cma_roce_tos_mlx5_0"],
)  # fmt: skip
def test_they_are_of_the_host_that_their_path_names(path: str) -> None:
    assert device_of(path) == "node1"


def test_nothing_is_too_garbled() -> None:
    chosen = random.Random(5)
    for name, text in (("mlnx_qos/eth0", mlnx_qos()), ("show_gids", GIDS), ("ibdev2netdev", VERBOSE)):
        for _ in range(40):
            at = chosen.randrange(len(text))
            words = text.split()
            for broken in (text[:at], text.replace(chosen.choice(words), chosen.choice(words), 3)):
                hosts.read({name: broken})
                recognition.host_path(f"node1/{name.replace('/', '_')}", broken)


LEAF = """\
nv set system hostname leaf1
nv set qos roce mode lossless
nv set interface swp1 ip address 10.10.1.4/31
"""
LLDP = "Interface:    swp1, via: LLDP, RID: 1\n  SysName:      node1\n  PortID:       ifname ens1f0np0\n"


@pytest.mark.parametrize(("lossless", "reported"), [(3, []), (5, ["PFC"]), (-1, ["PFC"])])
@pytest.mark.parametrize("captured", [True, False])
def test_both_ends_of_a_host_s_link_are_compared(
    lossless: int, reported: list[str], captured: bool, tmp_path: Path
) -> None:
    (tmp_path / "leaf1.txt").write_text(LEAF)
    (tmp_path / "leaf1_lldp.txt").write_text(LLDP)
    prompt = "root@node1:~# "
    text = f"{prompt}mlnx_qos -i ens1f0np0\n{mlnx_qos(lossless)}{prompt}show_gids\n{GIDS}"
    text += f"{prompt}ibdev2netdev\n{DEVICES}"
    if captured:
        (tmp_path / "node1.txt").write_text(text)
    else:
        (tmp_path / "node1_mlnx_qos_ens1f0np0.txt").write_text(mlnx_qos(lossless))
        (tmp_path / "node1_show_gids.txt").write_text(GIDS)
    result = audit_fabric(tmp_path, jobs=1)
    assert set(result.devices) == {"leaf1", "node1"}
    assert not [each for each in result.findings if each.code == "FAB9501"]
    ends = [each.message for each in result.findings if each.code == "FAB9600"]
    assert len(ends) == len(reported)
    assert all(word in message for word, message in zip(reported, ends, strict=True))
