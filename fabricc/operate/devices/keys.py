"""Read the public key of a private key, to compare it with the keys that a configuration accepts."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

from fabricc.base.foreign import files

_LARGEST = 1 << 16
_OPENSSH = re.compile(
    rb"-----BEGIN OPENSSH PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]+?)-----END OPENSSH PRIVATE KEY-----"
)
_MAGIC = b"openssh-key-v1\0"
_BEFORE = 3
"""Strings before the number of keys: cipher, key derivation and its options (openssh PROTOCOL.key)."""


def public_key(private: Path) -> str:
    """Return `ssh-ed25519 AAAA…` for a private key, "" when neither the file nor the `.pub` file contains it.

    OpenSSH's own form holds the public key in the clear, whatever the passphrase.
    """
    try:
        found = _OPENSSH.search(files.read(private, root=Path("/"), limit=_LARGEST))
        if found and (key := _public_key_in(base64.b64decode(found[1]))):
            return key
        words = files.read(private.with_name(f"{private.name}.pub"), root=Path("/"), limit=_LARGEST).split()
        return b" ".join(words[:2]).decode()
    except (OSError, ValueError, binascii.Error):
        return ""


def _public_key_in(content: bytes) -> str:
    if not content.startswith(_MAGIC):
        return ""
    rest = content[len(_MAGIC) :]
    for _ in range(_BEFORE):
        _, rest = _read_string(rest)
    key, _ = _read_string(rest[4:])
    kind, _ = _read_string(key)
    return f"{kind.decode()} {base64.b64encode(key).decode()}" if key else ""


def _read_string(content: bytes) -> tuple[bytes, bytes]:
    """Return a string that follows its length, and the rest."""
    size = int.from_bytes(content[:4], "big")
    return content[4 : 4 + size], content[4 + size :]
