"""A headroom pool as declared, and requests beyond what a platform has."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.catalog.model import HeadroomRow, Limits, SwitchModel
from fabricc.front.qos import QosFinding, build_worksheet, switch_qos
from fabricc.front.qos.headroom import find_headroom
from fabricc.front.qos.lossless_policy import watchdog_timers
from fabricc.front.qos.pools import PortGroup, divide_buffer, spectrum_reserved_bytes
from tests.front.qos.published import make_sn5600, make_z9864f
from tests.samples import CLASSES

RTT = 7709
TWO_LOSSLESS = (*CLASSES[:2], replace(CLASSES[1], name="storage", priority=4, dscps=(34,)), CLASSES[2])


def list_findings(
    model: SwitchModel, links: dict[tuple[int, int], int], ratio: Fraction | None = None, classes: int = 1
) -> tuple[QosFinding, ...]:
    wanted = CLASSES if classes == 1 else TWO_LOSSLESS
    return switch_qos(wanted, model, links, 9216, RTT, oversubscription=ratio)[1]


def test_spectrum_shares_headroom_only_on_request() -> None:
    model, links = make_sn5600(), {(400, 300): 128}
    own, _, _ = switch_qos(CLASSES, model, links, 9216, RTT)
    pooled, wrong, _ = switch_qos(CLASSES, model, links, 9216, RTT, oversubscription=Fraction(2))
    assert wrong == ()
    assert own.pools is not None
    assert pooled.pools is not None
    assert own.pools.headroom_bytes == 0
    demand = 128 * (677_888 - 10_240)
    assert pooled.pools.headroom_bytes == -(-demand // 2 // 192) * 192
    assert (own.profiles[0].headroom.size_bytes, pooled.profiles[0].headroom.size_bytes) == (697_344, 19_456)
    taken = pooled.pools.headroom_bytes + 128 * (19_456 + 2 * 19_456 + 20_480) + 262_144
    assert pooled.pools.ingress_lossless_bytes == (158_229_504 - taken) // 192 * 192


def test_the_remedy_of_an_overfull_spectrum_works() -> None:
    links = {(400, 300): 128}
    (finding,) = list_findings(make_sn5600(), links, classes=2)
    assert finding.code == "FAB4003"
    assert finding.help.endswith("or headroom as a pool, `buffers: {headroom_oversubscription: 2}`")
    assert list_findings(make_sn5600(), links, Fraction(2), classes=2) == ()


def test_a_declared_ratio_sets_the_pool_of_a_platform_that_has_one() -> None:
    model, links = make_z9864f(), {(800, 40): 64}
    shipped, _, _ = switch_qos(TWO_LOSSLESS, model, links, 9216, RTT)
    declared, wrong, _ = switch_qos(TWO_LOSSLESS, model, links, 9216, RTT, oversubscription=Fraction(2))
    assert wrong == ()
    assert shipped.pools is not None
    assert declared.pools is not None
    assert declared.pools.headroom_bytes == -(-64 * 2 * 835_406 // 2 // 254) * 254
    assert declared.pools.ingress_lossless_bytes == shipped.pools.ingress_lossless_bytes
    rows = build_worksheet(declared, model, links, 9216, RTT, oversubscription=Fraction(2))["800g-40m"]
    sheet = {row.label: row for row in rows}
    assert sheet["headroom pool oversubscription"].value == 2
    assert sheet["headroom pool"].source == "spec"


def test_a_pool_next_to_the_ingress_pool_takes_from_it() -> None:
    model = make_z9864f()
    outside = replace(model.buffers.pools, size_includes_headroom=False, ingress_lossless_bytes=129_165_096)
    buffers = replace(model.buffers, pools=outside)
    found = find_headroom(buffers, 800, 40, 9216)
    assert found is not None
    groups = (PortGroup(800, 64, 8, found),)
    before, after = divide_buffer(buffers, groups, 2), divide_buffer(buffers, groups, 2, Fraction(2))
    assert after.pools.headroom_bytes > before.pools.headroom_bytes
    whole = before.pools.ingress_lossless_bytes + before.pools.headroom_bytes
    assert after.pools.ingress_lossless_bytes + after.pools.headroom_bytes == whole


def test_beyond_any_shipped_ratio_is_an_error_also_when_declared() -> None:
    (finding,) = list_findings(make_z9864f(), {(800, 40): 64}, Fraction(8))
    assert (finding.code, finding.severity) == ("FAB4004", Severity.ERROR)


@given(ratio=st.fractions(1, 16), ports=st.integers(1, 64), spectrum=st.booleans(), two=st.booleans())
def test_a_declared_pool_holds_its_share_and_one_group_at_least(
    ratio: Fraction, ports: int, spectrum: bool, two: bool
) -> None:
    model = make_sn5600() if spectrum else make_z9864f()
    found = find_headroom(model.buffers, 400, 40, 9216, shared_pool=True)
    assert found is not None
    group = PortGroup(400, ports, 4, found)
    divided = divide_buffer(model.buffers, (group,), 1 + two, ratio)
    pool = divided.pools.headroom_bytes
    assert pool * ratio >= divided.demand_bytes
    assert pool >= found.xoff_bytes
    assert divided.oversubscription is not None
    assert divided.oversubscription <= ratio
    if spectrum:
        reserved = spectrum_reserved_bytes(model.buffers, (group,))
        assert divided.used_bytes == reserved + pool + (1 + two) * ports * found.xon_bytes


def test_oversubscription_without_a_pool_warns() -> None:
    model = make_sn5600()
    model = replace(model, buffers=replace(model.buffers, formula=None))
    found = list_findings(model, {(400, 5): 2}, Fraction(2))
    assert [f.code for f in found] == ["FAB4013"]


def test_an_egress_pool_that_is_too_small_drops_lossless_traffic() -> None:
    model = make_sn5600()
    pools = replace(model.buffers.pools, egress_lossless_bytes=40_000_000)
    model = replace(model, buffers=replace(model.buffers, formula=None, pools=pools))
    (finding,) = list_findings(model, {(400, 5): 64})
    assert (finding.code, finding.severity) == ("FAB4012", Severity.ERROR)
    assert "51,359,168 bytes" in finding.help


@pytest.mark.parametrize(("exponent", "codes"), [(-9, ["FAB4011"]), (-8, []), (7, [])])
def test_an_alpha_that_the_asic_lacks_is_refused(exponent: int, codes: list[str]) -> None:
    model = make_sn5600(table=False)
    rows = (HeadroomRow(400, 40, 303_104, 19_456, 283_648, exponent),)
    buffers = replace(model.buffers, rows=rows, limits=Limits(alpha_exponents=(-8, 7)))
    unmarked = tuple(replace(c, ecn=False) for c in CLASSES)
    found = switch_qos(unmarked, replace(model, buffers=buffers), {(400, 40): 2}, 9216, RTT)[1]
    assert [f.code for f in found] == codes
    assert all("the nearest that fits is -8" in f.help for f in found)


def test_more_profiles_than_the_platform_holds() -> None:
    model = make_sn5600()
    model = replace(model, buffers=replace(model.buffers, limits=Limits(port_profiles=2)))
    assert list_findings(model, {(400, 5): 2, (400, 40): 2}) == ()
    (finding,) = list_findings(model, {(400, 5): 2, (400, 40): 2, (400, 300): 2})
    assert finding.code == "FAB4014"
    assert finding.message == "3 kinds of lossless port on one switch, NVIDIA SN5600 holds 2"


def test_watchdog_timers_stay_within_the_platforms_limits() -> None:
    limits = Limits(detect_ms=(500, 1000), restore_ms=(300, 600), poll_ms=(100, 250))
    assert (watchdog_timers(1, limits).detect_ms, watchdog_timers(256, limits).detect_ms) == (500, 1000)
    assert (watchdog_timers(1, limits).restore_ms, watchdog_timers(256, limits).restore_ms) == (300, 600)
    assert watchdog_timers(256, limits).poll_ms == 250
