"""From a factory-default switch to a rack more, a rack less and back, by each driver with texts of the real compiler.

After every step the switch is compared with its plan: its own text is read by the reader of its system.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.switches import lines_sent
from fabricc.back.nos import load
from fabricc.operate.drivers import nxos
from tests.operate.drivers.servers.eos import eos_switch
from tests.operate.drivers.servers.junos import junos_switch
from tests.operate.drivers.servers.linux_switch import linux_switch
from tests.operate.drivers.servers.nxos import nxos_switch
from tests.operate.lab import specs
from tests.operate.push.network import build_spec
from tests.operate.push.test_drivers import MODELS, SPEC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fabricc.fabric.model import Switch

NAME = "spine01a"
RACK = "gpus: {model: hgx-8gpu, hosts: 2, hosts_per_unit: 2}"
EOS_FACTORY = [
    "no aaa root", "username admin role network-admin nopassword", "transceiver qsfp default-mode 4x10G",
    "hostname localhost", "spanning-tree mode mstp", "interface Ethernet1/1", "interface Management1",
    "ip address dhcp", "no ip routing",
]  # fmt: skip
JUNOS_FACTORY = """\
system {
    host-name factory;
    commit {
        factory-settings;
    }
}
protocols {
    lldp {
        interface all;
    }
    rstp {
        interface all;
    }
}
"""
NXOS_FACTORY = """\
version 10.4(3) Bios:version 05.51
hostname switch
vdc switch id 1
  limit-resource vlan minimum 16 maximum 4094

feature nxapi
feature scp-server
username admin password 5 $5$ADMIN  role network-admin
interface Ethernet1/1
  switchport
line console
line vty
boot nxos bootflash:/nxos64-cs.10.4.3.F.bin
"""
CUMULUS_FACTORY = "- set: {system: {hostname: cumulus}, interface: {eth0: {type: eth}}}\n"
MOST = {
    "eos": {"change": 11, "unchanged": 4, "rollback": 6},
    "junos": {"change": 14, "unchanged": 6, "rollback": 12},
    "nxos": {"change": 40, "unchanged": 2, "rollback": 40},
    "cumulus": {"change": 60, "unchanged": 20, "rollback": 60},
}
"""Requests that a step may take; those of NX-OS and Cumulus poll, so they have room for a slow machine.

A rollback here is a load, a commit that waits, and the way back. On Junos: 4 + 3 + 5 requests (commits, the running
secrets, lock, load; commits, commit, unlock; lock, rollback 1, difference, commit, unlock).
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """A state of the switch: what it is planned to be, and its text."""

    switch: Switch
    text: str


@dataclass
class Bench:
    """A switch behind its server, and the plans for it."""

    nos: str
    server: Any
    running: Callable[[], str]
    small: Plan
    grown: Plan
    before: int = 0

    def check(self, plan: Plan) -> None:
        """Compare the switch's own text with a plan."""
        back_end = load(self.nos)
        facts = back_end.read({FILES[self.nos]: self.running()}).facts
        missing = {
            path: (value, facts.get(path))
            for path, value in back_end.planned(plan.switch).items()
            if facts.get(path) != value
        }
        assert missing == {}

    def step(self, name: str, kind: str) -> None:
        """Count the requests of a step that has ended."""
        taken, self.before = self.server.requests - self.before, self.server.requests
        print(f"{self.nos}: {name}: {taken} requests")
        assert taken <= MOST[self.nos][kind]


FILES = {
    "eos": "running-config.cfg",
    "junos": "juniper.conf",
    "nxos": "running-config.cfg",
    "cumulus": "startup.yaml",
}


@contextmanager
def server_of(folder: Path, nos: str) -> Iterator[tuple[Any, Callable[[], str]]]:
    """A factory-default switch, and how its configuration is seen."""
    if nos == "eos":
        with eos_switch(folder) as eos:
            eos.running = eos.startup = list(EOS_FACTORY)
            yield eos, lambda: eos.printed.get(tuple(eos.running), "")
    elif nos == "junos":
        with junos_switch(folder) as junos:
            junos.history, junos.candidate = [JUNOS_FACTORY], JUNOS_FACTORY
            yield junos, lambda: junos.running
    elif nos == "nxos":
        with nxos_switch(folder) as nexus:
            nexus.running = nexus.startup = NXOS_FACTORY
            yield nexus, lambda: nexus.running
    else:
        with linux_switch(folder, nos, CUMULUS_FACTORY) as cumulus:
            yield cumulus, lambda: cumulus.text("running.json")


@pytest.fixture(params=FILES)
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(nxos, "POLL_S", 0.1)
    nos = request.param
    plans = []
    spec = specs.write(tmp_path / "spec", SPEC.format(model=MODELS[nos], nos=nos))
    for hosts in (2, 4):
        spec.write_text(
            SPEC.format(model=MODELS[nos], nos=nos).replace(
                RACK, RACK.replace("hosts: 2,", f"hosts: {hosts},")
            )
        )
        source = build_spec(spec, tmp_path / "out")
        plans.append(Plan(source.switch(NAME), source.files(NAME)[FILES[nos]]))
    with server_of(tmp_path, nos) as (server, running):
        if nos == "eos":
            server.printed |= {lines_sent(plan.text): plan.text for plan in plans}
        yield Bench(nos, server, running, *plans)


@pytest.mark.slow
def test_a_factory_switch_is_pushed_to_grows_shrinks_and_goes_back(bench: Bench) -> None:
    with bench.server.device.connect(timeout=30, session="run-1") as driver:
        assert driver.get_holds() == []
        bench.before = bench.server.requests
        for name, plan in (("first", bench.small), ("growth", bench.grown), ("retired port", bench.small)):
            driver.load_replace_candidate(config=plan.text)
            assert driver.compare_config() != ""
            driver.commit_config(revert_in=60)
            assert driver.has_pending_commit()
            driver.confirm_commit()
            assert not driver.has_pending_commit()
            bench.step(name, "change")
            bench.check(plan)
            driver.load_replace_candidate(config=plan.text)
            assert driver.compare_config() == ""
            driver.discard_config()
            bench.step("unchanged", "unchanged")
        driver.load_replace_candidate(config=bench.grown.text)
        driver.commit_config(revert_in=60)
        driver.rollback()
        bench.step("rollback", "rollback")
        assert not driver.has_pending_commit()
        bench.check(bench.small)
