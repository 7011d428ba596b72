"""Whatever word or line is altered of what new shapes and ways out add to a switch's files, `check` names that line."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.external import External
from tests.back.nos.mutation import KINDS, tried
from tests.back.nos.test_named_lines import DEFAULT, REASONS, UNUSED
from tests.inventories.test_shapes import BOXES, write_spec
from tests.outward import SPINE, TOR, outward_fabric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fabricc.fabric.model import Switch
    from tests.back.nos.mutation import Mutant

KNOWN = (
    *REASONS,
    (r"mmu queue interface-profile MMU|ipvN-unicast: \[\]", DEFAULT),
    (r"address-family ipvN \[\]", UNUSED),
    (r"address-family ipvN unicast \[\]", "what stands in it may stand in the process"),
)


def check_alterations(switch: Switch, before: Mapping[str, str], most: int = 300) -> None:
    """Alter what the switch's files have beyond others, at most so many words and lines."""
    back_end = back_ends.load(switch.nos)
    files, planned = back_end.render(switch), back_end.planned(switch)
    beyond = {file: added_lines(before.get(file, ""), text) for file, text in files.items()}
    for kind, make in KINDS:
        score = tried(back_end.read, planned, files, of_lines(make, beyond), most)
        score.tell(f"{switch.nos} {switch.name} {kind}", KNOWN)
        assert score.tried
        assert score.unexplained(KNOWN) == {}
        assert score.near["line"] + score.near["block"] == score.near.total()


def added_lines(before: str, after: str) -> set[int]:
    """The lines, from 1, that a text has beyond another."""
    steps = SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False).get_opcodes()
    return {
        line for kind, _, _, first, last in steps if kind != "equal" for line in range(first + 1, last + 1)
    }


def of_lines(
    make: Callable[[str, str], Iterator[Mutant]], beyond: Mapping[str, set[int]]
) -> Callable[[str, str], Iterator[Mutant]]:
    return lambda file, text: (each for each in make(file, text) if each.line in beyond[file])


@pytest.mark.parametrize("most", [30, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [TOR, SPINE])
@pytest.mark.parametrize("nos", BOXES)
@pytest.mark.spread
def test_ways_out(nos: str, name: str, most: int) -> None:
    built = outward_fabric(nos)
    at = next(at for at in built.switch_ids() if built.name(at) == name)
    plain = replace(built, external=External()).switch(at)
    check_alterations(built.switch(at), back_ends.load(nos).render(plain), most)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["one ToR", "rails without spines"])
@pytest.mark.parametrize("nos", BOXES)
def test_a_tor_without_spines(nos: str, shape: str, tmp_path: Path) -> None:
    check_alterations(next(compile_spec(write_spec(tmp_path, nos, shape)).switches()), {})


@pytest.mark.slow
@pytest.mark.parametrize("nos", BOXES)
def test_a_tor_of_hosts_without_gpus(nos: str, tmp_path: Path) -> None:
    switches = compile_spec(write_spec(tmp_path, nos, "more than GPUs")).switches()
    check_alterations(next(switch for switch in switches if switch.name.startswith("su003")), {})
