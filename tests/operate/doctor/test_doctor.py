"""`fabricc doctor`: each line has a remedy, and faults of machine, repository and switches are found."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import paramiko
import pytest

from fabricc.cli.entry import run
from fabricc.operate import doctor
from fabricc.operate.devices import DeviceError, UnprovenDeviceError
from fabricc.operate.devices.access import Access
from fabricc.operate.devices.connection import open_connection
from fabricc.operate.devices.login import Login, devices_by_name
from fabricc.operate.devices.secrets import Reference
from fabricc.operate.doctor import State, check_switches
from tests.operate.verify.test_drivers import DEVICES
from tests.operate.verify.test_drivers import SPEC as SWITCHES

if TYPE_CHECKING:
    from tests.operate.drivers.servers.device import Device

SPEC = """\
cluster: lab
gpus: {model: lab-host, hosts: 4, hosts_per_unit: 2, socket_interface: eth0}
tors: {model: linux-16x100, nos: frr}
spines: {model: linux-16x100, nos: frr, count: 2}
priorities: {rdma: {dscp: 26}, default: {}}
"""


def run_checks(
    capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, list[dict[str, str]]]]:
    capsys.readouterr()
    status = run(["doctor", "--format", "json", *words])
    found: dict[str, list[dict[str, str]]] = {}
    for each in json.loads(capsys.readouterr().out)["checks"]:
        assert each["remedy"], each
        found.setdefault(each["subject"], []).append(each)
    return status, found


def test_a_machine_is_checked_without_a_spec(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = run_checks(capsys)
    assert status == 0
    assert found["click"][0]["state"] == found["Git"][0]["state"] == "ok"
    assert "fabricc.lock" not in found


def test_a_package_that_is_missing_or_old_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        requires = ("napalm>=5.2", "click>=8.1", "keyring>=24.0; extra == 'keyring'", "mypy; extra == 'dev'")

    def version(name: str) -> str:
        if name != "napalm":
            raise doctor.PackageNotFoundError(name)
        return "5.1.9"

    monkeypatch.setattr(doctor, "distribution", lambda _: Installed)
    monkeypatch.setattr(doctor, "version", version)
    status, found = run_checks(capsys)
    states = {name: found[name][0]["state"] for name in ("napalm", "click", "keyring")}
    assert (status, states) == (1, {"napalm": "error", "click": "error", "keyring": "skipped"})
    assert "mypy" not in found


@pytest.mark.parametrize(("output", "state"), [("yes", "ok"), ("no", "warning"), ("", "skipped")])
def test_the_clock_is_as_the_system_reports_it(
    output: str,
    state: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tmp_path / "timedatectl"
    program.write_text(f"#!/bin/sh\necho {output}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert run_checks(capsys)[1]["clock"][0]["state"] == state


@pytest.mark.slow
def test_a_repository_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC)
    _, found = run_checks(capsys, str(spec))
    assert found["repository"][0]["state"] == "warning"
    assert "git init" in found["repository"][0]["remedy"]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    _, found = run_checks(capsys, str(spec))
    assert "git commit" in found["repository"][0]["remedy"], "it has no commit yet"
    commit = ["-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "x"]
    subprocess.run(["git", *commit], cwd=tmp_path, check=True)
    _, found = run_checks(capsys, str(spec))
    assert [each["state"] for each in found["cluster.yaml"]] == ["warning"], "it is not tracked"
    (tmp_path / "fabricc-access.yaml").write_text("username: a\n")
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    status, found = run_checks(capsys, str(spec))
    assert (status, found["fabricc-access.yaml"][0]["state"]) == (1, "error")
    subprocess.run(["git", *commit], cwd=tmp_path, check=True)
    remedy = found["fabricc-access.yaml"][0]["remedy"]
    assert remedy == "`git rm --cached fabricc-access.yaml`, add it to .gitignore, and commit."
    (tmp_path / ".gitignore").write_text("fabricc-access.yaml\n")
    for words in (["rm", "-q", "--cached", "fabricc-access.yaml"], ["add", ".gitignore"], commit):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    _, found = run_checks(capsys, str(spec))
    assert found["fabricc-access.yaml"][0]["state"] == "ok", "the remedy works"
    lock = tmp_path / "fabricc.lock"
    assert run(["lock", str(spec)]) == 0
    for words in (["add", "fabricc.lock"], commit):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    lock.unlink()
    status, found = run_checks(capsys, str(spec))
    remedy = found["fabricc.lock"][0]["remedy"]
    assert (status, found["fabricc.lock"][0]["state"]) == (1, "error")
    assert remedy.startswith(f"Restore it: `git checkout HEAD -- {lock}`.")


def test_a_spec_that_does_not_compile_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.replace("count: 2", "count: 0"))
    status, found = run_checks(capsys, str(spec))
    assert (status, found["fabricc.lock"][0]["state"]) == (1, "warning")
    (tmp_path / "fabricc.lock").write_text("version 1\n")
    _, found = run_checks(capsys, str(spec))
    assert found["fabricc.lock"][0]["state"] == "skipped", "it is there"
    assert "errors" in found["fabricc.lock"][0]["message"]


def other_identity(far: Device, folder: Path) -> dict[str, Any]:
    """Return the options of a device with which its TLS certificate or its SSH host key is not the expected one."""
    if "ssl_verify" in far.options:
        return {**far.options, "ssl_verify": True}
    place, kind, _ = Path(far.options["alt_key_file"]).read_text().split()
    (folder / "other").write_text(f"{place} {kind} {paramiko.ECDSAKey.generate().get_base64()}\n")
    return {**far.options, "alt_key_file": str(folder / "other")}


@pytest.mark.slow
@pytest.mark.parametrize("nos", DEVICES)
def test_a_switch_is_logged_in_to_and_its_release_compared(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fabricc.compiler.compiled import compile_spec

    model, server = DEVICES[nos]
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SWITCHES.format(model=model, nos=nos))
    fabric = compile_spec(spec).planned
    assert fabric is not None
    (tmp_path / "far").mkdir()
    with server(tmp_path / "far", [], monkeypatch) as far:
        monkeypatch.setenv("LAB_PASSWORD", far.password)
        reference = Reference("env", "LAB_PASSWORD")
        access = Access(Login(far.username, reference, address=far.host, options=far.options, timeout_s=10))
        found = [*check_switches(fabric, access, 1)]
        stranger = Access(Login("nobody", reference, address=far.host, options=far.options, timeout_s=10))
        refused = [*check_switches(fabric, stranger, 1)]
        foreign = Access(
            Login(
                far.username, reference, address=far.host, options=other_identity(far, tmp_path), timeout_s=10
            )
        )
        unproved = [*check_switches(fabric, foreign, 1)]
        first = next(iter(devices_by_name(fabric).values()))
        with pytest.raises(UnprovenDeviceError), open_connection(first, foreign):
            pass
    assert all("cannot be logged in to" in each.message for each in unproved), unproved
    named = ("certificate", "ca_file") if "ssl_verify" in far.options else ("host key", "known_hosts")
    assert all(word in each.remedy for each in unproved for word in named), unproved
    assert all(named[0].replace("host ", "") in each.message.lower() for each in unproved), unproved
    assert all("the login of nobody" in each.message for each in refused), refused
    assert all("in the access file" in each.remedy for each in refused), refused
    assert {each.subject for each in found} == {fabric.name(at) for at in fabric.switch_ids()}
    assert all(each.remedy for each in found)
    assert [each.state for each in found if "login works" in each.message], found
    assert not [each for each in found if each.state is State.ERROR], found


class Answering:
    """A connection to a switch with a release and a clock."""

    def __init__(self, release: str, ahead_s: float) -> None:
        self._release, self._ahead_s = release, ahead_s

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def getter(self, name: str) -> Any:
        return {"os_version": self._release} if name == "get_facts" else time.time() + self._ahead_s


@pytest.mark.parametrize(
    ("release", "ahead_s", "states"),
    [
        ("10.0.1", 0, ["ok", "ok", "ok"]),
        ("8.4.4", 0, ["ok", "warning", "ok"]),
        ("", 3600, ["ok", "skipped", "warning"]),
        ("None", 0, ["ok", "skipped", "ok"]),  # NAPALM's word for a release that Junos did not print
        ("10.0", -90, ["ok", "ok", "warning"]),
    ],
)
def test_release_and_clock_that_differ_are_warnings(
    release: str, ahead_s: float, states: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fabricc.compiler.compiled import compile_spec

    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC)
    fabric = compile_spec(spec).planned
    assert fabric is not None
    monkeypatch.setattr(doctor, "open_connection", lambda *_: Answering(release, ahead_s))
    found = [
        each for each in check_switches(fabric, Access(Login("a", None)), 2) if each.subject == "spine01a"
    ]
    assert [each.state.value for each in found] == states


def test_a_switch_that_cannot_be_reached_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fabricc.compiler.compiled import compile_spec

    def refuse(*_: object) -> None:
        raise DeviceError("FAB9110", "spine01a cannot be logged in to: refused", "See that it is up.")

    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC)
    fabric = compile_spec(spec).planned
    assert fabric is not None
    monkeypatch.setattr(doctor, "open_connection", refuse)
    found = [*check_switches(fabric, Access(Login("a", None)), 2)]
    assert {each.state for each in found} == {State.ERROR}
    assert {each.remedy for each in found} == {"See that it is up."}
