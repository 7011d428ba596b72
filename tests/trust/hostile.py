"""Texts that someone would write to do harm where they are shown, and what no output may hold."""

from __future__ import annotations

import re

from hypothesis import strategies as st

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b1mred\r\x08\x00"
BIDI = "access\u202e\u2066 // \u2069\u200b\u200d\ufeff\u00ad\u2028\u2029end"
COMMANDS = (
    "::error file=a::no",
    "  ::add-mask::a",
    "\u3000::set-output name=x::y",
    "::stop-commands::token",
    "##[error]no",
    "a ##[add-path]/tmp",
    "##vso[task.setvariable variable=x]y",
    "a##VSO[task.complete]",
    "section_start:1:x\r\x1b[0K",
    "##teamcity[buildStop]",
)
MARKDOWN = (
    "![x](https://evil.example/p.png)",
    "[click](https://evil.example)",
    "[click]: https://evil.example",
    "[click][]",
    "see https://evil.example and www.evil.example or a@evil.example",
    "<https://evil.example>",
    "@octocat and @org/team, o/r#1, #2, !3, %4, ~bug, &5, $6, ^alert#1, GH-7",
    "<img src=x onerror=alert(1)> <!-- x --> </details>",
    "`a`` b``` c",
    "````\n# out\n````",
    "~~~\nx",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "    code",
    "\tcode",
    "a | b\\| c",
    "a\\*b*c*_d_ ~~e~~ \\`f`",
    "*a*\\",
    "---",
    "$x$ $$y$$",
    "/close",
    "[ ] task",
    "[^1] and [^1]: foot",
    "&lt;b&gt; &#64;user &commat;",
)
FORMULAS = (
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    " =1",
    "\uff1d1",
    '=HYPERLINK("https://evil.example")',
)
LONE = "a\ud800b\udcffc"
ALL = (ESCAPES, BIDI, LONE, *COMMANDS, *MARKDOWN, *FORMULAS, "a\n::error::b\n##[c]d", "")

_PIECES = st.sampled_from(
    [*ALL, "::", "##[", "]", "[", "(", ")", "`", "\\", "\n", " ", "@", "#", "|", "-->", "]]>"]
)
anything = st.one_of(
    st.text(st.characters()),
    st.lists(_PIECES | st.text(st.characters(), max_size=4), max_size=6).map("".join),
)
"""Any text at all, surrogates included, and what the hostile ones make together."""

_OBEYED = re.compile(r"^\s*::[a-z][^\n]*::|##[a-z]*\[", re.IGNORECASE)


def is_harmless(text: str) -> bool:
    """Return whether a log may hold the text: no control characters but line feeds, and no command of a runner."""
    text.encode()
    return all(c.isprintable() or c in "\n\u00a0" for c in text) and not any(
        map(_OBEYED.search, text.split("\n"))
    )
