"""Sessions with matching digests are not compared, and the findings equal those of a comparison of all sessions."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from fabricc.rules import sessions
from fabricc.rules.session_pairs import SessionTable
from tests.audit.test_rules import find_all_in, make_device

NAMES = range(5)
LEAVES = {
    "remote_asn": (65001, 65002, "internal"), "bfd": ("true", "false"), "families": ("ipv4", "ipv4,evpn"),
    "hold_s": (9, 30),
    "enabled": ("false",), "password": ("[set]",), "ttl_security_hops": (1,), "local_asn": (65001,),
}  # fmt: skip


def make_fabric() -> list[dict[str, str | int]]:
    """The facts of five switches with a link and a session between each two."""
    every: list[dict[str, str | int]] = [
        {"bgp/asn": 65001 + number, "bgp/router_id": f"10.9.9.{number}"} for number in NAMES
    ]
    for at, (one, two) in enumerate(combinations(NAMES, 2)):
        for mine, other, own, its in ((one, two, 2 * at, 2 * at + 1), (two, one, 2 * at + 1, 2 * at)):
            every[mine][f"interface[Ethernet{other}]/ipv4"] = f"10.0.0.{own}/31"
            every[mine][f"bgp/neighbor[10.0.0.{its}]/remote_asn"] = 65001 + other
            every[mine][f"bgp/neighbor[10.0.0.{its}]/families"] = "ipv4"
    return every


def alter_switch(every: list[dict[str, str | int]], chance: random.Random) -> None:
    """Change, add or take away one thing of one switch."""
    facts = chance.choice(every)
    kind = chance.randrange(5)
    sides = [path for path in facts if path.startswith("bgp/neighbor[") and path.endswith("]/remote_asn")]
    side = chance.choice(sides).removesuffix("remote_asn") if sides else "bgp/neighbor[10.0.0.3]/"
    if kind == 0:
        facts["bgp/asn"] = 65001 + chance.randrange(6)
    elif kind == 1:
        for path in [path for path in facts if path.startswith(side)]:
            facts[f"vrf[RED]/{path}" if chance.randrange(2) else f"{path}/gone"] = facts.pop(path)
    elif kind == 2:
        port = f"interface[Ethernet{chance.choice(NAMES)}]/ipv4"
        facts[port] = f"10.0.0.{chance.randrange(22)}/{chance.choice((31, 31, 30, 24))}"
    else:
        leaf = chance.choice(list(LEAVES))
        facts[side + leaf] = chance.choice(LEAVES[leaf])


@pytest.mark.spread
@pytest.mark.parametrize("seed", range(4))
def test_the_findings_are_those_of_all_sessions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, different = random.Random(seed), set()
    for _ in range(12):
        every = make_fabric()
        for _ in range(chance.randrange(5)):
            alter_switch(every, chance)
        devices = [make_device(f"s{number}", facts) for number, facts in enumerate(every)]
        quick = find_all_in(*devices)
        with monkeypatch.context() as patch:
            patch.setattr(sessions, "_session_digest", lambda *_: b"")
            assert find_all_in(*devices) == quick
        different.add(len(quick))
    assert len(different) > 3


def test_sessions_that_agree_are_not_looked_at() -> None:
    meeting = SessionTable({}, {}, {})
    output = sessions.SessionValues(1, 2, "ipv4", None, (3, 9), False, False, True)
    back = output._replace(asn=2, remote=1)
    for name, own, other, outputs in (
        ("a", "10.0.0.0", "10.0.0.1", output),
        ("b", "10.0.0.1", "10.0.0.0", back),
    ):
        key = ("", other)
        accord = sessions._session_digest("", own, other, outputs)
        one = sessions.Sessions(True, {key: outputs}, {key: ""}, (), frozenset((own,)), {key: accord})
        meeting.sessions = {**meeting.sessions, name: one}
    meeting.match_sessions()
    assert not list(meeting.unmatched_peers())
    meeting.sessions["b"].accords.clear()
    meeting.match_sessions()
    assert [peer.device for peer in meeting.unmatched_peers()] == ["a", "b"]
