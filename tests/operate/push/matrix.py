"""Faults at every step of a push against simulated switches: the result, and whether the journal agrees.

`python -m tests.operate.push.matrix` prints the table.
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.operate.push.network import DISRUPTIVE, HITLESS, Network

if TYPE_CHECKING:
    from collections.abc import Iterator

NEW = {HITLESS: "transmit-interval 500", DISRUPTIVE: "timers bgp 3 12"}
VICTIM = "spine01a"
HEAD = (
    "| step | fault | exit | first spine and the other after it | after `--resume` or the next push | journal true |\n"
    "| --- | --- | --- | --- | --- | --- |\n"
)


class Case(NamedTuple):
    """A fault on the first switch of the first wave: at the count-th call of a driver's method."""

    step: str
    method: str
    count: int
    when: str
    fault: str
    change: str = HITLESS


class Row(NamedTuple):
    """The result: exit status, states after it, states after `--resume` or another push, and false statements."""

    case: Case
    status: int
    after: str
    then: str
    wrong: str


STEPS = (
    ("asked", "get_config", 1, HITLESS),
    ("candidate", "load_replace_candidate", 2, HITLESS),
    ("compared", "compare_config", 2, HITLESS),
    ("committed", "commit_config", 1, HITLESS),
    ("gate", "get_bgp_neighbors", 2, HITLESS),
    ("confirmed", "confirm_commit", 1, HITLESS),
    ("drained", "commit_config", 1, DISRUPTIVE),
    ("committed, drained", "commit_config", 2, DISRUPTIVE),
    ("undrained", "commit_config", 3, DISRUPTIVE),
)
"""Step, the driver's method at it, which call of it, and the kind of change."""


def all_cases() -> list[Case]:
    """Every step with every fault that can strike there."""
    found = [
        Case(step, method, count, when, fault, change)
        for step, method, count, change in STEPS
        for fault, when in (("kill", "before"), ("kill", "after"), ("drop", "after"), ("interrupt", "after"))
    ]
    found += [Case("candidate", "load_replace_candidate", 2, "before", "reject")]
    found += [Case(step, m, n, "before", "full", c) for step, m, n, c in STEPS if m == "commit_config"]
    found += [
        Case("login before the change", "open", 2, "before", "refuse"),
        Case("login for the gate", "open", 3, "before", "refuse"),
    ]
    found += [
        Case(step, m, n, "after", "cut", c)
        for step, m, n, c in STEPS
        if m == "commit_config" and step[:3] == "com"
    ]
    found += [
        Case("committed", "commit_config", 1, "after", "sick"),
        Case("gate", "get_bgp_neighbors", 2, "after", "revert"),
    ]
    return found


def play(case: Case, folder: Path) -> Row:
    """One case, from a fabric in its first state to one that is whole again."""
    network = Network.start(folder)
    try:
        network.edit(case.change)
        network.fault(VICTIM, case.method, case.count, case.when, case.fault)
        network.extra += ["--adopt", "--only", VICTIM, "--only", "spine02a"]
        ran = network.push()
        wrong = []
        new = NEW[case.change]
        killed = case.fault == "kill"
        if not killed:
            wrong += find_untruths(network, new)
        after = summarize_states(network)
        network.fault(VICTIM, "open", 0, "before", "refuse")
        again = network.push(*(["--resume"] if killed else []))
        wrong += (
            [f"the next push ended with {again.returncode}: {again.stderr[-300:]}"]
            if again.returncode
            else []
        )
        wrong += find_untruths(network, new)
        wrong += [
            f"{name} runs {network.interval(name)}"
            for name in network.states()
            if network.interval(name) != new
        ]
        return Row(case, ran.returncode, after, summarize_states(network), "; ".join(wrong))
    finally:
        network.stop()


def find_untruths(network: Network, new: str) -> list[str]:
    """Return where the journal and the switches differ."""
    try:
        network.truthful(new)
    except AssertionError as error:
        return [str(error).splitlines()[0]]
    return []


def summarize_states(network: Network) -> str:
    """The victim's state, and those of the others together."""
    states = network.states()
    others = sorted({state for name, state in states.items() if name != VICTIM})
    return f"{states.get(VICTIM, 'no run')}; others {', '.join(others) or 'no run'}"


def line(row: Row) -> str:
    """A row in Markdown."""
    case = row.case
    return (
        f"| {case.step} | {case.fault} {case.when} `{case.method}` | {row.status} | {row.after} | {row.then} "
        f"| {'yes' if not row.wrong else 'NO: ' + row.wrong} |\n"
    )


def run(chosen: list[Case], folder: Path, workers: int = 3) -> Iterator[Row]:
    """Several cases at once, each with switches of its own, in their order."""
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda item: play(item[1], folder / str(item[0])), enumerate(chosen))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        sys.stdout.write(HEAD)
        for found in run(all_cases(), Path(place)):
            sys.stdout.write(line(found))
            sys.stdout.flush()
