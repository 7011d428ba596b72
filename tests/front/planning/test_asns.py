"""ASNs of a 16-bit base: the closed form in a smaller block, for fabrics that it can hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.fabric import links
from fabricc.fabric.addresses import asn_block
from fabricc.fabric.shape import TierName
from tests.front.planning.support import fabric_of, make_document, planned

PRIVATE = range(64_512, 65_535)


@pytest.mark.parametrize(("base", "last", "tors"), [
    (64_512, 65_534, 512), (65_000, 65_511, 256), (65_024, 65_534, 256), (65_520, 65_534, 8),
    (4_200_000_000, 4_201_048_575, 1 << 19),
])  # fmt: skip
def test_a_block_is_the_largest_power_of_two_that_fits_below_65536(base: int, last: int, tors: int) -> None:
    block = asn_block(base)
    assert (block.last, block.tors) == (last, tors)


@pytest.mark.parametrize("spine_asn", ["shared", "unique"])
def test_a_fabric_of_2048_gpus_has_16_bit_asns_that_are_private_and_its_tors_own(spine_asn: str) -> None:
    gpus = {"hosts": 256, "hosts_per_unit": 32}
    fabric = fabric_of(make_document(gpus=gpus, routing={"asn_base": 64512, "spine_asn": spine_asn}))
    found = {at: links.switch_asn(fabric, at) for at in fabric.switch_ids()}
    tors = [asn for at, asn in found.items() if at.tier is TierName.TOR]
    above = {asn for at, asn in found.items() if at.tier is not TierName.TOR}
    assert set(found.values()) <= set(PRIVATE)
    assert len(tors) == len(set(tors)) == 64
    assert not above & set(tors)
    assert len(above) == (1 if spine_asn == "shared" else len(found) - 64)


def test_small_asn_block_is_rejected_and_a_4_byte_base_fits() -> None:
    gpus = {"hosts": 4096, "hosts_per_unit": 32}
    tight = make_document(gpus=gpus, routing={"asn_base": 65000}, cores={"model": "sn5400", "nos": "frr"})
    (found,) = [each for each in planned(tight).diagnostics if each.code == "FAB3120"]
    assert found.message.startswith("AS 65000 to 65511 are too few for 128 units of 8 ToRs")
    assert found.message.endswith("ToRs need 2^10 by the strides of the plan and have 2^8")
    assert "asn_base: 4200000000" in found.help
    fabric_of(tight | {"routing": {"asn_base": 4_200_000_000}})


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4))
def test_growth_renumbers_no_16_bit_asn(units: int, more: int) -> None:
    def sized(count: int) -> dict[str, object]:
        return make_document(gpus={"hosts": 32 * count, "capacity": 256}, routing={"asn_base": 64512})

    first = planned(sized(units))
    assert first.fabric is not None
    before = {first.fabric.name(at): links.switch_asn(first.fabric, at) for at in first.fabric.switch_ids()}
    grown = fabric_of(sized(units + more), first.lock)
    after = {grown.name(at): links.switch_asn(grown, at) for at in grown.switch_ids()}
    assert before.items() <= after.items()
    assert len({after[name] for name in after if "tor" in name}) == 8 * (units + more)
