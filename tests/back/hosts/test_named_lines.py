"""Whatever word or line of a host's files is altered, `check` names that line. Run with `-s` for the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.back import hosts
from tests.back.hosts.variants import NICS, SYSTEMS, VARIANTS
from tests.back.nos.mutation import KINDS, tried
from tests.compiler.test_network_ways_out import spec_text
from tests.compiler.test_networks import compile_text

if TYPE_CHECKING:
    from pathlib import Path

LABEL = "a text for people"
SAME = "the lower two bits of a traffic class, which the NIC sets by itself (`hosts.nics.tos_byte`)"
REASONS = (
    (r"Description=|echo 'usage: |\[device-", LABEL),
    (r"(NCCL_IB_.*TC|ROCE_TOS)=N \[", SAME),
    (r"routing-ruleN=", SAME),
)
"""An alteration without meaning, its digits as N and the altered word in brackets -> the reason."""
CASES = [
    pytest.param("dual-stack", 60),
    *(pytest.param(name, 500, marks=pytest.mark.slow) for name in ("dual-port", "isolated", *SYSTEMS, *NICS)),
]

OUTWARD = (
    spec_text().replace(
        "gpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 4}",
        "gpus: {os: any, groups: [{name: a, model: dgx-h100, hosts: 8, hosts_per_unit: 4}, "
        "{name: s, model: storage-2x400, hosts: 2, hosts_per_unit: 4, class: nvme}]}",
    )
    + "priorities: {rdma: {dscp: 26, lossless: true}, nvme: {dscp: 34, lossless: true}, cnp: {dscp: 48}}\n"
)


@pytest.mark.parametrize(("name", "most"), CASES)
def test_check_names_the_line(name: str, most: int) -> None:
    host = VARIANTS[name]
    files, planned = hosts.render(host), hosts.planned(host)
    for kind, make in KINDS:
        score = tried(hosts.read, planned, files, make, most)
        score.tell(f"{name} {kind}", REASONS)
        assert score.unexplained(REASONS) == {}
        assert score.near["line"] >= 0.99 * score.near.total()


@pytest.mark.spread
@pytest.mark.parametrize("os", ["ubuntu-24.04", "rhel-9"])
@pytest.mark.parametrize("part", ["compute", "frontend"])
def test_check_names_the_line_of_a_storage_host_with_ways_out(part: str, os: str, tmp_path: Path) -> None:
    found = compile_text(tmp_path, OUTWARD.replace("os: any", f"os: {os}")).of_network(part)
    host = next(
        each
        for each in found.hosts()
        if each.name == ("su003-host01" if part == "compute" else "su001-host01")
    )
    assert bool(host.outside4) == (part == "frontend")
    assert bool(host.rdma_class) == (part == "compute")
    files, planned = hosts.render(host), hosts.planned(host)
    for _, make in KINDS:
        score = tried(hosts.read, planned, files, make, 150)
        assert score.unexplained(REASONS) == {}
        assert score.near["line"] >= 0.99 * score.near.total()
