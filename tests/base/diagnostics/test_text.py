"""Text of findings: the caret is under the column, and no input reaches the terminal unescaped."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.formats import render_text, severity_summary
from fabricc.base.foreign.text import visible_text
from tests.base.diagnostics.samples import ALL, NASTY, NOTE, PLAIN, WARNING, render


def source_and_caret(line: str, column: int) -> tuple[str, str]:
    """The source line and the caret line of a finding at that column."""
    each = Diagnostic("FAB1001", Severity.ERROR, "here", Position("f", 1, column))
    _, source, caret, *_ = render([each], "text", {"f": line}).splitlines()
    return source.removeprefix("1 |").removeprefix(" "), caret.removeprefix("  | ")


def count_cells(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


@pytest.mark.parametrize(
    ("line", "column", "source", "caret"),
    [
        ("hosts: 128", 8, "hosts: 128", "       ^"),
        ("\thosts", 2, "    hosts", "    ^"),
        ("网络: x", 5, "网络: x", "      ^"),
        ("e\u0301: x", 5, "e\u0301: x", "   ^"),
        ("a\x1bb: x", 5, "a\\x1bb: x", "       ^"),
        ("end", 99, "end", "   ^"),
        ("", 1, "", "^"),
    ],
)
def test_the_caret_stands_under_the_column(line: str, column: int, source: str, caret: str) -> None:
    assert source_and_caret(line, column) == (source, caret)


def test_a_very_long_line_is_cut_around_the_column() -> None:
    source, caret = source_and_caret("a" * 5000 + "X" + "b" * 5_000_000, 5001)
    assert len(source) == 102
    assert source[len(caret) - 1] == "X"
    assert (source[0], source[-1]) == ("…", "…")


@given(st.text(st.characters(exclude_characters="\r\n"), max_size=300), st.integers(1, 310))
def test_the_caret_is_inside_what_is_shown(line: str, column: int) -> None:
    _, caret = source_and_caret(line, column)
    assert caret.endswith("^")
    assert len(caret) - 1 <= count_cells(visible_text(line)) + 1


def test_the_whole() -> None:
    text = render((PLAIN, NOTE), "text", {"a/cluster.yaml": "\n\n\n\n  wirng: rail\n"})
    assert text == (
        "a/cluster.yaml:5:3: error FAB1001: unknown key 'wirng'\n"
        "5 |   wirng: rail\n"
        "  |   ^\n"
        "  = help: Did you mean?\n"
        "\n"
        "note FAB2014: no place\n"
        "\n"
        "1 error, 1 note\n"
    )


def test_a_file_that_is_not_at_hand_is_shown_without_its_line() -> None:
    assert render([PLAIN], "text", {}).splitlines()[1] == "  help: Did you mean?"
    assert render([PLAIN], "text", {"a/cluster.yaml": "one line"}).splitlines()[1] == "  help: Did you mean?"


def test_nothing_in_the_input_reaches_the_terminal() -> None:
    text = render(ALL, "text", {NASTY.position.file if NASTY.position else "": "\x1b[2J\n" * 20})
    assert all(c.isprintable() or c == "\n" for c in text)
    text.encode()


def test_colour_adds_nothing_but_colour() -> None:
    import re

    plain = render(ALL, "text", {"a/cluster.yaml": "\n" * 9})
    colored = render(ALL, "text", {"a/cluster.yaml": "\n" * 9}, color=True)
    assert "\x1b[1;31merror FAB1001" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


@given(st.text(), st.text(), st.integers(1, 120))
def test_lines_break_between_words_at_the_width_of_a_terminal(message: str, help: str, width: int) -> None:
    finding = Diagnostic("FAB1001", Severity.ERROR, message, Position("cluster.yaml", 3, 7), help)
    (whole, narrow) = (render_text([finding], {}, width=each) for each in (None, width))
    assert narrow.split() == whole.split()
    for line in narrow.splitlines()[:-1]:
        words = [word for word in line.split(" ") if word]  # no line breaks at a no-break space
        assert len(line) <= max(width, 20) or len(words) <= 5


def test_a_long_message_hangs_below_its_first_line() -> None:
    finding = Diagnostic(
        "FAB1001",
        Severity.ERROR,
        "some words " * 8,
        Position("c.yaml", 3, 7),
        "more words" + " more words" * 3,
    )
    text = render_text([finding], {"c.yaml": "a\nb\n      key: 1"}, width=60)
    assert text.splitlines() == [
        "c.yaml:3:7: error FAB1001: some words some words some words",
        "  some words some words some words some words some words",
        "3 |       key: 1",
        "  |       ^",
        "  = help: more words more words more words more words",
        "",
        "1 error",
    ]


def test_the_count() -> None:
    assert severity_summary(ALL) == "2 errors, 1 warning, 1 note"
    assert severity_summary([WARNING]) == "1 warning"
    assert render([], "text", {}) == ""


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError):
        render([], "xml", {})
