"""Look up secrets by reference: an environment variable, a private file or the keyring, never a value in the tree."""

from __future__ import annotations

import os
import re
from pathlib import Path

from fabricc.base.foreign.files import Folder
from fabricc.base.foreign.shell import shell_path
from fabricc.base.values import dataclass
from fabricc.fabric.model import SECRET_PREFIX
from fabricc.operate.devices import DeviceError

KINDS = ("env", "file", "keyring")
REFERENCE = re.compile(re.escape(SECRET_PREFIX) + r"([a-z][a-z0-9-]{0,14}[a-z0-9])")
"""Where a configuration names a secret; the spec's schema has the form of the names."""
_LONGEST = 4096
_HELD = re.compile(r"[!-~]+")
_UNHELD = frozenset("\"'`\\;{}#<>&?")


class Secret:
    """A secret that does not appear when it is printed."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the secret itself, for the one call that logs in."""
        return self._value

    def __repr__(self) -> str:
        """Return no part of it."""
        return "Secret(…)"


@dataclass(frozen=True, slots=True)
class Reference:
    """The place of a secret.

    Attributes:
        kind: `env`, `file` or `keyring`.
        place: name of the variable, path of the file, or service in the keyring.
        root: the folder out of which no link on the way to a file may lead.
    """

    kind: str
    place: str
    root: str = "/"

    def resolve(self, account: str) -> Secret:
        """Return the secret for this account.

        Raises:
            DeviceError: FAB9102, it is not there, or a file is readable by others.
        """
        if self.kind == "env":
            value = os.environ.get(self.place)
            if not value:
                raise _missing_secret(f"the environment variable {self.place} is not set")
            return Secret(value)
        if self.kind == "file":
            return Secret(_from_file(Path(self.place), Path(self.root)))
        return Secret(_from_keyring(self.place, account))


def secret_names_in(text: str) -> frozenset[str]:
    """Return the names of the secrets that a configuration refers to."""
    return frozenset(REFERENCE.findall(text))


def is_safe_value(value: str) -> bool:
    """Return whether every configuration can contain a value: printable ASCII without blanks, quotes or brackets."""
    return _HELD.fullmatch(value) is not None and not _UNHELD & set(value)


def _from_file(path: Path, root: Path) -> str:
    """Return the first line of a file that only its owner may read (mode 0600 or less)."""
    try:
        with Folder(path.parent, root=root) as folder, folder.open(path.name) as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                message = f"{path} holds a secret and others may read it"
                raise DeviceError("FAB9102", message, f"Run `chmod 600 {shell_path(path)}`.")
            value = file.read(_LONGEST).decode().partition("\n")[0].rstrip("\r")
    except OSError as error:
        raise _missing_secret(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _missing_secret(f"{path} is not UTF-8 text") from None
    if not value:
        raise _missing_secret(f"{path} is empty")
    return value


def _from_keyring(service: str, account: str) -> str:
    try:
        import keyring.errors  # an extra that need not be installed
    except ImportError:
        message = "the secret is in the keyring, but the library `keyring` is missing"
        raise DeviceError("FAB9102", message, "Install it: `pip install 'fabricc[keyring]'`.") from None
    try:
        value = keyring.get_password(service, account)
    except keyring.errors.KeyringError:
        raise _missing_secret("the keyring does not answer; it may be locked") from None
    if not value:
        raise _missing_secret(f"the keyring has no entry for {account} under {service}")
    return value


def _missing_secret(what: str) -> DeviceError:
    remedy = "See `fabricc docs push` for the possible sources of a secret."
    return DeviceError("FAB9102", f"a secret cannot be read: {what}", remedy)
