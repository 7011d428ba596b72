"""Write the source of a documentation site: pages, generated reference, schemas, an index and `llms.txt`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from fabricc.base.installation import data_folder
from fabricc.cli import output
from fabricc.cli.reference import GENERATED
from fabricc.compiler.result import exit_status
from fabricc.tree import EmitError
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CONFIGURATION = "mkdocs.yml"
_PICTURES = (".png", ".svg")
_LINK = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)\)")
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
    text = _LINK.sub(
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
