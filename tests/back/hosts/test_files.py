"""The facts of a host's files equal those of the Fabric, and every change of the files is found."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back.hosts import (
    gaps,
    interfaces,
    keyfile,
    nccl,
    netplan,
    planned,
    qos,
    read,
    render,
    services,
)
from fabricc.proof.invariants.contract import host_breaches, host_contracts
from tests import samples
from tests.back.hosts.variants import NICS, SYSTEMS, VARIANTS
from tests.effort import scale_examples

if TYPE_CHECKING:
    from fabricc.fabric.model import Host

GOLDEN = Path(__file__).parent / "golden"


def join_files(files: dict[str, str]) -> str:
    return "".join(f"=== {name}\n{text}" for name, text in sorted(files.items()) if name != services.APPLY)


@pytest.mark.parametrize(
    "name", ["dual-stack", "dual-port", "lossy", "rhel-9-dual-stack", "thor2", "e810-iwarp"]
)
def test_text_equals_the_golden_file(name: str) -> None:
    golden = GOLDEN / f"{name}.txt"
    text = join_files(render(VARIANTS[name]))
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("host", VARIANTS.values(), ids=VARIANTS.keys())
def test_reading_back_gives_the_planned_facts_and_nothing_unknown(host: Host) -> None:
    reading = read(render(host))
    assert reading.facts == planned(host)
    assert reading.unknown == []


@pytest.mark.parametrize("host", VARIANTS.values(), ids=VARIANTS.keys())
def test_every_fact_names_the_line_it_was_read_from(host: Host) -> None:
    files = render(host)
    reading = read(files)
    assert reading.lines.keys() == reading.facts.keys()
    for path, (file, line) in reading.lines.items():
        assert files[file].splitlines()[line - 1].strip(), path


def test_a_route_is_found_on_its_line() -> None:
    files = render(samples.host())
    file, line = read(files).lines["interface[rail1]/route[10.0.0.0/10]"]
    assert file == netplan.FILE
    assert files[file].splitlines()[line - 1].strip() == '- to: "10.0.0.0/10"'


def statement_lines(files: dict[str, str]) -> list[tuple[str, int]]:
    return [
        (file, index)
        for file, text in files.items()
        for index, line in enumerate(text.splitlines())
        if line.strip() and (not line.lstrip().startswith("#") or line.startswith("#!"))
    ]


def change_line(files: dict[str, str], file: str, index: int, new: str | None) -> dict[str, str]:
    lines = files[file].splitlines()
    lines[index : index + 1] = [] if new is None else [new]
    return files | {file: "\n".join(lines) + "\n"}


FREE = re.compile(r"\s*echo 'usage:.*|Description=.*")  # text for people


def is_unseen(host: Host, files: dict[str, str]) -> bool:
    reading = read(files)
    return reading.facts == planned(host) and not reading.unknown


@pytest.mark.parametrize("name", ["dual-stack", "two-lossless", "rhel-9-dual-stack", "thor2"])
@pytest.mark.spread
def test_no_line_can_be_lost_unseen(name: str) -> None:
    host = VARIANTS[name]
    files = render(host)
    for file, index in statement_lines(files):
        if file == services.APPLY and index % 20:  # one digest covers it
            continue
        line = files[file].splitlines()[index]
        if not FREE.fullmatch(line):
            assert not is_unseen(host, change_line(files, file, index, None)), (file, line)


@pytest.mark.parametrize("name", ["dual-stack", "two-lossless", "rhel-9-dual-stack"])
def test_no_number_can_change_unseen(name: str) -> None:
    host = VARIANTS[name]
    files = render(host)
    tried = 0
    for file, index in statement_lines(files):
        if file == services.APPLY:
            continue
        line = files[file].splitlines()[index]
        for number in re.finditer(r"[0-9]+", line):
            # 4 more, as a traffic-class byte's two ECN bits are no difference
            new = f"{line[: number.start()]}{int(number[0]) + 4}{line[number.end() :]}"
            if FREE.fullmatch(line) or re.fullmatch(r"routing-rule\d+", line[: number.end()]):
                continue
            assert not is_unseen(host, change_line(files, file, index, new)), (file, line, new)
            tried += 1
    assert tried >= 300


@pytest.mark.parametrize("name", ["dual-stack"])
def test_no_word_can_change_unseen(name: str) -> None:
    host = VARIANTS[name]
    files = render(host)
    for file, index in statement_lines(files):
        if file == services.APPLY or (file == qos.SCRIPT and index > 90):  # one digest covers these
            continue
        line = files[file].splitlines()[index]
        for word in re.finditer(r"[A-Za-z]{2,}", line):
            new = f"{line[: word.start()]}{word[0]}x{line[word.end() :]}"
            if not FREE.fullmatch(line):
                assert not is_unseen(host, change_line(files, file, index, new)), (file, line, new)


def test_ecn_bits_of_the_traffic_class_byte_make_no_difference() -> None:
    host = samples.host()
    files = render(host)
    files[nccl.FILE] = files[nccl.FILE].replace("NCCL_IB_TC=106", "NCCL_IB_TC=104")
    files[qos.SCRIPT] = files[qos.SCRIPT].replace("ROCE_TOS=106", "ROCE_TOS=104")
    assert read(files).facts == planned(host)


def test_contract_numbers_are_equal_on_switch_nic_and_job() -> None:
    facts = read(render(samples.host())).facts
    assert facts["nccl/dscp"] == facts["qos/rdma_dscp"] == 26
    assert facts["qos/dscp[26]/priority"] == 3
    assert facts["interface[rail0]/pfc"] == facts["interface[rail0]/ecn"] == "3"
    assert facts["nccl/control_dscp"] == facts["qos/cnp_dscp"] == 48
    assert facts["qos/dscp[48]/priority"] == facts["qos/cnp_priority"] == 6


def test_without_a_lossless_class_there_is_neither_pfc_nor_a_traffic_class_for_nccl() -> None:
    files = render(VARIANTS["lossy"])
    assert "NCCL_IB_TC" not in files[nccl.FILE]
    assert "NCCL_IB_FIFO_TC" not in files[nccl.FILE]
    assert "PFC=0,0,0,0,0,0,0,0\n" in files[qos.SCRIPT]
    assert "ROCE_TOS=\n" in files[qos.SCRIPT]


def test_the_page_states_what_a_lost_control_message_of_nccl_costs() -> None:
    """`NCCL_IB_FIFO_TC` puts them into the class of CNPs, which has no PFC."""
    facts = read(render(samples.host())).facts
    assert str(facts["qos/dscp[48]/priority"]) not in str(facts["interface[rail0]/pfc"]).split(",")
    page = (Path(__file__).parents[3] / "docs" / "hosts.md").read_text("utf-8")
    (row,) = [line for line in page.splitlines() if "NCCL_IB_FIFO_TC" in line]
    assert "retransmission" in row


def test_code_points_next_to_the_lossless_one_stay_lossy() -> None:
    # dscp >> 3, the NIC's own map, would put 24 and 25 into priority 3
    facts = read(render(samples.host())).facts
    assert facts["qos/dscp[24]/priority"] == facts["qos/dscp[25]/priority"] == 0


@pytest.mark.parametrize(("name", "value"), [("plain", 2), ("isolated", 0), ("dual-port", 1)])
def test_cross_nic_follows_the_wiring(name: str, value: int) -> None:
    assert f"NCCL_CROSS_NIC={value}\n" in render(VARIANTS[name])[nccl.FILE]


@pytest.mark.parametrize(
    ("name", "keys"), [("plain", ["Rx", "Tx", "AutoNegotiation"]), ("e810", ["Rx", "Tx"]), ("pollara", [])]
)
def test_link_files_have_the_pause_settings_that_the_driver_takes(name: str, keys: list[str]) -> None:
    """One that ice refuses takes the others along (systemd sets them together); with ionic any ends PFC."""
    text = render(VARIANTS[name])["etc/systemd/network/10-fabricc-rail0.link"]
    assert [line for line in text.splitlines() if "FlowControl" in line] == [
        f"{key}FlowControl=no" for key in keys
    ]


def test_second_port_of_a_nic_is_its_second_function() -> None:
    files = render(VARIANTS["dual-port"])
    assert "Path=pci-0000:18:00.1\n" in files["etc/systemd/network/10-fabricc-rail0b.link"]
    assert (
        'KERNELS=="0000:18:00.1", PROGRAM="rdma_rename %k NAME_FIXED mlx5_r0b"'
        in files[interfaces.RDMA_NAMES]
    )


@pytest.mark.parametrize(
    ("prefixes", "covering"),
    [
        (("10.0.0.0/10",), "10.0.0.0/10"),
        (("10.0.0.0/16", "10.1.0.0/16"), "10.0.0.0/15"),
        (("10.1.0.0/16", "10.2.0.0/16"), "10.0.0.0/14"),
        (("10.0.0.0/8", "192.168.0.0/16"), None),
        (("fd00::/48", "fd00:0:1::/48"), "fd00::/47"),
        ((), None),
    ],
)
def test_the_address_range_covers_all_prefixes(prefixes: tuple[str, ...], covering: str | None) -> None:
    assert nccl.covering_prefix(prefixes) == covering


def test_unknown_pci_addresses_are_a_gap_and_leave_names_to_the_operator() -> None:
    host = VARIANTS["without-pci"]
    assert [(gap.code, gap.fatal) for gap in gaps(host)] == [("FAB5601", False)]
    assert not any(name.endswith(".link") for name in render(host))
    assert interfaces.RDMA_NAMES not in render(host)


def test_nics_of_an_unknown_driver_are_a_gap_and_get_no_settings() -> None:
    host = VARIANTS["other-nic"]
    assert [(gap.code, gap.fatal) for gap in gaps(host)] == [("FAB5603", True)]
    assert not {qos.SCRIPT, qos.UNIT, qos.HOOK} & render(host).keys()


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("connectx-6", []),
        ("bluefield-3", []),
        ("thor2", ["FAB5610"]),
        ("pollara", ["FAB5606"]),
        ("e810", ["FAB5606"]),
        ("e810-iwarp", ["FAB5605", "FAB5608"]),
    ],
)
def test_missing_nic_features_are_reported_and_not_fatal(name: str, codes: list[str]) -> None:
    assert [(gap.code, gap.fatal) for gap in gaps(VARIANTS[name])] == [(code, False) for code in codes]


def test_settings_that_a_nic_keeps_are_listed_without_a_lossless_class() -> None:
    host = replace(VARIANTS["thor2"], classes=VARIANTS["lossy"].classes)
    assert [gap.code for gap in gaps(host)] == ["FAB5610"]
    assert gaps(replace(host, guest=True)) == []


@pytest.mark.parametrize("name", ["thor2", "pollara", "e810"])
def test_two_lossless_classes_are_too_many_for_some_nics(name: str) -> None:
    host = replace(VARIANTS[name], classes=VARIANTS["two-lossless"].classes)
    assert ("FAB5604", True) in [(gap.code, gap.fatal) for gap in gaps(host)]


def test_old_kernel_cannot_run_rdma_over_tcp() -> None:
    codes = [gap.code for gap in gaps(replace(VARIANTS["e810-iwarp"], os="ubuntu-22.04"))]
    assert codes == ["FAB5605", "FAB5608", "FAB5607"]


def test_rdma_over_tcp_without_a_lossless_class_reports_no_loss() -> None:
    host = replace(VARIANTS["e810-iwarp"], classes=VARIANTS["lossy"].classes)
    assert [gap.code for gap in gaps(host)] == ["FAB5608"]


@pytest.mark.parametrize("name", NICS)
def test_every_family_keeps_the_fabrics_one_contract(name: str) -> None:
    # Whatever the traffic classes are called on the NIC, a code point is paused by the priority it is on switches.
    host = VARIANTS[name]
    reading = read(render(host))
    assert set(host_contracts(host, reading)) == set(
        host_contracts(VARIANTS["plain"], read(render(VARIANTS["plain"])))
    )
    assert list(host_breaches(host, reading, host_contracts(host, reading))) == []


def test_rdma_over_tcp_marks_nothing() -> None:
    facts = read(render(VARIANTS["e810-iwarp"])).facts
    assert facts["roce/transport"] == "iwarp"
    assert "qos/rdma_dscp" not in facts
    assert "qos/cnp_dscp" not in facts


def test_figures_of_the_nic_come_from_the_catalog() -> None:
    facts = read(render(VARIANTS["thor2"])).facts
    nic = VARIANTS["thor2"].nic
    assert facts["interface[rail0]/ring_rx"] == nic.ring_rx == 2047
    assert facts["roce/read_request_bytes"] == nic.read_request_bytes
    assert {
        k: v for k, v in read(render(VARIANTS["connectx-7"])).facts.items() if k.startswith("congestion/")
    } == {f"congestion/{key}": value for key, value in VARIANTS["connectx-7"].nic.congestion}


def test_a_connection_has_one_identity_in_every_build_and_no_other_has_it() -> None:
    host = VARIANTS["rhel-9"]
    other = replace(host, name="su001-host02")
    identities = [keyfile.connection_id(h, port) for h in (host, other) for port in h.ports]
    assert len(set(identities)) == 4
    assert identities == [keyfile.connection_id(h, port) for h in (host, other) for port in h.ports]


NUMBER = st.integers(0, 2**31 - 1)


@settings(max_examples=scale_examples(60), deadline=None)
@given(
    os=st.sampled_from(SYSTEMS), nic=st.sampled_from(NICS), mtu=st.integers(1280, 9216), cable=st.integers(1, 2000),
    numbers=st.tuples(NUMBER, NUMBER), table=st.integers(100, 4000), pci=st.integers(0, 255),
    families=st.sampled_from([(4,), (6,), (4, 6)]), extra=st.integers(0, 2), nic_port=st.integers(0, 1),
)  # fmt: skip
def test_any_host_is_read_back_as_planned(
    os: str, nic: str, mtu: int, cable: int, numbers: tuple[int, int], table: int, pci: int,
    families: tuple[int, ...], extra: int, nic_port: int,
) -> None:  # fmt: skip
    base = VARIANTS[nic]
    low, high = (ipaddress.IPv4Address(2 * number) for number in numbers)
    low6 = ipaddress.IPv6Address((0xFD00 << 112) + 2 * numbers[0])
    port = replace(
        base.ports[0], mtu=mtu, cable_m=cable, table=table, pci=f"0000:{pci:02x}:00.0", on_nic=nic_port,
        ipv4=f"{low + 1}/31" if 4 in families else None, gateway4=str(low) if 4 in families else None,
        ipv6=f"{low6 + 1}/127" if 6 in families else None, gateway6=str(low6) if 6 in families else None,
    )  # fmt: skip
    prefixes = tuple(f"{ipaddress.ip_network((int(high) >> 8 << 8, 24 + i))}" for i in range(extra + 1))
    host = replace(
        base, os=os, ports=(port,), fabric_prefixes4=prefixes if 4 in families else (),
        fabric_prefixes6=("fd00::/16",) if 6 in families else (),
    )  # fmt: skip
    reading = read(render(host))
    assert reading.facts == planned(host)
    assert reading.unknown == []


@pytest.mark.parametrize("name", ["plain", "dual-stack", "dual-port", "eight-rails", "lossy"])
def test_connectx_hosts_have_no_gap(name: str) -> None:
    assert gaps(VARIANTS[name]) == []


@pytest.mark.parametrize("name", ["a" * 16, 'rail0"', "rail 0", "rail0\nrail1", "$(reboot)", ""])
def test_unusable_port_names_are_a_gap(name: str) -> None:
    base = samples.host()
    host = replace(base, ports=(replace(base.ports[0], name=name), *base.ports[1:]))
    assert [gap.code for gap in gaps(host)] == ["FAB5602"]


@pytest.mark.parametrize("pci", ["18:00.0", "0000:18:00", "0000:18:00.8", "0000:18:00.0\n"])
def test_malformed_pci_addresses_are_a_gap(pci: str) -> None:
    base = samples.host()
    host = replace(base, ports=(replace(base.ports[0], pci=pci), *base.ports[1:]))
    assert [gap.code for gap in gaps(host)] == ["FAB5602"]


@pytest.mark.parametrize("text", ["mlx5;reboot", 'a"b', "a\nb", "a b", "$x"])
def test_nothing_injects_a_line_into_a_host_file(text: str) -> None:
    base = samples.host()
    port = replace(base.ports[0], rdma=text)
    with pytest.raises(ValueError, match="not usable"):
        render(replace(base, ports=(port,)))
    with pytest.raises(ValueError, match="not usable"):
        render(replace(base, socket_interface=text))


def test_collected_files_that_mean_nothing_here_are_listed() -> None:
    files = render(samples.host()) | {
        "etc/hostname": "x\n",
        nccl.FILE: "NCCL_DEBUG=INFO\n export NCCL_IB_TC=1\n",
        "etc/netplan/50-cloud-init.yaml": "network: {version: 2, ethernets: {eno1: {wakeonlan: true}}}\n",
    }
    unknown = [(file, line) for file, line, _ in read(files).unknown]
    assert ("etc/hostname", 1) in unknown
    assert (nccl.FILE, 1) in unknown
    assert (nccl.FILE, 2) in unknown
    assert ("etc/netplan/50-cloud-init.yaml", 1) in unknown
