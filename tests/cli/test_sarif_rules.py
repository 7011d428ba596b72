"""SARIF of several verbs against the rules of GitHub's code scanning, which rejects a whole file for one result.

See "SARIF support for code scanning" in GitHub's documentation, and the rules GH1001 to GH2012 of microsoft/sarif-sdk.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fabricc.cli.entry import run

ASKED = {
    "validate": ["validate", "cluster.yaml"],
    "a spec that is not there": ["validate", "none.yaml"],
    "check": ["check", "nofolder"],
    "diff": ["diff", "cluster.yaml", "--base", "nope"],
    "lock": ["lock", "--check", "cluster.yaml"],
    "fmt": ["fmt", "--check", "cluster.yaml"],
}
SPEC = "cluster: zone\ngpus:   {model: dgx-h1000, hosts: 8}\ntors: {model: 7060x6-64pe, nos: eos}\n"


@pytest.mark.parametrize("requested", ASKED.values(), ids=ASKED)
def test_each_result_has_what_code_scanning_requires(
    requested: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    folder = tmp_path / "zones" / "größe b"
    folder.mkdir(parents=True)
    (folder / "cluster.yaml").write_text(SPEC, "utf-8")
    monkeypatch.chdir(folder)
    assert run([*requested, "--format", "sarif"]) != 0
    log = json.loads(capsys.readouterr().out)
    assert log["version"] == "2.1.0"
    (scan,) = log["runs"]
    rules: list[dict[str, Any]] = scan["tool"]["driver"]["rules"]
    assert scan["results"]
    for result in scan["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"].startswith("zones/gr%C3%B6%C3%9Fe%20b/")
        assert place["region"]["startLine"] >= 1
        assert place["region"]["startColumn"] >= 1
    for rule in rules:
        texts = (rule["shortDescription"], rule["fullDescription"], rule["help"])
        assert all(0 < len(each["text"]) <= 1024 for each in texts)
