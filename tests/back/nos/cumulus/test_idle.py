"""Statements of NVUE that others make ineffective, and their correct forms."""

from __future__ import annotations

import pytest

from fabricc.back.nos.cumulus import CUMULUS

_GUARD = (
    "system control-plane acl acl-default-whitelist inbound", "system control-plane acl OWN inbound",
    "acl OWN rule 10 action permit", "acl OWN rule 10 match ip tcp dest-port 22",
)  # fmt: skip
_KEY = ("system aaa user netops ssh authorized-key a key AAAA",)
_SESSION = "vrf default router bgp neighbor swp1 address-family l2vpn-evpn enable on"
_FAMILY = "vrf default router bgp address-family l2vpn-evpn enable on"
_TUNNELS = ("nve vxlan source address 10.0.0.1", _SESSION)
_ON = ("router bgp enable on", "vrf default router bgp enable on")
_LOOPBACK = (*_ON, "interface lo ip address 10.0.0.1/32", "router bgp router-id 10.0.0.1")
_MAP = ("interface swp1 router pbr map AWAY", "router pbr map AWAY rule 10 action nexthop-group HOPS")
_GROUP = "vrf default router bgp peer-group"
_NAMED = "vrf default router bgp neighbor 10.0.0.9 peer-group"

_OWN = (
    "acl OPS rule 10 action permit", "acl OPS rule 10 match ip source-ip 10.9.0.0/24",
    "acl OPS rule 10 match ip tcp dest-port 22",
)  # fmt: skip
_REST = ("acl OPS rule 20 action deny", "acl OPS rule 20 match ip protocol tcp")
_PLANE, _PORT = "system control-plane acl OPS inbound", "interface eth0 acl OPS inbound control-plane"
REACHED = [
    ((*_OWN, *_REST, _PLANE), ("10.9.0.0/24", 1)),
    ((*_OWN, *_REST, _PORT), ("10.9.0.0/24", 1)),
    ((*_OWN, _PORT), ("10.9.0.0/24, and everyone else", 1)),
    ((_OWN[0], _OWN[2], *_REST, _PORT), ("0.0.0.0/0", 1)),
    ((_OWN[0], "acl OPS rule 10 match ip source-ip ANY", _OWN[2], _PORT), ("0.0.0.0/0", 1)),
    ((*_OWN[:2], "acl OPS rule 10 match ip tcp dest-port 443", _PORT), (", and everyone else", 0)),
    ((*_OWN, *_REST, "interface swp1 acl OPS inbound"), None),
]
"""Commands with a list of another name, and who reaches SSH through it, with the place of the command."""

FAULTS = [
    (("interface bond1 bond mlag id 1", "mlag enable off"), 1),
    (("interface swpx1 type swp", "interface swp1s0 type swp"), 0),
    (("interface vlan10 ip vrr address 10.1.0.1/24", "router vrr enable off"), 1),
    (("interface vlan10 ip vrr address 10.1.0.1/24", "interface vlan10 ip address 10.1.0.1/24"), 1),
    (("vrf RED table auto", "interface swp1 ip vrf BLUE"), 1),
    (("interface swp1 mtu 9216",), 0),
    (("vrf default bgp enable on",), 0),
    (("vrf default router bgp peer-group UP policy inbound route-map IN", f"{_NAMED} UP"), 0),
    (("system aaa tacacs server 1 secret x", "system aaa tacacs enable off"), 1),
    (("vrf RED evpn vni 4001", "vrf RED evpn enable off"), 1),
    (("vrf default router bgp peer-group UP address-family l2vpn-evpn enable on", f"{_NAMED} UP"), 0),
    ((*_TUNNELS, "vrf default router bgp address-family l2vpn-evpn enable on"), 1),
    ((*_OWN, *_REST), 0),
    ((*_OWN, *_REST, "interface eth0 acl OPS outbound"), 5),
    (("interface swp1 type bond",), 0),
    ((*_KEY, "system ssh-server allow-users nobody"), 1),
    ((*_KEY, "system ssh-server deny-users netops"), 1),
    (("system aaa tacacs server 1 host 192.0.2.1",), 0),
    ((*_GUARD, "system ssh-server port 2222"), 4),
    ((*_GUARD, "system api port 8080"), 4),
    ((_GUARD[1],), 0),
    ((*_TUNNELS, _FAMILY, "evpn enable off"), 3),
    ((*_TUNNELS, _FAMILY, "evpn enable on", "nve vxlan enable off"), 4),
    ((*_TUNNELS, "evpn enable on", "vrf default router bgp address-family l2vpn-evpn enable off"), 3),
    (_MAP, 1),
    (("interface swp1 router pbr map AWAY",), 0),
    (("router bgp router-id 0.0.0.0",), 0),
    (("vrf default router bgp address-family ipv4-unicast multipaths ebgp 512",), 0),
    ((*_LOOPBACK, "vrf default router bgp router-id 10.0.0.2"), 4),
    (( *_ON, f"{_GROUP} UPSTREAMS bfd enable on",
      f"{_NAMED} UPSTREAM"), 2),
]  # fmt: skip
CORRECT = [
    ("vrf RED table auto", "interface swp1 ip vrf RED", "interface eth0 ip vrf mgmt"),
    ("interface vlan10 ip vrr address 10.1.0.1/24", "interface vlan10 ip address 10.1.0.2/24", "router vrr enable on"),
    ("interface bond1 bond mlag id 1", "mlag enable on"),
    ("interface swp1 type bond", "interface swp1 bond member swp2"),
    ("interface bond1 type bond", "interface swp1 type swp"),
    (*_TUNNELS, _FAMILY, "evpn enable on"),
    (*_KEY, "system ssh-server allow-users netops", "system ssh-server deny-users cumulus"),
    (*_KEY, "system ssh-server allow-users other", "system aaa tacacs server 1 secret x"),
    (*_KEY, "system ssh-server allow-users admin*"),
    (*_GUARD, "acl OWN rule 10 match ip tcp dest-port 2222", "system ssh-server port 2222"),
    (*_GUARD, "acl OWN rule 20 action permit", "acl OWN rule 20 match ip source-ip 192.0.2.0/24",
     "system ssh-server port 2222"),
    (_GUARD[1], "acl OWN rule 10 action permit", "system ssh-server port 2222"),
    ("vrf default router bgp address-family ipv4-unicast multipaths ebgp 256",),
    (*_MAP, "router nexthop group HOPS via 10.0.0.2"),
    (*_LOOPBACK, "vrf default router bgp router-id 10.0.0.1", "vrf red router bgp router-id 10.0.0.3"),
    ( *_ON, f"{_GROUP} UPSTREAM bfd enable on",
     f"{_GROUP} SPARE bfd enable on", f"{_NAMED} UPSTREAM"),
]  # fmt: skip


def state_unread(statements: tuple[str, ...]) -> dict[str, int]:
    """Return what has no effect in commands, and the place of its command."""
    text = "".join(f"nv set {each}\n" for each in statements)
    reading = CUMULUS.read({"startup.yaml": text})
    return {path: reading.lines[path][1] - 1 for path in reading.facts if path.startswith("unread[")}


@pytest.mark.parametrize(("statements", "at"), FAULTS)
def test_a_statement_without_effect_is_found_at_its_line(statements: tuple[str, ...], at: int) -> None:
    assert [*state_unread(statements).values()] == [at]


@pytest.mark.parametrize(("statements", "reached"), REACHED)
def test_a_list_of_another_name_limits_who_reaches_ssh(
    statements: tuple[str, ...], reached: tuple[str, int] | None
) -> None:
    reading = CUMULUS.read({"startup.yaml": "".join(f"nv set {each}\n" for each in statements)})
    path = "management/access"
    assert reached == ((reading.facts[path], reading.lines[path][1] - 1) if path in reading.facts else None)


def test_lists_without_values_and_texts_with_slashes_are_read_in_linear_time() -> None:
    text = "".join(
        f"nv set {each}\n" for each in (*_GUARD, "interface swp1 description rack 4.2/48 row 1.1/96")
    )
    rule = "- set:\n    acl:\n      A:\n        rule:\n          10:\n            match:\n              ip:\n"
    rule += "                protocol:\n                tcp: {}\n            action: {permit: {}}\n"
    for each in (text + "a:" * 20_000, text + ":" * 20_000, rule):
        assert not [path for path in CUMULUS.read({"startup.yaml": each}).facts if path.startswith("unread[")]


@pytest.mark.parametrize("statements", CORRECT)
def test_a_statement_with_its_purpose_is_silent(statements: tuple[str, ...]) -> None:
    assert state_unread(statements) == {}


@pytest.mark.parametrize("word", ["on", "enabled"])
def test_a_session_is_shut_in_both_spellings_of_nvue(word: str) -> None:
    session = "nv set vrf default router bgp neighbor swp1"
    reading = CUMULUS.read({"startup.yaml": f"{session} remote-as 65001\n{session} shutdown {word}\n"})
    assert reading.facts["bgp/neighbor[swp1]/enabled"] == "false"
