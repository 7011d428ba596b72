"""Render diagnostics: as text with place, source line, caret and remedy, and in the formats for programs."""

from __future__ import annotations

import hashlib
import posixpath
import re
import textwrap
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from fabricc.base.diagnostics import TITLES, Diagnostic, Position, Severity
from fabricc.base.foreign.formats import json_document, sarif_message, workflow_commands, xml_document
from fabricc.base.foreign.text import Rendered, Terminal, safe_block, visible_text
from fabricc.base.secret_words import HIDDEN, secrets_by_line
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
GITLAB_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}
_FINGERPRINT = 32
"""Hexadecimal digits, as those of the MD5 hash in GitLab's example."""
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that stand for no byte of a file's name (PEP 383)."""


def render_json(diagnostics: Iterable[Diagnostic]) -> Rendered:
    """Return an object with `diagnostics` in order and `summary`, a count per severity."""
    return json_document(findings_object(diagnostics))


def findings_object(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return the object of `render_json`, for verbs that add keys to it."""
    found = list(diagnostics)
    counts = {severity.value: sum(each.severity is severity for each in found) for severity in Severity}
    return {"diagnostics": [finding_entry(each) for each in found], "summary": counts}


def finding_entry(each: Diagnostic) -> dict[str, Any]:
    """Return a finding as an object of JSON."""
    return {
        "code": each.code,
        "title": TITLES.get(each.code, each.code),
        "severity": each.severity.value,
        "message": each.message,
        "file": each.position.file if each.position else None,
        "line": each.position.line if each.position else None,
        "column": each.position.column if each.position else None,
        "help": each.help,
    }


def render_sarif(
    diagnostics: Iterable[Diagnostic], advice: Mapping[str, tuple[str, str]] | None = None
) -> Rendered:
    """Return a SARIF 2.1.0 log (OASIS) of one run; columns count Unicode code points.

    Args:
        diagnostics: the findings.
        advice: code -> its cause and its remedy.
    """
    found = list(diagnostics)
    codes = sorted({each.code for each in found})
    rules = [_sarif_rule(code, (advice or {}).get(code)) for code in codes]
    run = {
        "tool": {"driver": {"name": "fabricc", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(each, codes.index(each.code)) for each in found],
    }
    return json_document({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def render_github(diagnostics: Iterable[Diagnostic]) -> Rendered:
    """Return one workflow command a line, which GitHub shows at the place in the pull request."""
    return workflow_commands(map(_github_command, diagnostics))


def _github_command(each: Diagnostic) -> tuple[str, dict[str, str], str]:
    properties = {"title": f"{each.code} {TITLES.get(each.code, '')}".strip()}
    if each.position:
        place = each.position
        properties = {"file": place.file, "line": str(place.line), "col": str(place.column), **properties}
    message = f"{each.message}\nhelp: {each.help}" if each.help else each.message
    return GITHUB_COMMANDS[each.severity], properties, message


def render_gitlab(diagnostics: Iterable[Diagnostic]) -> Rendered:
    """Return a Code Quality report of GitLab: an array with an object for each finding.

    The fields are those of "Implement a custom tool" in GitLab's documentation. GitLab compares fingerprints with those
    of the target branch, so lines above a finding do not change its own, and two equal findings have different ones.
    """
    found, seen = [], Counter[tuple[str, str, str]]()
    for each in diagnostics:
        path = posixpath.normpath(each.position.file) if each.position else "."
        key = (each.code, path, each.message)
        seen[key] += 1
        words = "\0".join((*key, str(seen[key]))).encode("utf-8", "surrogatepass")
        text = f"{each.code}: {each.message}" + (f"\n{each.help}" if each.help else "")
        found.append({
            "description": safe_block(text),
            "check_name": each.code,
            "fingerprint": hashlib.sha256(words).hexdigest()[:_FINGERPRINT],
            "severity": GITLAB_SEVERITIES[each.severity],
            "location": {"path": path, "lines": {"begin": max(each.position.line, 1) if each.position else 1}},
        })  # fmt: skip
    return json_document(found)


def render_junit(diagnostics: Iterable[Diagnostic]) -> Rendered:
    """Return a JUnit XML report: a failed test per error, a skipped one per warning, a passed one per note."""
    found = list(diagnostics)
    failures = sum(each.severity is Severity.ERROR for each in found)
    skipped = sum(each.severity is Severity.WARNING for each in found)
    counts = {
        "tests": str(len(found) or 1),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(skipped),
    }
    root = ElementTree.Element("testsuites", {"name": "fabricc", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "fabricc", **counts})
    if not found:
        ElementTree.SubElement(suite, "testcase", {"classname": "fabricc", "name": "no findings"})
    for each in found:
        place = each.position
        named = {"classname": place.file if place else "fabricc", "name": f"{each.code}: {each.message}"}
        case = ElementTree.SubElement(suite, "testcase", named)
        if place is not None:
            case.set("file", place.file)
            case.set("line", str(place.line))
        where = f"{place.file}:{place.line}:{place.column}: " if place else ""
        body = f"{where}{each.message}" + (f"\nhelp: {each.help}" if each.help else "")
        if each.severity is Severity.ERROR:
            ElementTree.SubElement(case, "failure", {"type": each.code, "message": each.message}).text = body
        elif each.severity is Severity.WARNING:
            ElementTree.SubElement(case, "skipped", {"message": each.message}).text = body
        else:
            ElementTree.SubElement(case, "system-out").text = body
    return xml_document(root)


def _sarif_rule(code: str, advice: tuple[str, str] | None) -> dict[str, Any]:
    """Return a rule with the texts that GitHub requires."""
    title = TITLES.get(code, code)
    cause, remedy = advice or (title, f"Run `fabricc explain {code}`.")
    return {
        "id": code,
        "shortDescription": {"text": title},
        "fullDescription": {"text": cause},
        "help": {"text": f"{remedy} See `fabricc explain {code}`." if advice else remedy},
    }


def _sarif_result(each: Diagnostic, rule: int) -> dict[str, Any]:
    text = f"{each.message}\n{each.help}" if each.help else each.message
    result: dict[str, Any] = {
        "ruleId": each.code,
        "ruleIndex": rule,
        "level": each.severity.value,
        "message": {"text": sarif_message(text)},
    }
    if each.position:
        place = each.position
        uri = quote(_NO_BYTE.sub("\ufffd", place.file).encode("utf-8", "surrogateescape"))
        artifact = {"uri": f"file://{uri}" if uri.startswith("/") else uri}
        region = {"startLine": max(place.line, 1), "startColumn": max(place.column, 1)}
        result["locations"] = [{"physicalLocation": {"artifactLocation": artifact, "region": region}}]
    return result


LINE_BREAK = re.compile(r"\r\n|\r|\n")
_SPEC = re.compile(r"^cluster:", re.MULTILINE)
_SPEC_SECRET = re.compile(r"((?<![\w-])(?:password|key|community|auth|privacy)\s*:\s+)(?![{&*!|>\s])[^\s,}]+")
"""A text in the place of a mapping with the name of a secret."""
WIDTH = 100
_NARROWEST = 20
COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
BOLD, DIM = "1", "2"


def render_text(
    diagnostics: Iterable[Diagnostic],
    sources: Mapping[str, str],
    *,
    color: bool = False,
    width: int | None = None,
) -> Terminal:
    """Return all findings and a count; an empty text when there is none.

    Args:
        diagnostics: shown in the order given.
        sources: file -> its text, for the source lines; a file not in it is shown without.
        color: with ANSI colors. Nothing else in the result is an escape sequence, whatever the input holds.
        width: columns of the terminal, at which messages and remedies break between words; None breaks no line.
    """
    found = list(diagnostics)
    if not found:
        return Terminal()
    lines = {file: LINE_BREAK.split(text) for file, text in sources.items()}
    shown = {each.position.file for each in found if each.position}
    for file in shown & sources.keys():
        _hide_secrets(lines[file], sources[file])
    blocks = [_finding_block(each, lines, color, width) for each in found]
    return Terminal("\n").join([*blocks, severity_summary(found), Terminal()])


def _hide_secrets(lines: list[str], source: str) -> None:
    """Replace the secrets of a configuration, and those that a spec has where a reference belongs."""
    if _SPEC.search(source):
        lines[:] = [_SPEC_SECRET.sub(rf"\1{HIDDEN}", line) for line in lines]
        return
    for number, word in secrets_by_line("\n".join(lines)):
        lines[number - 1] = lines[number - 1].replace(word, HIDDEN)


def severity_summary(diagnostics: Iterable[Diagnostic]) -> str:
    """Return how many of each severity: `2 errors, 1 warning`."""
    severities = [each.severity for each in diagnostics]
    counts = [(severities.count(severity), severity.value) for severity in Severity]
    return ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)


def _finding_block(
    each: Diagnostic, lines: Mapping[str, list[str]], color: bool, width: int | None
) -> Terminal:
    tint, bold, dim = (COLORS[each.severity], BOLD, DIM) if color else ("", "", "")
    styled, place = Terminal.style_text, each.position
    where = styled(bold, f"{place.file}:{place.line}:{place.column}:") + " " if place else Terminal()
    head = styled(tint, f"{each.severity} {each.code}:")
    before = f"{place.file}:{place.line}:{place.column}: " if place else ""
    first, *more = _wrap_text(
        each.message, len(visible_text(f"{before}{each.severity} {each.code}: ")), 2, width
    )
    parts = [Terminal("{}{} {}").format(where, head, first), *map(Terminal("  {}").format, more)]
    gutter = ""
    if place is not None and 0 < place.line <= len(lines.get(place.file, ())):
        gutter = " " * len(str(place.line))
        room = WIDTH if width is None else min(WIDTH, max(width - len(gutter) - len(" | ……"), _NARROWEST))
        source, offset = _clip_source(lines[place.file][place.line - 1], place, room)
        bar = styled(dim, f"{place.line} |")
        parts.append(Terminal("{} {}").format(bar, source.rstrip()) if source.strip() else bar)
        parts.append(Terminal("{} {}{}").format(styled(dim, f"{gutter} |"), " " * offset, styled(tint, "^")))
    if each.help:
        indent = f"{gutter} = " if gutter else "  "
        margin = len(f"{indent}help: ")
        first, *more = (
            line for text in each.help.split("\n") for line in _wrap_text(text, margin, margin, width)
        )
        parts.append(Terminal("{} {}").format(styled(dim, f"{indent}help:"), first))
        parts += [Terminal("{}{}").format(" " * margin, part) for part in more]
    return Terminal("\n").join([*parts, Terminal()])


def _wrap_text(text: str, first: int, margin: int, width: int | None) -> list[str]:
    """The text in lines of whole words; `first` and `margin` are the columns before the first line and the others."""
    shown = visible_text(text)
    if width is None or first + len(shown) <= width:
        return [shown]
    width = max(width, _NARROWEST)
    begun = "x" * min(first, width - 1)
    lines = textwrap.wrap(
        begun + shown, width, subsequent_indent=" " * margin, break_long_words=False, break_on_hyphens=False
    )
    return [lines[0][len(begun) :], *(part[margin:] for part in lines[1:])]


def _clip_source(line: str, place: Position, room: int) -> tuple[str, int]:
    """Return the source line as shown, clipped around the column, and how many cells before the caret."""
    column = min(max(place.column - 1, 0), len(line))
    start = max(0, column - room // 2) if len(line) > room else 0
    end = min(len(line), start + room)
    before, after = visible_text(line[start:column]), visible_text(line[column:end])
    if start:
        before = "…" + before
    return before + after + ("…" if end < len(line) else ""), sum(map(_cell_width, before))


def _cell_width(character: str) -> int:
    """Terminal cells of a character: two when wide, none when it combines with the one before."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


FORMATS = ("text", "json", "sarif", "github", "junit", "gitlab")


def render_document(
    diagnostics: Iterable[Diagnostic], format: str, advice: Mapping[str, tuple[str, str]] | None = None
) -> Rendered:
    """Return the findings for a program, in one of `FORMATS` but `text`.

    Args:
        diagnostics: the findings.
        format: the format.
        advice: code -> its cause and its remedy, which SARIF shows with the rule.

    Raises:
        ValueError: no such format.
    """
    from fabricc.base.diagnostics import formats  # XML and SARIF, which no person at a terminal waits for

    if format == "sarif":
        return formats.render_sarif(diagnostics, advice)
    renderers = {
        "json": formats.render_json,
        "github": formats.render_github,
        "junit": formats.render_junit,
        "gitlab": formats.render_gitlab,
    }
    if format not in renderers:
        raise ValueError(format)
    return renderers[format](diagnostics)
