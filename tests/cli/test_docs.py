"""The pages of the documentation, from a checkout and from a wheel; and every reference to one names the command."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from fabricc.base import installation
from fabricc.cli import catalog, docs
from fabricc.cli.entry import VERBS, cli
from fabricc.cli.reference import GENERATED, PAGE_TITLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs/README.md"
PAGES = {path.stem: path for path in (ROOT / "docs").glob("*.md") if path != INDEX}


def test_topics_are_listed_with_their_titles(fabricc: Fabricc) -> None:
    ran = fabricc("docs")
    assert ran.status == 0
    assert [line.split()[0] for line in ran.out.splitlines()] == sorted([*PAGES, *GENERATED])
    assert "  lossless " in ran.out
    assert "The lossless arithmetic" in ran.out


@pytest.mark.parametrize("topic", ["lossless", "docs/lossless.md"])
def test_a_page_is_printed_as_it_is_where_no_terminal_is(fabricc: Fabricc, topic: str) -> None:
    assert fabricc("docs", topic).out == PAGES["lossless"].read_text("utf-8")


@pytest.mark.parametrize("topic", GENERATED)
def test_a_generated_page_is_a_topic_with_full_tables(fabricc: Fabricc, topic: str) -> None:
    text = fabricc("docs", topic).out
    assert text.startswith(f"# {PAGE_TITLES[topic]}\n") or topic.startswith("limits-")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    width = 0
    for row, after in zip_longest(rows, rows[1:], fillvalue=""):
        width = row.count(" | ") if after.startswith("|---") else width
        assert row.startswith("|---") or row.count(" | ") == width, row


def test_a_topic_that_there_is_not_names_the_nearest(fabricc: Fabricc) -> None:
    ran = fabricc("docs", "losless")
    assert (ran.status, "Did you mean 'lossless'?" in ran.err) == (2, True)


def test_a_code_is_a_topic(fabricc: Fabricc) -> None:
    assert fabricc("docs", "fab2040") == fabricc("explain", "FAB2040")
    assert fabricc("docs", "FAB2040").out.startswith("FAB2040: The ASN block is not private")
    assert (fabricc("docs", "FAB9998").status, "FAB9998" in fabricc("docs", "FAB9998").err) == (1, True)


def test_the_pages_of_a_wheel_are_its_own(
    tmp_path: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_docs").mkdir()
    (tmp_path / "_docs" / "push.md").write_text("# Of the wheel\n")
    monkeypatch.setattr(installation, "PACKAGE", tmp_path)
    listed = fabricc("docs").out.splitlines()
    assert [line.split(maxsplit=1) for line in listed if line.split()[0] not in GENERATED] == [
        ["push", "Of the wheel"]
    ]
    assert fabricc("docs", "push").out == "# Of the wheel\n"


@pytest.mark.slow
def test_a_terminal_gets_a_page_laid_out_in_its_pager(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\nexec cat >"$SEEN"\n')
    pager.chmod(0o755)
    seen = tmp_path / "seen"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PAGER": str(pager),
        "SEEN": str(seen),
        "TERM": "xterm",
    }
    ours, theirs = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-m", "fabricc", "docs", "lock"],
            env=environment, stdin=theirs, stdout=theirs, check=True, timeout=60,
        )  # fmt: skip
    finally:
        os.close(theirs)
        os.close(ours)
    text = re.sub(r"\x1b\[[0-9;]*m", "", seen.read_text("utf-8"))
    assert "fabricc lock SPEC..." in text
    assert "## Hooks" not in text
    assert "```" not in text


def test_links_to_other_pages_name_the_command() -> None:
    text = docs._name_commands(
        "See [lock.md](lock.md), [drivers](docs/drivers.md) and [a site](https://example.org)."
    )
    assert text == (
        "See `fabricc docs lock`, drivers (`fabricc docs drivers`) and [a site](https://example.org)."
    )


def test_messages_contain_no_paths_of_documentation() -> None:
    reported = [*(ROOT / "fabricc" / "review" / "explain").glob("*.yaml"), *(ROOT / "fabricc").rglob("*.py")]
    path = re.compile(r"""["'(` ]docs/([a-z-]+)\.md""")
    found = {
        f"{file.relative_to(ROOT)}: {match[1]}"
        for file in reported
        for match in path.finditer(re.sub(r'"""(?:.|\n)*?"""', "", file.read_text("utf-8")))
        if match[1] in PAGES
    }
    assert found == set()


def test_every_topic_that_the_program_names_exists() -> None:
    texts = [
        file.read_text("utf-8") for kind in ("*.py", "*.yaml") for file in (ROOT / "fabricc").rglob(kind)
    ]
    named = {topic for text in texts for topic in re.findall(r"fabricc docs ([a-z][a-z-]+[a-z])\b", text)}
    assert "push" in named
    assert named - {"nos"} <= PAGES.keys() | GENERATED.keys()


def shown(text: str) -> Iterator[str]:
    """The commands of a page: lines of blocks, and what stands in backquotes."""
    for block in re.findall(r"^```[a-z]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        lines = (line.strip().removeprefix("$ ") for line in block.replace("\\\n", " ").splitlines())
        yield from (line for line in lines if line.startswith("fabricc "))
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from (" ".join(reported.split()) for reported in re.findall(r"`(fabricc [^`]*)`", prose))


def why_unknown(line: str) -> str:
    """Why a command line is none of fabricc's, "" where it is one; an option may be spoken of without its value."""
    words = shlex.split(re.split(r" && | \| |;| > ", line)[0], comments=True)[1:]
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        inner = command.get_command(click.Context(command), words[0])
        if inner is None:
            return "" if words[0] == "VERB" else f"no verb {words[0]}"
        command, words = inner, words[1:]
    inner_parts = {"import": catalog.imports, "compare": catalog.compare}
    if command.name == "catalog" and words and words[0] in inner_parts:
        command, words = inner_parts[words[0]], words[1:]
    try:
        command.make_parser(click.Context(command)).parse_args(words)
    except click.BadOptionUsage:
        return ""
    except click.UsageError as error:
        return error.message
    return ""


def test_every_command_that_a_page_shows_is_one() -> None:
    files = [ROOT / "README.md", INDEX, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *PAGES.values()]
    files += [ROOT / "fabricc/review/explain/codes.yaml", *(ROOT / "ansible_collections").rglob("*.md")]
    reported = [(file, line) for file in files for line in shown(file.read_text("utf-8"))]
    assert len(reported) > 250
    wrong = [(file.name, line, why) for file, line in reported if (why := why_unknown(line))]
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    ["fabricc buidl x", "fabricc build x --olny y", "fabricc lab upp", "fabricc catalog import x --sin 1"],
)
def test_a_command_that_is_none_would_be_noticed(line: str) -> None:
    assert why_unknown(line)


def test_every_verb_has_a_page() -> None:
    for verb in VERBS:
        assert {verb, f"{verb}-command"} & PAGES.keys(), verb


def each_option(command: click.Command) -> Iterator[click.Option]:
    """Those of a verb, and of the verbs below it."""
    yield from (each for each in command.params if isinstance(each, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from each_option(inner)


@pytest.mark.parametrize("verb", VERBS)
def test_the_generated_page_states_the_meaning_of_every_option(verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    sections = re.findall(
        rf"^## fabricc {verb}\b.*?(?=^## |\Z)", GENERATED["verbs"](), re.MULTILINE | re.DOTALL
    )
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", "".join(sections), re.MULTILINE)
    for option in each_option(command):
        if not option.hidden:
            meanings = [text for names, text in rows if {*option.opts} & {*re.split(r"[ ,/]+", names)}]
            assert meanings, option.opts
            assert min(map(len, meanings)) > 10, option.opts


def test_the_generated_page_has_every_key_of_the_spec() -> None:
    text = GENERATED["spec"]()
    schema = json.loads((ROOT / "schemas/cluster.schema.json").read_text("utf-8"))
    assert [key for key in schema["properties"] if f"\n| `{key}` | " not in text] == []
    assert "| `external.NAME.links[].speed_gbps` | `10`, `25`, `40`, " in text
    assert "| `networks.NAME.tors` |  |  | as `tors` |" in text
    assert re.findall(r"^\|.*\|  \|$", text, re.MULTILINE) == [], "a key without a meaning"


def test_the_index_links_every_page_once() -> None:
    linked = re.findall(r"\]\(([a-z-]+)\.md\)", INDEX.read_text("utf-8"))
    assert sorted(linked) == sorted(PAGES)
    assert "(docs/README.md)" in (ROOT / "README.md").read_text("utf-8")


def find_anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and the site name them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_links_between_pages_lead_to_a_file_and_a_heading() -> None:
    broken = []
    for page in (INDEX, *PAGES.values(), *ROOT.glob("*.md")):
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if "://" in link:
                continue
            if not target.exists() or (anchor and anchor not in find_anchors(target)):
                broken.append(f"{page.name}: {link}")
    assert broken == []


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path, fabricc: Fabricc) -> None:
    shown = (ROOT / "README.md").read_text("utf-8").partition("```console\n")[2].partition("```")[0]
    command, *lines = shown.splitlines()
    spec = command.removeprefix("$ fabricc build ")
    assert f"DEMO := {spec}\n" in (ROOT / "Makefile").read_text("utf-8")
    out = fabricc("build", str(ROOT / spec), "-o", str(tmp_path / "build")).out
    printed = out.replace(str(tmp_path / "build"), "build").splitlines()
    assert [line for line in lines if line != "…" and line not in printed] == []


def test_topics_are_completed() -> None:
    argument = cli.get_command(None, "docs").params[0]  # type: ignore[arg-type, union-attr]
    with docs.command.make_context("docs", [], resilient_parsing=True) as context:
        assert [item.value for item in argument.shell_complete(context, "lo")] == [
            "load-balancing",
            "lock",
            "lossless",
        ]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_tables_of_a_page_have_no_blank_lines(page: Path) -> None:
    lines = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE).split("\n")
    starts = [
        number
        for number, line in enumerate(lines)
        if line.startswith("|") and not lines[number - 1].startswith("|")
    ]
    assert [lines[number] for number in starts if not re.fullmatch(r"\|[ :|-]+\|", lines[number + 1])] == []


@pytest.mark.parametrize(("word", "listed"), [("banner", True), ("xyzzy", False)])
def test_an_unknown_topic_lists_the_pages_that_have_the_word(
    word: str, listed: bool, fabricc: Fabricc
) -> None:
    ran = fabricc("docs", word)
    assert (ran.status, "Pages about it: company-standards," in ran.err) == (2, listed)
