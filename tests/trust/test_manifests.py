"""A manifest that a clone brought names files of its tree alone, and these are plain files of a bounded size."""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.compiler.load.affected_specs import affected_specs
from fabricc.proof.tree import TreeError, read_manifest
from fabricc.tree.manifest import Manifest, ManifestError, is_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.trust.conftest import Clone

READING = (
    ("check", "build/lab"),
    ("verify", "build/lab"),
    ("diff", "build/lab", "build/lab"),
    ("push", "build/lab", "--plan"),
)
NAMES = (
    "../../../home/secret",
    "/etc/passwd",
    "/dev/zero",
    "switches/../../../../home/secret",
    "switches/a\0b",
    "\ud800",
    "switches/\udcff/frr.conf",
    "./x",
    "",
    ".git/config",
    "switches//x",
    "a\nb",
    "x" * 5000,
)
CONF = "switches/su001-tor1a/frr.conf"


def rewrite_manifest(clone: Clone, change: Callable[[dict[str, Any]], object]) -> int:
    """Change the content of the manifest, one entry per line; return the number of lines."""
    place = clone.tree / "manifest.json"
    stated = json.loads(place.read_text())
    change(stated)
    text = json.dumps(stated, indent=2) + "\n"
    place.write_text(text)
    return text.count("\n")


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_outside_the_tree_is_a_finding_with_its_line(clone: Clone, name: str) -> None:
    lines = rewrite_manifest(clone, lambda stated: stated["files"].__setitem__(name, "0" * 64))
    with pytest.raises(TreeError) as raised:
        read_manifest(clone.tree)
    found = raised.value.diagnostic
    assert found.code == "FAB6021"
    assert found.position is not None
    assert found.position.line == lines - 2, "the last entry"
    assert found.message.isprintable()
    assert len(found.message) < 400


@pytest.mark.parametrize("verb", READING, ids=lambda verb: " ".join(verb[:1]))
@pytest.mark.parametrize("name", NAMES[:6], ids=ascii)
def test_no_verb_reads_or_prints_it(clone: Clone, name: str, verb: tuple[str, ...]) -> None:
    rewrite_manifest(clone, lambda stated: stated["files"].__setitem__(name, "0" * 64))
    status, reported = clone.reading(*verb)
    assert status != 0
    assert "FAB6021" in reported
    assert "root:" not in reported


@pytest.mark.parametrize(
    "change",
    [
        lambda stated: stated["files"].update({CONF: "abc"}),
        lambda stated: stated["files"].update({CONF: ""}),
        lambda stated: stated["files"].update({CONF: 7}),
        lambda stated: stated["files"].update({CONF: "A" * 64}),
        lambda stated: stated["inputs"].update({"spec": "../x"}),
        lambda stated: stated["inputs"].update({"\x1b[2J": "0" * 64}),
        lambda stated: stated.update(cluster="../x"),
        lambda stated: stated.update(cluster=["x"]),
        lambda stated: stated.update(spec="../../home/secret"),
        lambda stated: stated.update(version="\ud800"),
        lambda stated: stated.update(files=[CONF]),
        lambda stated: stated.update(format=2),
        lambda stated: stated.update(more=float("nan")),
        lambda stated: stated.update(format="\x1b[2J" * 1000),
    ],
)
def test_manifest_with_impossible_content_is_rejected(
    clone: Clone, change: Callable[[dict[str, Any]], object]
) -> None:
    rewrite_manifest(clone, change)
    status, reported = clone.reading("check", "build/lab")
    assert status != 0
    assert "FAB6021" in reported
    assert "\x1b" not in reported


@pytest.mark.parametrize("content", [b"[" * 1_000_000, b"\xff", b"", b'"a', b"{}", b'{"made_by": "fabricc"}'])
def test_damaged_manifests_are_refused(clone: Clone, content: bytes) -> None:
    (clone.tree / "manifest.json").write_bytes(content)
    assert "FAB6021" in clone.reading("check", "build/lab")[1]
    with pytest.raises(ManifestError):
        Manifest.parse(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("format", "made_by", "cluster", "version", "spec", "inputs", "files")
SOUND = {
    "format": 1,
    "made_by": "fabricc",
    "cluster": "z",
    "version": "1",
    "spec": "c.yaml",
    "inputs": {},
    "files": {},
}


@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=2), st.dictionaries(st.text(), JSON, max_size=3))
def test_no_manifest_raises_anything_else_and_what_is_taken_is_clean(
    changed: dict[str, Any], files: dict[str, Any]
) -> None:
    content = json.dumps({**SOUND, "files": files, **changed}).encode()
    reported, taken = "", Manifest("z", "1", "c.yaml")
    try:
        taken = Manifest.parse(content)
    except ManifestError as error:
        reported = f"{error}"
    assert reported.isprintable()
    assert all(is_path(path) and len(digest) == 64 for path, digest in taken.files.items())


@given(st.binary(max_size=200), st.integers(0, 200))
def test_bytes_in_a_manifest_raise_nothing_else(noise: bytes, at: int) -> None:
    content = json.dumps(SOUND).encode()
    with suppress(ManifestError):
        Manifest.parse(content[:at] + noise + content[at:])


def put(place: Path, kind: str) -> None:
    place.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "huge":
        with place.open("wb") as file:
            file.truncate(1 << 40)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(kind)


KINDS = ("fifo", "huge", "folder", "/dev/zero", "/etc/passwd", "{home}/secret", "nowhere", "frr.conf")


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["manifest.json", CONF, "plan/fabric.json", "plan/cabling.csv"])
def test_oddities_in_a_tree_are_findings_at_once_and_in_little_memory(
    clone: Clone, name: str, kind: str
) -> None:
    put(clone.tree / name, kind.format(home=clone.home))
    begin = time.monotonic()
    tracemalloc.start()
    for verb in (("check", "build/lab"), ("diff", "build/lab", "build/lab"), ("push", "build/lab", "--plan")):
        status, reported = clone.reading(*verb)
        if verb[0] == "check":
            assert status != 0, reported
    assert tracemalloc.get_traced_memory()[1] < 256 << 20
    tracemalloc.stop()
    assert time.monotonic() - begin < 30


def test_a_folder_of_a_device_that_leads_elsewhere_is_not_read(clone: Clone) -> None:
    folder = clone.tree / "switches" / "su001-tor1a"
    folder.rename(clone.home / "away")
    folder.symlink_to(clone.home / "away")
    status, reported = clone.reading("check", "build/lab")
    assert status != 0
    assert "FAB6011" in reported
    assert "symbolic link" in reported


@pytest.mark.parametrize("how", ["utf-16", "twice"])
def test_a_manifest_in_another_encoding_or_with_a_doubled_key_is_refused(clone: Clone, how: str) -> None:
    path = clone.tree / "manifest.json"
    text = path.read_text("utf-8")
    doubled = text.replace('"made_by": "fabricc"', '"made_by": "fabricc",\n  "made_by": "fabricc"')
    path.write_bytes(text.encode("utf-16") if how == "utf-16" else doubled.encode())
    assert clone.fabricc("check", "build/lab")[0] == 1


def test_files_without_contents_on_the_disk_are_not_read(clone: Clone) -> None:
    names = json.loads((clone.tree / "manifest.json").read_bytes())["files"]
    for name in [*names][:6]:
        with (clone.tree / name).open("wb") as file:
            file.truncate(1 << 30)
    status, output = clone.fabricc("check", "build/lab")
    assert status == 1
    assert "FAB0083" in output


@pytest.mark.parametrize("name", ["cluster.yaml", "site/cluster.yaml", "plan/cluster.yaml"])
def test_a_manifest_hides_no_spec(tmp_path: Path, name: str) -> None:
    (tmp_path / "manifest.json").write_text('{"made_by": "fabricc"}')
    spec = tmp_path / name
    spec.parent.mkdir(exist_ok=True)
    spec.write_text("cluster: a\ncatalog: [more.yaml]\n")
    assert [each.name for each in affected_specs([spec], tmp_path)] == ["cluster.yaml"]
    found = affected_specs([spec.parent / "more.yaml"], tmp_path)
    assert [each.name for each in found] == ([] if name.startswith("plan/") else ["cluster.yaml"])


def test_specs_next_to_a_thousand_nested_folders_are_found(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("cluster: a\ncatalog: [more.yaml]\n")
    deep = tmp_path
    for _ in range(1500):
        deep /= "d"
        deep.mkdir()
    assert affected_specs([tmp_path / "more.yaml"], tmp_path)
    while deep != tmp_path:  # pytest cannot remove so many
        deep.rmdir()
        deep = deep.parent
