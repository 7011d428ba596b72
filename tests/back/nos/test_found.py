"""Back ends read neighbors, models and releases from collected outputs, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends

if TYPE_CHECKING:
    from fabricc.back.nos.collected import Collected, Output


def collect_outputs(nos: str) -> Collected:
    return back_ends.load(nos).found  # type: ignore[attr-defined, no-any-return]


def read_output(nos: str, text: str) -> Output:
    reported = collect_outputs(nos).output(text)
    assert reported is not None
    return reported


EOS_DETAIL = """\
Interface Ethernet1/1 detected 1 LLDP neighbors:

  Neighbor 001c.7300.0001/"Ethernet5/1", age 10 seconds
  Discovered 0:05:23 ago; Last changed 0:05:23 ago
  - Chassis ID type: MAC address (4)
    Chassis ID     : 001c.7300.0001
  - Port ID type: Interface name(5)
    Port ID     : "Ethernet5/1"
  - Time To Live: 120 seconds
  - System Name: "spine1"

Interface Ethernet2/1 detected 0 LLDP neighbors:

Interface Ethernet3/1 detected 1 LLDP neighbors:

  Neighbor 0c42.a1aa.bb01/0c42.a1aa.bb01, age 3 seconds
  - Chassis ID type: MAC address (4)
    Chassis ID     : 0c42.a1aa.bb01
  - Port ID type: MAC address(3)
    Port ID     : 0c42.a1aa.bb02
"""
NXOS_TABLE = """\
Capability codes:
  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device
  (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other
Device ID            Local Intf      Hold-time  Capability  Port ID
spine1               Eth1/1          120        BR          Ethernet5/1
a-spine-with-a-name-too-long.example.net
                     Eth1/2          120        BR          Ethernet5/2
0c42.a1aa.bb01       Eth1/3          120                    0c42.a1aa.bb02
Total entries displayed: 3
"""
NXOS_DETAIL = """\
Chassis id: 0011.2233.4455
Port id: Ethernet5/1
Local Port id: Eth1/1
Port Description: to leaf1
System Name: spine1
System Description: Cisco Nexus Operating System (NX-OS) Software
Time remaining: 101 seconds

Chassis id: 0c42.a1aa.bb01
Port id: 0c42.a1aa.bb02
Local Port id: Eth1/3
Port Description: not advertised
System Name: not advertised
Time remaining: 101 seconds
"""
JUNOS_TABLE = """\
Local Interface    Parent Interface    Chassis Id          Port info          System Name
et-0/0/1           -                   00:11:22:33:44:55   et-0/0/5           spine1
et-0/0/2           ae0                 00:11:22:33:44:56   to leaf1 port 2    spine2
"""
JUNOS_DETAIL = """\
LLDP Neighbor Information:
Local Information:
Index: 2 Time to live: 120 Time mark: Fri Mar  1 10:00:00 2024 Age: 5 secs
Local Interface    : et-0/0/1
Parent Interface   : -
Local Port ID      : 509
Ageout Count       : 0

Neighbor Information:
Chassis type       : Mac address
Chassis ID         : 00:11:22:33:44:55
Port type          : Interface name
Port ID            : et-0/0/5
Port description   : to leaf1
System name        : spine1
"""
LLDPCTL = """\
-------------------------------------------------------------------------------
LLDP neighbors:
-------------------------------------------------------------------------------
Interface:    swp1, via: LLDP, RID: 1, Time: 0 day, 00:00:12
  Chassis:
    ChassisID:    mac 00:11:22:33:44:55
    SysName:      spine1
    SysDescr:     Cumulus Linux version 5.9.1
  Port:
    PortID:       ifname swp5
    PortDescr:    to leaf1
    TTL:          120
-------------------------------------------------------------------------------
"""
SONIC_TABLE = """\
Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr
-----------  --------------  --------------  ------------  -----------------
Ethernet0    spine1          Ethernet32      BR            etp5
Ethernet8    spine2          Ethernet32      BR
--------------------------------------------------
Total entries displayed:  2
"""
KEYS = """\
lldp.swp1.via=LLDP
lldp.swp1.chassis.mac=00:11:22:33:44:55
lldp.swp1.chassis.name=spine1
lldp.swp1.port.ifname=swp5
"""
NVUE = """\
Interface  Speed  Type  Remote Host  Remote Port
---------  -----  ----  -----------  -----------
swp1       400G   swp   spine1       swp5
"""
JSON = {
    "eos brief": (
        "eos",
        {
            "lldpNeighbors": [
                {"port": "Ethernet1/1", "neighborDevice": "spine1", "neighborPort": "Ethernet5/1"}
            ]
        },
    ),
    "eos detail": (
        "eos",
        {
            "lldpNeighbors": {
                "Ethernet1/1": {
                    "lldpNeighborInfo": [
                        {
                            "systemName": "spine1",
                            "neighborInterfaceInfo": {
                                "interfaceId": '"Ethernet5/1"',
                                "interfaceId_v2": "Ethernet5/1",
                            },
                        }
                    ]
                },
                "Ethernet2/1": {"lldpNeighborInfo": []},
            }
        },
    ),
    "nxos": (
        "nxos",
        {
            "TABLE_nbor_detail": {
                "ROW_nbor_detail": [
                    {
                        "chassis_id": "0011.2233.4455",
                        "l_port_id": "Eth1/1",
                        "port_id": "Ethernet5/1",
                        "sys_name": "spine1",
                    }
                ]
            }
        },
    ),
    "nxos alone": (
        "nxos",
        {
            "TABLE_nbor": {
                "ROW_nbor": {"chassis_id": "spine1", "l_port_id": "Eth1/1", "port_id": "Ethernet5/1"}
            }
        },
    ),
    "junos": (
        "junos",
        {
            "lldp-neighbors-information": [
                {
                    "lldp-neighbor-information": [
                        {
                            "lldp-local-port-id": [{"data": "et-0/0/1"}],
                            "lldp-remote-port-description": [{"data": "et-0/0/5"}],
                            "lldp-remote-system-name": [{"data": "spine1"}],
                        }
                    ]
                }
            ]
        },
    ),
    "lldpctl": (
        "cumulus",
        {
            "lldp": {
                "interface": [
                    {
                        "swp1": {
                            "via": "LLDP",
                            "chassis": {"spine1": {"id": {"type": "mac"}}},
                            "port": {"id": {"type": "ifname", "value": "swp5"}},
                        }
                    }
                ]
            }
        },
    ),
    "lldpctl alone": (
        "sonic",
        {
            "lldp": {
                "interface": {
                    "swp1": {
                        "chassis": {"spine1": {"id": {"type": "mac"}}},
                        "port": {"id": {"type": "ifname", "value": "swp5"}},
                    }
                }
            }
        },
    ),
    "lldpctl json0": (
        "frr",
        {
            "lldp": [
                {
                    "interface": [
                        {
                            "name": "swp1",
                            "chassis": [{"id": [{"value": "00:11"}], "name": [{"value": "spine1"}]}],
                            "port": [{"id": [{"type": "ifname", "value": "swp5"}]}],
                        }
                    ]
                }
            ]
        },
    ),
}
"""The JSON of a system for a link from its first port to the fifth of spine1."""


@pytest.mark.parametrize(
    ("nos", "text", "wanted"),
    [
        (
            "eos",
            EOS_DETAIL,
            [
                ("Ethernet1/1", "spine1", "Ethernet5/1", 3),
                ("Ethernet3/1", "0c42.a1aa.bb01", "0c42.a1aa.bb02", 16),
            ],
        ),
        (
            "nxos",
            NXOS_TABLE,
            [
                ("Ethernet1/1", "spine1", "Ethernet5/1", 5),
                ("Ethernet1/2", "a-spine-with-a-name-too-long.example.net", "Ethernet5/2", 7),
                ("Ethernet1/3", "0c42.a1aa.bb01", "0c42.a1aa.bb02", 8),
            ],
        ),
        (
            "nxos",
            NXOS_DETAIL,
            [
                ("Ethernet1/1", "spine1", "Ethernet5/1", 3),
                ("Ethernet1/3", "0c42.a1aa.bb01", "0c42.a1aa.bb02", 11),
            ],
        ),
        (
            "junos",
            JUNOS_TABLE,
            [("et-0/0/1", "spine1", "et-0/0/5", 2), ("et-0/0/2", "spine2", "to leaf1 port 2", 3)],
        ),
        ("junos", JUNOS_DETAIL, [("et-0/0/1", "spine1", "et-0/0/5", 4)]),
        ("cumulus", LLDPCTL, [("swp1", "spine1", "swp5", 4)]),
        ("frr", LLDPCTL, [("swp1", "spine1", "swp5", 4)]),
        ("frr", KEYS, [("swp1", "spine1", "swp5", 2)]),
        ("cumulus", NVUE, [("swp1", "spine1", "swp5", 3)]),
        (
            "sonic",
            SONIC_TABLE,
            [("Ethernet0", "spine1", "Ethernet32", 4), ("Ethernet8", "spine2", "Ethernet32", 5)],
        ),
    ],
)
def test_neighbors_of_a_text(nos: str, text: str, wanted: list[tuple[str, str, str, int]]) -> None:
    assert [tuple(each) for each in read_output(nos, text).neighbors] == wanted


@pytest.mark.parametrize("kind", JSON)
def test_neighbors_of_json(kind: str) -> None:
    nos, answer = JSON[kind]
    text = json.dumps(answer, indent=2)
    (seen,) = read_output(nos, text).neighbors
    first, fifth = {
        "eos": ("Ethernet1/1", "Ethernet5/1"),
        "nxos": ("Ethernet1/1", "Ethernet5/1"),
        "junos": ("et-0/0/1", "et-0/0/5"),
    }.get(nos, ("swp1", "swp5"))
    assert seen[:3] == (first, "spine1", fifth)
    if nos != "nxos":
        assert first in text.split("\n")[seen.line - 1]


@pytest.mark.parametrize(
    ("nos", "text", "wanted"),
    [
        (
            "eos",
            "Arista DCS-7060X6-64PE-F\nHardware version: 01.00\nSoftware image version: 4.33.1F\n",
            ("", "DCS-7060X6-64PE-F", "4.33.1F", ("7060X6-64PE",)),
        ),
        (
            "eos",
            json.dumps({"modelName": "DCS-7808R3-CH", "version": "4.32.2F"}),
            ("", "DCS-7808R3-CH", "4.32.2F", ("7808R3-CH",)),
        ),
        (
            "nxos",
            "Cisco Nexus Operating System (NX-OS) Software\nSoftware\n  NXOS: version 10.4(3) [Feature Release]\n\n"
            "Hardware\n  cisco Nexus9000 C9364D-GX2A Chassis\n  Device name: leaf1\n",
            ("leaf1", "Nexus9000 C9364D-GX2A", "10.4(3)", ("9364D-GX2A", "Nexus9000 C9364D-GX2A")),
        ),
        (
            "nxos",
            json.dumps(
                {
                    "host_name": "leaf1",
                    "nxos_ver_str": "10.4(3)",
                    "chassis_id": "Nexus9000 C9364D-GX2A Chassis",
                }
            ),
            ("leaf1", "Nexus9000 C9364D-GX2A", "10.4(3)", ("9364D-GX2A", "Nexus9000 C9364D-GX2A")),
        ),
        (
            "junos",
            "Hostname: leaf1\nModel: qfx5240-64od\nJunos: 23.4X100-D20.7-EVO\n",
            ("leaf1", "qfx5240-64od", "23.4X100-D20.7-EVO", ("qfx5240-64od",)),
        ),
        (
            "junos",
            json.dumps(
                {
                    "software-information": [
                        {
                            "host-name": [{"data": "leaf1"}],
                            "product-model": [{"data": "qfx5130-32cd"}],
                            "junos-version": [{"data": "23.4R2-S3"}],
                        }
                    ]
                }
            ),
            ("leaf1", "qfx5130-32cd", "23.4R2-S3", ("qfx5130-32cd",)),
        ),
        (
            "sonic",
            "SONiC Software Version: SONiC.202411.1-a\nPlatform: x86_64-nvidia_sn5600-r0\nHwSKU: ACS-SN5600\n",
            ("", "ACS-SN5600", "202411.1-a", ("ACS-SN5600", "x86_64-nvidia_sn5600-r0")),
        ),
        (
            "cumulus",
            "       operational  applied\n------\nhostname   leaf1        leaf1\nbuild      Cumulus Linux 5.9.1\n",
            ("leaf1", "", "5.9.1", ()),
        ),
        (
            "frr",
            "FRRouting 10.5.1 (leaf1) on Linux(6.1.0).\nCopyright 1996-2005 Kunihiro Ishiguro, et al.\n",
            ("leaf1", "", "10.5.1", ()),
        ),
    ],
)
def test_outputs_identify_the_device(nos: str, text: str, wanted: tuple[object, ...]) -> None:
    assert tuple(read_output(nos, text).identity) == wanted


def test_no_output_is_taken_for_a_configuration() -> None:
    texts = [EOS_DETAIL, NXOS_TABLE, NXOS_DETAIL, JUNOS_TABLE, JUNOS_DETAIL, LLDPCTL, SONIC_TABLE, NVUE, KEYS]
    texts += [json.dumps(answer) for _, answer in JSON.values()]
    taken = [
        (nos, text)
        for nos in back_ends.BUILT_IN
        for text in texts
        if collect_outputs(nos).takes("leaf1.txt", text)
    ]
    assert not taken


@pytest.mark.parametrize("nos", sorted(back_ends.BUILT_IN))
@pytest.mark.parametrize(
    "text", ["", "{", "[1, 2]", '{"lldp": 3}', '{"lldpNeighbors": null}', "no output", "\x00", "{" * 9999]
)
def test_no_text_is_too_odd(nos: str, text: str) -> None:
    collected = collect_outputs(nos)
    collected.takes("a", text)
    collected.output(text)
    collected.identity({"config_db.json": text, "frr.conf": text})
