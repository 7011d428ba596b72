"""The fast reader of YAML agrees with PyYAML on all that it takes, and hostile text ends as a broken line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabricc.back.hosts import netplan, planned, read, render, yaml_lines
from tests.back.hosts.variants import VARIANTS

if TYPE_CHECKING:
    import random

TEXTS = [netplan.text(host) for host in VARIANTS.values()]


@pytest.mark.parametrize("text", TEXTS)
def test_both_ways_of_reading_agree_on_rendered_text(text: str) -> None:
    assert (yaml_lines._block_entries(text), []) == yaml_lines._composed_entries(text)


PIECES = [
    "  ",
    "- ",
    "a: ",
    "b:",
    "\n",
    "\n    ",
    "1",
    '"x y"',
    "yes",
    "[]",
    "# c",
    "'q'",
    "-",
    ":",
    " ",
    "{}",
    "~",
]


@example("a: -")
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_whatever_the_fast_way_takes_pyyaml_reads_the_same(text: str) -> None:
    try:
        entries = yaml_lines._block_entries(text)
    except yaml_lines._OtherLayoutError:
        return
    assert (entries, []) == yaml_lines._composed_entries(text)


@given(st.sampled_from(TEXTS), st.randoms(use_true_random=False))
def test_damaged_text_is_read_the_same_both_ways(text: str, rng: random.Random) -> None:
    lines = text.splitlines()
    index = rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            del lines[index]
        case 1:
            lines[index] = "  " + lines[index]
        case 2:
            lines[index] = lines[index].replace(": ", ":", 1)
        case _:
            lines.insert(index, lines[rng.randrange(len(lines))])
    damaged = "\n".join(lines)
    try:
        entries = yaml_lines._block_entries(damaged)
    except yaml_lines._OtherLayoutError:
        return
    assert (entries, []) == yaml_lines._composed_entries(damaged)


def test_a_netplan_file_in_another_layout_has_the_same_facts() -> None:
    yaml = pytest.importorskip("yaml")
    host = VARIANTS["dual-stack"]
    files = render(host)
    tree = yaml.safe_load(files[netplan.FILE])
    for style in (True, None, False):
        reading = read(files | {netplan.FILE: yaml.safe_dump(tree, default_flow_style=style)})
        assert reading.facts == planned(host)
        assert reading.unknown == []


@pytest.mark.parametrize(
    "text",
    [
        "network: [",
        "network:\n\tversion: 2\n",
        "a: *nowhere\n",
        "? [a, b]\n: 1\n",
        "[" * 5000,
        "&a [*a, *a]\n",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{n}: &{n} [{','.join(['*' + p] * 9)}]\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "\x00",
    ],
    ids=["open", "tab", "alias", "complex-key", "deep", "recursive", "bomb", "control"],
)
def test_hostile_yaml_is_an_unknown_line_and_no_exception(text: str) -> None:
    reading = read({netplan.FILE: text})
    assert reading.facts == {}
    assert reading.unknown


@pytest.mark.parametrize("key", ["link-local", "addresses"])
def test_a_word_where_netplan_wants_a_list_states_nothing(key: str) -> None:
    reading = read({netplan.FILE: f"network:\n  ethernets:\n    rail0:\n      {key}: ipv6\n"})
    assert reading.facts == {}
    assert reading.unknown == [(netplan.FILE, 4, f"{key}: ipv6")]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_nesting_without_end_is_a_broken_line_and_not_the_end_of_the_process(opening: str) -> None:
    entries, broken = yaml_lines.flatten("a: " + opening * 100_000)
    assert entries == []
    assert broken
