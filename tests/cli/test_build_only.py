"""`fabricc build --only`: the files of named devices, as the tree has them, proved, and nothing else."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from benchmarks.specs import MILLION
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.render.switch_files import render_switch
from fabricc.compiler.selected_devices import write_devices
from fabricc.fabric import expand, fabric
from tests.cli.test_build import tree_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabricc.fabric.model import Switch
    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

ONLY = ("--only", "spine02a", "--only", "su002-host02")


def test_named_devices_have_the_files_of_the_tree_and_nothing_else_is_written(
    repo: Path, fabricc: Fabricc
) -> None:
    (repo / "one").mkdir()
    (repo / "one/mine.txt").write_text("stays")
    ran = fabricc("build", "cluster.yaml", *ONLY, "-o", "one")
    assert ran.status == 0, ran.err
    assert "2 of lab" in ran.out
    assert "`fabricc lock cluster.yaml` writes it" in ran.out
    assert sorted(path.name for path in repo.iterdir()) == ["cluster.yaml", "one"]
    assert fabricc("build", "cluster.yaml").status == 0
    whole = tree_bytes(repo / "build/lab")
    wanted = ("switches/spine02a/", "hosts/su002-host02/")
    found = tree_bytes(repo / "one")
    assert found.pop("mine.txt")
    assert found == {path: content for path, content in whole.items() if path.startswith(wanted)}
    modes = {path: (repo / "build/lab" / path).stat().st_mode for path in found}
    assert modes == {path: (repo / "one" / path).stat().st_mode for path in found}
    again = fabricc("build", "cluster.yaml", *ONLY, "-o", "one", "--frozen")
    assert ": 0 written" in again.out
    assert "unchanged" in again.out


def test_links_between_named_devices_are_compared_and_no_others_missed(repo: Path, fabricc: Fabricc) -> None:
    ran = fabricc("build", "cluster.yaml", "--only", "su001-tor1a", "--only", "spine01a", "-o", "one")
    assert ran.status == 0, ran.err
    ports = compile_spec(repo / "cluster.yaml").device("su001-tor1a").ports
    links = [port.peer.device for port in ports if port.peer]
    between = links.count("spine01a")
    assert 0 < between < len(links)
    assert f"{between} link" in ran.out


def test_unproved_devices_are_not_written(
    repo: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(switch: Switch) -> dict[str, str]:
        return {name: text.replace("mtu", "mut") for name, text in render_switch(switch).items()}

    monkeypatch.setattr("fabricc.compiler.write.device.render_switch", damaged)
    ran = fabricc("build", "cluster.yaml", "--only", "spine01a", "-o", "one")
    assert ran.status == 1
    assert "FAB60" in ran.err
    assert not (repo / "one").exists()
    assert fabricc("build", "cluster.yaml", "--only", "spine01a", "-o", "one", "--no-check").status == 0


def test_a_name_of_no_device_a_tree_and_a_lock_that_is_behind_are_refused(
    repo: Path, fabricc: Fabricc
) -> None:
    wrong = fabricc("build", "cluster.yaml", "--only", "spine01a", "--only", "spine99", "-o", "one")
    assert wrong.status == 1
    assert "FAB3195" in wrong.err
    assert "'spine99'" in wrong.err
    behind = fabricc("build", "cluster.yaml", "--only", "spine01a", "-o", "one", "--frozen")
    assert "FAB3900" in behind.err
    assert not (repo / "one").exists()
    assert fabricc("build", "cluster.yaml").status == 0
    before = tree_bytes(repo / "build/lab")
    inside = fabricc("build", "cluster.yaml", "--only", "spine01a", "-o", "build/lab")
    assert inside.status == 3
    assert "FAB7002" in inside.err
    assert tree_bytes(repo / "build/lab") == before


@pytest.mark.slow
def test_a_device_costs_the_same_in_a_larger_fabric(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a million GPUs, too, only what is named is expanded and proved."""
    (repo / "cluster.yaml").write_text(MILLION)
    compiled = compile_spec(repo / "cluster.yaml")
    assert compiled.counts()["gpus"] == 1_048_576
    expanded: list[object] = []

    def counted(real: Callable[..., object], *at: object) -> object:
        expanded.append(at)
        return real(*at)

    for module, name in ((expand, "expand_switch"), (fabric, "expand_host")):
        monkeypatch.setattr(module, name, partial(counted, getattr(module, name)))
    names = ["su0001-tor1a", "su1024-host128"]
    result = write_devices(compiled, names, repo / "few")
    assert result.exit_status == 0, result.diagnostics
    assert sorted(path.name for path in (repo / "few").glob("*/*")) == names
    assert 0 < len(expanded) <= 5 * len(names), "a few times each, of 172,032 devices"
