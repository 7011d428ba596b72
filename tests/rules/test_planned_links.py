"""Both ends of a link must have the same settings, whatever the plan contains."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back import nos as back_ends
from fabricc.fabric.facts import Reading
from fabricc.fabric.model import Direction, Peer
from fabricc.fabric.shape import TierName
from fabricc.proof.invariants.view import make_view
from fabricc.rules.planned import common_summary, planned_statement
from fabricc.rules.planned_links import (
    LinkComparison,
    LinkEnd,
    broken_findings,
    differing_names,
    host_end,
    host_values,
    locate_end,
    switch_ends,
)
from fabricc.rules.sessions import sessions_of
from fabricc.rules.summary import summarize
from tests.proof.fabrics import make_fabric

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch
    from fabricc.rules.records import Summary

BASE = {"mtu": 9100, "speed_gbps": 400, "pfc": "3"}
VALUES = {
    "MTU": "mtu", "speed": "speed_gbps", "PFC priorities": "pfc", "addresses": "addresses", "BGP session": "session",
}  # fmt: skip
"""Words of messages -> the value of an end."""


@cache
def any_switch() -> Switch:
    return make_fabric().switch(next(iter(make_fabric().switch_ids())))


def switch_end(
    name: str, port: str, peer: tuple[str, str], reading: Reading, to_host: bool, families: tuple[str, ...]
) -> LinkEnd:
    """Return the end of a link at a switch with that one port; all its file content is given."""
    one = any_switch()
    direction = Direction.HOST if to_host else Direction.UP
    cabled = replace(one.ports[0], name=port, peer=Peer(*peer), direction=direction)
    bgp = replace(one.bgp, ipv4="ipv4" in families, ipv6="ipv6" in families)
    (end,) = switch_ends(make_view(replace(one, name=name, ports=(cabled,), bgp=bgp), reading))
    return end


def make_end(
    name: str, port: str, peer: tuple[str, str], asn: int, remote: tuple[str, int], **facts: Any
) -> LinkEnd:
    reading = Reading()
    for line, (key, value) in enumerate({**BASE, **facts}.items(), 1):
        reading.put(f"interface[{port}]/{key}", value, "frr.conf", line)
    reading.put("bgp/asn", asn, "frr.conf", 20)
    reading.put("qos/dscp[0]/traffic_class", 0, "frr.conf", 21)
    reading.put(f"bgp/neighbor[{remote[0]}]/remote_asn", remote[1], "frr.conf", 22)
    return locate_end(switch_end(name, port, peer, reading, False, ("ipv4",)), reading)


def tor_end(**facts: Any) -> LinkEnd:
    asn, remote_asn = facts.pop("asn", 65001), facts.pop("remote_asn", 65000)
    return make_end(
        "tor1", "p9", ("spine1", "p1"), asn, ("10.64.0.0", remote_asn), **{"ipv4": "10.64.0.1/31", **facts}
    )


def spine_end(**facts: Any) -> LinkEnd:
    return make_end(
        "spine1", "p1", ("tor1", "p9"), 65000, ("10.64.0.1", 65001), **{"ipv4": "10.64.0.0/31", **facts}
    )


def compare_meeting(*ends: LinkEnd) -> LinkComparison:
    meeting = LinkComparison()
    for end in ends:
        meeting.add([end])
    return meeting


def broken_ends(*ends: LinkEnd) -> list[list[str]]:
    return [differing_names(*pair) for pair in compare_meeting(*ends).broken]


def test_equal_ends_agree() -> None:
    meeting = compare_meeting(tor_end(), spine_end())
    assert (meeting.links, meeting.broken, meeting.waiting) == (1, [], {})


@pytest.mark.parametrize(
    ("field", "facts"),
    [
        ("MTU", {"mtu": 1500}),
        ("speed", {"speed_gbps": 200}),
        ("PFC priorities", {"pfc": "4"}),
        ("addresses", {"ipv4": "10.64.0.3/31"}),
        ("addresses", {"ipv4": "10.64.0.1/30"}),
        ("BGP session", {"remote_asn": 64999}),
        ("BGP session", {"asn": 64999}),
    ],
)
def test_each_disagreement_is_found_and_reported_with_both_values(field: str, facts: dict[str, Any]) -> None:
    ends = [tor_end(**facts), spine_end()]
    reported = list(broken_findings(compare_meeting(*ends).wrong_ends(9)))
    mine = next(f for f in reported if f" on {field}" in f.message)
    assert mine.code == ("FAB6213" if field == "PFC priorities" else "FAB6101")
    assert all(str(end.value(VALUES[field])) in mine.message for end in ends)
    assert mine.line > 0


SESSION = {"families": "ipv4", "bfd": "true"}
TIMERS = {"keepalive_s": 3, "hold_s": 9}


def session_end(name: str, routed: tuple[str, ...], *, bfd: tuple[int, int], **output: str | int) -> LinkEnd:
    """One end of an unnumbered link whose session is stated in full."""
    peer, asn, remote = ("spine1", 65001, 65000) if name == "tor1" else ("tor1", 65000, 65001)
    reading = Reading()
    for key, value in {**BASE, "unnumbered": "true"}.items():
        reading.put(f"interface[p1]/{key}", value, "frr.conf", 1)
    for key, value in {**SESSION, "remote_asn": remote, **output}.items():
        reading.put(f"bgp/neighbor[p1]/{key}", value, "frr.conf", 2)
    for key, value in {"asn": asn, **TIMERS}.items():
        reading.put(f"bgp/{key}", value, "frr.conf", 3)
    reading.put("bfd/interval_ms", bfd[0], "frr.conf", 4)
    reading.put("bfd/multiplier", bfd[1], "frr.conf", 5)
    return switch_end(name, "p1", (peer, "p1"), reading, False, routed)


def test_the_number_of_a_single_session_counts_in_place_of_the_switch_s() -> None:
    near = session_end("tor1", ("ipv4",), bfd=(300, 3), local_asn=65010)
    (found,) = broken_ends(near, session_end("spine1", ("ipv4",), bfd=(300, 3)))
    assert "session" in found


@pytest.mark.parametrize(
    ("routed", "one", "two", "agree"),
    [
        (("ipv4",), "ipv4,ipv6", "ipv4", True),
        (("ipv6",), "ipv4,ipv6", "ipv6", True),
        (("ipv4", "ipv6"), "ipv4,ipv6", "ipv4,ipv6", True),
        (("ipv4", "ipv6"), "ipv4,ipv6", "ipv4", False),
        (("ipv4",), "ipv6", "ipv4", False),
    ],
)
def test_a_session_carries_the_routed_families_that_both_ends_offer(
    routed: tuple[str, ...], one: str, two: str, agree: bool
) -> None:
    ends = [
        session_end(name, routed, bfd=(300, 3), families=offered)
        for name, offered in (("tor1", one), ("spine1", two))
    ]
    assert broken_ends(*ends) == ([] if agree else [["settings"]])


@pytest.mark.parametrize(("bfd", "agree"), [((1000, 3), True), ((300, 5), False)])
def test_ends_may_differ_in_bfd_s_interval_and_not_in_its_multiplier(
    bfd: tuple[int, int], agree: bool
) -> None:
    ends = [session_end("tor1", ("ipv4",), bfd=(300, 3)), session_end("spine1", ("ipv4",), bfd=bfd)]
    assert broken_ends(*ends) == ([] if agree else [["bfd"]])
    assert all(finding.code == "FAB6208" for finding in broken_findings(ends))


def test_an_end_without_another_is_found() -> None:
    lonely = tor_end()
    meeting = compare_meeting(lonely)
    assert meeting.wrong_ends(9) == [lonely]
    (finding,) = broken_findings([lonely])
    assert finding.code == "FAB6102"
    assert "tor1 p9 leads to spine1 p1" in finding.message


@pytest.mark.parametrize(("mtu", "right"), [(9000, True), (9100, True), (9101, False)])
@pytest.mark.parametrize("host_first", [True, False])
def test_a_host_may_send_less_than_its_switch_takes_never_more(
    mtu: int, right: bool, host_first: bool
) -> None:
    reading = Reading()
    for key, value in {**BASE, "ipv4": "10.0.0.0/31"}.items():
        reading.put(f"interface[p1]/{key}", value, "frr.conf", 1)
    reading.put("qos/dscp[0]/traffic_class", 0, "frr.conf", 2)
    at_switch = switch_end("tor1", "p1", ("host1", "rail0"), reading, True, ("ipv4",))
    at_host = host_end(
        "host1", "rail0", ("tor1", "p1"), [("10.0.0.1/31", "10.0.0.0")], (), host_values(mtu, "3")
    )
    meeting = compare_meeting(*((at_host, at_switch) if host_first else (at_switch, at_host)))
    assert (not meeting.broken) == right


def test_a_host_with_another_gateway_disagrees() -> None:
    reading = Reading()
    reading.put("interface[p1]/ipv4", "10.0.0.0/31", "frr.conf", 1)
    at_switch = switch_end("tor1", "p1", ("host1", "rail0"), reading, True, ("ipv4",))
    at_host = host_end(
        "host1", "rail0", ("tor1", "p1"), [("10.0.0.1/31", "10.0.0.2")], (), host_values(0, None)
    )
    assert broken_ends(at_switch, at_host) == [["addresses"]]


def test_unstated_values_are_no_mismatch() -> None:
    silent = spine_end()
    silent = silent._replace(values=silent.values._replace(pfc=None, speed_gbps=None, mtu=None))
    assert broken_ends(tor_end(), silent) == []


def test_ipv6_and_unnumbered_links_agree() -> None:
    six = compare_meeting(
        make_end("a", "p", ("b", "q"), 1, ("fd00::", 2), ipv6="fd00::1/127"),
        make_end("b", "q", ("a", "p"), 2, ("fd00::1", 1), ipv6="fd00::/127"),
    )
    bare = compare_meeting(
        make_end("a", "p", ("b", "q"), 1, ("p", 2), unnumbered="true"),
        make_end("b", "q", ("a", "p"), 2, ("q", 1), unnumbered="true"),
    )
    assert (six.links, six.broken, bare.links, bare.broken) == (1, [], 1, [])


@given(st.permutations([(n, end) for n in range(6) for end in (0, 1)]))
def test_the_order_in_which_ends_come_does_not_matter(order: list[tuple[int, int]]) -> None:
    def end(number: int, side: int) -> LinkEnd:
        made = spine_end() if side else tor_end(remote_asn=1 if number == 3 else 65000)
        mine, other = (f"p{number}", f"q{number}")[side], (f"q{number}", f"p{number}")[side]
        return made._replace(port=mine, peer_port=other)

    meeting = compare_meeting(*(end(number, side) for number, side in order))
    assert (meeting.links, len(meeting.broken), meeting.waiting) == (6, 1, {})


def bfd(end: str, runs: bool, multiplier: int = 3) -> LinkEnd:
    name, port, peer, near, far = (
        ("tor1", "p9", ("spine1", "p1"), "10.64.0.1", "10.64.0.0")
        if end == "tor"
        else ("spine1", "p1", ("tor1", "p9"), "10.64.0.0", "10.64.0.1")
    )
    reading = Reading()
    reading.put(f"interface[{port}]/ipv4", f"{near}/31", "frr.conf", 1)
    prefix = f"bgp/neighbor[{far}]/"
    for path, value in ((prefix + "remote_asn", 65001), (prefix + "bfd", "true" if runs else "false")):
        reading.put(path, value, "frr.conf", 2)
    reading.put("bgp/asn", 65001, "frr.conf", 3)
    if runs:
        reading.put("bfd/interval_ms", 300, "frr.conf", 4)
        reading.put("bfd/multiplier", multiplier, "frr.conf", 4)
    return switch_end(name, port, peer, reading, False, ("ipv4",))


def list_messages(*ends: LinkEnd) -> list[str]:
    return [finding.message for finding in broken_findings(compare_meeting(*ends).wrong_ends(9))]


def test_an_end_whose_system_runs_no_bfd_does_not_disagree() -> None:
    """Its session comes up without BFD; the back end reports the gap."""
    assert list_messages(bfd("tor", runs=False), bfd("spine", runs=True)) == []
    assert list_messages(bfd("tor", runs=True), bfd("spine", runs=True)) == []


def test_ends_that_both_run_bfd_have_the_same_multiplier() -> None:
    (message,) = list_messages(bfd("tor", runs=True), bfd("spine", runs=True, multiplier=5))
    assert "disagree on BFD" in message
    assert "x 3" in message
    assert "x 5" in message


def test_a_switch_like_another_has_a_summary_with_its_own_addresses() -> None:
    """Files of the like are not read, so their coordinates come from the plan."""
    fabric = make_fabric()
    first, *others = [fabric.switch(each) for each in fabric.switch_ids() if each.tier is TierName.TOR][:3]
    of_first, *expected = [summary_of(each) for each in (first, *others)]
    for switch, own in zip(others, expected, strict=True):
        found = common_summary(of_first, first, switch)
        assert found.loopbacks == own.loopbacks != of_first.loopbacks
        assert (found.asn, found.router_id, found.vtep) == (own.asn, own.router_id, own.vtep)


def summary_of(switch: Switch) -> Summary:
    """Return the summary of what a plan states of a switch."""
    statement = planned_statement(switch, Reading(back_ends.load(switch.nos).planned(switch)), {})
    return summarize(statement, sessions_of(statement))
