"""NAPALM's NX-OS driver with the device's own configuration replace, and without its traps."""

from __future__ import annotations

import hashlib
import re
import uuid
from base64 import b64encode
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import napalm.nxos
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
)
from napalm.base.helpers import canonical_interface_name
from napalm.nxapi_plumbing import NXAPIAuthError, NXAPICommandError, NXAPIConnectionError
from napalm.nxapi_plumbing.api_client import RPCClient
from napalm.nxapi_plumbing.device import Device
from napalm.nxapi_plumbing.errors import NXAPIError
from netmiko.exceptions import NetmikoAuthenticationException, NetmikoBaseException
from requests import Response
from requests.exceptions import RequestException

from fabricc.operate.drivers import nxos_views
from fabricc.operate.drivers.answers import (
    ROUTE_VALUES,
    VALUES,
    AnswerError,
    parse_json,
    quoted,
    require_answer,
)
from fabricc.operate.drivers.checking import Checking, Options
from fabricc.operate.drivers.holds import Claim, Hold
from fabricc.operate.drivers.limits import TIMES, bound, posted
from fabricc.operate.drivers.lossless import Counters, Tally
from fabricc.operate.drivers.redact import excerpt
from fabricc.operate.drivers.single import clean, one_text, tls_context

FILE = "running-config.cfg"
SHORTEST_S, LONGEST_S = 30, 3600
_BAD = re.compile(r"(?i)fail|abort|error|invalid")
_RUNNING = re.compile(r"(?im)^operation status *:.*in.?progress")
_HEADER = re.compile(r"(?i)^(!|collecting|converting|generating|config replace|configure replace|#|\s*$)")


class _Exchange(RPCClient):  # type: ignore[misc]
    """Requests of NX-API, each bounded in size and by a deadline for all of it."""

    def _send_request(self, commands: list[str], method: str) -> Response:
        place = urlsplit(self.url)
        timeout = float(self.timeout)
        name, port = str(place.hostname), place.port
        connection = (
            HTTPSConnection(name, port, timeout=timeout, context=tls_context({"ssl_verify": self.verify}))
            if place.scheme == "https"
            else HTTPConnection(name, port, timeout=timeout)
        )
        login = b64encode(f"{self.username}:{self.password}".encode()).decode()
        headers = {**self.headers, "Authorization": f"Basic {login}"}
        body = self._build_payload(commands, method).encode()
        try:
            status, reason, content = posted(
                connection, place.path, body, headers, TIMES * timeout, bound(connection)
            )
        except TimeoutError:
            raise
        except (OSError, HTTPException) as error:
            raise NXAPIConnectionError(str(error) or type(error).__name__) from None
        if status == HTTPStatus.UNAUTHORIZED:
            raise NXAPIAuthError("the login is refused")
        require_answer(status, reason, content)
        answer = Response()
        answer.status_code, answer.encoding, answer._content = status, "utf-8", content
        return answer

    def _process_api_response(
        self, response: Response, commands: list[str], raw_text: bool = False
    ) -> list[dict[str, Any]]:
        most = ROUTE_VALUES if {*commands} & {*nxos_views.ROUTES} else VALUES
        found = parse_json(response.content, "an answer of NX-API", most)
        several = [found] if isinstance(found, dict) else found
        if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):
            raise AnswerError(f"an answer is none of NX-API: {quoted(response.text)}")
        field, answers = ("msg" if raw_text else "body"), []
        for command, one in zip(commands, several, strict=False):
            self._error_check({**one, "command": command})
            answers.append({"command": command, "result": (one.get("result") or {}).get(field)})
        return answers


class NxosDriver(Checking, napalm.nxos.NXOSDriver):  # type: ignore[misc]
    """Cisco NX-OS over NX-API and SCP; a candidate is `running-config.cfg`, the whole device.

    What differs from NAPALM's own driver:

    * A replace is `configure replace`, which takes a running configuration; NAPALM's wants a checkpoint file that only
      the device can write. It is verified when loaded (`verify-only`), compared by the device (`show-patch`), and can
      wait for confirmation (`commit-timeout`, 30 to 3600 s; Cisco Nexus 9000 System Management Configuration Guide,
      "Performing Configuration Replace"). The exact text of its answers is assumed: not tried on a device.
    * Merges are refused: NAPALM's applies line by line, and takes a refused line for success.
    * TLS and SSH host keys are verified: `ssl_verify` (True, a file of authorities, or False), `ssh_strict`,
      `system_host_keys`, `alt_key_file` as for netmiko; `ssh_port` (22) of the SCP server.
    * `close()` ends the SSH session too.
    * Lost connections and refused logins are NAPALM's exceptions; texts are without secrets.
    """

    CONFIRM_STEP = 1
    CONFIRM_LIMITS = (SHORTEST_S, LONGEST_S)
    loaded: bool

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
        # Two sessions must not commit each other's candidate, so each has a file of its own.
        session = str(options.get("session") or uuid.uuid4())
        self.candidate_cfg = f"candidate-{hashlib.sha256(session.encode()).hexdigest()[:12]}.txt"

    def _clean(self, failure: type[NapalmException]) -> Any:
        foreign: dict[type[BaseException], type[NapalmException]] = {
            NXAPIAuthError: ConnectAuthError,
            NXAPIConnectionError: ConnectionClosedException,
            AnswerError: ConnectionException,
            TimeoutError: CommandTimeoutException,
            RequestException: ConnectionClosedException,
            NXAPICommandError: failure,
            NXAPIError: failure,
            NetmikoAuthenticationException: ConnectAuthError,
            NetmikoBaseException: ConnectionClosedException,
            AssertionError: ConnectionClosedException,
        }
        return clean(self.hostname, foreign, self.password)

    def _netmiko_open(self, device_type: str, netmiko_optional_args: Options = None) -> Any:
        return super()._netmiko_open(device_type, {**(netmiko_optional_args or {}), "port": self._ssh_port})

    def open(self) -> None:
        """Connect and log in."""
        with self._clean(ConnectionClosedException):
            try:
                self._open()
            except ConnectionException as error:
                if isinstance(error.__context__, NXAPIAuthError):
                    raise ConnectAuthError(f"refuses the login of {self.username}") from None
                raise ConnectionException(str(error.__context__ or error)) from None

    def _open(self) -> None:
        """As NAPALM does it, with requests of our own."""
        try:
            self.device = Device(
                self.hostname, self.username, self.password, self.transport, "jsonrpc", self.port, self.timeout,
                self.ssl_verify,
            )  # fmt: skip
            self.device.api = _Exchange(
                self.hostname, self.username, self.password, self.transport, self.port, self.timeout, self.ssl_verify
            )  # fmt: skip
            self._send_command("show hostname")
        except (NXAPIConnectionError, NXAPIAuthError):
            raise ConnectionException(f"Cannot connect to {self.hostname}")  # noqa: B904 - the reason is its context

    def close(self) -> None:
        """Delete a candidate that was not committed and disconnect; nothing is raised when the connection is lost."""
        if self.device is not None:
            with suppress(NapalmException):
                self.discard_config()
        with suppress(NetmikoBaseException, OSError, EOFError):
            self._netmiko_close()
        super().close()

    def abandon(self) -> None:
        """Disconnect from a switch that does not answer, asking it nothing more; not part of NAPALM."""
        with suppress(Exception):
            self._netmiko_device.remote_conn_pre.close()

    def _say(self, command: str, failure: type[NapalmException]) -> str:
        """The text of a command's answer, without the questions that would wait for a person."""
        with self._clean(failure):
            assert self.device is not None
            answers = self.device.show_list(["terminal dont-ask", command], raw_text=True)
            return str(answers[1]["result"] or "")

    @property
    def _target(self) -> str:
        return f"{self._dest_file_system}{self.candidate_cfg}"

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Copy the whole device's configuration to the device, which verifies it."""
        text = one_text(filename, config, FILE, ReplaceConfigException)
        if self.has_pending_commit():
            raise CommitConfirmException(f"{self.hostname}: a commit waits for confirmation")
        with self._clean(ReplaceConfigException):
            super().load_replace_candidate(config=text)
        said = self._say(f"configure replace {self._target} verify-only", ReplaceConfigException)
        if "validation completed successful" not in said:
            self.discard_config()
            with self._clean(ReplaceConfigException):
                raise ReplaceConfigException(excerpt(said, self.password, longest=500, end=True))

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:  # noqa: ARG002
        """Refused: a merge is not atomic, and a refused line would go unnoticed.

        Raises:
            MergeConfigException: always.
        """
        raise MergeConfigException(
            f"{self.hostname}: NX-OS merges line by line; replace the whole configuration"
        )

    def _files_of(self, config: str) -> dict[str, str]:
        return {FILE: one_text(None, config, FILE, ReplaceConfigException)}

    def compare_config(self) -> str:
        """The commands that the device would run."""
        if not self.loaded:
            return ""
        said = self._say(f"configure replace {self._target} show-patch", CommitError)
        return "\n".join(line.rstrip() for line in said.splitlines() if not _HEADER.match(line))

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:  # noqa: ARG002
        """Replace the running configuration; with `revert_in` (30 to 3600 s) NX-OS goes back unless confirmed."""
        if not self.loaded:
            raise CommitError(f"{self.hostname}: no candidate is loaded")
        if revert_in is not None and not SHORTEST_S <= revert_in <= LONGEST_S:
            raise CommitConfirmException(
                f"{self.hostname}: revert_in must be {SHORTEST_S} to {LONGEST_S} seconds"
            )
        with self._clean(CommitError):
            self._save_to_checkpoint(self.rollback_cfg)
        wait = "" if revert_in is None else f" commit-timeout {revert_in}"
        said = self._say(f"configure replace {self._target}{wait}", CommitError)
        if "completed successfully" not in said or _BAD.search(said):
            with self._clean(CommitError):
                raise CommitError(excerpt(said, self.password, longest=500, end=True))
        self.loaded = False
        if revert_in is None:
            self._save()

    def _save(self) -> None:
        with self._clean(CommitError):
            self._copy_run_start()

    def has_pending_commit(self) -> bool:
        """Whether a commit waits for confirmation."""
        return any(hold.left_s is not None for hold in self.get_holds())

    def get_holds(self) -> list[Hold]:
        """A commit that waits for confirmation, or a replace that is in progress, by `show config-replace status`.

        NX-OS does not report who made it. Not part of NAPALM.
        """
        said = self._say("show config-replace status", CommandErrorException)
        remaining = re.search(r"(?i)remaining[^\n\d]*(\d+)", said)
        if remaining is not None and int(remaining[1]) > 0:
            return [Hold(Claim.COMMIT, left_s=float(remaining[1]), own=None)]
        return [Hold(Claim.COMMIT)] if _RUNNING.search(said) else []

    def confirm_commit(self) -> None:
        """Stop the timer and save."""
        if not self.has_pending_commit():
            raise CommitError(f"{self.hostname}: no commit waits for confirmation")
        self._say("configure replace commit", CommitError)
        self._save()

    def rollback(self) -> None:
        """Go back to the checkpoint taken before the last commit, and stop a timer that runs."""
        pending = self.has_pending_commit()
        with self._clean(CommitError):
            try:
                super().rollback()
            except ReplaceConfigException as error:
                raise CommitError(str(error)) from None
        if pending:
            self._say("configure replace commit", CommitError)

    def discard_config(self) -> None:
        """Delete the candidate."""
        with self._clean(CommandErrorException):
            super().discard_config()

    # Getters.

    def get_ecmp_widths(self) -> dict[str, int]:
        """Prefix -> next hops, for BGP routes of the default VRF; not part of NAPALM."""
        with self._clean(CommandErrorException):
            return nxos_views.ecmp_widths(*(self._send_command(command) for command in nxos_views.ROUTES))

    def _asked(self, command: str) -> Any:
        """JSON of a command; None when this device refuses it or has nothing to say."""
        try:
            return self._send_command(command) or None
        except NXAPICommandError:
            return None

    def get_identity(self) -> dict[str, str]:
        """Hostname and serial number of the chassis; what this release does not report is empty. Not part of NAPALM."""
        with self._clean(CommandErrorException):
            name = self._asked(nxos_views.HOSTNAME) or {}
            serial = nxos_views.chassis_serial(self._asked(nxos_views.INVENTORY) or {})
            return {"hostname": str(name.get("hostname") or ""), "serial_number": serial}

    def get_lossless_counters(self) -> Counters:
        """Counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM.

        Raises:
            NotImplementedError: the platform states none.
        """
        tally, classes = Tally(), nxos_views.Classes(canonical_interface_name)
        with self._clean(CommandErrorException):
            for command, read in nxos_views.QUESTIONS:
                if (answer := self._asked(command)) is not None:
                    read(answer, classes, tally)
            return tally.counters()

    def get_alarms(self) -> list[str]:
        """What NX-OS says of temperature, fans and power that is not well; not part of NAPALM.

        Raises:
            NotImplementedError: the platform states nothing of it.
        """
        with self._clean(CommandErrorException):
            if (answer := self._asked(nxos_views.HEALTH)) is None:
                raise NotImplementedError("the platform states nothing of its health")
            return nxos_views.alarms(answer)
