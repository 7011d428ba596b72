"""Whatever word or line of a host's files is altered, `check` names that line. Run with `-s` for the figures."""

from __future__ import annotations

import pytest

from fabricc.back import hosts
from tests.back.hosts.variants import NICS, SYSTEMS, VARIANTS
from tests.back.nos.mutation import KINDS, tried

LABEL = "a text for people"
SAME = "the lower two bits of a traffic class, which the NIC sets by itself (`hosts.nics.tos_byte`)"
REASONS = ((r"Description=|echo 'usage: ", LABEL), (r"(NCCL_IB_.*TC|ROCE_TOS)=N \[", SAME))
"""What an alteration without meaning looks like, its digits as N and the altered word in brackets -> why."""
CASES = [
    pytest.param("dual-stack", 60),
    *(pytest.param(name, 500, marks=pytest.mark.slow) for name in ("dual-port", "isolated", *SYSTEMS, *NICS)),
]


@pytest.mark.parametrize(("name", "most"), CASES)
def test_check_names_the_line(name: str, most: int) -> None:
    host = VARIANTS[name]
    files, planned = hosts.render(host), hosts.planned(host)
    for kind, make in KINDS:
        score = tried(hosts.read, planned, files, make, most)
        score.tell(f"{name} {kind}", REASONS)
        assert score.unexplained(REASONS) == {}
        assert score.near["line"] >= 0.99 * score.near.total()
