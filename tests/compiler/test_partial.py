"""A build that concerns few devices leaves, byte for byte, what a whole build leaves."""

from __future__ import annotations

import functools
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.driver import build_tree
from fabricc.compiler.incremental import ledger as ledgers
from fabricc.compiler.incremental import partial, record
from fabricc.compiler.incremental.record import LastCheck
from fabricc.compiler.recheck import check_tree
from fabricc.tree import EmitError, patch
from fabricc.tree.state import state_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabricc.compiler import BuildResult

EOS = {"model": "7060x6-64pe", "nos": "eos"}
SPEC: dict[str, Any] = {
    "cluster": "zone",
    "gpus": {"model": "dgx-h100", "hosts": 24, "hosts_per_unit": 8},
    "tors": EOS,
    "spines": EOS,
    "priorities": {
        "rdma": {"dscp": 26, "lossless": True},
        "cnp": {"dscp": 48, "strict": True},
        "default": {},
    },
    "management": {"network": "172.16.0.0/12"},
}


def write(folder: Path, overrides: dict[str, Any], **more: object) -> Path:
    folder.mkdir(exist_ok=True)
    spec = folder / "cluster.yaml"
    spec.write_text(yaml.safe_dump({**SPEC, "overrides": overrides, **more}))
    return spec


def bytes_of(tree: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in sorted(tree.rglob("*")) if path.is_file())
    return {str(path.relative_to(tree)): (path.read_bytes(), path.stat().st_mode) for path in files}


def build_whole(tmp_path: Path, spec: Path, **options: Any) -> tuple[BuildResult, Path]:
    """A whole build of the same spec elsewhere."""
    other = tmp_path / "whole"
    shutil.rmtree(other, ignore_errors=True)
    other.mkdir()
    for name in ("cluster.yaml", "fabricc.lock"):
        shutil.copy(spec.with_name(name), other / name)
    result, _ = build_tree(other / "cluster.yaml", other / "out", **options)
    assert result.proved is None
    return result, other / "out/zone"


def read_state(tree: Path) -> Path:
    found = state_of(tree.parent)
    assert found
    return found


def list_findings(result: BuildResult) -> list[tuple[str, str]]:
    return sorted((d.code, d.message) for d in result.diagnostics)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def spec(tmp_path: Path, out: Path) -> Path:
    written = write(tmp_path, {})
    assert build_tree(written, out)[0].exit_status == 0
    return written


DRAINED = {"su001-tor1a": {"drain": True}}
CHANGES = (
    {"drain": True},
    {"cable_m": 7},
    {"ports": {"Ethernet1/1": {"shutdown": True}}},
    {"ports": {"Ethernet5/1": {"cable_m": 60}, "Ethernet6/1": {"medium": "smf"}}},
    {"nos": "eos-4.33"},
)


@pytest.mark.slow
def test_draining_one_tor_writes_its_file_and_the_manifest(spec: Path, out: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_ino for path in (out / "zone").rglob("*") if path.is_file()}
    write(spec.parent, DRAINED)
    result, _ = build_tree(spec, out)
    assert (result.proved, result.written, result.removed, result.exit_status) == (1, 2, 0, 0)
    new = {
        str(path.relative_to(out / "zone")) for path, inode in before.items() if path.stat().st_ino != inode
    }
    assert new == {"switches/su001-tor1a/running-config.cfg", "manifest.json"}
    expected, tree = build_whole(tmp_path, spec)
    assert bytes_of(out / "zone") == bytes_of(tree)
    assert (list_findings(result), result.counts, result.files, result.links) == (
        list_findings(expected), expected.counts, expected.files, expected.links,
    )  # fmt: skip
    assert build_tree(spec, out)[0].up_to_date
    assert all(d.severity is not Severity.ERROR for d in check_tree(out / "zone", spec)[0].diagnostics)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.slow
def test_any_sequence_of_overrides_comes_to_the_same_as_whole_builds(
    spec: Path, out: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial, "_LARGEST_SHARE", 1)
    chosen, overrides, partly = random.Random(seed), {}, 0
    for _ in range(5):
        name = chosen.choice(["su001-tor1a", "su002-tor3a", "spine01a", "spine02a"])
        if name in overrides and chosen.random() < 0.5:
            del overrides[name]
        else:
            overrides[name] = chosen.choice(CHANGES)
        write(spec.parent, overrides)
        result, _ = build_tree(spec, out)
        partly += result.proved is not None
        expected, tree = build_whole(tmp_path, spec)
        assert list_findings(result) == list_findings(expected), overrides
        if expected.tree:
            assert bytes_of(out / "zone") == bytes_of(tree), overrides
            assert build_tree(spec, out)[0].up_to_date
    assert partly


def test_a_change_reaches_the_far_ends_of_its_cables_alone(spec: Path, out: Path, tmp_path: Path) -> None:
    write(spec.parent, {"su001-tor1a": {"ports": {"Ethernet1/1": {"cable_m": 7}}}})
    result, _ = build_tree(spec, out)
    _, tree = build_whole(tmp_path, spec)
    assert bytes_of(out / "zone") == bytes_of(tree)
    assert result.proved == 2, "the ToR and the host at that port"


def test_a_comment_concerns_no_device(spec: Path, out: Path) -> None:
    spec.write_text(spec.read_text() + "# a remark\n")
    result, _ = build_tree(spec, out)
    assert (result.proved, result.written) == (0, 0)
    assert build_tree(spec, out)[0].up_to_date


@pytest.mark.slow
def test_of_a_renamed_cluster_the_last_build_is_that_under_its_new_name(spec: Path, out: Path) -> None:
    spec.with_name("fabricc.lock").unlink()
    write(spec.parent, {}, cluster="zulu")
    assert build_tree(spec, out)[0].exit_status == 0
    assert build_tree(spec, out)[0].up_to_date
    write(spec.parent, DRAINED, cluster="zulu")
    assert build_tree(spec, out)[0].proved == 1
    shutil.rmtree(out / "zone")
    assert build_tree(spec, out)[0].up_to_date


@pytest.mark.slow
def test_a_fabric_has_the_same_outline_in_every_process(tmp_path: Path) -> None:
    """Python orders a set of texts differently in each process, and a later build compares the outline."""
    moved = {"spine01a": "east", "spine02a": "west", "su002": "hall-b", "su003": "hall-c"}
    spec = write(tmp_path, DRAINED, moved=moved)
    program = (
        "import sys, pathlib; from fabricc import compile_spec; "
        "from fabricc.compiler.incremental.ledger import fabric_outline; "
        "print(fabric_outline(compile_spec(pathlib.Path(sys.argv[1])).fabric))"
    )
    reported = {
        subprocess.run(
            [sys.executable, "-c", program, spec], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(reported) == 1


def test_without_the_proof_too(tmp_path: Path, out: Path) -> None:
    spec = write(tmp_path, {})
    build_tree(spec, out, check=False)
    write(tmp_path, DRAINED)
    result, _ = build_tree(spec, out, check=False)
    assert result.proved == 1
    assert bytes_of(out / "zone") == bytes_of(build_whole(tmp_path, spec, check=False)[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda tree: (tree / "hosts/su002-host01/README").write_text("mine\n"), "FAB7007"),
        (lambda tree: (tree / "jobs/hostfile").write_text("edited\n"), "FAB7006"),
        (lambda tree: (tree / "plan/qos.csv").unlink(), None),
        (lambda tree: (read_state(tree) / "zone.ledger").write_bytes(b"damaged"), None),
    ],
    ids=["foreign file", "edited", "removed", "ledger"],
)  # fmt: skip
def test_changed_tree_is_built_completely(
    spec: Path, out: Path, tmp_path: Path, spoil: Callable[[Path], object], code: str | None
) -> None:
    spoil(out / "zone")
    write(spec.parent, DRAINED)
    result, _ = build_tree(spec, out)
    assert result.proved is None
    assert not code or code in {d.code for d in result.diagnostics}
    found = bytes_of(out / "zone")
    found.pop("hosts/su002-host01/README", None)
    assert found == bytes_of(build_whole(tmp_path, spec)[1])


def test_a_tree_that_another_build_has_changed_meanwhile_is_not_patched(spec: Path, out: Path) -> None:
    last = record.last_build(out, spec, record.build_options(check=True))
    assert last is not None
    write(spec.parent, DRAINED)
    build_tree(spec, out)
    write(spec.parent, {"su002-tor1a": {"drain": True}})
    before = bytes_of(out / "zone")
    look = LastCheck(last, lambda: True, lambda: True)
    assert partial.patch_tree(look, lambda: compile_spec(spec), 1, True, None) == (None, None)
    assert bytes_of(out / "zone") == before


@given(
    st.lists(st.tuples(st.text("ab", max_size=4), st.booleans()), max_size=6),
    st.integers(1, 9),
    st.booleans(),
)
def test_a_manifest_is_restated_in_parts_of_any_size(
    lines: list[tuple[str, bool]], size: int, missing: bool
) -> None:
    """A word that ends at the end of a part is found, and a missing one is reported."""
    text = b"".join(f"{at}{name}: 12;".encode() for at, (name, _) in enumerate(lines))
    stated = [(f"{at}{name}: ".encode(), b"%02d" % at) for at, (name, other) in enumerate(lines) if other]
    wanted = text
    for words, value in stated:
        wanted = wanted.replace(words + b"12", words + value)
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    if missing:
        with pytest.raises(partial._WholeBuildError):
            list(partial._replace_entries(chunks, [*stated, (b"another", b"")]))
    else:
        assert b"".join(partial._replace_entries(chunks, stated)) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [{}, DRAINED])
def test_records_of_another_version_are_ignored(
    spec: Path, out: Path, overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(spec.parent, overrides)
    monkeypatch.setattr(record, "tool_stamp", lambda: "another")
    monkeypatch.delattr(ledgers, "load_ledgers")
    result, _ = build_tree(spec, out)
    assert (result.up_to_date, result.proved) == (False, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{"mtu": {"host": 4200}}, {"priorities": {"rdma": {"dscp": 24, "lossless": True}, "default": {}}}]
)
def test_change_of_every_device_is_built_completely(
    spec: Path, out: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    write(spec.parent, {}, **more)
    result, _ = build_tree(spec, out)
    assert result.proved is None
    assert bytes_of(out / "zone") == bytes_of(build_whole(tmp_path, spec)[1])


def test_failed_partial_build_leaves_the_tree_unchanged(spec: Path, out: Path) -> None:
    before = bytes_of(out / "zone")
    write(spec.parent, {"su001-tor9a": {"drain": True}})
    result, _ = build_tree(spec, out)
    assert {d.code for d in result.diagnostics if d.severity is Severity.ERROR} == {"FAB3022"}
    assert bytes_of(out / "zone") == before
    assert not patch.folder_of(out / "zone").exists()


@pytest.mark.slow
@pytest.mark.parametrize("renames", range(4))
def test_a_kill_among_the_renames_leaves_the_old_tree_or_is_completed(
    spec: Path, out: Path, tmp_path: Path, renames: int
) -> None:
    tree = out / "zone"
    before = bytes_of(tree)
    write(spec.parent, DRAINED)
    child = os.fork()
    if child == 0:
        left = [renames]
        real, replace = os.rename, os.replace

        def counted(move: Callable[..., None], *names: object, **where: object) -> None:
            if where or ".patch" in str(names[-1]):
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1
            move(*names, **where)

        os.rename = functools.partial(counted, real)  # type: ignore[assignment]
        os.replace = functools.partial(counted, replace)  # type: ignore[assignment]
        build_tree(spec, out)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) == (renames < 3), "a record and two files are renamed"
    half = bytes_of(tree)
    codes = {d.code for d in check_tree(tree, spec)[0].diagnostics if d.severity is Severity.ERROR}
    assert (codes == {"FAB6020"}) == (renames in (1, 2))
    assert bytes_of(tree) == half, "who reads completes nothing"
    assert (half == before) == (renames < 2)
    build_tree(spec, out)
    assert bytes_of(tree) == bytes_of(build_whole(tmp_path, spec)[1])
    assert not patch.folder_of(tree).exists()


def test_a_ledger_runs_nothing(out: Path, spec: Path) -> None:
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.system, ("false",)

    content = pickle.dumps(Evil())
    (read_state(out / "zone") / "zone.ledger").write_bytes(content)
    with pytest.raises(pickle.UnpicklingError, match="no place in a ledger"):
        ledgers.load_ledgers(out, "zone", hashlib.sha256(content).hexdigest())


def test_a_record_with_a_path_outside_the_tree_moves_nothing(out: Path, spec: Path) -> None:
    tree, digest = out / "zone", hashlib.sha256(b"x").hexdigest()
    made = patch.Patch.open(tree)
    (made.folder / hashlib.sha256(b"../escaped").hexdigest()).write_bytes(b"x")
    made.record_digests({"../escaped": digest})
    with pytest.raises(EmitError, match="is not a file name"):
        patch.complete_patch(tree)
    assert not (out / "escaped").exists()


TENANTS: dict[str, Any] = {
    "spines": {"model": "7060dx5-64s", "nos": "eos"},
    "tors": {"model": "7060dx5-64s", "nos": "eos"},
    "accept": [{"code": "FAB3319", "reason": "one ToR was tested with the release"}],
}


def write_tenants(folder: Path, **hosts: list[str]) -> Path:
    return write(folder, {}, **TENANTS, tenants={name: {"hosts": own} for name, own in hosts.items()})


@pytest.mark.slow
def test_a_host_that_moves_to_another_tenant_changes_its_tors_and_job_files(
    tmp_path: Path, out: Path
) -> None:
    spec = write_tenants(tmp_path, acme=["su001-host01..08", "su002-host01..08"], globex=["su003-host01..08"])
    result, _ = build_tree(spec, out)
    assert result.exit_status == 0, result.diagnostics
    write_tenants(tmp_path, acme=["su001-host01..08", "su002-host02..08"],
        globex=["su003-host01..08", "su002-host01"])  # fmt: skip
    result, _ = build_tree(spec, out)
    assert (result.proved, result.exit_status) == (9, 0)  # a host with eight rails, and the ToR of each
    expected, tree = build_whole(tmp_path, spec)
    assert bytes_of(out / "zone") == bytes_of(tree)
    assert (list_findings(result), result.counts, result.files) == (
        list_findings(expected),
        expected.counts,
        expected.files,
    )


def test_tors_of_tenants_have_route_distinguishers_of_their_own(tmp_path: Path, out: Path) -> None:
    spec = write_tenants(tmp_path, acme=["su001-host01..08"], globex=["su002-host01"])
    result, _ = build_tree(spec, out)
    assert not {each.code for each in result.diagnostics} & {"FAB9691", "FAB9692", "FAB9693"}


@pytest.mark.slow
def test_a_tenant_that_leaves_takes_its_job_files_with_it(tmp_path: Path, out: Path) -> None:
    spec = write_tenants(tmp_path, acme=["su001-host01..08", "su002-host01..08"], globex=["su003-host01"])
    build_tree(spec, out)
    write_tenants(tmp_path, acme=["su001-host01..08", "su002-host01..08"])
    gone, _ = build_tree(spec, out)
    assert gone.proved is None
    _, tree = build_whole(tmp_path, spec)
    assert bytes_of(out / "zone") == bytes_of(tree)
