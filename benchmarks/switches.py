"""Local switches in a process of their own, as `benchmarks.push` starts them.

Reads `{"nos": NOS, "old": {NAME: TEXT}, "new": {NAME: TEXT}, "sessions": {NAME: [NEIGHBOR]}, "silent": [NAME]}` from
the file that it is given, prints name -> login of the access file, and after each line of its input the requests
answered since then.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.operate.drivers.servers import eos, junos, nxos

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Switch = eos.EosSwitch | nxos.NxosSwitch | junos.JunosSwitch

PREFIXES = 20
SERVERS: Mapping[str, Callable[[Path], Any]] = {
    "eos": eos.eos_switch,
    "nxos": nxos.nxos_switch,
    "junos": junos.junos_switch,
}


def lines_sent(text: str) -> tuple[str, ...]:
    """The lines of a configuration as NAPALM sends them to EOS."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and line != "end" and not line.startswith("!"))


def prepare(switch: Switch, old: str, new: str, sessions: Sequence[str]) -> None:
    """Let a switch run one configuration, and print that and the next as its system prints them."""
    if isinstance(switch, eos.EosSwitch):
        for text in (old, new):
            switch.printed[lines_sent(text)] = text
        switch.running = switch.startup = list(lines_sent(old))
    elif isinstance(switch, nxos.NxosSwitch):
        switch.running = switch.startup = old
    else:
        switch.history, switch.candidate = [old], old
    up = dict.fromkeys(sessions, PREFIXES)
    switch.neighbors = lambda: up


def main() -> None:
    """Serve until the input ends."""
    file = Path(sys.argv[1])
    asked: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    never = threading.Event()
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # a client that is done resets its connection
    with ExitStack() as stack:
        switches: dict[str, Switch] = {}
        places = {}
        for name in asked["old"]:
            folder = file.parent / name
            folder.mkdir()
            switch = stack.enter_context(SERVERS[asked["nos"]](folder))
            prepare(switch, asked["old"][name], asked["new"][name], asked["sessions"][name])
            switches[name] = switch
            places[name] = switch.device.login()
        for name in asked["silent"]:
            switches[name].silence = never
        print(json.dumps(places), flush=True)
        for _ in sys.stdin:
            print(sum(switch.requests for switch in switches.values()), flush=True)
            for switch in switches.values():
                switch.requests = 0
        never.set()


if __name__ == "__main__":
    main()
