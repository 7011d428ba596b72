"""What NX-OS cannot express is said, with a remedy, and what it rounds is rounded alike in text and plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fabricc.diagnostics.codes import TITLES
from fabricc.fabric.model import Account, BufferPools, Ecn, Switch, Watchdog
from fabricc.nos.nxos import NXOS
from tests.nos.nxos.variants import VARIANTS, variant

NOT_FATAL = {"FAB5408", "FAB5409", "FAB5411", "FAB5412", "FAB5415", "FAB5416", "FAB5417"}


def fitting(name: str = "cloudscale/numbered") -> Switch:
    return variant(name)


def watched(watchdog: Watchdog) -> Switch:
    switch = fitting()
    return replace(switch, qos=replace(switch.qos, watchdog=watchdog))


def with_class(name: str, **changes: Any) -> Switch:
    switch = fitting()
    classes = tuple(replace(c, **changes) if c.name == name else c for c in switch.qos.classes)
    return replace(switch, qos=replace(switch.qos, classes=classes))


def with_port(**changes: Any) -> Switch:
    switch = fitting()
    return replace(switch, ports=(replace(switch.ports[0], **changes), *switch.ports[1:]))


def with_profile(**changes: Any) -> Switch:
    switch = fitting()
    first, *others = switch.qos.profiles
    return replace(switch, qos=replace(switch.qos, profiles=(replace(first, **changes), *others)))


def with_headroom(**changes: Any) -> Switch:
    first = fitting().qos.profiles[0]
    return with_profile(headroom=replace(first.headroom, **changes))


def with_bgp(**changes: Any) -> Switch:
    switch = fitting()
    return replace(switch, bgp=replace(switch.bgp, **changes))


def with_users(*users: Account) -> Switch:
    switch = fitting()
    return replace(switch, management=replace(switch.management, users=users))


def with_pool(size_bytes: int) -> Switch:
    switch = fitting()
    return replace(switch, qos=replace(switch.qos, pools=BufferPools(size_bytes, 0, 1, None, False)))


CASES = {
    "FAB5401": with_port(children=1, speed_gbps=1600),
    "FAB5402": with_port(children=4, speed_gbps=200, lanes=2),
    "FAB5403": with_port(mtu=9217),
    "FAB5404": with_class("rdma", priority=8),
    "FAB5405": with_class("default", weight_percent=11),
    "FAB5406": with_profile(ecn=Ecn(1000, 999, 10)),
    "FAB5407": with_headroom(xoff_bytes=300_000_000),
    "FAB5408": with_pool(1_000_000),
    "FAB5409": variant("silicon-one/numbered"),
    "FAB5410": watched(Watchdog(10_001, 400, 200, "drop")),
    "FAB5411": watched(Watchdog(250, 400, 200, "drop")),
    "FAB5412": watched(Watchdog(200, 400, 200, "forward")),
    "FAB5413": with_bgp(maximum_paths=65),
    "FAB5414": with_bgp(bfd_interval_ms=1000),
    "FAB5415": with_users(),
    "FAB5416": replace(variant("silicon-one/numbered"), release="10.4"),
    "FAB5417": with_users(Account("ann", "sk-ssh-ed25519@openssh.com AAAAa")),
}


@pytest.mark.parametrize("name", [name for name in VARIANTS if name.startswith("cloudscale")])
def test_a_switch_that_fits_has_no_gap(name: str) -> None:
    assert NXOS.gaps(variant(name)) == []


@pytest.mark.parametrize("code", CASES)
def test_each_gap_is_found_with_reason_and_remedy(code: str) -> None:
    found = [gap for gap in NXOS.gaps(CASES[code]) if gap.code == code]
    assert len(found) == 1
    assert found[0].fatal == (code not in NOT_FATAL)
    assert found[0].feature
    assert found[0].reason
    assert found[0].remedy


def test_every_code_of_the_back_end_has_a_case() -> None:
    assert {code for code in TITLES if code.startswith("FAB54")} == CASES.keys()


@pytest.mark.parametrize("code", sorted(NOT_FATAL))
def test_what_works_less_well_still_reads_back_as_planned(code: str) -> None:
    switch = CASES[code]
    reading = NXOS.read(NXOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == NXOS.planned(switch)


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        (Watchdog(200, 400, 200, "drop"), (200, 400, 200)),
        (Watchdog(200, 400, 100, "drop"), (200, 400, 100)),
        (Watchdog(200, 400, 50, "drop"), (200, 400, 100)),
        (Watchdog(250, 450, 100, "drop"), (300, 500, 100)),
        (Watchdog(5_000, 400, 100, "drop"), (5_000, 500, 500)),
        (Watchdog(200, 30_000, 200, "drop"), (300, 30_000, 300)),
    ],
)
def test_the_watchdog_acts_no_earlier_than_asked(asked: Watchdog, held: tuple[int, int, int]) -> None:
    facts = NXOS.planned(watched(asked))
    names = ("detect_ms", "restore_ms", "poll_ms")
    assert tuple(facts[f"watchdog/{name}"] for name in names) == held
    assert "FAB5410" not in {gap.code for gap in NXOS.gaps(watched(asked))}
