"""Secrets reach the switch and nothing else: no output, journal, exception or tree has a value."""

from __future__ import annotations

import sqlite3
import threading
import zlib
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.access import Access, read_access
from fabricc.operate.devices.connection import open_connection
from fabricc.operate.devices.login import Login
from fabricc.operate.devices.secrets import Reference, secret_names_in
from fabricc.operate.push.executor import Executor
from fabricc.operate.push.journal import Journal
from fabricc.operate.push.options import Options
from fabricc.operate.push.reach import session_name
from tests.operate.drivers.servers.eos import PASSWORD, USER, eos_switch
from tests.operate.push.network import HITLESS, Network, build_spec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.operate.push.built_tree import BuiltTree

SPEC = """\
cluster: small
gpus: {model: hgx-8gpu, hosts: 2, hosts_per_unit: 2}
tors: {model: 7060x6-64pe, nos: eos, uplinks: 2}
spines: {model: 7060x6-64pe, nos: eos, count: 2}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
management:
  tacacs: {servers: [172.16.0.5], key: {secret: tacacs}}
  snmp: {community: {secret: snmp}}
"""
KEY, COMMUNITY, NEXT_KEY = "Xk4-vq9/Zr+77.tU", "w8R_pmQ2=h5", "n3w-K3y/of:2027"
PLACES = "secrets: {tacacs: {env: LAB_TACACS}, snmp: {env: LAB_SNMP}}\n"
ONE = ("--only", "spine01a")


def fill_references(text: str) -> str:
    return text.replace("FABRICC-SECRET-tacacs", KEY).replace("FABRICC-SECRET-snmp", COMMUNITY)


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    monkeypatch.setenv("LAB_TACACS", KEY)
    monkeypatch.setenv("LAB_SNMP", COMMUNITY)
    found = Network.start(tmp_path, SPEC, fill_references)
    found.direct = True
    yield found
    found.stop()


def access_file(network: Network) -> Path:
    return network.spec.parent / "fabricc-access.yaml"


def read_remains(network: Network, *outputs: str) -> str:
    """Everything that a push leaves behind."""
    places = [*network.folder.glob("journal.sqlite*"), *(network.folder / "out").rglob("*")]
    kept = [path.read_bytes().decode("latin-1") for path in places if path.is_file()]
    return "\n".join([*outputs, *kept])


def test_a_value_reaches_the_switch_and_nothing_else(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    with access_file(network).open("a") as file:
        file.write(PLACES)
    network.edit(HITLESS)
    outputs = []
    for options in (("--dry-run", "--adopt", *ONE), ("--adopt", *ONE)):
        ran = network.push(*options, status=0)
        outputs += [ran.stdout, ran.stderr]
    assert "interval 500" in outputs[0], "the device's own diff is shown"
    assert KEY in network.runs("spine01a")
    assert "FABRICC-SECRET" not in network.runs("spine01a")

    monkeypatch.setenv("LAB_TACACS", NEXT_KEY)
    ran = network.push("--dry-run", *ONE, status=0)
    assert "+tacacs-server host 172.16.0.5 vrf MGMT key 0" in ran.stdout
    outputs += [ran.stdout, ran.stderr]
    assert KEY not in read_remains(network)
    ran = network.push(*ONE, status=0)
    assert NEXT_KEY in network.runs("spine01a")
    ran = network.push("--rollback", "2", status=0)
    outputs += [ran.stdout, ran.stderr]
    for value in (KEY, NEXT_KEY, COMMUNITY):
        assert not any(value in text for text in outputs)
    for value in (NEXT_KEY, COMMUNITY):
        assert value not in read_remains(network), "the journal and the tree have references"


def stored_configurations(network: Network) -> str:
    """Every configuration in the journal, as it is stored."""
    with closing(sqlite3.connect(network.journal)) as base:
        rows = base.execute("SELECT before, after FROM device").fetchall()
    return "\n".join(zlib.decompress(blob).decode() for row in rows for blob in row if blob)


def find_leaks(network: Network) -> list[str]:
    """Return the secrets outside of the network."""
    with closing(sqlite3.connect(f"{network.journal}.secrets")) as base:
        return [row[0] for row in base.execute("SELECT secret FROM apart").fetchall()]


@pytest.mark.slow
def test_earlier_secret_is_stored_until_the_next_change_of_the_switch(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    with access_file(network).open("a") as file:
        file.write(PLACES)
    network.edit(HITLESS)
    network.push("--adopt", *ONE, status=0)
    monkeypatch.setenv("LAB_TACACS", NEXT_KEY)
    network.push(*ONE, status=0)
    assert KEY not in stored_configurations(network)
    assert KEY in find_leaks(network)
    assert (network.folder / "journal.sqlite.secrets").stat().st_mode & 0o777 == 0o600

    network.push("--rollback", "2", status=0)
    assert KEY in network.runs("spine01a"), "the switch runs exactly what it ran before"
    assert KEY not in stored_configurations(network)
    network.push(*ONE, status=0)
    network.push(*ONE, status=0)
    assert network.states() == {"spine01a": "unchanged"}
    assert KEY in find_leaks(network), "a push without a change leaves the way back of the last change"
    network.edit("routing: {bfd: {interval_ms: 400}}")
    network.push(*ONE, status=0)
    assert KEY not in find_leaks(network), "nothing can be undone with it"
    output = network.push("--rollback", "2", status=1).stderr
    assert "FAB9153" in output
    assert NEXT_KEY in network.runs("spine01a")


@pytest.mark.slow
def test_without_a_value_no_switch_is_spoken_to(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    network.edit(HITLESS)
    output = network.push("--adopt", status=1).stderr
    assert output.count("FAB9131") == 2
    assert "'snmp'" in output
    assert "secrets: {tacacs: {env: NAME}}" in output
    with access_file(network).open("a") as file:
        file.write(PLACES)
    monkeypatch.delenv("LAB_SNMP")
    assert "LAB_SNMP is not set" in network.push("--adopt", status=1).stderr
    monkeypatch.setenv("LAB_SNMP", "spine")
    assert "word in the configuration" in network.push("--adopt", status=1).stderr
    monkeypatch.setenv("LAB_SNMP", "a b")
    assert "cannot hold" in network.push("--adopt", status=1).stderr
    assert network.ask("peak")["connections"] == 1, "nobody but this question"


@pytest.fixture
def source(tmp_path: Path) -> BuiltTree:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC)
    return build_spec(spec, tmp_path / "out")


@pytest.mark.slow
def test_a_real_driver_loads_the_value_and_its_exceptions_hide_it(
    tmp_path: Path, source: BuiltTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_TACACS", KEY)
    monkeypatch.setenv("LAB_SNMP", COMMUNITY)
    monkeypatch.setenv("LAB_PASSWORD", PASSWORD)
    places = {"tacacs": Reference("env", "LAB_TACACS"), "snmp": Reference("env", "LAB_SNMP")}
    with eos_switch(tmp_path) as switch, closing(Journal(tmp_path / "journal.sqlite")) as journal:
        device = switch.device
        login = Login(USER, Reference("env", "LAB_PASSWORD"), address=device.host, options=device.options)
        access = Access(login, secrets=places)
        run = journal.begin("push", "tree", "digest", {}, iter(["spine01a"]))

        def executor(word: str) -> Executor:
            def target(name: str) -> dict[str, str]:
                return {
                    file: text.replace("tacacs-server", word) for file, text in source.files(name).items()
                }

            return Executor(source, access, journal, run, Options(confirm_s=60), target, threading.Event())

        journal.record_plan(run, "spine01a", "hostname old\n", "", False, {}, {})
        with pytest.raises(DeviceError) as refused:
            executor("bogus-server").change("spine01a")
        assert "bogus-server" in str(refused.value), "the device names the line"
        assert KEY not in str(refused.value)
        executor("tacacs-server").change("spine01a")
        assert f"tacacs-server host 172.16.0.5 vrf MGMT key 0 {KEY}" in switch.running
        session = session_name(run, "spine01a")
        with open_connection(source.devices["spine01a"], access, session) as live:
            live.call("FAB9115", "the confirmation", "confirm_commit")
    assert KEY.encode() not in (tmp_path / "journal.sqlite").read_bytes()


def test_names_and_places(tmp_path: Path) -> None:
    assert secret_names_in("key FABRICC-SECRET-tacacs\n{FABRICC-SECRET-snmp-ro;}") == {"tacacs", "snmp-ro"}
    path = tmp_path / "fabricc-access.yaml"
    path.write_text("secrets: {tacacs: swordfish}\n")
    with pytest.raises(DeviceError, match=r"secrets\.tacacs does not name the source of a secret") as refused:
        read_access(path)
    assert "swordfish" not in str(refused.value)
    secret = tmp_path / "tacacs"
    secret.write_text(f"{KEY}\n")
    secret.chmod(0o600)
    path.write_text("secrets: {tacacs: {file: tacacs}}\n")
    access = read_access(path)
    assert access.fill_in("a FABRICC-SECRET-tacacs b") == f"a {KEY} b"
    assert access.hide_secrets(f"a {KEY} b") == "a FABRICC-SECRET-tacacs b"
    assert KEY in access.known_secrets()
