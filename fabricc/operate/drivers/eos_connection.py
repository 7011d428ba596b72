"""The connection of the EOS driver: requests over eAPI or SSH, and NAPALM's getters."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

import napalm.eos
import pyeapi.client
from napalm.base import exceptions
from pyeapi.eapilib import CommandError, EapiConnection, HttpEapiConnection, HttpsEapiConnection
from pyeapi.eapilib import ConnectionError as EapiConnectionError

from fabricc.operate.drivers import answers, eos_views
from fabricc.operate.drivers import answers as device_answers
from fabricc.operate.drivers.checking import Checking, Options
from fabricc.operate.drivers.eos_views import QUESTION as SESSIONS
from fabricc.operate.drivers.lossless import Counters, CounterTotals
from fabricc.operate.drivers.single import clean_errors, require_eos, tls_context

_NOT_RUN = 1000
"""The code of eAPI for a command that could not be run."""
SAVE = "write memory"
VERSION, _HOSTNAME = "show version", "show hostname"
ZEROTOUCH = "show zerotouch"
"""Its `mode` (revision 1, as Arista's ANTA reads it) is active while the switch looks for a configuration to load."""
_ROUTES = ("show ip route bgp", "show ipv6 route bgp")
_GETTERS: Mapping[str, Sequence[Any]] = {
    "get_bgp_neighbors": (
        "show ip bgp summary vrf all",
        "show ipv6 bgp summary vrf all",
        "show ip bgp neighbors vrf all",
        "show ipv6 bgp peers vrf all",
    ),
    "get_interfaces_counters": ("show interfaces",),
    "get_ecmp_widths": _ROUTES,
    "get_router_macs": eos_views.VRF_ROUTES,
    "get_lossless_counters": [{"cmd": one, "revision": revision} for one, revision, _ in eos_views.QUESTIONS],
    "get_alarms": [{"cmd": one, "revision": revision} for one, revision, *_ in eos_views.HEALTH],
    "get_holds": (SESSIONS, VERSION, {"cmd": ZEROTOUCH, "revision": 1}),
}
"""Getter -> its commands, for `read_ahead`; the first two as NAPALM's own driver sends them."""


class _Exchange(EapiConnection):  # type: ignore[misc]
    """Requests of eAPI, each bounded in size and by a deadline for all of it.

    Attributes:
        most_values: values that an answer may have.
        refused: whether the switch refused the login of the last request.
    """

    most_values = device_answers.VALUES
    refused = False

    def __init__(self, *arguments: Any, timeout: float = 60, **named: Any) -> None:
        super().__init__(*arguments, timeout=timeout, **named)
        self._seconds = device_answers.TIMES * timeout
        self._cut = device_answers.bound_connection(self.transport)

    def send(self, data: str) -> Any:
        """Return the answer to a request.

        Raises:
            CommandError: the device refuses a command.
            EapiConnectionError: the connection failed, or the answer is missing or cut off.
            ConnectAuthError: the login is refused.
            TimeoutError: there is no whole answer in time.
            AnswerError: the answer is none of eAPI.
        """
        headers = dict([("Content-type", "application/json-rpc"), self._auth])
        try:
            status, reason, content = device_answers.post_request(
                self.transport, "/command-api", data.encode(), headers, self._seconds, self._cut
            )
        except TimeoutError:
            raise
        except (OSError, HTTPException) as error:
            raise EapiConnectionError(str(self), str(error) or type(error).__name__) from None
        self.refused = status == HTTPStatus.UNAUTHORIZED
        if self.refused:
            raise exceptions.ConnectAuthError("the login is refused")
        try:
            device_answers.require_answer(status, reason, content)
            found = device_answers.parse_json(content, "an answer of eAPI", self.most_values)
        except device_answers.LostAnswerError as error:
            time.sleep(answers.AGAIN_S)
            raise EapiConnectionError(str(self), str(error)) from None
        if not isinstance(found, dict) or not ("error" in found or isinstance(found.get("result"), list)):
            raise device_answers.AnswerError(
                f"not an eAPI answer: {device_answers.quote_words(content.decode('utf-8', 'replace'))}"
            )
        if "error" in found:
            code, message, refused, out = self._parse_error_message(found)
            raise CommandError(code, message, command_error=refused, output=out)
        return found


class _Https(_Exchange, HttpsEapiConnection):  # type: ignore[misc]
    """eAPI over TLS."""


class _Http(_Exchange, HttpEapiConnection):  # type: ignore[misc]
    """eAPI in clear text."""


class EosConnection(Checking, napalm.eos.EOSDriver):  # type: ignore[misc]
    """A connection to Arista EOS, with the getters.

    What differs from NAPALM's own driver:

    * TLS is verified: `ssl_verify` is True, a file of authorities, or False, an explicit opt-out.
    * A request whose answer is lost is sent once more, unless it changes the running configuration.
    * Lost connections and refused logins are NAPALM's exceptions; texts are without secrets.
    """

    device: Any

    def __init__(
        self, hostname: str, username: str, password: str, timeout: int = 60, optional_args: Options = None
    ) -> None:
        options = dict(optional_args or {})
        if options.get("transport", "https") == "https":
            options.setdefault("context", tls_context(options))
        super().__init__(hostname, username, password, timeout, options)
        if self.transport in ("https", "http"):
            self.transport_class = _Https if self.transport == "https" else _Http
        self._identity: dict[str, str] | None = None
        self._ahead: dict[str, Any] = {}

    def _clean(self, failure: type[exceptions.NapalmException]) -> Any:
        foreign: dict[type[BaseException], type[exceptions.NapalmException]] = {
            CommandError: failure,
            EapiConnectionError: exceptions.ConnectionClosedException,
            device_answers.AnswerError: exceptions.ConnectionException,
            TimeoutError: exceptions.CommandTimeoutException,
        }
        return clean_errors(self.hostname, foreign, self.password, self.enablepwd)

    def open(self) -> None:
        """Connect, log in and read the identity, which comes with the answer that proves the login."""
        self.drop_ahead()
        device_answers.silence_libraries()
        with self._clean(exceptions.ConnectionClosedException):
            if self.transport != "ssh":
                if self.device is None:
                    connection = self.transport_class(
                        host=self.hostname,
                        username=self.username,
                        password=self.password,
                        timeout=self.timeout,
                        **self.eapi_kwargs,
                    )
                    self.device = pyeapi.client.Node(connection, enablepwd=self.enablepwd)
                self._read_ahead((VERSION, _HOSTNAME))
                self._identity = _identity_of_answers(self._ahead[VERSION], self._ahead.pop(_HOSTNAME))
            super().open()  # takes the answer to `show version`

    def close(self) -> None:
        """Abort a session that was not committed; nothing is raised when the connection is lost."""
        if self.device is None:
            return
        if getattr(getattr(self.device, "connection", None), "refused", False):
            self.device = None
            return
        with suppress(exceptions.NapalmException, CommandError, EapiConnectionError):
            super().close()

    def abandon(self) -> None:
        """Leave a switch that does not answer alone: each request has a connection of its own; not part of NAPALM."""
        if self.transport == "ssh":
            with suppress(Exception):
                self.device.remote_conn_pre.close()

    def _run_commands(self, commands: list[Any], **kwargs: Any) -> Any:
        keys = [_command_text(command) for command in commands]
        if kwargs.get("encoding", "json") == "json" and keys and all(key in self._ahead for key in keys):
            return self._held_answers(keys)
        try:
            try:
                return self._send(commands, **kwargs)
            except EapiConnectionError:
                if not all(key.startswith("show ") or key == SAVE for key in keys):
                    raise
                return self._send(commands, **kwargs)
        except exceptions.ConnectAuthError:
            raise exceptions.ConnectAuthError(f"refuses the login of {self.username}") from None
        except EapiConnectionError as error:
            raise exceptions.ConnectionClosedException(f"{self.hostname}: {error.message}") from None

    def _send(self, commands: list[Any], **kwargs: Any) -> Any:
        if self.transport == "ssh":
            return [
                self._type(_command_text(command), kwargs.get("encoding", "json")) for command in commands
            ]
        found = super()._run_commands(list(commands), **kwargs)
        if len(found) != len(commands):
            raise device_answers.AnswerError(f"{len(commands)} commands have {len(found)} answers")
        return found

    def _type(self, command: str, encoding: str) -> Any:
        """Return the answer to a command over SSH, where EOS marks a refusal by a line that begins with `% `."""
        typed = command if encoding == "text" else f"{command} | json"
        output = str(self._netmiko_device.send_command(typed))
        if output.lstrip().startswith("% "):
            raise CommandError(0, f"CLI command '{command}' failed: {output.strip()}")
        return (
            {"output": output}
            if encoding == "text"
            else device_answers.parse_json(output, f"the answer to `{command}`")
        )

    def _run_routes(self, commands: Sequence[Any]) -> Any:
        """Return answers with tables of routes among them, which may have more values than others."""
        exchange = getattr(self.device, "connection", None)
        if not isinstance(exchange, _Exchange):
            return self._run_commands(list(commands))
        exchange.most_values = device_answers.ROUTE_VALUES
        try:
            return self._run_commands(list(commands))
        finally:
            exchange.most_values = device_answers.VALUES

    def _try_command(self, command: str, revision: int) -> Any:
        """Return the JSON of a command in one revision; None when this device refuses the command."""
        requested = command if self.transport == "ssh" else {"cmd": command, "revision": revision}
        try:
            return self._run_commands([requested])[0]
        except CommandError:
            return None

    def read_ahead(self, getters: Sequence[str]) -> None:
        """Send the commands of several getters in one request; each getter uses its answers once. Not part of NAPALM.

        Answers that an earlier call has read and no getter has used are dropped.

        Args:
            getters: names of getters; those without an entry here send their own requests later.
        """
        self.drop_ahead()
        with self._clean(exceptions.CommandErrorException):
            self._read_getters(getters)

    def _read_getters(self, getters: Sequence[str]) -> None:
        """Read the commands of some getters that were not read yet in one request; over SSH each is sent later."""
        if self.transport != "ssh":
            self._read_ahead([command for name in getters for command in _GETTERS.get(name, ())])

    def _read_ahead(self, commands: Sequence[Any]) -> None:
        """Keep the answers to some commands; eAPI stops at a command that it refuses, so the rest is sent again."""
        left = [command for command in commands if _command_text(command) not in self._ahead]
        while left:
            try:
                routes = {_ROUTES[0], eos_views.VRF_ROUTES[0]}
                run = self._run_commands if routes.isdisjoint(map(_command_text, left)) else self._run_routes
                found: list[Any] = run(left)
            except CommandError as error:
                # The `data` of an error has an entry for each command until the refused one, which is the last.
                entries = list(error.output or ())[int(self.send_enable) :]
                if not 0 < len(entries) <= len(left):
                    raise
                found = [*entries[:-1], error]
            self._ahead |= {_command_text(command): one for command, one in zip(left, found, strict=False)}
            left = left[len(found) :]

    def _held_answers(self, keys: list[str]) -> list[Any]:
        """Return answers that were read ahead, each once.

        Raises:
            CommandError: the switch refused one of them.
        """
        found = [self._ahead.pop(key) for key in keys]
        for one in found:
            if isinstance(one, CommandError):
                raise one
        return found

    def drop_ahead(self) -> None:
        """Drop answers that were read ahead and that no getter has used. Not part of NAPALM."""
        self._ahead = {}

    def get_config(
        self, retrieve: str = "all", full: bool = False, sanitized: bool = False, format: str = "text"
    ) -> dict[str, str]:
        """Configurations as EOS prints them; one that is cut off is an error.

        A switch that was never saved cannot run `show startup-config`; it has none.
        """
        with self._clean(exceptions.CommandErrorException):
            try:
                found: dict[str, str] = super().get_config(retrieve, full, sanitized, format)
            except CommandError as error:
                if retrieve not in ("all", "startup") or error.error_code != _NOT_RUN:
                    raise
                found = {"running": "", "startup": "", "candidate": ""}
                for kind in ("running", "candidate") if retrieve == "all" else ():
                    found[kind] = super().get_config(kind, full, sanitized, format)[kind]
            require_eos(found)
            return found

    def get_identity(self) -> dict[str, str]:
        """Return hostname and serial number of the chassis; a value that is not reported is empty. Not part of NAPALM.

        The values are those that were read when the connection was opened, until the next commit.
        """
        with self._clean(exceptions.CommandErrorException):
            if self._identity is None:
                self._identity = _identity_of_answers(
                    self._try_command(VERSION, 1), self._try_command(_HOSTNAME, 1)
                )
            return dict(self._identity)

    def get_ecmp_widths(self) -> dict[str, int]:
        """Return prefix -> next hops, for BGP routes of the default VRF; not part of NAPALM."""
        with self._clean(exceptions.CommitError):
            answers = self._run_routes(_ROUTES)
            tables = [one.get("vrfs", {}).get("default", one).get("routes", {}) for one in answers]
            return {prefix: len(route.get("vias", [])) for table in tables for prefix, route in table.items()}

    def get_router_macs(self) -> dict[str, dict[str, str]]:
        """Return VNI of a VRF -> VTEP -> router MAC that its routes have (RFC 9135); not part of NAPALM."""
        with self._clean(exceptions.CommitError):
            return eos_views.router_macs(self._run_routes(eos_views.VRF_ROUTES))

    def get_lossless_counters(self) -> Counters:
        """Return counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM.

        Raises:
            NotImplementedError: the platform reports none.
        """
        tally = CounterTotals()
        with self._clean(exceptions.CommandErrorException):
            for command, revision, read in eos_views.QUESTIONS:
                if (answer := self._try_command(command, revision)) is not None:
                    read(answer, tally)
            return tally.counters()

    def get_alarms(self) -> list[str]:
        """Return problems with temperature, fans and power that EOS reports; not part of NAPALM.

        Raises:
            NotImplementedError: the platform does not report them.
        """
        with self._clean(exceptions.CommandErrorException):
            requested = (
                (self._try_command(command, revision), wanted, read)
                for command, revision, wanted, read in eos_views.HEALTH
            )
            answers = [(answer, read) for answer, wanted, read in requested if answer and wanted in answer]
            if not answers:
                raise NotImplementedError("the platform does not report its health")
            return [alarm for answer, read in answers for alarm in read(answer)]


def _command_text(command: Any) -> str:
    return str(command["cmd"] if isinstance(command, dict) else command)


def _identity_of_answers(version: Any, name: Any) -> dict[str, str]:
    """Return hostname and serial number from two answers, each "" where the switch refused the question."""
    fields = (name, "hostname"), (version, "serialNumber")
    values = [str(one.get(key) or "") if isinstance(one, dict) else "" for one, key in fields]
    return {"hostname": values[0], "serial_number": values[1]}
