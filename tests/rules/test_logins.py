"""Lines that open a switch are reported in every spelling, also where no row reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.service_defaults import unsafe_line
from fabricc.interface import audit_folder
from fabricc.rules.access import UNSAFE

if TYPE_CHECKING:
    from pathlib import Path

UNSAFE_LINES = {
    "snmp-server community private rw": "SNMP community",
    "snmp-server community public view ALL ro LIST": "SNMP community",
    "snmp community private authorization read-write": "SNMP community",
    "snmp-server community public group network-admin": "SNMP community",
    "protocol http": "HTTP",
    "nxapi http port 80": "HTTP",
    "system services web-management http": "HTTP",
    "system services ftp": "FTP",
    "username admin privilege 15 role network-admin secret 0 admin": "password",
    "username eve password 0 eve role network-admin": "password",
    "username arista privilege 15 secret arista": "password",
    "snmp community <hidden> authorization read-write": "SNMP community",
    "snmp-server community 5ecret rw": "SNMP community",
    "snmp client-list ALL 0.0.0.0/0": "SNMP clients",
    "system root-authentication plain-text-password-value <hidden>": "password",
    "system services extension-service request-response grpc skip-authentication": "gRPC",
}
SAFE_LINES = (
    "snmp-server community 5ecret ro", "no snmp-server community public ro", "protocol https", "no protocol http",
    "nxapi https port 443", "system services web-management https", "system services ssh",
    "username admin privilege 15 secret sha512 $6$abc", "username eve secret 0 aZ93kLmq", "no feature ftp-server",
    "protocol http localhost port 8080",
)  # fmt: skip


@pytest.mark.parametrize("text", UNSAFE_LINES)
def test_a_line_that_opens_a_switch_has_its_kind(text: str) -> None:
    found = unsafe_line(f"  {text}")
    assert found is not None
    assert found.kind == UNSAFE_LINES[text]


@pytest.mark.parametrize("text", SAFE_LINES)
def test_a_line_that_opens_nothing_has_none(text: str) -> None:
    assert unsafe_line(text) is None


def test_it_is_reported_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "lf1.cfg").write_text("hostname lf1\nip routing\nsnmp-server community private rw\n")
    (found,) = [each for each in audit_folder(tmp_path, jobs=1).diagnostics if each.code == UNSAFE]
    assert found.position is not None
    assert found.position.line == 3
