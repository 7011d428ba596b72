"""Steps of a migration carried out by `fabricc push` on a live fabric, and what its traffic and its kernels saw."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.fabric.shape import TierName
from fabricc.operate.lab import kernel, observe, scenarios
from fabricc.operate.lab.blueprint import host_node
from fabricc.operate.lab.flows import Stream
from fabricc.operate.lab.observe import bgp_widths
from fabricc.operate.lab.steady import ECT0, Network
from tests.operate.lab import specs
from tests.operate.push.network import build_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from fabricc.operate.lab.predict import Prediction
    from tests.operate.push.live import Live

LIMIT_S = 120.0
ANSWER_S = 90
"""A busy machine keeps it: what is proved is loss, not speed."""
_PACE_S = 0.1


class Seen(NamedTuple):
    """Measured datagrams, and the smallest share of next hops that a route of a ToR had meanwhile."""

    lost: int
    sent: int
    worst_s: float
    least: Fraction
    looks: int

    def __str__(self) -> str:
        gap = f"longest gap {self.worst_s * 1000:.0f} ms"
        return f"{self.lost} of {self.sent} lost, {gap}; at least {self.least} of next hops in {self.looks} looks"


class _Widths:
    """Looks at the kernels of ToRs again and again, for next hops to hosts that two states have in common."""

    def __init__(self, live: Live, before: Prediction, after: Prediction) -> None:
        self.least, self.looks, self._stop = Fraction(1), 0, threading.Event()
        hosts = {rail.prefix for rail in live.network.rails()}
        self._wanted = {
            switch.name: _common_prefixes(before.widths[switch.name], after.widths[switch.name], hosts)
            for switch in live.network.switches
            if switch.tier is TierName.TOR and switch.name in after.widths
        }
        self._spaces = {name: live.lab.record.namespace(name) for name in self._wanted}

    def _look(self) -> None:
        for name, wanted in self._wanted.items():
            seen = bgp_widths(self._spaces[name])
            self.least = min([self.least, *(Fraction(seen.get(p, 0), width) for p, width in wanted.items())])
        self.looks += 1

    def _run(self) -> None:
        while not self._stop.wait(_PACE_S):
            self._look()

    @contextmanager
    def watched(self) -> Iterator[None]:
        looking = threading.Thread(target=self._run)
        looking.start()
        try:
            yield
        finally:
            self._stop.set()
            looking.join()


def _common_prefixes(
    before: Mapping[str, int], after: Mapping[str, int], hosts: AbstractSet[str]
) -> dict[str, int]:
    """Prefixes of hosts that both have, with the wider of their next hops."""
    return {prefix: max(before[prefix], after[prefix]) for prefix in before.keys() & after.keys() & hosts}


def under_traffic(
    live: Live,
    after: Network,
    work: Callable[[], None],
    version: int = 4,
    marks: Sequence[int] = (0,),
    out: Sequence[str] = (),
) -> Seen:
    """Do something that brings the live fabric to another state, with traffic between all hosts of both.

    Args:
        live: the fabric.
        after: what it comes to, which is what `live` is afterwards.
        work: what to do.
        version: of the addresses between which traffic runs.
        marks: its DSCPs, in turn.
        out: hosts that are out of service.
    """
    before, then = live.network.predict(), after.predict()
    stay = {host.name for host in after.hosts}.difference(out)
    pairs = [
        pair
        for pair in scenarios.surviving_pairs(live.network, before)
        if pair[0].version == version and stay >= {end.node for end in pair}
    ]
    assert pairs
    widths = _Widths(live, before, then)
    with Stream(live.lab, pairs, marks=[dscp << 2 | ECT0 for dscp in marks]) as stream, widths.watched():
        stream.start()
        scenarios.while_running(work, stream)
        assert observe.wait_until_settled(live.lab, then, LIMIT_S, stream.run) is not None
        stream.recover(LIMIT_S)
        outage = stream.outage()
    assert outage.silent == 0
    assert observe.session_differences(live.lab, then) == []
    live.network = after
    return Seen(outage.lost, outage.sent, outage.worst_s, widths.least, widths.looks)


def push_spec(
    live: Live,
    spec: Path,
    *options: str,
    version: int = 4,
    marks: Sequence[int] = (0,),
    named: Network | None = None,
    first: Callable[[], None] = lambda: None,
    out: Sequence[str] = (),
) -> Seen:
    """Build a spec and push its tree.

    Args:
        live: the fabric.
        spec: the step.
        options: of the push.
        version: of the addresses between which traffic runs; `marks` are its DSCPs.
        marks: see `version`.
        named: what the fabric comes to, by the names that the lab has for its boxes, where the step has others.
        first: what to do under the same traffic, before.
        out: hosts that are out of service, between which no traffic runs.
    """
    live.spec = spec
    live.source = build_spec(spec, spec.parent / "out")
    live.access(ANSWER_S)
    after = named or Network.of(live.lab, specs.source(spec).fabric)

    def push() -> None:
        first()
        status, output = live.push(*options)
        assert status == 0, output
        print(output)  # which switches changed, and in which waves

    return under_traffic(live, after, push, version, marks, out)


def hosts_turned(live: Live, after: Network) -> None:
    """Give the lab's hosts the addresses, routes and rules of another state, and take away what that has not."""
    batches = {}
    for old, new in zip(live.network.hosts, after.hosts, strict=True):
        was, now = host_node(old).commands, host_node(new).commands
        gone = [line.replace(" add ", " del ") for line in reversed(was) if line not in now]
        batches[live.lab.record.namespace(new.name)] = gone + [line for line in now if line not in was]
    kernel.ip_batches(batches)
