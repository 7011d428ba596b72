"""Parse the answers of devices, and limit their bytes and total seconds, however slowly they arrive.

A timeout of a socket begins anew with every byte, so a device can hold a connection open for good. Here the whole
exchange has one deadline, at which the connection is cut from outside. Paramiko bounds no memory that a device can fill
over SSH: it reads a packet of any length, and buffers what a device sends although nobody reads it. Libraries print and
log nothing of what a device sends: none of it is escaped, and it may hold secrets.
"""

from __future__ import annotations

import http.client
import json
import logging
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

import paramiko

ANSWER_BYTES = 64 << 20
"""Bytes of one answer: the largest configurations and counters of switches are of a few MiB. Our judgment."""
SESSION_BYTES = 4 * ANSWER_BYTES
"""Bytes of a whole NETCONF session: a push of a switch takes some 10 MiB. Our judgment."""
TIMES = 3
"""How many timeouts a whole exchange may take, over HTTP or with several programs. Our judgment."""
_PART = 1 << 20


class AnswerTooLargeError(OSError):
    """An answer of a device is larger than the limit."""

    def __init__(self, most: str = "") -> None:
        """Take the limit in words, such as `1,000,000 values`; by default it is that of bytes."""
        super().__init__(f"the answer has more than {most or f'{ANSWER_BYTES:,} bytes'}")


@contextmanager
def cut_after(seconds: float, cut: Callable[[], None]) -> Iterator[threading.Event]:
    """Cut a connection off when its use takes longer; the event is set when that happened.

    `cut`, which makes every wait for the device end, is called from another thread.
    """
    late = threading.Event()

    def strike() -> None:
        late.set()
        with suppress(Exception):
            cut()

    timer = threading.Timer(seconds, strike)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


class BoundedResponse(http.client.HTTPResponse):
    """An answer over HTTP that is read whole only when it is not too large."""

    def read(self, amt: int | None = None) -> bytes:
        """Return the whole answer, or a part of it.

        Raises:
            AnswerTooLargeError: the whole answer is too large.
        """
        if amt is not None:
            return super().read(amt)
        content = bytearray()
        while part := super().read(_PART):
            content += part
            if len(content) > ANSWER_BYTES:
                raise AnswerTooLargeError
        return bytes(content)


def bound_connection(connection: http.client.HTTPConnection) -> Callable[[], None]:
    """Bound the answers of a connection that is not open yet, and give what cuts it off, in its TLS handshake too."""
    twins: list[socket.socket] = []

    def connect_bounded(*arguments: Any, **named: Any) -> socket.socket:
        # The twin reaches the connection also while TLS holds the socket itself.
        plain = socket.create_connection(*arguments, **named)
        while twins:
            twins.pop().close()
        twins.append(plain.dup())
        return plain

    def cut() -> None:
        for twin in twins:
            twin.shutdown(socket.SHUT_RDWR)

    connection.response_class = BoundedResponse
    connection._create_connection = connect_bounded  # type: ignore[attr-defined]
    return cut


def post_request(
    connection: http.client.HTTPConnection,
    path: str,
    body: bytes,
    headers: dict[str, str],
    seconds: float,
    cut: Callable[[], None],
) -> tuple[int, str, bytes]:
    """Post something over a connection that is closed again: status, its reason and content.

    `cut` is what `bound_connection` returned for the connection.

    Raises:
        TimeoutError: it took longer.
        OSError, http.client.HTTPException: the connection failed.
    """
    with cut_after(seconds, cut) as late:
        try:
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            return response.status, response.reason, response.read()
        except (OSError, http.client.HTTPException) as error:
            if late.is_set() or isinstance(error, TimeoutError):
                raise TimeoutError(f"no whole answer within {seconds:g} s") from None
            raise
        finally:
            connection.close()


_RAW = ("ncclient", "jnpr")
"""Their warnings and log records quote answers of a device as they came."""
_LIBRARIES = (*_RAW, "netmiko", "paramiko", "pyeapi", "napalm")


def silence_libraries() -> None:
    """Let libraries print nothing by themselves, and let those that quote raw answers log nothing.

    Who wants their records sets a level of their loggers, such as `logging.getLogger("ncclient").setLevel("DEBUG")`.
    """
    for name in _LIBRARIES:
        logger = logging.getLogger(name)
        if not logger.handlers:  # without any handler, Python prints warnings and errors itself
            logger.addHandler(logging.NullHandler())
        if name in _RAW and logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL + 1)
    for name in _RAW:
        # Each time a driver connects: PyEZ resets all filters of warnings.
        warnings.filterwarnings("ignore", module=rf"{name}\.")


PACKET_BYTES = 256 << 10
"""Bytes of a packet: OpenSSH's own limit (`PACKET_MAX_SIZE` in packet.c); RFC 4253, section 6.1, requires 35,000."""
GREETING_BYTES = 64 << 10
"""Bytes before the first packet: RFC 4253, section 4.2, permits lines of text before the version. Our judgment."""
BUFFERED_BYTES = 4 << 20
"""Bytes of a stream that nobody has read yet: twice the window that paramiko grants for both streams of a channel."""


class BoundedTransport(paramiko.Transport):
    """A connection whose packets are bounded from its first one on."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Take the arguments of paramiko's own class."""
        super().__init__(*arguments, **named)
        bound_packets(self)


def bound_packets(transport: paramiko.Transport) -> None:
    """Let a connection end that brings a packet larger than any, or no packet after a lot of text."""
    packets: Any = transport.packetizer
    read: Callable[..., bytes] = packets.read_all
    read_text: Callable[[float], bytes] = (
        packets._read_timeout
    )  # paramiko's part of a line before the first packet
    left = GREETING_BYTES

    def read_bounded(size: int, check_rekey: bool = False) -> bytes:
        if size > PACKET_BYTES:
            raise paramiko.SSHException(f"a packet has {size:,} bytes, more than any")
        return read(size, check_rekey)

    def bounded_text(timeout: float) -> bytes:
        nonlocal left
        part = read_text(timeout)
        left -= len(part)
        if left < 0:
            raise paramiko.SSHException(f"no SSH version in {GREETING_BYTES:,} bytes")
        return part

    packets.read_all = read_bounded
    packets._read_timeout = bounded_text


def bound_channel(channel: paramiko.Channel) -> None:
    """Let a connection end that brings more than its window; `stderr` that nobody reads counts as well."""
    for stream in (channel.in_buffer, channel.in_stderr_buffer):
        _bound_stream(stream)


def _bound_stream(stream: Any) -> None:
    feed: Callable[[bytes], None] = stream.feed

    def check_part(part: bytes) -> None:
        if len(stream) + len(part) > BUFFERED_BYTES:
            raise paramiko.SSHException("the device sends more than the window that it was granted")
        feed(part)

    stream.feed = check_part


VALUES = 1_000_000
"""JSON values of one answer: counters of 512 ports have some 100,000. Our judgment; one takes up to 250 bytes."""
ROUTE_VALUES = 4_000_000
"""The same of tables of routes: 10,000 prefixes with 64 next hops each have 2,500,000."""
_LARGE = 100_000
_ONE_AT_A_TIME = threading.Lock()
"""Held while a large answer is parsed, so that many of them do not come at once."""
_SHOWN = 1000


class AnswerError(ValueError):
    """An answer that is not of the requested form; its text describes it."""


class LostAnswerError(AnswerError):
    """An answer that is missing or cut off, or a server's own failure: the same request may be answered later."""


AGAIN_S = 1.0
"""Seconds before such a request is sent again."""


def parse_json(content: str | bytes, what: str = "an answer", most: int = VALUES) -> Any:
    """Return the values of JSON.

    Values are counted before they are made: five bytes of text can become a hundred of memory.

    Args:
        content: the text; in bytes it is UTF-8.
        what: names it in the error.
        most: values that it may have.

    Raises:
        AnswerError: it is nested too deeply, or has too many values; LostAnswerError, it is empty or no JSON.
    """
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    if not text.strip():
        raise LostAnswerError(f"{what} is empty")
    size = text.count(",") + text.count("[") + text.count("{")
    if size > most:
        raise AnswerError(f"{what} has more than {most:,} values")
    try:
        if size <= _LARGE:
            return json.loads(text)
        with _ONE_AT_A_TIME:
            return json.loads(text)
    except RecursionError:
        raise AnswerError(f"{what} is nested too deeply") from None
    except ValueError:
        raise LostAnswerError(f"{what} is not JSON: {quote_words(text)}") from None


def require_answer(status: int, reason: str, content: bytes) -> None:
    """Refuse an HTTP answer that does not come from the requested service.

    Raises:
        AnswerError: another status than 200; its text has the status and the first words. LostAnswerError, one of a
            server's failure (500 and more), or nothing in the answer.
    """
    if status != HTTPStatus.OK:
        words = quote_words(content.decode("utf-8", "replace")) if content.strip() else "nothing"
        kind = LostAnswerError if status >= HTTPStatus.INTERNAL_SERVER_ERROR else AnswerError
        raise kind(f"HTTP status {status} {reason}".strip() + f" with {words}")
    if not content.strip():
        raise LostAnswerError("an answer is empty")


def quote_words(text: str) -> str:
    """Return the first words of a text in quotation marks, without control characters."""
    words = " ".join(text[: _SHOWN * 4].split())
    return repr(f"{words[:_SHOWN]}…" if len(words) > _SHOWN else words)
