"""Read the access file, which defines the logins of switches. It refers to secrets and contains none.

A file in the folder of the spec is used only after the user has trusted it (`trust`). Options are an allow-list for
each driver. No login is sent to a device that does not prove its identity, unless `verify: false` is set.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.composer import resolve_1_1
from fabricc.base.documents.reader import STRICT, parse_document
from fabricc.base.foreign import files
from fabricc.base.foreign.shell import expand_home
from fabricc.base.values import replace
from fabricc.fabric.model import SECRET_PREFIX
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.login import Device, Login, LoginLimit, find_driver
from fabricc.operate.devices.secrets import KINDS, REFERENCE, Reference, Secret, is_safe_value
from fabricc.operate.devices.trust import record_trust, require_trust
from fabricc.operate.drivers import DRIVERS, RULES, DriverRules, rules_of_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


NAME = "fabricc-access.yaml"
_LARGEST = 4 << 20  # bytes
_KEYS = {"username", "password", "ssh_key", "known_hosts", "ca_file", "verify", "timeout_s", "port", "driver",
         "options"}  # fmt: skip
_PATHS = ("ssh_key", "known_hosts", "ca_file")


class Access:
    """The access file: a default login, exceptions by NOS and by device. Each secret is looked up once.

    Attributes:
        default: the login of devices without exceptions.
        allowed: file with the keys that may sign a push; None where no signature is required.
        deciding: the files that decide which keys are accepted: known hosts, authorities, signers.
    """

    def __init__(
        self,
        default: Login,
        by_nos: Mapping[str, Mapping[str, Any]] | None = None,
        by_device: Mapping[str, Mapping[str, Any]] | None = None,
        secrets: Mapping[str, Reference] | None = None,
        allowed: Path | None = None,
        *,
        from_file: bool = False,
    ) -> None:
        self.default, self.allowed, self._from_file = default, allowed, from_file
        self._by_nos, self._by_device = by_nos or {}, by_device or {}
        named = (default.known_hosts, default.ca_file)
        tables = (*self._by_nos.values(), *self._by_device.values())
        own = (table.get(key) for table in tables for key in ("known_hosts", "ca_file"))
        self.deciding = tuple(dict.fromkeys(Path(each) for each in (*named, *own, allowed) if each))
        self._places = secrets or {}
        self._named: dict[str, Secret] = {}
        self._known: dict[tuple[Reference, str], Secret] = {}
        self.limit = LoginLimit()

    def login(self, device: Device) -> Login:
        """Return the login of a device: its own exceptions, also under its former name, before those of its NOS.

        Options from a file are checked. Options of a program that creates its own `Access` are not.

        Raises:
            DeviceError: FAB9170, an option may not be set; FAB9171, nobody proves who answers, and `verify` is true;
                FAB9104, there is no such driver.
        """
        own = self._by_device.get(device.name) or self._by_device.get(device.former, {})
        found = replace(self.default, **{**self._by_nos.get(device.nos, {}), **own})
        if self._from_file:
            require_login(device, found)
        return found

    def endpoint(self, device: Device) -> tuple[str, str]:
        """Return the address of a device and the arguments of a connection to it."""
        login = self.login(device)
        return login.address or device.address, repr(sorted(login.arguments().items(), key=str))

    def has_exceptions(self, device: Device) -> bool:
        """Return whether a device has exceptions of its own."""
        return not self._by_device.keys().isdisjoint((device.name, device.former))

    def password(self, login: Login) -> Secret:
        """Return the password; it is empty where a key alone logs in.

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
        """Return a secret that configurations refer to.

        Raises:
            DeviceError: FAB9131, the access file does not define it, it does not exist, or no configuration can
                contain it.
        """
        if name not in self._named:
            if (place := self._places.get(name)) is None:
                message = f"configurations need the secret {name!r}, but the access file does not define it"
                remedy = (
                    f"Add `secrets: {{{name}: {{env: NAME}}}}`, or {{file: PATH}}, or {{keyring: SERVICE}}."
                )
                raise DeviceError("FAB9131", message, remedy)
            try:
                found = place.resolve(name)
            except DeviceError as error:
                raise DeviceError("FAB9131", f"the secret {name!r}: {error}", error.diagnostic.help) from None
            if not is_safe_value(found.reveal()):
                message = f"the secret {name!r} has a character that some configuration cannot hold"
                remedy = "Use printable ASCII without blanks, quotes, brackets, and \\ ; # & ?."
                raise DeviceError("FAB9131", message, remedy)
            self._named[name] = found
        return self._named[name]

    def fill_in(self, text: str) -> str:
        """Return a configuration with the values of its secrets, for the one call that loads it.

        Raises:
            DeviceError: FAB9131.
        """
        return REFERENCE.sub(lambda match: self.secret(match[1]).reveal(), text)

    def hide_secrets(self, text: str) -> str:
        """Return a text of a device with references in place of the values looked up so far."""
        for name, secret in sorted(self._named.items(), key=lambda item: -len(item[1].reveal())):
            text = text.replace(secret.reveal(), f"{SECRET_PREFIX}{name}")
        return text

    def find_secrets(self, names: Iterable[str]) -> None:
        """Look up the secrets of configurations that can be had; the others stay unknown."""
        for name in names:
            with suppress(DeviceError):
                self.secret(name)

    @property
    def secret_names(self) -> frozenset[str]:
        """The names of the secrets of configurations that were looked up."""
        return frozenset(self._named)

    def known_secrets(self) -> tuple[str, ...]:
        """Return every secret looked up so far, to keep them out of messages."""
        return tuple(secret.reveal() for secret in (*self._known.values(), *self._named.values()))

    def places(self) -> list[str]:
        """Return the places of all secrets of the file, in words and sorted: `env HOME`."""
        tables = (*self._by_nos.values(), *self._by_device.values())
        keys = (self.default.ssh_key, *(table.get("ssh_key") for table in tables))
        references = {f"{one.kind} {one.place}" for one in self._references()}
        return sorted(references | {f"key {key}" for key in keys if key})

    @property
    def variables(self) -> frozenset[str]:
        """The environment variables that hold secrets."""
        return frozenset(one.place for one in self._references() if one.kind == "env")

    def _references(self) -> Iterator[Reference]:
        tables = (*self._by_nos.values(), *self._by_device.values())
        passwords = (self.default.password, *(table.get("password") for table in tables))
        yield from (one for one in (*passwords, *self._places.values()) if one)

    @property
    def unverified(self) -> bool:
        """Return whether any login opts out of verification."""
        tables = [*self._by_nos.values(), *self._by_device.values()]
        return not self.default.verify or any(not table.get("verify", True) for table in tables)


def read_access(path: Path) -> Access:
    """Read an access file that the user has named.

    Raises:
        DeviceError: FAB9101, it cannot be read or has an invalid entry; FAB9102 for a literal secret;
            FAB9170, an option may not be set.
    """
    return _parse_access(path, _read_content(path))


def access_of(spec: Path, stated: Path | None) -> Access:
    """Read the access file that was named, or the trusted one in the folder of the spec.

    Raises:
        DeviceError: FAB9101, there is none; FAB9163, the user has not trusted the one of the spec; FAB9101,
            FAB9102 or FAB9170, it cannot be used.
    """
    if stated is not None:
        return read_access(stated)
    path = spec.parent / NAME
    if not path.exists():
        help_ = "See `fabricc docs push`, or use --access."
        raise DeviceError("FAB9101", f"there is no {path}, which configures the login", help_)
    content = _read_content(path)
    require_trust(path, content)
    access = _parse_access(path, content)
    require_trust(path, content, access.deciding)
    return access


def trust_access(path: Path) -> Access:
    """Record that the user trusts an access file as it is now, and return it.

    Raises:
        DeviceError: as `read_access`; FAB9172, the trust cannot be recorded.
    """
    content = _read_content(path)
    access = _parse_access(path, content)
    record_trust(path, content, access.deciding)
    return access


def _read_content(path: Path) -> bytes:
    try:
        return files.read(path, limit=_LARGEST)
    except OSError as error:
        raise DeviceError("FAB9101", f"cannot read {path}: {error.strerror}") from None


def _parse_access(path: Path, content: bytes) -> Access:
    rules = replace(
        STRICT,
        words={what: ("FAB9101", *texts[1:]) for what, texts in STRICT.words.items() if what != "empty"},
        plain=partial(resolve_1_1, code="FAB9101"),
        syntax=_not_yaml,
    )
    try:
        document = parse_document(content.decode(), str(path), rules)
    except UnicodeDecodeError:
        raise DeviceError("FAB9101", f"{path} is not YAML") from None
    for found in document.diagnostics:
        line = found.position.line if found.position else 1
        raise DeviceError("FAB9101", f"{path}:{line}: {found.message}", found.help)
    stated = document.value or {}
    if not isinstance(stated, dict):
        raise DeviceError("FAB9101", f"{path} is not a mapping")
    secrets = {
        name: _parse_reference(path, value, f"secrets.{name}")
        for name, value in _require_table(path, stated.pop("secrets", None) or {}, "secrets").items()
    }
    nested = {name: _require_table(path, stated.pop(name, None) or {}, name) for name in ("nos", "devices")}
    by_nos = {name: _parse_login(path, table, f"nos.{name}", set()) for name, table in nested["nos"].items()}
    by_device = {
        name: _parse_login(path, table, f"devices.{name}", {"address"})
        for name, table in nested["devices"].items()
    }
    allowed = stated.pop("require_signature", None)
    if allowed is not None:
        allowed = path.parent / expand_home(str(_parse_value(path, "the file", "require_signature", allowed)))
    default = _parse_login(path, stated, "the file", set())
    for where, nos, table in (
        ("the file", "", default),
        *((f"nos.{name}", name, table) for name, table in by_nos.items()),
        *((f"devices.{name}", "", table) for name, table in by_device.items()),
    ):
        driver = str(table.get("driver") or default.get("driver", ""))
        require_known(f"{path}: {where}", nos, driver, table.get("options", {}))
    return Access(Login(**default), by_nos, by_device, secrets, allowed, from_file=True)


def _not_yaml(error: Exception, _: str, file: str) -> Diagnostic:
    """Report a syntax error by its line alone: no text of the file is shown."""
    mark = getattr(error, "problem_mark", None)
    place = Position(file, mark.line + 1 if mark else 1)
    return Diagnostic("FAB9101", Severity.ERROR, "this is not YAML", place)


def _require_table(path: Path, value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise DeviceError("FAB9101", f"{path}: {where} is not a mapping")
    return value


def _parse_login(path: Path, value: object, where: str, more: set[str]) -> dict[str, Any]:
    table = _require_table(path, value, where)
    if unknown := sorted(table.keys() - _KEYS - more):
        known = ", ".join(sorted(_KEYS | more))
        raise DeviceError("FAB9101", f"{path}: {where} has {unknown[0]!r}", f"It may have {known}.")
    found = {name: _parse_value(path, where, name, entry) for name, entry in table.items()}
    for name in _PATHS:
        if name in found:
            found[name] = str(path.parent / expand_home(str(found[name])))
            _require_plain(path, where, name, str(found[name]))
    return found


def _require_plain(path: Path, where: str, name: str, file: str) -> None:
    """Raise an error where a file that SSH or TLS will read is no plain file: nothing limits how long that would take.

    A file that is missing is reported by the login that needs it.
    """
    try:
        entry = Path(file).stat()
    except (OSError, ValueError):
        return
    if S_ISDIR(entry.st_mode) and name == "ca_file":
        return
    if not S_ISREG(entry.st_mode) or entry.st_size > _LARGEST:
        message = f"{path}: {name} of {where} is not a regular file of at most {_LARGEST >> 20} MiB"
        raise DeviceError("FAB9101", message, f"Name another file than {file}.")


_RANGES = {"port": range(1, 65_536), "timeout_s": range(1, 86_401)}
_TYPES: Mapping[str, type] = {"verify": bool, "timeout_s": int, "port": int, "options": dict}


def _parse_value(path: Path, where: str, name: str, value: object) -> object:
    if name == "password":
        return _parse_reference(path, value, "password")
    wanted = _TYPES.get(name, str)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise DeviceError("FAB9101", f"{path}: {name} of {where} is no {wanted.__name__}")
    if isinstance(value, int) and name in _RANGES and value not in _RANGES[name]:
        numbers = _RANGES[name]
        message = f"{path}: {name} of {where} is {value:.6g}, not from {numbers[0]} to {numbers[-1]:,}"
        raise DeviceError("FAB9101", message)
    if isinstance(value, dict):
        for key in value:
            if isinstance(key, str) and any(word in key for word in ("password", "secret", "passphrase")):
                raise DeviceError("FAB9102", f"{path}: {key} of {where} is a secret", "Use `password:`.")
    return value


def _parse_reference(path: Path, value: object, where: str) -> Reference:
    if isinstance(value, dict) and len(value) == 1:
        ((kind, place),) = value.items()
        if kind in KINDS and isinstance(place, str) and place:
            if kind != "file":
                return Reference(kind, place)
            file = Path(os.path.abspath(path.parent / expand_home(place)))  # noqa: PTH100 - takes `..` out
            root = files.repository_of(path)
            return Reference(kind, str(file), str(root if file.is_relative_to(root) else "/"))
    remedy = "Write {env: NAME}, {file: PATH} or {keyring: SERVICE}; never the secret itself."
    raise DeviceError("FAB9102", f"{path}: {where} does not name the source of a secret", remedy)


def require_known(where: str, nos: str, driver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that an access file may not set for any driver that may be meant.

    Args:
        where: the file and the table, which begin the message.
        nos: the system of the table, "" for any.
        driver: the driver that the file names, "" for that of the system.
        options: those of the table.

    Raises:
        DeviceError: FAB9170.
    """
    name = _plain_name(driver or DRIVERS.get(nos, ""))
    if name and name not in RULES:
        return  # a foreign driver; its options are checked when a login is created
    candidates = [RULES[name]] if name else list(RULES.values())
    for option, value in options.items():
        faults = [rules.fault(str(option), value) for rules in candidates]
        if all(faults):
            names = sorted({each for rules in candidates for each in rules.names})
            raise _refuse_option(f"{where}: the option {option!r} {_clearest_fault(faults)}", names)


def require_login(device: Device, login: Login) -> None:
    """Refuse a login with options that an access file may not set, or to a device that is not verified.

    Raises:
        DeviceError: FAB9170 or FAB9171; FAB9104, there is no such driver.
    """
    driver = login.driver or DRIVERS.get(device.nos, device.nos)
    rules = RULES.get(_plain_name(driver)) or _foreign_rules(device.nos, driver)
    for option, value in login.options.items():
        if fault := rules.fault(str(option), value):
            raise _refuse_option(
                f"{device.name}: the option {option!r} {fault} for the driver {driver}", rules.names
            )
    if login.verify and not rules.verifies(login.options):
        transport = rules.transport(login.options)
        over = f" over {transport}" if transport else ""
        message = (
            f"{device.name}: the driver {driver} does not prove who answers{over}, so the login could be read"
        )
        remedy = "Use another transport or driver, or accept it with `verify: false`; each run then warns."
        raise DeviceError("FAB9171", message, remedy)


@lru_cache(64)
def _foreign_rules(nos: str, driver: str) -> DriverRules:
    return rules_of_class(find_driver(nos, driver))


def _plain_name(driver: str) -> str:
    """Return a name as NAPALM understands it: in lower case, without hyphens and prefix."""
    return driver.lower().replace("-", "").removeprefix("custom_napalm.").removeprefix("napalm.")


def _clearest_fault(faults: list[str]) -> str:
    """Return why an option is refused: for its value, where some driver knows its name."""
    return next((fault for fault in faults if not fault.endswith("may set")), faults[0])


def _refuse_option(message: str, names: list[str]) -> DeviceError:
    return DeviceError("FAB9170", message, f"It may set {', '.join(names)}.")
