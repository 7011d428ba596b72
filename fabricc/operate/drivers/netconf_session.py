"""NETCONF sessions of ncclient: bounded answers, and several requests sent before their answers are needed.

Bounded are bytes, values of XML, and what a device sends unasked. A server answers the requests of a session in order,
and a client may send the next one before the answer to the one before has arrived (RFC 6241, section 4.5): several
requests take one round trip together.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import ncclient.transport
from lxml import etree
from ncclient.operations.third_party.juniper.rpc import ExecuteRpc
from ncclient.transport import SSHSession
from ncclient.transport.errors import SSHError

from fabricc.operate.drivers import answers
from fabricc.operate.drivers.answers import TIMES, VALUES, AnswerTooLargeError, bound_channel, bound_packets

if TYPE_CHECKING:
    from ncclient.manager import Manager


_PART = 1 << 16
_opening: ContextVar[bool] = ContextVar("opening", default=False)


class _Nothing(bytes):
    """No data, where ncclient takes an empty answer for the end of the session."""

    def __bool__(self) -> bool:
        """True: the session goes on."""
        return True


class BoundedSession(SSHSession):  # type: ignore[misc]
    """A session that ends when an answer is larger than any; those that others open in this process are as before.

    Attributes:
        most_values: elements and attributes that an answer may have.
    """

    most_values = VALUES

    def __init__(self, device_handler: Any) -> None:
        """Take the arguments of ncclient's own class."""
        self._connection: Any = None
        super().__init__(device_handler)
        self._bounded = _opening.get()
        self._size = self._all = 0

    @property
    def _transport(self) -> Any:
        """The connection, which ncclient makes, and reads from, before anything of ours runs."""
        return self._connection

    @_transport.setter
    def _transport(self, connection: Any) -> None:
        self._connection = connection
        if connection is not None and _opening.get():
            bound_packets(connection)

    def connect(self, *arguments: Any, **named: Any) -> None:
        """Connect and log in, within a few timeouts: ncclient waits for ever for a device that never logs in.

        Raises:
            SSHError: the time is over, and what ncclient raises.
        """
        if not self._bounded or not named.get("timeout"):
            super().connect(*arguments, **named)
            return
        ended = threading.Event()
        longest = TIMES * float(named["timeout"])
        timer = threading.Timer(longest, self._end_connection, (ended,))
        timer.daemon = True
        timer.start()
        try:
            super().connect(*arguments, **named)
        except Exception as error:
            if ended.is_set():
                raise SSHError(f"no login in {longest:g} s") from error
            raise
        finally:
            timer.cancel()

    def _end_connection(self, ended: threading.Event) -> None:
        ended.set()
        if self._connection is not None:
            self._connection.close()

    def _post_connect(self, *arguments: Any) -> None:
        if self._bounded:
            bound_channel(self._channel)
        super()._post_connect(*arguments)

    def _transport_read(self) -> bytes:
        """Return what has come; what the device writes to standard error is dropped, and counts as well.

        Raises:
            AnswerTooLargeError: an answer is too large.
        """
        if not self._bounded:
            return self._read()
        channel = self._channel
        while channel.recv_stderr_ready():
            self._count(channel.recv_stderr(_PART))
        ended = channel.eof_received or channel.closed
        part = self._read() if ended or channel.recv_ready() else _Nothing()
        self._count(part)
        return part

    def _read(self) -> bytes:
        part: bytes = super()._transport_read()
        return part

    def _count(self, part: bytes) -> None:
        self._size += len(part)
        self._all += len(part)
        if self._size > answers.ANSWER_BYTES:
            raise AnswerTooLargeError
        if self._all > answers.SESSION_BYTES:
            raise AnswerTooLargeError(f"{answers.SESSION_BYTES:,} bytes in a session")

    def _dispatch_message(self, raw: str) -> None:
        """Hand on a whole answer; one that would take too much memory as a tree is not parsed."""
        self._size = 0
        if self._bounded and _count_values(raw) > self.most_values:
            self._dispatch_error(AnswerTooLargeError(f"{self.most_values:,} values"))
            return
        super()._dispatch_message(raw)


def _count_values(text: str) -> int:
    """Return how many elements and attributes XML may have at most: a few bytes of it can take a hundred of memory.

    An attribute may have blanks around its sign.
    """
    return text.count("<") - text.count("</") + text.count("=")


@contextmanager
def bounded_sessions() -> Iterator[None]:
    """Bound the sessions that are opened in this context: PyEZ does not let its callers choose the class."""
    ncclient.transport.SSHSession = BoundedSession
    token = _opening.set(True)
    try:
        yield
    finally:
        _opening.reset(token)


class _Sent:
    """The session of a request that is on its way already."""

    @staticmethod
    def send(message: str) -> None:
        """Send nothing."""


class _AheadRpc(ExecuteRpc):  # type: ignore[misc]
    """A request that is sent at once and waits for its answer later, as ncclient waits for any."""

    def request(self, rpc: etree._Element) -> _AheadRpc:
        """Send the request."""
        self._async = True
        self._request(rpc)
        return self

    def wait_for_answer(self, rpc: etree._Element) -> Any:
        """Return the answer, or raise what ncclient raises for it."""
        self._async, self._session = False, _Sent
        return self._request(rpc)


def _key_of(request: etree._Element) -> bytes:
    """Return a key that equal requests have, whatever the order of their attributes."""
    return bytes(etree.tostring(request, method="c14n"))


class AheadRequests:
    """The requests of one NETCONF session that were sent ahead, until their answers are used or dropped."""

    def __init__(self, manager: Manager) -> None:
        """Answer the requests of a manager: PyEZ sends all of them by its method `rpc`."""
        self._manager = manager
        self._send_now = manager.rpc
        self._uses: Counter[bytes] = Counter()
        self._sent: dict[bytes, _AheadRpc] = {}
        self._answers: dict[bytes, Any] = {}
        manager.rpc = self._answer

    def send(self, requests: Iterable[str], most_values: int = VALUES) -> None:
        """Send each request once; its answer serves as often as the request is listed. Earlier answers are dropped.

        Args:
            requests: as XML.
            most_values: elements and attributes that an answer may have.
        """
        self.drop()
        self._manager._session.most_values = most_values
        for request in map(etree.XML, requests):
            key = _key_of(request)
            if not self._uses[key]:
                self._sent[key] = self._manager.execute(_AheadRpc, request)
            self._uses[key] += 1

    def drop(self) -> None:
        """Drop answers that were not used."""
        self._uses, self._sent, self._answers = Counter(), {}, {}
        self._manager._session.most_values = VALUES

    def _answer(self, request: etree._Element, *more: Any) -> Any:
        """Return the answer to a request that was sent ahead, or send the request; one that failed is sent again."""
        key = _key_of(request) if self._uses else b""
        if self._uses[key] and key in self._sent:
            self._answers[key] = self._sent.pop(key).wait_for_answer(request)
        if not self._uses[key] or key not in self._answers:
            return self._send_now(request, *more)
        self._uses[key] -= 1
        return self._answers[key] if self._uses[key] else self._answers.pop(key)
