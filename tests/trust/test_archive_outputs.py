"""No verb writes through a link that leads out of an unpacked archive, whether Git is there or not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign.files import ForeignFileError
from fabricc.cli.entry import run
from fabricc.cli.output import in_repository
from fabricc.compiler.load.spec_location import find_spec
from fabricc.proof.tree import read_manifest
from fabricc.tree.file import follow_links
from tests.trust.conftest import SECRET, SPEC, folder_contents
from tests.trust.test_archives import git

VERBS = {
    "build": ("build", "{a}/cluster.yaml", "-o", "{a}/{way}"),
    "build below": ("build", "{a}/cluster.yaml", "-o", "{a}/{way}/new/folder"),
    "build one device": ("build", "{a}/cluster.yaml", "--only", "spine01a", "-o", "{a}/{way}"),
    "lock of a build": ("build", "{a}/{way}/linked.yaml", "-o", "{a}/other"),
    "lock": ("lock", "{a}/{way}/linked.yaml"),
    "fmt": ("fmt", "{a}/{way}/linked.yaml"),
    "tables": ("plan", "{a}/cluster.yaml", "--csv", "{a}/{way}"),
    "plot": ("plan", "{a}/cluster.yaml", "--plot", "{a}/{way}/plot.svg"),
    "bill": ("plan", "{a}/cluster.yaml", "--bom", "{a}/{way}/bom.csv"),
    "labels": ("plan", "{a}/cluster.yaml", "--labels", "{a}/{way}/labels.csv"),
    "report": ("report", "{a}/cluster.yaml", "-o", "{a}/{way}/report.html"),
    "init": ("init", "{a}/{way}"),
    "init below": ("init", "{a}/{way}/new"),
    "site": ("docs", "--site", "{a}/{way}"),
    "openconfig": ("export", "openconfig", "{a}/cluster.yaml", "-o", "{a}/{way}"),
    "topology": ("lab", "export", "{a}/cluster.yaml", "--format", "containerlab", "-o", "{a}/{way}"),
    "adopt": ("adopt", "{a}/found", "-o", "{a}/{way}/adopted"),
    "audit": ("audit", "{a}/found", "--format", "html", "-o", "{a}/{way}/audit.html"),
}
WAYS = {
    "a folder outside": "../../outside",
    "the folder above": "..",
    "by way of a folder inside": "inner/../../../outside",
    "by way of another link": "second",
    "an absolute path": "{outside}",
}


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of the user next to the folder with the archive."""
    home = tmp_path / "home"
    (home / "outside").mkdir(parents=True)
    (home / "outside" / "secret").write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return home / "outside"


@pytest.fixture(params=["no repository", "dotfiles", "an own repository"])
def archive(
    request: pytest.FixtureRequest, built: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An unpacked archive with a spec, a tree and configurations of switches."""
    top = outside.parent / "downloads" / "archive"
    shutil.copytree(built, top, symlinks=True)
    shutil.rmtree(top / ".git")
    shutil.copytree(built / "build" / "lab" / "switches", top / "found")
    (top / "inner").mkdir()
    monkeypatch.chdir(top)
    if request.param == "dotfiles":
        git(outside.parent, "init", "-q")
        git(outside.parent, "add", "outside/secret")
    if request.param == "an own repository":
        git(top, "init", "-q")
        git(top, "add", "cluster.yaml")
    return top


def home_contents(archive: Path) -> dict[str, tuple[object, ...]]:
    """Return what the user's home has outside of an archive."""
    found = folder_contents(archive.parents[1])
    return {path: entry for path, entry in found.items() if not Path(path).is_relative_to(archive)}


@pytest.mark.spread
@pytest.mark.parametrize(
    ("verb", "way"),
    [*((verb, "a folder outside") for verb in VERBS), *(("tables", way) for way in list(WAYS)[1:])],
)
def test_no_verb_writes_behind_a_link_that_leads_out(
    archive: Path, outside: Path, verb: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (archive / "way").symlink_to(WAYS[way].format(outside=outside))
    (archive / "second").symlink_to("../../outside")
    for folder in (outside, archive.parent):
        (folder / "linked.yaml").write_text(SPEC.replace("cluster: lab", "cluster:   other"))
    before = home_contents(archive)
    assert run([word.format(a=archive, way="way") for word in VERBS[verb]]) != 0
    reported = "".join(capsys.readouterr())
    assert "FAB7001" in reported, reported
    assert "FAB7999" not in reported
    assert home_contents(archive) == before


def test_the_top_of_a_repository_is_the_one_that_tracks_the_working_folder(
    archive: Path,
) -> None:
    (found,) = in_repository([Diagnostic("FAB0001", Severity.ERROR, "x", Position("cluster.yaml", 1))])
    assert found.position
    assert found.position.file == "cluster.yaml"


def test_a_tree_of_an_archive_has_no_spec_far_above_it(archive: Path, outside: Path) -> None:
    tree = archive / "build" / "lab"
    spec = read_manifest(tree).spec
    assert find_spec(tree, read_manifest(tree)) == archive / spec
    (archive / spec).rename(outside.parent / spec)
    assert find_spec(tree, read_manifest(tree)) is None


@pytest.mark.parametrize("name", ["fabricc.lock", "build", "build/lab", "build/.lab.lock", "build/.lab.next"])
def test_no_default_place_is_written_through_a_link(archive: Path, outside: Path, name: str) -> None:
    spec = archive / "cluster.yaml"
    spec.write_text(spec.read_text().replace("hosts: 4", "hosts: 6"))
    place = archive / name
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(outside / ("taken" if place.suffix == ".lock" else ""))
    before = folder_contents(outside)
    status = run(["build", str(spec), "-o", str(archive / "build")])
    assert (status == 0) == (name == "build/.lab.next"), "a stage that is a link is replaced by a folder"
    assert folder_contents(outside) == before


def test_links_inside_an_archive_are_followed(archive: Path) -> None:
    (archive / "way").symlink_to("inner")
    assert run(["build", str(archive / "cluster.yaml"), "-o", str(archive / "way")]) == 0
    assert (archive / "inner" / "lab" / "manifest.json").is_file()


def test_a_link_of_a_repository_leads_to_all_of_it(tmp_path: Path) -> None:
    top = tmp_path / "work"
    (top / "sites" / "a").mkdir(parents=True)
    (top / "sites" / "a" / "cluster.yaml").write_text("x")
    (top / "trees").mkdir()
    git(tmp_path, "init", "-q", str(top))
    git(top, "add", ".")
    (top / "sites" / "a" / "build").symlink_to("../../trees")
    assert follow_links(top / "sites" / "a" / "build" / "lab") == top / "trees" / "lab"
    (top / "sites" / "a" / "hooks").symlink_to("../../.git/hooks")
    with pytest.raises(ForeignFileError, match="Git's own"):
        follow_links(top / "sites" / "a" / "hooks")


def test_links_of_the_user_lead_anywhere(
    outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "scratch"
    (place / "projects" / "fabric").mkdir(parents=True)
    (outside.parent / "scratch").symlink_to(place)
    assert follow_links(outside.parent / "scratch" / "build") == place / "build"
    (outside / "fabric").symlink_to(place / "projects" / "fabric")
    with pytest.raises(ForeignFileError, match="leads out of"):
        follow_links(outside / "fabric" / "build")
    monkeypatch.chdir(outside / "fabric")
    monkeypatch.setenv("PWD", str(outside / "fabric"))
    assert follow_links(outside / "fabric" / "build") == place / "projects" / "fabric" / "build"
    assert follow_links(Path("build")) == place / "projects" / "fabric" / "build"
    monkeypatch.setenv("PWD", str(outside))
    with pytest.raises(ForeignFileError, match="leads out of"):
        follow_links(outside / "fabric" / "build")


def test_a_link_of_the_user_into_an_archive_leads_no_further(outside: Path) -> None:
    archive = outside.parent / "downloads" / "archive"
    archive.mkdir(parents=True)
    (archive / "build").symlink_to(outside)
    (outside.parent / "fabric").symlink_to(archive)
    with pytest.raises(ForeignFileError, match="leads out of"):
        follow_links(outside.parent / "fabric" / "build")


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        follow_links(tmp_path / "a" / "c")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_links_in_folders_of_others_lead_anywhere(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "data").symlink_to(tmp_path)
    folder.chmod(0o555)
    assert follow_links(folder / "data" / "x") == tmp_path / "x"
