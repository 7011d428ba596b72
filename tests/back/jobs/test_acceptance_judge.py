"""The judge names the planted fault, on results as a fabric with that fault would give, and nothing on a sound one."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.fabric.shape import TierName
from tests.back.jobs.fabrics import fabric, import_script, write_tree

if TYPE_CHECKING:
    from pathlib import Path

Port = tuple[str, str]
COLUMNS = ("device", "port", "counter", "value")


@dataclass
class World:
    """A fabric at work, simulated from its own cabling: flows choose uplinks at random, faults slow what crosses them.

    Attributes:
        slow: (host port, `sends` or `receives`) whose traffic is slow.
        broken: (ToR, uplink) that drops: flows over it come to a crawl.
        counters: rise of switch counters that the fault causes.
        silent: hosts that write no results.
        unit: what ports count by priority.
    """

    name: str
    slow: set[tuple[Port, str]] = field(default_factory=set)
    broken: set[tuple[str, str]] = field(default_factory=set)
    counters: dict[tuple[str, str, str], int] = field(default_factory=dict)
    host_counters: dict[Port, dict[str, int]] = field(default_factory=dict)
    late: set[Port] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    unit: str = "bytes"

    def write(self, tree: Path) -> list[str]:
        """Results and counters of all rounds; the judge's arguments for them."""
        pairs = import_script(tree, "pairs")
        plan = pairs.load_plan(tree / "acceptance/plan.json")
        rng, octets = random.Random(7), {}
        uplinks, tors = self.uplinks()
        (tree / "results").mkdir()
        for entry in plan["rounds"]:
            by_host: dict[str, list[dict[str, Any]]] = {}
            for source, target in pairs.pairs(plan, entry):
                ends = [(pairs.host_of(plan, at), pairs.port_of(plan, at)["name"]) for at in (source, target)]
                value = self.value(
                    entry["kind"], *ends, pairs.port_of(plan, source), rng, uplinks, tors, octets
                )
                result = {"sender": ends[0], "receiver": ends[1], "value": value}
                by_host.setdefault(ends[0][0], []).append(result)
            for host, results in by_host.items():
                if host not in self.silent:
                    counters = {r["sender"][1]: self.counted(r["sender"]) for r in results}
                    outcome = {
                        "round": entry["round"],
                        "host": host,
                        "results": results,
                        "counters": counters,
                    }
                    (tree / f"results/{entry['round']}-{host}.json").write_text(json.dumps(outcome))
        self.table(tree / "before.csv", dict.fromkeys(octets, 5) | dict.fromkeys(self.counters, 3))
        rise = {key: 5 + value for key, value in octets.items()}
        self.table(tree / "after.csv", rise | {key: 3 + value for key, value in self.counters.items()})
        return ["--before", str(tree / "before.csv"), "--after", str(tree / "after.csv")]

    def uplinks(self) -> tuple[dict[str, list[tuple[Port, Port]]], dict[Port, str]]:
        built = fabric(self.name)
        found: dict[str, list[tuple[Port, Port]]] = {}
        tors: dict[Port, str] = {}
        for cable in built.cables():
            low, high = (cable.a_device, cable.a_port), (cable.b_device, cable.b_port)
            if cable.kind == "host":
                tors[low] = high[0]
            else:
                found.setdefault(low[0], []).append((low, high))
        return found, tors

    def value(
        self, kind: str, sender: Port, receiver: Port, port: dict[str, Any], rng: random.Random,
        uplinks: dict[str, list[tuple[Port, Port]]], tors: dict[Port, str], octets: dict[tuple[str, str, str], int],
    ) -> float:  # fmt: skip
        if kind == "latency":
            late = {sender, receiver} & self.late
            return rng.uniform(9, 11) if late else rng.uniform(3.0, 3.4)
        share = rng.uniform(0.985, 1.0)
        if (sender, "sends") in self.slow or (receiver, "receives") in self.slow:
            share = 0.4
        if kind != "tor" and tors[sender] != tors[receiver]:
            for _ in range(16):
                up, down = rng.choice(uplinks[tors[sender]]), rng.choice(uplinks[tors[receiver]])
                bad = {up[0], down[0]} & self.broken
                for end in (up[0], up[1], down[0], down[1]):
                    octets.setdefault((*end, "out_octets"), 0)
                octets[(*up[0], "out_octets")] += 1 if up[0] in self.broken else 1000
                octets[(*down[1], "out_octets")] += 1000
                share -= 1 / 16 if bad else 0
        return float(share * port["expected_gbps"])

    def counted(self, end: Port) -> dict[str, int]:
        return {"rx_prio3_bytes": 1000, f"tx_prio3_{self.unit}": 1000, **self.host_counters.get(end, {})}

    def table(self, path: Path, values: dict[tuple[str, str, str], int]) -> None:
        with path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([*key, value] for key, value in sorted(values.items()))


def run_judge(
    tree: Path, world: World, *, counters: bool = True, lines: str = "FAULT"
) -> tuple[int, list[str]]:
    """Exit status and the lines of faults of the emitted script, run as users run it."""
    options = world.write(write_tree(world.name, tree))
    call = [sys.executable, "acceptance/judge.py", "--results", "results", *(options if counters else [])]
    done = subprocess.run(call, cwd=tree, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith(lines)]


def first_port(name: str, at: int = 5) -> tuple[Port, str]:
    """A port of a host, and its cable as the judge writes it."""
    built = fabric(name)
    host = built.host(list(built.host_ids())[at])
    port = host.ports[2]
    return (host.name, port.name), f"{host.name} {port.name} <-> {port.peer.device} {port.peer.port}"


def first_uplink(name: str) -> tuple[Port, str]:
    """An uplink of a ToR, and its cable as the judge writes it."""
    built = fabric(name)
    tor = built.switch([s for s in built.switch_ids() if s.tier is TierName.TOR][3])
    port = next(
        port for port in reversed(tor.ports) if port.peer and port.peer.device.startswith(("spine", "pod"))
    )
    assert port.peer
    return (tor.name, port.name), f"{tor.name} {port.name} <-> {port.peer.device} {port.peer.port}"


@pytest.mark.parametrize("name", ["rails", "racks", "pods", "two-ports", "one-unit"])
def test_a_sound_fabric_has_no_fault(tmp_path: Path, name: str) -> None:
    assert run_judge(tmp_path, World(name)) == (0, [])


@pytest.mark.parametrize("name", ["rails", "racks", "pods", "two-ports", "one-unit"])
@pytest.mark.parametrize("direction", ["sends", "receives"])
def test_a_slow_host_link_is_named_with_its_direction(tmp_path: Path, name: str, direction: str) -> None:
    end, cable = first_port(name) if name != "one-unit" else first_port(name, 1)
    status, faults = run_judge(tmp_path, World(name, slow={(end, direction)}))
    assert status == 1
    assert len(faults) == 1, faults
    assert cable in faults[0]
    assert f"{end[0]} {direction}" in faults[0]
    assert "; or " not in faults[0]


def test_two_faults_at_once_are_distinguished(tmp_path: Path) -> None:
    (one, first), (other, second) = first_port("rails", 1), first_port("rails", 2)
    _, faults = run_judge(tmp_path, World("rails", slow={(one, "sends"), (other, "receives")}))
    assert len(faults) == 2
    assert first in faults[0] + faults[1]
    assert second in faults[0] + faults[1]


@pytest.mark.parametrize("name", ["rails", "racks", "pods", "two-ports"])
def test_an_uplink_that_drops_is_named_by_its_counters(tmp_path: Path, name: str) -> None:
    end, cable = first_uplink(name)
    world = World(name, broken={end}, counters={(*end, "fcs_errors"): 812})
    status, faults = run_judge(tmp_path, world)
    assert status == 1
    assert cable in faults[0]
    assert "fcs_errors +812" in faults[0]
    assert len(faults) == 1, faults


def test_an_uplink_without_errors_is_named_by_its_missing_traffic(tmp_path: Path) -> None:
    end, cable = first_uplink("rails")
    _, faults = run_judge(tmp_path, World("rails", broken={end}))
    assert cable in faults[0]


def test_without_switch_counters_the_switch_is_named(tmp_path: Path) -> None:
    end, _ = first_uplink("rails")
    _, faults = run_judge(tmp_path, World("rails", broken={end}), counters=False)
    assert f"uplinks of {end[0]}; switch counters would tell which" in faults[0]


def test_errors_on_a_link_that_still_carries_are_a_fault(tmp_path: Path) -> None:
    end, cable = first_uplink("rails")
    status, faults = run_judge(tmp_path, World("rails", counters={(*end, "symbol_errors"): 9}))
    assert (status, len(faults)) == (1, 1)
    assert cable in faults[0]
    assert "symbol_errors +9" in faults[0]


def test_a_late_port_is_named(tmp_path: Path) -> None:
    end, cable = first_port("rails")
    _, faults = run_judge(tmp_path, World("rails", late={end}))
    assert len(faults) == 1
    assert cable in faults[0]


@pytest.mark.parametrize(
    ("counters", "word"),
    [
        ({"tx_prio0_bytes": 5000}, "outside the lossless class"),
        ({"out_of_sequence": 4}, "packets lost"),
        ({"rx_crc_errors_phy": 2}, "rx_crc_errors_phy"),
        ({"rx_prio5_pause": 7}, "paused on priorities without PFC: 5"),
        (
            {f"tx_prio{n}_bytes": 1000 for n in range(8)},
            "octets outside the lossless class",
        ),  # all in one queue
    ],
)
def test_the_hosts_own_counters_are_read(tmp_path: Path, counters: dict[str, int], word: str) -> None:
    end, _ = first_port("rails")
    status, faults = run_judge(tmp_path, World("rails", host_counters={end: counters}))
    assert status == 1
    assert word in faults[0]
    assert f"{end[0]} {end[1]}" in faults[0]


@pytest.mark.parametrize(
    ("unit", "count", "sound"), [("bytes", 40, True), ("frames", 40, True), ("frames", 60, False)]
)
def test_priorities_of_one_queue_count_once(tmp_path: Path, unit: str, count: int, sound: bool) -> None:
    """bnxt_en shows the counter of the queue for each of its priorities; ionic counts frames."""
    end, _ = first_port("rails")
    counters = {f"tx_prio{n}_{unit}": count for n in range(8) if n != 3}
    status, faults = run_judge(tmp_path, World("rails", host_counters={end: counters}, unit=unit))
    assert status == (0 if sound else 1)
    assert sound or f"{unit} outside the lossless class" in faults[0]


def test_results_that_are_missing_are_reported(tmp_path: Path) -> None:
    end, _ = first_port("rails")
    World("rails", silent={end[0]}).write(write_tree("rails", tmp_path))
    call = [sys.executable, "acceptance/judge.py", "--results", "results"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"no result of {end[0]} rail0" in done.stdout
    nothing = subprocess.run(
        [*call[:-1], "nowhere"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (nothing.returncode, nothing.stdout) == (2, "")


STRANGER = {"sender": ["old-host", "rail0"], "receiver": ["old-host2", "rail0"], "value": 1.0}


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "no result of run.py"),
        ("[]", "no result of run.py"),
        ('{"round": 1}', "no result of run.py"),
        (
            json.dumps({"round": 1, "host": "old-host", "results": [STRANGER], "counters": {}}),
            "old-host rail0 is not in plan.json",
        ),
    ],
)
def test_a_file_that_is_no_result_of_this_plan_is_named(tmp_path: Path, text: str, reported: str) -> None:
    tree = write_tree("rails", tmp_path)
    (tree / "results").mkdir()
    (tree / "results/1-x.json").write_text(text)
    done = judge_refusal(tree)
    assert "1-x.json" in done
    assert reported in done


@pytest.mark.parametrize("table", [None, "a,b,c\n", "device,port,counter,value\nx,y,in_errors,many\n"])
def test_a_table_of_counters_that_is_none_is_named(tmp_path: Path, table: str | None) -> None:
    tree = write_tree("rails", tmp_path)
    World("rails").write(tree)
    if table is not None:
        (tree / "switches.csv").write_text(table)
    assert "switches.csv:" in judge_refusal(tree, "--before", "switches.csv", "--after", "switches.csv")
    assert "go together" in judge_refusal(tree, "--before", "switches.csv")


def judge_refusal(tree: Path, *arguments: str) -> str:
    """Return the message of the judge about files that it cannot judge."""
    call = [sys.executable, "acceptance/judge.py", "--results", "results", *arguments]
    done = subprocess.run(call, cwd=tree, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    return done.stderr


PUBLISHED = 50_000_000
"""Pause frames of the one host of a report whose results were all sound."""


@pytest.mark.parametrize("name", ["rails", "two-ports"])
def test_a_slow_receiver_is_named_though_every_result_is_sound(tmp_path: Path, name: str) -> None:
    slow, _ = first_port(name)
    status, output = judged_with_pauses(tmp_path, name, {slow: PUBLISHED})
    (fault,) = [line for line in output if line.startswith("FAULT")]
    assert status == 1
    assert f"{slow[0]} {slow[1]} sent" in fault
    assert "a slow receiver" in fault


def test_pauses_of_a_nic_that_counts_all_priorities_together_are_seen(tmp_path: Path) -> None:
    slow, _ = first_port("rails")
    _, output = run_judge(tmp_path, World("rails", host_counters={slow: {"tx_prio_pause": PUBLISHED}}))
    assert [line for line in output if f"{slow[0]} {slow[1]} sent" in line and "a slow receiver" in line]


def test_evidence_that_no_driver_counts_is_a_note(tmp_path: Path) -> None:
    """Silence about a slow receiver or lost packets is no result where nothing counts them."""
    end, _ = first_port("rails")
    counted = {"tx_prio3_pause": 0, "out_of_sequence": 0}
    status, notes = run_judge(
        tmp_path, World("rails", host_counters={end: counted}), lines="note: not looked"
    )
    ports = len(ports_of(tmp_path))
    assert status == 0
    assert [line.partition(" (")[0] for line in notes] == [
        f"note: not looked at: {what}, without a counter on {ports - 1} of {ports} ports"
        for what in ("lost packets", "pauses of a slow receiver")
    ]


def test_priorities_without_any_frame_are_no_evidence(tmp_path: Path) -> None:
    """Linux' page about ionic shows 31 frames, and 0 for each priority."""
    end, _ = first_port("rails")
    counters = {end: {f"tx_prio{n}_frames": 0 for n in range(8)}}
    _, notes = run_judge(
        tmp_path, World("rails", host_counters=counters, unit="frames"), lines="note: not looked"
    )
    assert any("the class of packets" in line and " ".join(end) in line for line in notes)


def test_switch_counters_that_were_cleared_count_from_zero(tmp_path: Path) -> None:
    tree = write_tree("rails", tmp_path)
    options = World("rails").write(tree)
    before = tree / "before.csv"
    before.write_text(before.read_text().replace(",5\n", ",999999999\n"))
    call = [sys.executable, "acceptance/judge.py", "--results", "results", *options]
    done = subprocess.run(call, cwd=tree, capture_output=True, text=True, check=False)
    assert "carried nothing" not in done.stdout


def test_two_slow_receivers_are_both_named(tmp_path: Path) -> None:
    slow = dict.fromkeys([first_port("rails")[0], first_port("rails", 9)[0]], PUBLISHED)
    status, output = judged_with_pauses(tmp_path, "rails", slow)
    assert (status, sum("a slow receiver" in line for line in output)) == (1, 2)


def test_pauses_of_all_hosts_are_one_fault_that_names_none(tmp_path: Path) -> None:
    tree = write_tree("rails", tmp_path / "plan-of")
    everyone = {(host, port["name"]): PUBLISHED for host, port in ports_of(tree)}
    status, output = judged_with_pauses(tmp_path, "rails", everyone)
    assert status == 1
    assert [line for line in output if "slow receiver" in line] == []
    assert sum("a setting that all hosts share" in line for line in output) == 1


def test_a_few_pauses_are_no_fault(tmp_path: Path) -> None:
    assert judged_with_pauses(tmp_path, "rails", {first_port("rails")[0]: 90})[0] == 0


def ports_of(tree: Path) -> list[tuple[str, Any]]:
    plan = json.loads((tree / "acceptance/plan.json").read_text())
    return [
        (host, port)
        for unit in plan["units"]
        for host in unit["hosts"]
        for port in plan["kinds"][unit["kind"]]["ports"]
    ]


def judged_with_pauses(tree: Path, name: str, pauses: dict[Port, int]) -> tuple[int, list[str]]:
    """The verdict where ports sent so many pauses in every round."""
    return run_judge(
        tree, World(name, host_counters={end: {"tx_prio3_pause": n} for end, n in pauses.items()})
    )
