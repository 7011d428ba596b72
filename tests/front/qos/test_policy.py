"""A switch's policy: profiles per link kind, a budget that fits, and a remedy for what does not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.catalog.library import Library
from fabricc.fabric.qos import Ecn, SwitchQos, Watchdog
from fabricc.front.qos import QosFinding, build_worksheet, switch_qos
from fabricc.front.qos.headroom import find_headroom
from fabricc.front.qos.pools import PortGroup, divide_buffer, group_headroom_bytes, spectrum_reserved_bytes
from tests.effort import scale_examples
from tests.front.qos.published import make_sn5600, make_z9864f
from tests.samples import CLASSES

RTT = 7709
TWO_LOSSLESS = (*CLASSES[:2], replace(CLASSES[1], name="storage", priority=4, dscps=(34,)), CLASSES[2])
LOSSY = tuple(replace(c, lossless=False) for c in CLASSES)


def make_policy(
    links: dict[tuple[int, int], int], **changed: object
) -> tuple[SwitchQos, tuple[QosFinding, ...], dict[tuple[int, int], str]]:
    arguments: dict[str, object] = {
        "classes": CLASSES,
        "model": make_sn5600(),
        "links": links,
        "mtu": 9216,
        "base_rtt_ns": RTT,
        "all_ports": {400: 128, 800: 64},
    }
    qos, findings, names = switch_qos(**(arguments | changed))  # type: ignore[arg-type]
    return qos, findings, dict(names)


def only_finding(findings: tuple[QosFinding, ...]) -> QosFinding:
    assert len(findings) == 1, findings
    return findings[0]


def test_a_tor_of_128_ports_at_400g() -> None:
    qos, findings, names = make_policy({(400, 5): 64, (400, 30): 64})
    assert findings == ()
    assert names == {(400, 5): "400g-5m", (400, 30): "400g-40m"}
    far, near = qos.profiles
    assert (far.name, far.headroom.xoff_bytes, near.name, near.headroom.xoff_bytes) == (
        "400g-40m",
        283648,
        "400g-5m",
        231424,
    )
    assert far.ecn == near.ecn == Ecn(385_344, 878_400, 20)
    assert qos.watchdog == Watchdog(800, 800, 400, "drop")
    assert qos.lossless == CLASSES[1:2]


def test_lengths_that_round_to_one_row_share_a_profile_and_the_longest_round_trip() -> None:
    qos, _, names = make_policy({(400, 10): 4, (400, 40): 4}, base_rtt_ns={(400, 10): 4000, (400, 40): 8000})
    assert set(names.values()) == {"400g-40m"}
    assert qos.profiles[0].ecn.min_bytes == 400_000 // 192 * 192


def test_without_a_lossless_class_or_link_there_is_nothing_to_protect() -> None:
    unmarked = tuple(replace(each, ecn=False) for each in LOSSY)
    for result in (make_policy({(400, 40): 4}, classes=unmarked), make_policy({})):
        qos, findings, names = result
        assert (qos.profiles, qos.watchdog, qos.pools, findings, names) == ((), None, None, (), {})


def test_watchdog_covers_130_ports() -> None:
    qos, _, _ = make_policy({(400, 40): 4}, port_count=130)
    assert qos.watchdog == Watchdog(1000, 1000, 500, "drop")


def test_the_spectrum_pool_is_what_headroom_and_reserves_leave() -> None:
    qos, _, _ = make_policy({(800, 40): 64})
    assert qos.pools is not None
    taken = 64 * (410_624 + 2 * 38_912 + 20_480) + 262_144
    assert qos.pools.ingress_lossless_bytes == (158_229_504 - taken) // 192 * 192 == 125_395_968
    assert qos.pools.egress_lossy_bytes == qos.pools.ingress_lossless_bytes


@pytest.mark.parametrize(
    ("name", "buffer", "ports", "pool"),
    [
        ("SN5600-C224O8", 158_229_504, 233, 144_129_024),
        ("SN5600-C256S1", 158_229_504, 257, 142_703_616),
        ("SN5610N, ToR", 158_229_504, 234, 144_069_632),
        ("SN5610N, leaf", 158_229_504, 258, 142_644_224),
        ("SN5640, leaf", 136_209_408, 514, 105_419_776),
    ],
)
def test_reserves_explain_shipped_pools_without_lossless_classes(
    name: str, buffer: int, ports: int, pool: int
) -> None:
    model = make_sn5600()
    found = find_headroom(model.buffers, 100, 40, 9216)
    assert found is not None
    reserved = spectrum_reserved_bytes(model.buffers, (PortGroup(100, ports, 4, found),))
    assert buffer - reserved == pool, name


def test_a_shared_headroom_pool_is_the_catalogs_and_its_oversubscription_is_shown() -> None:
    model = make_z9864f()
    qos, findings, _ = make_policy({(800, 40): 64}, model=model, classes=TWO_LOSSLESS)
    assert findings == ()
    assert qos.pools is not None
    assert (qos.pools.ingress_lossless_bytes, qos.pools.headroom_bytes) == (162_539_680, 33_374_584)
    rows = {r.label: r.value for r in build_worksheet(qos, model, {(800, 40): 64}, 9216, RTT)["800g-40m"]}
    assert rows["headroom pool oversubscription"] == 3.204
    assert rows["xon offset"] == 3556


def test_more_lossless_classes_than_the_platform_has() -> None:
    model = replace(make_sn5600(), buffers=replace(make_sn5600().buffers, max_lossless_classes=1))
    finding = only_finding(make_policy({(400, 5): 4}, model=model, classes=TWO_LOSSLESS)[1])
    assert (finding.code, finding.severity) == ("FAB4001", Severity.ERROR)
    assert finding.message == "2 lossless classes are requested, NVIDIA SN5600 supports 1"
    assert finding.help.startswith("make 1 of them lossy, or state `buffers.max_lossless_classes` of a model")


def test_remedies_keep_to_the_lossless_classes_of_the_platform() -> None:
    classes = (
        *TWO_LOSSLESS,
        *(replace(CLASSES[1], name=f"c{i}", priority=i, dscps=(8 * i,)) for i in (1, 2)),
    )
    codes = {
        each.code: each for each in make_policy({(800, 40): 64}, model=make_z9864f(), classes=classes)[1]
    }
    assert set(codes) == {"FAB4001", "FAB4004"}
    assert codes["FAB4004"].help == "the largest that fits is 2 lossless classes"


def test_a_cable_longer_than_the_table() -> None:
    qos, findings, names = make_policy({(400, 301): 2, (400, 5): 2}, model=make_z9864f())
    finding = only_finding(findings)
    assert finding.code == "FAB4002"
    assert finding.message == "Dell Z9864F-ON has no headroom figures for a 301 m cable at 400G"
    assert finding.help == "set `length_m` in `cables` to 300 at most"
    assert names == {(400, 5): "400g-5m"}
    assert [p.name for p in qos.profiles] == ["400g-5m"]
    shorter = only_finding(
        make_policy({(400, 301): 2, (400, 5): 2}, model=make_z9864f(), longest_cable_m=100)[1]
    )
    assert shorter.help == "set `length_m` in `cables` to 100 at most"


def test_a_speed_that_the_table_lacks() -> None:
    qos, findings, _ = make_policy({(1600, 5): 2}, model=make_z9864f())
    help_ = only_finding(findings).help
    assert help_.startswith("its table lists 10G, 25G, 40G, 50G, 100G, 200G, 400G, 800G; for links between")
    assert "`uplink_gbps: 800`" in help_
    assert qos.profiles == ()


def test_over_budget_names_what_fits_and_it_does() -> None:
    links = {(400, 300): 128}
    finding = only_finding(make_policy(links, classes=TWO_LOSSLESS)[1])
    assert (finding.code, finding.severity) == ("FAB4003", Severity.ERROR)
    assert finding.help == (
        "the largest that fits is 1 lossless class; or cables of 40 m; or 99 ports at 400G with 300 m "
        "(`reserved_ports: 29` of the tier); "
        "or headroom as a pool, `buffers: {headroom_oversubscription: 2}`"
    )
    reserved = only_finding(make_policy({(400, 300): 112}, classes=TWO_LOSSLESS)[1])
    assert "`reserved_ports: 29`" in reserved.help, "of all ports, some of which are reserved already"
    beside = only_finding(make_policy({(400, 300): 100, (400, 5): 28}, classes=TWO_LOSSLESS)[1])
    assert "ports at 400G with 300 m" in beside.help
    assert "reserved_ports" not in beside.help, "uplinks beside host ports"
    errors = {
        "class": make_policy(links)[1],
        "cable": make_policy({(400, 40): 128}, classes=TWO_LOSSLESS)[1],
        "ports": make_policy({(400, 300): 99}, classes=TWO_LOSSLESS)[1],
        "one more port": make_policy({(400, 300): 100}, classes=TWO_LOSSLESS)[1],
    }
    grave = {name: [f.code for f in found if f.severity is Severity.ERROR] for name, found in errors.items()}
    assert grave == {"class": [], "cable": [], "ports": [], "one more port": ["FAB4005"]}


def test_headroom_error_names_the_longest_fitting_cable() -> None:
    """Beyond its table a Spectrum's formula serves every length, so the limit is none of the table's."""
    finding = only_finding(make_policy({(400, 2000): 64})[1])
    found = re.search(r"cables of (\d+) m", finding.help)
    assert found is not None
    longest = int(found[1])
    assert longest > 300
    grave = [
        [f.code for f in make_policy({(400, metres): 64})[1] if f.severity is Severity.ERROR]
        for metres in (longest, longest + 1)
    ]
    assert grave == [[], ["FAB4005"]]


def test_a_headroom_pool_beyond_anything_shipped_is_an_error_until_accepted() -> None:
    model = make_z9864f()
    small = replace(model.buffers.pools, headroom_bytes=10_000_000)
    model = replace(model, buffers=replace(model.buffers, pools=small))
    finding = only_finding(make_policy({(800, 300): 64}, model=model)[1])
    assert (finding.code, finding.severity) == ("FAB4004", Severity.ERROR)
    assert "oversubscribed 10.4 times" in finding.message
    assert finding.help == (
        "the largest that fits is cables of 5 m; or 32 ports at 800G with 300 m "
        "(`reserved_ports: 32` of the tier); "
        "or headroom as a pool, `buffers: {headroom_oversubscription: 1}`"
    )


def test_a_headroom_pool_smaller_than_one_group_is_an_error() -> None:
    model = make_z9864f()
    tiny = replace(model.buffers.pools, headroom_bytes=1_000_000)
    model = replace(model, buffers=replace(model.buffers, pools=tiny))
    finding = only_finding(make_policy({(800, 300): 1}, model=model)[1])
    assert finding.code == "FAB4003"
    assert finding.help.startswith("the largest that fits is cables of 40 m; or headroom as a pool")


def test_marking_far_below_the_bdp_is_a_warning() -> None:
    findings = make_policy({(400, 40): 128}, base_rtt_ns=60_000)[1]
    finding = only_finding(findings)
    assert (finding.code, finding.severity) == ("FAB4006", Severity.WARNING)
    assert "426,240 bytes already" in finding.message


def test_an_mtu_above_that_of_the_table() -> None:
    finding = only_finding(make_policy({(400, 40): 4}, mtu=9500)[1])
    assert (finding.code, finding.help) == ("FAB4007", "the largest that fits is 9216")
    table_free = make_policy({(400, 40): 4}, mtu=9500, model=make_sn5600(table=False))
    assert table_free[1] == ()


def test_the_published_row_that_is_short_is_named() -> None:
    finding = only_finding(make_policy({(40, 5): 4})[1])
    assert finding.code == "FAB4008"
    assert "75,776 bytes, 1,024 less than its xon and xoff" in finding.message


@settings(deadline=None, max_examples=scale_examples(60))
@given(
    links=st.dictionaries(
        st.tuples(st.sampled_from([100, 200, 400, 800]), st.sampled_from([0, 3, 5, 30, 40, 100, 300, 700])),
        st.integers(1, 64),
        min_size=1,
        max_size=6,
    ),
    spectrum=st.booleans(),
    two=st.booleans(),
    rtt=st.integers(2000, 60_000),
)
def test_a_policy_without_errors_is_lossless(
    links: dict[tuple[int, int], int], spectrum: bool, two: bool, rtt: int
) -> None:
    model = make_sn5600() if spectrum else make_z9864f()
    qos, findings, names = make_policy(
        links, model=model, base_rtt_ns=rtt, classes=TWO_LOSSLESS if two else CLASSES
    )
    assert [p.name for p in qos.profiles] == sorted({*names.values()})
    if any(f.severity is Severity.ERROR for f in findings):
        assert all(f.help for f in findings)
        return
    assert set(names) == set(links)
    profiles = {p.name: p for p in qos.profiles}
    assert all(profiles[name].cable_m >= length for (_, length), name in names.items())
    assert qos.pools is not None
    if spectrum:
        private = sum(
            len(qos.lossless) * ports * group_headroom_bytes(profiles[names[kind]].headroom)
            for kind, ports in links.items()
        )
        assert private + qos.pools.ingress_lossless_bytes <= model.buffers.pools.egress_lossless_bytes
    else:
        assert qos.pools.ingress_lossless_bytes <= model.buffers.total_bytes
    sheets = build_worksheet(qos, model, links, 9216, rtt)
    assert set(sheets) == set(profiles)
    for name, profile in profiles.items():
        sheet = {row.label: row.value for row in sheets[name]}
        assert sheet["xoff"] == profile.headroom.xoff_bytes
        assert 0 < profile.ecn.min_bytes == sheet["Kmin"] < sheet["Kmax"] < sheet["pause point"]
        assert sheet["buffer taken"] <= sheet["buffer"]


def test_the_worksheet_states_every_step() -> None:
    links = {(400, 40): 128}
    qos, _, _ = make_policy(links)
    sheet = {row.label: row for row in build_worksheet(qos, make_sn5600(), links, 9216, RTT)["400g-40m"]}
    figures = {label: row.value for label, row in sheet.items()}
    assert figures["pause response"] == 905
    assert figures["on the cable, both ways"] == 20202.02
    assert figures["formula: worst cell factor"] == 3
    assert figures["formula: xoff before rounding"] == 283495.661
    assert figures["formula: xoff"] == figures["xoff"] == 283648
    assert figures["headroom of all ports"] == 128 * 303_104
    assert figures["pause point"] == 111_567_744 // 129
    assert (figures["BDP"], figures["Kmin"], figures["Kmax"]) == (385_450, 385_344, 852_480)
    assert sheet["xoff"].source == "table, 400G 40 m"


def test_a_policy_without_profiles_has_no_worksheet() -> None:
    links = {(1600, 5): 2}
    qos, _, _ = make_policy(links, model=make_z9864f())
    assert build_worksheet(qos, make_z9864f(), links, 9216, RTT) == {}


def test_per_group_headroom_next_to_fixed_pools_has_to_fit() -> None:
    model = make_sn5600()
    model = replace(model, buffers=replace(model.buffers, formula=None))
    found = find_headroom(model.buffers, 400, 40, 9216)
    assert found is not None
    group = PortGroup(400, 128, 4, found)
    assert divide_buffer(model.buffers, (group,), 2).used_bytes == 52_161_690 + 2 * 128 * 303_104
    inside = replace(model.buffers, pools=replace(model.buffers.pools, size_includes_headroom=True))
    assert divide_buffer(inside, (group,), 1).shared_bytes == 52_161_690 - 128 * 303_104


@pytest.mark.parametrize("name", ["7060x6-64pe", "z9664f", "z9864f", "7060dx5-64s", "ds4000"])
def test_worksheet_marks_assumed_pools_and_shows_the_alternative(
    name: str,
) -> None:
    model = Library().switch(name)
    links = {(400, 40): 32}
    qos, _, _ = switch_qos(CLASSES, model, links, 9216, RTT)
    (rows,) = build_worksheet(qos, model, links, 9216, RTT).values()
    (row,) = (row for row in rows if row.label == "ingress pool, if headroom were separate")
    assert row.source.startswith("assumed: ")
    assert "28657" in row.source
    assert row.value > model.buffers.total_bytes


def test_a_marked_class_has_thresholds_without_a_lossless_one() -> None:
    qos, findings, names = make_policy({(400, 40): 4, (400, 5): 2, (800, 5): 2}, classes=LOSSY)
    assert (findings, qos.pools, qos.watchdog) == ((), None, None)
    assert names == {(400, 40): "400g", (400, 5): "400g", (800, 5): "800g"}
    assert [(p.name, p.cable_m, p.headroom) for p in qos.profiles] == [("400g", 40, None), ("800g", 5, None)]
