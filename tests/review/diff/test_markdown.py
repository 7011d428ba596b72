"""The comment: verdict first, whole sections only, within the limit, and nothing that Markdown would execute."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from fabricc.review.diff.markdown import FORGES, Forge, render
from fabricc.review.diff.model import FileDiff, SpecChange
from tests.review.diff.conftest import Bench

if TYPE_CHECKING:
    from fabricc.review.diff.model import Review


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Review:
    return Bench(tmp_path_factory.mktemp("review")).review("superpod-b200-4su", ("dscp: 26", "dscp: 34"))


def enlarge_review(review: Review, groups: int, lines: int) -> Review:
    """The review with many groups, each with a long diff."""
    diff = FileDiff("big.cfg", "\n".join(f"+{i:>60}" for i in range(lines)), lines, 0)
    first = review.groups[0]
    return replace(
        review,
        groups=tuple(replace(first, devices=(f"tor{i:05d}",), files=(diff,)) for i in range(groups)),
    )


def is_whole(text: str) -> bool:
    opened = [line for line in text.splitlines() if line.startswith("```")]
    return text.count("<details>") == text.count("</details>") and len(opened) % 2 == 0


def test_the_first_line_is_the_verdict_and_the_last_the_marker(review: Review) -> None:
    lines = render(review, FORGES["github"]).strip().splitlines()
    assert lines[0].startswith("### 🔴 fabricc: HIGH risk, 176 of 176 devices change, 1,024 of 1,024 GPUs")
    assert lines[0].endswith("0 renumbered")
    assert lines[-1] == f"<!-- fabricc:diff:{review.spec} -->"


def test_the_next_command_and_labels_are_reported(review: Review) -> None:
    text = render(review, FORGES["github"])
    assert "Next: `fabricc build " in text
    assert "`risk:high`" in text
    assert "`needs-drain`" in text


@pytest.mark.parametrize("forge", ["github", "gitlab", "bitbucket", "azure"])
@pytest.mark.parametrize(
    ("groups", "lines"), [(1, 10), (3, 400), (30, 400), (400, 40), (2000, 5), (1, 30_000)]
)
def test_a_comment_keeps_the_limit_in_whole_sections(
    review: Review, forge: str, groups: int, lines: int
) -> None:
    where = FORGES[forge]
    text = render(enlarge_review(review, groups, lines), where)
    assert where.limit is not None
    assert len(text.encode()) <= where.limit
    assert is_whole(text)
    assert text.startswith("### 🔴 fabricc: HIGH risk")
    assert f"fabricc:diff:{review.spec}" in text.strip().splitlines()[-1]


def test_shortened_comment_links_to_the_full_review(review: Review) -> None:
    text = render(enlarge_review(review, 3, 2000), FORGES["bitbucket"], "https://example.org/run/1")
    assert "Left out to fit" in text
    assert "[the whole review](https://example.org/run/1)" in text
    assert "Left out" not in render(review, FORGES["none"])


def test_bitbucket_gets_no_html(review: Review) -> None:
    text = render(review, FORGES["bitbucket"])
    assert "<details>" not in text
    assert "<!--" not in text
    assert f"[//]: # (fabricc:diff:{review.spec})" in text


def test_values_of_the_spec_cannot_break_out(review: Review) -> None:
    nasty = "a`|\n</details><script>alert(1)</script>"
    change = SpecChange("gpus.model", nasty, nasty + "!", None)
    text = render(replace(review, spec_changes=(change,), base="<b>|`x`", cluster="c`"), Forge(None, True))
    parts = [part for token in MarkdownIt("commonmark").parse(text) for part in (token.children or [token])]
    assert not {part.type for part in parts} & {"html_inline", "link_open", "image"}
    assert "<script>" not in "".join(part.content for part in parts if part.type == "html_block")
    shown = nasty.replace("\n", "\\n")
    assert [part.content for part in parts if part.type == "code_inline"][2:5] == [
        "gpus.model",
        shown,
        shown + "!",
    ]
    assert text.splitlines()[2] == "c\\`: `` <b>|`x` `` → `" + review.head + "`"


def test_a_fence_in_a_diff_stays_inside(review: Review) -> None:
    files = (FileDiff("f", "+```\n+x", 2, 0),)
    group = replace(review.groups[0], files=files)
    text = render(replace(review, groups=(group,)), FORGES["github"])
    assert "````diff\n+```\n+x\n````" in text


def test_nothing_to_do_is_a_short_comment(bench: Bench) -> None:
    text = render(bench.review("superpod-b200-4su"), FORGES["github"])
    assert text.startswith("### ⚪ fabricc: no device changes, 0 numbers change")
    assert len(text.splitlines()) < 16
