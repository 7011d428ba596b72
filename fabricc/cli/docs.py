"""`fabricc docs`: the pages of this release, wherever it is installed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from fabricc.base.installation import folder
from fabricc.cli import options, output
from fabricc.cli.docs_site import write_site
from fabricc.cli.explain import command as explain
from fabricc.cli.manual import manual

_CODE = re.compile(r"FAB[0-9]{4}", re.IGNORECASE)
_LINK = re.compile(r"\[([^\]]+)\]\((?:docs/)?([a-z0-9-]+)\.md\)")


def pages() -> Mapping[str, Path]:
    """Topic -> its page."""
    return {path.stem: path for path in sorted(folder("docs").glob("*.md"), key=lambda path: path.stem)}


def _topics(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    return [
        CompletionItem(topic, help=_title(path)) for topic, path in pages().items() if topic.startswith(begun)
    ]


@click.command("docs")
@click.argument("topic", required=False, shell_complete=_topics)
@click.option(
    "--site",
    type=options.FilePath(path_type=Path),
    help="Write the source of a documentation site to a folder.",
)
@click.option("--man", is_flag=True, help="Print the manual page, fabricc(1), for `man`.")
def command(topic: str | None, site: Path | None, man: bool) -> int:
    """List every topic, or show the page of TOPIC: laid out in a pager on a terminal, Markdown elsewhere.

    Of a code, such as FAB2040, it is what `fabricc explain` tells.
    """
    if man:
        if topic is not None or site is not None:
            raise click.UsageError("`--man` prints one page of all verbs; leave out the topic and `--site`.")
        output.verbatim(*manual().splitlines())
        return 0
    known = pages()
    if site is not None:
        if topic is not None:
            raise click.UsageError("`--site` writes every page; leave out the topic.")
        return write_site(site, known)
    if topic is None:
        output.out(*output.columns((name, _title(path)) for name, path in known.items()))
        return 0
    if _CODE.fullmatch(topic):
        told: int = click.get_current_context().invoke(explain, first=topic)
        return told
    topic = topic.removeprefix("docs/").removesuffix(".md")
    if topic not in known:
        near = get_close_matches(topic, known, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise click.UsageError(f"no topic '{topic}'.{hint} `fabricc docs` lists them.")
    output.page(known[topic].read_text("utf-8"), _named)
    return 0


def _title(path: Path) -> str:
    return path.read_text("utf-8").partition("\n")[0].lstrip("# ").replace("`", "")


def _named(text: str) -> str:
    """A page whose links to others name the command that shows them."""
    return _LINK.sub(
        lambda link: (
            f"`fabricc docs {link[2]}`"
            if link[1] == f"{link[2]}.md"
            else f"{link[1]} (`fabricc docs {link[2]}`)"
        ),
        text,
    )
