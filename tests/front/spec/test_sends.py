"""Sender settings of a class, and lists whose items must differ: rejected with a place, never a crash."""

from __future__ import annotations

import pytest

from fabricc.front.spec.load import read_spec

SPEC = """\
cluster: zone
gpus: {{model: dgx-h100, hosts: 8, hosts_per_unit: 4}}
tors: {{model: sn5600, nos: sonic}}
spines: {{model: sn5600, nos: sonic}}
priorities: {{rdma: {{dscp: [26, 34], lossless: true, sends: {sends}}}, cnp: {{dscp: 48, strict: true}}}}
{more}
"""


def list_findings(sends: str, more: str = "") -> list[tuple[str, int, str]]:
    read = read_spec(SPEC.format(sends=sends, more=more).encode(), "cluster.yaml")
    return [(d.code, d.position.line if d.position else 0, d.message) for d in read.diagnostics]


@pytest.mark.parametrize("sends", ["true", "x", "[26]", "{}"])
def test_senders_use_a_code_point_or_none(sends: str) -> None:
    ((code, line, message),) = list_findings(sends)
    assert (code, line) == ("FAB1003", 5)
    assert message.startswith("priorities.rdma.sends must be a code point (0 to 63) or false, not ")


def test_senders_use_a_code_point_of_their_class() -> None:
    assert list_findings("40") == [
        ("FAB2170", 5, "'rdma' sends with code point 40, which is none of the class")
    ]
    assert list_findings("34") == list_findings("false") == []


def test_a_group_stands_once_in_a_segment() -> None:
    segment = "{vlan: 110, subnet: 10.64.0.0/20, groups: [gpus, gpus]}"
    ((code, line, message),) = list_findings("26", f"evpn: {{segments: {{a: {segment}}}}}")
    assert (code, line, message) == ("FAB1007", 6, "evpn.segments.a.groups has an item twice")
