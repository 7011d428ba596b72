"""Which switch answers at an address: swapped addresses and shared devices, through the real driver of every system."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc.fabric.model import Direction
from fabricc.operate.devices.access import read_access
from fabricc.operate.devices.identity import Answering, Identity, shared_devices
from fabricc.operate.verify.model import Aspect
from fabricc.operate.verify.run import verify
from tests.operate.lab import specs
from tests.operate.push.network import build_spec, run_here
from tests.operate.push.test_drivers import MODELS, SPEC, server_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.operate.push.built_tree import BuiltTree

NAME, OTHER = "spine01a", "spine02a"
DRIVERS = [nos if nos in ("eos", "junos") else pytest.param(nos, marks=pytest.mark.slow) for nos in MODELS]


@contextmanager
def swap_servers(
    folder: Path, nos: str, runs: dict[str, str] | None = None
) -> Iterator[tuple[BuiltTree, Any, list[str]]]:
    """A server at the addresses of both spines that runs `runs`, by default the files of OTHER; the words of a push."""
    spec = specs.write(folder / "spec", SPEC.format(model=MODELS[nos], nos=nos))
    source = build_spec(spec, folder / "out")
    with server_of(folder, nos, [runs or source.files(OTHER)]) as (server, _):
        device = server.device
        (folder / "password").write_text(device.password + "\n")
        (folder / "password").chmod(0o600)
        login = device.login()
        stated = {
            "password": {"file": str(folder / "password")},
            "timeout_s": 20,
            "devices": {NAME: login, OTHER: login},
        }
        access = spec.parent / "fabricc-access.yaml"
        access.write_text(yaml.safe_dump(stated))
        words = ["", "", "", "push", str(source.tree), "--journal", str(folder / "journal.sqlite")]
        words += ["--access", str(access), "--keep", "50%", "--adopt", "--allow-lockout", device.username]
        yield source, server, words


@pytest.mark.slow
@pytest.mark.parametrize("nos", DRIVERS)
def test_a_swapped_address_is_refused_by_every_verb(nos: str, tmp_path: Path) -> None:
    with swap_servers(tmp_path, nos) as (source, _, words):
        for more in (["--dry-run"], [], ["--try"]):
            ran = run_here([*words, "--only", NAME, *more])
            assert ran.returncode in (1, 3), ran.stderr
            assert "FAB9106" in ran.stderr
            assert f"another switch answers at its address: it is {OTHER}" in ran.stderr
        access = read_access(tmp_path / "spec" / "fabricc-access.yaml")
        report = verify(source, access, only=[NAME], aspects=[Aspect.CONFIG, Aspect.BGP])
        assert [one.diagnostic.code for one in report.found] == ["FAB9205"]
        assert f"it is {OTHER}" in report.found[0].diagnostic.message
        assert (report.exit_status, report.unread) == (1, {})


_NAMED = re.compile(r'(?m)^hostname .*\n|host-name [^;]*;|(?<="hostname": )"[^"]*"|(?<=hostname: )\S+')
"""The hostname in the files of every system."""
UNNAMED = {"sonic": '"sonic"', "cumulus": "cumulus"}


@pytest.mark.slow
@pytest.mark.parametrize("nos", MODELS)
def test_a_swapped_device_without_a_name_is_refused_on_every_system(nos: str, tmp_path: Path) -> None:
    text = SPEC.format(model=MODELS[nos], nos=nos)
    files = build_spec(specs.write(tmp_path / "other", text), tmp_path / "tree").files(OTHER)
    runs = {name: _NAMED.sub(UNNAMED.get(nos, ""), each) for name, each in files.items()}
    assert runs != files
    with swap_servers(tmp_path, nos, runs) as (_, _, words):
        for more in (["--dry-run"], [], ["--try"]):
            ran = run_here([*words, "--only", NAME, *more])
            assert ran.returncode in (1, 3), ran.stderr
            assert f"FAB9106: {NAME}: another switch answers at its address: it is {OTHER} (" in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("nos", MODELS)
def test_another_serial_number_is_refused_on_every_system(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name and the loopback are right: somebody has exchanged the chassis, or unpacked a copy."""
    monkeypatch.setattr(
        f"{__name__}.SPEC", f"{SPEC}replaced: {{{{spine01a: {{{{serial: SSJ17200001}}}}}}}}\n"
    )
    text = SPEC.format(model=MODELS[nos], nos=nos)
    files = build_spec(specs.write(tmp_path / "other", text), tmp_path / "tree").files(NAME)
    with swap_servers(tmp_path, nos, files) as (_, server, words):
        reported = {"hostname": NAME, "serial_number": "JPE0"}
        monkeypatch.setattr(type(server.device.connect()), "get_identity", lambda _: reported)
        for more in (["--dry-run"], ["--try"]):
            ran = run_here([*words, "--only", NAME, *more])
            assert ran.returncode in (1, 3), ran.stderr
            assert "FAB9106" in ran.stderr
            assert "ssj17200001" in ran.stderr.lower()


@pytest.mark.slow
def test_two_names_on_one_device_are_refused(tmp_path: Path) -> None:
    with swap_servers(tmp_path, "eos") as (_, server, words):
        before = list(server.running)
        text = server.printed[tuple(before)]
        ran = run_here([*words, "--only", NAME, "--only", OTHER])
        assert ran.returncode == 1
        assert f"FAB9107: {NAME} and {OTHER} have the same address and port" in ran.stderr
        server.running = [line for line in before if not line.startswith("hostname")]
        server.printed[tuple(server.running)] = text.replace(f"hostname {OTHER}\n", "")
        ran = run_here([*words, "--only", NAME])
        assert ran.returncode == 1
        assert f"{NAME}: another switch answers at its address: it is {OTHER} (loopback" in ran.stderr
        server.running = ["hostname localhost"]
        ran = run_here([*words, "--only", NAME, "--only", OTHER])
        assert ran.returncode == 1
        assert "FAB9107" in ran.stderr, "nothing tells them apart"
        assert server.files == {}


@pytest.mark.slow
def test_a_device_that_has_no_name_yet_takes_its_first_push(tmp_path: Path) -> None:
    with swap_servers(tmp_path, "eos") as (_, server, words):
        server.running = ["hostname localhost"]
        ran = run_here([*words, "--only", NAME, "--dry-run"])
        assert ran.returncode == 0, ran.stderr


def of_another_cluster(folder: Path, nos: str) -> BuiltTree:
    """A cluster whose switches have the same names, and other addresses."""
    text = SPEC.format(model=MODELS[nos], nos=nos)
    text = text.replace("family: ipv4", "family: ipv4, loopbacks: 10.144.0.0/12")
    text = text.replace("management:\n", "management:\n  network: 172.18.0.0/16\n")
    return build_spec(specs.write(folder / "spec", text), folder / "out")


def test_a_switch_of_another_cluster_with_the_same_name_is_refused(tmp_path: Path) -> None:
    other = of_another_cluster(tmp_path / "other", "eos")
    with swap_servers(tmp_path, "eos", other.files(NAME)) as (source, server, words):
        for more in (["--dry-run"], [], ["--try"]):
            ran = run_here([*words, "--only", NAME, *more])
            assert ran.returncode in (1, 3)
            assert "FAB9106" in ran.stderr
            assert "as a switch of another cluster" in ran.stderr
        assert server.files == {}
        access = read_access(tmp_path / "spec" / "fabricc-access.yaml")
        report = verify(source, access, only=[NAME], aspects=[Aspect.BGP, Aspect.CONFIG])
        assert [one.diagnostic.code for one in report.found] == ["FAB9205"]
        assert (report.exit_status, report.unread) == (1, {})


@pytest.mark.slow
def test_a_switch_that_has_its_name_from_dhcp_is_known_by_its_loopback(
    tmp_path: Path, fabric: BuiltTree
) -> None:
    text = fabric.files(OTHER)["running-config.cfg"].replace(f"hostname {OTHER}", f"hostname {NAME}")
    with swap_servers(tmp_path, "eos", {"running-config.cfg": text}) as (source, server, words):
        ran = run_here([*words, "--only", NAME])
        assert ran.returncode == 1
        assert (
            f"FAB9106: {NAME}: another switch answers at its address: it has this name, but the" in ran.stderr
        )
        assert server.files == {}
        access = read_access(tmp_path / "spec" / "fabricc-access.yaml")
        report = verify(source, access, only=[NAME], aspects=[Aspect.CONFIG])
        assert [one.diagnostic.code for one in report.found] == ["FAB9205"]


@pytest.mark.slow
def test_a_switch_that_gets_other_addresses_is_known_from_the_journal(tmp_path: Path) -> None:
    spec = specs.write(tmp_path / "spec", SPEC.format(model=MODELS["eos"], nos="eos"))
    runs = build_spec(spec, tmp_path / "out").files(NAME)
    other = of_another_cluster(tmp_path / "other", "eos")
    with swap_servers(tmp_path, "eos", runs) as (_, _, words):
        assert run_here([*words, "--only", NAME]).returncode == 0
        again = [str(other.tree) if word.endswith("/small") else word for word in words]
        again += ["--only", NAME, "--dry-run"]
        assert "FAB9106" not in run_here(again).stderr
        (tmp_path / "journal.sqlite").unlink()
        lost = run_here(again)
        assert "as a switch of another cluster" in lost.stderr


@pytest.mark.parametrize(
    ("loopback", "management", "refused"),
    [
        ("203.0.113.9", "203.0.113.8", True),
        ("203.0.113.9", "", False),
        ("203.0.113.9", "own", False),
        ("own", "203.0.113.8", False),
        ("", "203.0.113.8", False),
        ("other", "", True),
        ("other", "own", True),
    ],
)
def test_a_namesake_has_no_address_of_the_plan(
    fabric: BuiltTree, loopback: str, management: str, refused: bool
) -> None:
    switch = fabric.switch(NAME)
    if loopback in ("own", "other"):
        loopback = str(fabric.switch(NAME if loopback == "own" else OTHER).loopback4)
    if management == "own":
        management = switch.management.address.partition("/")[0]
    identity = Identity(frozenset({NAME}), addresses=frozenset({loopback} - {""}), management=management)
    assert bool(fabric.roster.namesake(NAME, identity)) is refused


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> BuiltTree:
    folder = tmp_path_factory.mktemp("roster")
    spec = specs.write(folder / "spec", SPEC.format(model=MODELS["eos"], nos="eos"))
    return build_spec(spec, folder / "out")


def announced_identity(source: BuiltTree, name: str) -> tuple[tuple[str, str, str], ...]:
    """Return what the neighbors of a switch announce to it, as the plan has it, in capitals and with a domain."""
    ports = [port for port in source.switch(name).ports if port.peer and port.direction is not Direction.HOST]
    return tuple(
        (f"{port.peer.device.upper()}.Example.net", port.peer.port, "") for port in ports if port.peer
    )


@pytest.mark.parametrize(
    ("hostnames", "expected"),
    [
        ({"spine01a"}, ""),
        ({"spine01a.example.net"}, ""),
        ({"spine02a"}, "it is spine02a (hostname spine02a)"),
        ({"spine02a.example.net"}, "it is spine02a (hostname spine02a.example.net)"),
        ({"localhost"}, ""),
        ({"sonic"}, ""),
        (set(), ""),
        ({"old-name"}, ""),
    ],
)
def test_a_hostname_is_compared_with_the_plan(hostnames: set[str], expected: str, fabric: BuiltTree) -> None:
    assert fabric.roster.other(NAME, Identity(frozenset(hostnames))) == expected


def test_a_device_without_a_name_is_judged_by_loopback_and_neighbors(fabric: BuiltTree) -> None:
    roster, names = fabric.roster, frozenset({"localhost"})
    loopbacks = {name: frozenset({str(fabric.switch(name).loopback4)}) for name in (NAME, OTHER)}
    assert roster.other(NAME, Identity(names, addresses=loopbacks[NAME])) == ""
    assert f"it is {OTHER}" in roster.other(NAME, Identity(names, addresses=loopbacks[OTHER]))
    assert roster.other(NAME, Identity(names, neighbors=announced_identity(fabric, NAME))) == ""
    wrong = roster.other(NAME, Identity(names, neighbors=announced_identity(fabric, OTHER)))
    assert wrong.startswith(f"its LLDP neighbors are those of {OTHER}")
    assert roster.other(NAME, Identity(names, neighbors=(("elsewhere", "Ethernet1", ""),))) == ""
    foreign = Identity(frozenset({"dc7-leaf1"}), addresses=frozenset({"203.0.113.9"}))
    assert "it is not a switch of this plan (hostname dc7-leaf1" in roster.foreign(foreign)


def test_a_former_name_is_the_switchs_own(fabric: BuiltTree, tmp_path: Path) -> None:
    text = SPEC.format(model=MODELS["eos"], nos="eos")
    spec = specs.write(tmp_path / "spec", text)
    build_spec(spec, tmp_path / "out")
    spec.write_text(text + "moved: {spine01a: spine-east}\n")
    roster = build_spec(spec, tmp_path / "out").roster
    for name in ("spine-east", "spine01a"):
        assert roster.other("spine-east", Identity(frozenset({name}))) == ""
    assert "it is spine-east" in roster.other(OTHER, Identity(frozenset({"spine01a"})))


def test_the_serial_number_of_a_replacement_is_held_to(fabric: BuiltTree, tmp_path: Path) -> None:
    text = SPEC.format(model=MODELS["eos"], nos="eos")
    spec = specs.write(tmp_path / "spec", text + "replaced: {spine01a: {serial: SSJ17200001}}\n")
    roster = build_spec(spec, tmp_path / "out").roster
    own = frozenset({NAME})
    assert roster.other(NAME, Identity(own, "ssj17200001")) == ""
    assert roster.other(NAME, Identity(own)) == "", "not every system reports one"
    assert "the spec has ssj17200001" in roster.other(NAME, Identity(own, "jpe000"))
    assert f"it is {NAME}" in roster.other(OTHER, Identity(frozenset({"localhost"}), "ssj17200001"))


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (Identity(frozenset({"localhost"}), "a1"), Identity(frozenset({"localhost"}), "a1"), True),
        (Identity(frozenset({"localhost"}), "a1"), Identity(frozenset({"localhost"}), "a2"), False),
        (Identity(frozenset({"localhost"})), Identity(frozenset({"localhost"})), False),
        (
            Identity(frozenset({"x"}), addresses=frozenset({"192.0.2.1"})),
            Identity(frozenset({"x"}), addresses=frozenset({"192.0.2.1"})),
            True,
        ),
        (
            Identity(frozenset({"sonic"}), neighbors=(("a", "b", ""),)),
            Identity(frozenset({"sonic"}), neighbors=(("a", "b", ""),)),
            True,
        ),
    ],
)
def test_one_device_behind_two_names(first: Identity, second: Identity, shared: bool) -> None:
    found = {NAME: Answering(first, proved=False), OTHER: Answering(second, proved=False)}
    assert bool(shared_devices(found)) is shared


def test_virtual_switches_may_share_a_serial_number() -> None:
    found = {
        name: Answering(Identity(frozenset({name}), "9n3kd63kwt0"), proved=True) for name in (NAME, OTHER)
    }
    assert shared_devices(found) == []
