"""Sign trees and verify signatures. A signature covers the manifest, which has the SHA-256 of every other file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import FindingsError, Severity
from fabricc.base.foreign import files, signers
from fabricc.base.foreign.signers import Fault, Kind, SignatureError
from fabricc.proof.tree import TreeError, open_tree, read_consistently, verify_manifest

if TYPE_CHECKING:
    from fabricc.tree.manifest import Manifest

PURPOSE = "fabricc-tree"
"""The namespace of a signature by SSH, and the first word of the trusted comment of one by minisign."""
_LARGEST = 1 << 20
"""Bytes of a key, a signature or a list of keys."""
_FAULTS = {
    Fault.CONTENT: (
        "FAB0051",
        "the signature {signature} does not hold for {tree}",
        "Find the change with `fabricc check` and `fabricc diff`, review it, and sign again.",
    ),
    Fault.SIGNER: (
        "FAB0052",
        "no key of {allowed} signed {tree} with {signature}",
        "Have it signed with a key of that file, or add the key there if its owner may release trees.",
    ),
    Fault.PROGRAM: (
        "FAB0055",
        "the signature {signature} cannot be proved",
        "Install OpenSSH 8.2 or later, or minisign.",
    ),
}


class SignedError(FindingsError):
    """A tree has no acceptable signature, or cannot be signed."""

    @property
    def status(self) -> int | None:
        """3 where the machine lacks a program."""
        return 3 if self.code == "FAB0055" else None


def signature_path(tree: Path, kind: Kind) -> Path:
    """Return the default place of the signature of a tree: `build/zone-a.sig`."""
    named = tree if tree.name not in ("", "..") else tree.resolve()
    return named.parent / f"{named.name}.{kind}"


def sign_tree(tree: Path, key: Path) -> tuple[Kind, bytes]:
    """Sign a tree that is unchanged since its build.

    Raises:
        TreeError: as `open_tree`; FAB6010 and FAB6011, files differ from the manifest.
        SignedError: FAB0054, the key does not sign; FAB0055, there is no program for it.
    """
    kind = signers.kind_of(_read_file(key, "FAB0054", "key", Path("/")))
    stated, manifest = _verified_manifest(tree)
    try:
        return kind, signers.sign_content(kind, key, stated, PURPOSE, manifest.cluster)
    except SignatureError as error:
        if error.fault is Fault.PROGRAM:
            remedy = _FAULTS[Fault.PROGRAM][2]
            raise SignedError("FAB0055", f"{tree} cannot be signed{_error_reason(error)}", remedy) from None
        message = f"{kind.program} does not sign with {key}{_error_reason(error)}"
        remedy = (
            "Name the file of a private key; for SSH also of a public one whose private one an agent has."
        )
        raise SignedError("FAB0054", message, remedy) from None


def verify_signer(tree: Path, allowed: Path, signature: Path | None = None) -> str:
    """Return the signer of a complete tree.

    Raises:
        TreeError: as `sign`.
        SignedError: as `signer_of`.
    """
    stated, _ = _verified_manifest(tree)
    return _verify_manifest_signer(tree, stated, allowed, signature)


def signer_of(tree: Path, digest: str, allowed: Path, signature: Path | None = None) -> str:
    """Return the signer of a manifest whose files have been compared already.

    Args:
        tree: the folder.
        digest: SHA-256 (hex) of the manifest that was read.
        allowed: an `allowed_signers` file of ssh-keygen(1), or public keys of minisign.
        signature: path of the signature; None for the default place.

    Raises:
        TreeError: as `open_tree`.
        SignedError: FAB0050, there is no signature; FAB0051, it does not hold; FAB0052, no allowed signer made it;
            FAB0053, the file of keys cannot be used; FAB0055, there is no program to prove it with.
    """
    folder, stated, _ = open_tree(tree)
    folder.close()
    if hashlib.sha256(stated).hexdigest() != digest:
        raise SignedError(
            "FAB0051", f"{tree} changed while it was read", "Let its build end, and begin again."
        )
    return _verify_manifest_signer(tree, stated, allowed, signature)


def _verify_manifest_signer(tree: Path, stated: bytes, allowed: Path, signature: Path | None) -> str:
    keys = _read_file(allowed, "FAB0053", "file of allowed keys", Path("/"))
    kind = signers.kind_of(keys)
    place = signature or signature_path(tree, kind)
    if not place.exists():
        remedy = "Sign the reviewed tree with `fabricc sign TREE --key FILE`, or name the signature with --signature."
        raise SignedError("FAB0050", f"{tree} is not signed: there is no {place}", remedy)
    try:
        made = _read_file(place, "FAB0050", "signature", Path("/") if signature else None)
        return signers.find_signer(kind, stated, made, keys, PURPOSE)
    except SignatureError as error:
        code, message, remedy = _FAULTS[error.fault]
        text = message.format(tree=tree, allowed=allowed, signature=place)
        raise SignedError(code, f"{text}{_error_reason(error)}", remedy) from None


def _verified_manifest(tree: Path) -> tuple[bytes, Manifest]:
    """Return the bytes and content of a manifest, if every file matches it."""
    return read_consistently([tree], lambda: _read_whole(tree), lambda _: False)


def _read_whole(tree: Path) -> tuple[bytes, Manifest]:
    folder, stated, manifest = open_tree(tree)
    folder.close()
    wrong = [one for one in verify_manifest(tree, manifest) if one.severity is Severity.ERROR]
    if wrong:
        raise TreeError.of(wrong)
    return stated, manifest


def _read_file(path: Path, code: str, what: str, root: Path | None) -> bytes:
    """Read a file: the user may name a link to anywhere; a link next to a tree must stay in its clone."""
    try:
        return files.read(path, root=root, limit=_LARGEST)
    except OSError as error:
        raise SignedError(
            code, f"cannot read the {what} {path}: {error.strerror}", "Check its name."
        ) from None


def _error_reason(error: SignatureError) -> str:
    return f": {error}" if str(error) else ""
