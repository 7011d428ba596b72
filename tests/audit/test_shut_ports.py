"""A port of FRR that is shut while its far end is not is reported with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc import audit_folder

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
frr version 8.4
hostname {name}
interface swp1
 ip address 10.0.0.{own}/31
{more}exit
interface swp2
 ip address 10.0.0.{other}/31
exit
router bgp {asn}
 neighbor 10.0.0.{far} remote-as {peer}
 neighbor 10.0.0.{beyond} remote-as {peer}
end
"""


@pytest.mark.parametrize("shut", [True, False])
def test_a_port_that_is_shut_at_one_end_is_reported(shut: bool, tmp_path: Path) -> None:
    ends = {
        "a": TEXT.format(
            name="a", own=0, other=2, asn=65001, far=1, beyond=3, peer=65002, more=" shutdown\n" * shut
        ),
        "b": TEXT.format(name="b", own=1, other=3, asn=65002, far=0, beyond=2, peer=65001, more=""),
    }
    for name, text in ends.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "frr.conf").write_text(text)
    found = [one for one in audit_folder(tmp_path).findings if one.code == "FAB9600"]
    assert [one.message.partition(",")[0] for one in found] == (["a swp1 is shut"] if shut else [])
    assert [one.line for one in found] == ([5] if shut else [])
