"""Completion through real shells; unreadable files complete to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.shell_completion import BashComplete

from fabricc.cli.entry import VERBS, cli
from fabricc.operate.lab import state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]


def complete_words(*words: str) -> list[str]:
    """Return what is offered for the last word."""
    *before, begun = words
    return [each.value for each in BashComplete(cli, {}, "fabricc", "_X").get_completions(before, begun)]


def test_models() -> None:
    assert complete_words("catalog", "sn54") == ["sn5400"]
    assert {"dgx-h100", "connectx-7", "sn5600"} <= set(complete_words("catalog", ""))


def test_codes() -> None:
    assert complete_words("explain", "fab204") == [f"FAB204{last}" for last in range(7)]
    (item,) = BashComplete(cli, {}, "fabricc", "_X").get_completions(["explain"], "clu")
    assert item.type == "file"


def test_devices_of_a_spec(repo: Path) -> None:
    assert complete_words("explain", "cluster.yaml", "spine0") == ["spine01a", "spine02a"]
    assert "su001-host01" in complete_words("explain", "cluster.yaml", "su001")
    assert complete_words("explain", "nothing.yaml", "spine0") == []
    (repo / "cluster.yaml").write_text("cluster: [\n")
    assert complete_words("explain", "cluster.yaml", "spine0") == []


def test_switches_of_a_tree(repo: Path, fabricc: Fabricc) -> None:
    assert fabricc("build", "cluster.yaml").status == 0
    assert complete_words("push", "build/lab", "--only", "spine01") == ["spine01a"]
    assert complete_words("verify", "build/lab", "--devices", "su001-tor1a,spine01") == [
        "su001-tor1a,spine01a"
    ]
    assert complete_words("verify", "build/none", "--devices", "s") == []


def test_devices_and_releases_where_they_are_requested(repo: Path) -> None:
    assert complete_words("maintain", "spine0") == ["spine01a", "spine02a"]
    assert complete_words("maintain", "spine01a", "--down", "spine0") == ["spine01a", "spine02a"]
    (item,) = BashComplete(cli, {}, "fabricc", "_X").get_completions(["maintain", "spine01a"], "clu")
    assert item.type == "file"
    assert complete_words("upgrade", "cluster.yaml", "--only", "spine0") == ["spine01a", "spine02a"]
    assert "sonic-202505" in complete_words("upgrade", "cluster.yaml", "--to", "sonic-2025")
    assert complete_words("verify", "build/lab", "--only", "bgp,ro") == ["bgp,routes"]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The record of a lab, as if it ran."""
    import json
    from dataclasses import asdict

    monkeypatch.setattr(state, "DEFAULT", tmp_path)
    record = state.Record(
        "zone", "zone-1", "cluster.yaml", "/x", None, ("tor1", "spine1"), ("host1",),
        (("tor1", "eth1", "spine1", "eth7"),), (), (), "10",
    )  # fmt: skip
    (tmp_path / "zone").mkdir()
    (tmp_path / "zone" / state.RECORD).write_text(json.dumps({"format": 1, **asdict(record)}))
    return "zone"


def test_labs_and_their_nodes(lab: str) -> None:
    assert complete_words("lab", "status", "-l", "") == [lab]
    assert complete_words("lab", "exec", "") == ["tor1", "spine1", "host1"]
    assert complete_words("lab", "exec", "-l", lab, "ho") == ["host1"]
    assert complete_words("lab", "break", "sp") == ["spine1"]
    assert complete_words("lab", "break", "spine1:") == ["spine1:eth7"]
    assert complete_words("lab", "exec", "-l", "none", "ho") == []


def test_completion_and_help_describe_verbs_equally() -> None:
    offered = {
        item.value: item.help for item in BashComplete(cli, {}, "fabricc", "_X").get_completions([], "")
    }
    assert {verb: offered[verb] for verb in VERBS} == VERBS
