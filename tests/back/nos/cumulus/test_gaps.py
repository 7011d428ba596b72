"""Gaps of Cumulus Linux are reported before anything is built."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.back.nos.cumulus.limits import release_of
from fabricc.compiler.render.overlays import find_unexpressed
from fabricc.fabric.model import Account, Direction, Switch
from fabricc.fabric.qos import Ecn, Trimming, Watchdog
from fabricc.fabric.routing import CommunityList, LoadBalancing, Spreading
from tests.back.nos.cumulus.variants import VARIANTS, tor, variant

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.vocabulary import Gap

PLAIN = tor()
OPEN_MANAGEMENT = "FAB5843"  # of every switch without access networks


def gaps_by_code(switch: Switch) -> dict[str, Gap]:
    return {gap.code: gap for gap in CUMULUS.gaps(switch) if gap.code != OPEN_MANAGEMENT}


def with_port(**changes: Any) -> Switch:
    return replace(PLAIN, ports=(replace(PLAIN.ports[0], **changes), *PLAIN.ports[1:]))


def with_headroom(**changes: Any) -> Switch:
    first, *rest = PLAIN.qos.profiles
    changed = replace(first, headroom=replace(first.headroom, **changes))
    return replace(PLAIN, qos=replace(PLAIN.qos, profiles=(changed, *rest)))


def with_ecn(ecn: Ecn | None) -> Switch:
    first, *rest = PLAIN.qos.profiles
    return replace(PLAIN, qos=replace(PLAIN.qos, profiles=(replace(first, ecn=ecn), *rest)))


def with_class(**changes: Any) -> Switch:
    first, *rest = PLAIN.qos.classes
    return replace(PLAIN, qos=replace(PLAIN.qos, classes=(replace(first, **changes), *rest)))


def with_watchdog(*figures: int, action: str = "drop") -> Switch:
    return replace(PLAIN, qos=replace(PLAIN.qos, watchdog=Watchdog(*figures, action)))


def with_bgp(**changes: Any) -> Switch:
    return replace(PLAIN, bgp=replace(PLAIN.bgp, **changes))


def with_balancing(balancing: LoadBalancing) -> Switch:
    return replace(PLAIN, load_balancing=balancing)


def with_trimming(size_bytes: int) -> Switch:
    return replace(PLAIN, qos=replace(PLAIN.qos, trimming=Trimming(size_bytes, 48, 6, (0,))))


def with_uplinks_of(speed_gbps: int) -> Switch:
    switch = with_balancing(LoadBalancing(Spreading.PACKET))
    ports = tuple(
        replace(port, speed_gbps=speed_gbps) if port.direction is Direction.UP else port
        for port in switch.ports
    )
    return replace(switch, ports=ports)


def spectrum3_model() -> SwitchModel:
    return replace(PLAIN.model, asic="Spectrum-3", asic_family="spectrum3")


def with_users(*users: Account) -> Switch:
    return replace(PLAIN, management=replace(PLAIN.management, users=users))


@pytest.mark.parametrize("release", ["", *CUMULUS.releases])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_samples_have_none(name: str, release: str) -> None:
    switch = variant(name, release)
    keyed = switch.management.ntp_key is not None and release_of(switch.release).ntp != "system"
    unaccounted = switch.management.radius is not None and release in ("5.9", "5.10")
    lacking = keyed or switch.management.syslog_tls is not None
    expected = {"FAB5841": lacking, "FAB5842": unaccounted}
    assert gaps_by_code(switch).keys() == {code for code, holds in expected.items() if holds}


@pytest.mark.parametrize(
    ("switch", "code"),
    [
        (replace(PLAIN, release="5.8"), "FAB5701"),
        (with_port(speed_gbps=1600), "FAB5702"),
        (with_port(mtu=9217), "FAB5703"),
        (with_port(children=3), "FAB5704"),
        (with_port(lanes=3), "FAB5704"),
        (with_class(priority=8), "FAB5705"),
        (with_class(weight_percent=0), "FAB5705"),
        (with_class(weight_percent=11), "FAB5705"),
        (with_headroom(size_bytes=100), "FAB5706"),
        (with_headroom(xon_offset_bytes=3556), "FAB5706"),
        (with_headroom(cable_m=0), "FAB5706"),
        (with_ecn(Ecn(2, 1, 20)), "FAB5708"),
        (with_ecn(Ecn(0, 1, 20)), "FAB5708"),
        (with_ecn(Ecn(1, 1, 101)), "FAB5708"),
        (with_watchdog(200_000, 400, 100), "FAB5709"),
        (with_bgp(maximum_paths=256), "FAB5712"),
        (with_bgp(bfd_interval_ms=10), "FAB5713"),
        (with_bgp(bfd_multiplier=1), "FAB5713"),
        (with_bgp(hold_s=1), "FAB5713"),
        (replace(PLAIN, name="tor_1"), "FAB5714"),
        (with_port(peer=replace(PLAIN.ports[0].peer, device="x" * 255)), "FAB5714"),  # type: ignore[type-var]
        (with_users(Account("ops", "sk-ssh-ed25519@openssh.com AAAA")), "FAB5715"),
        (with_users(Account("ops", "ssh-ed25519")), "FAB5715"),
        (replace(VARIANTS["open-gnmi"], release="5.12"), "FAB5719"),
        (replace(VARIANTS["settings"], model=spectrum3_model()), "FAB5720"),
        (with_uplinks_of(800), "FAB5720"),
        (with_balancing(LoadBalancing(Spreading.FLOWLET)), "FAB5721"),
        (with_balancing(LoadBalancing(Spreading.FLOWLET, flowlet_idle_us=64)), "FAB5721"),
        (with_balancing(LoadBalancing(queue_pairs=True)), "FAB5722"),
        (replace(VARIANTS["settings"], release="5.13"), "FAB5723"),
        (replace(VARIANTS["settings"], model=spectrum3_model()), "FAB5723"),
        (with_trimming(128), "FAB5723"),
        (with_trimming(258), "FAB5723"),
        (replace(PLAIN, qos=replace(PLAIN.qos, link_retry=True)), "FAB5724"),
    ],
)
def test_unsupported_settings_are_fatal_gaps(switch: Switch, code: str) -> None:
    assert gaps_by_code(switch)[code].fatal


@pytest.mark.parametrize(
    ("switch", "code"),
    [
        (with_headroom(dynamic_th=2), "FAB5707"),
        (with_watchdog(250, 400, 200), "FAB5710"),
        (with_watchdog(200, 400, 50), "FAB5710"),
        (with_watchdog(200, 400, 200, action="forward"), "FAB5711"),
        (with_users(), "FAB5716"),
    ],
)
def test_approximated_settings_warn_and_read_back(switch: Switch, code: str) -> None:
    assert [gap.fatal for gap in gaps_by_code(switch).values()] == [False]
    assert code in gaps_by_code(switch)
    assert CUMULUS.read(CUMULUS.render(switch)).facts == CUMULUS.planned(switch)


@pytest.mark.parametrize("release", CUMULUS.releases)
def test_requested_settings_are_expressed_or_rejected_once(release: str) -> None:
    """A gap of this back end's own stands for what its facts do not state, so nothing is refused twice."""
    wish = LoadBalancing(Spreading.FLOWLET, queue_pairs=True, flowlet_idle_us=64)
    for switch in (VARIANTS["settings"], replace(VARIANTS["settings"], load_balancing=wish)):
        requested = replace(switch, release=release)
        assert list(find_unexpressed(requested, CUMULUS, CUMULUS.gaps(requested))) == []


def test_a_community_that_would_drop_others_is_a_warning() -> None:
    switch = VARIANTS["drained"]
    lists = (*switch.bgp.community_lists, CommunityList("OTHER", "65000:1"))
    gap = gaps_by_code(replace(switch, bgp=replace(switch.bgp, community_lists=lists)))["FAB5717"]
    assert not gap.fatal


def test_more_paths_come_with_the_asic_and_with_the_release() -> None:
    older = replace(PLAIN.model, nos={"cumulus": {**PLAIN.model.nos["cumulus"], "ecmp_paths": 64}})
    wide = with_bgp(maximum_paths=128)
    assert "FAB5712" not in gaps_by_code(wide)
    gap = gaps_by_code(replace(wide, model=older))["FAB5712"]
    assert "`routing.maximum_paths: " in gap.remedy


def test_gaps_are_found_once_for_each_kind_of_port() -> None:
    switch = replace(PLAIN, ports=tuple(replace(port, speed_gbps=1600) for port in PLAIN.ports))
    assert list(gaps_by_code(switch)) == ["FAB5702"]


def test_port_names() -> None:
    assert [CUMULUS.port_name(PLAIN.model, 12, child, 4) for child in (1, 4)] == ["swp12s0", "swp12s3"]
    assert CUMULUS.port_name(PLAIN.model, 12, 1, 1) == "swp12"
    for child, children in ((0, 2), (3, 2), (1, 3)):
        with pytest.raises(ValueError, match="no child"):
            CUMULUS.port_name(PLAIN.model, 12, child, children)


def test_settings_decide_support() -> None:
    assert CUMULUS.supports(PLAIN.model)
    assert not CUMULUS.supports(replace(PLAIN.model, nos={"frr": {}}))
