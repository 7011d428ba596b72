"""Headroom tables as makers ship them, from sonic-buildimage device/*/pg_profile_lookup.ini, and test switches."""

from __future__ import annotations

from fabricc.catalog.model import (
    Breakout,
    Buffers,
    CageGroup,
    HeadroomRow,
    Pools,
    SpectrumFigures,
    SwitchModel,
)

Table = dict[int, dict[int, int]]
"""Cable length in metres -> speed in Gb/s -> xoff in bytes."""


def _make_table(speeds: tuple[int, ...], **rows: tuple[int, ...]) -> Table:
    return {int(length[1:]): dict(zip(speeds, xoffs, strict=True)) for length, xoffs in rows.items()}


SN2700 = _make_table(
    (10, 25, 40, 50, 100),
    m5=(29696, 29696, 29696, 29696, 30720),
    m40=(29696, 31744, 32768, 33792, 38912),
    m300=(36864, 48128, 59392, 66560, 104448),
)
SN4700 = _make_table(
    (10, 25, 40, 50, 100, 200, 400),
    m5=(32768, 32768, 33792, 33792, 33792, 35840, 38912),
    m40=(33792, 35840, 37888, 38912, 44032, 55296, 77824),
    m300=(40960, 54272, 66560, 75776, 117760, 203776, 373760),
)
SN5600 = _make_table(
    (10, 25, 40, 50, 100, 200, 400, 800),
    m5=(45056, 48128, 57344, 63488, 113664, 131072, 231424, 257024),
    m40=(46080, 52224, 62464, 69632, 126976, 157696, 283648, 362496),
    m300=(56320, 76800, 101376, 118784, 225280, 355328, 677888, 1150976),
)
SN5640_C512S2 = _make_table(
    (10, 25, 50, 100, 200, 400),
    m5=(20480, 21504, 26624, 44032, 50176, 86016),
    m30=(20480, 22528, 27648, 48128, 57344, 99328),
    m40=(20480, 22528, 28672, 49152, 60416, 104448),
    m250=(23552, 29696, 43008, 76800, 116736, 217088),
    m300=(23552, 30720, 46080, 83968, 130048, 243712),
    m1000=(33792, 54272, 93184, 177152, 317440, 619520),
)
SN5600_V256 = _make_table(
    (10, 25, 40, 50, 100, 200, 400, 800),
    m5=(33792, 35840, 41984, 46080, 79872, 91136, 157696, 175104),
    m40=(34816, 37888, 45056, 50176, 88064, 108544, 192512, 245760),
    m300=(40960, 54272, 71680, 82944, 153600, 240640, 455680, 771072),
)
Z9864F = _make_table(
    (10, 25, 40, 50, 100, 200, 400, 800),
    m5=(91440, 91440, 106934, 106934, 147066, 229362, 393192, 729488),
    m40=(94742, 94742, 113538, 113538, 160274, 255778, 446024, 835406),
    m300=(258572, 258572, 258572, 258572, 258572, 452374, 839216, 1621536),
)

Z9332F = _make_table(
    (100, 400),
    m5=(68580, 178562),
    m40=(74422, 201930),
    m300=(117348, 373888),
    m1000=(233172, 836676),
    m2000=(398526, 1498092),
)
TH2_RDMA_CENTRIC = _make_table(
    (40, 50, 100), m5=(29536, 54080, 54080), m40=(31616, 59696, 59696), m300=(48256, 101088, 101088)
)
NOKIA_H6 = _make_table(
    (10, 25, 40, 50, 100, 200, 400, 800),
    m5=(54180, 80220, 100380, 135660, 125580, 261660, 464520, 797580),
    m30=(55860, 80220, 105840, 141960, 130200, 270900, 483420, 835380),
    m40=(56280, 80220, 107940, 144480, 131880, 274260, 490980, 850080),
    m300=(69300, 119280, 162540, 212940, 180180, 371700, 686280, 1239840),
    m500=(79380, 149520, 204540, 265860, 217560, 446880, 836640, 1539720),
)
R7800 = _make_table(
    (40, 100, 400),
    m300=(69632, 110592, 315392),
    m1000=(114688, 225280, 778240),
    m2000=(184320, 393216, 1445888),
    m80000=(5369856, 13357056, 53305344),
    m120000=(8028160, 20004864, 79900672),
)

CELL_TABLES: dict[str, tuple[int, Table, tuple[int, ...]]] = {
    "Z9864F": (254, Z9864F, (18796, 3556)),
    "Z9332F": (254, Z9332F, (2540, 2540)),
    "TH2-RDMA-CENTRIC": (208, TH2_RDMA_CENTRIC, (1248, 2496)),
    "Nokia-H6": (420, NOKIA_H6, (8400, 4200)),
}
"""Tables of Tomahawk 5, 3, 2 and 6: cell, xoff, and the other figures of every row."""

AT_400G_40M = {
    "Z9664F": 424434,
    "7060X6-O128S2": 612140,
    "7060X6-B-O128": 445770,
    "Teralynx 10": 147072,
    "SN5640-C512S2": 104448,
    "7280DR3A": 1495040,
}
"""Further published xoff at 400G and 40 m, by box."""

SPECTRUM1 = SpectrumFigures(96, 19, 0.8, 1024, 100, False)
SPECTRUM3 = SpectrumFigures(144, 19, 0.8, 1024, 100, False)
SPECTRUM4 = SpectrumFigures(192, 19, 0.8, 1024, 100, True)

_SN5600_SIZE_EXCEPTIONS = {(40, 5): 75776, (800, 5): 304128, (800, 40): 410624, (800, 300): 1198080}


def _sn5600_row(speed: int, length: int, xoff: int) -> HeadroomRow:
    xon = 38912 if speed == 800 else 19456
    size = _SN5600_SIZE_EXCEPTIONS.get((speed, length), xon + xoff)
    return HeadroomRow(speed, length, size, xon, xoff, 0)


SN5600_SIZES = {
    (speed, length): _sn5600_row(speed, length, xoff).size_bytes
    for length, by_speed in SN5600.items()
    for speed, xoff in by_speed.items()
}


def make_sn5600(*, table: bool = True) -> SwitchModel:
    """64 cages of 800G with the shipped table of ACS-SN5600 and the pools of its leaf role."""
    rows = tuple(
        _sn5600_row(speed, length, xoff)
        for length, by_speed in SN5600.items()
        for speed, xoff in by_speed.items()
    )
    pools = Pools(52_161_690, 0, 158_229_504, 52_161_690, False, False)
    buffers = Buffers(167_772_160, 192, rows if table else (), SPECTRUM4, pools, 2)
    return _make_switch("sn5600", "NVIDIA SN5600", buffers)


def make_z9864f() -> SwitchModel:
    """64 cages of 800G with a shared headroom pool: the shipped table and pools of Dell-Z9864f-O64."""
    rows = tuple(
        HeadroomRow(speed, length, 18796, 0, xoff, 0, 3556)
        for length, by_speed in Z9864F.items()
        for speed, xoff in by_speed.items()
    )
    pools = Pools(162_539_680, 33_374_584, 165_867_080, None, True, True)
    return _make_switch("z9864f", "Dell Z9864F-ON", Buffers(165_867_080, 254, rows, None, pools, 2))


def _make_switch(name: str, title: str, buffers: Buffers) -> SwitchModel:
    breakouts = (Breakout(1, 800, 8), Breakout(2, 400, 4), Breakout(4, 200, 2), Breakout(8, 100, 1))
    return SwitchModel(
        name=name,
        title=title,
        vendor="sample",
        asic="sample",
        asic_family="sample",
        chassis=False,
        cages=(CageGroup(1, 64, 8, breakouts),),
        ecmp_max_paths=128,
        forwarding_latency_ns=800,
        buffers=buffers,
        nos={},
    )
