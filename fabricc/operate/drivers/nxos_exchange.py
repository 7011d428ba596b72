"""Requests of NX-API, bounded in size and time, and terminal and SCP connections with bounded packets.

A long request runs in parallel with others.
"""

from __future__ import annotations

import re
import threading
import time
from base64 import b64encode
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from napalm.nxapi_plumbing import NXAPIAuthError, NXAPICommandError, NXAPIConnectionError
from napalm.nxapi_plumbing.api_client import RPCClient
from netmiko.cisco import CiscoNxosSSH
from requests import Response

from fabricc.operate.drivers import answers, nxos_views
from fabricc.operate.drivers import answers as device_answers
from fabricc.operate.drivers.single import tls_context

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import paramiko


_READS = re.compile(r"(?:show|dir|terminal dont-ask)\b|configure replace \S+ (?:verify-only|show-patch)$")
"""Commands that change nothing, so that they can be sent again."""
QUIET = "terminal dont-ask"
"""Lets the commands after it in the same request run without prompts, which would wait for a person."""
_MOST_COMMANDS = 10
"""Commands in a request: NX-API takes at most ten consecutive `show` commands (Cisco's NX-API guide)."""


class _Answer(Response):
    """An answer with the values of its JSON."""

    values: Any = None


class Exchange(RPCClient):  # type: ignore[misc]
    """Requests of NX-API, each bounded in size and by a deadline for all of it.

    A request whose answer is lost is sent once more, unless it changes the switch.

    Attributes:
        longest_s: the deadline; 0 for a few times the timeout.
        answered: whether the switch has answered before; a request to one that never did is not sent again.
        refused: whether it refused the login of the last request.
    """

    longest_s = 0.0
    answered = refused = False

    def _send_request(self, commands: list[str], method: str) -> _Answer:
        try:
            answer = self._send_once(commands, method)
        except NXAPIConnectionError:
            if not self.answered or not all(map(_READS.match, commands)):
                raise
            answer = self._send_once(commands, method)
        self.answered = True
        return answer

    def _send_once(self, commands: list[str], method: str) -> _Answer:
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
            longest = self.longest_s or device_answers.TIMES * timeout
            status, reason, content = device_answers.post_request(
                connection, place.path, body, headers, longest, device_answers.bound_connection(connection)
            )
        except TimeoutError:
            raise
        except (OSError, HTTPException) as error:
            raise NXAPIConnectionError(str(error) or type(error).__name__) from None
        self.refused = status == HTTPStatus.UNAUTHORIZED
        if self.refused:
            raise NXAPIAuthError("the login is refused")
        try:
            device_answers.require_answer(status, reason, content)
            most = (
                device_answers.ROUTE_VALUES if {*commands} & {*nxos_views.ROUTES} else device_answers.VALUES
            )
            values = device_answers.parse_json(content, "an answer of NX-API", most)
        except device_answers.LostAnswerError as error:
            time.sleep(answers.AGAIN_S)
            raise NXAPIConnectionError(str(error)) from None
        answer = _Answer()
        answer.status_code, answer.encoding, answer._content = status, "utf-8", content
        answer.values = values
        return answer

    def read_tables(self, commands: Iterable[str]) -> dict[str, Any]:
        """Return command -> JSON, or the error of a command that the switch refuses; see `read_texts`."""
        return self._read_answers((), commands, self.cmd_method, "body")

    def read_texts(self, commands: Iterable[str]) -> dict[str, Any]:
        """Return command -> text, or the error of a command that the switch refuses.

        NX-API stops at such a command, so the commands after it are sent again.
        """
        return self._read_answers((QUIET,), commands, self.cmd_method_raw, "msg")

    def _read_answers(
        self, first: tuple[str, ...], commands: Iterable[str], method: str, field: str
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        left = list(dict.fromkeys(commands))
        while left:
            sent = [*first, *left[:_MOST_COMMANDS]]
            known = len(found)
            answer = self._send_request(sent, method)
            try:
                # What came before a refusal stays.
                found.update(one for one in self._read_results(answer, sent, field) if one[0] not in first)
            except NXAPICommandError as error:
                if error.command in first:
                    raise
                found[error.command] = error
            if len(found) == known:
                raise device_answers.AnswerError(f"{len(sent)} commands have no answer")
            left = [one for one in left if one not in found]
        return found

    def _process_api_response(
        self, response: _Answer, commands: list[str], raw_text: bool = False
    ) -> list[dict[str, Any]]:
        found = [*self._read_results(response, commands, "msg" if raw_text else "body")]
        if len(found) != len(commands):
            raise device_answers.AnswerError(f"{len(commands)} commands have {len(found)} answers")
        return [{"command": command, "result": result} for command, result in found]

    def _read_results(self, response: _Answer, commands: list[str], field: str) -> Iterator[tuple[str, Any]]:
        """Yield each command with its result.

        Raises:
            NXAPICommandError: the switch refuses a command.
            AnswerError: the answer is none of NX-API.
        """
        found = response.values
        several = [found] if isinstance(found, dict) else found
        if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):
            raise device_answers.AnswerError(
                f"not an NX-API answer: {device_answers.quote_words(response.text)}"
            )
        for command, one in zip(commands, several, strict=False):
            self._error_check({**one, "command": command})
            if "result" not in one or not isinstance(one["result"] or {}, dict):
                raise device_answers.AnswerError(
                    f"not an NX-API answer: {device_answers.quote_words(response.text)}"
                )
            yield command, (one["result"] or {}).get(field)


class LongRequest:
    """A request whose answer may take minutes; it runs in a thread of its own, so that others can be sent meanwhile.

    Attributes:
        text: the answer to the last command, once there is one.
        error: why there is none.
    """

    def __init__(self, exchange: Exchange, commands: list[str]) -> None:
        self.text, self.error = "", None  # type: tuple[str, Exception | None]
        self._thread = threading.Thread(target=self._run, args=(exchange, commands), daemon=True)
        self._thread.start()

    def _run(self, exchange: Exchange, commands: list[str]) -> None:
        try:
            answers = exchange._nxapi_command(commands, method=exchange.cmd_method_raw)
            self.text = str(answers[-1]["result"] or "")
        except Exception as error:
            self.error = error

    def wait(self, seconds: float) -> bool:
        """Wait a while for the answer, and return whether the request has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()


class BoundedTerminal(CiscoNxosSSH):
    """A terminal of netmiko, which makes its connections for SCP in the same way."""

    def _build_ssh_client(self) -> paramiko.SSHClient:
        client: paramiko.SSHClient = super()._build_ssh_client()
        client.connect = partial(client.connect, transport_factory=device_answers.BoundedTransport)  # type: ignore[method-assign]
        return client
