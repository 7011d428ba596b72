"""Overlays: merged by the outline of a file, found again there, and refused where they cannot be merged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.back.nos.eos import EOS, FILE
from fabricc.back.nos.overlay import (
    OverlayError,
    check_text,
    merge_overlay,
    stated_lines,
    strip_overlay,
    target_file,
)
from fabricc.back.nos.overlay_text import compile_starred, merge_text, strip_text, trace_overlay
from fabricc.fabric.model import Overlay
from tests.back.nos.cumulus.variants import VARIANTS as CUMULUS_VARIANTS
from tests.back.nos.eos.variants import variant

CLI = """\
hostname a
!
interface Ethernet1
   mtu 9000
!
interface Ethernet2
   mtu 9000
!
router bgp 65000
   router-id 10.0.0.1
   !
   address-family ipv4
      neighbor UP activate
   !
!
end
"""


def test_blocks_are_found_and_new_lines_stand_where_a_device_takes_them() -> None:
    overlay = """\
! ours
logging buffered 10000
interface Ethernet*
   storm-control broadcast level 1
router bgp *
   bgp log-neighbor-changes
   address-family ipv4
      bgp additional-paths receive
ip access-list standard OURS
   10 permit any
!
"""
    assert merge_text(CLI, overlay).split("\n") == [
        "hostname a", "!", "logging buffered 10000",
        "interface Ethernet1", "   mtu 9000", "   storm-control broadcast level 1", "!",
        "interface Ethernet2", "   mtu 9000", "   storm-control broadcast level 1", "!",
        "router bgp 65000", "   router-id 10.0.0.1", "   !", "   bgp log-neighbor-changes",
        "   address-family ipv4", "      neighbor UP activate", "      bgp additional-paths receive", "   !", "!",
        "ip access-list standard OURS", "   10 permit any", "!", "end", "",
    ]  # fmt: skip


def test_closing_lines_are_added_only_with_new_blocks() -> None:
    text = "system {\n    host-name a;\n    login {\n        user x;\n    }\n}\n"
    overlay = 'system {\n    login {\n        message "x";\n    }\n}\nsnmp {\n    name a;\n}\n'
    assert merge_text(text, overlay) == (
        'system {\n    host-name a;\n    login {\n        user x;\n        message "x";\n    }\n}\n'
        "snmp {\n    name a;\n}\n"
    )


def test_merging_twice_is_merging_once() -> None:
    overlay = "logging on\nrouter bgp *\n   bgp x\ninterface Vlan1\n   shutdown\n!\n"
    once = merge_text(CLI, overlay)
    assert merge_text(once, overlay) == once
    assert merge_text(CLI, "") == CLI


names = st.sampled_from(["alpha 1", "beta", "gamma x y", "delta"])
outlines = st.recursive(
    st.dictionaries(names, st.none(), max_size=3),
    lambda inner: st.dictionaries(names, st.none() | inner, max_size=3),
    max_leaves=12,
)


def format_tree(tree: dict[str, object] | None, indent: int = 0) -> str:
    return "".join(
        " " * indent + key + "\n" + format_tree(below, indent + 3)  # type: ignore[arg-type]
        for key, below in (tree or {}).items()
    )


@settings(deadline=None)
@given(outlines, outlines)
def test_nothing_is_lost_and_all_of_an_overlay_is_found(
    tree: dict[str, object], more: dict[str, object]
) -> None:
    text, overlay = format_tree(tree), format_tree(more)
    result = merge_text(text, overlay)
    remaining = iter(result.split("\n"))
    assert all(line in remaining for line in text.split("\n"))
    lines, missing = trace_overlay(result, overlay)
    assert missing == []
    added = set(range(1, result.count("\n") + 1)) - lines
    assert len(added) <= text.count("\n")


def test_a_line_that_is_taken_out_again_is_named_at_its_block() -> None:
    overlay = "interface Ethernet*\n   storm-control broadcast level 1\n"
    result = merge_text(CLI, overlay)
    at = result.split("\n").index("interface Ethernet2")
    lines = result.split("\n")
    assert trace_overlay("\n".join([*lines[: at + 2], *lines[at + 3 :]]), overlay)[1] == [
        (at + 1, "storm-control broadcast level 1")
    ]


@pytest.mark.parametrize("text", ["interface Vlan*\n   shutdown\n", "router isis *\n   net x\n"])
def test_a_pattern_without_a_match_is_refused_at_its_line(text: str) -> None:
    with pytest.raises(OverlayError, match="matches") as caught:
        merge_text(CLI, "logging on\n" + text)
    assert caught.value.line == 2


def test_an_emitted_file_with_an_overlay_states_what_it_stated_before() -> None:
    switch = variant("trident-dual")
    files = merge_overlay(
        EOS.render(switch), Overlay("x", "", "interface Ethernet*\n   storm-control broadcast level 1\n")
    )
    reading, planned = EOS.read(files), EOS.planned(switch)
    into, lines, missing = stated_lines(
        files, Overlay("x", "", "interface Ethernet*\n   storm-control broadcast level 1\n")
    )
    assert (into, missing) == (FILE, [])
    assert planned.items() <= reading.facts.items()
    more = {reading.lines[path] for path in reading.facts.keys() - planned.keys()}
    more |= {(file, line) for file, line, _ in reading.unknown}
    assert more
    assert more <= {(into, number) for number in lines}


def test_yaml_keys_are_merged_without_duplicates() -> None:
    switch = CUMULUS_VARIANTS["numbered"]
    files = CUMULUS.render(switch)
    banner = "- set:\n    system:\n      message:\n        post-login: Authorized use only\n"
    after = merge_overlay(files, Overlay("x", "", banner))
    assert CUMULUS.read(after).facts == CUMULUS.planned(switch)
    with pytest.raises(OverlayError, match="hostname") as caught:
        merge_overlay(files, Overlay("x", "", "- set:\n    system:\n      hostname: other\n"))
    assert caught.value.line == 3


def test_tables_of_json_are_merged_and_values_never_replaced() -> None:
    files = {
        "config_db.json": json.dumps({"PORT": {"Ethernet0": {"mtu": "9100"}, "Ethernet8": {}}}, indent=4)
        + "\n"
    }

    def after(more: object) -> object:
        overlay = Overlay("x", "config_db.json", json.dumps(more))
        result = merge_overlay(files, overlay)
        assert stated_lines(result, overlay)[2] == []
        return json.loads(result["config_db.json"])

    assert after({"PORT": {"Ethernet*": {"tpid": "0x8100"}}, "VLAN": {"Vlan9": {"members": ["a"]}}}) == {
        "PORT": {"Ethernet0": {"mtu": "9100", "tpid": "0x8100"}, "Ethernet8": {"tpid": "0x8100"}},
        "VLAN": {"Vlan9": {"members": ["a"]}},
    }
    for wrong in ({"PORT": {"Ethernet0": {"mtu": "1500"}}}, {"PORT": "x"}, {"PORT": {"Vlan*": {}}}):
        with pytest.raises(OverlayError, match="cannot be merged"):
            after(wrong)


def test_lines_are_taken_away_with_their_blocks_and_where_nothing_is_like_them_it_is_reported() -> None:
    overlay = """\
interface Ethernet*
   mtu *
router bgp *
   address-family ipv4
   neighbor * shutdown
interface Vlan1
"""
    text, idle = strip_text(CLI, overlay)
    assert text.split("\n") == [
        "hostname a", "!", "interface Ethernet1", "!", "interface Ethernet2", "!",
        "router bgp 65000", "   router-id 10.0.0.1", "   !", "!", "end", "",
    ]  # fmt: skip
    assert idle == [5, 6]
    braces = "system {\n    host-name a;\n    login {\n        user x;\n    }\n}\n"
    assert strip_text(braces, "system {\n    login\n") == (braces, [2])
    assert strip_text(braces, "system {\n    login {\n    }\n}\n")[0] == "system {\n    host-name a;\n}\n"


@settings(deadline=None)
@given(outlines)
def test_stripping_an_overlay_removes_its_block(
    more: dict[str, object],
) -> None:
    block = "own 1\n" + format_tree(more, 3)
    assert strip_text(merge_text(CLI, block), "own 1\n") == (CLI, [])


def test_keys_of_yaml_and_json_are_taken_away_by_null() -> None:
    files = {"startup.yaml": "- set:\n    system:\n      hostname: a\n      timezone: UTC\n",
             "config_db.json": json.dumps({"PORT": {"Ethernet0": {"mtu": "9100", "fec": "rs"}, "Ethernet8": {}},
                                           "NTP_SERVER": {"a": {}}, "X": {"l": ["a", "b"]}}, indent=4)}  # fmt: skip
    gone = Overlay(
        "x", "startup.yaml", "- set:\n    system:\n      timezone: null\n      none: null\n", removes=True
    )
    after, idle = strip_overlay(files, gone)
    assert (after["startup.yaml"], idle) == ("- set:\n    system:\n      hostname: a\n", [4])
    less = {"PORT": {"Ethernet*": {"fec": None}}, "NTP_SERVER": None, "X": {"l": ["b"]}, "Y": None}
    after, idle = strip_overlay(
        files, Overlay("x", "config_db.json", json.dumps(less, indent=1), removes=True)
    )
    assert json.loads(after["config_db.json"]) == {
        "PORT": {"Ethernet0": {"mtu": "9100"}, "Ethernet8": {}},
        "X": {"l": ["a"]},
    }
    assert idle == [13]


@pytest.mark.parametrize(
    ("into", "text", "line"),
    [
        ("a.cfg", "one\n\ttwo\n", 2),
        ("a.cfg", "one\n\x1b[2J\n", 2),
        ("a.json", '{\n"a": }\n', 2),
        ("a.json", "[1]\n", 1),
        ("a.yaml", "a: 1\nb: [\n", 3),
    ],
)
def test_overlay_with_invalid_syntax_is_rejected(into: str, text: str, line: int) -> None:
    with pytest.raises(OverlayError) as caught:
        check_text(into, text)
    assert caught.value.line == line


def test_the_file_is_the_one_named_or_the_only_one() -> None:
    assert target_file(["a"], "") == "a"
    assert target_file(["a", "b"], "b") == "b"
    for files, into in ((["a", "b"], ""), (["a"], "c")):
        with pytest.raises(OverlayError, match="file"):
            target_file(files, into)


@pytest.mark.parametrize("letter", [".", r"\S"])
def test_any_number_of_stars_is_tried_once_at_each_place(letter: str) -> None:
    shape = compile_starred("a*b*b*d", letter)
    assert [bool(shape.fullmatch(text)) for text in ("abbd", "axbybzbd", "abd", "abb")] == [
        True,
        True,
        False,
        False,
    ]
    assert not compile_starred("*a" * 40 + "b", letter).fullmatch("a" * 200)
    assert compile_starred("interface *", r"\S").fullmatch("interface Ethernet1/1")
    assert not compile_starred("interface *", r"\S").fullmatch("interface a b")


def test_a_star_behind_a_backslash_is_itself() -> None:
    text = (
        "class-of-service {\n    interfaces {\n        et-0/0/0 {\n            unit 0;\n        }\n    }\n}\n"
    )
    stanza = (
        "class-of-service {\n   interfaces {\n      et-\\* {\n         scheduler-map m;\n      }\n   }\n}\n"
    )
    merged = merge_text(text, stanza)
    assert "        et-* {\n" in merged
    assert merged.count("scheduler-map m;") == 1
    assert trace_overlay(merged, stanza)[1] == []
    assert merge_text(merged, stanza) == merged
    gone, idle = strip_text(merged, "class-of-service {\n   interfaces {\n      et-\\*\n   }\n}\n")
    assert idle == [3]
    gone, idle = strip_text(merged, "class-of-service {\n   interfaces {\n      et-\\* {\n   }\n}\n")
    assert (gone, idle) == (text, [])
    assert compile_starred("as-path .\\**", r"\S").fullmatch("as-path .*abc")
