"""A setting that a release lacks is refused before anything is written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.eos import EOS, FILE
from fabricc.back.nos.eos.limits import RELEASES
from fabricc.fabric.model import Direction
from fabricc.fabric.qos import Trimming
from fabricc.fabric.routing import LoadBalancing, Spreading
from tests.back.nos.eos.variants import variant

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch


def with_balancing(name: str, release: str, balancing: LoadBalancing) -> Switch:
    return replace(variant(name), release=release, load_balancing=balancing)


def fatal_codes(switch: Switch) -> set[str]:
    return {gap.code for gap in EOS.gaps(switch) if gap.fatal}


def test_the_sand_family_hashes_queue_pairs_from_4_33() -> None:
    wanted = LoadBalancing(queue_pairs=True)
    refused = {r for r in RELEASES if "FAB5119" in fatal_codes(with_balancing("sand-numbered", r, wanted))}
    assert refused == {"4.30", "4.31", "4.32"}
    assert not any("FAB5119" in fatal_codes(with_balancing("trident-numbered", r, wanted)) for r in RELEASES)


@pytest.mark.parametrize("mode", [Spreading.FLOWLET, Spreading.PACKET])
def test_dynamic_load_balancing_is_the_trident_family_s(mode: Spreading) -> None:
    assert fatal_codes(with_balancing("trident-numbered", "4.34", LoadBalancing(mode))) == set()
    assert fatal_codes(with_balancing("sand-numbered", "4.34", LoadBalancing(mode))) == {"FAB5117"}


@pytest.mark.parametrize("name", ["trident-numbered", "sand-numbered"])
def test_cluster_load_balancing_is_written_on_tors_from_4_34(name: str) -> None:
    wanted = LoadBalancing(Spreading.CLUSTER)
    assert {r for r in RELEASES if "FAB5117" in fatal_codes(with_balancing(name, r, wanted))} == set(
        RELEASES[:4]
    )
    switch = with_balancing(name, "4.34", wanted)
    text = EOS.render(switch)[FILE]
    block = text[text.index("load-balance cluster\n") :]
    hosts = [port.name for port in switch.ports if port.direction is Direction.HOST]
    (aggregate,) = (each for each in switch.bgp.aggregates if ":" not in each)
    assert f"   destination grouping prefix length {aggregate.partition('/')[2]}\n" in block
    reading = EOS.read({FILE: text})
    assert (reading.unknown, reading.facts) == ([], EOS.planned(switch))
    assert reading.facts["load_balancing/mode"] == "cluster"
    assert reading.facts["load_balancing/cluster/group[HOSTS]"] == ",".join(hosts)
    assert ("FAB5121", False) in [(gap.code, gap.fatal) for gap in EOS.gaps(switch)]
    silent = replace(switch, bgp=replace(switch.bgp, aggregates=()))
    assert "FAB5117" in fatal_codes(silent)


def test_access_networks_do_not_guard_an_ipv6_management_address() -> None:
    switch = variant("trident-settings")
    management = replace(switch.management, address="2001:db8::b/64", gateway="2001:db8::1")
    assert "FAB5122" not in fatal_codes(switch)
    assert "FAB5122" in fatal_codes(replace(switch, management=management))


def test_packet_spraying_warns_that_it_is_untested() -> None:
    before = EOS.gaps(variant("trident-numbered"))
    gaps = EOS.gaps(with_balancing("trident-numbered", "", LoadBalancing(Spreading.PACKET)))
    assert [(gap.code, gap.fatal) for gap in gaps if gap not in before] == [("FAB5121", False)]


def test_a_flowlet_pause_is_written_where_there_is_dynamic_load_balancing() -> None:
    wanted = LoadBalancing(Spreading.FLOWLET, flowlet_idle_us=64)
    switch = with_balancing("trident-numbered", "4.34", wanted)
    start = "\nip hardware fib load-balance distribution dynamic"
    text = EOS.render(switch)[FILE]
    assert f"{start}{start} inactivity-threshold 64 microseconds\n" in text
    reading = EOS.read({FILE: text})
    assert (reading.unknown, reading.facts) == ([], EOS.planned(switch))
    assert reading.facts["load_balancing/flowlet_idle_us"] == 64
    assert ("FAB5121", False) in [(gap.code, gap.fatal) for gap in EOS.gaps(switch)]
    assert fatal_codes(switch) == set()
    assert fatal_codes(with_balancing("sand-numbered", "4.34", wanted)) == {"FAB5117", "FAB5118"}
    alone = EOS.read({FILE: text.replace(start, "", 1)})
    assert alone.unknown


def test_trimming_and_link_layer_retry_have_no_commands() -> None:
    switch = variant("trident-numbered")
    qos = replace(switch.qos, trimming=Trimming(256, 10, 4, (0,)), link_retry=True)
    gaps = [gap for gap in EOS.gaps(replace(switch, qos=qos)) if gap.fatal]
    assert [gap.code for gap in gaps] == ["FAB5120", "FAB5120"]
    assert all(gap.source for gap in gaps)
