"""Gaps of SONiC are reported before anything is built."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.sonic import SONIC
from fabricc.fabric.model import Account, Switch
from fabricc.fabric.qos import PortProfile, Watchdog
from tests.back.nos.sonic.variants import MELLANOX, VARIANTS, tor

if TYPE_CHECKING:
    from collections.abc import Callable

LATER = {
    "FAB5327": "202505",
    "FAB5630": "202505",
    "FAB5632": "202505",
    "FAB5633": "202311",
    "FAB5635": "202311",
}
"""Settings that a lossless switch with BFD and name servers lacks before these releases."""
PLAIN = replace(tor(), management=replace(tor().management, users=()))


def gap_codes(switch: Switch) -> list[str]:
    return [gap.code for gap in SONIC.gaps(switch)]


def with_port(**changes: object) -> Switch:
    return replace(PLAIN, ports=(replace(PLAIN.ports[0], **changes), *PLAIN.ports[1:]))  # type: ignore[arg-type]


def with_profile(change: Callable[[PortProfile], PortProfile]) -> Switch:
    first, *rest = PLAIN.qos.profiles
    return replace(PLAIN, qos=replace(PLAIN.qos, profiles=(change(first), *rest)))


def with_watchdog(*figures: int, release: str = "202505") -> Switch:
    return replace(PLAIN, release=release, qos=replace(PLAIN.qos, watchdog=Watchdog(*figures, "drop")))


def with_class(**changes: object) -> Switch:
    first, *rest = PLAIN.qos.classes
    changed = replace(first, **changes)  # type: ignore[arg-type]
    return replace(PLAIN, qos=replace(PLAIN.qos, classes=(changed, *rest)))


@pytest.mark.parametrize("release", ["", *SONIC.releases])
def test_the_samples_have_none(release: str) -> None:
    found = set(gap_codes(replace(PLAIN, release=release)))
    assert found == {code for code, since in LATER.items() if release and release < since}


@pytest.mark.parametrize(
    ("switch", "code"),
    [
        (replace(PLAIN, release="201911"), "FAB5301"),
        (with_port(speed_gbps=1600), "FAB5302"),
        (with_watchdog(50, 400, 200), "FAB5303"),
        (with_watchdog(200, 400, 5000), "FAB5303"),
        (with_watchdog(1500, 1500, 1500, release="202511"), "FAB5303"),
        (with_profile(lambda p: replace(p, headroom=replace(p.headroom, cable_m=0))), "FAB5304"),
        (with_profile(lambda p: replace(p, headroom=replace(p.headroom, dynamic_th=8))), "FAB5305"),
        (with_profile(lambda p: replace(p, name="400g at 40 m")), "FAB5306"),
        (with_class(name="x" * 33), "FAB5306"),
        (with_port(children=8, speed_gbps=100, lanes=1), "FAB5307"),
        (with_profile(lambda p: replace(p, headroom=replace(p.headroom, cable_m=41))), "FAB5308"),
        (with_profile(lambda p: replace(p, cable_m=5, headroom=replace(p.headroom, cable_m=5))), "FAB5309"),
        (
            replace(PLAIN, management=replace(PLAIN.management, users=(Account("ops", "ssh-ed25519 AAAA"),))),
            "FAB5310",
        ),
        (replace(PLAIN, management=replace(PLAIN.management, dns=("1.1.1.1",) * 4)), "FAB5311"),
        (with_class(weight_percent=0), "FAB5312"),
        (replace(PLAIN, bgp=replace(PLAIN.bgp, maximum_paths=515)), "FAB5313"),
        (with_port(cage=5), "FAB5314"),
        (with_port(mtu=9300), "FAB5315"),
        (with_profile(lambda p: replace(p, ecn=replace(p.ecn, max_bytes=1))), "FAB5316"),
    ],
)
def test_each_gap_is_named(switch: Switch, code: str) -> None:
    assert code in gap_codes(switch)


@pytest.mark.parametrize(
    ("tabled", "gbps", "remedy"),
    [
        (True, 0, "a cable length that the table lists at"),
        (True, 10, "a speed that the table lists ("),
        (False, 0, "accept it with a reason"),
    ],
)
def test_a_missing_row_has_a_remedy_of_its_platform(tabled: bool, gbps: int, remedy: str) -> None:
    switch = with_profile(
        lambda p: replace(p, speed_gbps=gbps or p.speed_gbps, headroom=replace(p.headroom, cable_m=41))
    )
    if not tabled:
        settings = {**switch.model.nos["sonic"], "sku": {}}  # a SKU that ships no table
        model = replace(switch.model, nos={**switch.model.nos, "sonic": settings})
        switch = replace(switch, model=model)
    (found,) = {gap.remedy for gap in SONIC.gaps(switch) if gap.code == "FAB5308"}
    assert found.startswith(remedy)


def test_a_borrowed_row_without_any_of_its_own_table_can_only_be_accepted() -> None:
    sku = {"lookup": "of-another-name", "sdk": "sai.xml"}
    rows = {f"buffers.rows.{row.speed_gbps}.{row.cable_m}": "assumed" for row in PLAIN.model.buffers.rows}
    nos = {**PLAIN.model.nos, "sonic": {**PLAIN.model.nos["sonic"], "sku": sku}}
    model = replace(PLAIN.model, nos=nos, sources={**PLAIN.model.sources, **rows})
    found = [gap for gap in SONIC.gaps(replace(PLAIN, model=model)) if gap.code == "FAB5655"]
    assert {gap.remedy for gap in found} == {"accept it with a reason"}


def test_lossy_traffic_keeps_a_priority_group() -> None:
    classes = tuple(replace(PLAIN.qos.classes[1], priority=priority) for priority in range(8))
    assert "FAB5317" in gap_codes(replace(PLAIN, qos=replace(PLAIN.qos, classes=classes)))


def test_polling_slower_than_a_second_is_refused_from_202511_only() -> None:
    assert gap_codes(with_watchdog(1500, 1500, 1500)) == []


def test_ports_of_1600_gbps_come_with_202511() -> None:
    switch = replace(with_port(speed_gbps=1600), release="202511")
    assert "FAB5302" not in gap_codes(switch)


def test_a_shared_headroom_pool_differs_from_the_images_table_and_is_reported() -> None:
    """With a shared pool a Spectrum's size is its xon alone; the image's table has private sizes."""
    pooled = with_profile(lambda p: replace(p, headroom=replace(p.headroom, size_bytes=p.headroom.xon_bytes)))
    (gap,) = SONIC.gaps(pooled)
    assert (gap.code, gap.fatal) == ("FAB5321", False)
    assert "303104" in gap.reason
    assert "19456" in gap.reason


def test_trimming_came_with_202505() -> None:
    for release, found in (("202411", ["FAB5318"]), ("202505", []), ("202511", [])):
        switch = replace(VARIANTS["trimming"], release=release)
        gaps = [gap for gap in SONIC.gaps(switch) if gap.code not in ("FAB5310", *LATER)]
        assert [gap.code for gap in gaps] == found
        assert all(gap.fatal and release in gap.reason for gap in gaps)


def test_trimming_on_an_unverified_asic_warns_and_builds() -> None:
    qos = replace(PLAIN.qos, trimming=VARIANTS["trimming"].qos.trimming)
    (gap,) = SONIC.gaps(replace(PLAIN, qos=qos))
    assert (gap.code, gap.fatal) == ("FAB5319", False)
    assert "Sample-1" in gap.feature


def test_trimming_needs_buffer_profiles() -> None:
    lossy = VARIANTS["lossy"]
    bare = replace(lossy, qos=replace(lossy.qos, trimming=VARIANTS["trimming"].qos.trimming))
    assert "FAB5318" in gap_codes(bare)
    assert "trimming/size_bytes" not in SONIC.planned(bare)


@pytest.mark.parametrize("release", SONIC.releases)
def test_no_release_has_link_layer_retry(release: str) -> None:
    switch = replace(PLAIN, release=release, qos=replace(PLAIN.qos, link_retry=True))
    (gap,) = (gap for gap in SONIC.gaps(switch) if gap.code not in LATER)
    assert (gap.code, gap.fatal) == ("FAB5320", True)


def test_accounts_and_unlisted_lengths_do_not_stop_a_build() -> None:
    unlisted = with_profile(lambda p: replace(p, headroom=replace(p.headroom, cable_m=41)))
    for switch in (VARIANTS["numbered"], unlisted):
        assert [gap.fatal for gap in SONIC.gaps(switch)] == [False]


def test_gaps_are_found_once_for_each_kind_of_port() -> None:
    switch = replace(PLAIN, ports=tuple(replace(port, speed_gbps=1600) for port in PLAIN.ports))
    assert sorted(gap_codes(switch)) == ["FAB5302", "FAB5307"]


def test_settings_decide_support() -> None:
    assert SONIC.supports(PLAIN.model)
    assert not SONIC.supports(replace(PLAIN.model, nos={"frr": {}}))
    assert MELLANOX["platform"] == SONIC.planned(PLAIN)["system/platform"]
