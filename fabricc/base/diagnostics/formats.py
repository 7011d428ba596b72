"""Diagnostics for programs: JSON, SARIF 2.1.0, GitHub workflow commands, GitLab Code Quality and JUnit XML."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from fabricc.base.diagnostics import TITLES, Diagnostic, Severity
from fabricc.base.foreign.formats import json_document, sarif_message, workflow_commands, xml_document
from fabricc.base.foreign.text import Rendered, safe_block
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
