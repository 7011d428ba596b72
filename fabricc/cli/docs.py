"""`fabricc docs`: the pages of this release, wherever it is installed, and fabricc(1) from the help of the verbs."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from fabricc.base.installation import data_folder
from fabricc.cli import options, output, reference
from fabricc.cli.entry import cli
from fabricc.cli.explain import command as explain
from fabricc.cli.reference import GENERATED
from fabricc.compiler.result import exit_status
from fabricc.tree import EmitError
from fabricc.tree.file import make_folder, write_file
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
    titles = reference.PAGE_TITLES | {
        topic: page_title(path.read_text("utf-8")) for topic, path in pages.items()
    }
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


CONFIGURATION = "mkdocs.yml"
_PICTURES = (".png", ".svg")
_PAGE_LINK = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)\)")
_TOPIC = re.compile(r"\]\(([a-z-]+)\.md\)")
_COMMAND = re.compile(r"`fabricc docs ([a-z-]+)`")
_HEADING = re.compile(r"^#+ .*\n+", re.MULTILINE)
_STYLE = """:root > * { --md-typeset-a-color: #2f43a0; --md-accent-fg-color: #2f43a0; }
[data-md-color-scheme="slate"] { --md-typeset-a-color: #aab6ff; --md-accent-fg-color: #aab6ff; }
.md-typeset pre > code { white-space: pre-wrap; }
"""
"""Links that contrast 4.5:1, and examples that no keyboard has to scroll sideways (WCAG 2.2, 1.4.3 and 2.1.1)."""
_LEAD = "The compiler for lossless AI fabrics: one short spec to every switch's and every host's configuration, proved."


def write_site(place: Path, pages: Mapping[str, Path]) -> int:
    """Write the source of a site into a folder, only what is new or changed; the exit status."""
    written = 0
    try:
        for path, content in _site_files(pages):
            make_folder((place / path).parent)
            written += write_file(place / path, content)
    except EmitError as error:
        output.print_findings((error.diagnostic,), "text", {})
        return exit_status((error.diagnostic,))
    output.out(
        f"{place / CONFIGURATION}: {written} files written; build it with `zensical build` or `mkdocs build`"
    )
    return 0


def _site_files(pages: Mapping[str, Path]) -> Iterator[tuple[str, bytes]]:
    """Yield the files by path: the sources that mkdocs and Zensical build, with `mkdocs.yml` at the top."""
    texts = {topic: _adapt_links(path.read_text("utf-8")) for topic, path in pages.items()}
    texts |= {topic: render() for topic, render in GENERATED.items()}
    index = (data_folder("docs") / "README.md").read_text("utf-8")
    groups = _group_topics(index)
    for topic, text in texts.items():
        yield f"docs/{topic}.md", text.encode()
    for path in sorted(data_folder("docs").iterdir()):
        if path.suffix in _PICTURES:
            yield f"docs/{path.name}", path.read_bytes()
    for path in sorted(data_folder("schemas").glob("*.json")):
        yield f"docs/schemas/{path.name}", path.read_bytes()
    yield "docs/index.md", _adapt_links(index).encode()
    yield "docs/style.css", _STYLE.encode()
    yield "docs/llms.txt", _llms_index(texts, groups).encode()
    yield CONFIGURATION, _site_configuration(groups).encode()


def _adapt_links(text: str) -> str:
    """Return a page whose links to outside files lead to a schema, or are removed, and that links generated pages."""
    text = _PAGE_LINK.sub(
        lambda link: f"[{link[1]}]({link[2]})" if link[2].startswith("schemas/") else link[1], text
    )
    return _COMMAND.sub(
        lambda found: f"[{found[1]}]({found[1]}.md)" if found[1] in GENERATED else found[0], text
    )


def _group_topics(index: str) -> dict[str, list[str]]:
    """Map each heading of the index to the topics that it links, and add the generated pages."""
    sections = (section.partition("\n") for section in index.split("\n## ")[1:])
    return {heading: _TOPIC.findall(body) for heading, _, body in sections} | {
        "Generated reference": [*GENERATED]
    }


def page_title(text: str) -> str:
    """Return the title of a page."""
    return text.partition("\n")[0].lstrip("# ").replace("`", "")


def _first_sentence(text: str) -> str:
    """Return the first sentence of a page, without links."""
    body = _HEADING.sub("", text, count=1).partition("\n\n")[0]
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(body.split()))
    return re.split(r"[.:](?: |$)", plain, maxsplit=1)[0] + "."


def _llms_index(texts: Mapping[str, str], groups: Mapping[str, list[str]]) -> str:
    """Return an index for language models, as llmstxt.org describes it."""
    text = f"# fabricc\n\n> {_LEAD}\n"
    for heading, topics in groups.items():
        lines = (
            f"- [{page_title(texts[topic])}]({topic}.md): {_first_sentence(texts[topic])}\n"
            for topic in topics
        )
        text += f"\n## {heading}\n\n{''.join(lines)}"
    return text


def _site_configuration(groups: Mapping[str, list[str]]) -> str:
    nav: list[object] = [{"fabricc": "index.md"}]
    nav += [{heading: [f"{topic}.md" for topic in topics]} for heading, topics in groups.items()]
    settings = {
        "site_name": "fabricc",
        "site_description": _LEAD,
        "theme": {
            "name": "material",
            "font": False,
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
            ],
        },
        "markdown_extensions": ["admonition", "pymdownx.superfences", {"toc": {"permalink": True}}],
        "extra_css": ["style.css"],
        "plugins": ["search"],
        "nav": nav,
    }
    return json.dumps(settings, indent=2) + "\n"  # JSON is YAML
