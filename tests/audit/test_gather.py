"""A folder of collected files becomes devices: systems by their texts, outputs in the same place; the rest is
reported.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.audit.adopt.run import adopt
from fabricc.audit.device import split_sections, text_of
from fabricc.audit.gather import device_of, gather_devices
from fabricc.back import hosts
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import FindingsError, Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.facts.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.audit.gather import FolderContents

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
MODELS = {
    "cumulus": "sn5600", "eos": "7060x6-64pe", "frr": "linux-64x400", "junos": "qfx5240-64od", "nxos": "9364e-sg2",
    "sonic": "sn5600",
}  # fmt: skip
SPEC = """\
cluster: su003
gpus: {{model: dgx-b200, hosts: 4, hosts_per_unit: 4}}
tors: {{model: {model}, nos: {nos}}}
spines: {{model: {model}, nos: {nos}, count: 2}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
management: {{users: [{{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1i0sX7sample"}}]}}
accept:
  - {{code: FAB5201, reason: for the test}}
  - {{code: FAB5202, reason: for the test}}
"""


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("specs")
    for nos, model in MODELS.items():
        (folder / f"{nos}.yaml").write_text(SPEC.format(nos=nos, model=model))
    return folder


@cache
def render_some(spec: Path) -> Mapping[str, Mapping[str, str]]:
    """Files of the first ToR, a spine and a host."""
    fabric = compile_spec(spec).fabric
    ids = list(fabric.switch_ids())
    switches = [fabric.switch(each) for each in (ids[0], ids[-1])]
    host = fabric.host(next(iter(fabric.host_ids())))
    files = {switch.name: back_ends.load(switch.nos).render(switch) for switch in switches}
    return {**files, host.name: hosts.render(host)}


def folder_of(path: Path, texts: Mapping[str, str | bytes]) -> Path:
    for name, text in texts.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def find_codes(gathered: FolderContents) -> list[tuple[str, str]]:
    """Return the findings, except those about models."""
    boxes = ("FAB9506", "FAB9507")
    return sorted((finding.code, finding.file) for finding in gathered.findings if finding.code not in boxes)


@pytest.mark.parametrize("nos", sorted(MODELS))
def test_a_built_tree_is_read_as_a_folder_of_others(nos: str, specs: Path, tmp_path: Path) -> None:
    devices = render_some(specs / f"{nos}.yaml")
    texts = {f"{name}/{file}": text for name, files in devices.items() for file, text in files.items()}
    found = gather_devices(folder_of(tmp_path, texts), jobs=1)
    assert found.devices.keys() == devices.keys()
    assert not find_codes(found)
    for name, files in devices.items():
        device = found.devices[name]
        own = "host" if device.kind is Kind.HOST else nos
        wanted = hosts.read(files) if own == "host" else back_ends.load(nos).read(files)
        assert (device.system, device.files) == (own, dict(files))
        assert device.reading.facts == wanted.facts
        assert device.reading.lines == wanted.lines
        assert device.reading.unknown == wanted.unknown
        assert device.paths == {file: f"{name}/{file}" for file in files}
    assert sum(device.kind is Kind.HOST for device in found.devices.values()) == 1


def test_of_a_tree_only_the_devices_are_read(specs: Path, tmp_path: Path) -> None:
    tree = compile_spec(specs / "frr.yaml").write(tmp_path, check=False).tree
    assert tree is not None
    assert (tree / "jobs/nccl.conf").is_file()
    found = gather_devices(tree)
    assert len(found.devices) == len([*(tree / "switches").iterdir(), *(tree / "hosts").iterdir()])
    assert "FAB9501" not in [finding.code for finding in found.findings]
    assert {*gather_devices(tmp_path).devices} == {*found.devices}, "also where the folder is above the tree"
    (tree / "manifest.json").write_text("{}")
    assert "FAB9501" in [finding.code for finding in gather_devices(tree).findings]


@pytest.mark.parametrize("nos", sorted(MODELS))
def test_the_name_of_a_file_does_not_affect_its_system(nos: str, specs: Path, tmp_path: Path) -> None:
    name, files = next(iter(render_some(specs / f"{nos}.yaml").items()))
    main = max(files.values(), key=len)
    found = gather_devices(folder_of(tmp_path, {"some/where/a7.txt": main}), jobs=1)
    assert [(each.name, each.system) for each in found.devices.values()] == [(name, nos)]


def test_workers_hand_back_the_same_devices(specs: Path, tmp_path: Path) -> None:
    texts = {f"{nos}-{file}": text for nos in MODELS for _, files in render_some(specs / f"{nos}.yaml").items()
             for file, text in files.items() if "/" not in file}  # fmt: skip
    alone, together = (gather_devices(folder_of(tmp_path, texts), jobs=jobs) for jobs in (1, 2))
    assert alone.devices == together.devices
    assert sorted(alone.findings) == sorted(together.findings)


# --- which files are a device's --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "device"),
    [
        ("leaf1.cfg", "leaf1"),
        ("leaf1", "leaf1"),
        ("configs/leaf1.running-config.txt", "leaf1"),
        ("show_lldp_neighbors_detail/leaf1.json", "leaf1"),
        ("leaf1_show_version.txt", "leaf1"),
        ("leaf1-lldp.txt", "leaf1"),
        ("leaf1/config_db.json", "leaf1"),
        ("leaf1/frr.conf", "leaf1"),
        ("leaf1_config_db.json", "leaf1"),
        ("dc1/leaf1/etc/sonic/config_db.json", "leaf1"),
        ("hosts/node7/etc/netplan/50-cloud-init.yaml", "node7"),
        ("leaf1/show lldp neighbors.txt", "leaf1"),
        ("su003-tor5a.startup.yaml", "su003-tor5a"),
        ("dc1.leaf-1.example.net.cfg", "dc1.leaf-1.example.net"),
        ("running-config.cfg", ""),
    ],
)
def test_files_are_grouped_by_the_device_name_in_their_path(path: str, device: str) -> None:
    assert device_of(path) == device


EOS = """\
! Command: show running-config
! device: leaf1 (DCS-7060X6-64PE-F, EOS-4.33.1F)
!
hostname leaf1
!
interface Ethernet1/1
   description to spine1
   no switchport
   ip address 10.0.0.1/31
!
router bgp 65001
   router-id 10.255.0.1
   neighbor 10.0.0.0 remote-as 65000
!
"""
LLDP = """\
Port          Neighbor Device ID       Neighbor Port ID    TTL
---------- ------------------------ ---------------------- ---
Et1/1         spine1                   Ethernet5/1         120
"""
VERSION = "Arista DCS-7060X6-64PE-F\nHardware version: 01.00\n\nSoftware image version: 4.34.0F\nArchitecture: x86_64\n"


@pytest.mark.parametrize(
    "texts",
    [
        {"leaf1.cfg": EOS, "leaf1-lldp.txt": LLDP},
        {"configs/leaf1.cfg": EOS, "lldp/leaf1.txt": LLDP},
        {"leaf1/running-config.cfg": EOS, "leaf1/show_lldp_neighbors.txt": LLDP},
        {"leaf1.txt": f"leaf1#show lldp neighbors\n{LLDP}\nleaf1#show running-config\n{EOS}leaf1#exit\n"},
        {"leaf1.txt": f"### show running-config\n{EOS}\n### show lldp neighbors\n{LLDP}"},
    ],
)
def test_outputs_stand_next_to_a_configuration_or_with_it(texts: dict[str, str], tmp_path: Path) -> None:
    found = gather_devices(folder_of(tmp_path, texts), jobs=1)
    assert not find_codes(found)
    (device,) = found.devices.values()
    assert (device.name, device.box, device.model, device.release) == (
        "leaf1", "DCS-7060X6-64PE-F", "7060x6-64pe", "4.33.1F",
    )  # fmt: skip
    (seen,) = device.neighbors
    assert (seen.port, seen.device, seen.far_port) == ("Ethernet1/1", "spine1", "Ethernet5/1")
    assert (tmp_path / seen.file).read_text().split("\n")[seen.line - 1].startswith("Et1/1 ")
    file, line = device.reading.lines["interface[Ethernet1/1]/ipv4"]
    assert (tmp_path / device.paths[file]).read_text().split("\n")[line - 1] == "   ip address 10.0.0.1/31"
    assert device.files[file].split("\n")[line - 1] == "   ip address 10.0.0.1/31"


def test_version_output_adds_model_and_release(tmp_path: Path) -> None:
    plain = EOS[EOS.index("hostname") :]
    found = gather_devices(
        folder_of(tmp_path, {"leaf1.cfg": plain, "leaf1_show_version.txt": VERSION}), jobs=1
    )
    (device,) = found.devices.values()
    assert (device.box, device.model, device.release) == ("DCS-7060X6-64PE-F", "7060x6-64pe", "4.34.0F")


def test_tables_and_routing_of_sonic_are_one_device(specs: Path, tmp_path: Path) -> None:
    name, files = next(iter(render_some(specs / "sonic.yaml").items()))
    found = gather_devices(
        folder_of(tmp_path, {"tables/a.json": files["config_db.json"], "routing/a.conf": files["frr.conf"]})
    )
    (device,) = found.devices.values()
    assert (device.name, device.system, set(device.paths)) == (name, "sonic", {"config_db.json", "frr.conf"})
    assert device.model == "sn5600"


# --- findings --------------------------------------------------------------------------------------------


def test_unknown_files_are_reported(tmp_path: Path) -> None:
    texts = {"leaf1.cfg": EOS, "notes.txt": "Call Bob.\n", "picture.png": b"\x89PNG\0\0\0",
             "ios.cfg": "version 15.2\nservice timestamps debug\ninterface GigabitEthernet0/0\n mtu 9\n"}  # fmt: skip
    found = gather_devices(folder_of(tmp_path, texts), jobs=1)
    assert set(found.devices) == {"leaf1"}
    assert find_codes(found) == [("FAB9501", name) for name in ("ios.cfg", "notes.txt", "picture.png")]
    assert (found.files, found.used) == (4, 1)


def test_two_devices_of_one_name_are_reported_and_both_kept(tmp_path: Path) -> None:
    other = EOS.replace("10.0.0.1/31", "10.9.0.1/31").replace("10.255.0.1", "10.255.9.1")
    found = gather_devices(folder_of(tmp_path, {"dc1/leaf1.cfg": EOS, "dc2/leaf1.cfg": other}), jobs=1)
    assert set(found.devices) == {"leaf1", "dc2/leaf1.cfg"}
    assert find_codes(found) == [("FAB9504", "dc2/leaf1.cfg")]
    assert other.split("\n")[found.findings[0].line - 1] == "hostname leaf1"


@pytest.mark.parametrize("copy", ["backup/leaf1.cfg", "leaf1.old/running-config.cfg", "a-copy-of-it.cfg"])
def test_a_copy_of_a_device_is_reported_and_not_compared(tmp_path: Path, copy: str) -> None:
    older = EOS.replace("remote-as 65000", "remote-as 65009")
    found = gather_devices(folder_of(tmp_path, {"leaf1.cfg": EOS, copy: older}), jobs=1)
    assert {name: set(device.paths.values()) for name, device in found.devices.items()} == {
        "leaf1": {"leaf1.cfg"}
    }
    assert find_codes(found) == [("FAB9504", copy)]


def test_outputs_without_a_configuration_are_reported(tmp_path: Path) -> None:
    found = gather_devices(folder_of(tmp_path, {"leaf1.cfg": EOS, "leaf2-lldp.txt": LLDP}), jobs=1)
    assert find_codes(found) == [("FAB9505", "leaf2-lldp.txt")]


def test_a_folder_without_configurations_is_an_error(tmp_path: Path) -> None:
    assert find_codes(gather_devices(folder_of(tmp_path, {"README": "nothing here\n"}), jobs=1)) == [
        ("FAB9500", ""), ("FAB9501", "README"),
    ]  # fmt: skip


@pytest.mark.parametrize("beside", [False, True])
def test_a_tree_of_infiniband_is_named_and_not_read(tmp_path: Path, beside: bool) -> None:
    tree = {
        "ib/manifest.json": '{"made_by": "fabricc"}',
        "ib/subnets/rails/opensm.conf": "routing_engine ftree\n",
        "ib/hosts/host01/etc/sysctl.d/60-fabricc.conf": "net.ipv4.conf.ib0.rp_filter = 2\n",
    }
    found = gather_devices(folder_of(tmp_path, tree | ({"leaf1.cfg": EOS} if beside else {})), jobs=1)
    assert [*found.devices] == (["leaf1"] if beside else [])
    (finding,) = found.findings
    assert f"{tmp_path / 'ib'} is InfiniBand" in finding.message
    assert (finding.severity is Severity.NOTE) is beside


def test_links_are_not_followed_and_large_files_not_read(tmp_path: Path) -> None:
    outside = folder_of(tmp_path / "outside", {"secret.cfg": EOS})
    folder = folder_of(tmp_path / "folder", {"leaf9.cfg": EOS.replace("leaf1", "leaf9")})
    (folder / "leaf1.cfg").symlink_to(outside / "secret.cfg")
    (folder / "more").symlink_to(outside)
    with (folder / "huge.cfg").open("wb") as huge:
        huge.truncate(33 << 20)
    found = gather_devices(folder, jobs=1)
    assert set(found.devices) == {"leaf9"}
    assert find_codes(found) == [("FAB9502", name) for name in ("huge.cfg", "leaf1.cfg", "more")]


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("startup.yaml", "- header:\n    nvue-api-version: nvue_v1\n- set:\n    interface:\n      swp1:\n"
         "        description: leaf2\n          mtu: 9216\n", 7),
        ("config_db.json", '{"DEVICE_METADATA": {"localhost": {"hostname": "leaf1"}}\n "PORT": {}}\n', 2),
        ("etc/netplan/60-rails.yaml", "network:\n  ethernets:\n    rail0:\n      dhcp4: false\n"
         "        mtu: 9000\n", 5),
    ],
)  # fmt: skip
def test_a_file_that_its_device_cannot_parse_is_reported(
    tmp_path: Path, file: str, text: str, line: int
) -> None:
    found = gather_devices(folder_of(tmp_path, {f"leaf1/{file}": text}), jobs=1)
    assert [(each.file, each.line) for each in found.findings if each.code == "FAB9502"] == [
        (f"leaf1/{file}", line)
    ]


def test_a_configuration_that_is_cut_off_is_reported_at_its_end(tmp_path: Path) -> None:
    text = "system {\n    host-name leaf1;\n}\nprotocols {\n    bgp {\n        hold-time 9;\n"
    found = gather_devices(folder_of(tmp_path, {"leaf1.conf": text}), jobs=1)
    assert [(each.line, each.message) for each in found.findings if each.code == "FAB6051"] == [
        (6, "leaf1: no line ends the text that begins with 'bgp {'")
    ]


def test_a_merge_conflict_in_a_configuration_is_an_error(tmp_path: Path) -> None:
    conflict = "<<<<<<< HEAD\nntp server 192.0.2.1\n=======\nntp server 192.0.2.2\n>>>>>>> topic\n"
    for number, text in enumerate((conflict, conflict.replace("\n", "\r\n"), f"{'<' * 9}{conflict[7:]}")):
        folder = folder_of(
            tmp_path / str(number), {"leaf1.cfg": EOS + text, "leaf9.cfg": EOS.replace("leaf1", "leaf9")}
        )
        found = gather_devices(folder, jobs=1)
        assert set(found.devices) == {"leaf9"}
        assert find_codes(found) == [("FAB0032", "leaf1.cfg")]
        with pytest.raises(FindingsError) as refused:
            adopt(folder, "x", jobs=1)
        assert [each.code for each in refused.value.diagnostics] == ["FAB0032"]


@pytest.mark.parametrize(
    "banner",
    ["<<<<<<< only for us >>>>>>>\n=======\n", "=======\n>>>>>>> x\n", ">>>>>>> a\n=======\n<<<<<<< b\n"],
)
def test_a_banner_is_no_merge_conflict(banner: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"leaf1.cfg": f"{EOS}banner motd\n{banner}EOF\n"})
    assert "FAB0032" not in {each.code for each in gather_devices(folder, jobs=1).findings}


def test_a_box_that_the_catalog_lacks_is_reported(tmp_path: Path) -> None:
    found = gather_devices(
        folder_of(tmp_path, {"leaf1.cfg": EOS.replace("DCS-7060X6-64PE-F", "cEOSLab")}), jobs=1
    )
    assert found.devices["leaf1"].model is None
    (finding,) = found.findings
    named = EOS.split("\n").index("hostname leaf1") + 1
    assert (finding.code, finding.file, finding.line) == ("FAB9506", "leaf1.cfg", named)


def test_device_without_a_name_is_reported_at_its_first_statement(tmp_path: Path) -> None:
    text = "\n".join(line for line in EOS.split("\n") if not line.startswith(("! ", "hostname")))
    found = gather_devices(folder_of(tmp_path, {"leaf1.cfg": f"!\n\n{text}"}), jobs=1)
    (finding,) = found.findings
    first = min(line for _, line in found.devices["leaf1"].reading.lines.values())
    assert (finding.code, finding.file, finding.line) == ("FAB9507", "leaf1.cfg", first)
    assert first > 1


# --- texts -----------------------------------------------------------------------------------------------


def test_terminal_control_characters_are_removed() -> None:
    assert text_of(b"\xef\xbb\xbfa\r\n --More-- \x08\x08b\x1b[0m\r\n") == "a\nb\n"
    assert text_of("hostname a\n".encode("utf-16")) == "hostname a\n"
    assert text_of(b"\x7fELF\0\0") is None


def test_a_section_keeps_the_numbers_of_its_lines() -> None:
    text = "admin@sonic:~$ show version\nSONiC\n\nadmin@sonic:~$ show lldp table\nLocalPort\nadmin@sonic:~$ logout\n"
    for section in split_sections(text):
        kept = [line for line in section.text.split("\n") if line]
        for line in kept:
            assert section.text.split("\n").index(line) == text.split("\n").index(line)
    assert [section.text.strip() for section in split_sections(text)] == ["SONiC", "LocalPort"]


def test_a_command_inside_a_configuration_divides_nothing() -> None:
    text = (
        "hostname a\nalias sib show ip bgp\nschedule x\n   command show tech-support\n! Command: show run\n"
    )
    assert [section.text for section in split_sections(text)] == [text]


# --- what others wrote -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not CORPORA.is_dir(), reason="no corpora here")
def test_the_system_of_whole_devices_is_recognized_by_their_text() -> None:
    wrong, every = [], 0
    for nos in MODELS:
        for source in sorted(path for path in (CORPORA / nos).iterdir() if path.is_dir()):
            if source.name in ("batfish-parser", "sonic-buildimage-frr", "frr-topotests"):
                continue  # parts and single features, which may be of several systems
            found = gather_devices(source, jobs=1)
            every += found.files
            wrong += [device.paths for device in found.devices.values() if device.system != nos]
            wrong += [finding for finding in found.findings if finding.code in ("FAB9501", "FAB9508")]
    assert every > 600
    assert len(wrong) <= 2, wrong


@pytest.mark.parametrize("nos", sorted(MODELS))
@pytest.mark.spread
def test_nothing_that_is_cut_ends_in_a_traceback(nos: str, specs: Path, tmp_path: Path) -> None:
    texts: dict[str, str | bytes] = {}
    for files in render_some(specs / f"{nos}.yaml").values():
        for file, text in files.items():
            for cut in range(1, 6):
                half = text[: len(text) * cut // 6]
                texts[f"d{cut}/{file}"] = half
                texts[f"g{cut}/{file}"] = (
                    half.encode()[::-1] if cut % 2 else half.encode().replace(b" ", b"\xff\x00")
                )
    found = gather_devices(folder_of(tmp_path, texts), jobs=1)
    assert "FAB9508" not in {finding.code for finding in found.findings}


def test_invalid_addresses_are_unknown_lines(tmp_path: Path) -> None:
    tables = {
        "DEVICE_METADATA": {
            "localhost": {"hostname": "tor1", "bgp_asn": "65001", "hwsku": "x", "platform": "y"}
        },
        "PORT": {"Ethernet0": {"lanes": "1", "speed": "400000", "mtu": "9216", "admin_status": "up"}},
        "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.999/31": {}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.9.0.1/32": {}, "Loopback0|1.2.3.456/32": {}},
    }
    (tmp_path / "tor1").mkdir()
    (tmp_path / "tor1" / "config_db.json").write_text(json.dumps(tables, indent=2))
    gathered = gather_devices(tmp_path, jobs=1)
    reading = gathered.devices["tor1"].reading
    assert "interface[Ethernet0]/ipv4" not in reading.facts
    wrong = "interface[Ethernet0]/ipv4 10.0.0.999/31"
    ((file, line),) = [place for *place, text in reading.unknown if text == wrong]
    assert (file, line > 1) == ("config_db.json", True)
    assert gathered.understood["tor1"].unknown >= 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "Cisco IOS",
            "version 15.2\nhostname a\ninterface GigabitEthernet0/1\n ip address 10.0.0.0 255.255.255.254\n",
        ),
        ("Dell OS10", "! Version 10.5.4.1\nhostname a\ninterface ethernet1/1/1\n no shutdown\n"),
        ("Enterprise SONiC", "hostname a\nroce enable force-defaults\ninterface Eth1/1\n mtu 9216\n"),
        ("AsterNOS", "hostname a\ninterface ethernet 0/0\n mtu 9216\n"),
        (
            "Cisco IOS XR",
            "hostname a\ninterface HundredGigE0/0/0/0\n ipv4 address 10.0.0.0 255.255.255.254\n",
        ),
        ("Aruba AOS-CX", "!\n!Version ArubaOS-CX FL.10.13.1000\nhostname a\n"),
        ("Aruba AOS-CX", "hostname a\ninterface 1/1/1\n    no shutdown\n    ip address 10.0.0.0/31\n"),
        ("IP Infusion OcNOS", "! Software version: EC_AS9817-64O-OcNOS-DC-6.5.2.101-GA\n!\nhostname a\n"),
        ("IP Infusion OcNOS", "hostname a\ninterface ce1/1\n ip address 10.0.0.0/31\n"),
        ("Ruijie RGOS", "hostname a\ninterface HundredGigabitEthernet 0/1\n no switchport\n"),
        ("Dell OS9", "! Version 9.14(2.4)\nhostname a\ninterface fortyGigE 0/1\n no shutdown\n"),
        ("Pica8 PicOS", "set interface gigabit-ethernet te-1/1/1 mtu 9216\nset system hostname a\n"),
        ("VyOS", "set interfaces ethernet eth0 address '10.0.0.0/31'\nset system host-name 'a'\n"),
        ("VyOS", "interfaces {\n    ethernet eth0 {\n        address 10.0.0.0/31\n    }\n}\n"),
        ("Nokia SR Linux", "interface ethernet-1/1 {\n    admin-state enable\n}\n"),
        ("Nokia SR OS", "# TiMOS-C-20.10.R1\nconfigure\n    router Base\n"),
        ("Huawei VRP", "sysname a\ninterface 100GE1/0/1\n undo portswitch\n"),
        ("Cisco IOS", "!RANCID-CONTENT-TYPE: cisco\nhostname a\ninterface Ethernet1\n no switchport\n"),
        ("Arrcus ArcOS", "system hostname a\ninterface swp1\n type    ethernetCsmacd\n enabled true\n"),
        ("HPE ProCurve", 'hostname "a"\nvlan 10\n  name "X"\n  untagged 1-4\n'),
        ("Cisco ASA", "ASA Version 9.8(2)\nhostname a\ninterface Ethernet1\n nameif inside\n"),
        ("Brocade ICX", "ver 08.0.95mT213\nhostname a\nvlan 10\n tagged ethe 1/1/1\n"),
        ("Ubiquiti EdgeSwitch", "hostname a\nvlan database\nvlan 10\nexit\ninterface 0/1\n no shutdown\n"),
        (
            "Palo Alto PAN-OS",
            "set deviceconfig system hostname a\nset network interface ethernet ethernet1/1\n",
        ),
        ("not a configuration", "#!/usr/bin/env python3\nhostname a\ninterface Ethernet1\n   mtu 9216\n"),
    ],
)
def test_systems_that_look_like_another_are_rejected_by_name(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.cfg").write_text(
        f"{text}!\nrouter bgp 65001\n bgp router-id 10.0.0.1\n neighbor 10.0.0.1 remote-as 1\n"
    )
    found = gather_devices(tmp_path, jobs=1)
    assert not found.devices
    assert any(each.code == "FAB9501" and name in each.message for each in found.findings)
