"""Texts of a spec or a nearby file from strangers: what is rejected, and with which advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricc.back.nos.overlay import OverlayError, check_text
from fabricc.cli.entry import run

SPEC = """\
cluster: lab
gpus: {model: grand-teton, racks: {a: 4, b: 4}, wiring: rack}
tors: {model: 7060dx5-64s, nos: eos}
spines: {model: 7060dx5-64s, nos: eos}
"""


@pytest.mark.parametrize("character", ["\u202e", "\u200f", "\u2066", "\ufeff", "\x1b", "\x85"])
def test_an_overlay_has_no_character_that_a_spec_may_not_have(character: str) -> None:
    with pytest.raises(OverlayError, match="not allowed") as caught:
        check_text("running.cfg", f"banner\ndescription a{character}b\n")
    assert caught.value.line == 2
    escaped = f'{{"a":\n "\\u{ord(character):04x}"}}'
    for name in ("config_db.json", "startup.yaml"):
        with pytest.raises(OverlayError, match="not allowed"):
            check_text(name, escaped)


def test_printable_escapes_are_allowed() -> None:
    check_text("config_db.json", '{"a": "\\u0070\\u00fc \\u2013"}')


def test_a_rack_whose_hosts_are_counted_gives_the_number_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC, "utf-8")
    assert run(["validate", str(spec)]) == 1
    streams = capsys.readouterr()
    assert "hosts_per_rack: 4" in streams.out + streams.err
