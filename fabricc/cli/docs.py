"""`fabricc docs`: the pages of this release, wherever it is installed, and fabricc(1) from the help of the verbs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from fabricc.base.installation import data_folder
from fabricc.cli import options, output, reference
from fabricc.cli.docs_site import write_site
from fabricc.cli.entry import cli
from fabricc.cli.explain import command as explain
from fabricc.version import __version__

_CODE = re.compile(r"FAB[0-9]{4}", re.IGNORECASE)
_SEARCHED = 4
"""Pages that contain the word of an unknown topic, shown at most."""
_LINK = re.compile(r"\[([^\]]+)\]\((?:docs/)?([a-z0-9-]+)\.md\)")


_SENTENCE = "compile a short cluster spec into every switch's and every host's configuration"
_STATUSES = (
    ("0", "No faults."),
    ("1", "The input or the result is wrong."),
    ("2", "Bad usage; with `diff --detailed-exitcode`, something changes."),
    ("3", "A device or the environment failed."),
    ("130", "Interrupted; no change is incomplete."),
)
_VARIABLES = (
    ("FABRICC_TEMPLATES", "Folders of your own templates, searched before the built-in ones."),
    ("FABRICC_DEBUG", "If 1, an internal error shows its traceback."),
    ("NO_COLOR", "If set, the output has no colors."),
    ("PAGER", "The program that shows the pages of `fabricc docs` on a terminal."),
    (
        "XDG_STATE_HOME",
        "Where records of builds, journals of pushes and trust in access files are kept, by default ~/.local/state.",
    ),
)
_FILES = (
    ("cluster.yaml", "The spec."),
    ("fabricc.lock", "The pinned numbers, next to the spec: commit it."),
    ("fabricc-access.yaml", "How to log in to the switches, next to the spec: never committed."),
    ("fabricc-policy.yaml", "The limits of a review."),
    ("build/CLUSTER", "The tree that a build writes; its manifest.json has the digest of every file."),
)
_ESCAPES = str.maketrans({"\\": "\\e", "-": "\\-", '"': "\\(dq", "~": "\\(ti", "^": "\\(ha"})
_WORD = re.compile(r"`([^`]+)`")


def list_pages() -> Mapping[str, Path]:
    """Map each topic to its page; `README.md` is the index of the pages, not a topic."""
    found = {path.stem: path for path in data_folder("docs").glob("*.md")}
    return {topic: found[topic] for topic in sorted(found.keys() - {"README"})}


def _list_topics(pages: Mapping[str, Path]) -> dict[str, str]:
    """Map each topic to its title: pages and generated reference, sorted."""
    titles = reference.TITLES | {topic: _page_title(path) for topic, path in pages.items()}
    return dict(sorted(titles.items()))


def _complete_topics(
    _context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    topics = _list_topics(list_pages())
    return [CompletionItem(topic, help=title) for topic, title in topics.items() if topic.startswith(begun)]


@click.command("docs")
@click.argument("topic", required=False, shell_complete=_complete_topics)
@click.option("--site", type=options.FilePath(path_type=Path),
              help="Write the source of a documentation site to a folder.")  # fmt: skip
@click.option("--man", is_flag=True, help="Print the manual page, fabricc(1), for `man`.")
def command(topic: str | None, site: Path | None, man: bool) -> int:
    """List every topic, or show the page of TOPIC: in a pager on a terminal, as Markdown elsewhere.

    `models`, `features`, `codes` and `limits-SYSTEM` are generated from the data of this release. Any other word lists
    the pages that have it.

    For a code, such as FAB2040, show the answer of `fabricc explain`.
    """
    if man:
        if topic is not None or site is not None:
            raise click.UsageError("`--man` prints one page of all verbs; leave out the topic and `--site`.")
        output.print_verbatim(*render_manual().splitlines())
        return 0
    pages = list_pages()
    if site is not None:
        if topic is not None:
            raise click.UsageError("`--site` writes every page; leave out the topic.")
        return write_site(site, pages)
    known = _list_topics(pages)
    if topic is None:
        output.out(*output.align_columns(known.items()))
        return 0
    if _CODE.fullmatch(topic):
        status: int = click.get_current_context().invoke(explain, first=topic)
        return status
    topic = topic.removeprefix("docs/").removesuffix(".md")
    if topic not in known:
        near = get_close_matches(topic, known, 1)
        found = _search_pages(topic, pages)
        hint = (
            f" Did you mean '{near[0]}'?"
            if near
            else f" Pages about it: {', '.join(found)}."
            if found
            else ""
        )
        raise click.UsageError(f"no topic '{topic}'.{hint} `fabricc docs` lists them.")
    text = reference.GENERATED[topic]() if topic in reference.GENERATED else pages[topic].read_text("utf-8")
    output.print_page(text, _name_commands)
    return 0


def _page_title(path: Path) -> str:
    return path.read_text("utf-8").partition("\n")[0].lstrip("# ").replace("`", "")


def _search_pages(word: str, pages: Mapping[str, Path]) -> list[str]:
    """Return the topics of the pages that have a word most often, a page with it in a heading first."""
    pattern = re.compile(rf"\b{re.escape(word)}s?\b", re.IGNORECASE)
    counts: dict[str, tuple[int, int]] = {}
    for topic, path in pages.items():
        text = path.read_text("utf-8")
        headings = sum(bool(pattern.search(line)) for line in text.splitlines() if line.startswith("#"))
        counts[topic] = headings, len(pattern.findall(text))
    found = [topic for topic, (_, count) in counts.items() if count]
    return sorted(found, key=counts.__getitem__, reverse=True)[:_SEARCHED]


def _name_commands(text: str) -> str:
    """Return a page in which links to other pages name the command that shows them."""
    return _LINK.sub(
        lambda link: (
            f"`fabricc docs {link[2]}`"
            if link[1] == f"{link[2]}.md"
            else f"{link[1]} (`fabricc docs {link[2]}`)"
        ),
        text,
    )


def render_manual() -> str:
    """Return the page in the language of man(7), the same bytes on every machine."""
    top = click.Context(cli, info_name="fabricc")
    lines = [
        f'.TH FABRICC 1 "" "fabricc {__version__}" "User Commands"',
        ".SH NAME", f"fabricc \\- {_escape_text(_SENTENCE)}",
        ".SH SYNOPSIS", ".B fabricc", "[OPTIONS] VERB [ARGUMENTS]",
        ".SH DESCRIPTION", *_split_paragraphs((cli.help or "").partition("Exit status:")[0].strip()),
            *_option_lines(top),
        ".SH VERBS", *(line for name in cli.list_commands(top) for line in _verb_section(top, name)),
    ]  # fmt: skip
    for title, rows in (
        ("EXIT STATUS", _STATUSES), ("ENVIRONMENT", _VARIABLES), ("FILES", _FILES),
    ):  # fmt: skip
        lines += [f".SH {title}", *(line for term, meaning in rows for line in list_item(term, meaning))]
    lines += [".SH SEE ALSO", *_split_paragraphs("`fabricc docs` lists the pages of the documentation.")]
    return "\n".join(lines) + "\n"


def _verb_section(above: click.Context, name: str) -> Iterator[str]:
    """Yield a verb with its options, and those below it."""
    command = above.command.get_command(above, name)  # type: ignore[attr-defined]
    context = click.Context(command, info_name=name, parent=above)
    words = [
        _escape_text(word) for word in (*context.command_path.split(), *command.collect_usage_pieces(context))
    ]
    yield f'.SS "{" ".join(words)}"'
    yield from _split_paragraphs(command.help or "")
    yield from _option_lines(context)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _verb_section(context, below)


def _option_lines(context: click.Context) -> Iterator[str]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None and "--help" not in parameter.opts:
            yield from list_item(*record)


def list_item(term: str, meaning: str) -> Sequence[str]:
    """Return an item of a list: a term and its meaning."""
    return (".TP", f".B {_escape_text(term)}", _format_line(meaning))


def _split_paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; one that begins with a backspace line (click's marker) keeps its lines."""
    for number, paragraph in enumerate(inspect.cleandoc(text).split("\n\n")):
        if number:
            yield ".PP"
        first, _, rest = paragraph.partition("\n")
        if first == "\b":
            yield from (".nf", *map(_format_line, rest.split("\n")), ".fi")
        elif paragraph:
            yield _format_line(" ".join(paragraph.split()))


def _format_line(text: str) -> str:
    """Return a line of running text; text in backquotes is bold."""
    shown = _WORD.sub(r"\\fB\1\\fR", _escape_text(text).replace("  ", " "))
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


def _escape_text(text: str) -> str:
    return text.translate(_ESCAPES)
