"""`check` of a built tree gives the account of `audit`: on how many switches the rules of a topic had their inputs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.cli.entry import run
from fabricc.interface import audit_folder, build, check
from fabricc.rules.answers import ACCOUNT, account_rows, accounts_by_topic
from fabricc.rules.rule import ADDRESSES, BUFFERS, ECN, INTERFACES, PFC
from tests.audit.faults.fabric import spec_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.rules.answers import TopicResult

SYSTEMS = ("eos", "junos")
FROM_THE_PLAN = "model, or names of its ports, not known"
"""The input that a plan adds: files of these systems do not state the model."""

PFC_LINE = re.compile(
    r"^ +(priority-flow-control on|priority-flow-control priority 3 no-drop|pfc;)\n", re.MULTILINE
)
"""A line without which a port of EOS or Junos has no PFC."""


@pytest.fixture(scope="module", params=SYSTEMS)
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built tree of a system, next to its spec."""
    top = tmp_path_factory.mktemp(request.param)
    (top / "cluster.yaml").write_text(spec_of(request.param))
    built = build(top / "cluster.yaml", top / "build", jobs=1)
    assert built.tree is not None
    return built.tree


def proved_topics(accounts: Iterable[TopicResult]) -> set[str]:
    """Return the topics whose rules had their inputs on every switch that they apply to."""
    return {one.topic for one in accounts if one.asked and not one.open}


@pytest.fixture(scope="module")
def audited(tree: Path) -> dict[str, TopicResult]:
    """Return topic -> account of an audit of the tree."""
    return {one.topic: one for one in audit_folder(tree, jobs=1).accounts}


@pytest.fixture(scope="module")
def checked(tree: Path) -> tuple[TopicResult, ...]:
    """Return the accounts of a check of the tree."""
    return check(tree, jobs=1).accounts


def test_check_names_the_proved_topics_of_an_audit(
    audited: dict[str, TopicResult], checked: tuple[TopicResult, ...]
) -> None:
    """The plan states the model of each switch, so `check` proves one topic more."""
    assert {PFC, ADDRESSES} <= proved_topics(audited.values())
    assert proved_topics(checked) - proved_topics(audited.values()) == {INTERFACES}
    assert proved_topics(audited.values()) <= proved_topics(checked)
    assert audited[INTERFACES].why == FROM_THE_PLAN
    assert [one.topic for one in checked] == list(audited)


def test_check_names_a_missing_input_in_the_words_of_an_audit(
    audited: dict[str, TopicResult], checked: tuple[TopicResult, ...]
) -> None:
    missing = {one.topic: one.why for one in checked if one.open}
    assert {ECN, BUFFERS} == missing.keys()
    assert missing == {topic: audited[topic].why for topic in missing}


def test_text_and_json_have_every_switch_once_with_any_number_of_processes(
    tree: Path, checked: tuple[TopicResult, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    switches = len([*(tree / "switches").iterdir()])
    assert {one.asked for one in checked if one.topic in proved_topics(checked)} == {switches}
    assert run(["check", str(tree), "-j", "2"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    for row in (ACCOUNT, *account_rows(checked)):
        assert " ".join(row).split() in lines
    assert run(["check", str(tree), "-j", "1", "--format", "json"]) == 0
    rules = json.loads(capsys.readouterr().out)["rules"]
    assert rules == json.loads(json.dumps(accounts_by_topic(checked)))


def test_a_finding_counts_on_its_topic(tree: Path, checked: tuple[TopicResult, ...], tmp_path: Path) -> None:
    """PFC is gone from one switch, so that its queues without PFC break the rules on PFC."""
    copy = Path(shutil.copytree(tree, tmp_path / tree.name))
    file = next(file for file in sorted(copy.glob("switches/*/*")) if PFC_LINE.search(file.read_text()))
    file.write_text(PFC_LINE.sub("", file.read_text()))
    found = {
        one.topic: one.findings for one in check(copy, tree.parents[1] / "cluster.yaml", jobs=1).accounts
    }
    assert found[PFC] > {one.topic: one.findings for one in checked}[PFC] == 0
