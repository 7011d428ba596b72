"""`fabricc collect` through the real driver of every system: what it writes, the audit reads."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.audit import audit_fabric
from fabricc.audit.model import Evidence
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.cli.entry import run
from fabricc.compiler.compiled import compile_spec
from fabricc.operate.collect import collect, parse_targets
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.access import Access
from fabricc.operate.devices.login import Login
from fabricc.operate.devices.secrets import Reference
from fabricc.operate.lab import kernel
from tests.operate.drivers.conftest import boxes as boxes
from tests.operate.drivers.servers import eos, junos, linux_switch, nxos
from tests.operate.verify.test_drivers import DEVICES, SPEC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.operate.drivers.servers.frr_box import Box

VERSION = {
    "modelName": "DCS-7060X6-64PE-F",
    "serialNumber": "1",
    "internalVersion": "4.32.1F-1.1",
    "bootupTimestamp": 1.0,
    "version": "4.32.1F",
}


def ignore_progress(*_: object) -> None:
    """No progress."""


def change_server(put: Callable[[Any], None], make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a factory of local servers with a change applied before the first request."""

    @contextmanager
    def made(*arguments: Any, **named: Any) -> Iterator[Any]:
        with make(*arguments, **named) as switch:
            put(switch)
            yield switch

    return made


def serve_files(nos: str, files: dict[str, str], patch: pytest.MonkeyPatch) -> None:
    """Let the local server of a system run these files."""
    main = max(files.values(), key=len)
    if nos == "eos":
        usual = eos.EosSwitch._run
        reported = {"show version": VERSION, "show hostname": {"hostname": "a", "fqdn": "a"}}
        patch.setattr(eos.EosSwitch, "_run", lambda self, text: reported.get(text) or usual(self, text))
        patch.setattr(
            eos,
            "eos_switch",
            change_server(lambda s: setattr(s, "running", main.splitlines()), eos.eos_switch),
        )
    elif nos == "nxos":
        patch.setattr(
            nxos, "nxos_switch", change_server(lambda s: setattr(s, "running", main), nxos.nxos_switch)
        )
    elif nos == "junos":
        patch.setattr(
            junos, "junos_switch", change_server(lambda s: setattr(s, "history", [main]), junos.junos_switch)
        )
    else:

        def put(switch: linux_switch.LinuxSwitch) -> None:
            for name in ("running.json", "revisions/1", "startup", "etc/sonic/config_db.json"):
                (switch.root / name).write_text(files.get("config_db.json", main))
            for name in ("frr", "etc/sonic/frr/frr.conf"):
                (switch.root / name).write_text(files.get("frr.conf", ""))

        patch.setattr(linux_switch, "linux_switch", change_server(put, linux_switch.linux_switch))


@pytest.mark.spread
@pytest.mark.parametrize("nos", DEVICES)
def test_collected_files_are_audited_as_the_running_configuration(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, device = DEVICES[nos]
    (spec := tmp_path / "cluster.yaml").write_text(SPEC.format(model=model, nos=nos))
    compiled = compile_spec(spec)
    switch = next(iter(compiled.switches()))
    files = dict(compiled.files(switch))
    heard = [(p.name, f"{p.peer.device}.example.net", p.peer.port, "to it") for p in switch.ports if p.peer]
    serve_files(nos, files, monkeypatch)
    with device(tmp_path, heard, monkeypatch) as far:
        monkeypatch.setenv("LAB_PASSWORD", far.password)
        login = Login(far.username, Reference("env", "LAB_PASSWORD"), address=far.host, options=far.options)
        requested = parse_targets([f"{nos}:{switch.name}=192.0.2.1"])
        (fetched,) = collect(requested, Access(login), tmp_path / "out", 4, ignore_progress).values()
    assert fetched.failures == []
    assert set(fetched.files) >= {"lldp.json", *files}
    (found,) = (found := audit_fabric(tmp_path / "out", jobs=1)).devices.values()
    assert (found.name, found.system) == (switch.name, nos)
    wanted = back_ends.load(nos).read(files)
    assert found.reading.facts == wanted.facts
    assert sorted(each[:3] for each in found.neighbors) == sorted(each[:3] for each in heard)
    assert (tmp_path / "out").stat().st_mode & 0o077 == 0
    if nos == "eos":
        assert (found.box, found.model, found.release) == ("DCS-7060X6-64PE-F", "7060x6-64pe", "4.32.1F-1.1")


def test_collect_reports_a_silent_switch_and_fetches_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DEVICES["nxos"][1](tmp_path, [], monkeypatch) as far:
        monkeypatch.setenv("LAB_PASSWORD", far.password)
        login = Login(far.username, Reference("env", "LAB_PASSWORD"), address=far.host, options=far.options)
        own = {"gone": {"options": {**far.options, "port": 1}}}
        fetched = collect(
            parse_targets(["nxos:a", "nxos:gone=192.0.2.1"]),
            Access(login, by_device=own),
            tmp_path / "out",
            4,
            ignore_progress,
        )
    assert "running-config.cfg" in fetched["a"].files
    assert [one.severity for one in fetched["a"].lacks] == [Severity.WARNING], (
        "this server does not tell its version"
    )
    assert [one.code for one in fetched["gone"].failures] == ["FAB9110"]
    assert not (tmp_path / "out/gone").exists()


def test_targets_are_words_and_files(tmp_path: Path) -> None:
    (listed := tmp_path / "targets.yaml").write_text(
        "eos: {leaf1: 10.0.0.1}\nsonic-202505: [tor7.example.net]\n"
    )
    found = parse_targets([str(listed), "nxos:10.0.0.3", "junos:core=2001:db8::1"])
    assert {name: (one.nos, one.release, one.address) for name, one in found.items()} == {
        "leaf1": ("eos", "", "10.0.0.1"),
        "tor7.example.net": ("sonic", "202505", "tor7.example.net"),
        "10.0.0.3": ("nxos", "", "10.0.0.3"),
        "core": ("junos", "", "2001:db8::1"),
    }


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["10.0.0.1"], "FAB9520"),
        (["eos:"], "FAB9520"),
        (["eos:../../etc=10.0.0.1"], "FAB9520"),
        (["ios:10.0.0.1"], "FAB9521"),
        (["eos:a=10.0.0.1", "nxos:a=10.0.0.2"], "FAB9522"),
    ],
)
def test_a_target_that_is_none_is_refused(words: list[str], code: str) -> None:
    with pytest.raises(DeviceError) as refused:
        parse_targets(words)
    assert refused.value.diagnostic.code == code


@pytest.mark.parametrize("text", ["", "- eos\n", "eos: {a: [1]}\n", "eos: 5\n", "{", "\x00"])
def test_a_file_of_targets_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (listed := tmp_path / "targets.yaml").write_text(text)
    with pytest.raises(DeviceError):
        parse_targets([str(listed)])


def test_the_command_audits_what_it_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, device = DEVICES["sonic"]
    (spec := tmp_path / "cluster.yaml").write_text(SPEC.format(model=model, nos="sonic"))
    compiled = compile_spec(spec)
    switch = next(iter(compiled.switches()))
    serve_files("sonic", dict(compiled.files(switch)), monkeypatch)
    with device(tmp_path, [], monkeypatch) as far:
        monkeypatch.setenv("LAB_PASSWORD", far.password)
        access = {"password": {"env": "LAB_PASSWORD"}, "devices": {"leaf1": far.login()}}
        (tmp_path / "targets.yaml").write_text(json.dumps({"sonic": {"leaf1": far.host}}))
        (tmp_path / "fabricc-access.yaml").write_text(json.dumps(access))
        assert run(["trust", str(tmp_path / "fabricc-access.yaml")]) == 0
        status = run(["collect", str(tmp_path / "targets.yaml"), "-o", str(tmp_path / "out"), "--audit"])
        reported = capsys.readouterr()
    assert "files of 1 switch;" in reported.out
    assert "1 switch and 0 hosts" in reported.out
    assert status in (0, 1)
    assert json.loads((tmp_path / "out/leaf1/lldp.json").read_text()) == {}


@pytest.mark.slow
def test_live_frr_is_fetched_and_its_cabling_found(
    boxes: list[Box], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_PASSWORD", boxes[0].device.password)
    before = [box.run("vtysh", "-c", "show running-config") for box in boxes]
    deadline = time.monotonic() + 60  # sshd and lldpd of a box take their time
    while True:
        reported = []
        for number, box in enumerate(boxes, 1):
            login = Login(box.device.username, Reference("env", "LAB_PASSWORD"), options=box.device.options)
            with kernel.inside_namespace(box.namespace):
                requested = parse_targets([f"frr:box{number}={box.device.host}"])
                reported += collect(requested, Access(login), tmp_path / "out", 1, ignore_progress).values()
        found = audit_fabric(tmp_path / "out", jobs=1)
        heard = [device.neighbors for device in found.devices.values()]
        if (len(heard) == len(boxes) and all(heard)) or time.monotonic() > deadline:
            break
    assert [(one.failures, one.lacks) for one in reported] == [([], [])] * len(boxes)
    assert {device.system for device in found.devices.values()} == {"frr"}
    assert found.devices["box1"].release
    (link,) = found.found.links
    assert {(link.a.device, link.a.port), (link.b.device, link.b.port)} == {
        ("box1", "swp1"),
        ("box2", "swp1"),
    }
    assert Evidence.LLDP in link.evidence
    assert [box.run("vtysh", "-c", "show running-config") for box in boxes] == before, "nothing changed"
