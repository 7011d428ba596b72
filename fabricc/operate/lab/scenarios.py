"""Run a trial on a running lab: the steady state, a drain, and failures, each compared with its prediction."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace
from fabricc.fabric.design import DeviceChange
from fabricc.fabric.model import Direction, Switch
from fabricc.fabric.shape import TierName
from fabricc.operate.lab import faults, kernel, observe, state, steady
from fabricc.operate.lab.agreement import STEADY, Event, Trial
from fabricc.operate.lab.flows import MOST_FLOWS, Outage, Stream, draw_candidates
from fabricc.operate.lab.lab_fabric import UnsoundError, read_source
from fabricc.operate.lab.lifecycle import known_release
from fabricc.operate.lab.node import LabError
from fabricc.operate.lab.steady import Network, compare_steady, render_frr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabricc.operate.lab.endpoints import Endpoint
    from fabricc.operate.lab.predict import End, Prediction
    from fabricc.operate.lab.running import Lab

    Progress = Callable[[str, int, int], None]

LIMIT_S = 60.0
"""How long a change may take to settle: generous, for what is asserted is where it settles, not when."""
_CANDIDATES = 2048


@dataclass(frozen=True, slots=True)
class Scenario:
    """A failure: a sentence, what to break (see `faults.ends_of`), and whether its carrier stays up."""

    name: str
    target: str
    silent: bool = False


def list_failures(network: Network) -> Iterator[Scenario]:
    """One link of each kind, one switch of each tier, one host link, and an uplink and a spine that fall silent."""
    for tier, direction, words in (
        (TierName.TOR, Direction.HOST, "host link"),
        (TierName.TOR, Direction.UP, "ToR uplink"),
        (TierName.TOR, Direction.PEER, "link between ToRs"),
        (TierName.SPINE, Direction.UP, "spine uplink"),
    ):
        for switch in network.switches:
            if switch.tier is tier and (ports := _cabled_ports(switch, direction)):
                yield Scenario(f"{words} {switch.name} {ports[0]}", f"{switch.name}:{ports[0]}")
                break
    for tier, words in ((TierName.TOR, "ToR"), (TierName.SPINE, "spine"), (TierName.CORE, "core")):
        of_tier = [switch.name for switch in network.switches if switch.tier is tier]
        if of_tier:
            yield Scenario(f"{words} {of_tier[0]}", of_tier[0])
    for switch in network.switches:
        if ports := _cabled_ports(switch, Direction.UP) or _cabled_ports(switch, Direction.PEER):
            yield Scenario(f"silent cut {switch.name} {ports[0]}", f"{switch.name}:{ports[0]}", silent=True)
            break
    spines = [switch.name for switch in network.switches if switch.tier is TierName.SPINE]
    if len(spines) > 1:
        yield Scenario(f"silent spine {spines[0]}", spines[0], silent=True)


def _cabled_ports(switch: Switch, direction: Direction) -> list[str]:
    return [each.name for each in switch.ports if each.direction is direction and each.enabled and each.peer]


def notice_s(network: Network, scenario: Scenario) -> float:
    """Return how long the plan allows a failure to go unnoticed, seconds.

    Light that goes out is noticed at once. What is silent is found by BFD within its detection time (RFC 5880
    section 6.8.4), or, without BFD, by BGP's hold timer (RFC 4271 section 6.5).
    """
    if not scenario.silent:
        return 0.0
    routing = network.fabric.routing
    if routing.bfd_interval_ms is None:
        return float(routing.hold_s)
    return routing.bfd_interval_ms * routing.bfd_multiplier / 1000


def run_failure(network: Network, scenario: Scenario, trial: Trial) -> Event:
    """Break something, compare what remains, heal it, and compare again."""
    name, target = scenario.name, scenario.target
    lab = network.lab
    ends = frozenset(faults.ends_of(lab, target))
    before, after = network.predict(), network.predict(ends)
    with Stream(
        lab, surviving_pairs(network, before, after, near=frozenset({target.partition(":")[0]}))
    ) as stream:
        stream.start()
        faults.break_target(lab, target, silent=scenario.silent)
        try:
            settled = observe.wait_until_settled(lab, after, LIMIT_S, stream.run)
            stream.recover(LIMIT_S)
            outage = stream.outage()
            _compare_outcome(network, after, trial, name, settled, outage)
            if scenario.silent:
                _compare_silence(network, ends, after, trial, name)
        finally:
            stream.start()
            faults.heal_target(lab, target)
        returned = observe.wait_until_settled(lab, before, LIMIT_S, stream.run)
        stream.recover(LIMIT_S)
        back = stream.outage()
    _check_recovery(trial, f"{name}, healed", returned, back)
    if returned is None:
        steady.compare_widths(network, before, trial, f"{name}, healed")
    remaining, notice = _largest_loss(before, after), notice_s(network, scenario)
    return Event(name, remaining, settled, outage, returned, back, notice)


def _compare_silence(
    network: Network, ends: frozenset[End], after: Prediction, trial: Trial, name: str
) -> None:
    """Check that timers alone detected it: every broken end still has its carrier, and only its sessions are down."""
    carrier = trial.check(name, "carrier of the silent ports", "up all the while")
    for device, port in sorted(ends):
        lit = kernel.has_carrier(network.lab.record.port_namespace(device, port), port)
        carrier.add(lit, f"{device}:{port} is down")
    sessions = trial.check(name, "BGP sessions", "down over silent links, Established elsewhere")
    steady.compare_sessions(network, after, sessions)


def _compare_outcome(
    network: Network, after: Prediction, trial: Trial, name: str, settled: float | None, outage: Outage
) -> None:
    _check_recovery(trial, name, settled, outage)
    steady.compare_widths(network, after, trial, name)
    steady.compare_reach(network, after, trial, name)


def _check_recovery(trial: Trial, name: str, settled: float | None, outage: Outage) -> None:
    """Check that the predicted state was reached, and that every surviving flow carries again."""
    trial.settles(name, settled, LIMIT_S)
    if outage.flows:
        check = trial.check(name, "surviving flows", "all carry again")
        check.facts += outage.flows
        check.agreed += outage.flows - outage.silent
        if outage.silent:
            check.wrong.append(f"{outage.silent} of {outage.flows} flows stay silent")


def surviving_pairs(
    network: Network, *states: Prediction, near: frozenset[str] = frozenset()
) -> list[tuple[Endpoint, Endpoint]]:
    """Return pairs of rail addresses behind different ToRs that reach each other in all of these states.

    Half of the pairs hang off the switches in `near`, if there are so many.
    """
    endpoints = network.rails()
    found = [
        (endpoints[at], endpoints[to])
        for at, to in draw_candidates(endpoints, _CANDIDATES)
        if endpoints[at].tor != endpoints[to].tor
        and all(state.hops(endpoints[at], endpoints[to]) is not None for state in states)
    ]
    close = [pair for pair in found if near & {pair[0].tor, pair[1].tor}][: MOST_FLOWS // 2]
    others = [pair for pair in found if pair not in close]
    return (close + others)[:MOST_FLOWS]


def _largest_loss(before: Prediction, after: Prediction) -> str:
    """Return the largest loss of next hops: `1 of 2`; `no loss` when nothing loses any."""
    losses = [
        (width - after.widths[switch].get(prefix, 0), width)
        for switch, widths in before.widths.items()
        for prefix, width in widths.items()
        if 0 < after.widths[switch].get(prefix, 0) < width
    ]
    if not losses:
        return "no loss" if before.widths == after.widths else "prefixes gone"
    lost, width = max(losses)
    return f"{width - lost} of {width}"


def run_drain(network: Network, trial: Trial) -> Event | None:
    """Drain a spine by graceful shutdown, take it away while drained, and bring it back: nothing may be lost."""
    spines = [switch for switch in network.switches if switch.tier is TierName.SPINE]
    if len(spines) < 2:
        return None
    spine = spines[0]
    name = f"drain of {spine.name}"
    drained = drained_network(network, spine.name)
    before, after = network.predict(), drained.predict()
    off = drained.predict(frozenset(faults.ends_of(network.lab, spine.name)))
    with Stream(network.lab, surviving_pairs(network, before, after, off)) as stream:
        stream.start()
        settled = _reload_switch(drained, spine.name, after, stream)
        outage = stream.outage()
        compare_lossless(trial, name, settled, outage)
        steady.compare_widths(network, after, trial, name)
        _remove_drained(network, spine.name, off, after, stream, trial)
        stream.start()
        returned = _reload_switch(network, spine.name, before, stream)
        back = stream.outage()
        compare_lossless(trial, f"return of {spine.name}", returned, back)
        if returned is None:
            steady.compare_widths(network, before, trial, f"return of {spine.name}")
    return Event(name, _largest_loss(before, after), settled, outage, returned, back)


def _remove_drained(
    network: Network, spine: str, off: Prediction, after: Prediction, stream: Stream, trial: Trial
) -> None:
    """The drained spine leaves and comes back: no traffic is on it that could be lost."""
    stream.start()
    faults.break_target(network.lab, spine)
    try:
        gone = observe.wait_until_settled(network.lab, off, LIMIT_S, stream.run)
        stream.recover(LIMIT_S)
        compare_lossless(trial, f"{spine} off while drained", gone, stream.outage())
    finally:
        faults.heal_target(network.lab, spine)
    observe.wait_until_settled(network.lab, after, LIMIT_S, stream.run)


def drained_network(network: Network, name: str) -> Network:
    """Return the same network with one switch announcing graceful shutdown."""
    known = network.fabric.changes.get(name)
    change = replace(known, drained=True) if known else DeviceChange(None, None, True, None, {})
    return Network.of(network.lab, replace(network.fabric, changes={**network.fabric.changes, name: change}))


def _reload_switch(network: Network, name: str, prediction: Prediction, stream: Stream) -> float | None:
    """Reload a switch into its configuration of this network, with traffic running all the while."""
    switch = next(switch for switch in network.switches if switch.name == name)
    while_running(lambda: network.lab.reload(name, render_frr(switch)), stream)
    settled = observe.wait_until_settled(network.lab, prediction, LIMIT_S, stream.run)
    stream.recover(LIMIT_S)
    return settled


def while_running(work: Callable[[], None], stream: Stream) -> None:
    """Do something in a thread of its own while the stream runs on."""
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        while not done.done():
            stream.run(0.05)
        done.result()


def compare_lossless(trial: Trial, name: str, settled: float | None, outage: Outage) -> None:
    """Check that the predicted state was reached, and that no flow lost a datagram."""
    trial.settles(name, settled, LIMIT_S)
    if outage.flows:
        check = trial.check(name, "flows", "no datagram lost")
        check.facts, check.agreed = outage.flows, outage.flows - outage.hit
        if outage.lost:
            longest = f"longest gap {outage.worst_s * 1000:.0f} ms"
            check.wrong.append(f"{outage.lost} of {outage.sent} lost, {longest}")


SETTLE_S = 120.0
_QUICK = "ToR uplink"


def network_of(lab: Lab) -> Network:
    """Return the lab with the plan it was made from, planned again from the copy of its spec.

    Raises:
        LabError: FAB8006, the copy cannot be planned any more.
    """
    record = lab.record
    try:
        source = read_source(
            lab.folder / state.SPEC / record.spec,
            record.units,
            known_release(record.frr),
            sample=record.sample,
            network=record.network,
        )
    except UnsoundError:
        raise LabError("FAB8006", f"the spec kept in {lab.folder} does not plan any more") from None
    return Network.of(lab, source.fabric)


def trial_of(lab: Lab) -> Trial:
    """Return a trial of this lab, with nothing compared yet."""
    record = lab.record
    return Trial(
        record.cluster, record.frr, len(record.switches), len(record.hosts), record.boot_s,
        lab.memory_kib(), record.differences, record.overlay,
    )  # fmt: skip


def try_out(lab: Lab, network: Network, *, quick: bool = False, progress: Progress | None = None) -> Trial:
    """Compare the lab with its plan; what differs in the steady state is not broken further.

    Args:
        lab: a lab in which nothing is broken.
        network: the lab with its plan.
        quick: only the steady state and the failure of one uplink.
        progress: called with what is being done, how much is done, and how much there is.

    Raises:
        LabError: FAB8015, something is broken on purpose.
    """
    faults.require_none(lab)
    trial = trial_of(lab)
    wanted = [found for found in list_failures(network) if not quick or found.name.startswith(_QUICK)]
    steps = len(wanted) + (1 if quick else 2)
    report_progress = progress or (lambda *_: None)
    settled = observe.wait_until_settled(lab, network.predict(network.miswired_ports()), SETTLE_S)
    trial.settles(STEADY, settled, SETTLE_S)
    compare_steady(network, trial, quick=quick)
    report_progress("trial", 1, steps)
    if trial.wrong:
        return trial
    for number, scenario in enumerate(wanted):
        trial.events.append(run_failure(network, scenario, trial))
        report_progress("trial", number + 2, steps)
    if not quick and (event := run_drain(network, trial)):
        trial.events.append(event)
        report_progress("trial", steps, steps)
    return trial
