"""A damaged tree reaches no switch, whichever verb reads it; the whole tree does, by the same command."""

from __future__ import annotations

import hashlib
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from fabricc.tree.manifest import NAME as MANIFEST
from fabricc.tree.manifest import Manifest
from tests.operate.push.network import DISRUPTIVE, HITLESS, Network

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SWITCH = "spine01a"


def write_state(tree: Path, manifest: Manifest, files: dict[str, str], cluster: str = "") -> None:
    """Write a manifest that states these files."""
    changed = Manifest(cluster or manifest.cluster, manifest.version, manifest.spec, manifest.inputs, files)
    (tree / MANIFEST).write_bytes(b"".join(changed.parts()))


def damage_tree(tree: Path, *, thorough: bool) -> Iterator[tuple[str, str]]:
    """Damage a tree in one way after another; yield what was done and the code of the finding."""
    manifest = Manifest.parse((tree / MANIFEST).read_bytes())
    kinds: dict[str, str] = {}
    for path in manifest.files:
        kinds.setdefault(re.sub(r"\d+", "N", re.sub(r"^(hosts|switches)/[^/]+/", r"\1/*/", path)), path)
    for kind, path in sorted(kinds.items()):
        if not thorough and path.startswith(("jobs/", "acceptance/")) and path != "jobs/hosts.csv":
            continue
        (tree / path).rename(tree.parent / "aside")
        yield f"no {kind}", "FAB6011"
        if not re.fullmatch(r"jobs/(nvshmem\.env|kubernetes/nic-configuration\.yaml)", path):
            write_state(tree, manifest, {each: sums for each, sums in manifest.files.items() if each != path})
            yield f"no {kind}, and no row", "FAB6011"
            write_state(tree, manifest, dict(manifest.files))
        (tree.parent / "aside").rename(tree / path)
    path = f"switches/{SWITCH}/frr.conf"
    text = (tree / path).read_bytes()
    changed = text.replace(b" 12\n", b" 13\n").replace(b"500", b"501")
    assert changed != text
    (tree / path).write_bytes(changed)
    yield "an altered file", "FAB6010"
    write_state(tree, manifest, {**manifest.files, path: hashlib.sha256(changed).hexdigest()})
    yield "an altered file with its digest", "FAB9150"
    (tree / path).write_bytes(text)
    write_state(tree, manifest, dict(manifest.files), "other")
    yield "the manifest of another cluster", "FAB6010"
    write_state(tree, manifest, dict(manifest.files))
    other = tree / "switches" / "spine99a"
    shutil.copytree(tree / "switches" / SWITCH, other)
    more = {
        f"switches/spine99a/{file.name}": manifest.files[f"switches/{SWITCH}/{file.name}"]
        for file in other.iterdir()
    }
    write_state(tree, manifest, {**manifest.files, **more})
    yield "a switch of another tree", "FAB6011"
    shutil.rmtree(other)
    (tree / MANIFEST).unlink()
    yield "no manifest", "FAB6013"
    write_state(tree, manifest, dict(manifest.files))


@pytest.mark.parametrize(
    "verb",
    [
        "push",
        pytest.param("resume", marks=pytest.mark.slow),
        pytest.param("rollback", marks=pytest.mark.slow),
    ],
)
def test_no_damaged_tree_reaches_a_switch(network: Network, verb: str) -> None:
    words: tuple[str, ...] = ("--adopt",)
    first = network.runs(SWITCH)
    if verb == "resume":
        network.edit(DISRUPTIVE)
        network.fault(SWITCH, "commit_config", 1, "after", "kill")
        network.direct = False
        network.push("--adopt", "--only", SWITCH, status=-9)
        network.direct = True
        words = ("--resume",)
    elif verb == "rollback":
        network.edit(HITLESS)
        network.push("--adopt", status=0)
        words = ("--rollback", "1")
    else:
        network.edit(HITLESS)
    before = {name: network.runs(name) for name in network.source.devices}
    back = {**before, SWITCH: first}  # its own guard may take the switch of a killed run back meanwhile
    tried = 0
    for damage, code in damage_tree(network.source.tree, thorough=verb == "rollback"):
        ran = network.push(*words)
        assert (ran.returncode, code in ran.stderr) == (1, True), (damage, ran.stderr)
        assert {name: network.runs(name) for name in network.source.devices} in (before, back), damage
        tried += 1
    assert tried > (80 if verb == "rollback" else 35)
    network.push(*words, status=0)
    assert {name: network.runs(name) for name in network.source.devices} not in (before, back)
