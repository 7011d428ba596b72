"""Optics and cables between two cages fit both, use one protocol at both ends, and are long enough."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.base.documents.schema import breaches
from fabricc.catalog.load import load_catalog
from fabricc.catalog.model import Breakout
from fabricc.catalog.optics import (
    FIBRES,
    TABLE,
    End,
    Transceiver,
    cage_form,
    cage_of,
    choose_shortest,
    find_fits,
    form_factor,
    host_ends,
    load_optics,
    load_reaches,
    number_of,
    part_for,
    plugs_of_cage,
    reach_of,
)
from fabricc.front.planning.topology.attachments import list_port_splits
from tests.effort import scale_examples

CATALOG, _ = load_catalog()
MEDIA = sorted(load_reaches())
SWITCH_ENDS = sorted(
    {
        End(cage_form(group), use, model.vendor)
        for model in CATALOG.switches.values()
        for group in model.cages
        if group.fabric
        for use in group.breakouts
    },
    key=repr,
)
HOST_ENDS = sorted(
    {
        end
        for model in CATALOG.hosts.values()
        for ports, gbps in list_port_splits(model).items()
        for end in host_ends(model, ports, gbps)
    },
    key=repr,
)


def test_the_file_follows_its_schema_and_every_source_is_known() -> None:
    content = yaml.safe_load(TABLE.read_text("utf-8"))
    assert [breach.message for breach in breaches(content, "optics")] == []

    def cited(node: object) -> set[str]:
        if isinstance(node, dict):
            own = {node["source"]} if isinstance(node.get("source"), str) else set()
            return own.union(*map(cited, node.values()))
        return set().union(*map(cited, node)) if isinstance(node, list) else set()

    body = {key: value for key, value in content.items() if key != "sources"}
    assert cited(body) == set(content["sources"])


def test_every_use_of_a_transceiver_fills_whole_lanes_of_light_and_whole_connectors() -> None:
    for module in load_optics().transceivers:
        family = load_optics().families[module.family]
        for use in module.uses:
            assert use.speed_gbps % family.lane_gbps == 0, module.title
            sockets = len(module.connectors)
            assert use.children % sockets == 0 or sockets % use.children == 0, module.title


def test_every_host_of_the_catalog_has_a_cage() -> None:
    without = [
        (name, ports)
        for name, model in CATALOG.hosts.items()
        for ports, gbps in list_port_splits(model).items()
        if model.gpus and not host_ends(model, ports, gbps)
    ]
    assert without == []


def test_form_factor_follows_from_lanes_unless_the_model_sets_it() -> None:
    forms = {
        name: {cage_form(group) for group in CATALOG.switches[name].cages if group.fabric}
        for name in ("sn3700", "sn4700", "sn5600", "linux-16x100", "7280r4-32qf-32df")
    }
    assert forms == {
        "sn3700": {"qsfp56"},
        "sn4700": {"qsfp-dd"},
        "sn5600": {"osfp"},
        "linux-16x100": {"qsfp28"},
        "7280r4-32qf-32df": {"osfp", "qsfp112"},
    }
    assert form_factor(1, [Breakout(1, 25, 1)]) == "sfp28"


def test_two_connectx_7_of_a_dgx_h100_share_a_cage() -> None:
    (end,) = host_ends(CATALOG.hosts["dgx-h100"], 1, 400)
    assert (end.form_factor, end.use) == ("osfp-rhs", Breakout(2, 400, 4))


@pytest.mark.parametrize(
    ("host", "ports", "gbps", "form", "use"),
    [
        ("dgx-b300", 2, 400, "osfp-rhs", Breakout(2, 400, 4)),
        ("dgx-b300", 8, 100, "osfp-rhs", Breakout(8, 100, 1)),
        ("dgx-h100", 2, 200, "osfp-rhs", Breakout(4, 200, 2)),
        ("hgx-8gpu", 2, 200, "osfp-rhs", Breakout(2, 200, 2)),
        ("mi355x-pollara", 4, 100, "qsfp112", Breakout(4, 100, 1)),
        ("dgx-a100", 2, 100, "qsfp56", Breakout(2, 100, 2)),
    ],
)
def test_planes_split_the_cage_of_a_nic_and_add_none(
    host: str, ports: int, gbps: int, form: str, use: Breakout
) -> None:
    model = CATALOG.hosts[host]
    ends = host_ends(model, ports, gbps)
    assert End(form, use, model.nic.vendor) in ends
    assert {end.use.children for end in ends} == {use.children}
    cages = {cage_of(model, ends, nic, port)[0] for nic in range(model.rails) for port in range(ports)}
    children = {cage_of(model, ends, nic, port) for nic in range(model.rails) for port in range(ports)}
    assert len(cages) == (len(model.cages) or model.rails)
    assert len(children) == model.rails * ports


@settings(max_examples=scale_examples(400), deadline=None)
@given(
    st.sampled_from(SWITCH_ENDS), st.sampled_from(SWITCH_ENDS + HOST_ENDS), st.sampled_from(MEDIA),
    st.integers(1, 20_000), st.booleans(),
)  # fmt: skip
def test_chosen_parts_fit_both_ends_and_reach(
    near: End, far: End, medium: str, metres: int, alone: bool
) -> None:
    fit = choose_shortest(find_fits(near, far, medium, alone=alone), metres, near, far)
    if fit is None:
        return
    assert reach_of(fit) >= metres
    if medium in FIBRES:
        assert fit.near is not None
        assert fit.far is not None
        assert fit.near.family == fit.far.family
        assert load_optics().families[fit.near.family].medium == medium
        for end, module in ((near, fit.near), (far, fit.far)):
            assert module.form_factor in plugs_of_cage(end.form_factor)
            assert end.use in module.uses
            if part := part_for(module.parts, end, metres):
                assert part.reach_m is None or part.reach_m >= metres
    else:
        assert fit.cable is not None
        assert fit.cable.medium == medium
        assert (
            max(near.use.children, far.use.children) in fit.cable.fan or near.use.children == far.use.children
        )


TWIN, FLAT = End("osfp", Breakout(2, 400, 4), "nvidia"), End("osfp-rhs", Breakout(1, 400, 4), "nvidia")


def test_twin_port_cage_connects_two_nics() -> None:
    copper = choose_shortest(find_fits(TWIN, FLAT, "dac", alone=False), 2, TWIN, FLAT)
    assert copper is not None
    assert copper.cable is not None
    (part,) = copper.cable.parts
    assert [number_of(part, metres) for metres in (1, 2, 3)] == [
        "MCP7Y00-N001",
        "MCP7Y00-N002",
        "MCP7Y00-N003",
    ]
    near, far = choose_shortest(find_fits(TWIN, FLAT, "mmf", alone=False), 50, TWIN, FLAT), None
    assert near is not None
    assert near.near is not None
    assert near.far is not None
    numbers = [part_for(module.parts, TWIN, 50) for module in (near.near, near.far)]
    assert [part and part.number for part in numbers] == ["MMA4Z00-NS", "MMA4Z00-NS400"]
    assert choose_shortest(find_fits(TWIN, FLAT, "mmf", alone=False), 101, TWIN, FLAT) is far
    assert find_fits(TWIN, FLAT, "aoc", alone=False) == ()


def test_copper_is_never_split_at_both_ends_and_fibre_of_two_connectors_may_part() -> None:
    assert find_fits(TWIN, TWIN, "dac", alone=False) == ()
    assert choose_shortest(find_fits(TWIN, TWIN, "dac", alone=True), 2, TWIN, TWIN) is not None
    assert choose_shortest(find_fits(TWIN, TWIN, "smf", alone=False), 100, TWIN, TWIN) is not None
    four = End("osfp", Breakout(4, 200, 2), "nvidia")
    assert find_fits(four, four, "smf", alone=False) == ()


def test_xdr_has_single_mode_modules_alone() -> None:
    """NVIDIA's list of 200G-PAM4 parts: finned twin-port modules in Q3400, flat ones in ConnectX-8, no multimode."""
    group = CATALOG.switches["q3400"].cages[0]
    switch = End(cage_form(group), group.breakouts[0], "nvidia", "infiniband")
    (host,) = (
        each._replace(protocol="infiniband") for each in host_ends(CATALOG.hosts["gb300-nvl72"], 1, 800)
    )
    numbers = {
        part.number
        for far in (switch, host)
        for fit in find_fits(switch, far, "smf", alone=False)
        for module in (fit.near, fit.far)
        if isinstance(module, Transceiver)
        for part in module.parts
    }
    assert numbers == {"MMS4A00-XM", "MMS4A20-XM800"}
    assert find_fits(switch, host, "mmf", alone=False) == ()


def test_passive_copper_does_not_change_the_lanes_and_retimed_copper_does() -> None:
    eight, four = End("qsfp-dd", Breakout(1, 400, 8), "nvidia"), End("qsfp112", Breakout(1, 400, 4), "nvidia")
    assert find_fits(eight, four, "dac", alone=True) == ()
    assert choose_shortest(find_fits(eight, four, "aec", alone=True), 5, eight, four) is not None
    assert choose_shortest(find_fits(eight, four, "smf", alone=True), 500, eight, four) is not None


def test_part_power_is_a_figure_of_the_vendor() -> None:
    table = load_optics()
    parts = [part for item in (*table.transceivers, *table.assemblies) for part in item.parts]
    known = {part.number: part.power for part in parts if part.power is not None}
    assert (known["MMA4Z00-NS400"].typical_w, known["MMA4Z00-NS400"].maximum_w) == (8, 9)
    assert known["MMS4X00-NS"].maximum_w == 17
    assert known["MCA7J70"].maximum_w == 1.5 + 4 * 0.3
