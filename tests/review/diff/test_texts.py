from __future__ import annotations

from fabricc.review.diff.run import differ_in_text, file_diffs
from fabricc.review.diff.unread import text_changes

TEXT = "".join(f"line {i}\n" for i in range(1, 200))


def test_line_numbers_are_those_of_the_whole_file() -> None:
    (diff,) = file_diffs({"f": TEXT}, {"f": TEXT.replace("line 150\n", "line x\n")})
    assert diff.text.splitlines()[0] == "@@ -148,5 +148,5 @@"
    assert diff.text.splitlines()[3:5] == ["-line 150", "+line x"]


def test_comments_and_blank_lines_are_no_difference() -> None:
    assert file_diffs({"f": "! made today\na\n"}, {"f": "! made yesterday\n\na\n"}) == ()


def test_order_is_a_difference_in_a_diff_and_none_where_facts_agree() -> None:
    before, after = {"f": "a\nb\n"}, {"f": "b\na\n"}
    assert len(file_diffs(before, after)) == 1
    assert not differ_in_text(before, after)
    assert differ_in_text(before, {"f": "a\nc\n"})
    assert differ_in_text(before, {"g": "a\nb\n"})


def test_new_and_gone_files_are_shown_whole() -> None:
    diffs = file_diffs({"old": "a\n"}, {"new": "b\n"})
    assert [(d.path, d.added, d.removed) for d in diffs] == [("new", 1, 0), ("old", 0, 1)]


def test_half_a_character_in_a_line_is_compared_as_any_other() -> None:
    many = [f"TABLE|row field{i}: x" for i in range(20)]
    texts = {
        text_changes("sonic", [], [*many, f"TABLE|row odd: {odd}"])[0].after for odd in ("\ud800", "\ud801")
    }
    assert len(texts) == 2
