"""Local switches in a process of their own, as `benchmarks.push` starts them.

Reads `{"nos": NOS, "old": {NAME: {FILE: TEXT}}, "new": {NAME: {FILE: TEXT}}, "sessions": {NAME: [NEIGHBOR]},
"silent": [NAME]}` from the file that it is given, prints name -> login of the access file, and after each line of its
input the requests answered since then.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.operate.drivers import eos as eos_driver
from fabricc.operate.drivers import junos as junos_driver
from fabricc.operate.drivers import nxos as nxos_driver
from tests.operate.drivers.servers import eos, junos, linux_switch, nxos

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Switch = eos.EosSwitch | nxos.NxosSwitch | junos.JunosSwitch | linux_switch.LinuxSwitch
    Files = Mapping[str, str]

PREFIXES = 20
SERVERS: Mapping[str, Callable[[Path, Files], Any]] = {
    "eos": lambda folder, _: eos.eos_switch(folder),
    "nxos": lambda folder, _: nxos.nxos_switch(folder),
    "junos": lambda folder, _: junos.junos_switch(folder),
    "cumulus": lambda folder, files: linux_switch.linux_switch(folder, "cumulus", files["startup.yaml"]),
    "sonic": lambda folder, files: linux_switch.linux_switch(
        folder, "sonic", files["config_db.json"], files["frr.conf"]
    ),
}
"""System -> starts a switch in a folder; those of Linux begin with what they run."""


def lines_sent(text: str) -> tuple[str, ...]:
    """The lines of a configuration as NAPALM sends them to EOS."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and line != "end" and not line.startswith("!"))


def prepare(switch: Switch, old: Files, new: Files, sessions: Sequence[str]) -> None:
    """Let a switch run one configuration, and print that and the next as its system prints them."""
    if isinstance(switch, eos.EosSwitch):
        for files in (old, new):
            switch.printed[lines_sent(files[eos_driver.FILE])] = files[eos_driver.FILE]
        switch.running = switch.startup = list(lines_sent(old[eos_driver.FILE]))
    elif isinstance(switch, nxos.NxosSwitch):
        switch.running = switch.startup = old[nxos_driver.FILE]
    elif isinstance(switch, junos.JunosSwitch):
        switch.history, switch.candidate = [old[junos_driver.FILE]], old[junos_driver.FILE]
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
            switch = stack.enter_context(SERVERS[asked["nos"]](folder, asked["old"][name]))
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
