"""The connection of the NX-OS driver: requests over NX-API, files over SSH, and NAPALM's getters."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import napalm.nxos
from napalm.base import exceptions
from napalm.base.helpers import canonical_interface_name
from napalm.nxapi_plumbing import NXAPIAuthError, NXAPICommandError, NXAPIConnectionError
from napalm.nxapi_plumbing.device import Device
from napalm.nxapi_plumbing.errors import NXAPIError
from netmiko.exceptions import (
    NetmikoAuthenticationException,
    NetmikoBaseException,
    NetmikoTimeoutException,
)
from requests.exceptions import RequestException

from fabricc.operate.drivers import nxos_views
from fabricc.operate.drivers.answers import AnswerError, quote_words, silence_libraries
from fabricc.operate.drivers.checking import Checking, Options
from fabricc.operate.drivers.lossless import Counters, CounterTotals
from fabricc.operate.drivers.nxos_exchange import QUIET, BoundedTerminal, Exchange
from fabricc.operate.drivers.nxos_replace import refuses
from fabricc.operate.drivers.redact import redact_text
from fabricc.operate.drivers.single import clean_errors, require_nxos, require_terminals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUNNING, STARTUP = "show running-config", "show startup-config"
STATUS = "show config-replace status"
_SESSIONS = "show bgp all summary vrf all"
_GETTERS: Mapping[str, Sequence[str]] = {
    "get_bgp_neighbors": (_SESSIONS,),
    "get_ecmp_widths": nxos_views.ROUTES,
    "get_lossless_counters": [command for command, _ in nxos_views.QUESTIONS],
    "get_alarms": (nxos_views.HEALTH,),
}
"""Getter -> its commands with tables, for `read_ahead`; the first as NAPALM's own driver sends it."""
_TEXTS: Mapping[str, Sequence[str]] = {"get_holds": (STATUS,), "get_config": (RUNNING, STARTUP)}
"""Getter -> its commands with texts, for `read_ahead`."""
_IDENTITY = (nxos_views.HOSTNAME, nxos_views.INVENTORY)


class NxosConnection(Checking, napalm.nxos.NXOSDriver):  # type: ignore[misc]
    """A connection to Cisco NX-OS, with the getters.

    What differs from NAPALM's own driver:

    * TLS and SSH host keys are verified: `ssl_verify` (True, a file of authorities, or False), `ssh_strict`,
      `system_host_keys`, `alt_key_file` as for netmiko; `ssh_port` (22) of the SCP server.
    * `close()` ends the SSH session too.
    * Lost connections and refused logins are NAPALM's exceptions; texts are without secrets.
    """

    def __init__(
        self, hostname: str, username: str, password: str, timeout: int = 60, optional_args: Options = None
    ) -> None:
        options = {"ssl_verify": True, "ssh_strict": True, "system_host_keys": True, **(optional_args or {})}
        if not options["ssh_strict"]:
            # Netmiko adds an unknown key to the file of known hosts that it has read.
            options.pop("alt_key_file", None)
        if options.get("alt_key_file"):
            options.setdefault("alt_host_keys", True)
        super().__init__(hostname, username, password, timeout, options)
        self._ssh_port = int(options.get("ssh_port", 22))
        self._identity: dict[str, str] | None = None
        self._ahead: dict[tuple[str, bool], Any] = {}

    def _clean(self, failure: type[exceptions.NapalmException]) -> Any:
        foreign: dict[type[BaseException], type[exceptions.NapalmException]] = {
            NXAPIAuthError: exceptions.ConnectAuthError,
            NXAPIConnectionError: exceptions.ConnectionClosedException,
            AnswerError: exceptions.ConnectionException,
            TimeoutError: exceptions.CommandTimeoutException,
            RequestException: exceptions.ConnectionClosedException,
            NXAPICommandError: failure,
            NXAPIError: failure,
            NetmikoAuthenticationException: exceptions.ConnectAuthError,
            NetmikoBaseException: exceptions.ConnectionClosedException,
            AssertionError: exceptions.ConnectionClosedException,
        }
        return clean_errors(self.hostname, foreign, self.password)

    def open(self) -> None:
        """Connect and log in."""
        silence_libraries()
        with self._clean(exceptions.ConnectionClosedException):
            try:
                self._open()
            except exceptions.ConnectionException as error:
                if isinstance(error.__context__, NXAPIAuthError):
                    raise exceptions.ConnectAuthError(f"refuses the login of {self.username}") from None
                raise exceptions.ConnectionException(str(error.__context__ or error)) from None

    def _open(self) -> None:
        """Connect as NAPALM does, with our own requests; the answer that proves the login has the identity."""
        try:
            self.device = Device(
                self.hostname, self.username, self.password, self.transport, "jsonrpc", self.port, self.timeout,
                self.ssl_verify,
            )  # fmt: skip
            self.device.api = self._exchange(self.timeout)
            self.drop_ahead()
            self._identity = _identity_of_answers(self.device.api.read_tables(_IDENTITY))
        except (NXAPIConnectionError, NXAPIAuthError):
            raise exceptions.ConnectionException(f"Cannot connect to {self.hostname}")  # noqa: B904 - the reason is its context

    def _netmiko_open(self, device_type: str, netmiko_optional_args: Options = None) -> Any:
        """Connect over SSH as NAPALM does, with packets of bounded size."""
        named = {**(netmiko_optional_args or {}), "port": self._ssh_port}
        try:
            self._netmiko_device = BoundedTerminal(
                device_type=device_type, host=self.hostname, username=self.username, password=self.password,
                timeout=self.timeout, **named,
            )  # fmt: skip
        except NetmikoTimeoutException as error:
            raise exceptions.ConnectionException(f"Cannot connect to {self.hostname}") from error
        if not self.force_no_enable:
            self._netmiko_device.enable()
        return self._netmiko_device

    def _exchange(self, timeout: float) -> Exchange:
        return Exchange(
            self.hostname, self.username, self.password, self.transport, self.port, timeout, self.ssl_verify
        )

    def close(self) -> None:
        """Delete a candidate that was not committed and disconnect; nothing is raised when the connection is lost."""
        if self.device is not None and not self.device.api.refused:
            with suppress(exceptions.NapalmException):
                self.discard_config()
        with suppress(NetmikoBaseException, OSError, EOFError):
            self._netmiko_close()
        super().close()

    def abandon(self) -> None:
        """Disconnect from a switch that does not answer, without a further request; not part of NAPALM."""
        with suppress(Exception):
            connection = self._netmiko_device.remote_conn_pre
            if connection is not None:
                connection.close()

    def _command_text(self, command: str, failure: type[exceptions.NapalmException]) -> str:
        """Return the text of a command's answer, without prompts that would wait for a person."""
        with self._clean(failure):
            assert self.device is not None
            answers = self.device.show_list([QUIET, command], raw_text=True)
            return str(answers[1]["result"] or "")

    def _read_texts(self, *commands: str) -> dict[str, str]:
        """Return command -> text from one request; a command that the switch refuses is absent."""
        assert self.device is not None
        found = self.device.api.read_texts(commands)
        return {one: str(text or "") for one, text in found.items() if not isinstance(text, NXAPIError)}

    def _show(self, failure: type[exceptions.NapalmException], *commands: str) -> list[str]:
        """Return the texts of several commands, in one request."""
        with self._clean(failure):
            assert self.device is not None
            if all((one, True) in self._ahead for one in commands):
                texts = [str(self._take_ahead(one, raw_text=True) or "") for one in commands]
            else:
                answers = self.device.show_list([QUIET, *commands], raw_text=True)
                texts = [str(one["result"] or "") for one in answers[1:]]
            return [
                require_text({command: text}, command) for command, text in zip(commands, texts, strict=True)
            ]

    def _show_file(self, name: str) -> str:
        """Return a file of the device; "" where it has none."""
        with self._clean(exceptions.CommandErrorException):
            assert self.device is not None
            try:
                return str(self.device.show(f"show file {self._dest_file_system}{name}", raw_text=True) or "")
            except NXAPICommandError:
                return ""

    def _send_command(self, command: str, raw_text: bool = False) -> Any:
        if command == STARTUP:
            return self._show_startup()
        try:
            if (command, raw_text) in self._ahead:
                answer = self._take_ahead(command, raw_text=raw_text)
            else:
                answer = super()._send_command(command, raw_text)
        except NXAPICommandError as error:
            self._require_no_bgp(command, str(error))
            raise
        if not answer:
            self._require_no_bgp(command, "no answer")
        if command in (RUNNING, f"{RUNNING} all"):
            require_nxos(str(answer or ""))
        return answer

    def _try_command(self, command: str) -> Any:
        """Return the JSON of a command; None when this device refuses it or the answer is empty."""
        try:
            return self._send_command(command) or None
        except NXAPICommandError:
            return None

    def _show_startup(self) -> str:
        """Return what was saved; a switch that was never saved refuses to show it, or shows nothing."""
        if (STARTUP, True) not in self._ahead:
            return self._read_texts(STARTUP).get(STARTUP, "")
        with suppress(NXAPICommandError):
            return str(self._take_ahead(STARTUP, raw_text=True) or "")
        return ""

    def _require_no_bgp(self, command: str, said: str) -> None:
        """Refuse a refusal to show sessions, which NAPALM reads as no session, unless BGP has no instance."""
        if command != _SESSIONS:
            return
        (running,) = self._show(exceptions.CommandErrorException, RUNNING)
        if any(line.startswith("router bgp ") for line in running.splitlines()):
            raise exceptions.CommandErrorException(f"{self.hostname}: {redact_text(said, self.password)}")

    def read_ahead(self, getters: Sequence[str]) -> None:
        """Send the commands of several getters in few requests; each getter uses its answers once. Not part of NAPALM.

        One request has the commands with tables, one those with texts. Answers that an earlier call has read and no
        getter has used are dropped.

        Args:
            getters: names of getters; those without an entry here send their own requests later.
        """
        self.drop_ahead()
        texts, tables = (
            [one for name in getters for one in each.get(name, ())] for each in (_TEXTS, _GETTERS)
        )
        with self._clean(exceptions.CommandErrorException):
            assert self.device is not None
            found = {(one, True): answer for one, answer in self.device.api.read_texts(texts).items()}
            found |= {(one, False): answer for one, answer in self.device.api.read_tables(tables).items()}
        self._ahead = found

    def drop_ahead(self) -> None:
        """Drop answers that were read ahead and that no getter has used. Not part of NAPALM."""
        self._ahead = {}

    def _take_ahead(self, command: str, *, raw_text: bool) -> Any:
        """Return an answer that was read ahead, once.

        Raises:
            NXAPICommandError: the switch refused the command.
        """
        answer = self._ahead.pop((command, raw_text))
        if isinstance(answer, NXAPICommandError):
            raise answer
        return answer

    def get_config(
        self, retrieve: str = "all", full: bool = False, sanitized: bool = False, format: str = "text"
    ) -> dict[str, str]:
        """Configurations as NX-OS prints them; one that is cut off is an error.

        The saved configuration has the lines of terminals by which a running one is whole, so it is always read.
        """
        wanted = "all" if retrieve == "running" else retrieve
        with self._clean(exceptions.CommandErrorException):
            try:
                if not full and wanted == "all" and (RUNNING, True) not in self._ahead:
                    assert self.device is not None
                    answers = self.device.api.read_texts((RUNNING, STARTUP)).items()
                    self._ahead |= {(command, True): answer for command, answer in answers}
                found: dict[str, str] = super().get_config(wanted, full, sanitized, format)
            finally:
                for command in (RUNNING, STARTUP):
                    self._ahead.pop((command, True), None)
            require_terminals(found["running"] or found["startup"], found["startup"])
            return found if wanted == retrieve else {**found, "startup": ""}

    def get_identity(self) -> dict[str, str]:
        """Return hostname and serial number of the chassis, empty where not reported. Not part of NAPALM.

        The values are those that were read when the connection was opened, until the next commit.
        """
        with self._clean(exceptions.CommandErrorException):
            if self._identity is None:
                assert self.device is not None
                self._identity = _identity_of_answers(self.device.api.read_tables(_IDENTITY))
            return dict(self._identity)

    def get_ecmp_widths(self) -> dict[str, int]:
        """Return prefix -> next hops, for BGP routes of the default VRF; not part of NAPALM."""
        with self._clean(exceptions.CommandErrorException):
            return nxos_views.ecmp_widths(*(self._send_command(command) for command in nxos_views.ROUTES))

    def get_router_macs(self) -> dict[str, dict[str, str]]:
        """Return VNI of a VRF -> VTEP -> router MAC of the peer there (RFC 9135); not part of NAPALM.

        Raises:
            NotImplementedError: this release does not print them.
        """
        with self._clean(exceptions.CommandErrorException):
            try:
                text = self._send_command(nxos_views.PEERS, raw_text=True)
            except NXAPICommandError:
                raise NotImplementedError from None
            return nxos_views.router_macs(str(text or ""))

    def get_lossless_counters(self) -> Counters:
        """Return counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM.

        Raises:
            NotImplementedError: the platform reports none.
        """
        tally, classes = CounterTotals(), nxos_views.Classes(canonical_interface_name)
        with self._clean(exceptions.CommandErrorException):
            for command, read in nxos_views.QUESTIONS:
                if (answer := self._try_command(command)) is not None:
                    read(answer, classes, tally)
            return tally.counters()

    def get_alarms(self) -> list[str]:
        """Return problems with temperature, fans and power that NX-OS reports; not part of NAPALM.

        Raises:
            NotImplementedError: the platform does not report them.
        """
        with self._clean(exceptions.CommandErrorException):
            if (answer := self._try_command(nxos_views.HEALTH)) is None:
                raise NotImplementedError("the platform does not report its health")
            return nxos_views.read_alarms(answer)


def _identity_of_answers(answers: Mapping[str, Any]) -> dict[str, str]:
    """Return hostname and serial number from two answers, each "" where the switch refused the question."""
    name, inventory = (answers.get(one) for one in _IDENTITY)
    hostname = name.get("hostname") if isinstance(name, dict) else ""
    return {"hostname": str(hostname or ""), "serial_number": nxos_views.chassis_serial(inventory)}


def require_text(texts: Mapping[str, str], command: str) -> str:
    """Return the text that a command shows.

    Raises:
        AnswerError: the switch refuses the command, or shows a refusal.
    """
    text = texts.get(command, "% refused")
    if refuses(text):
        raise AnswerError(f"`{command}` shows {quote_words(text)}")
    return text
