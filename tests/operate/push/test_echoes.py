"""A device that echoes the login in any encoding: it stands in no output, no state of a run, no file and no program."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.operate.push.network import HITLESS, PASSWORD, SIMULATED, Network

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

sys.path.append(str(SIMULATED))
from napalm_simulated import login_forms  # found by its folder, as NAPALM finds it

FORMS = login_forms("operator", PASSWORD)
ONLY = ("--adopt", "--only", "spine01a")


@pytest.fixture
def network(network: Network) -> Network:
    network.edit(HITLESS)
    return network


def require_hidden(text: str) -> None:
    assert [form for form in FORMS if form in text] == []


def require_clean(network: Network, *runs: CompletedProcess[str]) -> None:
    """No form in what commands printed, nor in any file of the state."""
    for ran in runs:
        require_hidden(ran.stdout + ran.stderr)
    files = [*network.folder.glob("journal*"), *(network.folder / "state").rglob("*")]
    for path in files:
        if path.is_file():
            require_hidden(path.read_bytes().decode("latin-1"))


@pytest.mark.spread
@pytest.mark.parametrize("format_", ["text", "json"])
@pytest.mark.parametrize(
    ("method", "count", "status"),
    [("open", 1, 3), ("get_config", 1, 3), ("load_replace_candidate", 1, 1), ("compare_config", 1, 1),
     ("commit_config", 1, 3), ("confirm_commit", 1, 3), ("get_bgp_neighbors", 1, 3)],
)  # fmt: skip
def test_no_message_and_no_journal_has_it(
    network: Network, method: str, count: int, status: int, format_: str
) -> None:
    network.fault("spine01a", method, count, "before", "echo")
    ran = network.push(*ONLY, "--format", format_, status=status)
    assert "<hidden>" in ran.stdout + ran.stderr
    require_clean(network, ran)
    if network.states():
        for form in ("text", "json"):
            reported = network.push("--status", "--run", "1", "--format", form, status=0)
            assert "<hidden>" in reported.stdout
            require_clean(network, reported)


def test_a_hook_gets_no_secret_and_none_that_it_prints_is_kept(
    network: Network, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    network.spec.write_text(network.more.replace("nos: frr", "nos: frr-9.1"))
    network.more = network.spec.read_text()
    network.edit("")
    secret = network.folder / "echoed"
    secret.write_text("  ".join(FORMS))
    monkeypatch.setenv("FABRICC_PASSWORD", PASSWORD)
    monkeypatch.setenv("OF_THE_OPERATOR", "kept")
    text = network.access.read_text()
    network.access.write_text(
        text.replace(f"{{file: {network.folder / 'password'}}}", "{env: FABRICC_PASSWORD}")
    )
    hook = network.folder / "hook"
    hook.write_text(f"#!/bin/sh\nenv > {tmp_path / 'environment'}\ncat {secret}\nexit 1\n")
    hook.chmod(0o755)
    ran = network.push(*ONLY, "--hook", str(hook), status=3)
    environment = (tmp_path / "environment").read_text()
    assert "OF_THE_OPERATOR=kept" in environment
    assert "FABRICC_PASSWORD" not in environment
    require_hidden(environment)
    assert "FAB9430" in ran.stderr
    assert "<hidden>" in ran.stderr
    require_clean(network, ran, network.push("--status", "--run", "1", status=0))
    assert os.environ["FABRICC_PASSWORD"] == PASSWORD
