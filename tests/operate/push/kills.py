"""Kill pushes to real FRR over SSH at random, and check what is left on the switch and in the journal.

`python -m tests.operate.push.kills --kills 200 --seed 1` prints a line for each kill and a table by verb and phase;
it needs what a lab needs. The exit status is 1 when anything was wrong.

A kill strikes at a random time of a run, or some time after the journal reached a state or an intent. Then the run is
ended in a random way (`--resume`, `--rollback`, first left alone until the guard has acted, or with another push), and
running configuration, saved configuration, drain, guard, lock, candidate, processes and journal have to agree.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from fabricc.operate.lab import lifecycle
from tests.operate.push.live import PRIVATE, Live
from tests.operate.push.network import DISRUPTIVE, FABRICC, HITLESS, build_spec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.operate.push.built_tree import BuiltTree

VICTIM = "spine01a"
VERBS = ("push", "resume", "rollback", "maintain", "upgrade", "migrate")
STATES = {
    "base": "",
    "hitless": HITLESS,
    "disruptive": DISRUPTIVE,
    "maintain": f"overrides: {{{VICTIM}: {{drain: true}}}}",
    "migrate": "addressing: {family: dual}",
}
"""Name of a state of the spec -> what it adds to the first one."""
SETTLE_S, CONFIRM_S = 25, 20
OPTIONS = ("--only", VICTIM, "--settle", str(SETTLE_S), "--confirm-within", str(CONFIRM_S), "--drain-wait", "1",
           "--keep", "0%")  # fmt: skip
GUARD_S = 2 * (SETTLE_S + CONFIRM_S) + 1
PHASES = ("drain!", "drained", "change!", "candidate", "commit!", "committed-unconfirmed", "verified", "confirm!",
          "undrain!", "restore!")  # fmt: skip
"""States of a switch in the journal, and intents, which end in `!`."""
HITLESS_PHASES = tuple(phase for phase in PHASES if "drain" not in phase and phase != "restore!")
"""Those that a change passes that drains nothing."""
OLD, NEW = ("rolled-back", "planned"), ("confirmed", "undrained", "unchanged")
LIMIT_S, WHOLE_S = 400, 60
_FAILED = 3
"""The exit status of a push that brought switches back."""
_KEPT = {"backup.json", "guard", "reserve", "state.json", "wish.json", "filler"}


@dataclass
class Kill:
    """One kill and its result.

    Attributes:
        phase: the journal's state of the switch when the signal was sent.
        ended: how the run was ended.
        wrong: disagreements, empty if all agree.
    """

    number: int
    verb: str
    change: str
    sign: str
    phase: str
    ended: str = ""
    state: str = ""
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """A line of the report."""
        reported = "; ".join(" ".join(one.split()) for one in self.wrong)
        words = (
            self.number,
            self.verb,
            self.change,
            self.sign,
            self.phase,
            self.ended,
            self.state,
            reported or "ok",
        )
        return " | ".join(map(str, words))


@dataclass
class Bench:
    """A lab, a tree of each state of its spec, and the state that the victim runs."""

    live: Live
    trees: dict[str, BuiltTree]
    hook: Path
    runs: str = "base"

    @staticmethod
    def start(folder: Path) -> Bench:
        """Boot the smallest lab, and build every state."""
        live = Live.start(folder, 2)
        trees = {}
        for name, lines in STATES.items():
            place = folder / "states" / name
            shutil.copytree(live.spec.parent, place)
            (place / live.spec.name).write_text(f"{live.text}{lines}\n")
            trees[name] = build_spec(place / live.spec.name, folder / "trees" / name)
        if (step := _find_migration(folder)) is not None:
            trees["migrate"] = build_spec(step, folder / "trees" / "step")
        hook = folder / "hook"
        hook.write_text("#!/bin/sh\nsleep 2\n")
        hook.chmod(0o755)
        return Bench(live, trees, hook)

    def begin(self, state: str, *options: str) -> subprocess.Popen[str]:
        self.live.source = self.trees[state]
        return self.live.begin("--spec", str(self.live.source.spec), *OPTIONS, *options)

    def push(self, state: str, *options: str) -> tuple[int, str]:
        """Run a push to its end."""
        process = self.begin(state, *options)
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            return 99, f"{out}{err}\nno end within {LIMIT_S} s"
        return process.returncode, out + err

    def read(self, query: str) -> tuple[object, ...]:
        """The first row of a query of the journal."""
        place = f"file:{self.live.folder / 'journal.sqlite'}?mode=ro"
        with suppress(sqlite3.Error), closing(sqlite3.connect(place, uri=True)) as base:
            return tuple(base.execute(query).fetchone() or ())
        return ()

    def phase(self) -> str:
        """State and intent of the victim in the latest run: `drained/change!`."""
        row = self.read(f"SELECT state, intent FROM device WHERE name='{VICTIM}' ORDER BY run DESC LIMIT 1")
        return f"{row[0]}/{row[1]}!" if row and row[1] else str(row[0]) if row else "none"

    def run(self) -> int:
        """Number of the latest run, 0 when there is none."""
        (number,) = self.read("SELECT max(id) FROM run") or (0,)
        return int(str(number or 0))

    def open(self) -> bool:
        """Return whether the latest run is not over."""
        return self.read("SELECT ended FROM run ORDER BY id DESC LIMIT 1") == (None,)

    # What is checked.

    def expired(self) -> bool:
        """Return whether the victim went back after the time in which its change had to be confirmed."""
        query = (
            f"SELECT max(at) - (SELECT max(at) FROM step WHERE run=latest AND name='{VICTIM}' AND what='{{}}') "
            f"FROM step, (SELECT max(id) AS latest FROM run) WHERE run=latest AND name='{VICTIM}' AND what='{{}}'"
        )
        (seconds,) = self.read(query.format("committed-unconfirmed", "rolled-back")) or (None,)
        return isinstance(seconds, float) and seconds > CONFIRM_S

    def text(self, state: str) -> str:
        return self.trees[state].files(VICTIM)["frr.conf"]

    def wrong(self, wanted: str) -> list[str]:
        """Return what does not agree on the switch with a state that it is to run, once nothing moves any more."""
        until = time.monotonic() + WHOLE_S
        while found := self._wrong(wanted):
            if time.monotonic() > until:
                return found
            time.sleep(2)
        return []

    def _wrong(self, wanted: str) -> list[str]:
        lab, text = self.live.lab, self.text(wanted)
        found = []
        if pending := lab.pending(VICTIM, text):
            found.append(f"it does not run {wanted}: {pending[:3]}")
        running = lab.run(VICTIM, ["vtysh", "-c", "show running-config"]).stdout
        saved = lab.run(VICTIM, ["cat", "/etc/frr/frr.conf"]).stdout
        if saved != text and _plain_lines(saved) != _plain_lines(running):
            found.append("what is saved is neither the planned text nor what runs")
        shut = "graceful-shutdown additive"
        if (shut in running) != (shut in text):
            found.append("it is drained" if shut in running else "it is not drained")
        left = set(lab.run(VICTIM, ["ls", PRIVATE]).stdout.split()) - _KEPT
        found += [f"left behind: {name}" for name in sorted(left)]
        reported = lab.run(VICTIM, ["ps", "ax", "-o", "args"]).stdout.splitlines()
        found += ["a process of the driver still runs" for line in reported if "napalm-frr" in line][:1]
        return found


def _find_migration(folder: Path) -> Path | None:
    """The first step that `fabricc migrate` writes from the first state to another address family."""
    steps, states = folder / "steps", folder / "states"
    words = [
        *FABRICC,
        "migrate",
        str(states / "base" / "cluster.yaml"),
        str(states / "migrate" / "cluster.yaml"),
    ]
    subprocess.run(
        [*words, "--keep", "0%", "--write", str(steps)], capture_output=True, check=False, timeout=LIMIT_S
    )
    found = sorted(steps.glob("*/cluster.yaml"))
    if not found:
        return None
    return found[0]


def _plain_lines(text: str) -> list[str]:
    """The lines of a configuration, without those that FRR adds when it prints or saves one."""
    lines = text[max(0, text.find("frr version")) :].splitlines()
    return [line for line in lines if line.strip() not in ("", "!", "end", "exit")]


def strike_run(
    bench: Bench, process: subprocess.Popen[str], number: int, rng: random.Random, *, drains: bool
) -> tuple[str, str]:
    """Send a signal to a run at a random time or phase: signal and phase; "" for a signal that came too late."""
    sign = rng.choices(("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"), (85, 5, 5, 5))[0]
    wanted = rng.choice(PHASES if drains else HITLESS_PHASES) if rng.random() < 0.6 else ""
    until, longest = time.monotonic() + LIMIT_S, 25 if drains else 4
    wait = rng.uniform(0, longest)
    while process.poll() is None and time.monotonic() < until and bench.run() < number:
        time.sleep(0.05)
    began = time.monotonic()
    while process.poll() is None and time.monotonic() < until:
        now = bench.phase()
        if wanted in now.split("/") if wanted else time.monotonic() - began > wait:
            break
        time.sleep(0.03)
    if wanted and rng.random() < 0.5:
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0, 4 if drains else 1))
    phase = bench.phase()
    if process.poll() is not None:
        output = "".join(process.communicate())
        return (
            ("", phase)
            if process.returncode == 0
            else ("", f"{phase}, {process.returncode}: {output[-300:]}")
        )
    process.send_signal(getattr(signal, sign))
    try:
        process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"{sign}, hung", phase
    return sign, phase


def play(bench: Bench, number: int, verb: str, rng: random.Random) -> Kill:
    """One kill of a verb, and the way back to a fabric that is whole."""
    before = bench.runs
    wanted = verb if verb in ("maintain", "migrate") else rng.choice(("base", "hitless", "disruptive"))
    if wanted == before:
        wanted = "base" if before != "base" else "disruptive"
    drains = "disruptive" in (before, wanted) or "migrate" in (before, wanted)
    words = ["--adopt", *(["--hook", str(bench.hook)] if verb == "upgrade" else [])]
    hooked = words[1:]
    found = Kill(number, verb, f"{before} to {wanted}", "", "")
    again: list[str] = []
    latest = bench.run() + 1
    if verb == "rollback":
        status, output = bench.push(wanted, *words)
        if status:
            found.wrong.append(f"the push before the rollback ended with {status}: {output[-300:]}")
        again = ["--rollback", str(latest)]
        latest += 1
    elif verb == "resume":
        first = bench.begin(wanted, *words)
        strike_run(bench, first, latest, rng, drains=drains)
        again = ["--resume"]
    process = bench.begin(wanted, *(again or words), *(hooked if again else ()))
    found.sign, found.phase = strike_run(
        bench, process, latest if verb != "resume" else 0, rng, drains=drains
    )
    if "hung" in found.sign:
        found.wrong.append("it did not end after the signal")
    # A run that its first end brought back leaves nothing to resume: `--resume` reports that and ends with 3.
    if not found.sign and ": " in found.phase and not (verb == "resume" and "FAB9135" in found.phase):
        found.wrong.append("it ended by itself with an error")
    if bench.run() < latest:
        found.ended = "it had not begun"
        bench.runs = wanted if verb == "rollback" else before
        found.wrong += bench.wrong(bench.runs)
        return found
    end_run(bench, found, wanted, before, hooked, rng)
    return found


def end_run(
    bench: Bench, found: Kill, wanted: str, before: str, hooked: list[str], rng: random.Random
) -> None:
    """End the killed run, and compare the journal with the switch's running configuration."""
    backwards = found.verb == "rollback" and "rollback" in str(
        bench.read("SELECT kind FROM run ORDER BY id DESC LIMIT 1")
    )
    new, old = (before, wanted) if backwards else (wanted, before)
    reached: tuple[str, ...] = NEW
    if bench.open():
        way = rng.choice(("resume", "rollback", "guard, resume", "guard, rollback"))
        if way.startswith("guard"):
            time.sleep(GUARD_S)
        requested = ["--resume"] if way.endswith("resume") else ["--rollback", str(bench.run())]
        status, output = bench.push(wanted, *requested, *hooked)
        found.ended = f"{way}: {status}"
        if way.endswith("rollback"):  # a switch that its guard took back is unchanged by the rollback
            reached = tuple(state for state in NEW if state != "unchanged")
        if status == _FAILED and re.search("FAB911[56]", output) and bench.expired():
            found.ended += ", too slow to confirm"
        elif status:
            found.wrong.append(f"{way} ended with {status}: {output[-400:]}")
    else:
        found.ended = "ended itself"
    found.state = bench.phase()
    if bench.open():
        found.wrong.append("the run is not over")
    if found.state in (*NEW, *OLD):
        bench.runs = new if found.state in reached else old
        found.wrong += bench.wrong(bench.runs)
    else:
        found.wrong.append(f"the journal says {found.state}")
    if found.wrong:
        bench.push(wanted, "--resume", *hooked)
        bench.push("base", "--adopt")
        time.sleep(GUARD_S)
        status, output = bench.push("base", "--adopt")
        bench.runs = "base"
        if status:
            found.wrong.append(f"the lab could not be repaired: {output[-300:]}")


def run_campaign(folder: Path, kills: int, seed: int, verbs: Sequence[str], labs: int = 1) -> Iterator[Kill]:
    """So many kills on so many labs at once, in their order."""
    benches: list[Bench] = []
    free: SimpleQueue[Bench] = SimpleQueue()
    try:
        for at in range(labs):
            (folder / str(at)).mkdir()
            benches.append(Bench.start(folder / str(at)))
            free.put(benches[-1])

        def one(number: int) -> Kill:
            bench = free.get()
            try:
                return play(bench, number, verbs[number % len(verbs)], random.Random(f"{seed} {number}"))
            finally:
                free.put(bench)

        with ThreadPoolExecutor(labs) as pool:
            yield from pool.map(one, range(kills))
    finally:
        for bench in benches:
            lifecycle.take_down_lab(bench.live.lab.folder)


def format_table(found: Sequence[Kill]) -> str:
    """Kills by verb and phase."""
    kills = [kill for kill in found if kill.sign]
    counts = Counter((kill.verb, kill.phase) for kill in kills)
    verbs = list(dict.fromkeys(kill.verb for kill in kills))
    lines = ["| phase | " + " | ".join(verbs) + " |", "| --- |" + " --- |" * len(verbs)]
    lines += [
        f"| {phase} | " + " | ".join(str(counts[verb, phase] or "") for verb in verbs) + " |"
        for phase in sorted({kill.phase for kill in kills})
    ]
    late, wrong = len(found) - len(kills), sum(1 for kill in found if kill.wrong)
    signs = ", ".join(f"{count} {sign}" for sign, count in Counter(kill.sign for kill in kills).items())
    return "\n".join([*lines, "", f"{len(kills)} kills ({signs}), {late} came too late, {wrong} wrong", ""])


def main() -> int:
    """Run the campaign of the command line; the exit status."""
    words = argparse.ArgumentParser()
    words.add_argument("--kills", type=int, default=20)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--verbs", default=",".join(VERBS))
    words.add_argument("--labs", type=int, default=1)
    requested = words.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # labs are taken down all the same
    found = []
    with tempfile.TemporaryDirectory() as place:
        for kill in run_campaign(
            Path(place), requested.kills, requested.seed, requested.verbs.split(","), requested.labs
        ):
            found.append(kill)
            sys.stdout.write(f"{time.strftime('%X')} {kill}\n")
            sys.stdout.flush()
    sys.stdout.write(f"\n{format_table(found)}")
    return int(any(kill.wrong for kill in found))


if __name__ == "__main__":
    sys.exit(main())
