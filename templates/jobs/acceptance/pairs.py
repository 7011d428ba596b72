#!/usr/bin/env python3
"""The pairs of a round of the acceptance test: pairs.py ROUND prints them as CSV.

A port is (unit, host, port), numbers into the plan. Ports of one group of rails and one NIC port share a ToR; the
place of a rail in its group is its lane.

tor      inside every unit: host i sends to host i + host_shift, lane l to lane l + lane_shift; all ports at once
spine    between the units of a pod (one unit: between its groups of rails): a port per ToR, of some hosts at once
core     between pods: one port per ToR, of some units at once
latency  pairs as `tor`
incast   inside every unit: several hosts send to one, for counters to be looked at
load     between the units of a pod: all ports at once, for counters to be looked at
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

GATED = ("tor", "spine", "core")


def load_plan(path=None):
    """Read the plan next to this file, or at `path`."""
    return json.loads(Path(path or Path(__file__).with_name("plan.json")).read_text())


def pairs(plan, entry):
    """The pairs of a round: (sender, receiver), each (unit, host, port)."""
    return _KINDS[entry["kind"]](plan, entry)


def unit_hosts(plan, unit):
    """The host names of a unit."""
    return plan["units"][unit]["hosts"]


def kind_of(plan, unit, host):
    """The kind of a host; `kinds` has one for each host of a unit with several models."""
    entry = plan["units"][unit]
    return plan["kinds"][entry["kinds"][host] if "kinds" in entry else entry["kind"]]


def port_of(plan, at):
    """Return the plan of a port."""
    unit, host, port = at
    return kind_of(plan, unit, host)["ports"][port]


def host_of(plan, at):
    """The host's name."""
    return unit_hosts(plan, at[0])[at[1]]


def tor_of(plan, at):
    """The ToR of a port, as (unit, group of rails, NIC port)."""
    nic_ports, per_tor = plan["shape"]["nic_ports"], plan["shape"]["rails_per_tor"]
    rail, nic_port = divmod(at[2], nic_ports)
    return at[0], rail // per_tor, nic_port


def _port(plan, group, lane, nic_port):
    shape = plan["shape"]
    return (group * shape["rails_per_tor"] + lane) * shape["nic_ports"] + nic_port


def _groups(plan):
    return plan["shape"]["rails"] // plan["shape"]["rails_per_tor"]


def _pods(plan):
    table = {}
    for index, unit in enumerate(plan["units"]):
        if unit["hosts"]:
            table.setdefault(unit["pod"], []).append(index)
    return list(table.values())


def _inside(plan, entry):
    lanes, nic_ports = plan["shape"]["rails_per_tor"], plan["shape"]["nic_ports"]
    for unit in range(len(plan["units"])):
        count = len(unit_hosts(plan, unit))
        if count < 2:
            continue
        shift = (entry["host_shift"] - 1) % (count - 1) + 1
        for host in range(count):
            for group in range(_groups(plan)):
                for lane in range(lanes):
                    for nic_port in range(nic_ports):
                        other = _port(plan, group, (lane + entry["lane_shift"]) % lanes, nic_port)
                        source = (unit, host, _port(plan, group, lane, nic_port))
                        yield source, (unit, (host + shift) % count, other)


def _one_per_tor(plan, unit, turn):
    """The host and lane of a unit whose turn it is: every one once, hosts first."""
    lanes, count = plan["shape"]["rails_per_tor"], len(unit_hosts(plan, unit))
    host = turn % count
    return host, (turn // count + host) % lanes


def _across(plan, source, target, turn):
    """A port per ToR of one unit to the same ports of another."""
    host, lane = _one_per_tor(plan, source, turn)
    other, _ = _one_per_tor(plan, target, turn)
    for group in range(_groups(plan)):
        for nic_port in range(plan["shape"]["nic_ports"]):
            port = _port(plan, group, lane, nic_port)
            yield (source, host, port), (target, other, port)


def _spine(plan, entry):
    turns = range(entry["turn"] * entry["hosts"], (entry["turn"] + 1) * entry["hosts"])
    for units in _pods(plan):
        if len(units) > 1:
            shift = 1 + entry["turn"] % (len(units) - 1)
            for index, unit in enumerate(units):
                for turn in turns:
                    yield from _across(plan, unit, units[(index + shift) % len(units)], turn)
        elif _groups(plan) > 1 and len(unit_hosts(plan, units[0])) > 1:
            for turn in turns:
                yield from _between_groups(plan, units[0], turn, 1 + entry["turn"] % (_groups(plan) - 1))


def _between_groups(plan, unit, turn, shift):
    groups, count = _groups(plan), len(unit_hosts(plan, unit))
    host, lane = _one_per_tor(plan, unit, turn)
    for group in range(groups):
        for nic_port in range(plan["shape"]["nic_ports"]):
            target = _port(plan, (group + shift) % groups, lane, nic_port)
            yield (unit, host, _port(plan, group, lane, nic_port)), (unit, (host + 1) % count, target)


def _core(plan, entry):
    turn, at_once = entry["turn"], entry["units"]
    pods = _pods(plan)
    shift = 1 + turn % (len(pods) - 1)
    for index, units in enumerate(pods):
        others = pods[(index + shift) % len(pods)]
        for number in range(at_once):
            place = turn * at_once + number
            yield from _across(plan, units[place % len(units)], others[(place + turn) % len(others)], turn)


def _incast(plan, entry):
    for unit in range(len(plan["units"])):
        for host in range(1, min(entry["senders"], len(unit_hosts(plan, unit)) - 1) + 1):
            for group in range(_groups(plan)):
                for nic_port in range(plan["shape"]["nic_ports"]):
                    port = _port(plan, group, 0, nic_port)
                    yield (unit, host, port), (unit, 0, port)


def _load(plan, _entry):
    groups = _groups(plan)
    for units in _pods(plan):
        for index, unit in enumerate(units):
            target = units[(index + 1) % len(units)]
            here, there = len(unit_hosts(plan, unit)), len(unit_hosts(plan, target))
            for host in range(min(here, there)):
                for port in range(len(kind_of(plan, unit, host)["ports"])):
                    if target != unit:
                        yield (unit, host, port), (target, host, port)
                    elif groups > 1 and here > 1:
                        _, group, nic_port = tor_of(plan, (unit, host, port))
                        lane = port // plan["shape"]["nic_ports"] % plan["shape"]["rails_per_tor"]
                        other = _port(plan, (group + 1) % groups, lane, nic_port)
                        yield (unit, host, port), (unit, (host + 1) % here, other)


_KINDS = {
    "tor": _inside,
    "latency": _inside,
    "spine": _spine,
    "core": _core,
    "incast": _incast,
    "load": _load,
}


def main(arguments):
    """Print the pairs of the round that the first argument numbers."""
    plan = load_plan()
    chosen = [entry for entry in plan["rounds"] if arguments == [str(entry["round"])]]
    if not chosen:
        print(f"usage: pairs.py ROUND, 1 to {len(plan['rounds'])}", file=sys.stderr)
        return 2
    print("sender,sender_port,receiver,receiver_port")
    for source, target in pairs(plan, chosen[0]):
        names = [f"{host_of(plan, at)},{port_of(plan, at)['name']}" for at in (source, target)]
        print(",".join(names))
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `pairs.py 3 | head` ends in silence
    sys.exit(main(sys.argv[1:]))
