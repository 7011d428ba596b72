"""Send datagrams and record which arrive: between pairs of rail addresses, during a change, and at MTU size."""

from __future__ import annotations

import errno
import random
import select
import struct
import time
from contextlib import ExitStack, suppress
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.lab import endpoints as lab_endpoints

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Sequence

    from fabricc.operate.lab.predict import Prediction
    from fabricc.operate.lab.running import Lab

INTERVAL_S = 0.02
MOST_FLOWS = 64
_SILENT_S, _WARM_S = 0.3, 0.5
_PROBE = struct.Struct("IId")


@dataclass(frozen=True, slots=True)
class Outage:
    """The losses of the flows.

    Attributes:
        flows, hit, silent: number of flows; of those that lost datagrams; of those still without traffic at the end.
        sent, lost: number of datagrams.
        worst_s: longest gap between two datagrams of a flow that arrived, by the sender's clock.
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
        marks: traffic class bytes of the flows, in turn; a datagram that arrives with another one counts as lost.
    """

    lab: Lab
    pairs: Sequence[tuple[lab_endpoints.Endpoint, lab_endpoints.Endpoint]]
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
        into = self._stack.enter_context(lab_endpoints.open_sockets(self.lab, list(receivers.values())))
        ports = {address: s.getsockname()[1] for address, (s, _) in zip(receivers, into, strict=True)}
        self._into = [channel for channel, _ in into]
        chosen = [self.pairs[at % len(self.pairs)] for at in range(self.flows if self.pairs else 0)]
        outs = self._stack.enter_context(
            lab_endpoints.open_sockets(self.lab, [sender for sender, _ in chosen])
        )
        for at, ((_, receiver), (channel, _)) in enumerate(zip(chosen, outs, strict=True)):
            tos = self.marks[at % len(self.marks)]
            lab_endpoints.set_traffic_class(channel, tos)
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
        """Send until every flow works again, at most `limit_s` seconds."""
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
            for arrival in lab_endpoints.receive_arrivals(channel):
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


PORT = 4791  # RoCEv2
MOST_PAIRS = 20_000
_PAIR = struct.Struct("II")
_ROUNDS, _WAIT_S, _BURST = 3, 0.4, 64
_OVERHEAD = {4: 28, 6: 48}  # IP and UDP headers, bytes


@dataclass(frozen=True, slots=True)
class Pair:
    """Two addresses and the predicted number of switches between them; None if there is no path."""

    sender: int
    receiver: int
    hops: int | None


@dataclass(frozen=True, slots=True)
class ReceivedDatagram:
    """The arrival of a pair's datagram: switches passed, and whether source, interface and traffic class are right."""

    hops: int
    source: bool
    interface: bool
    tos: bool


def choose_pairs(endpoints: Sequence[lab_endpoints.Endpoint], prediction: Prediction) -> list[Pair]:
    """Return ordered pairs of one family on different nodes: all, or a fixed random choice of `MOST_PAIRS`.

    Traffic inside a host never reaches the fabric.
    """
    drawn = draw_candidates(endpoints, MOST_PAIRS)
    return [Pair(at, to, prediction.hops(endpoints[at], endpoints[to])) for at, to in drawn]


def draw_candidates(endpoints: Sequence[lab_endpoints.Endpoint], most: int) -> list[tuple[int, int]]:
    """Return pairs of endpoint numbers on different nodes in one family, in a fixed random order, at most so many."""
    order = random.Random(len(endpoints))
    numbers = range(len(endpoints))
    if len(endpoints) ** 2 <= 4 * most:
        drawn = [(at, to) for at in numbers for to in numbers]
        order.shuffle(drawn)
    else:
        drawn = [(order.choice(numbers), order.choice(numbers)) for _ in range(4 * most)]
    fitting = (
        (at, to)
        for at, to in dict.fromkeys(drawn)
        if endpoints[at].node != endpoints[to].node and endpoints[at].version == endpoints[to].version
    )
    return list(islice(fitting, most))


def exchange_datagrams(
    lab: Lab, endpoints: Sequence[lab_endpoints.Endpoint], pairs: Sequence[Pair], marks: Sequence[int]
) -> dict[int, ReceivedDatagram]:
    """Send one datagram for each pair, again for those that do not arrive; return the arrivals by number of the pair.

    `pairs` may contain pairs without a path; `marks` are traffic class bytes, used in turn.
    """
    with lab_endpoints.open_sockets(lab, endpoints, PORT) as sockets, select.epoll() as poller:
        going = _Exchange(endpoints, sockets, pairs, marks, poller)
        for at, (channel, _) in enumerate(sockets):
            poller.register(channel, select.EPOLLIN)
            going.owner[channel.fileno()] = at
        for _ in range(_ROUNDS):
            if not going.send():
                break
            going.receive(_WAIT_S)
    return going.datagrams


@dataclass(slots=True)
class _Exchange:
    """A running exchange; `owner`: socket descriptor -> number of its endpoint."""

    endpoints: Sequence[lab_endpoints.Endpoint]
    sockets: Sequence[tuple[socket.socket, int]]
    wanted: Sequence[Pair]
    marks: Sequence[int]
    poller: select.epoll
    owner: dict[int, int] = field(default_factory=dict)
    datagrams: dict[int, ReceivedDatagram] = field(default_factory=dict)

    def send(self) -> bool:
        """Send the missing datagrams; return whether one was missing that should arrive."""
        missing = False
        for number, pair in enumerate(self.wanted):
            if number in self.datagrams:
                continue
            missing |= pair.hops is not None
            channel = self.sockets[pair.sender][0]
            lab_endpoints.set_traffic_class(channel, self.marks[number % len(self.marks)])
            with suppress(OSError):  # what cannot be sent does not arrive
                channel.sendto(_PAIR.pack(number, pair.sender), (self.endpoints[pair.receiver].address, PORT))
            if number % _BURST == 0:
                self.receive(0)
        return missing

    def receive(self, wait_s: float) -> None:
        while events := self.poller.poll(wait_s):
            for descriptor, _ in events:
                at = self.owner[descriptor]
                channel, interface = self.sockets[at]
                for arrival in lab_endpoints.receive_arrivals(channel):
                    number, sender = _PAIR.unpack_from(arrival.payload)
                    if number < len(self.wanted) and self.wanted[number].receiver == at:
                        self.datagrams[number] = ReceivedDatagram(
                            lab_endpoints.TTL - arrival.ttl,
                            arrival.source == self.endpoints[sender].address,
                            arrival.interface == interface,
                            arrival.tos == self.marks[number % len(self.marks)],
                        )


@dataclass(frozen=True, slots=True)
class MtuResult:
    """The result for a datagram of exactly the MTU (arrived whole), and for one byte more (refused)."""

    arrived: bool
    refused: bool


def probe_mtu(
    lab: Lab, endpoints: Sequence[lab_endpoints.Endpoint], mtu: int, prediction: Prediction
) -> Iterator[tuple[lab_endpoints.Endpoint, lab_endpoints.Endpoint, MtuResult]]:
    """Probe the MTU between each address and the next one that it reaches, with Don't Fragment set."""
    with lab_endpoints.open_sockets(lab, endpoints, PORT) as sockets:
        for at, sender in enumerate(endpoints):
            to = _next_reachable(endpoints, at, prediction)
            if to is not None:
                fit = _probe_fit(sender, endpoints[to], sockets[at][0], sockets[to][0], mtu)
                yield sender, endpoints[to], fit


def _next_reachable(
    endpoints: Sequence[lab_endpoints.Endpoint], at: int, prediction: Prediction
) -> int | None:
    sender = endpoints[at]
    for offset in range(1, len(endpoints)):
        to = (at + offset) % len(endpoints)
        receiver = endpoints[to]
        elsewhere = receiver.tor != sender.tor and receiver.node != sender.node
        if elsewhere and receiver.version == sender.version and prediction.hops(sender, receiver) is not None:
            return to
    return None


def _probe_fit(
    sender: lab_endpoints.Endpoint,
    receiver: lab_endpoints.Endpoint,
    out: socket.socket,
    into: socket.socket,
    mtu: int,
) -> MtuResult:
    lab_endpoints.never_fragment(out, sender.version)
    poller = select.poll()  # unlike select(2), for descriptors of any number
    poller.register(into, select.POLLIN)
    size = mtu - _OVERHEAD[sender.version]
    arrived = False
    for _ in range(_ROUNDS):
        out.sendto(bytes(size), (receiver.address, PORT))
        poller.poll(_WAIT_S * 1000)
        arrived = any(len(found.payload) == size for found in lab_endpoints.receive_arrivals(into, size + 1))
        if arrived:
            break
    try:
        out.sendto(bytes(size + 1), (receiver.address, PORT))
        refused = False
    except OSError as error:
        refused = error.errno == errno.EMSGSIZE
    return MtuResult(arrived, refused)
