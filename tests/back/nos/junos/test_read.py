"""The reader: what is rendered reads back as planned, in both forms, and so does what a device prints."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back.nos.exec_commands import Inactive, find_inactive
from fabricc.back.nos.junos import FILE, JUNOS
from fabricc.back.nos.junos.non_forwarding import exec_lines
from fabricc.back.nos.junos.words import SPEEDS, quote_text
from fabricc.back.reading.tree import braces
from fabricc.fabric.model import Account
from fabricc.fabric.qos import Headroom
from fabricc.fabric.routing import PrefixRule
from tests.back.nos.changed import NAMES, POSITIVE, any_bgp, any_qos, shared_out
from tests.back.nos.junos.variants import VARIANTS, large_switch, variant
from tests.effort import scale_examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.back.reading.tree import Node
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch


def text_of(name: str = "evo-numbered") -> str:
    return JUNOS.render(variant(name))[FILE]


def read(text: str) -> Facts:
    reading = JUNOS.read({FILE: text})
    assert reading.unknown == []
    return reading.facts


def as_commands(text: str) -> list[str]:
    """The same configuration as `show configuration | display set` prints it."""
    lines: list[str] = []

    def walk(nodes: Sequence[Node], path: tuple[str, ...]) -> None:
        for node in nodes:
            if node.children is None:
                lines.append(" ".join(["set", *map(quote_text, (*path, *node.key))]))
            else:
                walk(node.children, (*path, *node.key))

    walk(braces(text).nodes, ())
    return lines


@pytest.mark.parametrize("name", VARIANTS)
def test_rendered_configuration_reads_back_as_planned(name: str) -> None:
    switch = variant(name)
    reading = JUNOS.read(JUNOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == JUNOS.planned(switch)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_set_form_has_the_same_facts(name: str) -> None:
    commands = as_commands(text_of(name))
    assert all(line.startswith("set ") for line in commands)
    assert read("\n".join(commands)) == JUNOS.planned(variant(name))


@pytest.mark.parametrize("name", VARIANTS)
def test_every_fact_of_a_rendered_file_has_its_line(name: str) -> None:
    reading = JUNOS.read(JUNOS.render(variant(name)))
    assert reading.facts.keys() == reading.lines.keys()
    assert all(file == FILE and line > 0 for file, line in reading.lines.values())


def test_a_fact_has_the_line_that_states_it() -> None:
    text = text_of()
    at = {number: line.strip() for number, line in enumerate(text.splitlines(), 1)}
    lines = JUNOS.read({FILE: text}).lines

    def read_line_of(path: str) -> str:
        return at[lines[path][1]]

    assert read_line_of("system/hostname") == "host-name su001-tor1a;"
    assert read_line_of("interface[et-0/0/1:1]/ipv4") == "address 10.0.0.2/31;"
    assert read_line_of("interface[et-0/0/1:1]/speed_gbps") == "speed 400g;"
    assert read_line_of("interface[et-0/0/1:1]/headroom/cable_m") == "cable-length 5;"
    assert read_line_of("interface[et-0/0/3:0]/queue[3]/scheduler") == "transmit-rate percent 85;"
    assert read_line_of("qos/dscp[26]/traffic_class") == "loss-priority low code-points [ 011010 ];"
    assert read_line_of("bgp/neighbor[10.64.0.0]/import") == "import FROM-UPSTREAM;"
    assert read_line_of("route_map[FROM-UPSTREAM]/10") == "accept;"


@st.composite
def draw_switches(draw: st.DrawFn) -> Switch:
    """Sample switches with other figures and names everywhere."""
    switch = variant(draw(st.sampled_from(VARIANTS)))
    offsets = st.none() | st.integers(0, 10**6)
    headrooms = st.builds(
        Headroom, st.integers(1, 2000), POSITIVE, POSITIVE, POSITIVE, offsets, st.integers(-9, 9), st.just("drawn")
    )  # fmt: skip
    qos = replace(any_qos(draw, switch.qos, headrooms), classes=shared_out(draw, switch.qos.classes))
    lengths = st.tuples(st.none() | st.integers(17, 20), st.none() | st.integers(20, 32))
    rules = st.lists(lengths, min_size=1, max_size=4).map(
        lambda spans: tuple(PrefixRule(f"10.{i}.0.0/16", *span) for i, span in enumerate(spans))
    )
    communities = st.sampled_from([None, "GRACEFUL-SHUTDOWN"])
    limits: Any = {"paths": 512, "bfd_ms": (1, 255_000), "bfd_multiplier": (1, 255)}
    bgp = any_bgp(draw, switch.bgp, rules, communities, **limits)
    asns = st.integers(1, 2**32 - 1)
    bgp = replace(
        bgp,
        aggregates=draw(st.sampled_from([switch.bgp.aggregates, ()])),
        sessions=tuple(replace(s, remote_asn=draw(asns)) for s in bgp.sessions),
    )
    speeds = {cage: draw(st.sampled_from(sorted(SPEEDS))) for cage in (1, 2, 3, 4)}
    ports = tuple(
        replace(
            port,
            speed_gbps=speeds[port.cage],
            lanes=draw(st.sampled_from([1, 2, 4])),
            mtu=draw(st.integers(1280, 9202)),
        )
        for port in switch.ports
    )
    users = tuple(
        Account(name, f'ssh-ed25519 {name} "quoted" \\ {{}};#') for name in draw(st.sets(NAMES, max_size=3))
    )
    management = replace(switch.management, users=users, ntp=(), dns=("10.9.0.10", "10.9.0.9"))
    return replace(switch, name=draw(NAMES), qos=qos, bgp=bgp, ports=ports, management=management)


@settings(max_examples=scale_examples(150), deadline=None)
@given(draw_switches())
def test_any_figures_read_back_as_planned(switch: Switch) -> None:
    text = JUNOS.render(switch)[FILE]
    for form in (text, "\n".join(as_commands(text))):  # a spec with figures out of a range has a gap
        found = {path: value for path, value in read(form).items() if not path.startswith("unread[")}
        assert found == JUNOS.planned(switch)


def test_a_large_switch_reads_back_as_planned() -> None:
    switch = large_switch()
    assert read(JUNOS.render(switch)[FILE]) == JUNOS.planned(switch)


# --- as a device prints it ---------------------------------------------------------------------------


def test_comments_and_another_order_of_sections_change_nothing() -> None:
    text = text_of()
    sections = [part + "\n}\n" for part in text.split("\n}\n") if part]
    printed = (
        "## Last commit: 2026-05-01 10:00:00 UTC by netops\nversion 24.4R1.8-EVO;\n"
        + "/* the whole\n   fabric */\n".join(reversed(sections))
    ).replace('sample";', 'sample"; ## SECRET-DATA')
    facts = read(printed)
    assert facts.pop("platform/version") == "24.4R1.8-EVO"
    assert facts == read(text)


def test_set_commands_in_another_order_change_nothing() -> None:
    commands = as_commands(text_of("evo-dual"))
    ordered = [line for line in commands if re.search("policy-options|drop-profiles| export ", line)]
    others = [line for line in commands if line not in ordered]
    assert read("\n".join([*reversed(others), *ordered])) == read(text_of("evo-dual"))


def test_single_statements_without_braces_and_class_attributes_on_one_line_are_understood() -> None:
    text = text_of()
    assert "            then {\n                reject;\n            }\n" in text
    printed = text.replace(
        "            then {\n                reject;\n            }\n", "            then reject;\n"
    )
    start, end = printed.index("        class FC-RDMA {"), printed.index("        class FC-CNP {")
    printed = printed[:start] + "        class FC-RDMA queue-num 3 no-loss pfc-priority 3;\n" + printed[end:]
    assert read(printed) == read(text)


def test_attachments_by_pattern_are_each_interface_s() -> None:
    text = text_of("evo-lossy")
    start = text.index("    interfaces {", text.index("class-of-service {"))
    end = text.index("    scheduler-maps {")
    pattern = "interfaces { et-* { scheduler-map SM-LOSSY; unit * { classifiers { dscp DSCP; } } } }\n"
    assert read(text[:start] + pattern + text[end:]) == read(text)


@pytest.mark.parametrize("pattern", ["all", "et-*"])
def test_an_interface_s_own_entry_is_completed_by_those_for_several(pattern: str) -> None:
    text = text_of("evo-dual")
    bare, count = re.subn(r" +unit 0 \{\s+classifiers \{\s+dscp DSCP;\s+\}\s+\}\n", "", text)
    assert count == 5
    start = bare.index("    interfaces {\n", bare.index("class-of-service {")) + len("    interfaces {\n")
    shared = f"        {pattern} {{ scheduler-map NONE; unit * {{ classifiers {{ dscp DSCP; }} }} }}\n"
    assert read(bare[:start] + shared + bare[start:]) == read(text)


def test_a_class_by_pattern_is_of_ports_and_not_of_the_pattern() -> None:
    text = text_of("evo-lossy")
    start = text.index("    interfaces {", text.index("class-of-service {"))
    end = text.index("    scheduler-maps {")
    entry = "    interfaces { et-* { unit * { forwarding-class best-effort; } } }\n"
    facts = read(text[:start] + entry + text[end:])
    trusts = [path for path in facts if path.endswith("/trust")]
    assert trusts
    assert not [path for path in trusts if "*" in path]


def test_a_classifier_may_be_the_whole_interface_s_instead_of_its_unit_s() -> None:
    text = text_of("evo-dual")
    whole, count = re.subn(r"unit 0 \{\s+(classifiers \{\s+dscp DSCP;\s+\})\s+\}", r"\1", text)
    assert count == 5
    assert read(whole) == read(text)


def test_bgp_groups_inherit_protocol_settings() -> None:
    text = text_of()
    bfd = (
        "            bfd-liveness-detection {\n                minimum-interval 1000;\n"
        "                multiplier 3;\n            }\n"
    )
    assert bfd in text
    above = text.replace(bfd, "").replace(
        "        log-updown;\n", f"        log-updown;\n{bfd}        import FROM-UPSTREAM;\n"
    )
    above = above.replace("            import FROM-UPSTREAM;\n", "")
    assert read(above) == read(text)


@pytest.mark.parametrize("form", ["curly", "set"])
def test_inactive_statements_are_unknown(form: str) -> None:
    text = text_of()
    if form == "curly":
        changed = text.replace("        multiplier 3;", "        inactive: multiplier 3;").replace(
            "    lldp {", "    inactive: lldp {"
        )
    else:
        commands = as_commands(text)
        group = "deactivate protocols bgp group UPSTREAM bfd-liveness-detection multiplier 3"
        changed = "\n".join([*commands, "deactivate protocols lldp", group])
    assert changed != text
    reading = JUNOS.read({FILE: changed})
    statements = [statement for _, _, statement in reading.unknown]
    assert "inactive: protocols lldp interface all" in statements
    assert "platform/lldp/ports" not in reading.facts
    assert any("multiplier" in statement for statement in statements)
    assert reading.facts["bfd/interval_ms"] == 1000


def test_delete_removes_statements_before_it() -> None:
    group = "protocols bgp group UPSTREAM"
    commands = as_commands(text_of())
    reading = JUNOS.read({FILE: "\n".join([f"delete {group}", *commands, f"delete {group} import"])})
    assert "bgp/neighbor[10.64.0.0]/export" in reading.facts
    assert "bgp/neighbor[10.64.0.0]/import" not in reading.facts
    assert [*find_inactive("junos", {}, reading.unknown)] == [
        Inactive(FILE, len(commands) + 2, f"{group} import", 1)
    ]


def test_commands_have_no_place_between_braces() -> None:
    lines = ("set cli screen-length 0", "set interfaces et-0/0/8 disable", "delete protocols bgp;")
    text = text_of() + "\n".join(lines)
    assert [each.text for each in exec_lines(text) if each.misplaced] == [*lines[1:]]


def test_statements_of_unknown_meaning_are_listed_with_their_lines() -> None:
    text = (
        "system {\n    host-name a;\n    ports {\n        console log-out-on-disconnect;\n    }\n}\n"
        'protocols {\n    gmp {\n        area 0.0.0.0 {\n            interface "all";\n        }\n    }\n}\n'
        "apply-groups [ re0 re1 ];\n"
    )
    reading = JUNOS.read({FILE: text})
    assert reading.facts == {"system/hostname": "a"}
    assert reading.unknown == [
        (FILE, 4, "system ports console log-out-on-disconnect"),
        (FILE, 10, "protocols gmp area 0.0.0.0 interface all"),
        (FILE, 14, "apply-groups re0"),
        (FILE, 14, "apply-groups re1"),
    ]


def test_last_of_repeated_values_counts_and_the_first_is_unknown() -> None:
    reading = JUNOS.read({FILE: "set system host-name a\nset system host-name b\ndelete system ntp\n"})
    assert reading.facts == {"system/hostname": "b"}
    assert reading.unknown == [(FILE, 1, "system host-name a"), (FILE, 3, "delete system ntp")]


WORDS = sorted({word for name in VARIANTS for word in text_of(name).split()})
PIECES = st.sampled_from([*WORDS, "{", "}", ";", "[", "]", '"', "inactive:", "#", "/*", "*/", "set"])
LINES = st.lists(PIECES | st.text(max_size=4), max_size=7).map(" ".join)


@settings(max_examples=scale_examples(200), deadline=None)
@given(st.lists(LINES, max_size=30))
def test_no_text_makes_the_reader_fail(lines: list[str]) -> None:
    reading = JUNOS.read({FILE: "\n".join(lines)})
    assert all(number >= 0 for _, number, _ in reading.unknown)


@settings(max_examples=scale_examples(60), deadline=None)
@given(st.data())
def test_no_damage_to_a_line_makes_the_reader_fail(data: st.DataObject) -> None:
    lines = text_of("evo-dual").splitlines()
    for _ in range(8):
        index = data.draw(st.integers(0, len(lines) - 1))
        words = lines[index].split(" ")
        lines[index] = " ".join(words[: data.draw(st.integers(0, len(words)))])
    JUNOS.read({FILE: "\n".join(lines)})


def test_endless_lines_and_numbers_and_depths_are_survived() -> None:
    texts = ("a" * 100_000, "set routing-options autonomous-system " + "9" * 60_000, "a { " * 20_000)
    for text in (*texts, "# # #" * 2_000 + "\na;", "/* a */ " * 2_000 + "a;"):
        assert JUNOS.read({FILE: text}).facts == {}


def test_comments_before_set_commands_do_not_make_them_braces() -> None:
    text = "## Last commit\n/* set\n a */ # b\nset system host-name a\n"
    assert read(text) == {"system/hostname": "a"}


SAMPLES = Path(__file__).parents[5] / "shared" / "reference" / "nos-samples"


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample configurations are not beside the checkout")
def test_sample_configurations_of_others_are_understood() -> None:
    for sample in SAMPLES.glob("junos-*.set"):
        reading = JUNOS.read({FILE: sample.read_text(encoding="utf-8")})
        assert reading.facts["load_balancing/flowlet_idle_us"] == 128
        assert [text for _, _, text in reading.unknown if "encrypted-password" not in text] == []


WITHOUT_EFFECT = {
    "transmit-rate percent 9;": "transmit-rate percent 0;",
    "percent 15;": "percent 150;",
    "drop-probability [ 0 20 ];": "drop-probability [ 0 200 ];",
    "recovery 400;": "recovery 40;",
    "maximum-ecmp 64;": "maximum-ecmp 65;",
    "multiplier 3;": "multiplier 0;",
    "hash-seed 2654435769;": "hash-seed 26544357690;",
    "pfc-priority 3;": "pfc-priority 30;",
    "flow-control-queue 3;": "flow-control-queue 0;",
    "code-point 011 {": "code-point 100 {",
    "queue-num 0;": "queue-num 3;",
    "code-points [ 000000 ": "code-points [ 011010 000000 ",
    "            unit 0 {\n                classifiers": "            unit 1 {\n                classifiers",
    "interface all;": "interface allx;",
    "    et-0/0/2 {": "    et-0/0/0/2 {",
    "        unit 0 {\n            fam": "        unit 1 {\n            fam",
    "then {\n            load-b": "from protocol static;\n        then {\n            load-b",
    "    mgmt_junos {": "    mmgt_junos {",
    "        mtu 9114;": "        mtu 91140;",
    "        et-0/0/1:0 {\n            cong": "        et-0/0/1:9 {\n            cong",
    " inet {\n                address 10.1": " inet6 {\n                address 10.1",
}
"""Text -> what a commit refuses, or takes without an effect, in its first line."""


@pytest.mark.parametrize("right", WITHOUT_EFFECT)
def test_a_line_without_effect_has_a_fact(right: str) -> None:
    text = JUNOS.render(variant("evo-numbered"))[FILE]
    assert text.count(right)
    reading = JUNOS.reader.read({FILE: text.replace(right, WITHOUT_EFFECT[right], 1)})
    line = text[: text.index(right)].count("\n") + 1
    found = [path for path in reading.facts if path.startswith("unread[")]
    assert [reading.lines[path][1] for path in found] == [line]


def test_removed_lines_that_others_need_have_a_fact() -> None:
    text = JUNOS.render(variant("evo-numbered"))[FILE]
    for gone in ("            queue-num 0;\n", "        mtu 9114;\n"):
        facts = JUNOS.read({FILE: text.replace(gone, "", 1)}).facts
        assert len([path for path in facts if path.startswith("unread[")]) == 1
    ports = text[text.index("    et-0/0/1:1 {") : text.index("    et-0/0/2 {")]
    facts = JUNOS.read({FILE: text.replace(ports, ports + ports, 1)}).facts
    assert "unread[second block interfaces et-0/0/1:1]" in facts


OVERLAY = """\
set interfaces ge-0/0/3 ether-options 802.3ad ae0
set interfaces ae0 esi auto-derive lacp-pe-system-id-and-admin-key
set interfaces ae0 aggregated-ether-options lacp active
set interfaces ae0 unit 0 family ethernet-switching vlan members V10
set interfaces irb unit 10 family inet address 10.10.10.3/24
set interfaces lo0 unit 1 family inet address 10.1.0.3/32
set interfaces lo0 unit 2 family inet address 10.1.1.3/32
set routing-instances EVPN instance-type mac-vrf
set routing-instances EVPN protocols evpn encapsulation vxlan
set routing-instances EVPN protocols evpn extended-vni-list 10010
set routing-instances EVPN vtep-source-interface lo0.1
set routing-instances EVPN vrf-target target:65000:1
set routing-instances EVPN vlans V10 vlan-id 10
set routing-instances EVPN vlans V10 l3-interface irb.10
set routing-instances EVPN vlans V10 vxlan vni 10010
set routing-instances RED instance-type vrf
set routing-instances RED interface lo0.2
set routing-instances RED vrf-target target:65000:2
set protocols bgp group U type external
set protocols bgp group U local-as 65003
set protocols bgp group U neighbor 10.1.4.0 peer-as 65001
"""


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ("", "", set()),
        ("vni 10010", "vni 10011", {"unread[VNI 10011]", "unread[VNI 10010 of EVPN]"}),
        ("set routing-instances EVPN vtep-source-interface lo0.1\n", "", {"unread[EVPN]"}),
        ("encapsulation vxlan", "encapsulation mpls", {"unread[EVPN with VNIs]"}),
        ("EVPN vrf-target target", "EVPN vrf-target import target", {"unread[VRF EVPN]"}),
        ("l3-interface irb.10", "l3-interface irb.11", {"unread[irb.11 of VLAN V10]", "unread[irb.10]"}),
        ("802.3ad ae0", "802.3ad ae1", {"unread[ae0]"}),
        ("set interfaces ae0 aggregated-ether-options lacp active\n", "", {"unread[esi of ae0]"}),
        ("type external", "type internal", {"unread[type internal of group U]"}),
    ],
)
def test_an_overlay_without_effect_has_a_fact(old: str, new: str, paths: set[str]) -> None:
    assert old in OVERLAY
    facts = JUNOS.read({FILE: OVERLAY.replace(old, new, 1)}).facts
    assert {path for path in facts if path.startswith("unread[")} == paths
    assert facts["loopback/ipv4"] == "10.1.0.3/32"
