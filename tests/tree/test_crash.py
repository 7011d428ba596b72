"""A kill at any moment, or a disk that fails, leaves the last good tree or the new one."""

from __future__ import annotations

import errno
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from fabricc.tree import EmitError, folders
from fabricc.tree import stage as stages
from tests.tree.samples import emit_tree, make_files
from tests.tree.test_stage import file_states, verify

ROOT = Path(__file__).parents[2]


def start(out: Path, *arguments: str, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.tree.samples", str(out), *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload, no-any-return]


def read_generation(tree: Path) -> int:
    (name,) = [p.name for p in (tree / "plan").iterdir()]
    return int(name.removeprefix("generation-").removesuffix(".txt"))


@pytest.mark.slow
def test_kill_at_random_moments_leaves_a_whole_tree(tmp_path: Path) -> None:
    seed = random.Random(7)
    emit_tree(tmp_path, make_files(0))
    last = 0
    for _ in range(25):
        builder = start(tmp_path, "loop", str(last + 1))
        assert builder.stdout is not None
        builder.stdout.readline()
        time.sleep(seed.random() * 0.05)
        builder.kill()
        builder.wait()
        finished = [int(line) for line in builder.stdout.read().split()]
        found = read_generation(tmp_path / "zone")
        verify(tmp_path / "zone")
        assert found > last
        assert not finished or found - finished[-1] in (0, 1)
        last = found
    emit_tree(tmp_path, make_files(last))
    assert sorted(p.name for p in tmp_path.iterdir()) == [".zone.lock", "zone"]


def test_kill_between_two_renames_is_recovered_where_folders_cannot_be_swapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_exchange_folders", lambda *_: False)
    emit_tree(tmp_path, make_files(1))
    emit_tree(tmp_path, make_files(2))
    verify(tmp_path / "zone")
    (tmp_path / "zone").rename(tmp_path / ".zone.old")
    emit_tree(tmp_path, make_files(2))
    assert read_generation(tmp_path / "zone") == 2
    verify(tmp_path / "zone")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO])
def test_disk_errors_leave_the_last_good_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    emit_tree(tmp_path, make_files(1))
    before = file_states(tmp_path / "zone")
    real, calls = os.write, [0]

    def write(handle: int, content: bytes) -> int:
        calls[0] += 1
        if calls[0] == 12:
            raise OSError(number, os.strerror(number))
        return real(handle, content)

    monkeypatch.setattr(stages.os, "write", write)
    with pytest.raises((EmitError, OSError)):
        emit_tree(tmp_path, make_files(2))
    monkeypatch.undo()
    assert file_states(tmp_path / "zone") == before
    verify(tmp_path / "zone")
    assert not (tmp_path / ".zone.next").exists()


def test_failure_while_linking_is_a_diagnostic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emit_tree(tmp_path, make_files(1))

    def link(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), "x")

    monkeypatch.setattr(stages.os, "link", link)
    with pytest.raises(EmitError) as failed:
        emit_tree(tmp_path, make_files(2))
    assert failed.value.diagnostic.code == "FAB7001"
    assert read_generation(tmp_path / "zone") == 1


def test_a_file_system_without_hard_links_gets_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emit_tree(tmp_path, make_files(1))

    def link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(stages.os, "link", link)
    emit_tree(tmp_path, make_files(2))
    verify(tmp_path / "zone")
    assert read_generation(tmp_path / "zone") == 2


def test_a_real_file_size_limit_stops_the_build_and_nothing_else(tmp_path: Path) -> None:
    emit_tree(tmp_path, make_files(1))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    builder = start(tmp_path, "once", "2", preexec_fn=limit)
    assert builder.wait() == 3
    assert builder.stdout is not None
    assert "File too large" in builder.stdout.read()
    assert read_generation(tmp_path / "zone") == 1
    verify(tmp_path / "zone")


def test_a_second_process_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    builder = start(tmp_path, "loop", "1")
    assert builder.stdout is not None
    builder.stdout.readline()
    os.kill(builder.pid, 19)  # stopped, perhaps inside a build, perhaps between two
    second = start(tmp_path, "once", "900")
    outcome = second.wait(timeout=20)
    os.kill(builder.pid, 9)
    builder.wait()
    assert outcome in (0, 3)
    verify(tmp_path / "zone")
    emit_tree(tmp_path, make_files(1000))
    assert read_generation(tmp_path / "zone") == 1000


@pytest.mark.parametrize("folder", [True, False])
def test_a_full_disk_is_reported_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
) -> None:
    def write(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    stage = stages.Stage.open(tmp_path, "zone")
    stage.folder.mkdir(exist_ok=True)
    monkeypatch.setattr(stages.os, "write", write)
    content = [stages.Content("etc/x", b"x", "", 0o644)]
    act = (
        partial(stage.put_folder, "hosts/h1", content)
        if folder
        else partial(stage.put, "hosts/h1/etc/x", b"x")
    )
    with pytest.raises(OSError, match="No space left") as failed:
        act()
    assert failed.value.filename == f"{stage.folder}/hosts/h1/etc/x"
    assert f"{stage.folder}/hosts/h1/etc/x: No space left" in str(EmitError.from_os(failed.value))


def test_a_full_disk_is_reported_with_the_file_of_a_table(tmp_path: Path) -> None:
    stage = stages.Stage.open(tmp_path, "zone")
    stage.folder.mkdir(exist_ok=True)

    def rows() -> Iterator[bytes]:
        yield b"x"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left") as failed:
        stage.put_parts("cables.csv", rows)
    assert failed.value.filename == f"{stage.folder}/cables.csv"
