"""The states of a tree's files: every file and the folders above it are looked at, and what differs is seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.compiler.incremental import record
from fabricc.compiler.incremental.record import Listing, States, read_current_states

FILES = ("manifest.json", "plan/links.csv", "switches/tor1/startup.cfg", *(
    f"hosts/h{host}/etc/{name}" for host in range(3) for name in ("a/x", "b", "c")
))  # fmt: skip
PATHS = st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), max_size=8)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "tree"


def assert_same(found: States, jobs: int = 1) -> bool:
    with found.check_in_background(jobs, lambda: True) as (_, unedited):
        return unedited()


@given(PATHS)
def test_a_listing_has_every_file_and_the_first_two_folders(paths: set[str]) -> None:
    listing = Listing.of(sorted(paths))
    above = {
        "/".join(path.split("/")[:depth]) for path in paths for depth in (1, 2) if path.count("/") >= depth
    }
    looked_at = {
        f"{folder}/{name}".strip("/") for folder in listing.folders for name in ("", *listing.names(folder))
    }
    assert looked_at == {"", *paths, *above}
    assert [*listing.folders][-1] == ""


def test_folders_of_the_same_names_share_a_list(tree: Path) -> None:
    listing = Listing.of(FILES)
    assert len({listing.folders[f"hosts/h{host}"] for host in range(3)}) == 1
    assert len(read_current_states(tree, listing).found) == listing.starts["/"]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.spread
def test_a_file_that_is_other_is_seen(
    tree: Path, name: str, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_WORTH_A_PROCESS", 1)
    before = read_current_states(tree, Listing.of(FILES))
    assert assert_same(before, jobs)
    assert before.has(name)
    stat = (tree / name).stat()
    (tree / name).write_text(name[::-1])
    os.utime(tree / name, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert not assert_same(before, jobs)
    assert not before.has(name)
    assert all(before.has(other) for other in FILES if other != name)
    assert assert_same(before.with_changes([name]), jobs)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", ["new", "plan/new", "hosts/new", "hosts/h1/new"])
def test_a_file_that_is_more_is_seen(
    tree: Path, name: str, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_WORTH_A_PROCESS", 1)
    before = read_current_states(tree, Listing.of(FILES))
    stat = (tree / name).parent.stat()
    (tree / name).write_text("")
    os.utime((tree / name).parent, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert not assert_same(before, jobs)


def test_a_file_that_is_gone_or_a_link_is_seen(tree: Path) -> None:
    before = read_current_states(tree, Listing.of(FILES))
    path = tree / FILES[-1]
    stat = path.stat()
    path.rename(tree.parent / "aside")
    assert not assert_same(before)
    assert not before.has(FILES[-1])
    path.symlink_to(tree.parent / "aside")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns), follow_symlinks=False)
    assert not assert_same(before)


def test_amending_looks_at_nothing_else(tree: Path) -> None:
    """The next build reports files that somebody edited, other than the written ones."""
    before = read_current_states(tree, Listing.of(FILES))
    for name in FILES[3:5]:
        os.utime(tree / name, ns=(0, 1))
    assert not assert_same(before.with_changes([FILES[3]]))


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("yes", [True, False])
def test_a_question_is_answered_before_and_counts(
    tree: Path, yes: bool, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_WORTH_A_PROCESS", 1)
    requested = []
    found = read_current_states(tree, Listing.of(FILES))
    with found.check_in_background(jobs, lambda: not requested.append(1) and yes) as (before, unedited):
        assert [before(), unedited(), before()] == [yes] * 3
    assert len(requested) == (jobs == 1), "asked once, by the other process if there is one"
