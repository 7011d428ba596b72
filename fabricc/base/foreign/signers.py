"""The one door to `ssh-keygen` and `minisign`: signatures made and proved by the programs that people trust for it.

A signature holds for one purpose alone: that is its namespace where SSH signs, the first word of its trusted comment
where minisign does. What is judged lies in a folder made for one question, so no program reads a file that changes.
"""

from __future__ import annotations

import os
import subprocess
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.base.foreign import shell

if TYPE_CHECKING:
    from collections.abc import Sequence

_MINISIGN = b"untrusted comment:"
_OTHER_KEY = b"the key id in the public key"
"""The message of minisign about a signature by another key."""
_SECONDS = 60.0
"""Limits in seconds: for a verification; none for a person who must enter a passphrase or touch a key."""


class Kind(StrEnum):
    """Signing program; suffix of its signature file."""

    SSH = "sig"
    MINISIGN = "minisig"

    @property
    def program(self) -> str:
        """Return what signs and proves."""
        return "ssh-keygen" if self is Kind.SSH else "minisign"


class Fault(StrEnum):
    """Why there is no signature, or none that holds."""

    PROGRAM = "there is no program for it"
    KEY = "the key does not sign"
    SIGNER = "no allowed signer made it"
    CONTENT = "it is of something else, or for another purpose"


class SignatureError(Exception):
    """A signature is not made, or does not hold; the text is the program's own reason, "" where it gave none."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault


def kind_of(content: bytes) -> Kind:
    """Return whose a key, a signature or a list of keys is, by its first line."""
    return Kind.MINISIGN if content.lstrip().startswith(_MINISIGN) else Kind.SSH


def sign_content(kind: Kind, key: Path, content: bytes, purpose: str, note: str) -> bytes:
    """Return a signature, detached; the program may require a passphrase or a touch at the terminal.

    `key` is the file of the private key, or for SSH of a public one whose private one an agent has; `note` is added to
    the purpose if the kind has a place for it.

    Raises:
        SignatureError: PROGRAM or KEY.
    """
    with TemporaryDirectory(prefix="fabricc-sign-") as folder:
        Path(folder, "content").write_bytes(content)
        path = str(key.absolute())
        words = {
            Kind.SSH: ["-q", "-Y", "sign", "-f", path, "-n", purpose, "content"],
            Kind.MINISIGN: ["-S", "-s", path, "-m", "content", "-x", f"content.{kind}", "-t", f"{purpose} {note}"],
        }  # fmt: skip
        # The program keeps the terminal for its prompts; its output goes to the message stream.
        done = subprocess.run(
            [_signing_program(kind), *words[kind]], cwd=folder, stdout=2, env=_environment(), check=False,
            preexec_fn=shell.end_with_parent(),
        )  # fmt: skip
        if done.returncode:
            raise _signing_error(Fault.KEY, b"")
        return Path(folder, f"content.{kind}").read_bytes()


def find_signer(kind: Kind, content: bytes, signature: bytes, allowed: bytes, purpose: str) -> str:
    """Return the signer among the allowed ones: a principal of `allowed_signers`, or a public key of minisign.

    Raises:
        SignatureError: PROGRAM, SIGNER or CONTENT.
    """
    with TemporaryDirectory(prefix="fabricc-proof-") as folder:
        for name, text in {"content": content, "signature": signature, "allowed": allowed}.items():
            Path(folder, name).write_bytes(text)
        if kind is Kind.SSH:
            return _by_ssh(folder, content, purpose)
        lines = allowed.decode("utf-8", "replace").splitlines()
        keys = [line.strip() for line in lines if line.strip() and not line.startswith(_MINISIGN.decode())]
        return _by_minisign(folder, keys, purpose)


def _by_ssh(folder: str, content: bytes, purpose: str) -> str:
    """First that the signature holds, whoever made it, then who did."""

    def run_action(act: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        return _run_in_folder(Kind.SSH, folder, "-Y", act, "-s", "signature", *words, content=content)

    held = run_action("check-novalidate", "-n", purpose)
    if held.returncode:
        raise _signing_error(Fault.CONTENT, held.stderr)
    proof = run_action("find-principals", "-f", "allowed")
    for principal in _parse_principals(proof.stdout.decode("utf-8", "replace")):
        proof = run_action("verify", "-f", "allowed", "-n", purpose, "-I", principal)
        if proof.returncode == 0:
            return principal
    raise _signing_error(Fault.SIGNER, proof.stderr)


def _parse_principals(listed: str) -> list[str]:
    """Return the names of those who may have signed, of the patterns that `find-principals` prints.

    The signers of `!one@example.org,*` are not known: next to a negated name only names without wildcards count.
    """
    names = listed.replace(",", "\n").splitlines()
    negated = any(name.startswith("!") for name in names)
    return [name for name in names if name[:1] != "!" and not (negated and ("*" in name or "?" in name))]


def _by_minisign(folder: str, keys: Sequence[str], purpose: str) -> str:
    faults = [_signing_error(Fault.SIGNER, b"the file of allowed keys has none")]
    for key in keys:
        proof = _run_in_folder(
            Kind.MINISIGN, folder, "-V", "-Q", "-P", key, "-m", "content", "-x", "signature"
        )
        if proof.returncode == 0:
            if proof.stdout.decode("utf-8", "replace").split()[:1] == [purpose]:
                return key
            faults.append(_signing_error(Fault.CONTENT, b"it was made for something else"))
        elif _OTHER_KEY in proof.stderr:
            faults.append(_signing_error(Fault.SIGNER, b"it is by another key"))
        else:
            faults.append(_signing_error(Fault.CONTENT, proof.stderr))
    raise next((one for one in faults if one.fault is Fault.CONTENT), faults[-1])


def _run_in_folder(
    kind: Kind, folder: str, *words: str, content: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [_signing_program(kind), *words], cwd=folder, input=content, capture_output=True, env=_environment(),
            timeout=_SECONDS, check=False, preexec_fn=shell.end_with_parent(),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        late = f"{kind.program} did not answer within {_SECONDS:.0f} seconds"
        raise _signing_error(Fault.PROGRAM, late.encode()) from None


def _signing_program(kind: Kind) -> str:
    if path := shell.find_program(kind.program):
        return path
    raise _signing_error(Fault.PROGRAM, f"there is no `{kind.program}`".encode())


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C"}


def _signing_error(fault: Fault, output: bytes) -> SignatureError:
    """Return the error with the last line of a program's output."""
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return SignatureError(fault, lines[-1] if lines else "")
