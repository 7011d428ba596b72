"""fabricc's memory of a build is its own: a record or ledger that a clone brought has no effect."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.load.spec_location import find_recorded_spec
from tests.trust.conftest import SPEC

if TYPE_CHECKING:
    from pathlib import Path

    from tests.trust.conftest import Clone


def build(clone: Clone) -> Path:
    """A build of our own; the file with its record."""
    assert clone.fabricc("build", "cluster.yaml")[0] == 0
    (found,) = (clone.home / "state").rglob("*.record")
    return found


def test_a_record_in_the_clone_names_no_spec(clone: Clone) -> None:
    other = clone.home / "other.yaml"
    other.write_text(SPEC.replace("hosts: 4", "hosts: 2"))
    stated = json.dumps(
        {"format": 2, "spec": str(other), "cluster": "lab", "options": "check=True", "files": 0}
    )
    for name in (".lab.record", ".lab.ledger"):
        (clone.top / "build" / name).write_text(stated + "\n\n\n")
    status, reported = clone.reading("check", "build/lab")
    assert status == 0, reported
    assert "other.yaml" not in reported


@pytest.mark.parametrize("name", ["secret.yaml", "../home/secret", "/etc/passwd", ".netrc"])
def test_a_spec_is_looked_for_inside_the_repository_alone(clone: Clone, name: str) -> None:
    manifest = clone.tree / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"spec": "cluster.yaml"', f'"spec": "{name}"'))
    place = clone.top.parent / os.path.basename(name)  # noqa: PTH119
    place.write_text("s3cret-of-the-user: {\n")
    status, reported = clone.reading("check", "build/lab")
    assert status != 0
    assert "s3cret" not in reported


def test_our_own_state_is_for_us_alone(clone: Clone) -> None:
    kept = build(clone)
    folder = kept.parent
    while folder != clone.home / "state":
        assert folder.stat().st_mode & 0o077 == 0
        folder = folder.parent
    assert not list((clone.top / "build").glob(".*.record"))
    assert not list((clone.top / "build").glob(".*.ledger"))
    assert "up to date" in clone.fabricc("build", "cluster.yaml")[1]


@pytest.mark.parametrize("how", ["open to others", "a link", "in the clone", "relative"])
def test_a_state_folder_that_others_may_have_written_is_not_trusted(
    clone: Clone, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(clone)
    ours = clone.home / "state" / "fabricc"
    if how == "open to others":
        ours.chmod(0o770)
    elif how == "a link":
        ours.rename(clone.home / "moved-state")
        ours.symlink_to(clone.home / "moved-state")
    elif how == "in the clone":
        ours.parent.rename(clone.top / "state")
        monkeypatch.setenv("XDG_STATE_HOME", str(clone.top / "state"))
    else:
        monkeypatch.setenv("XDG_STATE_HOME", "../home/state")
        monkeypatch.setenv("HOME", "/proc/none")
    assert find_recorded_spec(clone.tree) is None
    assert "up to date" not in clone.fabricc("build", "cluster.yaml")[1]


def test_the_state_of_trees_that_are_gone_goes(clone: Clone) -> None:
    kept = build(clone)
    (clone.top / "build").rename(clone.top / "elsewhere")
    assert clone.fabricc("build", "cluster.yaml", "-o", "other")[0] == 0
    assert not kept.exists()


@pytest.mark.parametrize("apart", [997, pytest.param(97, marks=pytest.mark.slow)])
def test_a_damaged_record_is_none(clone: Clone, apart: int) -> None:
    """Whatever byte of it a disk lost, the next build compares every file instead."""
    assert clone.fabricc("build", "cluster.yaml")[0] == 0
    (found,) = (clone.home / "state").rglob("*.record")
    sound = found.read_bytes()
    for at in range(0, len(sound), apart):
        found.write_bytes(sound[:at] + bytes([sound[at] ^ 0xD3]) + sound[at + 1 :])
        assert clone.fabricc("build", "cluster.yaml")[0] == 0
