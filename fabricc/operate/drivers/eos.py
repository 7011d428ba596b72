"""NAPALM's EOS driver without its traps."""

from __future__ import annotations

import re
import uuid
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

import napalm.eos
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
    VALUES,
    AnswerError,
    parse_json,
    quoted,
    require_answer,
)
from fabricc.operate.drivers.checking import Checking, Options, Refusal
from fabricc.operate.drivers.holds import Claim, Hold
from fabricc.operate.drivers.limits import TIMES, bound, posted
from fabricc.operate.drivers.lossless import Counters, Tally
from fabricc.operate.drivers.redact import redacted
from fabricc.operate.drivers.single import CleanCommits, clean, one_text, tls_context

FILE = "running-config.cfg"
ROLLBACK = "flash:rollback-0"
_DAY_S = 86400
_PREFIX = "napalm_"
_REFUSED = re.compile(r"CLI command (\d+) of \d+ '(.*?)' failed: (.*?)(?: \[errors: .*)?", re.DOTALL)
_BEFORE = 3
"""Commands before the first line of a candidate: `enable`, the session, and what empties it."""
_MOST_REFUSED = 20


class _Exchange(EapiConnection):  # type: ignore[misc]
    """Requests of eAPI, each bounded in size and by a deadline for all of it."""

    most_values = VALUES

    def __init__(self, *arguments: Any, timeout: float = 60, **named: Any) -> None:
        super().__init__(*arguments, timeout=timeout, **named)
        self._seconds = TIMES * timeout
        self._cut = bound(self.transport)

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
            status, reason, content = posted(
                self.transport, "/command-api", data.encode(), headers, self._seconds, self._cut
            )
        except TimeoutError:
            raise
        except (OSError, HTTPException) as error:
            raise EapiConnectionError(str(self), str(error) or type(error).__name__) from None
        if status == HTTPStatus.UNAUTHORIZED:
            raise ConnectAuthError("the login is refused")
        require_answer(status, reason, content)
        found = parse_json(content, "an answer of eAPI", self.most_values)
        if not isinstance(found, dict) or not ("error" in found or isinstance(found.get("result"), list)):
            raise AnswerError(f"an answer is none of eAPI: {quoted(content.decode('utf-8', 'replace'))}")
        if "error" in found:
            code, said, refused, out = self._parse_error_message(found)
            raise CommandError(code, said, command_error=refused, output=out)
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
    * Lost connections and refused logins are NAPALM's exceptions; texts are without secrets.
    """

    CONFIRM_STEP = 1
    CONFIRM_LIMITS = (1, _DAY_S - 1)
    config_session: str | None

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
        self._take_over = bool(options.get("take_over", False))

    def _clean(self, failure: type[NapalmException]) -> Any:
        foreign: dict[type[BaseException], type[NapalmException]] = {
            CommandError: failure,
            EapiConnectionError: ConnectionClosedException,
            AnswerError: ConnectionException,
            TimeoutError: CommandTimeoutException,
        }
        return clean(self.hostname, foreign, self.password, self.enablepwd)

    def _run_commands(self, commands: list[Any], **kwargs: Any) -> Any:
        try:
            return super()._run_commands(commands, **kwargs)
        except ConnectAuthError:
            raise ConnectAuthError(f"{self.hostname} refuses the login of {self.username}") from None
        except EapiConnectionError as error:
            raise ConnectionClosedException(f"{self.hostname}: {error.message}") from None

    def open(self) -> None:
        """Connect and log in."""
        with self._clean(ConnectionClosedException):
            super().open()

    def close(self) -> None:
        """Abort a session that was not committed; nothing is raised when the connection is lost."""
        if self.device is None:
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
            if self._get_pending_commits():
                raise CommitConfirmException("a commit waits for confirmation")
            if self.config_session is None:
                self._abort_left_behind()
                self.config_session = self._session_name
            self._load_config(None, text, failure is ReplaceConfigException)

    def _abort_left_behind(self) -> None:
        for name, one in self._run_commands(["show configuration sessions"])[0]["sessions"].items():
            mine = name == self._session_name or (self._take_over and name.startswith(_PREFIX))
            if one["state"] == "pending" and mine:
                self._run_commands([f"configure session {name} abort"], encoding="text")

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

    def _refusals(self, said: str, config: str) -> list[Refusal]:
        named = _REFUSED.fullmatch(said[max(0, said.find("CLI command")) :])
        if named is None:
            return [Refusal(said)]
        lines = config.splitlines()
        sent = [number for number, line in enumerate(lines, 1) if not line.lstrip().startswith("!")]
        at = int(named[1]) - 1 - _BEFORE
        texts = [number for number in sent if redacted(lines[number - 1].strip(), self.password) == named[2]]
        exact = sent[at] if 0 <= at < len(sent) and sent[at] in texts else next(iter(texts), 0)
        return [Refusal(named[3], FILE if exact else "", exact)]

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:  # noqa: ARG002
        """Commit the session; with `revert_in` (seconds, less than a day) EOS goes back unless confirmed."""
        if self.config_session is None:
            raise CommitError(f"{self.hostname}: no candidate is loaded")
        if revert_in is not None and not 0 < revert_in < _DAY_S:
            raise CommitConfirmException(f"{self.hostname}: revert_in must be 1 to {_DAY_S - 1} seconds")
        timer = "" if revert_in is None else f" timer {_clock(revert_in)}"
        commands = [
            f"copy running-config {ROLLBACK}",
            f"configure session {self.config_session} commit{timer}",
            *(["write memory"] if revert_in is None else []),
        ]
        with self._clean(CommitError):
            self._run_commands(commands, encoding="text")
        self.config_session = None

    def _resume_commit(self) -> None:
        """Take up the pending commit of this session, whichever connection made it.

        Raises:
            SessionLockedException: another session made the commit that waits.
        """
        waiting = list(self._get_pending_commits())
        if waiting and self._session_name not in waiting:
            raise SessionLockedException(f"session {waiting[0]} made the commit that waits")
        if waiting:
            self.config_session = self._session_name

    def confirm_commit(self) -> None:
        """Keep and save the pending commit of this session."""
        with self._clean(CommitError):
            self._resume_commit()
            super().confirm_commit()

    def rollback(self) -> None:
        """Go back to what ran before the last commit of this session, whether it waits for confirmation or not."""
        with self._clean(CommitError):
            self._resume_commit()
            super().rollback()

    def get_holds(self) -> list[Hold]:
        """A commit that waits for confirmation, and sessions that are not committed. Not part of NAPALM.

        Each session of EOS has a candidate of its own, so that of another one is in nobody's way.
        """
        with self._clean(CommandErrorException):
            waiting = self._get_pending_commits()
            sessions = self._run_commands(["show configuration sessions"])[0]["sessions"]
        found = [
            Hold(Claim.COMMIT, _owner(name), left if left >= 0 else None, own=name == self._session_name)
            for name, left in waiting.items()
        ]
        found += [
            Hold(Claim.CANDIDATE, _owner(name), own=name == self._session_name, blocks=False)
            for name, one in sessions.items()
            if one["state"] == "pending"
        ]
        return found

    def end_hold(self, hold: Hold) -> bool:
        """Abort the uncommitted session of another driver that is dead. Not part of NAPALM."""
        with self._clean(CommandErrorException):
            self._run_commands([f"configure session {_PREFIX}{hold.owner} abort"], encoding="text")
        return True

    def get_ecmp_widths(self) -> dict[str, int]:
        """Prefix -> next hops, for BGP routes of the default VRF; not part of NAPALM."""
        with self._clean(CommitError):
            answers = self._routes(["show ip route bgp", "show ipv6 route bgp"])
            tables = [one.get("vrfs", {}).get("default", one).get("routes", {}) for one in answers]
            return {prefix: len(route.get("vias", [])) for table in tables for prefix, route in table.items()}

    def _routes(self, commands: list[str]) -> Any:
        """Return tables of routes, which may have more values than other answers."""
        exchange = getattr(self.device, "connection", None)
        if not isinstance(exchange, _Exchange):
            return self._run_commands(commands)
        exchange.most_values = ROUTE_VALUES
        try:
            return self._run_commands(commands)
        finally:
            exchange.most_values = VALUES

    def _asked(self, command: str, revision: int) -> Any:
        """JSON of a command in one revision; None when this device refuses the command."""
        asked = command if self.transport == "ssh" else {"cmd": command, "revision": revision}
        try:
            return self._run_commands([asked])[0]
        except CommandError:
            return None

    def get_identity(self) -> dict[str, str]:
        """Hostname and serial number of the chassis; what this release does not report is empty. Not part of NAPALM."""
        with self._clean(CommandErrorException):
            name, version = self._asked("show hostname", 1) or {}, self._asked("show version", 1) or {}
            fields = {"hostname": name.get("hostname"), "serial_number": version.get("serialNumber")}
            return {key: str(value or "") for key, value in fields.items()}

    def get_lossless_counters(self) -> Counters:
        """Counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM.

        Raises:
            NotImplementedError: the platform states none.
        """
        tally = Tally()
        with self._clean(CommandErrorException):
            for command, revision, read in eos_views.QUESTIONS:
                if (answer := self._asked(command, revision)) is not None:
                    read(answer, tally)
            return tally.counters()

    def get_alarms(self) -> list[str]:
        """What EOS says of temperature, fans and power that is not well; not part of NAPALM.

        Raises:
            NotImplementedError: the platform states nothing of it.
        """
        with self._clean(CommandErrorException):
            answers = [(self._asked(command, revision), read) for command, revision, read in eos_views.HEALTH]
            if all(answer is None for answer, _ in answers):
                raise NotImplementedError("the platform states nothing of its health")
            return [alarm for answer, read in answers if answer is not None for alarm in read(answer)]


def _take_out(lines: list[str], at: int) -> None:
    """Make a comment of a line and of those that it is the heading of."""
    depth = len(lines[at]) - len(lines[at].lstrip())
    lines[at] = "!"
    for below in range(at + 1, len(lines)):
        text = lines[below]
        if text.strip() and len(text) - len(text.lstrip()) <= depth:
            break
        lines[below] = "!"


def _owner(session: str) -> str:
    """The owner of a configuration session: the name that a driver gave to its own, or that of a person's."""
    return session.removeprefix(_PREFIX)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
