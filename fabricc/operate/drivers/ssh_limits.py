"""Bound the memory that a device can fill over SSH: packets, and data that it sends past its window.

Paramiko checks neither: it reads a packet of any length, and buffers what a device sends although nobody reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import paramiko

if TYPE_CHECKING:
    from collections.abc import Callable

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
