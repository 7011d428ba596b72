"""A push sends only proved files, even if files and manifest are forged or folders change meanwhile."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.devices import running
from tests.operate.push.network import HITLESS, Network

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.operate.push.built_tree import BuiltTree

ROGUE = "  neighbor 192.0.2.66 remote-as 64666\n"


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    found = Network.start(tmp_path)
    found.direct = True
    yield found
    found.stop()


def forge_neighbor(source: BuiltTree, name: str, file: str = "frr.conf") -> int:
    """Add a neighbor to a switch's file, and the file's new digest to the manifest; the line it stands in."""
    path = source.tree / "switches" / name / file
    lines = path.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "neighbor" in line)
    lines.insert(at, ROGUE)
    path.write_text("".join(lines))
    manifest = source.tree / "manifest.json"
    stated = json.loads(manifest.read_text())
    stated["files"][f"switches/{name}/{file}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(stated))
    return at + 1


def test_a_file_changed_together_with_its_digest_is_refused_with_its_line(network: Network) -> None:
    network.edit(HITLESS)
    line = forge_neighbor(network.source, "spine01a")
    for mode in ((), ("--dry-run",), ("--plan",)):
        output = network.push("--adopt", *mode, status=1).stderr
        assert "FAB9150" in output
        assert f"switches/spine01a/frr.conf:{line}" in output
        assert "64666" in output
    assert "64666" not in network.runs("spine01a")


def test_a_digest_that_the_user_names_stands_for_the_proof_and_no_other_tree_passes(network: Network) -> None:
    network.edit(HITLESS)
    digest = hashlib.sha256((network.source.tree / "manifest.json").read_bytes()).hexdigest()
    assert f"sha256 {digest}" in network.push("--adopt", "--plan", "--tree-digest", digest).stdout
    forge_neighbor(network.source, "spine01a")
    output = network.push("--adopt", "--tree-digest", digest, status=1).stderr
    assert "FAB9154" in output
    assert digest in output


def test_the_digest_stands_in_plan_journal_and_outcome(network: Network) -> None:
    network.edit(HITLESS)
    digest = network.source.digest
    assert digest == hashlib.sha256((network.source.tree / "manifest.json").read_bytes()).hexdigest()
    assert f"sha256 {digest}" in network.push("--adopt", "--dry-run", status=0).stdout
    ran = network.push("--adopt", "--only", "spine01a", status=0)
    assert f"sha256 {digest}" in ran.stderr
    assert f"sha256 {digest}" in ran.stdout
    assert f"sha256 {digest}" in network.push("--status", status=0).stdout


@pytest.mark.slow
@pytest.mark.parametrize("how", ["other bytes", "another build", "removed"])
def test_a_folder_that_changes_while_a_push_runs_changes_nothing(
    network: Network, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fabricc.operate.push.run import Push

    network.edit(HITLESS)
    source = network.source
    wanted = {name: running.pack_files(source.files(name)) for name in source.devices}
    waves = Push.carry_out

    def exchanged(push: Push, planned: object) -> None:
        if how == "other bytes":
            for name in source.devices:
                forge_neighbor(source, name)
        elif how == "another build":
            network.edit("routing: {bfd: {interval_ms: 900}}")
        else:
            shutil.rmtree(source.tree)
            (network.spec.parent / "fabricc.lock").unlink()
            network.spec.write_text("cluster: other\n")
        waves(push, planned)  # type: ignore[arg-type]

    monkeypatch.setattr(Push, "carry_out", exchanged)
    network.push("--adopt", "--keep", "0%", status=0)
    assert {name: network.runs(name) for name in source.devices} == wanted
    assert set(network.states().values()) == {"confirmed"}


@pytest.mark.slow
def test_a_run_is_resumed_with_the_tree_that_it_began_with_alone(network: Network) -> None:
    network.edit(HITLESS)
    network.fault("spine01a", "commit_config", 1, "after", "kill")
    network.direct = False
    network.push("--adopt", "--only", "spine01a", status=-9)
    network.direct = True
    network.edit("routing: {bfd: {interval_ms: 900}}")
    assert "FAB9129" in network.push("--resume", status=1).stderr
    network.edit(HITLESS)
    network.push("--resume", status=0)


def test_a_link_or_a_device_in_a_tree_is_no_file_of_it(network: Network) -> None:
    network.edit(HITLESS)
    path = network.source.tree / "switches" / "spine01a" / "hostname"
    path.unlink()
    path.symlink_to("/dev/zero")
    output = network.push("--adopt", "--plan", status=1).stderr
    assert "FAB6011" in output
    assert "FAB9120" in output
