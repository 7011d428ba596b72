"""A secret that a spec has where the name of a secret belongs is not repeated in messages or quoted lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.formats import render_text
from fabricc.front.spec.load import load_spec

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """cluster: zone
gpus: {{model: dgx-h100, hosts: 8, hosts_per_unit: 4}}
tors: {{model: 7060x6-64pe, nos: eos}}
priorities: {{default: {{}}}}
management:
  {line}
"""


@pytest.mark.parametrize(
    "line",
    [
        "tacacs: {servers: [172.16.0.4], key: PLANTED01}",
        "radius: {servers: [172.16.0.4], key: PLANTED01}",
        "snmp: {community: PLANTED01}",
        "snmp: {community: {secret: PLANTED01}}",
        "snmp: {users: [{name: monitor, auth: PLANTED01, privacy: 'PLANTED02'}]}",
        "ntp_authentication: {key_id: 4, key: PLANTED01}",
        "users: [{name: ops, ssh_key: x, password: PLANTED01}]",
        "tacacs:\n    servers: [172.16.0.4]\n    key: PLANTED01",
    ],
)
def test_a_secret_in_a_spec_is_not_repeated(line: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    text = SPEC.format(line=line)
    path.write_text(text)
    found = load_spec(path).diagnostics
    assert [each.code for each in found if each.severity is Severity.ERROR]
    shown = str(render_text(found, {str(path): text}))
    reported = "".join(f"{each.message} {each.help}" for each in found)
    assert "PLANTED" not in reported
    if "{secret:" not in line:  # the line with the name of a secret is shown
        assert "PLANTED" not in shown
