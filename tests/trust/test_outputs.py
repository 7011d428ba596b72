"""Outputs of a verb go where the user names, and never through a link that a clone planted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.trust.conftest import Clone

FILES = (
    (("plan", "cluster.yaml", "--csv", "out"), "out/cabling.csv"),
    (("plan", "cluster.yaml", "--csv", "out"), "out/qos.csv"),
    (("plan", "cluster.yaml", "--plot", "out/plot.svg"), "out/plot.svg"),
    (("plan", "cluster.yaml", "--bom", "out/bom.csv"), "out/bom.csv"),
    (("plan", "cluster.yaml", "--labels", "out/labels.csv"), "out/labels.csv"),
    (("plan", "cluster.yaml", "--places", "places.csv", "--elevations", "out/racks.csv"), "out/racks.csv"),
    (("report", "cluster.yaml", "-o", "out/report.html"), "out/report.html"),
    (("fmt", "out/site.yaml"), "out/site.yaml"),
    (("lock", "cluster.yaml", "--repin"), "fabricc.lock"),
    (("init", "out"), "out/.gitignore"),
    (("build", "cluster.yaml"), "fabricc.lock"),
)


@pytest.mark.parametrize("target", ["secret", "missing", ".git/config"])
@pytest.mark.parametrize(
    ("verb", "place"), FILES, ids=lambda value: value if isinstance(value, str) else value[0]
)
def test_no_file_is_written_through_a_link(
    clone: Clone, verb: tuple[str, ...], place: str, target: str
) -> None:
    (clone.top / ".git" / "config").write_text("core:    1\n")
    spec = clone.top / "cluster.yaml"
    spec.write_text(spec.read_text().replace("hosts: 4", "hosts: 6"))
    (clone.top / "places.csv").write_text("device,rack,unit\n")
    (clone.top / "out").mkdir()
    led = clone.top / target if target == ".git/config" else clone.home / target
    (clone.top / place).unlink(missing_ok=True)
    (clone.top / place).symlink_to(led)
    status, reported = clone.fabricc(*verb)
    assert status != 0, reported
    assert (clone.top / ".git" / "config").read_text() == "core:    1\n"
    assert (clone.top / place).is_symlink()
    assert not (clone.home / "missing").exists()


@pytest.mark.parametrize("target", ["home", ".git"])
@pytest.mark.parametrize(
    "verb",
    [
        ("plan", "cluster.yaml", "--csv", "out"),
        ("plan", "cluster.yaml", "--csv", "out/more/below"),
        ("report", "cluster.yaml", "-o", "out/report.html"),
        ("build", "cluster.yaml", "-o", "out"),
        ("init", "out"),
    ],
    ids=" ".join,
)
def test_no_folder_is_written_behind_one(clone: Clone, verb: tuple[str, ...], target: str) -> None:
    (clone.top / "out").symlink_to(clone.home if target == "home" else clone.top / ".git")
    status, reported = clone.fabricc(*verb)
    assert status != 0
    assert "FAB7001" in reported
    assert not list((clone.top / ".git").iterdir())


def test_plain_places_are_written(clone: Clone) -> None:
    for verb, place in FILES[:4]:
        status, reported = clone.fabricc(*verb)
        if place.startswith("out/plot"):  # nothing lossless to plot here
            continue
        assert status == 0, reported
        assert (clone.top / place).stat().st_size
