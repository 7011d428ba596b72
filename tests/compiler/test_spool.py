"""Rows of tables arrive in any order and leave in that of their pieces, from memory and from a file."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.write import outcome

INVENTORIES = Path(__file__).parents[2] / "inventories"


@given(st.dictionaries(st.integers(0, 9), st.text(max_size=9)), st.randoms(use_true_random=False))
def test_spool_returns_parts_in_order(texts: dict[int, str], chance: object) -> None:
    numbers = [*texts]
    chance.shuffle(numbers)  # type: ignore[attr-defined]
    kept = outcome.Spool(None)
    for number in numbers:
        kept.put(number, texts[number])
    wanted = [texts[number].encode() for number in sorted(texts)]
    assert [*kept.parts()] == wanted
    assert [*kept.parts()] == wanted, "as often as they are asked for"


def test_large_spool_uses_an_unnamed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "_IN_MEMORY", 10)
    kept = outcome.Spool(tmp_path)
    for number in (2, 0, 1):
        kept.put(number, str(number) * 9)
    assert [*kept.parts()] == [b"0" * 9, b"1" * 9, b"2" * 9]
    assert not [*tmp_path.iterdir()]
    with pytest.raises(FileNotFoundError):
        outcome.Spool(tmp_path / "none").put(0, "x" * 11)


@pytest.mark.parametrize("check", [True, False])
def test_no_room_for_rows_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: bool) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(outcome.Spool, "put", full)
    compiled = compile_spec(INVENTORIES / "lab-smallest" / "cluster.yaml")
    result = compiled.write(tmp_path, jobs=1, check=check)
    assert [d.code for d in result.diagnostics][-1:] == ["FAB7001"]
    assert result.exit_status == 3
    assert not [*tmp_path.glob("[!.]*")]
    assert not [*tmp_path.glob(".*.next")]
