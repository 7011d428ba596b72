"""Packets that hosts lose while the real systemd-networkd applies another netplan file, with real FRR and traffic."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fabricc.back import hosts
from fabricc.back.hosts import netplan
from fabricc.compiler.load.lock_file import LOCK_NAME
from fabricc.operate.lab import demands, lifecycle, observe, scenarios, state
from fabricc.operate.lab.flows import Stream
from fabricc.operate.lab.steady import Network
from tests.operate.lab import specs

if TYPE_CHECKING:
    from collections.abc import Iterator

NETWORKD = Path("/lib/systemd/systemd-networkd")
LIMIT_S = 60.0
DAEMON = """
set -e
folder=$1
mount -t tmpfs none /run
mount -o remount,bind,ro /sys
mkdir -p /run/dbus /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chown -R systemd-network:systemd-network /run/systemd/netif
dbus-daemon --system --nofork --nopidfile > "$folder/bus.log" 2>&1 & bus=$!
until [ -S /run/dbus/system_bus_socket ]; do sleep 0.05; done
# What the lab gave the host is somebody else's to networkd, so it goes before the start.
started=
while [ -e "$folder/stays" ]; do
    if [ -e "$folder/next" ]; then
        rm -f /run/systemd/network/*
        cp "$folder"/next/*.network /run/systemd/network/
        mv "$folder/next" "$folder/had.$(date +%s%N)"
        if [ "$started" ]; then
            networkctl reload
        else
            ip addr flush scope global
            "$0" > "$folder/log" 2>&1 & started=$!
        fi
        touch "$folder/done"
    fi
    sleep 0.05
done
kill $started "$bus"
"""


class Seen(NamedTuple):
    lost: int
    sent: int
    worst_s: float

    def __str__(self) -> str:
        return f"{self.lost} of {self.sent} lost, longest gap {self.worst_s * 1000:.0f} ms"


class Daemons:
    """A networkd in the namespace of each host, each with files of its own."""

    def __init__(self, network: Network, folder: Path) -> None:
        self.network, self.folder = network, folder
        self.folders = {host.name: folder / host.name for host in network.hosts}

    @contextmanager
    def running(self) -> Iterator[Daemons]:
        with ExitStack() as stack:
            for name, place in self.folders.items():
                place.mkdir(parents=True)
                (place / "stays").touch()
                words = ["ip", "netns", "exec", self.network.lab.record.namespace(name)]
                words += ["unshare", "-m", "sh", "-c", DAEMON, str(NETWORKD), str(place)]
                daemon = subprocess.Popen(words)
                stack.callback(daemon.wait, 20)
                stack.callback((place / "stays").unlink)
            yield self

    def take(self, network: Network) -> None:
        """Give every host, one after the other, its file of some state, as `netplan apply` would."""
        for host in network.hosts:
            root, place = self.folder / "root" / host.name, self.folders[host.name]
            shutil.rmtree(root, ignore_errors=True)
            file = root / netplan.FILE
            file.parent.mkdir(parents=True)
            file.write_text(hosts.render(host)[netplan.FILE])
            file.chmod(0o600)
            subprocess.run(["netplan", "generate", "--root-dir", str(root)], check=True)
            (place / "done").unlink(missing_ok=True)
            (root / "run/systemd/network").rename(place / "next")
            until = time.monotonic() + LIMIT_S
            while not (place / "done").exists() or not has_addresses(network, host.name):
                assert time.monotonic() < until, (place / "log").read_text()
                time.sleep(0.05)


def has_addresses(network: Network, name: str) -> bool:
    """Return whether the ports have the addresses of a state and no others."""
    host = next(host for host in network.hosts if host.name == name)
    words = ["ip", "-n", network.lab.record.namespace(name), "-o", "addr", "show", "scope", "global"]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    seen = {tuple(line.split()[1:4:2]) for line in ran.stdout.splitlines()}
    wanted = {(port.name, each) for port in host.ports for each in (port.ipv4, port.ipv6) if each}
    return seen == wanted


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    """Switches of both families; hosts as the lab makes them."""
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    programs = [name for name in ("netplan", "networkctl", "dbus-daemon") if not shutil.which(name)]
    if missing := [*demands.missing_programs(), *programs, *([] if NETWORKD.exists() else ["networkd"])]:
        pytest.skip(f"hosts with networkd in a lab need {', '.join(missing)}")
    lab, source = lifecycle.boot_lab(family_spec(tmp_path, "dual"), tmp_path / "lab")
    try:
        found = Network.of(lab, source.fabric)
        assert observe.wait_until_settled(lab, found.predict(), LIMIT_S) is not None
        yield found
    finally:
        if (tmp_path / "lab" / state.RECORD).exists():
            lifecycle.take_down_lab(tmp_path / "lab")


def family_spec(folder: Path, name: str) -> Path:
    return specs.two_tiers(folder / name, more=f"addressing: {{family: {name}}}")


def of_family(network: Network, folder: Path, name: str) -> Network:
    """The fabric in another family, by the same numbers."""
    spec = family_spec(folder, name)
    kept = network.lab.folder / state.SPEC / LOCK_NAME
    spec.with_name(LOCK_NAME).write_text(kept.read_text())
    return Network.of(network.lab, specs.source(spec).fabric)


def with_another_address(network: Network) -> Network:
    """A port of the first host has an address of no ToR."""
    first, *others = network.hosts
    *ports, last = first.ports
    assert (last.ipv4, last.gateway4) == ("10.2.0.1/31", "10.2.0.0")
    moved = replace(first, ports=(*ports, replace(last, ipv4="10.63.0.1/31", gateway4="10.63.0.0")))
    return replace(network, hosts=(moved, *others))


def apply_files(daemons: Daemons, wanted: Network, version: int) -> Seen:
    """The files of a state are taken while datagrams of a version run between all addresses that stay."""
    live = daemons.network
    ports = [port for host in wanted.hosts for port in host.ports]
    stay = {text.partition("/")[0] for port in ports for text in (port.ipv4, port.ipv6) if text}
    pairs = [
        pair
        for pair in scenarios.surviving_pairs(live, live.predict())
        if pair[0].version == version and stay >= {end.address for end in pair}
    ]
    with Stream(live.lab, pairs) as stream:
        stream.start()
        scenarios.while_running(lambda: daemons.take(wanted), stream)
        stream.recover(LIMIT_S)
        outage = stream.outage()
    assert outage.silent == 0
    assert outage.sent > 1000
    return Seen(outage.lost, outage.sent, outage.worst_s)


@pytest.mark.slow
def test_networkd_takes_a_second_family_and_drops_the_first(network: Network, tmp_path: Path) -> None:
    four, six = (of_family(network, tmp_path, name) for name in ("ipv4", "ipv6"))
    with Daemons(network, tmp_path / "hosts").running() as daemons:
        daemons.take(four)
        seen = {
            "the same again": apply_files(daemons, four, 4),
            "IPv6 beside IPv4": apply_files(daemons, network, 4),
            "another address on a port": apply_files(daemons, with_another_address(network), 4),
            "IPv6 alone": apply_files(daemons, six, 6),
        }
        for what, each in seen.items():
            print(f"networkctl reload, {what}: {each}")
    assert {each.lost for each in seen.values()} == {0}
