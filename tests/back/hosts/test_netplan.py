"""Netplan files are read the same in any layout, and hostile text ends as a broken line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.hosts import netplan, planned, read, render
from fabricc.back.reading.tree import leaf_paths, parse_structured_text
from fabricc.back.reading.yaml_lines import block_style
from tests.back.hosts.variants import VARIANTS

if TYPE_CHECKING:
    import random

    from fabricc.back.reading import Tree

TEXTS = [netplan.render_text(host) for host in VARIANTS.values()]


def read_tree(tree: Tree) -> tuple[list[tuple[int, tuple[str, ...]]], list[tuple[int, str]]]:
    return list(leaf_paths(tree.nodes)), sorted(tree.faults)


@pytest.mark.parametrize("text", TEXTS)
def test_both_ways_of_reading_agree_on_rendered_text(text: str) -> None:
    quick = block_style(text)
    assert quick is not None
    assert read_tree(quick) == read_tree(parse_structured_text(text))


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
    quick = block_style(damaged)
    assert quick is None or read_tree(quick) == read_tree(parse_structured_text(damaged))


def test_a_netplan_file_in_another_layout_has_the_same_facts() -> None:
    yaml = pytest.importorskip("yaml")
    host = VARIANTS["dual-stack"]
    files = render(host)
    tree = yaml.safe_load(files[netplan.FILE])
    for style in (True, None, False):
        reading = read(files | {netplan.FILE: yaml.safe_dump(tree, default_flow_style=style)})
        assert reading.facts == planned(host)
        assert reading.unknown == []


def test_a_renderer_of_the_file_is_that_of_its_ports() -> None:
    """Earlier files have one for the file, which counts for every interface of the host."""
    host = VARIANTS["dual-stack"]
    text = netplan.render_text(host).replace("      renderer: networkd\n", "")
    text = text.replace("  version: 2\n", "  version: 2\n  renderer: networkd\n")
    reading = read(render(host) | {netplan.FILE: text})
    assert (reading.facts, reading.unknown) == (planned(host), [])


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
    reading = read({netplan.FILE: "a: " + opening * 100_000})
    assert reading.facts == {}
    assert reading.unknown
