"""The review of typical changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.review.diff.causes import find_causes
from fabricc.review.diff.model import Impact, SpecChange, find_new_faults
from fabricc.review.diff.phrases import theme_phrases
from fabricc.review.diff.wording import drain_steps, review_labels, verdict_line
from tests.review.diff.conftest import compare_specs

if TYPE_CHECKING:
    from fabricc.review.diff.model import Review
    from tests.review.diff.conftest import Bench

RACKS = "superpod-b200-4su", "rack-zone-512"
POD, ZONE = RACKS


def describe_kind(review: Review, kind: str) -> str:
    return "; ".join(p.text for group in review.groups if group.kind == kind for p in theme_phrases(group))


def test_reordering_keys_and_comments_changes_nothing(bench: Bench) -> None:
    base = bench.spec(POD, "base")
    head = bench.spec(POD, "head")
    blocks: list[str] = []
    for line in base.read_text("utf-8").splitlines(keepends=True):
        if line.startswith((" ", "#")) and blocks:
            blocks[-1] += line
        else:
            blocks.append(line)
    head.write_text("# another comment\n" + "".join(reversed(blocks)), "utf-8")
    review = compare_specs(base, head)
    assert not review.differs
    assert review.spec_changes == ()
    assert verdict_line(review) == "no device changes, 0 numbers change"
    assert review_labels(review) == ["fabric:no-change"]


def test_a_default_written_out_has_no_consequence(bench: Bench) -> None:
    review = bench.review(POD, more="mtu: {host: 9000}\n")
    assert not review.differs
    assert [change.path for change in review.spec_changes] == ["mtu.host"]
    assert "1 value of the spec differs without consequence" in verdict_line(review)


def test_a_unit_more_is_hitless_and_one_line_for_all_spines(bench: Bench) -> None:
    base = bench.spec(POD, "base", ("hosts: 128", "hosts: 128\n  capacity: 160"), lock=False)
    head = bench.spec(POD, "head", ("hosts: 128", "hosts: 160\n  capacity: 160"), lock=False)
    review = compare_specs(base, head)
    assert review.risk == "low"
    assert review.renumbering.total == 0
    assert {kind: len(names) for kind, names in review.added.names.items()} == {"tor": 8, "host": 32}
    assert review.added.gpus == 256
    (spines,) = review.groups
    assert (spines.kind, len(spines.devices)) == ("spine", 32)
    links, admitted = describe_kind(review, "spine").split("; ")
    assert links == "256 downlinks new, to su005-tor[1-8]a"
    assert admitted.startswith("control plane[FABRICC ANY], for example spine01a …by Ethernet+ DROP")
    assert spines.causes == ("gpus.hosts",)


def test_a_longer_cable_reprograms_buffers_behind_which_all_gpus_are(bench: Bench) -> None:
    review = bench.review(POD, ("cables:\n", "cables:\n  spine: {medium: smf, length_m: 120}\n"))
    assert [(g.kind, len(g.devices), g.impact) for g in review.groups] == [
        ("tor", 32, Impact.RELOAD),
        ("spine", 16, Impact.RELOAD),
    ]
    assert (review.gpus_affected, review.gpus_per_step, review.hosts_affected) == (1024, 32, 128)
    assert review.rails_affected == tuple(range(8))
    assert review.sessions == 1024
    assert "cable length 40 → 120 m on 1,024 uplinks" in describe_kind(review, "tor")
    assert any("spine01a: {drain: true}" in step for step in drain_steps(review))
    assert {change.path for change in review.spec_changes} == {"cables.spine.medium", "cables.spine.length_m"}


def test_another_code_point_must_reach_every_switch_and_nic_together(bench: Bench) -> None:
    review = bench.review(POD, ("dscp: 26", "dscp: 34"))
    assert {g.kind: len(g.devices) for g in review.groups} == {"tor": 32, "spine": 16, "host": 128}
    assert review.gpus_affected == 1024
    assert "DSCP 26 to class 3 → 0; DSCP 34 to class 0 → 4" in describe_kind(review, "spine")
    assert any("one window with RDMA stopped" in step for step in drain_steps(review))


def test_another_asn_block_counts_every_asn_and_no_address(bench: Bench) -> None:
    review = bench.review(ZONE, ("addressing:", "routing: {asn_base: 4210000000}\naddressing:"))
    assert (review.renumbering.addresses, review.renumbering.asns, review.renumbering.ports) == (0, 40, 0)
    assert [len(group.devices) for group in review.groups] == [32, 8]
    assert review.sessions == 1024
    assert "renumbers" in review_labels(review)


def test_another_host_pool_counts_both_ends_of_every_host_link(bench: Bench) -> None:
    review = bench.review(ZONE, ("{family: dual}", "{family: dual, hosts: 10.192.0.0/11}"))
    assert review.renumbering.addresses == 2 * 512
    assert review.gpus_affected == 512
    assert "rack001-tor1a to rack001-host01 10.0.0.0/31 → 10.192.0.0/31" in describe_kind(review, "tor")


def test_draining_a_switch_is_hitless(bench: Bench) -> None:
    review = bench.review(ZONE, more="overrides: {spine03a: {drain: true}}\n")
    (group,) = review.groups
    assert (group.devices, group.impact, review.gpus_affected) == (("spine03a",), Impact.HITLESS, 0)
    assert "drains" in describe_kind(review, "spine")
    assert review.risk == "low"


def test_one_port_shut_is_one_gpu(bench: Bench) -> None:
    review = bench.review(ZONE, more="overrides: {rack003-tor1a: {ports: {Ethernet0: {shutdown: true}}}}\n")
    (group,) = review.groups
    assert (review.gpus_affected, review.hosts_affected, review.rails_affected) == (1, 1, (0,))
    assert group.ports_only
    assert review.drain_hosts == ("rack003-host01",)


def test_a_port_that_comes_back_costs_nothing(bench: Bench) -> None:
    shut = "overrides: {rack003-tor1a: {ports: {Ethernet0: {shutdown: true}}}}\n"
    review = compare_specs(bench.spec(ZONE, "base", more=shut), bench.spec(ZONE, "head"))
    assert (review.risk, review.gpus_affected) == ("low", 0)


def test_an_up_link_shut_ends_a_session_of_each_family_and_no_rail(bench: Bench) -> None:
    base = bench.spec(ZONE, "base")
    from tests.review.diff.ports import first_uplink

    port = first_uplink(base, "rack003-tor1a")
    head = bench.spec(
        ZONE, "head", more=f"overrides: {{rack003-tor1a: {{ports: {{{port}: {{shutdown: true}}}}}}}}\n"
    )
    review = compare_specs(base, head)
    assert (review.gpus_affected, review.sessions) == (0, 2)


def test_an_upgrade_restarts_switches_and_renumbers_nothing(bench: Bench) -> None:
    review = bench.review(ZONE, ("sonic-202411", "sonic-202505"))
    (group,) = review.groups
    assert (group.impact, len(group.devices), review.renumbering.total) == (Impact.RELOAD, 32, 0)
    assert "software sonic 202411 → sonic 202505" in describe_kind(review, "tor")
    assert not review.findings, "gaps that both releases have are not new"


@pytest.mark.slow
def test_another_system_on_the_same_box_moves_no_cable(bench: Bench) -> None:
    """Its ports get other names, and stay where they are."""
    review = bench.review("superpod-b200-4su", more="overrides: {spine01a: {nos: cumulus-5.11}}\n")
    assert {(g.kind, g.impact) for g in review.groups} == {("spine", Impact.RELOAD), ("tor", Impact.NONE)}
    assert review.renumbering.total == 0
    assert "software sonic 202505 → cumulus 5.11" in describe_kind(review, "spine")
    assert "another port" not in describe_kind(review, "spine")


def test_another_spine_model_moves_cables_and_reloads_tors_whose_marking_changes(bench: Bench) -> None:
    review = bench.review(
        ZONE, ("7060dx5-64s", "7060x6-64pe"), ("nos: sonic-202411,", "nos: sonic-202411, uplink_gbps: 400,")
    )
    assert {g.kind: g.impact for g in review.groups} == {"spine": Impact.RELOAD, "tor": Impact.RELOAD}
    assert review.renumbering.ports == 504
    assert review.renumbering.addresses == 0
    assert next(g for g in review.groups if g.kind == "spine").causes[0] == "spines.model"


def named_racks(bench: Bench, side: str, *, without: int = 0) -> tuple[str, str]:
    racks = "".join(f"    r{i:02d}: [gpu{i:02d}a, gpu{i:02d}b]\n" for i in range(1, 33) if i != without)
    return "  racks: 32\n", f"  racks:\n{racks}"


def test_removed_rack_renumbers_no_other_device(bench: Bench) -> None:
    from fabricc.compiler.compiled import compile_spec

    base = bench.spec(ZONE, "base", named_racks(bench, "base"), lock=False)
    front = compile_spec(base)
    head = bench.spec(ZONE, "head", named_racks(bench, "head", without=7), lock=False)
    for spec in (base, head):
        (spec.parent / "fabricc.lock").write_text(front.lock_text, "utf-8")
    review = compare_specs(base, head)
    assert dict(review.removed.names) == {"tor": ("r07-tor1a",), "host": ("gpu07a", "gpu07b")}
    assert (review.removed.gpus, review.renumbering.total, review.risk) == (16, 0, "high")
    assert [(g.kind, len(g.devices)) for g in review.groups] == [("spine", 8)]
    assert describe_kind(review, "spine") == "16 downlinks gone, to r07-tor1a"
    assert review.lock == ()


def test_overrides_alone_are_found_without_looking_at_the_rest(bench: Bench) -> None:
    base = bench.spec(ZONE, "base")
    head = bench.spec(ZONE, "head", more="overrides: {rack003-tor1a: {drain: true}}\n")
    with_suspects = compare_specs(base, head)
    from fabricc.review.diff.inputs import open_inputs
    from fabricc.review.diff.run import compare_device

    with open_inputs(base, head, None, None) as sides:
        suspects = sides.head.possible_changes(sides.base)
        assert suspects is not None
        assert len(suspects) < 20
        found = [n for n in sides.head.kinds if compare_device(sides.base, sides.head, n) is not None]
    assert found == ["rack003-tor1a"] == list(with_suspects.groups[0].devices)


def test_rules_of_access_lists_are_reported_by_their_numbers(bench: Bench) -> None:
    """Their numbers are not a device's own, as the prefixes of a host's routes are."""
    edit = ("\nmanagement:", "\nmanagement:\n  access: [172.16.8.0/24]")
    cumulus = ("nos: sonic-202505", "nos: cumulus-5.11")
    review = compare_specs(
        bench.spec(POD, "base", cumulus, edit),
        bench.spec(POD, "head", cumulus, (edit[0], edit[1].replace("]", ", 172.16.9.0/24]"))),
    )
    subjects = {line.statement.subject for group in review.groups for line in group.lines}
    assert "acl[FABRICC-ACCESS]/rule[40]/tcp[443]" in subjects
    assert "addresses" not in {phrase.theme for group in review.groups for phrase in theme_phrases(group)}


@pytest.mark.parametrize(
    ("subject", "section", "follows"),
    [
        ("interface[up]/headroom/xoff_bytes", "cables", True),
        ("interface[up]/mtu", "mtu", True),
        ("qos/dscp[26]/traffic_class", "priorities", True),
        ("interface[up]/queue[3]/ecn_min_bytes", "congestion", True),
        ("session[up]/remote", "addressing", True),
        ("session[up]/bfd", "routing", True),
        ("management/rule[1000]", "addressing", False),
        ("acl[FABRICC-ACCESS]/rule[10]/source", "addressing", False),
        ("interface[up]/routed", "addressing", False),
    ],
)
def test_a_change_is_traced_to_the_sections_that_its_facts_follow_from(
    subject: str, section: str, follows: bool
) -> None:
    """And not to one with a similar name as a part of its path; without a rule, every change is named."""
    changes = [SpecChange(f"{section}.x", "1", "2", None), SpecChange("cluster", "a", "b", None)]
    found = find_causes("tor", "cumulus", frozenset({"su001-tor1a"}), frozenset({subject}), changes)
    assert found == ((f"{section}.x",) if follows else (f"{section}.x", "cluster"))


def test_a_fault_of_another_queue_is_not_new() -> None:
    """A second queue with the fault is."""
    three, four, port = (
        Diagnostic("FAB9606", Severity.WARNING, message)
        for message in ("tor1: no ECN on queue 3", "tor1: no ECN on queue 4", "tor2: no ECN on queue 3")
    )
    assert find_new_faults([four], [three]) == []
    assert find_new_faults([four, port], [three]) == [port]
    assert find_new_faults([three, four], [three]) == [four]
