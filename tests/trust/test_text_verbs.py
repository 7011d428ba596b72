"""Verbs print harmless text in every format when files, devices and neighbors are hostile."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.cli import entry, output
from fabricc.cli import push_run as push_report
from fabricc.cli import verify_run as verify_report
from fabricc.cli.diff import as_diagnostics
from fabricc.cli.diff import review_lines as review_parts
from fabricc.operate.change.order import Wave
from fabricc.operate.change.resources import Effect
from fabricc.operate.lab import agreement
from fabricc.operate.lab.agreement import Trial
from fabricc.operate.push.executor import InitialState
from fabricc.operate.push.journal import Run, State
from fabricc.operate.push.options import Options
from fabricc.operate.push.start import Preview
from fabricc.operate.verify.model import Aspect, Report, make_finding
from fabricc.review.diff.markdown import FORGES, render, render_failure
from fabricc.review.diff.model import FileDiff, Fleet, Impact, SpecChange
from fabricc.review.diff.review_json import render as review_json
from tests.review.diff.conftest import Bench
from tests.trust.hostile import ALL, BIDI, COMMANDS, ESCAPES, LONE, anything, is_harmless

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabricc.review.diff.model import Review

    Said = Callable[..., tuple[str, str]]

NAMES = (
    "\x1b]0;x\x07\x1b[2J.yaml",
    "::error title=x:",
    "a\n::error::b.yaml",
    "##[error]c.yaml",
    "[bold]d.yaml",
)
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Return what is printed by a run of the command line, or by a call."""

    def call(*words: str, by: Callable[[], object] | None = None) -> tuple[str, str]:
        capsys.readouterr()
        if by is None:
            entry.run([*words])
        else:
            by()
        told = capsys.readouterr()
        return told.out, told.err

    return call


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "verb", ["validate", "plan", "lock", "fmt", "build", "check", "report", "explain", "diff"]
)
def test_the_name_of_a_spec_is_text(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("cluster: [\x1b[31m::error::x\n")
    more = {"explain": ["10.0.0.1"], "diff": [name]}.get(verb, [])
    out, err = said(verb, name, *more)
    assert out + err
    assert is_harmless(out)
    assert is_harmless(err)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("format_", ["json", "sarif", "junit", "github", "md"])
def test_the_name_of_a_spec_is_text_for_programs(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("clust\u202eer: [\n")
    verb = ("diff", name, name) if format_ == "md" else ("validate", name)
    out, _ = said(*verb, "--format", format_)
    if format_ == "github":
        assert all(line.startswith("::error ") for line in out.splitlines())
        out = out.replace("::error ", "")
    assert is_harmless(out)


@pytest.mark.parametrize("text", [ESCAPES, BIDI, *COMMANDS])
def test_bad_usage_repeats_nothing_that_is_obeyed(said: Said, text: str) -> None:
    clean = text.replace("\x00", "")
    option, value = ("plan", "x", f"--{clean}"), ("build", "x", "--jobs", clean)
    for words in (option, value, (clean,), ("catalog", clean), ("explain", clean)):
        _, err = said(*words)
        assert err
        assert is_harmless(err)


@pytest.mark.parametrize("debug", ["0", "1"])
@pytest.mark.parametrize(
    "error", [ValueError(f"{ESCAPES}\n::error::no"), OSError(5, "no\x1b[2J", "::error::\nf"), KeyError(BIDI)]
)
def test_a_failure_repeats_nothing_that_is_obeyed(
    said: Said, monkeypatch: pytest.MonkeyPatch, error: Exception, debug: str
) -> None:
    def fails(*_: object, **__: object) -> int:
        raise error

    monkeypatch.setenv("FABRICC_DEBUG", debug)
    monkeypatch.setattr(entry.cli, "main", fails)
    _, err = said()
    assert "error FAB7" in err
    assert is_harmless(err)


def test_output_lines_stay_single_lines(said: Said) -> None:
    out, err = said(by=lambda: (output.out("a", "b\nrun 7: done\x1b[2J"), output.err("c\rd")))
    assert out == "a\nb\\nrun 7: done\\x1b[2J\n"
    assert err == "c\\rd\n"


def test_unencodable_characters_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    output.out("→ 网", LONE)
    stream.seek(0)
    assert stream.read() == "\\u2192 \\u7f51\na\\ud800b\\udcffc\n"


def test_a_command_does_not_begin_a_line_by_wrapping(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    from fabricc.base.foreign.text import Table

    monkeypatch.setenv("COLUMNS", "40")
    cell = " ".join(["x" * 30, "::error::no"] * 9)
    out, _ = said(
        by=lambda: output.print_parts([Table("a [bold]title", ("one", "[red]two"), [(cell, cell)])])
    )
    assert "::error" in out
    assert "[bold]title" in out
    assert "[red]two" in out
    assert is_harmless(out)


def test_library_logs_of_switch_output_are_suppressed(tmp_path: Path) -> None:
    (tmp_path / "fabricc-access.yaml").write_text("username: fabricc\npassword: {env: NONE}\n")
    speaks = "import logging; logging.getLogger('paramiko.transport').error('banner: \\x1b[2J')"
    file = tmp_path / "fabricc-access.yaml"
    opens = f"import pathlib; from fabricc.cli.logins import access; access(None, pathlib.Path('{file}'))"
    told = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
        for code in (speaks, f"{opens}; {speaks}")
    ]
    assert told == ["banner: \x1b[2J\n", ""]


def hostile_report(text: str) -> Report:
    """A verification in which a neighbor, a device and a file are hostile."""
    place = Position(text, 3)
    wrong = make_finding(Aspect.CABLING, text, "FAB9211", f"port swp1 hears {text}", position=place)
    failed = Diagnostic(
        "FAB9104", Severity.ERROR, f"{text} cannot be logged in to: {text}", None, f"Log in: {text}"
    )
    silent: dict[Aspect, tuple[str, ...]] = {Aspect.CABLING: (text,)}
    counters: Any = {text: {"pfc_rx": {text: {"3": 7}}}}
    compared, unasked = {Aspect.CABLING: {text: 3}}, {text: (failed,)}
    return Report(
        text, (Aspect.CABLING,), compared, unasked, silent, (wrong,), (), 2, (text,), counters
    )  # fmt: skip


TEXT = ("text", "text_special", "softbreak", "code_inline")


def parse_skeleton(markdown: str) -> list[tuple[str, str]]:
    """The structure of Markdown without its words: what a forge would make of it."""
    flat = [part for token in READER.parse(markdown) for part in [token, *(token.children or ())]]
    return [(token.type, token.info) for token in flat if token.type not in TEXT]


@pytest.mark.parametrize("text", ALL)
def test_a_verification_shows_neighbors_as_text(
    said: Said, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    report = hostile_report(text)
    out, _ = said(by=lambda: output.print_parts(verify_report.parts(report)))
    clean, _ = said(by=lambda: output.print_parts(verify_report.parts(hostile_report("x"))))
    assert is_harmless(out)
    assert out.count("\n") == clean.count("\n"), "no name makes a line"
    for document in (
        verify_report.as_json(report),
        verify_report.as_junit(report),
        verify_report.as_markdown(report),
    ):
        assert is_harmless(document)
    json.loads(verify_report.as_json(report))
    ElementTree.fromstring(verify_report.as_junit(report))
    assert parse_skeleton(verify_report.as_markdown(report)) == parse_skeleton(
        verify_report.as_markdown(hostile_report("x"))
    )


def test_the_journal_is_text(said: Said) -> None:
    for text in ALL:
        run = Run(1, text, text, text, {}, 0.0, None, text)
        states = {text: (State.UNKNOWN, text, text, 1)}
        out, _ = said(
            by=lambda run=run, states=states: output.out(
                *push_report.format_status([(run, states)], whole=True)
            )
        )
        assert is_harmless(out)
        assert len(out.split("\n")) == 3, "no row of the journal makes another"


@pytest.mark.parametrize("text", ALL)
def test_a_dry_run_shows_the_switches_diffs_as_text(said: Said, text: str) -> None:
    effect = Effect(text, Impact.TRAFFIC_LOSS, text)
    wave = Wave((text,), True, Fraction(1), text, Fraction(1, 2))
    asked = {text: InitialState(text, f"+{text}", effect, (text,))}
    seen = Preview(text, {text: effect}, [wave], 3.0, text, asked, 1, (text,), (text,))
    out, _ = said(by=lambda: output.out(*push_report.format_preview(seen, Options())))
    assert is_harmless(out)


@pytest.mark.parametrize("text", ALL)
def test_a_trial_shows_routers_as_text(said: Said, text: str) -> None:
    made = Trial(text, text, 6, 4, 8.0, {"a": 2048}, differences=(text,), overlay=(text,))
    check = made.check(text, text, text)
    check.add(False, text)
    out, _ = said(by=lambda: output.out(*agreement.table_lines(made)))
    assert is_harmless(out)
    assert is_harmless(agreement.as_json(made))
    suite = ElementTree.fromstring(agreement.as_junit(made))
    assert len(suite) == 1


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Review:
    return Bench(tmp_path_factory.mktemp("review")).review("rack-zone-512", ("dscp: 26", "dscp: 34"))


def fill_review(review: Review, text: str) -> Review:
    """The review with the text in every place that a spec, a path, a tree or a device reaches."""
    place = Position(text, 1)
    wrong = Diagnostic("FAB2014", Severity.WARNING, text, place, text)
    changes = tuple(SpecChange(text, text, after, place) for after in (text, text + "!"))
    files = (FileDiff(text, "\n".join(f"+{line}" for line in text.split("\n")), 1, 0),)
    first = review.groups[0]
    lines = tuple(
        replace(
            line,
            example=text,
            verdict=line.verdict._replace(why=text),
            statement=line.statement._replace(after=text),
        )
        for line in first.lines[:1]
    )
    group = replace(first, devices=(text,), files=files, causes=(text,), platform=text, lines=lines)
    figure = replace(review.figures[0], name=text, before=text, after=text + "!")
    fleet = Fleet({"tor": (text,)}, 1)
    stated: dict[str, Any] = {
        "cluster": text,
        "base": text,
        "head": text,
        "spec": text or "x",
        "lock": (f"+{text}",),
    }
    made: dict[str, Any] = {
        "groups": (group,),
        "figures": (figure,),
        "spec_changes": changes,
        "added": fleet,
        "removed": fleet,
    }
    return replace(review, **stated, **made, findings=(wrong,), violations=(wrong,), drain_hosts=(text,))


def posted_comments(review: Review, text: str, forge: str) -> list[str]:
    """Return what is posted of the review with the text everywhere, and where nothing could be compared."""
    wrong = [Diagnostic("FAB0001", Severity.ERROR, text, Position(text, 1), text or "x")]
    return [render(fill_review(review, text), FORGES[forge]), render_failure(wrong, text, FORGES[forge])]


@pytest.mark.parametrize("forge", ["github", "gitlab", "bitbucket", "azure"])
@pytest.mark.spread
def test_a_comment_has_the_structure_of_a_clean_one(review: Review, forge: str) -> None:
    clean = [parse_skeleton(comment) for comment in posted_comments(review, "x", forge)]
    begins = "<!-- fabricc:diff:" if FORGES[forge].folds else "[//]: # (fabricc:diff:"

    @given(anything)
    def holds(text: str) -> None:
        found = posted_comments(review, text, forge)
        assert all(map(is_harmless, found))
        assert [parse_skeleton(comment) for comment in found] == clean
        assert all(comment.strip().split("\n")[-1].startswith(begins) for comment in found)

    for text in ALL:
        holds = example(text)(holds)
    holds()


@pytest.mark.parametrize("text", ALL)
def test_a_review_is_text_on_a_terminal_and_for_programs(said: Said, review: Review, text: str) -> None:
    found_ = fill_review(review, text)
    out, _ = said(by=lambda: output.print_parts(review_parts(found_)))
    assert is_harmless(out)
    assert is_harmless(review_json(found_))
    json.loads(review_json(found_))
    for format_ in ("json", "sarif", "junit"):
        out, _ = said(by=lambda format_=format_: output.print_findings(as_diagnostics(found_), format_, {}))
        assert is_harmless(out)
        assert "](" not in out or format_ != "sarif"


def test_ticks_in_an_overlay_do_not_close_the_fence(review: Review) -> None:
    ticks = "+ok\n+`````\n+# out [x](https://evil.example) @octocat"
    group = replace(review.groups[0], files=(FileDiff("f", ticks, 3, 0),))
    comment = render(replace(review, groups=(group,)), FORGES["github"])
    fences = [token.content for token in READER.parse(comment) if token.type == "fence"]
    assert fences == [ticks + "\n"]
    assert "\n``````diff\n" in comment


def test_a_table_for_a_spreadsheet_calculates_nothing(said: Said, tmp_path: Path) -> None:
    from fabricc.base.foreign.formats import csv_text
    from fabricc.paperwork.plan_tables import WORKSHEET

    rows = [WORKSHEET, ("a", "b", "c", "d", -5, "-", '=HYPERLINK("https://evil.example")')]
    assert csv_text(rows).splitlines()[1] == 'a,b,c,d,-5,-,"\'=HYPERLINK(""https://evil.example"")"'


@given(st.sampled_from(Severity), anything, anything, anything)
def test_any_finding_is_text_for_people(severity: Severity, file: str, message: str, source: str) -> None:
    from fabricc.base.diagnostics.formats import render_text
    from fabricc.base.foreign.text import neutral_text

    finding = Diagnostic("FAB0001", severity, message, Position(file, 1, 2), message)
    assert is_harmless(neutral_text(render_text([finding], {file: source})))
