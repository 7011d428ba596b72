"""`fabricc catalog compare` finds what a branch of sonic-buildimage publishes and the catalog does not have."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.catalog.figures import branch_commits, cite_commit
from fabricc.catalog.importing.sonic import Branch, Comparison, compare_branch
from fabricc.catalog.load import load_catalog
from fabricc.cli.entry import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
MODEL = load_catalog()[0].switches["z9664f"]
SKU = MODEL.nos["sonic"]["hwsku"]
FOLDER = f"device/dell/{MODEL.nos['sonic']['platform']}"


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.net", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def lookup_text(rows: dict[tuple[int, int], int] | None = None) -> str:
    changed = rows or {}
    return "# speed cable size xon xoff threshold xon_offset\n" + "".join(
        f"{row.speed_gbps}000 {row.cable_m}m {row.size_bytes} {row.xon_bytes} "
        f"{changed.get((row.speed_gbps, row.cable_m), row.xoff_bytes)} {row.dynamic_th} {row.xon_offset_bytes}\n"
        for row in MODEL.buffers.rows
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with the SKU's files, whose table is a symbolic link, on the branch 202605."""
    sku = tmp_path / FOLDER / SKU
    sku.mkdir(parents=True)
    (tmp_path / FOLDER / "shared").mkdir()
    (tmp_path / FOLDER / "shared" / "table.ini").write_text(lookup_text())
    (sku / "pg_profile_lookup.ini").symlink_to("../shared/table.ini")
    (sku / "sai.profile").write_text("SAI_INIT_CONFIG_FILE=/usr/share/sonic/hwsku/th4.yml\n")
    git(tmp_path, "init", "-q", "-b", "202605")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "files of the SKU")
    return tmp_path


def compare_clone(clone: Path) -> Comparison:
    (found,) = compare_branch(Branch(clone, "202605"), "202605", {"z9664f": MODEL})
    return found


def commit(clone: Path, text: str) -> None:
    (clone / FOLDER / "shared" / "table.ini").write_text(text)
    git(clone, "commit", "-q", "-a", "-m", "another table")


def test_a_table_behind_a_link_is_the_one_of_the_catalog(clone: Path) -> None:
    assert compare_clone(clone)[2:] == (
        f"same ({len(MODEL.buffers.rows)} rows)",
        "none on either side",
        False,
    )


def test_a_row_that_differs_is_named(clone: Path) -> None:
    commit(clone, lookup_text({(400, 40): 1}))
    found = compare_clone(clone)
    assert found.differs
    assert found.table == f"1 of {len(MODEL.buffers.rows)} rows differ: 400G 40 m"


def test_a_table_on_one_side_alone_differs(clone: Path) -> None:
    commit(clone, "# no rows\n")
    assert compare_clone(clone)[2:] == ("the branch ships none", "none on either side", True)


def test_a_sku_that_the_branch_lacks_differs(clone: Path) -> None:
    git(clone, "rm", "-q", "-r", FOLDER)
    git(clone, "commit", "-q", "--allow-empty", "-m", "nothing")
    assert compare_clone(clone).table == "no such SKU"


def test_a_sku_of_a_vendors_build_alone_does_not_differ(clone: Path) -> None:
    box = load_catalog()[0].switches["ais800-64o"]
    (found,) = compare_branch(Branch(clone, "202605"), "202605", {box.name: box})
    assert (found.table, found.differs) == ("only in Edgecore SONiC", False)


def test_the_command_lists_every_sku_and_ends_with_1_when_one_differs(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["catalog", "compare", str(clone), "--branch", "202605"]) == 1
    printed = capsys.readouterr().out
    assert f"same ({len(MODEL.buffers.rows)} rows)" in printed
    assert printed.count("no such SKU") > 100
    assert run(["catalog", "compare", str(clone), "--branch", "master=HEAD"]) == 1
    assert capsys.readouterr().out.startswith("master at ")
    assert run(["catalog", "compare", str(clone), "--branch", "202305"]) == 2


def test_an_unknown_revision_is_an_error_of_usage(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalog", "compare", str(clone), "--branch", "202605=nowhere"]) == 2
    assert "has no commit 'nowhere'. Name a branch" in capsys.readouterr().err


def test_a_citation_names_the_commit_of_its_branch() -> None:
    assert cite_commit("device/x (202605)") == f"device/x (202605 at {branch_commits()['202605'][:12]})"
    assert cite_commit("device/x (master, August 2026)").startswith("device/x (master at 086b03bd70f9,")
    assert cite_commit("a book (1999)") == "a book (1999)"
