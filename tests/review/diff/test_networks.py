"""A cluster of several networks is compared network by network, with one report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc import compile_spec
from fabricc.review.diff import wording
from fabricc.review.diff.inputs import open_inputs
from fabricc.review.diff.model import Impact
from fabricc.review.diff.run import compare_sides

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.review.diff.model import Review

SPEC = """\
cluster: zone
gpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 4}
tors: {model: sn5600, nos: sonic}
spines: {model: sn5600, nos: sonic}
networks:
  storage:
    tors: {model: sn4700, nos: sonic}
    spines: {model: sn4700, nos: sonic}
    mtu: {host: 8000}
"""
ALONE = SPEC[: SPEC.index("networks:")]


@pytest.fixture(params=["specs", "trees"])
def compared(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    def run(before: str, after: str) -> Review:
        paths = []
        for name, text in (("before", before), ("after", after)):
            (tmp_path / name).mkdir()
            spec = tmp_path / name / "cluster.yaml"
            spec.write_text(text)
            if request.param == "trees":
                result = compile_spec(spec).write(tmp_path / name / "build", jobs=1, check=False)
                assert result.tree is not None
                spec = result.tree
            paths.append(spec)
        with open_inputs(*paths, None, None) as sides:
            return compare_sides(sides.base, sides.head, sides.context, 1)

    return run


def test_nothing_changes_between_equals(compared) -> None:  # type: ignore[no-untyped-def]
    found = compared(SPEC, SPEC)
    assert found.groups == ()
    assert found.devices == 16 + 1 + 2 + 1 + 8 + 8


def test_change_in_one_network_lists_only_its_devices(compared) -> None:  # type: ignore[no-untyped-def]
    found = compared(SPEC, SPEC.replace("host: 8000", "host: 7000"))
    changed = {name for group in found.groups for name in group.devices}
    assert changed == {f"su00{unit}-host0{host} (storage)" for unit in (1, 2) for host in range(1, 5)}


def test_storage_loss_counts_gpus_and_names_hosts(compared) -> None:  # type: ignore[no-untyped-def]
    before = SPEC + "    priorities: {storage: {dscp: 26, lossless: true}, default: {}}\n"
    found = compared(before, before.replace("lossless: true", "lossless: true, weight_percent: 70"))
    assert found.gpus_affected == 64
    assert set(found.drain_hosts) == {f"su00{unit}-host0{host}" for unit in (1, 2) for host in range(1, 5)}


def test_a_network_that_joins_changes_nothing_of_the_rails_but_how_hosts_apply(compared) -> None:  # type: ignore[no-untyped-def]
    found = compared(ALONE, SPEC)
    assert {kind: len(names) for kind, names in found.added.names.items()} == {
        "tor": 2,
        "spine": 1,
        "host": 8,
    }
    assert found.added.gpus == 0
    assert {group.kind for group in found.groups} <= {"host"}
    assert found.renumbering.addresses == 0


def test_hosts_of_a_network_alone_are_reported_with_it_and_have_no_gpus(compared) -> None:  # type: ignore[no-untyped-def]
    groups = "    groups: [{name: store, model: storage-2x200, hosts: 2, hosts_per_unit: 4}]\n"
    before, after = SPEC + groups, SPEC + groups.replace("hosts: 2,", "hosts: 3, os: rhel-9,")
    found = compared(before, after)
    assert found.added.names["host"] == ("store003 (storage)",)
    changed = {name for group in found.groups for name in group.devices if group.kind == "host"}
    assert changed == {"store001 (storage)", "store002 (storage)"}
    assert found.added.gpus == found.gpus_affected == 0


def test_hosts_and_gpus_of_several_networks_count_once(compared) -> None:  # type: ignore[no-untyped-def]
    fewer = compared(SPEC, SPEC.replace("hosts: 8,", "hosts: 6, capacity: 8,"))
    assert len(fewer.removed.names["host"]) == 2
    assert fewer.removed.gpus == 16
    assert "2 hosts (16 GPUs) leave" in wording.verdict_line(fewer)


def test_no_more_gpus_lose_service_than_there_are(compared) -> None:  # type: ignore[no-untyped-def]
    classes = "    priorities: {storage: {dscp: 26, lossless: true}, default: {}}\n"
    before = SPEC + classes
    after = before.replace("mtu: {host: 8000}", "mtu: {host: 7000}") + "mtu: {host: 4200}\n"
    found = compared(before, after)
    assert found.gpus_affected == found.gpus_total == 64
    assert found.hosts_affected == 8
    assert found.rails_affected == tuple(range(8))
    assert "8 hosts change" in dict(wording.impact_rows(found))["devices"]


@pytest.mark.slow
def test_hosts_that_leave_end_no_session_and_no_traffic_of_others(compared) -> None:  # type: ignore[no-untyped-def]
    found = compared(SPEC, SPEC.replace("hosts: 8,", "hosts: 7,"))
    rows = dict(wording.impact_rows(found))
    assert (rows["worst effect"], rows["BGP sessions that go down"]) == ("hitless", "0")
    assert rows["GPUs that lose service"] == "0 of 56"
    assert {
        (line.statement.subject, line.verdict.impact) for group in found.groups for line in group.lines
    } == {("link[host] left", Impact.HITLESS)}
