"""Send a steady stream of datagrams over many flows, to measure the effect of a failure or a change."""

from __future__ import annotations

import struct
import time
from contextlib import ExitStack
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.lab.endpoints import open_sockets, receive_arrivals, set_traffic_class

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from fabricc.operate.lab.endpoints import Endpoint
    from fabricc.operate.lab.running import Lab

INTERVAL_S = 0.02
MOST_FLOWS = 64
_SILENT_S, _WARM_S = 0.3, 0.5
_PROBE = struct.Struct("IId")


@dataclass(frozen=True, slots=True)
class Outage:
    """The losses of the flows.

    Attributes:
        flows, hit, silent: how many there were, how many lost datagrams, how many had not come back at the end.
        sent, lost: datagrams.
        worst_s: longest time, by the clock of the sender, between two datagrams of a flow that arrived.
    """

    flows: int
    hit: int
    sent: int
    lost: int
    worst_s: float
    silent: int = 0


@dataclass(slots=True)
class _Flow:
    out: socket.socket
    to: tuple[str, int]
    sent: int = 0
    received: int = 0
    last: float = 0.0
    worst_s: float = 0.0
    tos: int = 0


@dataclass(slots=True)
class Stream:
    """Flows between pairs of endpoints, each from a source port of its own; a context manager.

    Attributes:
        marks: traffic class bytes of the flows, in turn; what arrives with another one is lost.
    """

    lab: Lab
    pairs: Sequence[tuple[Endpoint, Endpoint]]
    flows: int = MOST_FLOWS
    marks: Sequence[int] = (0,)
    _stack: ExitStack = field(default_factory=ExitStack)
    _flows: list[_Flow] = field(default_factory=list)
    _into: list[socket.socket] = field(default_factory=list)
    _due: float = 0.0
    _latest: float = 0.0
    _round: int = 0

    def __enter__(self) -> Stream:
        """Open the sockets; nothing is sent yet."""
        receivers = {receiver.address: receiver for _, receiver in self.pairs}
        into = self._stack.enter_context(open_sockets(self.lab, list(receivers.values())))
        ports = {address: s.getsockname()[1] for address, (s, _) in zip(receivers, into, strict=True)}
        self._into = [channel for channel, _ in into]
        chosen = [self.pairs[at % len(self.pairs)] for at in range(self.flows if self.pairs else 0)]
        outs = self._stack.enter_context(open_sockets(self.lab, [sender for sender, _ in chosen]))
        for at, ((_, receiver), (channel, _)) in enumerate(zip(chosen, outs, strict=True)):
            tos = self.marks[at % len(self.marks)]
            set_traffic_class(channel, tos)
            self._flows.append(_Flow(channel, (receiver.address, ports[receiver.address]), tos=tos))
        self._due = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the sockets."""
        self._stack.close()

    def run(self, seconds: float) -> None:
        """Send and receive for some time."""
        until = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            if now >= self._due:
                self._send(now)
                self._due = max(self._due + INTERVAL_S, now)
            self._receive()
            if now >= until:
                return
            time.sleep(min(0.002, max(0.0, until - now)))

    def recover(self, limit_s: float) -> None:
        """Run on until every flow carries again, or for so long."""
        until = time.monotonic() + limit_s
        self.run(_WARM_S)
        while self._silent() and time.monotonic() < until:
            self.run(INTERVAL_S)

    def _silent(self) -> list[_Flow]:
        return [flow for flow in self._flows if self._latest - flow.last > _SILENT_S]

    def _send(self, now: float) -> None:
        self._latest = now
        for number, flow in enumerate(self._flows):
            flow.sent += 1
            try:
                flow.out.sendto(_PROBE.pack(self._round, number, now), flow.to)
            except OSError:
                continue  # no route just now: a lost datagram like any other

    def _receive(self) -> None:
        for channel in self._into:
            for arrival in receive_arrivals(channel):
                measured, number, sent = _PROBE.unpack_from(arrival.payload)
                if measured != self._round:
                    continue
                flow = self._flows[number]
                if arrival.tos != flow.tos:
                    continue
                flow.received += 1
                flow.worst_s = max(flow.worst_s, sent - flow.last)
                flow.last = max(flow.last, sent)

    def start(self) -> None:
        """Warm neighbor tables up, then forget what was counted."""
        self.run(_WARM_S)
        self._drain()
        self._round += 1
        self._due = self._latest = time.monotonic()
        for flow in self._flows:
            flow.sent = flow.received = 0
            flow.worst_s, flow.last = 0.0, self._due

    def outage(self) -> Outage:
        """Return the losses since `start`."""
        self._drain()
        silent = self._silent()
        for flow in silent:
            flow.worst_s = max(flow.worst_s, self._latest - flow.last)
        lost = [flow.sent - flow.received for flow in self._flows]
        return Outage(
            len(self._flows),
            sum(count > 0 for count in lost),
            sum(flow.sent for flow in self._flows),
            sum(lost),
            max((flow.worst_s for flow in self._flows), default=0.0),
            len(silent),
        )

    def _drain(self) -> None:
        """Receive datagrams that are still on their way."""
        for _ in range(10):
            time.sleep(INTERVAL_S)
            self._receive()
