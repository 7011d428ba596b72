"""State folders of labs: new or empty ones of the user, and nothing in them but the lab's own files is removed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fabricc.cli.entry import cli
from fabricc.operate.lab import demands, lifecycle, running, state
from fabricc.operate.lab.node import LabError
from fabricc.operate.lab.running import Lab
from tests.operate.lab import specs

RECORD = state.Record(
    cluster="small", prefix="small-1", spec="cluster.yaml", origin="", units=None, switches=(), hosts=(),
    cables=(), overlay=(), differences=(), frr="8.4.4",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the records of state folders away from labs that run on this machine."""
    monkeypatch.setattr(state, "DEFAULT", tmp_path / "run")


def lab_error(folder: Path) -> LabError:
    with pytest.raises(LabError) as found:
        running.claim(folder)
    assert found.value.diagnostic.code == "FAB0086"
    return found.value


def plant_link(folder: Path) -> None:
    (folder / "boxes").symlink_to(folder.parent)


def plant_file(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")


def plant_record(folder: Path) -> None:
    state.save_record(folder, RECORD)


def plant_pipe(folder: Path) -> None:
    os.mkfifo(folder / "lab.json")


@pytest.mark.parametrize("plant", [plant_link, plant_file, plant_record, plant_pipe])
def test_a_folder_that_holds_anything_is_no_state_folder(tmp_path: Path, plant: object) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    plant(folder)  # type: ignore[operator]
    before = sorted(folder.iterdir())
    lab_error(folder)
    assert sorted(folder.iterdir()) == before, "nothing is written either"


def test_a_link_to_an_empty_folder_is_no_state_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "lab").symlink_to(tmp_path / "real")
    assert "link" in lab_error(tmp_path / "lab").diagnostic.message


def test_a_folder_that_others_can_write_is_no_state_folder(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    folder.chmod(0o777)
    assert "another user" in lab_error(folder).diagnostic.message


@pytest.mark.parametrize("there", [True, False])
def test_a_lab_removes_its_own_entries_only(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "lab"
    if there:
        folder.mkdir()
    running.claim(folder)
    with state.lock_lab(folder):
        state.save_record(folder, RECORD)
        for name in state.FOLDERS:
            (folder / name / "below").mkdir(parents=True)
    running.require_own(folder)
    running.claim(folder)
    running.release(folder)
    assert folder.exists() == there, "a folder that was there before stays"
    assert not running.is_own(folder)


def test_lab_down_keeps_user_files_and_follows_no_links(tmp_path: Path) -> None:
    folder, other = tmp_path / "lab", tmp_path / "other"
    running.claim(folder)
    state.save_record(folder, RECORD)
    other.mkdir()
    (other / "precious").write_text("mine")
    (folder / "capture.pcap").write_text("mine")
    (folder / "boxes").symlink_to(other)
    (folder / "spec").mkdir()
    (folder / "spec/there").symlink_to(other)
    running.release(folder)
    assert list(folder.iterdir()) == [folder / "capture.pcap"]
    assert (other / "precious").exists()


@pytest.mark.parametrize("switches", [(), ("../../etc",)])
def test_a_record_from_an_archive_is_no_lab(tmp_path: Path, switches: tuple[str, ...]) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    state.save_record(folder, replace(RECORD, switches=switches))
    with pytest.raises(LabError) as found:
        Lab.open(folder)
    assert found.value.diagnostic.code == "FAB0086"


def test_a_folder_in_the_place_of_a_lab_is_not_the_lab(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    running.claim(folder)
    state.save_record(folder, RECORD)
    folder.rename(tmp_path / "old")
    folder.mkdir()
    state.save_record(folder, RECORD)
    with pytest.raises(LabError):
        running.require_own(folder)


def test_the_verbs_refuse_a_planted_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0 or demands.missing_programs():
        pytest.skip("a lab needs root and its programs")
    folder = tmp_path / "lab"
    folder.mkdir()
    state.save_record(folder, RECORD)
    (folder / "spec").mkdir()
    (folder / "spec/file").write_text("precious")
    with pytest.raises(LabError) as found:
        lifecycle.boot_lab(specs.two_tiers(tmp_path / "spec", hosts=2), folder)
    assert found.value.diagnostic.code == "FAB0086"
    for words in (["down"], ["status"], ["test", "--quick"], ["exec", "management", "true"]):
        status = cli.main(["lab", words[0], "--state", str(folder), *words[1:]], standalone_mode=False)
        assert status == 3, words
        assert "FAB0086" in capsys.readouterr().err
    assert (folder / "spec/file").read_text() == "precious"
