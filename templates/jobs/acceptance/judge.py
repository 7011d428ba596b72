#!/usr/bin/env python3
"""Read the results of the acceptance test and report which links are at fault.

    judge.py [--results FOLDER] [--cabling CSV] [--before CSV --after CSV]

The two tables hold switch counters before and after the rounds: device,port,counter,value. Counters named
in_errors, out_errors, fcs_errors, symbol_errors, in_discards, out_discards and link_flaps indicate faults,
in_octets and out_octets of the links that carried traffic. Exit status: 0 sound, 1 faults, 2 nothing to judge.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from statistics import median

sys.dont_write_bytecode = True  # nothing but its own files belongs in the tree
from pairs import GATED, host_of, kind_of, load_plan, pairs, port_of  # noqa: E402

FAULTS = (
    "in_errors", "out_errors", "fcs_errors", "symbol_errors", "in_discards", "out_discards", "link_flaps",
)  # fmt: skip
HOST_FAULTS = ("rx_crc_errors_phy", "rx_symbol_err_phy", "rx_icrc_encapsulated")
HOST_LOSSES = (
    "out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rx_discards_phy", "rx_out_of_buffer",
)  # fmt: skip
PAUSES = 1000
"""Pause frames of a port in one round from which it is a slow receiver: a round of pairs overloads no receiver."""
OUTLIER = 10
"""How many times the median of all ports a port's pauses must be, to be that port's fault alone."""
LOW_SHARE = 0.5
OTHER_CLASS_SHARE = 0.05


class Cabling:
    """The cables by either end, and the uplinks of every switch."""

    def __init__(self, path):
        self.of_port, self.uplinks = {}, {}
        with Path(path).open(newline="") as file:
            for row in csv.DictReader(file):
                low, high = (row["a_device"], row["a_port"]), (row["b_device"], row["b_port"])
                cable = (low, high)
                self.of_port[low] = self.of_port[high] = cable
                if row["kind"] != "host":
                    self.uplinks.setdefault(row["a_device"], []).append(cable)

    def tor(self, end):
        """The switch at the far end of a host's port."""
        return self.of_port[end][1][0]


def text(cable):
    """A cable for people."""
    (a, a_port), (b, b_port) = cable
    return f"{a} {a_port} <-> {b} {b_port}"


class UnusableError(Exception):
    """A file that cannot be judged; the message names it and the reason."""


def read_results(folder, known):
    """What every host wrote, by round and host, in order.

    Raises:
        UnusableError: a file is not one that run.py writes, or names a port that is not `known`.
    """
    found = []
    for path in Path(folder).glob("*.json"):
        try:
            entry = json.loads(path.read_text())
            ends = {tuple(result[side]) for result in entry["results"] for side in ("sender", "receiver")}
            ends |= {(entry["host"], name) for name in entry["counters"]}
            found.append(((entry["round"], entry["host"]), entry))
        except (ValueError, KeyError, TypeError):
            raise UnusableError(f"{path} is no result of run.py: remove it, or run its round again") from None
        strangers = sorted(ends - known.keys())
        if strangers:
            raise UnusableError(
                f"{path}: {' '.join(strangers[0])} is not in plan.json: is it of an earlier plan?"
            )
    return [entry for _, entry in sorted(found, key=lambda row: row[0])]


def expected_gbps(plan):
    """(host, port) -> Gb/s that it is expected to carry, of every port of the plan."""
    return {
        (host, port["name"]): port["expected_gbps"]
        for number, unit in enumerate(plan["units"])
        for place, host in enumerate(unit["hosts"])
        for port in kind_of(plan, number, place)["ports"]
    }


def read_deltas(before, after):
    """Counter -> (device, port) -> how much it rose.

    Raises:
        UnusableError: a table has other columns, or a value that is no whole number.
    """

    def table(path):
        with Path(path).open(newline="") as file:
            rows = csv.DictReader(file)
            try:
                if not {"device", "port", "counter", "value"} <= set(rows.fieldnames or ()):
                    raise KeyError("columns")
                return {(row["device"], row["port"], row["counter"]): int(row["value"]) for row in rows}
            except (KeyError, TypeError, ValueError):
                where = f"{path}:{rows.line_num}"
                raise UnusableError(f"{where}: not `device,port,counter,value` with a whole number") from None

    if not before or not after:
        return {}
    first, last = table(before), table(after)
    deltas = {}
    for (device, port, counter), value in last.items():
        earlier = first.get((device, port, counter), 0)
        rise = value - earlier if value >= earlier else value  # cleared in between
        deltas.setdefault(counter, {})[device, port] = rise
    return deltas


def verdicts(plan, entries):
    """Every gated result: (kind, sender, receiver, value, limit, sound); and the pairs without any."""
    expected = expected_gbps(plan)
    by_round = {}
    for entry in entries:
        by_round.setdefault(entry["round"], []).extend(entry["results"])
    gate, factor = plan["limits"]["gate"], plan["limits"]["latency_factor"]
    tests, missing = [], []
    for entry in plan["rounds"]:
        results = by_round.get(entry["round"])
        if not results or entry["kind"] not in (*GATED, "latency"):
            continue
        seen = set()
        values = [result["value"] for result in results if result["value"] is not None]
        for result in results:
            sender, receiver = tuple(result["sender"]), tuple(result["receiver"])
            seen.add((sender, receiver))
            value = result["value"]
            if entry["kind"] == "latency":
                limit = factor * median(values) if values else 0
                sound = value is not None and value <= limit
            else:
                limit = gate * min(expected[sender], expected[receiver])
                sound = value is not None and value >= limit
            tests.append((entry["kind"], sender, receiver, value, limit, sound))
        for source, target in pairs(plan, entry):
            ends = [(host_of(plan, at), port_of(plan, at)["name"]) for at in (source, target)]
            if tuple(ends) not in seen:
                missing.append((entry["round"], ends[0], ends[1]))
    return tests, missing


def suspects_of(test, cabling, cleared):
    """What may be at fault in a failed result; an uplink only when both ports are cleared.

    A latency is that of the way there and back, so its suspects are ports, whatever their direction.
    """
    kind, sender, receiver = test[:3]
    suspects = ends_of(test) - cleared
    if not suspects and kind in ("spine", "core"):
        suspects = {("up", cabling.tor(sender)), ("down", cabling.tor(receiver))}
    return frozenset(suspects)


def ends_of(test):
    """The two ports of a result, as suspects."""
    kind, sender, receiver = test[:3]
    if kind == "latency":
        return {("answers", sender), ("answers", receiver)}
    return {("sends", sender), ("receives", receiver)}


def explain(tests, cabling):
    """Return the fewest suspects that explain the failed results: [(equal suspects, failures explained)].

    A sound result clears both of its ends, but no uplinks: a hash chose among them. Of equal suspects, those already at
    fault are at fault here too.
    """
    cleared = set()
    for test in tests:
        if test[-1]:
            cleared |= ends_of(test)
    failed = [suspects_of(test, cabling, cleared) for test in tests if not test[-1]]
    failed = [suspects for suspects in failed if suspects]
    found, blamed = [], set()
    while failed:
        weight = {}
        for suspects in failed:
            for suspect in suspects:
                weight[suspect] = weight.get(suspect, 0) + 1
        most = max(weight.values())
        first = min(suspect for suspect, count in weight.items() if count == most)
        explained = [suspects for suspects in failed if first in suspects]
        alike = sorted(frozenset.intersection(*explained))
        known = [suspect for suspect in alike if suspect[1] in blamed]
        found.append((known or alike, len(explained)))
        if len(alike) == 1:
            blamed.add(first[1])
        failed = [suspects for suspects in failed if first not in suspects]
    return found


def name_uplinks(switch, cabling, deltas):
    """The uplinks of a switch that its counters accuse: by errors, else by far less traffic; else all of them."""
    cables = cabling.uplinks.get(switch, [])
    accused = [cable for cable in cables if errors_of(cable, deltas)]
    if accused:
        return tuple(accused)
    octets = {cable: deltas.get("out_octets", {}).get(cable[0]) for cable in cables}
    known = [value for value in octets.values() if value is not None]
    limit = LOW_SHARE * median(known) if known else 0
    low = [cable for cable, value in octets.items() if value is not None and value < limit]
    return tuple(low or cables)


def errors_of(cable, deltas):
    """Counters of faults that rose at either end of a cable."""
    return [
        f"{device} {port} {counter} +{deltas[counter][device, port]}"
        for device, port in cable
        for counter in FAULTS
        if deltas.get(counter, {}).get((device, port), 0) > 0
    ]


def report(plan, entries, cabling, deltas):
    """The gated results, the lines of the faults, and those of the notes."""
    tests, missing = verdicts(plan, entries)
    faults, told = [], set()
    by_accusation = {}
    for suspects, explained in explain(tests, cabling):
        accusation = tuple(accuse(suspect, cabling, deltas) for suspect in suspects)
        by_accusation.setdefault(accusation, []).append((suspects, explained))
    for accusation, parts in by_accusation.items():
        count = sum(explained for _, explained in parts)
        how = sorted({describe(suspect) for suspects, _ in parts for suspect in suspects})
        told.update(cable for cables in accusation for cable in cables)
        names = "; or ".join(dict.fromkeys(phrase(cables, deltas) for cables in accusation))
        faults.append(f"{names}: {count} failed results ({', '.join(how)})")
    for cable in dict.fromkeys(cabling.of_port.values()):
        evidence = errors_of(cable, deltas)
        if evidence and cable not in told:
            faults.append(f"{text(cable)}: {', '.join(evidence)}")
    faults += slow_receivers(plan, entries, cabling)
    faults += host_faults(plan, entries, cabling, told)
    notes = [f"round {number}: no result of {a[0]} {a[1]} to {b[0]} {b[1]}" for number, a, b in missing]
    carried = deltas.get("out_octets", {})
    notes += [
        f"not tested: {text(cable)} carried nothing in one direction"
        for switch in sorted(cabling.uplinks)
        for cable in cabling.uplinks[switch]
        if any(end in carried and carried[end] <= 0 for end in cable)
    ]
    return tests, faults, [*missing_counters(plan, entries), *notes]


def missing_counters(plan, entries):
    """Report what was not looked at because the drivers of ports do not count it, or `ethtool` is missing."""
    lossless = plan["traffic"]["lossless_priorities"]
    if not lossless:
        return
    pauses = {"tx_prio_pause", *(f"tx_prio{n}_pause" for n in lossless)}
    classes = {f"tx_prio{n}_{unit}" for n in range(8) for unit in ("bytes", "frames")}
    ports = {}
    for entry in entries:
        for port, counters in entry["counters"].items():
            # ionic shows frames of priorities, and all of them are 0 for frames without a VLAN tag.
            shown = {name for name, value in counters.items() if value or name not in classes}
            ports.setdefault((entry["host"], port), set()).update(shown)
    for what, names in (
        ("lost packets", set(HOST_LOSSES)),
        ("pauses of a slow receiver", pauses),
        ("the class of packets", classes),
    ):
        without = sorted(end for end, counted in ports.items() if not names & counted)
        if without:
            first = " ".join(without[0])
            yield f"not looked at: {what}, without a counter on {len(without)} of {len(ports)} ports ({first})"


def accuse(suspect, cabling, deltas):
    """The cables that a suspect stands for."""
    what, who = suspect
    return name_uplinks(who, cabling, deltas) if what in ("up", "down") else (cabling.of_port[who],)


def describe(suspect):
    """In what role a suspect failed."""
    what, who = suspect
    if what in ("up", "down"):
        return f"{who} {'to' if what == 'up' else 'from'} the spines"
    return f"{who[0]} {what}"


def phrase(cables, deltas):
    """The cables with the evidence of their counters; many without any are one of them."""
    if len(cables) > 1 and not any(errors_of(cable, deltas) for cable in cables):
        return f"one of the {len(cables)} uplinks of {cables[0][0][0]}; switch counters would tell which"
    return " and ".join(", ".join([text(cable), *errors_of(cable, deltas)]) for cable in cables)


def slow_receivers(plan, entries, cabling):
    """Report the ports that pause their ToR in rounds of pairs: the host does not take what one sender sends.

    A ToR that is paused spreads pauses over the fabric, so results of other hosts suffer while this one's look sound.
    """
    gated = {entry["round"] for entry in plan["rounds"] if entry["kind"] in GATED}
    totals, rounds = {}, {}
    for entry in entries:
        if entry["round"] not in gated:
            continue
        for port, counters in entry["counters"].items():
            end = (entry["host"], port)
            names = [f"tx_prio{n}_pause" for n in plan["traffic"]["lossless_priorities"]]
            sent = sum(counters.get(name, 0) for name in [*names, "tx_prio_pause"])
            totals[end] = totals.get(end, 0) + sent
            rounds[end] = rounds.get(end, 0) + 1
    slow = {end: sent for end, sent in totals.items() if sent > PAUSES * rounds[end]}
    if not slow:
        return
    usual = median(totals.values())
    alone = {end: sent for end, sent in slow.items() if sent > OUTLIER * usual}
    for end, sent in sorted(alone.items()):
        yield (
            f"{text(cabling.of_port[end])}: {end[0]} {end[1]} sent {sent} pauses: a slow receiver; compare its PCIe "
            "width, read request, access control and memory node with another host's"
        )
    if others := len(slow) - len(alone):
        yield f"{others} of {len(totals)} ports sent pauses in rounds of pairs: look for a setting that all hosts share"


def host_faults(plan, entries, cabling, told):
    """Report problems in the counters of hosts: bit errors, loss, and packets in another class than planned."""
    lossless = set(plan["traffic"]["lossless_priorities"])
    totals = {}
    for entry in entries:
        for port, counters in entry["counters"].items():
            total = totals.setdefault((entry["host"], port), {})
            for name, value in counters.items():
                total[name] = total.get(name, 0) + value
    for end, total in totals.items():
        cable = cabling.of_port.get(end)
        wrong = [f"{name} +{total[name]}" for name in HOST_FAULTS if total.get(name, 0) > 0]
        if wrong and cable not in told:
            yield f"{text(cable)}: {', '.join(wrong)}"
        lost = [f"{name} +{total[name]}" for name in HOST_LOSSES if total.get(name, 0) > 0]
        if lost and lossless and cable not in told:
            yield f"packets lost on the way to or from {end[0]} {end[1]}: {', '.join(lost)}"
        unit = "octets" if any(f"tx_prio{n}_bytes" in total for n in range(8)) else "frames"
        sent, other = sent_by_class(total, lossless, "bytes" if unit == "octets" else unit)
        if lossless and other > OTHER_CLASS_SHARE * (sent + other):
            yield f"{end[0]} {end[1]} sent {other} {unit} outside the lossless class: trust, DSCP map or --tclass"
        allowed = lossless | {plan["traffic"]["cnp_priority"]}
        paused = [n for n in range(8) if n not in allowed and total.get(f"rx_prio{n}_pause", 0) > 0]
        if paused:
            yield f"{end[0]} {end[1]} was paused on priorities without PFC: {', '.join(map(str, paused))}"


def sent_by_class(total, lossless, unit):
    """Return what a port sent in its lossless classes and outside them.

    bnxt_en shows for each priority the counter of its queue, so equal counters are one and count once. A priority that
    shares the queue of a lossless one therefore counts as outside.
    """
    counters = {n: total.get(f"tx_prio{n}_{unit}", 0) for n in range(8)}
    inside = {value for n, value in counters.items() if n in lossless}
    outside = {value for n, value in counters.items() if n not in lossless}
    return sum(inside), sum(outside)


def main(arguments):
    """Judge a folder of results."""
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--results", default="results")
    parser.add_argument("--cabling", default=str(here.parent / "plan" / "cabling.csv"))
    parser.add_argument("--before", help="switch counters before the rounds")
    parser.add_argument("--after", help="switch counters after the rounds")
    options = parser.parse_args(arguments)
    if bool(options.before) != bool(options.after):
        parser.error("--before and --after go together")
    try:
        plan = load_plan()
        entries = read_results(options.results, expected_gbps(plan))
        deltas = read_deltas(options.before, options.after)
        cabling = Cabling(options.cabling)
    except UnusableError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    if not entries:
        print(f"no results in {options.results}", file=sys.stderr)
        return 2
    tests, faults, notes = report(plan, entries, cabling, deltas)
    sound = sum(1 for test in tests if test[-1])
    print(f"{len(tests)} results, {sound} as expected, {len(faults)} faults")
    for line in faults:
        print(f"FAULT: {line}")
    for line in notes[:20]:
        print(f"note: {line}")
    if len(notes) > 20:
        print(f"note: and {len(notes) - 20} more of the kind")
    if not deltas:
        print("note: without switch counters, which uplinks carried traffic is not known")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
