"""Real faults at every step of a push to real FRR over SSH: the result, and whether the journal agrees.

`python -m tests.operate.push.live_matrix` prints the table; it needs what a lab needs.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from fabricc.operate.lab import lifecycle, observe
from fabricc.operate.lab.making import management_port
from tests.operate.push import matrix
from tests.operate.push.live import PRIVATE, Live
from tests.operate.push.matrix import STEPS, VICTIM, Case, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CONFIRM_S, SETTLE_S, ANSWER_S, WHOLE_S = 40, 40, 10, 120
"""A busy machine keeps these, and what waits for their end is not too slow."""
ONLY = (
    "--adopt",
    "--only",
    VICTIM,
    "--settle",
    str(SETTLE_S),
    "--confirm-within",
    str(CONFIRM_S),
    "--drain-wait",
    "1",
)
NEW = ("confirmed", "undrained", "unchanged")


def all_cases() -> list[Case]:
    """Every fault where it can strike."""
    found = [
        Case(step, method, count, when, "kill", change)
        for step, method, count, change in STEPS
        for when in ("before", "after")
    ]
    found += [
        Case(step, method, count, "before", "kill-within", change)
        for step, method, count, change in STEPS
        if method == "commit_config"
    ]
    found += [
        Case(step, method, count, "after", fault, change)
        for step, method, count, change in STEPS
        for fault in ("down", "flap")
        if step in ("candidate", "committed", "gate", "confirmed", "committed, drained", "undrained")
    ]
    found += [
        Case(step, method, count, "after", "interrupt", change)
        for step, method, count, change in STEPS
        if step in ("candidate", "committed", "gate", "drained")
    ]
    found += [
        Case(f"login for the {what}", "open", count, "before", "refuse")
        for what, count in (("change", 2), ("gate", 3), ("confirmation", 4))
    ]
    found += [
        Case(step, method, count, when, "full", change)
        for step, method, count, change in STEPS
        for when in ("before", "after")
        if method == "commit_config" or (step, when) in (("candidate", "before"), ("confirmed", "before"))
    ]
    found += [Case("candidate", "load_replace_candidate", 2, "before", "reject")]
    found += [Case("confirmed", "confirm_commit", 1, "before", "late")]
    return found


def play(live: Live, case: Case) -> Row:
    """One case on a lab in its first state."""
    texts: dict[str, str] = {}
    try:
        for change in ("", case.change):
            live.edit(change)
            texts[change] = live.source.files(VICTIM)["frr.conf"]
        _arm_fault(live, case)
        status, output = live.push(*ONLY)
        killed = case.fault.startswith("kill")
        wrong = [] if killed else _find_untrue(live, texts)
        after = live.states().get(VICTIM, "no run")
        _mend_box(live)
        wrong += _broken_sessions(live)
        resumed = killed or (after == "unknown" and case.fault == "down")
        if after == "unknown" and not resumed:
            back, back_said = live.push(*ONLY, "--rollback", "1")
            wrong += [f"the rollback ended with {back}: {back_said[-300:]}"] if back else []
            wrong += _find_untrue(live, texts)
        again, then_said = live.push(*ONLY, *(["--resume"] if resumed else []))
        wrong += [f"the next push ended with {again}: {then_said[-300:]}"] if again else []
        wrong += _find_untrue(live, texts)
        then = live.states().get(VICTIM, "no run")
        wrong += [f"in the end it is {then}"] if then not in NEW else []
        wrong += _broken_sessions(live)
        if wrong:
            wrong.append(output[-300:])
        return Row(case, status, after, then, "; ".join(" ".join(one.split()) for one in wrong))
    finally:
        _mend_box(live)


def _arm_fault(live: Live, case: Case) -> None:
    address = live.source.devices[VICTIM].address
    place = live.folder / "faults"
    place.write_text(f"{address} {case.method} {case.when} {case.fault} {case.count}\n")
    options = {
        "faults": str(place),
        "link": management_port(VICTIM),
        "folder": f"/proc/{live.lab.process(VICTIM)}/root{PRIVATE}",
        "keys": str(live.doors(VICTIM) / "authorized_keys"),
        "late_s": CONFIRM_S + 5,
    }
    live.access(ANSWER_S, {VICTIM: {"driver": "faulty", "options": options}})


def _mend_box(live: Live) -> None:
    (live.folder / "faults").unlink(missing_ok=True)
    live.management(VICTIM, "up")
    away = live.doors(VICTIM) / "authorized_keys.away"
    if away.exists():
        away.rename(away.with_suffix(""))
    live.lab.run(VICTIM, ["rm", "-f", f"{PRIVATE}/filler"])


def _reset_journal(live: Live) -> None:
    live.access()
    live.edit("")
    for name in live.folder.glob("journal.sqlite*"):
        name.unlink()
    status, output = live.push(*ONLY)
    assert status == 0, output
    for name in live.folder.glob("journal.sqlite*"):
        name.unlink()


def _find_untrue(live: Live, texts: Mapping[str, str]) -> list[str]:
    """Return where the journal and what the victim runs by FRR's own comparison differ, once nothing moves any more."""
    state = live.states().get(VICTIM, "no run")
    if state == "unknown":
        return []
    allowed = [bool(change) == (state in NEW) for change in texts]
    until = time.monotonic() + WHOLE_S
    while True:
        runs = [not live.lab.pending(VICTIM, text) for text in texts.values()]
        if any(map(all, zip(runs, allowed, strict=True))):
            return []
        if time.monotonic() > until:
            return [f"{state}, and of the old and the new one it runs {runs}"]
        time.sleep(1)


def _broken_sessions(live: Live) -> list[str]:
    """Sessions of the fabric that are not as planned."""
    wanted, until = live.network.predict(), time.monotonic() + WHOLE_S
    while wrong := observe.session_differences(live.lab, wanted):
        if time.monotonic() > until:
            return [str(wrong)]
        time.sleep(0.5)
    return []


def run(chosen: Sequence[Case], folder: Path, labs: int = 2) -> Iterator[Row]:
    """Cases on as many labs at once, in their order."""
    folders = [folder / str(at) for at in range(labs)]
    started: list[Live] = []
    try:
        for place in folders:
            place.mkdir()
            started.append(Live.start(place))

        free: SimpleQueue[Live] = SimpleQueue()
        for live in started:
            free.put(live)

        def one(case: Case) -> Row:
            live = free.get()
            try:
                return play(live, case)
            finally:
                _reset_journal(live)
                free.put(live)

        with ThreadPoolExecutor(labs) as pool:
            yield from pool.map(one, chosen)
    finally:
        for live in started:
            lifecycle.take_down_lab(live.lab.folder)


if __name__ == "__main__":
    # The faults, all by default; FABRICC_LABS is the number of parallel labs.
    wanted = [case for case in all_cases() if not sys.argv[1:] or case.fault in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as place:
        sys.stdout.write(matrix.HEAD.replace("first spine and the other after it", "spine after it"))
        for found in run(wanted, Path(place), int(os.environ.get("FABRICC_LABS", "2"))):
            sys.stdout.write(matrix.line(found))
            sys.stdout.flush()
