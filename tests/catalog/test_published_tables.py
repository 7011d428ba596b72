"""The catalog's lossless rows are the published ones, figure for figure."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from fabricc.catalog import load_catalog

CATALOG, _ = load_catalog()
FACTS = Path(__file__).parents[3] / "shared" / "reference" / "platform-facts.yaml"
SPEEDS = (10, 25, 40, 50, 100, 200, 400, 800)

# xoff by length (rows) and speed (columns); sonic-buildimage ACS-MSN4700, ACS-SN5600, Dell-Z9864f-O64.
SN4700 = {
    5: (32768, 32768, 33792, 33792, 33792, 35840, 38912),
    40: (33792, 35840, 37888, 38912, 44032, 55296, 77824),
    300: (40960, 54272, 66560, 75776, 117760, 203776, 373760),
}
SN5600 = {
    5: (45056, 48128, 57344, 63488, 113664, 131072, 231424, 257024),
    40: (46080, 52224, 62464, 69632, 126976, 157696, 283648, 362496),
    300: (56320, 76800, 101376, 118784, 225280, 355328, 677888, 1150976),
}
Z9864F = {
    5: (91440, 91440, 106934, 106934, 147066, 229362, 393192, 729488),
    40: (94742, 94742, 113538, 113538, 160274, 255778, 446024, 835406),
    300: (258572, 258572, 258572, 258572, 258572, 452374, 839216, 1621536),
}
# 7800R3A-36D2: speed -> (alpha exponent, xon_offset, xoff by length).
CHASSIS_CABLES = (300, 1000, 2000, 80_000, 120_000)
CHASSIS = {
    40: (-6, 181753, (69632, 114688, 184320, 5369856, 8028160)),
    100: (-6, 363506, (110592, 225280, 393216, 13357056, 20004864)),
    400: (-5, 1454025, (315392, 778240, 1445888, 53305344, 79900672)),
}


def rows_of(name: str):
    return {(row.speed_gbps, row.cable_m): row for row in CATALOG.switches[name].buffers.rows}


@pytest.mark.parametrize(
    ("name", "published"), [("sn4700", SN4700), ("sn5400", SN5600), ("sn5600", SN5600), ("z9864f", Z9864F)]
)
def test_xoff_is_as_published(name: str, published: dict[int, tuple[int, ...]]):
    expected = {
        (speed, cable): xoff
        for cable, row in published.items()
        for speed, xoff in zip(SPEEDS, row, strict=False)
    }
    assert {key: row.xoff_bytes for key, row in rows_of(name).items()} == expected


def test_sizes_and_thresholds_are_as_published():
    for (speed, _), row in rows_of("sn4700").items():
        xon, extra = (37888, 9216) if speed == 400 else (19456, 0)
        assert (row.xon_bytes, row.size_bytes) == (xon, xon + row.xoff_bytes + extra)
        assert (row.dynamic_th, row.xon_offset_bytes) == (0, None)
    extras = {(800, 5): 8192, (800, 40): 9216, (800, 300): 8192, (40, 5): -1024}
    for key, row in rows_of("sn5600").items():
        xon = 38912 if key[0] == 800 else 19456
        assert (row.xon_bytes, row.size_bytes) == (xon, xon + row.xoff_bytes + extras.get(key, 0))
    for row in rows_of("z9864f").values():
        assert (row.size_bytes, row.xon_bytes, row.dynamic_th, row.xon_offset_bytes) == (18796, 0, 0, 3556)


@pytest.mark.parametrize("name", ["7816r3", "7808r3"])
def test_the_chassis_has_the_published_deep_buffer_rows(name: str):
    rows = rows_of(name)
    assert len(rows) == len(CHASSIS) * len(CHASSIS_CABLES)
    for speed, (exponent, offset, xoffs) in CHASSIS.items():
        for cable, xoff in zip(CHASSIS_CABLES, xoffs, strict=True):
            row = rows[speed, cable]
            assert (row.size_bytes, row.xon_bytes, row.xoff_bytes) == (0, 2560, xoff)
            assert (row.dynamic_th, row.xon_offset_bytes) == (exponent, offset)


@pytest.mark.parametrize("name", ["7280r4-32qf-32df", "7808r4", "7816lr4"])
def test_an_r4_has_the_one_published_table_of_its_generation(name: str):
    rows = rows_of(name)
    near = {40: 176128, 100: 385024, 400: 1441792, 800: 2850816}
    far = {40: 8024064, 100: 20000768, 400: 79900672, 800: 159764480}
    alphas = {40: -6, 100: -6, 400: -5, 800: -4}
    assert {speed for speed, _ in rows} == near.keys()
    for speed, xoff in near.items():
        assert [rows[speed, cable].xoff_bytes for cable in (30, 300, 1000, 2000)] == [xoff] * 4
        assert rows[speed, 120000].xoff_bytes == far[speed]
        assert {row.dynamic_th for (at, _), row in rows.items() if at == speed} == {alphas[speed]}
    assert {(row.size_bytes, row.xon_bytes) for row in rows.values()} == {(0, 2560)}


def test_single_published_figures():
    assert rows_of("z9664f")[400, 40].xoff_bytes == 424434
    assert {rows_of("7060x6-64pe")[400, cable].xoff_bytes for cable in (5, 40, 150)} == {612140}
    assert rows_of("qfx5220-32cd")[400, 300].xoff_bytes == 373888


@pytest.mark.parametrize(
    ("name", "platform", "hwsku"),
    [
        ("sn3700", "x86_64-mlnx_msn3700-r0", "ACS-MSN3700"),
        ("sn4700", "x86_64-mlnx_msn4700-r0", "ACS-MSN4700"),
        ("sn5400", "x86_64-nvidia_sn5400-r0", "ACS-SN5400"),
        ("sn5600", "x86_64-nvidia_sn5600-r0", "ACS-SN5600"),
        ("z9664f", "x86_64-dell_z9664f-r0", "DellEMC-Z9664f-O64"),
        ("z9864f", "x86_64-dell_z9864f-r0", "Dell-Z9864f-O64"),
        ("7060x6-64pe", "x86_64-arista_7060x6_64pe", "Arista-7060X6-64PE-O128S2"),
        ("7060dx5-64s", "x86_64-arista_7060dx5_64s", "Arista-7060DX5-64S"),
        ("ds4000", "x86_64-cel_silverstone-r0", "Silverstone"),
        ("sn3700c", "x86_64-mlnx_msn3700c-r0", "ACS-MSN3700C"),
        ("sn4600c", "x86_64-mlnx_msn4600c-r0", "ACS-MSN4600C"),
        ("7060dx5-32", "x86_64-arista_7060dx5_32", "Arista-7060DX5-32"),
        ("7060x6-32pe", "x86_64-arista_7060x6_32pe", "Arista-7060X6-32PE"),
        ("7060x6-64de", "x86_64-arista_7060x6_64de", "Arista-7060X6-64DE"),
        ("7060x6-64pe-b", "x86_64-arista_7060x6_64pe_b", "Arista-7060X6-64PE-B-O128"),
        ("7220-h5-64d", "x86_64-nokia_ixr7220_h5_64d-r0", "Nokia-IXR7220-H5-64D"),
        ("as9716-32d", "x86_64-accton_as9716_32d-r0", "Accton-AS9716-32D"),
        ("z9332f", "x86_64-dellemc_z9332f_d1508-r0", "DellEMC-Z9332f-O32"),
        ("z9432f", "x86_64-dellemc_z9432f_c3758-r0", "DellEMC-Z9432f-O32"),
    ],
)
@pytest.mark.spread
def test_sonic_platforms_agree_with_the_reference_sheet(name: str, platform: str, hwsku: str):
    if not FACTS.exists():
        pytest.skip("the reference sheet platform-facts.yaml is not beside this checkout")
    facts = yaml.load(FACTS.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    sheet = next(entry for entry in facts["platforms"] if entry["onie_platform"] == platform)
    sku = sheet["hwskus"][hwsku]
    model = CATALOG.switches[name]
    sonic = model.nos["sonic"]
    services = sonic.get("service_ports", [])
    assert (sonic["platform"], sonic["hwsku"]) == (platform, hwsku)
    children, rest = divmod(sku["ports"] - len(services), len(sonic["lanes"]))
    assert rest == 0, "the SKU splits every cage alike"
    lanes = len(sonic["lanes"][0]) // children
    assert sku["first"]["lanes"] == ",".join(map(str, sonic["lanes"][0][:lanes]))
    last = services[-1]["lanes"] if services else sonic["lanes"][-1][-lanes:]
    assert sku["last"]["lanes"] == ",".join(map(str, last))
    if services:
        assert (sku["last"]["name"], sku["last"]["alias"]) == (services[-1]["name"], services[-1]["alias"])
    if "platform_json" in sheet:
        assert set(sonic["breakouts"].values()) <= set(sheet["platform_json"]["groups"][0]["breakout_modes"])
    published = facts["pg_profile_tables"].get(sku.get("pg_table"), [])
    listed = {(row.speed_gbps, row.cable_m): row for row in model.buffers.rows}
    for speed, cable, size, xon, xoff, exponent, offset in published:
        row = listed[speed // 1000, int(cable.removesuffix("m"))]
        assert (row.size_bytes, row.xon_bytes, row.xoff_bytes) == (size, xon, xoff)
        assert (row.dynamic_th, row.xon_offset_bytes) == (exponent, offset)
