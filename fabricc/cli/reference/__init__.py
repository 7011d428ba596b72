"""Reference pages that fabricc generates from its data: keys, verbs, models, limits of systems, codes."""

from __future__ import annotations

import inspect
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricc.back.nos import BUILT_IN
from fabricc.base.diagnostics import TITLES
from fabricc.base.documents.schema import load_schema
from fabricc.base.numbers import group_pairs
from fabricc.cli.entry import cli
from fabricc.cli.reference.models import render_limits, render_models, render_table
from fabricc.review.explain.codes import about_code, code_causes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


_LEAD = """\
# Keys of the spec

Every key of `cluster.yaml`, from its schema. `NAME` is a name that you choose, `[]` an entry of a list.
A key without a default is optional or follows from others, as its meaning states.
"""
_RANGES = (("minimum", "from"), ("maximum", "to"))


def render_spec() -> str:
    """Return a table of keys for each section, with values, default and meaning."""
    schema = load_schema("cluster")
    sections = [_LEAD]
    for key, raw in schema["properties"].items():
        node = _resolve(schema, raw)
        rows = [(f"`{key}`", *_cells(node)), *_rows(schema, node, key)]
        sections.append(f"## {key}\n\n" + render_table(("key", "values", "default", "meaning"), rows))
    return "\n".join(sections)


def _rows(schema: Mapping[str, Any], node: Mapping[str, Any], path: str) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the keys below a node; a key defined elsewhere in the spec refers to its section."""
    for inner, suffix in _children(node):
        if suffix:
            yield from _rows(schema, _resolve(schema, inner), path + suffix)
            continue
        for name, raw in inner.items():
            below = f"{path}.{name}"
            reference = raw.get("$ref", "")
            if reference.startswith("#/properties/"):
                target = ".".join(part for part in reference.split("/")[2:] if part not in _STRUCTURE)
                yield f"`{below}`", "", "", raw.get("description", f"as `{target}`")
                continue
            found = _resolve(schema, raw)
            yield (f"`{below}`", *_cells(found))
            yield from _rows(schema, found, below)


_STRUCTURE = {"properties", "additionalProperties", "items"}


def _children(node: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the keys of a node, and the nodes of named entries and of list entries with their suffix."""
    if "properties" in node:
        yield node["properties"], ""
    if isinstance(node.get("additionalProperties"), dict):
        yield node["additionalProperties"], ".NAME"
    if isinstance(node.get("items"), dict):
        yield node["items"], "[]"
    for way in ("oneOf", "anyOf"):
        for each in node.get(way, ()):
            yield from _children(each)


def _resolve(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a node with the content of the definition that it refers to; its own keys come first."""
    reference = node.get("$ref", "")
    if not reference.startswith("#/$defs/"):
        return node
    return {**_resolve(schema, schema["$defs"][reference.rpartition("/")[2]]), **node}


def _cells(node: Mapping[str, Any]) -> tuple[str, str, str]:
    default = json.dumps(node["default"]) if "default" in node else ""
    return _values(node), f"`{default}`" if default else "", node.get("description", "")


def _values(node: Mapping[str, Any]) -> str:
    """Return the permitted values in a few words."""
    if "enum" in node:
        return ", ".join(f"`{json.dumps(value).strip(chr(34))}`" for value in node["enum"])
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    for way in ("oneOf", "anyOf"):
        if way in node:
            return " or ".join(dict.fromkeys(filter(None, map(_values, node[way]))))
    kind = node.get("type", "")
    limits = " ".join(f"{word} {node[key]:,}" for key, word in _RANGES if key in node)
    return f"{kind} {limits}".strip() if isinstance(kind, str) else " or ".join(kind)


def render_codes() -> str:
    """Return the meaning, cause and remedy of each code, in the order of the numbers of each subject."""
    return "".join(_render_subjects())


def _render_subjects() -> Iterator[str]:
    yield "# Every code\n\nThe meaning, cause and remedy of each finding. `fabricc explain CODE` shows one of them.\n"
    known = code_causes()
    subjects = group_pairs((about_code(code), code) for code in TITLES)
    for (about, page), codes in subjects.items():
        topic = page.rpartition(" ")[2]
        yield f"\n## {about[0].upper()}{about[1:]}: {page}\n\nSee [{topic}]({topic}.md).\n"
        for code in codes:
            yield f"\n### {code}\n\n**{TITLES[code]}.**"
            yield "".join(f" {sentence}" for sentence in known.get(code, ())) + "\n"


_VERBS_LEAD = "# Verbs and options\n\n`fabricc VERB --help` prints the same for one verb.\n"


def render_verbs() -> str:
    """Return usage, help text and options of each verb, and of the verbs below it."""
    top = click.Context(cli, info_name="fabricc")
    return "\n".join(
        [_VERBS_LEAD, *(part for name in cli.list_commands(top) for part in _render_verb(top, name))]
    )


def _render_verb(above: click.Context, name: str) -> Iterator[str]:
    assert isinstance(above.command, click.Group)
    command = above.command.get_command(above, name)
    assert command is not None
    context = click.Context(command, info_name=name, parent=above)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"## {context.command_path}\n\n```\n{usage}\n```\n\n{_format_help(command.help or '')}"
    rows = list(_option_rows(context))
    if rows:
        yield render_table(("option", "meaning"), rows)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _render_verb(context, below)


def _option_rows(context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None and "--help" not in parameter.opts:
            yield f"`{record[0]}`", record[1]


def _format_help(text: str) -> str:
    """Return the paragraphs of a help text; one that begins with click's marker is a block of code."""
    paragraphs = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        first, _, rest = paragraph.partition("\n")
        paragraphs.append(f"```\n{rest}\n```" if first == "\b" else paragraph)
    return "\n\n".join(paragraphs) + "\n"


FEATURES = Path(__file__).parent / "features.md"
"""The features that each system supports by release; a test compares it with the back ends."""


def _read_features() -> str:
    return FEATURES.read_text("utf-8")


GENERATED: dict[str, Callable[[], str]] = {
    "codes": render_codes,
    "features": _read_features,
    **{f"limits-{nos}": partial(render_limits, nos) for nos in BUILT_IN},
    "models": render_models,
    "spec": render_spec,
    "verbs": render_verbs,
}
"""Topic -> the function that renders its page as Markdown."""

PAGE_TITLES = {
    "codes": "Every code",
    "features": "What each system supports",
    **{f"limits-{nos}": f"Limits of {nos} by release" for nos in BUILT_IN},
    "models": "Hardware models",
    "spec": "Keys of the spec",
    "verbs": "Verbs and options",
}
"""The titles, so that a list of topics renders no page."""
