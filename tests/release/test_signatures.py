"""Signed trees, with the real ssh-keygen and minisign: what was signed passes, and nothing else does."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import FindingsError
from fabricc.base.foreign.signers import Kind
from fabricc.cli.entry import run
from fabricc.proof import signatures
from fabricc.tree.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = {
    "switches/tor1/frr.conf": b"router bgp 65001\n",
    "plan/fabric.json": b'{"tiers": {"tor": {"nos": "frr"}}}\n',
    "plan/cabling.csv": b"kind,a_device,a_port,b_device,b_port\npeer,tor1,swp1,tor1,swp2\n",
}


@dataclass(frozen=True)
class Signer:
    """Keys of one kind: of somebody who may release trees, and of somebody who may not."""

    kind: Kind
    key: Path
    other: Path
    allowed: Path
    name: str


def ssh_signer(folder: Path) -> Signer:
    for name in ("key", "other"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(command, check=True, timeout=60)
    allowed = folder / "allowed_signers"
    key = (folder / "key.pub").read_text()
    allowed.write_text(f'# who may release\nreview@example.org namespaces="fabricc-tree" {key}')
    return Signer(Kind.SSH, folder / "key", folder / "other", allowed, "review@example.org")


def minisign_signer(folder: Path) -> Signer:
    for name in ("key", "other"):
        command = ["minisign", "-G", "-W", "-p", str(folder / f"{name}.pub"), "-s", str(folder / name)]
        subprocess.run(command, check=True, timeout=60, capture_output=True)
    public = (folder / "key.pub").read_text()
    return Signer(
        Kind.MINISIGN, folder / "key", folder / "other", folder / "key.pub", public.splitlines()[-1]
    )


@pytest.fixture(params=[ssh_signer, minisign_signer], ids=["ssh", "minisign"])
def signer(request: pytest.FixtureRequest, tmp_path: Path) -> Signer:
    make: Callable[[Path], Signer] = request.param
    if shutil.which("minisign" if make is minisign_signer else "ssh-keygen") is None:
        pytest.skip("minisign or ssh-keygen is not installed")
    return make(tmp_path)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "build" / "zone"
    write(tree, FILES)
    return tree


def write(tree: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    manifest = Manifest("zone", "0.0.1", "cluster.yaml", {}, digests)
    (tree / "manifest.json").write_bytes(b"".join(manifest.parts()))


def sign(tree: Path, signer: Signer) -> Path:
    assert run(["sign", str(tree), "--key", str(signer.key)]) == 0
    return signatures.signature_path(tree, signer.kind)


def signing_error(tree: Path, signer: Signer) -> FindingsError:
    with pytest.raises(FindingsError) as caught:
        signatures.verify_signer(tree, signer.allowed)
    return caught.value


def test_signed_tree_passes_and_names_the_signer(
    tree: Path, signer: Signer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    place = sign(tree, signer)
    assert place == tree.parent / f"zone.{signer.kind}"
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before
    assert signatures.verify_signer(tree, signer.allowed) == signer.name
    assert run(["sign", str(tree), "--verify", str(signer.allowed)]) == 0
    assert f"{tree}: signed by {signer.name}" in capsys.readouterr().out


def test_it_is_the_signature_that_the_programs_themselves_prove(tree: Path, signer: Signer) -> None:
    place = sign(tree, signer)
    manifest = tree / "manifest.json"
    if signer.kind is Kind.SSH:
        words = ["-Y", "verify", "-f", signer.allowed, "-I", signer.name, "-n", "fabricc-tree", "-s", place]
        command = ["ssh-keygen", *map(str, words)]
    else:
        command = ["minisign", "-V", "-p", str(signer.allowed), "-m", str(manifest), "-x", str(place)]
    subprocess.run(command, input=manifest.read_bytes(), check=True, capture_output=True, timeout=60)


def test_a_changed_file_is_refused_though_the_signature_holds(tree: Path, signer: Signer) -> None:
    sign(tree, signer)
    (tree / "switches/tor1/frr.conf").write_bytes(b"router bgp 65002\n")
    assert signing_error(tree, signer).code == "FAB6010"
    (tree / "switches/tor1/frr.conf").unlink()
    assert signing_error(tree, signer).code == "FAB6011"


def test_a_changed_manifest_is_refused_though_every_file_fits_it(tree: Path, signer: Signer) -> None:
    sign(tree, signer)
    write(tree, {**FILES, "switches/tor1/frr.conf": b"router bgp 65002\n"})
    assert signing_error(tree, signer).code == "FAB0051"


def test_only_listed_signers_may_sign(tree: Path, signer: Signer) -> None:
    sign(tree, replace(signer, key=signer.other))
    error = signing_error(tree, signer)
    assert error.code == "FAB0052"
    assert str(signer.allowed) in str(error)


def test_a_signature_for_something_else_is_none_of_a_tree(tree: Path, signer: Signer) -> None:
    manifest = tree / "manifest.json"
    place = signatures.signature_path(tree, signer.kind)
    if signer.kind is Kind.SSH:
        command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(signer.key), "-n", "git"]
    else:
        words = ["-S", "-s", signer.key, "-m", manifest, "-x", place, "-t", "git fabricc-tree"]
        command = ["minisign", *map(str, words)]
    made = subprocess.run(command, input=manifest.read_bytes(), check=True, capture_output=True, timeout=60)
    if signer.kind is Kind.SSH:
        place.write_bytes(made.stdout)
    assert signing_error(tree, signer).code == "FAB0051"


def test_a_key_that_may_sign_commits_alone_signs_no_tree(tree: Path, tmp_path: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    signer = ssh_signer(tmp_path)
    sign(tree, signer)
    signer.allowed.write_text(signer.allowed.read_text().replace("fabricc-tree", "git"))
    assert signing_error(tree, signer).code == "FAB0052"
    signer.allowed.write_text(
        signer.allowed.read_text().replace('namespaces="git"', 'valid-before="20200101"')
    )
    assert signing_error(tree, signer).code == "FAB0052"


def test_no_signature_and_no_keys_are_refused_with_what_to_do(
    tree: Path, signer: Signer, tmp_path: Path
) -> None:
    error = signing_error(tree, signer)
    assert (error.code, "fabricc sign" in error.diagnostic.help) == ("FAB0050", True)
    place = sign(tree, signer)
    for content in (b"", b"-----BEGIN SSH SIGNATURE-----\n", b"untrusted comment: x\n", os.urandom(200)):
        place.write_bytes(content)
        assert signing_error(tree, signer).code in ("FAB0051", "FAB0052")
    place.unlink()
    place.mkdir()
    assert signing_error(tree, signer).code == "FAB0050"
    assert signing_error(tree, replace(signer, allowed=tmp_path / "none")).code == "FAB0053"


def test_a_link_in_a_clone_leads_to_no_file_outside_it(tree: Path, signer: Signer, tmp_path: Path) -> None:
    (tree.parents[1] / "build/.git").mkdir()
    place = sign(tree, signer)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    assert signing_error(tree, signer).code == "FAB0050"
    assert signatures.verify_signer(tree, signer.allowed, tmp_path / "elsewhere") == signer.name


def test_empty_key_file_allows_no_signer(tree: Path, signer: Signer) -> None:
    sign(tree, signer)
    signer.allowed.write_text("untrusted comment: nobody\n" if signer.kind is Kind.MINISIGN else "# nobody\n")
    assert signing_error(tree, signer).code == "FAB0052"


def test_several_may_sign(tree: Path, signer: Signer) -> None:
    sign(tree, signer)
    keys = signer.allowed.read_text()
    other = signer.other.with_suffix(".pub").read_text()
    signer.allowed.write_text((f"x@example.org {other}" if signer.kind is Kind.SSH else other) + keys)
    assert signatures.verify_signer(tree, signer.allowed) == signer.name


def test_only_what_a_build_left_is_signed(
    tree: Path, signer: Signer, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "plan/fabric.json").write_bytes(b"[]\n")
    assert run(["sign", str(tree), "--key", str(signer.key)]) == 1
    assert "FAB6010" in capsys.readouterr().err
    assert not signatures.signature_path(tree, signer.kind).exists()


def test_invalid_key_signs_nothing(
    tree: Path, signer: Signer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "nothing"
    key.write_text("untrusted comment: no key\n" if signer.kind is Kind.MINISIGN else "no key\n")
    for path in (key, tmp_path / "none"):
        assert run(["sign", str(tree), "--key", str(path)]) == 1
        assert f"sign with {path}" in (output := capsys.readouterr().err) or f"read the key {path}" in output
        assert "FAB0054" in output
    assert not signatures.signature_path(tree, signer.kind).exists()


def test_a_machine_without_the_program_is_reported(
    tree: Path, signer: Signer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sign(tree, signer)
    monkeypatch.setenv("PATH", "relative/folder:")
    for words in (["--verify", str(signer.allowed)], ["--key", str(signer.key)]):
        assert run(["sign", str(tree), *words]) == 3
        assert "FAB0055" in capsys.readouterr().err


def test_a_program_of_the_folder_is_not_run(
    tree: Path, signer: Signer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ssh-keygen", "minisign"):
        (tmp_path / name).write_text("#!/bin/sh\necho pwned\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    sign(tree, replace(signer, key=signer.other))
    assert signing_error(tree, signer).code == "FAB0052"


def test_the_words_of_the_command_fit_together(tree: Path, signer: Signer) -> None:
    for words in (
        [],
        ["--key", "k", "--verify", "a"],
        ["--verify", "a", "--out", "o"],
        ["--key", "k", "--signature", "s"],
    ):
        assert run(["sign", str(tree), *words]) == 2


@pytest.mark.parametrize("listed", ["!review@example.org,*", "!review@example.org,*@example.org"])
def test_negated_signer_name_is_rejected(tree: Path, signer: Signer, listed: str) -> None:
    if signer.kind is not Kind.SSH:
        pytest.skip("minisign has no names")
    assert run(["sign", str(tree), "--key", str(signer.key)]) == 0
    signer.allowed.write_text(signer.allowed.read_text().replace("review@example.org ", f"{listed} "))
    with pytest.raises(FindingsError):
        signatures.verify_signer(tree, signer.allowed)
    signer.allowed.write_text(
        signer.allowed.read_text().replace(listed, "!other@example.org,review@example.org")
    )
    assert signatures.verify_signer(tree, signer.allowed) == "review@example.org"
