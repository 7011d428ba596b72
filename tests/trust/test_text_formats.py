"""Whatever the text: a terminal, a runner, Markdown, HTML, a spreadsheet and a parser see text and nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fabricc.base.foreign import formats
from fabricc.base.foreign import text as foreign
from fabricc.base.foreign.formats import Markdown, build_workbook
from fabricc.base.foreign.text import Terminal
from tests.effort import scale_examples
from tests.trust.hostile import ALL, FORMULAS, anything, is_harmless

if TYPE_CHECKING:
    from collections.abc import Callable

    from markdown_it.token import Token

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
APART = "\u200b"


def each(function: Callable[..., None]) -> Callable[..., None]:
    """The property for every hostile text, and for any."""
    for text in ALL:
        function = example(text)(function)
    return given(anything)(function)


def parse_tokens(markdown: str) -> list[Token]:
    return [part for token in READER.parse(markdown) for part in (token.children or [token])]


def read(markdown: str) -> str:
    """Return what a reader sees of one paragraph, and that it is nothing but text."""
    found = parse_tokens(markdown)
    kinds = {token.type for token in found}
    assert kinds <= {"paragraph_open", "paragraph_close", "text", "text_special", "softbreak"}, kinds
    return "".join(token.content for token in found if token.type in ("text", "text_special"))


def calls_nobody(shown: str) -> bool:
    return (
        re.search(r"@[^\s\u200b]|(?<![&\w])#\d|[!%~^](?=\w)|://|www\.|\bGH-\d", shown, re.IGNORECASE) is None
    )


@each
def test_a_line_of_a_terminal_is_one_line(text: str) -> None:
    shown = foreign.safe_line(text)
    assert is_harmless(shown)
    assert "\n" not in shown
    assert foreign.safe_line(shown) == shown, "what was escaped once is not escaped again"


@each
def test_lines_of_a_terminal_are_harmless_each(text: str) -> None:
    shown = foreign.safe_block(text)
    assert is_harmless(shown)
    assert shown.count("\n") == text.count("\n")


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_clean_text_stays_as_it_is(text: str) -> None:
    assert foreign.visible_text(text) == text
    assert foreign.visible_text("§ → é 网络 🔴" + text) == "§ → é 网络 🔴" + text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b1m", "\\x9b1m"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("a\nb\u2028c", "a\\nb\\u2028c"),
        ("a\tb", "a    b"),
        ("a\udcffb", "a\\udcffb"),
        ("::error::x", "\\::error::x"),
        (" ::error::x", " \\::error::x"),
        ("::1 is ours", "::1 is ours"),
        ("a ##[error]x", "a #\\#[error]x"),
        ("##vso[x]", "#\\#vso[x]"),
        ("## title", "## title"),
    ],
)
def test_invisible_and_control_characters_are_shown_escaped(text: str, shown: str) -> None:
    assert foreign.safe_line(text) == shown


@given(anything, anything)
def test_inserted_text_is_escaped(one: str, two: str) -> None:
    shown = Terminal("{}: {:>9}").format(one, Terminal.style_text("1", two))
    assert is_harmless(foreign.neutral_text(re.sub(r"\x1b\[[0-9;]*m", "", shown)))
    assert "\n" not in shown
    assert Terminal("\n").join([one, two]).count("\n") == 1


@each
def test_prose_of_markdown_is_text_alone(text: str) -> None:
    source = Markdown.escaped(text)
    assert is_harmless(source)
    assert "\n" not in source
    shown = read(source)
    expected = foreign.visible_text(text.replace("\r\n", " ").replace("\n", " "))
    assert shown.replace(APART, "").strip() == expected.strip()
    assert calls_nobody(shown)
    assert not re.match(r"/[a-z_]+(\s|$)", source), "a quick action of GitLab"


@given(anything, anything, anything)
@example("::error title=x", "a::b", "")
def test_prose_stays_text_next_to_other_prose(one: str, two: str, three: str) -> None:
    source = Markdown("- **error** {}: {}. {} ({})").format(one, two, three, Markdown.code(two))
    assert is_harmless(Markdown("{}: {}").format(one, Markdown.code(two)))
    kinds = {token.type for token in parse_tokens(source)}
    assert not kinds & {
        "link_open",
        "image",
        "html_inline",
        "html_block",
        "fence",
        "code_block",
        "em_open",
        "s_open",
    }
    assert kinds >= {"strong_open", "code_inline"}


@given(anything, anything)
def test_a_cell_of_a_table_is_one_cell(one: str, two: str) -> None:
    source = Markdown("| a | b |\n| --- | --- |\n| {} | {} |").format(one, two)
    found = READER.parse(source)
    cells = [found[at + 1] for at, token in enumerate(found) if token.type == "td_open"]
    assert len(cells) == 2
    assert {part.type for cell in cells for part in cell.children or ()} <= {"text", "text_special"}


@each
def test_code_of_markdown_is_code_alone(text: str) -> None:
    source = Markdown.code(text)
    assert is_harmless(source)
    _, inline, _ = READER.parse(f"a {source} b")
    assert [(part.type, part.content) for part in inline.children or ()] == [
        ("text", "a "),
        ("code_inline", foreign.neutral_text("`" + (foreign.visible_text(text) or " "))[1:]),
        ("text", " b"),
    ]


@each
def test_a_fence_is_closed_by_nothing_in_it(text: str) -> None:
    source = Markdown.code_block(text, "diff")
    assert is_harmless(source)
    found = [
        (token.type, token.info, token.content) for token in READER.parse(f"before\n\n{source}\n\nafter\n")
    ]
    assert found[3] == ("fence", "diff", foreign.safe_block(text) + "\n")
    assert [content for kind, _, content in found if kind == "inline"] == ["before", "after"]


@each
def test_a_hidden_line_stays_hidden(text: str) -> None:
    comment, definition = (Markdown.hidden(text, html=html) for html in (True, False))
    assert is_harmless(comment)
    assert "\n" not in comment
    assert comment.index("-->") == len(comment) - 3
    assert "--" not in comment[4:-3]
    assert [t.type for t in READER.parse(f"{definition}\n")] == []


@each
def test_html_is_text_alone(text: str) -> None:
    source = str(formats.escape_html(text))
    assert is_harmless(source)
    assert not set("<>\"'") & set(source)
    assert unescape(source).replace("&", "&amp;") == formats._visible_text(text).replace("&", "&amp;")


@each
def test_comment_html_triggers_no_mentions(text: str) -> None:
    source = Markdown.html(text)
    assert is_harmless(source)
    assert "\n" not in source
    assert "<" not in source
    assert calls_nobody(unescape(source))


@given(
    st.lists(
        st.lists(anything | st.integers() | st.floats(allow_nan=False), min_size=2, max_size=4), max_size=4
    )
)
@example([[each, 1] for each in FORMULAS])
def test_csv_keeps_its_cells_and_calculates_nothing(rows: list[list[Any]]) -> None:
    text = formats.csv_text(rows)
    assert all(c.isprintable() or c in "\n\u00a0" for c in text)
    back = list(csv.reader(io.StringIO(text)))
    assert [len(row) for row in back] == [len(row) for row in rows]
    for row, stated in zip(rows, back, strict=True):
        for value, cell in zip(row, stated, strict=True):
            assert cell == str(formats.table_cell(value))
            if isinstance(value, str):
                assert not re.match(r"\s*[=@\uff1d\uff0b\uff0d\uff20]", cell)
                assert not re.match(r"\s*[+-].*[^0-9.%]", cell)
                assert cell.removeprefix("'") in (
                    foreign.visible_text(value),
                    foreign.visible_text(value).removeprefix("'"),
                )


@settings(max_examples=scale_examples(40), deadline=None)
@given(
    st.lists(
        st.lists(anything | st.integers(-(2**53), 2**53), min_size=2, max_size=2), min_size=1, max_size=4
    )
)
@example([[each, 1] for each in FORMULAS])
def test_a_workbook_keeps_its_cells_and_calculates_nothing(rows: list[list[Any]]) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: no workbooks here")
    sheet = openpyxl.load_workbook(io.BytesIO(build_workbook([("Sheet", rows)]))).worksheets[0]
    for row, cells in zip(rows, sheet.iter_rows(), strict=True):
        for value, cell in zip(row, cells, strict=True):
            assert cell.data_type != "f"
            shown = foreign.visible_text(value) if isinstance(value, str) else value
            assert (cell.value if cell.value is not None else "") == shown


@each
def test_json_gives_every_text_back(text: str) -> None:
    document = formats.json_document({"a": [text], text: 1})
    assert is_harmless(document)
    assert json.loads(document)["a"] == [re.sub("[\ud800-\udfff]", "\ufffd", text)]


@each
def test_a_message_of_sarif_has_no_link(text: str) -> None:
    assert "](" not in formats.sarif_message(text)
    assert is_harmless(formats.sarif_message(text))


@each
def test_xml_is_read_by_everyone(text: str) -> None:
    root = ElementTree.Element("suite", {"name": text})
    ElementTree.SubElement(root, "failure", {"message": text}).text = text
    document = formats.xml_document(root)
    assert is_harmless(document)
    back = ElementTree.fromstring(document)
    assert back.get("name") == formats._visible_text(text)
    assert (back[0].text or "") == formats._visible_text(text)


@given(anything, anything)
def test_a_command_of_ours_holds_no_other(name: str, message: str) -> None:
    (line, end) = formats.workflow_commands([("error", {"file": name, "title": "x"}, message)]).split("\n")
    assert end == ""
    assert line.startswith("::error file=")
    assert line.isprintable() or "\u00a0" in line
    stated = line.removeprefix("::error ").partition("::")[0]
    assert len(stated.split(",")) == 2
    assert "##[" not in line
