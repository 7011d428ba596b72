"""The management network: no switch gets the address of a gateway or a server that the spec names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.front.planning.support import fabric_of, make_document, planned

NETWORK = {"network": "10.255.0.0/22"}


def address_of(name: str) -> str:
    fabric = fabric_of(make_document(management=NETWORK))
    at = next(at for at in fabric.switch_ids() if fabric.name(at) == name)
    return fabric.switch(at).management.address.partition("/")[0]


@pytest.mark.parametrize(
    ("place", "section"),
    [
        ("management.gateway", lambda at: {"gateway": at}),
        ("management.ntp[1]", lambda at: {"ntp": ["10.255.0.2", at]}),
        ("management.syslog[0]", lambda at: {"syslog": [at]}),
        ("management.dns[0]", lambda at: {"dns": [at]}),
        (
            "management.tacacs.servers[0]",
            lambda at: {"tacacs": {"servers": [at], "key": {"secret": "tacacs"}}},
        ),
        (
            "management.radius.servers[0]",
            lambda at: {"radius": {"servers": [at], "key": {"secret": "radius"}}},
        ),
    ],
)
@pytest.mark.parametrize("switch", ["su001-tor5a", "su004-tor8a", "spine02a"])
def test_an_address_that_a_switch_has_is_refused(place: str, section: Any, switch: str) -> None:
    address = address_of(switch)
    found = planned(make_document(management={**NETWORK, **section(address)})).diagnostics
    (wrong,) = [d for d in found if d.code == "FAB3025"]
    assert wrong.message == f"{place} {address} is the management address of {switch}"
    assert "10.255.0.1 to 10.255.0.15" in wrong.help


@pytest.mark.parametrize("address", ["10.255.0.15", "10.255.1.200", "172.31.0.1"])
def test_any_other_address_is_fine(address: str) -> None:
    fabric_of(make_document(management={**NETWORK, "ntp": [address, "ntp.example.net"]}))


def test_management_network_that_holds_all_switches_is_accepted() -> None:
    small = make_document(gpus={"hosts": 64}, management={"network": "10.255.0.0/26"})
    fabric = fabric_of(small)
    offsets = {fabric.switch(at).management.address for at in fabric.switch_ids()}
    assert len(offsets) == 24
    (wrong,) = planned({**small, "management": {"network": "10.255.0.0/27"}}).diagnostics
    assert wrong.code == "FAB3018"
    assert "too small for 16 ToRs and 8 spines" in wrong.message
    assert wrong.help == "Use a /26 or larger."


def test_a_large_network_leaves_the_room_it_always_left() -> None:
    roomy, wide = (
        fabric_of(make_document(management={"network": text})).strides
        for text in ("10.254.0.0/24", "10.255.0.0/16")
    )
    assert wide.spine > roomy.spine
