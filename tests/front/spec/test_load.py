"""A valid spec becomes a value with every default in it; the order of its mappings means nothing."""

from __future__ import annotations

import io
import os
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricc.base.diagnostics import Position, Severity
from fabricc.fabric.model import LoginServers, NtpKey, Snmp, SnmpTraps, SnmpUser, SyslogTls
from fabricc.fabric.routing import LoadBalancing, Spreading
from fabricc.front.spec.device_model import NosChoice, Override, PortOverride
from fabricc.front.spec.load import load_spec
from fabricc.front.spec.model import HostGroup, TrimmingRequest
from tests.front.spec.samples import FULL, SHORT, load


def test_twenty_lines_are_a_cluster() -> None:
    loaded = load(SHORT)
    assert len(SHORT.splitlines()) == 20
    assert loaded.diagnostics == ()
    spec = loaded.spec
    assert spec is not None
    assert spec.gpus.groups == (HostGroup("gpus", "dgx-b200", 128, 32),)
    assert spec.tors.nos == NosChoice("sonic", "202505")
    assert spec.spines.oversubscription is None
    assert [each.name for each in spec.priorities] == ["cnp", "default", "rdma"]
    assert str(spec.addressing.loopbacks) == "10.128.0.0/12"
    assert spec.addressing.hosts6 is None
    assert str(spec.management.gateway) == "172.16.0.1"


def test_every_section_reaches_the_value() -> None:
    loaded = load(FULL)
    spec = loaded.spec
    assert spec is not None, loaded.diagnostics
    assert spec.catalog_files == ("switches/mine.yaml",)
    h100, b200 = spec.gpus.groups
    assert (h100.hosts, dict(h100.racks)) == (4, {"a01": (), "a02": ("node3", "node4")})
    assert (b200.hosts, b200.host_names, b200.path) == (3, ("big1", "big2", "big3"), ("gpus", "groups", 1))
    assert (spec.gpus.wiring, spec.gpus.rails_per_tor, spec.gpus.capacity) == ("rack", 0, 64)
    assert (spec.spines.oversubscription, spec.spines.units_per_pod) == (7.0, 192)
    assert spec.cores is not None
    assert spec.priorities[2].dscps == (24, 26)
    assert spec.priorities[1].name == "default"
    assert str(spec.addressing.hosts6) == "fd00:1::/48"
    assert (spec.routing.bfd_interval_ms, spec.routing.spine_asn) == (None, "unique")
    assert (spec.cables.host.medium, spec.cables.core.length_m) == ("dac", 300)
    assert spec.management.services.syslog == ("fd00:9::1",)
    assert spec.management.services.access == ("172.20.9.0/24",)
    assert spec.management.services.tacacs == LoginServers(
        ("172.20.0.6", "172.20.0.5"), "FABRICC-SECRET-tacacs"
    )
    assert spec.management.services.snmp == Snmp(
        "FABRICC-SECRET-ro-snmp",
        "hall-3",
        "",
        (SnmpUser("monitor", "FABRICC-SECRET-snmp-auth", "FABRICC-SECRET-snmp-privacy"),),
        SnmpTraps(("172.20.0.6",), "monitor"),
    )
    assert spec.management.services.banner == "Authorized use only."
    assert spec.management.services.ntp_key == NtpKey(7, "md5", "FABRICC-SECRET-ntp")
    assert spec.management.services.syslog_tls == SyslogTls("logs", 6515)
    assert (spec.management.services.gnmi_port, spec.management.services.lldp_interval_s) == (50051, 10)
    assert spec.load_balancing == LoadBalancing(Spreading.FLOWLET, True, 128)
    assert spec.routing.ttl_security
    assert spec.congestion.trimming == TrimmingRequest("cnp", 512)
    assert spec.congestion.link_retry
    port = PortOverride(9, "smf", False)
    assert spec.overrides == {
        "tor-a01": Override(NosChoice("sonic", "202411"), True, 20, {"Ethernet8": port})
    }


def test_every_default_taken_is_listed_in_schema_order() -> None:
    spec = load(SHORT).spec
    assert spec is not None
    assumptions = dict(spec.assumptions)
    assert list(assumptions)[:4] == ["fabric", "catalog", "gpus.rails_per_tor", "gpus.capacity"]
    assert list(assumptions)[-3:] == ["management.users", "unused_ports", "accept"]
    assert assumptions["routing.bfd.interval_ms"] == 300
    assert assumptions["cables.core.length_m"] == 300
    assert "tors.oversubscription" not in assumptions
    assert "addressing.hosts6" not in assumptions
    assert "mtu.host" not in assumptions


def test_no_default_is_listed_that_the_file_states() -> None:
    spec = load(FULL).spec
    assert spec is not None
    assert list(spec.assumptions) == [
        "spines.reserved_ports",
        "priorities.cnp.lossless",
        "priorities.default",
        "priorities.rdma.strict",
        "qos",
        "addressing.links",
        "addressing.loopbacks",
        "addressing.links6",
        "addressing.loopbacks6",
        "cables.core.medium",
        "cables.core.length_m",
        "unused_ports",
    ]


def test_spines_below_cores_are_non_blocking_by_default() -> None:
    spec = load(SHORT + "cores: {model: sn5600, nos: eos}\n").spec
    assert spec is not None
    assert spec.spines.oversubscription == 1.0
    assert spec.assumptions["spines.oversubscription"] == 1.0


def _shuffle_value(value: Any, order: random.Random) -> Any:
    if isinstance(value, list):
        return [_shuffle_value(item, order) for item in value]
    if not isinstance(value, dict):
        return value
    entries = list(value.items())
    order.shuffle(entries)
    return {key: _shuffle_value(part, order) for key, part in entries}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("text", [SHORT, FULL], ids=["short", "full"])
def test_the_order_of_mappings_means_nothing(text: str, seed: int) -> None:
    plain = load(text).spec
    shuffled = load(
        yaml.safe_dump(_shuffle_value(yaml.safe_load(text), random.Random(seed)), sort_keys=False)
    ).spec
    assert plain is not None
    assert shuffled == plain
    assert repr(shuffled) == repr(plain)
    assert list(shuffled.assumptions) == list(plain.assumptions)


def test_positions_lead_back_to_the_file() -> None:
    spec = load(SHORT).spec
    assert spec is not None
    assert spec.position("gpus", "hosts") == Position("cluster.yaml", 3, 3)
    assert spec.position("priorities", "rdma", "dscp") == Position("cluster.yaml", 15, 13)
    assert spec.position("gpus", "capacity") == Position("cluster.yaml", 2, 1)
    assert spec.position("planes") == Position("cluster.yaml", 1, 1)


def test_an_accepted_warning_is_a_note_with_the_reason() -> None:
    text = SHORT.replace("host: 9000", "host: 1500")
    (warning,) = load(text).diagnostics
    assert warning.severity is Severity.WARNING
    loaded = load(text + f"accept: [{{code: {warning.code}, reason: old filers in this zone}}]\n")
    assert loaded.spec is not None
    (note,) = loaded.diagnostics
    assert (note.severity, note.help) == (Severity.NOTE, "Accepted: old filers in this zone")


def test_accept_sets_the_severity_of_a_warning() -> None:
    text = SHORT.replace("host: 9000", "host: 1500")
    (warning,) = load(text).diagnostics
    entry = f"accept: [{{code: {warning.code}, severity: error, reason: no filers in this zone}}]\n"
    (error,) = load(text + entry).diagnostics
    assert error.severity is Severity.ERROR
    assert error.help.endswith("The spec states: no filers in this zone")


def test_an_alias_is_the_value_of_its_anchor() -> None:
    text = SHORT.replace("tors:\n", "tors: &switch\n").replace("  oversubscription: 1.0\n", "")
    head, tail = text.split("spines:\n")
    aliased = load(head + "spines: *switch\n" + tail[tail.index("priorities") :]).spec
    assert aliased is not None
    assert aliased.spines.model == "sn5600"
    assert aliased.position("spines", "model") == aliased.position("spines")


def test_a_byte_order_mark_and_crlf_change_nothing() -> None:
    plain = load(SHORT).spec
    assert load(b"\xef\xbb\xbf" + SHORT.replace("\n", "\r\n").encode()).spec == plain


def test_reading_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(SHORT.encode()))
    monkeypatch.setattr("sys.stdin", stream)
    loaded = load_spec(Path("-"))
    assert loaded.spec is not None
    assert loaded.spec.file == "<stdin>"


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(SHORT)
    (missing,) = load_spec(tmp_path / "clutser.yaml").diagnostics
    assert (missing.code, missing.help) == ("FAB0001", f"Name {tmp_path}/cluster.yaml.")
    (folder,) = load_spec(tmp_path).diagnostics
    assert (folder.code, folder.help) == ("FAB0002", missing.help)
    os.mkfifo(tmp_path / "fifo")
    (fifo,) = load_spec(tmp_path / "fifo").diagnostics
    assert fifo.code == "FAB0002"
    (device,) = load_spec(Path("/dev/zero")).diagnostics
    assert device.code == "FAB0002"
    (odd,) = load_spec(Path("a\0b")).diagnostics
    assert odd.code == "FAB0002"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(SHORT)
    path.chmod(0)
    (each,) = load_spec(path).diagnostics
    assert (each.code, each.message) == ("FAB0001", "the file cannot be read: Permission denied")
