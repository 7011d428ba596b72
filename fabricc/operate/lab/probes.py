"""Send datagrams between pairs of rail addresses, also of the largest size, and record those that arrive."""

from __future__ import annotations

import errno
import random
import select
import struct
from contextlib import suppress
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.lab.endpoints import (
    TTL,
    never_fragment,
    open_sockets,
    receive_arrivals,
    set_traffic_class,
)

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Sequence

    from fabricc.operate.lab.endpoints import Endpoint
    from fabricc.operate.lab.predict import Prediction
    from fabricc.operate.lab.running import Lab

PORT = 4791  # RoCEv2
MOST_PAIRS = 20_000
_PAIR = struct.Struct("II")
_ROUNDS, _WAIT_S, _BURST = 3, 0.4, 64
_OVERHEAD = {4: 28, 6: 48}  # IP and UDP headers, bytes


@dataclass(frozen=True, slots=True)
class Pair:
    """Two addresses and what is predicted between them: switches on the way, or None when cut off."""

    sender: int
    receiver: int
    hops: int | None


@dataclass(frozen=True, slots=True)
class Heard:
    """The arrival of a pair's datagram: switches passed, and whether source, interface and traffic class are right."""

    hops: int
    source: bool
    interface: bool
    tos: bool


def choose_pairs(endpoints: Sequence[Endpoint], prediction: Prediction) -> list[Pair]:
    """Ordered pairs of one family on different nodes, all or a fixed random choice of `MOST_PAIRS`.

    What stays inside a host never meets the fabric.
    """
    drawn = draw_candidates(endpoints, MOST_PAIRS)
    return [Pair(at, to, prediction.hops(endpoints[at], endpoints[to])) for at, to in drawn]


def draw_candidates(endpoints: Sequence[Endpoint], most: int) -> list[tuple[int, int]]:
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
    lab: Lab, endpoints: Sequence[Endpoint], wanted: Sequence[Pair], marks: Sequence[int]
) -> dict[int, Heard]:
    """Send one datagram for each pair, again for those that do not arrive; return the arrivals by number of the pair.

    `wanted` has also pairs that are not expected to work; `marks` are traffic class bytes, used in turn.
    """
    with open_sockets(lab, endpoints, PORT) as sockets, select.epoll() as poller:
        going = _Exchange(endpoints, sockets, wanted, marks, poller)
        for at, (channel, _) in enumerate(sockets):
            poller.register(channel, select.EPOLLIN)
            going.owner[channel.fileno()] = at
        for _ in range(_ROUNDS):
            if not going.send():
                break
            going.receive(_WAIT_S)
    return going.heard


@dataclass(slots=True)
class _Exchange:
    """An exchange in the making; `owner`: descriptor -> number of its endpoint."""

    endpoints: Sequence[Endpoint]
    sockets: Sequence[tuple[socket.socket, int]]
    wanted: Sequence[Pair]
    marks: Sequence[int]
    poller: select.epoll
    owner: dict[int, int] = field(default_factory=dict)
    heard: dict[int, Heard] = field(default_factory=dict)

    def send(self) -> bool:
        """Send the missing datagrams; return whether one was missing that should arrive."""
        missing = False
        for number, pair in enumerate(self.wanted):
            if number in self.heard:
                continue
            missing |= pair.hops is not None
            channel = self.sockets[pair.sender][0]
            set_traffic_class(channel, self.marks[number % len(self.marks)])
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
                for arrival in receive_arrivals(channel):
                    number, sender = _PAIR.unpack_from(arrival.payload)
                    if number < len(self.wanted) and self.wanted[number].receiver == at:
                        self.heard[number] = Heard(
                            TTL - arrival.ttl,
                            arrival.source == self.endpoints[sender].address,
                            arrival.interface == interface,
                            arrival.tos == self.marks[number % len(self.marks)],
                        )


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a datagram of exactly the MTU arrived whole, and whether one byte more was refused."""

    arrived: bool
    refused: bool


def probe_mtu(
    lab: Lab, endpoints: Sequence[Endpoint], mtu: int, prediction: Prediction
) -> Iterator[tuple[Endpoint, Endpoint, Fit]]:
    """For each address, the largest datagram to the next one that it reaches, with Don't Fragment."""
    with open_sockets(lab, endpoints, PORT) as sockets:
        for at, sender in enumerate(endpoints):
            to = _next_reachable(endpoints, at, prediction)
            if to is not None:
                fit = _probe_fit(sender, endpoints[to], sockets[at][0], sockets[to][0], mtu)
                yield sender, endpoints[to], fit


def _next_reachable(endpoints: Sequence[Endpoint], at: int, prediction: Prediction) -> int | None:
    sender = endpoints[at]
    for offset in range(1, len(endpoints)):
        to = (at + offset) % len(endpoints)
        receiver = endpoints[to]
        elsewhere = receiver.tor != sender.tor and receiver.node != sender.node
        if elsewhere and receiver.version == sender.version and prediction.hops(sender, receiver) is not None:
            return to
    return None


def _probe_fit(
    sender: Endpoint, receiver: Endpoint, out: socket.socket, into: socket.socket, mtu: int
) -> Fit:
    never_fragment(out, sender.version)
    poller = select.poll()  # unlike select(2), for descriptors of any number
    poller.register(into, select.POLLIN)
    size = mtu - _OVERHEAD[sender.version]
    arrived = False
    for _ in range(_ROUNDS):
        out.sendto(bytes(size), (receiver.address, PORT))
        poller.poll(_WAIT_S * 1000)
        arrived = any(len(found.payload) == size for found in receive_arrivals(into, size + 1))
        if arrived:
            break
    try:
        out.sendto(bytes(size + 1), (receiver.address, PORT))
        refused = False
    except OSError as error:
        refused = error.errno == errno.EMSGSIZE
    return Fit(arrived, refused)
