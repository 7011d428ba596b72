"""Specs, locks, catalogs, policies and other files that a clone brings are plain ones inside the repository."""

from __future__ import annotations

import os
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import templating
from tests.trust.conftest import SECRET, SPEC

if TYPE_CHECKING:
    from pathlib import Path

    from tests.trust.conftest import Clone

KINDS = ("fifo", "huge", "/dev/zero", "/etc/passwd", "secret")
MORE = {
    "cluster.yaml": "",
    "fabricc.lock": "",
    "mine.yaml": "catalog: [mine.yaml]\n",
    "x.conf": "overlays: [{file: x.conf, nos: frr}]\n",
    "fabricc-policy.yaml": "",
}


def put(clone: Clone, name: str, kind: str) -> None:
    place: Path = clone.top / name
    place.parent.mkdir(exist_ok=True, parents=True)
    place.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "huge":
        with place.open("wb") as file:
            file.truncate(1 << 40)
    else:
        place.symlink_to(clone.secret if kind == "secret" else kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MORE)
def test_no_verb_reads_what_is_no_plain_file_of_the_repository(clone: Clone, name: str, kind: str) -> None:
    (clone.top / "cluster.yaml").write_text(SPEC + MORE[name])
    put(clone, name, kind)
    begin = time.monotonic()
    tracemalloc.start()
    verbs = [
        ("plan", "cluster.yaml"),
        ("build", "cluster.yaml", "-o", "other"),
        ("fmt", name),
        ("lock", "cluster.yaml"),
    ]
    if name == "fabricc-policy.yaml":
        verbs = [("diff", "cluster.yaml", "cluster.yaml"), ("fmt", name)]
    for verb in verbs:
        status, reported = clone.fabricc(*verb)
        assert status != 0, reported
        assert "root:" not in reported
        assert "FAB" in reported
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()
    assert time.monotonic() - begin < 30


def test_a_link_inside_the_repository_is_followed(clone: Clone) -> None:
    (clone.top / "sites").mkdir()
    (clone.top / "sites" / "cluster.yaml").symlink_to("../cluster.yaml")
    assert clone.reading("validate", "sites/cluster.yaml")[0] == 0


@pytest.mark.parametrize("kind", ["fifo", "huge", "secret"])
def test_templates_are_plain_files_too(clone: Clone, kind: str) -> None:
    put(clone, "templates/eos/bgp.j2", kind)
    try:
        status, reported = clone.fabricc("build", "cluster.yaml", "-o", "other", "--templates", "templates")
    finally:
        templating.set_template_path(())
    assert status != 0, reported


@pytest.mark.parametrize("kind", ["fifo", "huge", "/dev/zero", "secret"])
def test_an_access_file_is_one_too(clone: Clone, kind: str) -> None:
    put(clone, "access.yaml", kind)
    status, reported = clone.fabricc("verify", "build/lab", "--access", "access.yaml")
    assert status != 0
    assert "FAB9101" in reported


def test_a_template_includes_nothing_from_elsewhere(clone: Clone) -> None:
    (clone.top / "templates" / "eos").mkdir(parents=True)
    for name in ("../../../home/secret", str(clone.secret), "../../cluster.yaml"):
        (clone.top / "templates" / "eos" / "mine.j2").write_text(f'{{% include "{name}" %}}')
        templating.set_template_path([clone.top / "templates"])
        try:
            with pytest.raises(Exception) as failed:
                templating.template_environment("eos").get_template("mine.j2").render()
            assert SECRET not in str(failed.value)
        finally:
            templating.set_template_path(())
