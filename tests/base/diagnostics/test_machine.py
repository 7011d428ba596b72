"""Machine formats are well-formed, escaped, and state the same as the text."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.diagnostics import TITLES, Diagnostic, Position, Severity
from fabricc.base.diagnostics.formats import FORMATS
from tests.base.diagnostics.samples import ALL, NOTE, PLAIN, WARNING, render

# The parts of the SARIF 2.1.0 schema (OASIS, sections 3.13 to 3.30) that a log of ours uses.
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
REGION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "startLine": {"type": "integer", "minimum": 1},
        "startColumn": {"type": "integer", "minimum": 1},
    },
}
PLACE = {
    "type": "object",
    "required": ["artifactLocation", "region"],
    "properties": {
        "artifactLocation": {
            "required": ["uri"],
            "properties": {"uri": {"type": "string", "format": "uri-reference"}},
        },
        "region": REGION,
    },
}
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "required": ["id"],
                                            "properties": {"shortDescription": TEXT},
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "required": ["message"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "message": TEXT,
                                "locations": {
                                    "type": "array",
                                    "items": {
                                        "required": ["physicalLocation"],
                                        "properties": {"physicalLocation": PLACE},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


CODE_QUALITY: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "pattern": "^FAB[0-9]{4}$"},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "additionalProperties": False,
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "minLength": 1, "not": {"pattern": r"^\./"}},
                    "lines": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""The fields of "Implement a custom tool" in GitLab's page "Code Quality"."""


def test_json() -> None:
    value = json.loads(render(ALL, "json", {}))
    assert value["summary"] == {"error": 2, "warning": 1, "note": 1}
    assert value["diagnostics"][0] == {
        "code": "FAB1001",
        "title": TITLES["FAB1001"],
        "severity": "error",
        "message": "unknown key 'wirng'",
        "file": "a/cluster.yaml",
        "line": 5,
        "column": 3,
        "help": "Did you mean?",
    }
    assert value["diagnostics"][2]["file"] is None


def test_sarif() -> None:
    from jsonschema import Draft202012Validator

    log = json.loads(render(ALL, "sarif", {}))
    Draft202012Validator(SARIF).validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[each["ruleIndex"]]["id"] for each in run["results"]] == [each.code for each in ALL]
    assert [each["level"] for each in run["results"]] == ["error", "warning", "note", "error"]
    (place,) = run["results"][0]["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "a/cluster.yaml"},
        "region": {"startLine": 5, "startColumn": 3},
    }
    assert (
        run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        == "b%3Ac%2Cd%25.yaml"
    )
    assert "locations" not in run["results"][2]


def test_github() -> None:
    assert render((PLAIN, WARNING, NOTE), "github", {}).splitlines() == [
        "::error file=a/cluster.yaml,line=5,col=3,title=FAB1001 Unknown key::unknown key 'wirng'%0Ahelp: Did you mean?",
        "::warning file=b%3Ac%2Cd%25.yaml,line=1,col=1,title=FAB2051 Host MTU too small for RoCE::"
        "50%25 of, all: it%0Ahelp: line%0Abreak",
        "::notice title=FAB2014 No class for congestion notifications::no place",
    ]


def test_gitlab() -> None:
    from jsonschema import Draft202012Validator

    text = render(ALL, "gitlab", {})
    assert not text.startswith("\ufeff")
    found = json.loads(text)
    Draft202012Validator(CODE_QUALITY).validate(found)
    assert [each["severity"] for each in found] == ["major", "minor", "info", "major"]
    assert {key: value for key, value in found[0].items() if key != "fingerprint"} == {
        "description": "FAB1001: unknown key 'wirng'\nDid you mean?",
        "check_name": "FAB1001",
        "severity": "major",
        "location": {"path": "a/cluster.yaml", "lines": {"begin": 5}},
    }
    assert json.loads(render([], "gitlab", {})) == []


def test_fingerprints_are_unique_and_do_not_depend_on_lines() -> None:
    def fingerprints(*found: Diagnostic) -> list[str]:
        return [each["fingerprint"] for each in json.loads(render(found, "gitlab", {}))]

    def at(
        line: int, file: str = "a.yaml", message: str = "m", code: str = "FAB1001", help: str = ""
    ) -> Diagnostic:
        return Diagnostic(code, Severity.ERROR, message, Position(file, line, 1), help)

    before = fingerprints(at(1), at(2), at(2, message="n"), at(2, "b.yaml"), at(2, code="FAB1002"))
    assert len(set(before)) == 5
    after = fingerprints(at(9, message="new"), at(11), at(12, help="Other words."), at(12, message="n"))
    assert after[1:] == before[:3]
    assert after[0] not in before
    assert fingerprints(at(1, "./a.yaml")) == before[:1]
    assert fingerprints(at(1)) == ["3fc875eb3b34afacfcd7f881f7f675af"], "those of reports that GitLab has"


def test_junit() -> None:
    root = ElementTree.fromstring(render(ALL, "junit", {}))
    (suite,) = root
    assert {key: suite.get(key) for key in ("tests", "failures", "skipped")} == {
        "tests": "4",
        "failures": "2",
        "skipped": "1",
    }
    assert [case[0].tag for case in suite] == ["failure", "skipped", "system-out", "failure"]
    assert suite[0].get("file") == "a/cluster.yaml"
    (passed,) = ElementTree.fromstring(render([], "junit", {}))[0]
    assert len(passed) == 0


@given(
    st.lists(
        st.builds(
            Diagnostic,
            st.sampled_from(sorted(TITLES)),
            st.sampled_from(Severity),
            st.text(st.characters(), min_size=1),
            st.none()
            | st.builds(Position, st.text(st.characters(), min_size=1), st.integers(1), st.integers(1)),
            st.text(st.characters()),
        ),
        max_size=4,
    )
)
def test_any_finding_is_well_formed_in_every_format(found: list[Diagnostic]) -> None:
    outputs = {form: render(found, form, {}) for form in FORMATS}
    for text in outputs.values():
        text.encode()
    assert len(json.loads(outputs["json"])["diagnostics"]) == len(found)
    assert len(json.loads(outputs["sarif"])["runs"][0]["results"]) == len(found)
    assert len({each["fingerprint"] for each in json.loads(outputs["gitlab"])}) == len(found)
    assert len(outputs["github"].split("\n")) - 1 == len(found)
    assert len(ElementTree.fromstring(outputs["junit"])[0]) == max(1, len(found))


@pytest.mark.parametrize(
    ("file", "uri"), [("a\udcffb", "a%FFb"), ("a\ud800b", "a%EF%BF%BDb"), ("ä b", "%C3%A4%20b")]
)
def test_any_name_of_a_file_is_a_uri(file: str, uri: str) -> None:
    found = Diagnostic("FAB0001", Severity.ERROR, "x", Position(file, 1, 1))
    (result,) = json.loads(render([found], "sarif", {}))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
