"""The content of a device's files is the same after packing, in any order of use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.compiler.compiled import compile_spec
from fabricc.facts.frame import Contents, pack_contents, split_facts, unpacked
from tests.audit import ours

if TYPE_CHECKING:
    from pathlib import Path


def test_packed_contents_are_the_same_and_few_bytes(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(ours.spec_of("eos"))
    fabric = compile_spec(path).fabric
    files = back_ends.load("eos").render(fabric.switch(next(iter(fabric.switch_ids()))))
    files = {file: f"{text}what nobody knows\n" for file, text in files.items()}
    reading = back_ends.load("eos").read(files)
    contents = Contents(reading, frozenset(each[:2] for each in reading.unknown))
    held = pack_contents(contents, split_facts(reading))
    again = unpacked(held)
    assert list(again.reading.facts.items()) == list(reading.facts.items())
    assert again.reading.lines == {
        path: at for path, at in reading.lines.items() if path in reading.facts and at[1]
    }
    assert (again.reading.unknown, again.ignorable) == (reading.unknown, contents.ignorable)
    assert again.ignorable
    assert sum(map(len, held)) < sum(map(len, files.values())) / 2
