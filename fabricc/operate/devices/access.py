"""How to log in to the switches: an access file beside the spec, which names secrets and holds none."""

from __future__ import annotations

import os
from dataclasses import field
from functools import partial
from pathlib import Path
from stat import S_ISLNK
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.reader import STRICT, parsed
from fabricc.base.documents.scalars import resolve_1_1
from fabricc.base.foreign import files, git
from fabricc.base.values import dataclass, replace
from fabricc.fabric.model import SECRET_PREFIX
from fabricc.operate.devices.failure import DeviceError
from fabricc.operate.devices.secrets import KINDS, REFERENCE, Reference, Secret, fits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.operate.devices.device import Device

NAME = "fabricc-access.yaml"
_LARGEST = 4 << 20  # bytes
_KEYS = {"username", "password", "ssh_key", "known_hosts", "ca_file", "verify", "timeout_s", "port", "driver",
         "options"}  # fmt: skip
_PATHS = ("ssh_key", "known_hosts", "ca_file")


@dataclass(frozen=True, slots=True)
class Login:
    """What one device is logged in to with.

    Attributes:
        password: None for an SSH key alone.
        verify: whether SSH host keys and TLS certificates are verified.
        port: None for the driver's own.
        address: where to connect; "" for the management address of the plan.
        driver: name for `napalm.get_network_driver`, "" for the driver of the NOS.
        options: further `optional_args` of the driver.
    """

    username: str = "admin"
    password: Reference | None = None
    ssh_key: str = ""
    known_hosts: str = ""
    ca_file: str = ""
    verify: bool = True
    timeout_s: int = 60
    port: int | None = None
    address: str = ""
    driver: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """NAPALM's `optional_args`, named as netmiko and the NX-OS driver name them; without any secret."""
        found: dict[str, Any] = {"ssh_strict": self.verify, "ssl_verify": self.verify}
        if self.port is not None:
            found["port"] = self.port
        if self.ssh_key:
            found["key_file"] = self.ssh_key
        if self.known_hosts and self.verify:
            # Drivers on netmiko add an unknown key to the file when they are not to verify it.
            found["alt_key_file"] = self.known_hosts
        if self.ca_file and self.verify:
            found["ssl_verify"] = self.ca_file
        return {**found, **self.options}


class Access:
    """The access file: a default login, exceptions by NOS and by device. Each secret is looked up once.

    Attributes:
        default: the login of devices without exceptions.
        allowed: file of the keys of those who have to have signed what is pushed; None where nobody has to.
    """

    def __init__(
        self,
        default: Login,
        by_nos: Mapping[str, Mapping[str, Any]] | None = None,
        by_device: Mapping[str, Mapping[str, Any]] | None = None,
        secrets: Mapping[str, Reference] | None = None,
        allowed: Path | None = None,
    ) -> None:
        self.default, self.allowed = default, allowed
        self._by_nos, self._by_device = by_nos or {}, by_device or {}
        self._places = secrets or {}
        self._named: dict[str, Secret] = {}
        self._known: dict[tuple[Reference, str], Secret] = {}

    def login(self, device: Device) -> Login:
        """The login of a device: its own exceptions, also under its former name, before those of its NOS."""
        own = self._by_device.get(device.name) or self._by_device.get(device.former, {})
        return replace(self.default, **{**self._by_nos.get(device.nos, {}), **own})

    def own(self, device: Device) -> bool:
        """Whether a device has exceptions of its own."""
        return not self._by_device.keys().isdisjoint((device.name, device.former))

    def password(self, login: Login) -> Secret:
        """The password; an empty one where a key alone logs in.

        Raises:
            DeviceError: FAB9102.
        """
        if login.password is None:
            return Secret("")
        key = (login.password, login.username)
        if key not in self._known:
            self._known[key] = login.password.resolve(login.username)
        return self._known[key]

    def secret(self, name: str) -> Secret:
        """A secret that configurations refer to.

        Raises:
            DeviceError: FAB9131, the access file does not say where it is, it is not there, or no configuration can
                hold it as it is.
        """
        if name not in self._named:
            if (place := self._places.get(name)) is None:
                message = (
                    f"configurations need the secret {name!r}, and the access file does not say where it is"
                )
                remedy = (
                    f"Add `secrets: {{{name}: {{env: NAME}}}}`, or {{file: PATH}}, or {{keyring: SERVICE}}."
                )
                raise DeviceError("FAB9131", message, remedy)
            try:
                found = place.resolve(name)
            except DeviceError as error:
                raise DeviceError("FAB9131", f"the secret {name!r}: {error}", error.diagnostic.help) from None
            if not fits(found.reveal()):
                message = f"the secret {name!r} has a character that some configuration cannot hold"
                remedy = "Take printable ASCII without blanks, quotes, brackets, and \\ ; # & ?."
                raise DeviceError("FAB9131", message, remedy)
            self._named[name] = found
        return self._named[name]

    def filled(self, text: str) -> str:
        """A configuration with the values of its secrets, for the one call that loads it.

        Raises:
            DeviceError: FAB9131.
        """
        return REFERENCE.sub(lambda match: self.secret(match[1]).reveal(), text)

    def hidden(self, text: str) -> str:
        """A text of a device with references in place of the values looked up so far."""
        for name, secret in sorted(self._named.items(), key=lambda item: -len(item[1].reveal())):
            text = text.replace(secret.reveal(), f"{SECRET_PREFIX}{name}")
        return text

    def known(self) -> tuple[str, ...]:
        """Every secret looked up so far, to keep them out of messages."""
        return tuple(secret.reveal() for secret in (*self._known.values(), *self._named.values()))

    @property
    def unverified(self) -> bool:
        """Whether any login opts out of verification."""
        tables = [*self._by_nos.values(), *self._by_device.values()]
        return not self.default.verify or any(not table.get("verify", True) for table in tables)


def read_access(path: Path) -> Access:
    """The access file.

    Raises:
        DeviceError: FAB9101, it cannot be read or says something that it may not; FAB9102 for a literal secret.
    """
    rules = replace(
        STRICT,
        words={what: ("FAB9101", *texts[1:]) for what, texts in STRICT.words.items() if what != "empty"},
        plain=partial(resolve_1_1, code="FAB9101"),
        syntax=_not_yaml,
    )
    try:
        document = parsed(files.read(path, limit=_LARGEST).decode(), str(path), rules)
    except OSError as error:
        raise DeviceError("FAB9101", f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DeviceError("FAB9101", f"{path} is not YAML") from None
    for found in document.diagnostics:
        line = found.position.line if found.position else 1
        raise DeviceError("FAB9101", f"{path}:{line}: {found.message}", found.help)
    stated = document.value or {}
    if not isinstance(stated, dict):
        raise DeviceError("FAB9101", f"{path} is no mapping")
    secrets = {
        name: _reference(path, value, f"secrets.{name}")
        for name, value in _table(path, stated.pop("secrets", None) or {}, "secrets").items()
    }
    nested = {name: _table(path, stated.pop(name, None) or {}, name) for name in ("nos", "devices")}
    by_nos = {name: _login(path, table, f"nos.{name}", set()) for name, table in nested["nos"].items()}
    by_device = {
        name: _login(path, table, f"devices.{name}", {"address"}) for name, table in nested["devices"].items()
    }
    allowed = stated.pop("require_signature", None)
    if allowed is not None:
        allowed = path.parent / Path(str(_typed(path, "the file", "require_signature", allowed))).expanduser()
    return Access(Login(**_login(path, stated, "the file", set())), by_nos, by_device, secrets, allowed)


def access_of(spec: Path, stated: Path | None) -> Access:
    """The access file that was named, or the user's own beside the spec.

    Raises:
        DeviceError: FAB9101, there is none; FAB9163, the one beside the spec may be somebody else's; FAB9101 or
            FAB9102, it cannot be used.
    """
    path = stated or spec.parent / NAME
    if stated is None and not path.exists():
        help_ = "See `fabricc docs push`, or use --access."
        raise DeviceError("FAB9101", f"there is no {path}, which says how to log in", help_)
    if stated is None and (reason := not_own(path)):
        help_ = "See what it says of secrets and addresses, and name it with --access."
        raise DeviceError("FAB9163", f"{path} is not taken by itself: it {reason}", help_)
    return read_access(path)


def _not_yaml(error: Exception, _: str, file: str) -> Diagnostic:
    """A fault in the syntax by its line alone: no text of the file is shown."""
    mark = getattr(error, "problem_mark", None)
    place = Position(file, mark.line + 1 if mark else 1)
    return Diagnostic("FAB9101", Severity.ERROR, "this is not YAML", place)


def not_own(path: Path) -> str:
    """Why an access file that nobody named is not taken, a clause; "" for the user's own.

    It says where secrets are and where they are sent, so one that came with a clone could send any of them anywhere.
    """
    entry = Path(os.path.realpath(path.parent)) / path.name
    for place in dict.fromkeys((entry, Path(os.path.realpath(path)))):
        try:
            found = place.lstat()
            if found.st_uid != os.geteuid():
                return "belongs to another account"
            if not S_ISLNK(found.st_mode) and found.st_mode & 0o022:
                return "is one that others may write"
            if files.clone_of(place) and git.Repository.of(place.parent).tracks(place.name):
                return "is tracked by the Git repository that it is in"
        except OSError as error:
            return f"cannot be looked at: {error.strerror}"
        except git.GitError as error:
            return f"is in a clone of which Git does not tell whether it tracks it: {error}"
    return ""


def _table(path: Path, value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise DeviceError("FAB9101", f"{path}: {where} is no mapping")
    return value


def _login(path: Path, value: object, where: str, more: set[str]) -> dict[str, Any]:
    table = _table(path, value, where)
    if unknown := sorted(table.keys() - _KEYS - more):
        known = ", ".join(sorted(_KEYS | more))
        raise DeviceError("FAB9101", f"{path}: {where} has {unknown[0]!r}", f"It may have {known}.")
    found = {name: _typed(path, where, name, entry) for name, entry in table.items()}
    for name in _PATHS:
        if name in found:
            found[name] = str(path.parent / Path(str(found[name])).expanduser())
    return found


_TYPES: Mapping[str, type] = {"verify": bool, "timeout_s": int, "port": int, "options": dict}


def _typed(path: Path, where: str, name: str, value: object) -> object:
    if name == "password":
        return _reference(path, value, "password")
    wanted = _TYPES.get(name, str)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise DeviceError("FAB9101", f"{path}: {name} of {where} is no {wanted.__name__}")
    if isinstance(value, dict):
        for key in value:
            if isinstance(key, str) and any(word in key for word in ("password", "secret", "passphrase")):
                raise DeviceError("FAB9102", f"{path}: {key} of {where} is a secret", "Use `password:`.")
    return value


def _reference(path: Path, value: object, where: str) -> Reference:
    if isinstance(value, dict) and len(value) == 1:
        ((kind, place),) = value.items()
        if kind in KINDS and isinstance(place, str) and place:
            if kind == "file":
                place = str(path.parent / Path(place).expanduser())
            return Reference(kind, place)
    remedy = "Write {env: NAME}, {file: PATH} or {keyring: SERVICE}; a secret itself may not stand there."
    raise DeviceError("FAB9102", f"{path}: {where} says no place", remedy)
