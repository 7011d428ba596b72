from __future__ import annotations

import pytest

from fabricc.fabric.facts import Reading, Unplanned
from fabricc.review.diff.compare import shorten_values
from fabricc.review.diff.fact_impact import DeviceStates, change_direction, is_access, judge_statement, row_of
from fabricc.review.diff.model import Impact
from fabricc.review.diff.run import differ_in_text, file_diffs
from fabricc.review.diff.unread import HARMLESS, text_changes, unread_lines

TEXT = "".join(f"line {i}\n" for i in range(1, 200))


def test_an_example_of_long_values_shows_where_they_differ() -> None:
    same = "10.64.0.0/29 ACCEPT, " * 8
    assert shorten_values(same + "a", same + "b, c") == "…a → …b, c"
    assert shorten_values("x" * 90, "x" * 90 + "y") == f"…{'x' * 30} → …{'x' * 30}y"
    assert shorten_values(f"a {'x' * 90}1", f"a {'x' * 90}2") == f"…{'x' * 30}1 → …{'x' * 30}2"
    assert shorten_values("a" * 70, 2) == f"{'a' * 60}… → 2"


def test_line_numbers_are_those_of_the_whole_file() -> None:
    (diff,) = file_diffs({"f": TEXT}, {"f": TEXT.replace("line 150\n", "line x\n")})
    assert diff.text.splitlines()[0] == "@@ -148,5 +148,5 @@"
    assert diff.text.splitlines()[3:5] == ["-line 150", "+line x"]


def test_comments_and_blank_lines_are_no_difference() -> None:
    assert file_diffs({"f": "! made today\na\n"}, {"f": "! made yesterday\n\na\n"}) == ()


def test_order_is_a_difference_in_a_diff_and_none_where_facts_agree() -> None:
    before, after = {"f": "a\nb\n"}, {"f": "b\na\n"}
    assert len(file_diffs(before, after)) == 1
    assert not differ_in_text(before, after)
    assert differ_in_text(before, {"f": "a\nc\n"})
    assert differ_in_text(before, {"g": "a\nb\n"})


def test_new_and_gone_files_are_shown_whole() -> None:
    diffs = file_diffs({"old": "a\n"}, {"new": "b\n"})
    assert [(d.path, d.added, d.removed) for d in diffs] == [("new", 1, 0), ("old", 0, 1)]


def test_half_a_character_in_a_line_is_compared_as_any_other() -> None:
    many = [f"TABLE|row field{i}: x" for i in range(20)]
    texts = {
        text_changes("sonic", [], [*many, f"TABLE|row odd: {odd}"])[0].after for odd in ("\ud800", "\ud801")
    }
    assert len(texts) == 2


def test_the_order_of_lines_counts_within_a_block_and_not_between_keys_of_json() -> None:
    lines = ["ip access-list A / permit x", "ip access-list A / deny y", "aaa policy lockout 5", "ssh idle 9"]
    first, second, *rest = lines
    assert text_changes("eos", lines, [*reversed(rest), first, second]) == []
    assert text_changes("eos", lines, [second, first, *rest])
    assert text_changes("eos", ["no aaa x", "aaa y"], ["aaa y", "no aaa x"])
    tables = [(("config_db.json", at, f"A|b {key}: 1")) for at, key in ((1, "x"), (2, "y"))]
    assert unread_lines("sonic", {}, Reading(unknown=tables), ignored=False) == unread_lines(
        "sonic", {}, Reading(unknown=tables[::-1]), ignored=False
    )


def test_a_line_that_states_a_fact_of_its_own_is_no_unknown_line() -> None:
    reading = Reading(unknown=[Unplanned("startup.yaml", line, "x") for line in (1, 2, 3)])
    reading.put("bgp/neighbor[10.0.0.1]/enabled", "false", "startup.yaml", 1)
    reading.put("bgp/setting[x]", "true", "startup.yaml", 2)
    assert unread_lines("cumulus", {}, reading, ignored=False) == ("x", "x")


LINES = {
    "eos": {
        "alias shb show ip bgp summary": True, "management console / idle-timeout 30": True,
        "management console / idle-timeout 0": False,
        "alias show show version": False, "alias shx show version | bash reload": False, "alias r reload": False,
    },
    "nxos": {
        "cli alias name shb show ip bgp summary": True, "line console / exec-timeout 10": True,
        "line console / exec-timeout 0": False,
        "cli alias name configure show version": False, "line console / speed 9600": False,
    },
    "junos": {
        "system ports console log-out-on-disconnect": True, "system login idle-timeout 30": True,
        "system login idle-timeout 0": False,
        "system ports console disable": False, "system ports console insecure": False,
    },
    "sonic": {
        "SERIAL_CONSOLE|POLICIES inactivity_timeout: 15": True,
        "SERIAL_CONSOLE|POLICIES inactivity_timeout: 0": False,
        "SERIAL_CONSOLE|POLICIES sysrq_capabilities: enabled": False, "line vty / exec-timeout 0 0": False,
    },
    "cumulus": {
        "- set: / service: / snmp-server: / system-location: hall-3": True,
        "- set: / service: / snmp-server: / enable: 'on'": False,
    },
    "frr": {
        "router bgp 4200524288 / bgp log-neighbor-changes": True, "line vty / exec-timeout 10 0": True,
        "line vty / exec-timeout 0 30": True, "line vty / exec-timeout 0 0": False,
        "line vty / access-class X": False, "service advanced-vty": False,
    },
}  # fmt: skip


@pytest.mark.parametrize("nos", LINES)
def test_lines_without_an_effect_and_unknown_ones_are_distinguished(nos: str) -> None:
    found = {line: text_changes(nos, [], [line])[0].subject == HARMLESS for line in LINES[nos]}
    assert found == LINES[nos]


LIMITS = {
    "eos": "qos/setting[policy-map copp-system-policy class copp-system-arp shape]",
    "nxos": "platform/setting[rate-limiter bfd 10]",
    "junos": "platform/setting[ddos-protection protocols bfd aggregate bandwidth]",
    "cumulus": "platform/setting[policer arp rate]",
}


@pytest.mark.parametrize("nos", LIMITS)
def test_a_limit_before_the_cpu_is_weaker_unless_it_is_raised(nos: str) -> None:
    def direct(before: str | None, after: str | None) -> str:
        return change_direction(LIMITS[nos], before, after, DeviceStates({}, {}), row_of(LIMITS[nos], nos))

    assert judge_statement(LIMITS[nos], "less", nos).impact is Impact.NONE
    assert direct(None, "pps 10") == direct("pps 20", "pps 10") == direct("pps 20", "kbps 30") == "less"
    assert direct("pps 20", "pps 30") == "~"
    assert direct("pps 20", None) == "-"


def test_the_way_to_operators_is_access() -> None:
    assert is_access("management/gateway", "eos")


def test_the_sessions_end_with_their_daemon() -> None:
    verdict = judge_statement("daemon[bgpd]", "", "frr")
    assert (verdict.impact, verdict.down) == (Impact.TRAFFIC_LOSS, True)


@pytest.mark.parametrize("setting", ["family inet unicast no-install", "weight", "passive"])
def test_a_setting_of_a_session_without_a_rule_is_the_worst(setting: str) -> None:
    verdict = judge_statement(f"bgp/neighbor[*]/setting[{setting}]", "+", "junos")
    assert (verdict.impact, verdict.down) == (Impact.TRAFFIC_LOSS, True)
