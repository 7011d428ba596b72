"""Diagnostics for programs: JSON, SARIF 2.1.0, GitHub workflow commands and JUnit XML."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from fabricc.diagnostics.codes import TITLES
from fabricc.diagnostics.model import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.diagnostics.model import Diagnostic

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
# XML 1.0 section 2.2: the characters that a document cannot hold, escaped or not.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SURROGATE = re.compile("[\ud800-\udfff]")
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that stand for no byte of a file's name (PEP 383)."""


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """An object with `diagnostics` in order and `summary`, a count per severity."""
    found = list(diagnostics)
    entries = [
        {
            "code": each.code,
            "title": TITLES.get(each.code, each.code),
            "severity": each.severity.value,
            "message": each.message,
            "file": each.position.file if each.position else None,
            "line": each.position.line if each.position else None,
            "column": each.position.column if each.position else None,
            "help": each.help,
        }
        for each in found
    ]
    counts = {severity.value: sum(each.severity is severity for each in found) for severity in Severity}
    return _dumped({"diagnostics": entries, "summary": counts})


def render_sarif(diagnostics: Iterable[Diagnostic]) -> str:
    """A SARIF 2.1.0 log (OASIS) of one run; columns count Unicode code points."""
    from fabricc import __version__

    found = list(diagnostics)
    codes = sorted({each.code for each in found})
    rules = [{"id": code, "shortDescription": {"text": TITLES.get(code, code)}} for code in codes]
    run = {
        "tool": {"driver": {"name": "fabricc", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(each, codes.index(each.code)) for each in found],
    }
    return _dumped({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    """One workflow command a line, which GitHub shows at the place in the pull request."""
    lines: list[str] = []
    for each in diagnostics:
        properties = {"title": f"{each.code} {TITLES.get(each.code, '')}".strip()}
        if each.position:
            place = each.position
            properties = {"file": place.file, "line": str(place.line), "col": str(place.column), **properties}
        message = f"{each.message}\nhelp: {each.help}" if each.help else each.message
        stated = ",".join(f"{key}={_github_property(value)}" for key, value in properties.items())
        lines.append(f"::{GITHUB_COMMANDS[each.severity]} {stated}::{_github_message(message)}\n")
    return SURROGATE.sub("\ufffd", "".join(lines))


def render_junit(diagnostics: Iterable[Diagnostic]) -> str:
    """A JUnit XML report: a failed test per error, a skipped one per warning, a passed one per note."""
    from xml.etree import ElementTree

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
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "classname": _xml(place.file) if place else "fabricc",
                "name": _xml(f"{each.code}: {each.message}"),
            },
        )
        if place is not None:
            case.set("file", _xml(place.file))
            case.set("line", str(place.line))
        where = f"{place.file}:{place.line}:{place.column}: " if place else ""
        body = _xml(f"{where}{each.message}" + (f"\nhelp: {each.help}" if each.help else ""))
        if each.severity is Severity.ERROR:
            ElementTree.SubElement(
                case, "failure", {"type": each.code, "message": _xml(each.message)}
            ).text = body
        elif each.severity is Severity.WARNING:
            ElementTree.SubElement(case, "skipped", {"message": _xml(each.message)}).text = body
        else:
            ElementTree.SubElement(case, "system-out").text = body
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _dumped(value: Any) -> str:
    return SURROGATE.sub("\ufffd", json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def _sarif_result(each: Diagnostic, rule: int) -> dict[str, Any]:
    from urllib.parse import quote

    text = f"{each.message}\n{each.help}" if each.help else each.message
    result: dict[str, Any] = {
        "ruleId": each.code,
        "ruleIndex": rule,
        "level": each.severity.value,
        "message": {"text": text},
    }
    if each.position:
        place = each.position
        uri = quote(_NO_BYTE.sub("\ufffd", place.file).encode("utf-8", "surrogateescape"))
        result["locations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": f"file://{uri}" if uri.startswith("/") else uri},
                    "region": {"startLine": max(place.line, 1), "startColumn": max(place.column, 1)},
                }
            }
        ]
    return result


def _github_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_property(text: str) -> str:
    return _github_message(text).replace(":", "%3A").replace(",", "%2C")


def _xml(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)
