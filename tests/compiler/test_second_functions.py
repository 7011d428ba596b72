"""A port with two PCI functions is one rail with one cable, one link and one line of the bill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.back.hosts import planned, read, render
from fabricc.catalog.load import load_catalog
from fabricc.compiler.compiled import compile_spec
from fabricc.paperwork.materials import list_materials

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled

MODEL = """\
hosts:
  sparks:
    extends: lab-host
    title: A desk system
    nic: {value: connectx-7, source: guide}
    rails: {value: 1, source: guide}
    port_gbps: {value: 200, source: guide}
    pci: {addresses: ["0000:01:00.0"], SECOND source: guide}
sources: {guide: guide}
"""
SPEC = """cluster: desk
catalog: [models.yaml]
gpus: {model: sparks, hosts: 4, hosts_per_unit: 4}
tors: {model: sn5600, nos: sonic}
spines: {model: sn5600, nos: sonic, count: 2}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}}
"""


def compile_folder(folder: Path, second: str) -> Compiled:
    (folder / "models.yaml").write_text(MODEL.replace("SECOND", second))
    (folder / "cluster.yaml").write_text(SPEC)
    return compile_spec(folder / "cluster.yaml")


def test_a_second_function_adds_no_cable_and_no_address(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    one = compile_folder(tmp_path / "one", "")
    two = compile_folder(tmp_path, 'second: ["0002:01:00.0"],')
    assert list_materials(one.fabric) == list_materials(two.fabric)
    assert [len(each.fabric.host(at).ports) for each in (one, two) for at in each.fabric.host_ids()] == [
        1
    ] * 8
    assert [each.message for each in two.diagnostics if each.code == "FAB5628"]
    assert not [each for each in one.diagnostics if each.code == "FAB5628"]
    before, after = (each.fabric.host(next(iter(each.fabric.host_ids()))) for each in (one, two))
    files = {name: text for name, text in render(after).items() if render(before).get(name) != text}
    assert sorted(files) == [
        "etc/systemd/network/10-fabricc-rail0s.link",
        "etc/udev/rules.d/60-rdma-persistent-naming.rules",
    ]
    assert "Path=pci-0002:01:00.0" in files["etc/systemd/network/10-fabricc-rail0s.link"]
    assert "NAME_FIXED mlx5_r0s" in files["etc/udev/rules.d/60-rdma-persistent-naming.rules"]
    reading = read(render(after))
    assert (reading.facts, reading.unknown) == (planned(after), [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'pci: {addresses: ["0000:01:00.0"], second: ["0002:01:00.0", "0002:01:00.1"], source: x}',
            "for 1 rails",
        ),
        ('pci: {addresses: ["0000:01:00.0"], second: ["0000:01:00.0"], source: x}', "first and the second"),
        (
            'pci: {addresses: ["0000:01:00.0"], second: ["0002:01:00.0"], source: x}\n'
            "    ports_per_nic: {value: 2, source: x}",
            "several ports",
        ),
        ('pci: {addresses: ["0000:01:00.0", "0002:01:00.0"], source: x}', "2 PCI addresses"),
        (
            "rails: {value: 2, source: x}\n    cages: {form_factor: qsfp112, rails: [[0, 1]], source: x}",
            "8 lanes of a cage with 4",
        ),
    ],
)
def test_contradicting_functions_are_rejected_with_the_key(tmp_path: Path, text: str, words: str) -> None:
    rails = "" if text.startswith("rails") else "    rails: {value: 1, source: x}\n"
    (tmp_path / "models.yaml").write_text(
        "hosts:\n  a:\n    extends: lab-host\n    nic: {value: connectx-7, source: x}\n"
        f"{rails}    port_gbps: {{value: 400, source: x}}\n    {text}\nsources: {{x: x}}\n"
    )
    _, findings = load_catalog([tmp_path / "models.yaml"])
    assert [(each.code, words in each.message) for each in findings] == [("FAB2106", True)]
