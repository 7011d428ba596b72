"""NAPALM's EOS driver with corrections."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

import napalm.eos
import pyeapi.client
from napalm.base.exceptions import (
    CommandErrorException,
    CommandTimeoutException,
    CommitConfirmException,
    CommitError,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectionException,
    MergeConfigException,
    NapalmException,
    ReplaceConfigException,
    SessionLockedException,
)
from pyeapi.eapilib import CommandError, EapiConnection, HttpEapiConnection, HttpsEapiConnection
from pyeapi.eapilib import ConnectionError as EapiConnectionError

from fabricc.operate.drivers import eos_views
from fabricc.operate.drivers.answers import (
    ROUTE_VALUES,
    TIMES,
    VALUES,
    AnswerError,
    bound_connection,
    parse_json,
    post_request,
    quote_words,
    require_answer,
    silence_libraries,
)
from fabricc.operate.drivers.checking import Checking, Options, Refusal
from fabricc.operate.drivers.eos_views import QUESTION as SESSIONS
from fabricc.operate.drivers.eos_views import Sessions, holds_clear_keys, read_sessions, write_stored_forms
from fabricc.operate.drivers.holds import Hold, HoldKind
from fabricc.operate.drivers.lossless import Counters, CounterTotals
from fabricc.operate.drivers.redact import redact_text
from fabricc.operate.drivers.single import (
    CleanCommits,
    NothingCommittedError,
    clean_errors,
    one_text,
    require_eos,
    tls_context,
)

FILE = "running-config.cfg"
ROLLBACK = "flash:rollback-0"
_DAY_S = 86400
_PREFIX = "napalm_"
_REFUSED = re.compile(r"CLI command (\d+) of \d+ '(.*?)' failed: (.*?)(?: \[errors: .*)?", re.DOTALL)
_BEFORE = 3
"""Commands before the first line of a candidate: `enable`, the session, and what empties it."""
_MOST_REFUSED = 20
_NOT_RUN = 1000
"""The code of eAPI for a command that could not be run."""
_OLD_NAME = "--- system:/running-config"
"""First line of a difference (published outputs of `show session-config diffs`)."""
_LOCK_S = 10.0
_VERSION, _HOSTNAME = "show version", "show hostname"
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
    "get_holds": (SESSIONS, _VERSION),
}
"""Getter -> its commands, for `read_ahead`; the first two as NAPALM's own driver sends them."""


class _Exchange(EapiConnection):  # type: ignore[misc]
    """Requests of eAPI, each bounded in size and by a deadline for all of it.

    Attributes:
        most_values: values that an answer may have.
        refused: whether the switch refused the login of the last request.
    """

    most_values = VALUES
    refused = False

    def __init__(self, *arguments: Any, timeout: float = 60, **named: Any) -> None:
        super().__init__(*arguments, timeout=timeout, **named)
        self._seconds = TIMES * timeout
        self._cut = bound_connection(self.transport)

    def send(self, data: str) -> Any:
        """Return the answer to a request.

        Raises:
            CommandError: the device refuses a command.
            EapiConnectionError: the connection failed.
            ConnectAuthError: the login is refused.
            TimeoutError: there is no whole answer in time.
            AnswerError: the answer is none of eAPI.
        """
        headers = dict([("Content-type", "application/json-rpc"), self._auth])
        try:
            status, reason, content = post_request(
                self.transport, "/command-api", data.encode(), headers, self._seconds, self._cut
            )
        except TimeoutError:
            raise
        except (OSError, HTTPException) as error:
            raise EapiConnectionError(str(self), str(error) or type(error).__name__) from None
        self.refused = status == HTTPStatus.UNAUTHORIZED
        if self.refused:
            raise ConnectAuthError("the login is refused")
        require_answer(status, reason, content)
        found = parse_json(content, "an answer of eAPI", self.most_values)
        if not isinstance(found, dict) or not ("error" in found or isinstance(found.get("result"), list)):
            raise AnswerError(f"not an eAPI answer: {quote_words(content.decode('utf-8', 'replace'))}")
        if "error" in found:
            code, message, refused, out = self._parse_error_message(found)
            raise CommandError(code, message, command_error=refused, output=out)
        return found


class _Https(_Exchange, HttpsEapiConnection):  # type: ignore[misc]
    """eAPI over TLS."""


class _Http(_Exchange, HttpEapiConnection):  # type: ignore[misc]
    """eAPI in clear text."""


class EosDriver(CleanCommits, Checking, napalm.eos.EOSDriver):  # type: ignore[misc]
    """Arista EOS over eAPI; a candidate is `running-config.cfg`, the whole device.

    What differs from NAPALM's own driver:

    * TLS is verified: `ssl_verify` is True, a file of authorities, or False, an explicit opt-out.
    * `rollback()` goes to the configuration that ran before the commit; NAPALM's goes to the one last saved.
    * The configuration session is named after `session` (random), so that a new connection takes it up; one of that
      name left behind is aborted before a load. `take_over` (False) aborts other drivers' sessions too.
    * `close()` leaves a commit that waits for confirmation alone; NAPALM's aborts it.
    * `confirm_commit()` and `rollback()` of a new connection with the same `session` find the commit that waits; a
      commit of another session is left alone.
    * A commit `message` is accepted, and EOS does not keep it.
    * A commit is refused when somebody changed the switch after `compare_config`: the session would take that back.
    * Whether a commit took effect, and whether it waits, is read from the states of sessions, never from text.
    * A request whose answer is lost with its connection is sent once more, unless it changes the switch.
    * Lost connections and refused logins are NAPALM's exceptions; texts are without secrets.
    """

    CONFIRM_STEP = 1
    CONFIRM_LIMITS = (1, _DAY_S - 1)
    config_session: str | None
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
        name = re.sub(r"[^A-Za-z0-9-]", "-", str(options.get("session") or uuid.uuid4().hex[:12]))
        self._session_name = f"{_PREFIX}{name}"
        self._waits = not options.get("session")
        self._take_over = bool(options.get("take_over", False))
        self._identity: dict[str, str] | None = None
        self._compared: str | None = None
        self._ahead: dict[str, Any] = {}

    def _clean(self, failure: type[NapalmException]) -> Any:
        foreign: dict[type[BaseException], type[NapalmException]] = {
            CommandError: failure,
            EapiConnectionError: ConnectionClosedException,
            AnswerError: ConnectionException,
            TimeoutError: CommandTimeoutException,
        }
        return clean_errors(self.hostname, foreign, self.password, self.enablepwd)

    def _run_commands(self, commands: list[Any], **kwargs: Any) -> Any:
        keys = [_command_text(command) for command in commands]
        if kwargs.get("encoding", "json") == "json" and keys and all(key in self._ahead for key in keys):
            return self._held_answers(keys)
        try:
            try:
                return self._send(commands, **kwargs)
            except EapiConnectionError:
                if not all(key.startswith("show ") for key in keys):
                    raise
                return self._send(commands, **kwargs)
        except ConnectAuthError:
            raise ConnectAuthError(f"{self.hostname} refuses the login of {self.username}") from None
        except EapiConnectionError as error:
            raise ConnectionClosedException(f"{self.hostname}: {error.message}") from None

    def _send(self, commands: list[Any], **kwargs: Any) -> Any:
        if self.transport == "ssh":
            return [
                self._type(_command_text(command), kwargs.get("encoding", "json")) for command in commands
            ]
        found = super()._run_commands(list(commands), **kwargs)
        if len(found) != len(commands):
            raise AnswerError(f"{len(commands)} commands have {len(found)} answers")
        return found

    def _type(self, command: str, encoding: str) -> Any:
        """Return the answer to a command over SSH, where EOS marks a refusal by a line that begins with `% `."""
        typed = command if encoding == "text" else f"{command} | json"
        output = str(self._netmiko_device.send_command(typed))
        if output.lstrip().startswith("% "):
            raise CommandError(0, f"CLI command '{command}' failed: {output.strip()}")
        return {"output": output} if encoding == "text" else parse_json(output, f"the answer to `{command}`")

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

    def read_ahead(self, getters: Sequence[str]) -> None:
        """Send the commands of several getters in one request; each getter uses its answers once. Not part of NAPALM.

        Answers that an earlier call has read and no getter has used are dropped.

        Args:
            getters: names of getters; those without an entry here send their own requests later.
        """
        self.drop_ahead()
        if self.transport != "ssh":
            with self._clean(CommandErrorException):
                self._read_ahead([command for name in getters for command in _GETTERS.get(name, ())])

    def drop_ahead(self) -> None:
        """Drop answers that were read ahead and that no getter has used. Not part of NAPALM."""
        self._ahead = {}

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

    def open(self) -> None:
        """Connect, log in and read the identity, which comes with the answer that proves the login."""
        self.drop_ahead()
        silence_libraries()
        with self._clean(ConnectionClosedException):
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
                self._read_ahead((_VERSION, _HOSTNAME))
                self._identity = _identity_of_answers(self._ahead[_VERSION], self._ahead.pop(_HOSTNAME))
            super().open()  # takes the answer to `show version`

    def close(self) -> None:
        """Abort a session that was not committed; nothing is raised when the connection is lost."""
        if self.device is None:
            return
        if getattr(getattr(self.device, "connection", None), "refused", False):
            self.device = None
            return
        with suppress(NapalmException, CommandError, EapiConnectionError):
            super().close()

    def abandon(self) -> None:
        """Leave a switch that does not answer alone: each request has a connection of its own; not part of NAPALM."""
        if self.transport == "ssh":
            with suppress(Exception):
                self.device.remote_conn_pre.close()

    def _load(self, filename: str | None, config: str | None, failure: type[NapalmException]) -> None:
        text = one_text(filename, config, FILE, failure)
        with self._clean(failure):
            self._require_free()
            self._compared = None
            if self.config_session is None:
                self.config_session = self._session_name
            if holds_clear_keys(text):
                (shown,) = self._run_commands(["show running-config"], encoding="text")
                text = write_stored_forms(text, str(shown["output"]))
            self._load_config(None, text, failure is ReplaceConfigException)

    def _sessions(self) -> Sessions:
        return read_sessions(self._run_commands([SESSIONS])[0])

    def _get_pending_commits(self) -> dict[str, int]:
        """Return the session that waits, in NAPALM's form; how long it still waits is not computed (-1)."""
        waiting = self._sessions().waiting
        return {waiting: -1} if waiting else {}

    def _require_free(self) -> None:
        """Abort sessions that are this driver's to abort, and wait for those of others unless it has a `session`.

        Raises:
            CommitConfirmException: a commit waits for confirmation.
            SessionLockedException: somebody else has a session open for too long.
        """
        until = time.monotonic() + _LOCK_S
        while True:
            sessions = self._sessions()
            if sessions.waiting:
                raise CommitConfirmException("a commit waits for confirmation")
            others = [name for name in sessions.list_open() if name != self.config_session]
            for name in [one for one in others if self._is_left_behind(one)]:
                self._run_commands([f"configure session {name} abort"], encoding="text")
                others.remove(name)
            if not others or self.lock_disable or not self._waits:
                return
            if time.monotonic() > until:
                raise SessionLockedException(f"configuration session {others[0]} is open")
            time.sleep(1)

    def _is_left_behind(self, name: str) -> bool:
        return name == self._session_name or (self._take_over and name.startswith(_PREFIX))

    def _obtain_lock(self, wait_time: float | None = None) -> None:
        """Do nothing: `_load` has already checked for sessions of others."""

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load the whole device's configuration into a session."""
        self._load(filename, config, ReplaceConfigException)

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load lines into a session."""
        self._load(filename, config, MergeConfigException)

    def check_candidate(self, config: str) -> list[Refusal]:
        """Type a whole configuration into a session that is aborted; EOS ends at the first refused line, so again.

        Raises:
            NapalmException: it was not checked.
        """
        lines = one_text(None, config, FILE, ReplaceConfigException).splitlines()
        found: list[Refusal] = []
        while len(found) < _MOST_REFUSED:
            refused = super().check_candidate("\n".join(lines) + "\n")
            found += refused
            if not refused or not refused[0].line:
                break
            _take_out(lines, refused[0].line - 1)
        return found

    def _refusals(self, output: str, config: str) -> list[Refusal]:
        named = _REFUSED.fullmatch(output[max(0, output.find("CLI command")) :])
        if named is None:
            return [Refusal(output)]
        lines = config.splitlines()
        sent = [number for number, line in enumerate(lines, 1) if not line.lstrip().startswith("!")]
        at = int(named[1]) - 1 - _BEFORE
        texts = [
            number for number in sent if redact_text(lines[number - 1].strip(), self.password) == named[2]
        ]
        exact = sent[at] if 0 <= at < len(sent) and sent[at] in texts else next(iter(texts), 0)
        return [Refusal(named[3], FILE if exact else "", exact)]

    def compare_config(self) -> str:
        """Return EOS's own difference between session and running configuration."""
        difference = self._difference() if self.config_session else ""
        self._compared = difference if self.config_session else None
        return difference

    def _difference(self) -> str:
        """Return the lines of `show session-config diffs` below its two names; none for an equal configuration.

        Raises:
            ConnectionException: the answer is no difference.
        """
        with self._clean(CommitError):
            command = f"show session-config named {self.config_session} diffs"
            (shown,) = self._run_commands([command], encoding="text")
            lines = str(shown["output"]).strip().splitlines()
            if lines and not lines[0].startswith(_OLD_NAME):
                raise AnswerError(f"no difference of a session: {quote_words(str(shown['output']))}")
            return "\n".join(lines[2:]).strip()

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:  # noqa: ARG002
        """Commit the session; with `revert_in` (seconds, less than a day) EOS goes back unless confirmed.

        Raises:
            CommitError: EOS refuses it; NothingCommittedError, the session was aborted instead.
            SessionLockedException: the running configuration has changed since `compare_config`.
            CommitConfirmException: `revert_in` is out of range.
        """
        if self.config_session is None:
            raise CommitError(f"{self.hostname}: no candidate is loaded")
        if revert_in is not None and not 0 < revert_in < _DAY_S:
            raise CommitConfirmException(f"{self.hostname}: revert_in must be 1 to {_DAY_S - 1} seconds")
        if self._compared is not None and self._difference() != self._compared:
            reason = f"{self.hostname}: the running configuration has changed since it was compared"
            raise SessionLockedException(reason)
        timer = "" if revert_in is None else f" timer {_format_duration(revert_in)}"
        commands = [
            f"copy running-config {ROLLBACK}",
            f"configure session {self.config_session} commit{timer}",
            *(["write memory"] if revert_in is None else []),
        ]
        name, self._identity = self.config_session, None
        with self._clean(CommitError):
            try:
                self._run_commands(commands, encoding="text")
                sessions = None if revert_in is None else self._sessions()
            except (CommandError, ConnectionClosedException) as error:
                # Read the state of the commit: a second one might be one too many.
                sessions = self._sessions()
                if name in sessions.list_open():
                    sessions = self._abort_refused(name, error)
                if name != sessions.waiting and not sessions.is_committed(name):
                    raise
                if revert_in is None:
                    self._run_commands(["write memory"], encoding="text")
            if revert_in is not None and (sessions is None or sessions.waiting != name):
                raise CommitError(f"the switch does not report the commit of session {name} as waiting")
        self.config_session = None

    def _abort_refused(self, name: str, error: Exception) -> Sessions:
        """Abort the session of a commit that failed, and return the sessions after that.

        Raises:
            NothingCommittedError: it was aborted before any commit.
        """
        self._run_commands([f"configure session {name} abort"], encoding="text")
        sessions = self._sessions()
        if name != sessions.waiting and not sessions.is_committed(name):
            self.config_session = None
            reason = redact_text(str(error), self.password, self.enablepwd)
            raise NothingCommittedError(f"{self.hostname}: nothing was committed: {reason}")
        return sessions

    def _pending_session(self) -> str:
        """Return this session's name when its commit waits, whichever connection made it; "" when none waits.

        Raises:
            SessionLockedException: another session made the commit that waits.
        """
        waiting = self._sessions().waiting
        if waiting and waiting != self._session_name:
            raise SessionLockedException(f"session {waiting} made the commit that waits")
        return waiting

    def confirm_commit(self) -> None:
        """Keep and save the pending commit of this session."""
        with self._clean(CommitError):
            waiting = self._pending_session()
            if not waiting:
                raise CommitError("No pending commit-confirm found!")
            commands = [f"configure session {waiting} commit", "write memory"]
            try:
                self._run_commands(commands, encoding="text")
            except ConnectionClosedException:
                if self._sessions().waiting != waiting:
                    raise
                self._run_commands(commands, encoding="text")
            if self._sessions().waiting == waiting:
                raise CommitError(f"the commit of session {waiting} still waits after its confirmation")
            self.config_session = self._identity = None

    def rollback(self) -> None:
        """Go back to what ran before the last commit of this session, whether it waits for confirmation or not."""
        with self._clean(CommitError):
            waiting = self._pending_session()
            undo = f"configure session {waiting} abort" if waiting else f"configure replace {ROLLBACK}"
            self._run_commands([undo, "write memory"], encoding="text")
            self.config_session = self._identity = None

    def get_holds(self) -> list[Hold]:
        """Return a commit that waits for confirmation, and sessions that are not committed. Not part of NAPALM.

        Each session of EOS has a candidate of its own, so the candidate of another session does not block.
        """
        with self._clean(CommandErrorException):
            answer, version = self._run_commands([SESSIONS, _VERSION])
            sessions = read_sessions(answer)
        left = sessions.left_s(version)
        waiting = [sessions.waiting] if sessions.waiting else []
        found = [
            Hold(HoldKind.COMMIT, _session_owner(name), left, own=name == self._session_name)
            for name in waiting
        ]
        found += [
            Hold(HoldKind.CANDIDATE, _session_owner(name), own=name == self._session_name, blocks=False)
            for name in sessions.list_open()
        ]
        return found

    def end_hold(self, hold: Hold) -> bool:
        """Abort the uncommitted session of another driver that is dead. Not part of NAPALM."""
        with self._clean(CommandErrorException):
            self._run_commands([f"configure session {_PREFIX}{hold.owner} abort"], encoding="text")
        return True

    def get_config(
        self, retrieve: str = "all", full: bool = False, sanitized: bool = False, format: str = "text"
    ) -> dict[str, str]:
        """Configurations as EOS prints them; one that is cut off is an error.

        A switch that was never saved cannot run `show startup-config`; it has none.
        """
        with self._clean(CommandErrorException):
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

    def get_ecmp_widths(self) -> dict[str, int]:
        """Return prefix -> next hops, for BGP routes of the default VRF; not part of NAPALM."""
        with self._clean(CommitError):
            answers = self._run_routes(_ROUTES)
            tables = [one.get("vrfs", {}).get("default", one).get("routes", {}) for one in answers]
            return {prefix: len(route.get("vias", [])) for table in tables for prefix, route in table.items()}

    def get_router_macs(self) -> dict[str, dict[str, str]]:
        """Return VNI of a VRF -> VTEP -> router MAC that its routes have (RFC 9135); not part of NAPALM."""
        with self._clean(CommitError):
            return eos_views.router_macs(self._run_routes(eos_views.VRF_ROUTES))

    def _run_routes(self, commands: Sequence[Any]) -> Any:
        """Return answers with tables of routes among them, which may have more values than others."""
        exchange = getattr(self.device, "connection", None)
        if not isinstance(exchange, _Exchange):
            return self._run_commands(list(commands))
        exchange.most_values = ROUTE_VALUES
        try:
            return self._run_commands(list(commands))
        finally:
            exchange.most_values = VALUES

    def _try_command(self, command: str, revision: int) -> Any:
        """Return the JSON of a command in one revision; None when this device refuses the command."""
        requested = command if self.transport == "ssh" else {"cmd": command, "revision": revision}
        try:
            return self._run_commands([requested])[0]
        except CommandError:
            return None

    def get_identity(self) -> dict[str, str]:
        """Return hostname and serial number of the chassis; a value that is not reported is empty. Not part of NAPALM.

        The values are those that were read when the connection was opened, until the next commit.
        """
        with self._clean(CommandErrorException):
            if self._identity is None:
                self._identity = _identity_of_answers(
                    self._try_command(_VERSION, 1), self._try_command(_HOSTNAME, 1)
                )
            return dict(self._identity)

    def get_lossless_counters(self) -> Counters:
        """Return counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM.

        Raises:
            NotImplementedError: the platform reports none.
        """
        tally = CounterTotals()
        with self._clean(CommandErrorException):
            for command, revision, read in eos_views.QUESTIONS:
                if (answer := self._try_command(command, revision)) is not None:
                    read(answer, tally)
            return tally.counters()

    def get_alarms(self) -> list[str]:
        """Return problems with temperature, fans and power that EOS reports; not part of NAPALM.

        Raises:
            NotImplementedError: the platform does not report them.
        """
        with self._clean(CommandErrorException):
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


def _take_out(lines: list[str], at: int) -> None:
    """Replace a line and the block below it with comments."""
    depth = len(lines[at]) - len(lines[at].lstrip())
    lines[at] = "!"
    for below in range(at + 1, len(lines)):
        text = lines[below]
        if text.strip() and len(text) - len(text.lstrip()) <= depth:
            break
        lines[below] = "!"


def _session_owner(session: str) -> str:
    """Return the owner of a configuration session: the name that a driver gave it, or that of a person."""
    return session.removeprefix(_PREFIX)


def _format_duration(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
