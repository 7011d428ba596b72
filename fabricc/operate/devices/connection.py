"""A NAPALM connection to one switch. Every failure becomes a `DeviceError` without a secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from fabricc.operate.devices import (
    DeviceError,
    LockedError,
    RefusedLoginError,
    UnprovenDeviceError,
    UnreachableError,
)
from fabricc.operate.devices.getter_types import GETTERS, IDENTITY
from fabricc.operate.devices.login import MOST_REFUSING, Device, driver_class, napalm_base
from fabricc.operate.drivers import Hold, HoldKind
from fabricc.operate.drivers.redact import excerpt, mask_secrets

if TYPE_CHECKING:
    from fabricc.operate.devices.access import Access

_LONGEST = 400
_LONE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Half of a surrogate pair; U+DC80 to U+DCFF are bytes that are no UTF-8 (PEP 383)."""

_MARKS, _MOST_STATEMENTS = ("\n", ";", "{", ","), 1_000_000
"""What ends lines and statements, and how many a configuration may have.

One of 512 ports has some 50,000. Two bytes of a text take up to 200 of memory when they are read. Our judgment.
"""
_LATER = (
    "Look at the device, then run the same command again; `fabricc push --status` shows the state of a run."
)


class Connection:
    """An open connection with the calls of NAPALM that a change and its verification need."""

    def __init__(
        self, name: str, driver: Any, clean: Callable[[str], str], mask: Callable[[str], str] = str
    ) -> None:
        self.name = name
        self._driver = driver
        self._clean, self._mask = clean, mask
        self._silence: DeviceError | None = None
        self._reads_ahead = False

    @property
    def silent(self) -> bool:
        """Return whether a request to the device has timed out. No further request is sent over this connection."""
        return self._silence is not None

    def _require_answers(self) -> None:
        if self._silence is not None:
            raise self._silence

    def call(self, code: str, what: str, method: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of the driver.

        Args:
            code: of the error if it fails.
            what: words for what was tried: `the commit`.
            method: its name.
            arguments: for the method.
            named: for the method.

        Raises:
            DeviceError: it failed, whatever it raised.
        """
        self._require_answers()
        try:
            return getattr(self._driver, method)(*arguments, **named)
        except Exception as error:
            raise self._failure(code, what, error) from None

    def _failure(self, code: str, what: str, error: Exception) -> DeviceError:
        text = f"{self.name}: {what} failed: {reason_of(error, self._clean)}"
        late = _is_late(error)
        locked = isinstance(error, napalm_base().exceptions.SessionLockedException)
        locked = locked or getattr(error, "nothing_committed", False)
        kind = LockedError if locked else UnreachableError if late else DeviceError
        kind = RefusedLoginError if _refuses_login(error) else kind
        found = kind(code, text, _identity_remedy(error) or _LATER)
        if late:
            self._silence = found
        return found

    def without_secrets(self, text: str) -> str:
        """Return a text of the device without the secrets that fabricc logs in with or loads."""
        return self._mask(text)

    def running(self) -> str:
        """Return the running configuration as the device prints it.

        Raises:
            DeviceError: FAB9105, it cannot be read.
        """
        return self.configurations("running")["running"]

    def configurations(self, kind: str = "all") -> dict[str, str]:
        """Return the configurations as the device prints them, by NAPALM's names; `running` is always among them.

        Half a surrogate pair, which JSON can carry and no file, becomes U+FFFD.

        Raises:
            DeviceError: FAB9105, they cannot be read.
        """
        found = self.call("FAB9105", "reading the configuration", "get_config", retrieve=kind)
        texts = found if isinstance(found, dict) else {}
        texts = {name: _LONE.sub("\ufffd", text) for name, text in texts.items() if isinstance(text, str)}
        if "running" not in texts:
            raise DeviceError("FAB9105", f"{self.name}: get_config returned no running configuration", _LATER)
        for kind, text in texts.items():
            if sum(map(text.count, _MARKS)) > _MOST_STATEMENTS:
                size = f"more than {_MOST_STATEMENTS:,} lines or statements"
                raise DeviceError("FAB9105", f"{self.name}: the {kind} configuration has {size}", _LATER)
        if not texts["running"].strip():
            raise DeviceError("FAB9105", f"{self.name}: it returned an empty running configuration", _LATER)
        return texts

    def stated_identity(self) -> dict[str, str]:
        """Return `hostname` and `serial_number` as the device reports them; what it does not report is absent.

        Raises:
            DeviceError: FAB9105, it does not answer.
        """
        requested = getattr(self._driver, "get_identity", None) or getattr(self._driver, "get_facts", None)
        if requested is None:
            return {}
        self._require_answers()
        try:
            found: dict[str, str] = _without_secrets(IDENTITY(requested(), "the identity"), self._mask)
        except NotImplementedError:
            return {}
        except Exception as error:
            if _is_refusal(error):
                return {}
            raise self._failure("FAB9105", "asking for the identity", error) from None
        return found

    def lldp_neighbors(self) -> tuple[tuple[str, str, str], ...]:
        """Return system name, port ID and port description of every LLDP neighbor; none where it reports none."""
        try:
            found = self.getter("get_lldp_neighbors_detail") or {}
        except DeviceError:
            return ()
        keys = ("remote_system_name", "remote_port", "remote_port_description")
        rows = (tuple(one.get(key, "") for key in keys) for several in found.values() for one in several)
        return tuple(sorted(set(rows)))

    def pending(self) -> bool:
        """Return whether a commit waits for its confirmation; False for a driver that does not report it."""
        self._require_answers()
        try:
            return bool(self._driver.has_pending_commit())
        except NotImplementedError:
            return False
        except Exception as error:
            raise self._failure("FAB9105", "asking for a pending commit", error) from None

    def holds(self) -> list[Hold]:
        """Return the claims of sessions on the device; a driver that does not list them reports only a pending commit.

        Raises:
            DeviceError: FAB9105, it cannot be read.
        """
        if not hasattr(self._driver, "get_holds"):
            return [Hold(HoldKind.COMMIT, own=None)] if self.pending() else []
        return list(self.call("FAB9105", "asking which sessions hold the device", "get_holds"))

    @property
    def commit_getter(self) -> str:
        """The driver's method that lists the commit that waits, for `reading_ahead`."""
        return "get_waiting_commit" if hasattr(self._driver, "get_waiting_commit") else "get_holds"

    def find_pending_commit(self) -> Hold | None:
        """Return the commit that waits for its confirmation.

        Raises:
            DeviceError: FAB9105, it cannot be read.
        """
        if self.commit_getter == "get_holds":
            return next((hold for hold in self.holds() if hold.kind is HoldKind.COMMIT), None)
        found: Hold | None = self.call("FAB9105", "asking for a pending commit", self.commit_getter)
        return found

    def confirm_unseen(self) -> None:
        """Confirm a commit that the device does not list, where the driver knows devices that do not.

        Raises:
            DeviceError: FAB9115, the device does not take it.
        """
        if hasattr(self._driver, "confirm_unseen_commit"):
            self.call("FAB9115", "the confirmation", "confirm_unseen_commit")

    def end_hold(self, hold: Hold) -> bool:
        """Remove the guard or the candidate of a dead session; return whether it existed until now.

        Raises:
            DeviceError: FAB9136, the device does not take it.
        """
        return bool(self.call("FAB9136", f"ending the {hold.kind} of {hold.owner}", "end_hold", hold))

    def guard(self, seconds: int, *, armed: bool) -> bool:
        """Set the driver's dead-man timer, or restart one that is armed.

        Returns:
            Whether one is set now; True for a driver that has none.

        Raises:
            DeviceError: FAB9115, the device does not take it.
        """
        if not hasattr(self._driver, "arm_guard"):
            return True
        if armed:
            return bool(self.call("FAB9115", "extending the guard", "extend_guard", seconds))
        self.call("FAB9115", "setting the guard", "arm_guard", seconds)
        return True

    def release(self) -> None:
        """Remove the timer that `guard` has set.

        Raises:
            DeviceError: FAB9115, the device does not take it.
        """
        if hasattr(self._driver, "release_guard"):
            self.call("FAB9115", "releasing the guard", "release_guard")

    @contextmanager
    def reading_ahead(self, *methods: str) -> Iterator[None]:
        """Let the driver send the requests of several getters at once, if it can, for the getters of a block.

        No answer serves a getter after the block, however the block ends. A block inside another one uses the answers
        of the outer one.

        Raises:
            DeviceError: FAB9105, the device does not answer.
        """
        if self._reads_ahead or not hasattr(self._driver, "read_ahead"):
            yield
            return
        self._reads_ahead = True
        try:
            self.call("FAB9105", "reading its state", "read_ahead", methods)
            yield
        finally:
            self._reads_ahead = False
            self._driver.drop_ahead()

    def getter(self, method: str) -> Any:
        """Return the result of a getter with the promised types; None where the driver has no such getter.

        Raises:
            DeviceError: FAB9105, the device does not answer, or the answer has another type.
        """
        requested = getattr(self._driver, method, None)
        if requested is None:
            return None
        promised = GETTERS.get(method)
        self._require_answers()
        try:
            found = requested()
            return _without_secrets(promised(found, method), self._mask) if promised else found
        except NotImplementedError:
            return None
        except Exception as error:
            raise self._failure("FAB9105", method, error) from None


def _is_late(error: Exception) -> bool:
    """Return whether an exception means that a request timed out."""
    exceptions = napalm_base().exceptions
    return isinstance(
        error, TimeoutError | exceptions.CommandTimeoutException | exceptions.ConnectTimeoutError
    )


def _without_secrets(value: Any, mask: Callable[[str], str]) -> Any:
    """Return the result of a getter without the secrets that a device echoes, for example in names and alarms."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [_without_secrets(one, mask) for one in value]
    if isinstance(value, dict):
        return {name: _without_secrets(one, mask) for name, one in value.items()}
    return value


def _is_refusal(error: Exception) -> bool:
    """Return whether a device rejected a command."""
    return isinstance(error, napalm_base().exceptions.CommandErrorException)


@contextmanager
def open_connection(
    device: Device, access: Access, session: str = "", *, ending: bool = False
) -> Iterator[Connection]:
    """Open a connection, and close it at the end.

    Args:
        device: the switch.
        access: how to log in.
        session: names the owner of a candidate for drivers of fabricc, which take their own lock up again.
        ending: it ends or reverts a change: a driver may then use the space that it has reserved on the switch.

    Raises:
        DeviceError: FAB9110, it cannot be reached, or refuses the login; FAB9102 or FAB9104.
    """
    login = access.login(device)
    driver = driver_class(device.nos, login)
    secret = access.password(login)
    arguments = login.arguments()
    if session:
        arguments.setdefault("session", session)
    if ending:
        arguments.setdefault("use_reserve", True)

    def secrets() -> tuple[str, ...]:
        return (f"{login.username}:{secret.reveal()}" if secret.reveal() else "", *access.known_secrets())

    def clean(text: str) -> str:
        return excerpt(text, *secrets(), longest=_LONGEST)

    def mask(text: str) -> str:
        return mask_secrets(text, *secrets())

    address = login.address or device.address
    # Keys are no guesses that a server counts.
    credential = hash((login.username, secret.reveal() or device.name))
    try:
        with access.limit.attempt(credential, device.name) as allowed:
            if not allowed:
                raise _limit_refusal(device.name, login.username)
            try:
                live = driver(
                    address, login.username, secret.reveal(), timeout=login.timeout_s, optional_args=arguments
                )
                live.open()
            except Exception as error:
                if _refuses_login(error):
                    access.limit.refuse(credential, device.name)
                raise
    except DeviceError:
        raise
    except Exception as error:
        message = f"{device.name} ({address}) cannot be logged in to: {reason_of(error, clean)}"
        if _refuses_login(error):
            remedy = "Correct the account, or its password or key, in the access file."
            raise RefusedLoginError("FAB9110", message, remedy) from None
        if remedy := _identity_remedy(error):
            raise UnprovenDeviceError("FAB9110", message, remedy) from None
        remedy = "See that it is up and that the access file is right."
        raise UnreachableError("FAB9110", message, remedy) from None
    connection = Connection(device.name, live, clean, mask)
    try:
        yield connection
    finally:
        # On a silent device, the requests of a regular close would time out too.
        close = getattr(live, "abandon", live.close) if connection.silent else live.close
        with suppress(Exception):
            close()


def _limit_refusal(name: str, account: str) -> RefusedLoginError:
    message = (
        f"{name} was not asked: {MOST_REFUSING} switches refused the login of {account}, and none accepted it"
    )
    return RefusedLoginError("FAB9110", message, "Correct the account or its password in the access file.")


def _refuses_login(error: BaseException) -> bool:
    """Return whether a driver's exception means that the device refuses the login (by the name of NAPALM's class)."""
    return any(kind.__name__ == "ConnectAuthError" for kind in type(error).__mro__)


def _identity_remedy(error: BaseException) -> str:
    """Return what to do where the device cannot prove that it is the expected one, "" for any other failure.

    The libraries below each driver raise it, so it is among the exceptions that the driver's own followed.
    """
    at: BaseException | None = error
    while at is not None:
        names = {kind.__name__ for kind in type(at).__mro__}
        if names & _FOREIGN_KEY or _UNKNOWN_KEY in str(at):
            return (
                "Compare its host key with the one on its console; if they agree, put it into `known_hosts`."
            )
        if "SSLCertVerificationError" in names:
            return (
                "Compare its certificate with the one on its console; then put its authority into `ca_file`."
            )
        at = at.__cause__ or at.__context__
    return ""


_FOREIGN_KEY = frozenset({"BadHostKeyException", "SSHUnknownHostError"})
"""Exceptions of Paramiko and ncclient for another host key than the known one; ncclient's also for an unknown one."""
_UNKNOWN_KEY = "not found in known_hosts"
"""Paramiko's words for a host without a known key, which has no exception of its own."""
_KINDS: Mapping[type[BaseException], str] = {
    TimeoutError: "no answer in time",
    ConnectionError: "the connection broke",
    EOFError: "the connection broke",
}


def reason_of(error: BaseException, clean: Callable[[str], str]) -> str:
    """Return an exception as one line without secrets: its text, or the meaning of its type where it has none."""
    unnumbered = error.strerror if isinstance(error, OSError) and error.errno is None else None
    text = clean(str(unnumbered or error))  # without the "[Errno None]" of paramiko
    if isinstance(error, KeyError | IndexError | TypeError | AttributeError):
        return f"an answer was not understood: {text}" if text else "an answer was not understood"
    if text:
        return text
    return next((words for kind, words in _KINDS.items() if isinstance(error, kind)), "no reason was given")
