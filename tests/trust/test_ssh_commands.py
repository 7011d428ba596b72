"""No access file, no file that it names and no name of its folder makes a login run a command."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.access import NAME, access_of, read_access
from fabricc.operate.devices.connection import open_connection
from fabricc.operate.devices.login import Device
from tests.operate.drivers.servers.eos import eos_switch
from tests.operate.drivers.servers.junos import junos_switch
from tests.operate.drivers.servers.linux_switch import linux_switch
from tests.operate.drivers.servers.nxos import nxos_switch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SERVERS: dict[str, Callable[[Path], Any]] = {
    "eos": eos_switch,
    "nxos": nxos_switch,
    "junos": junos_switch,
    "sonic": lambda folder: linux_switch(folder, "sonic", '{"PORT": {}}'),
    "cumulus": lambda folder: linux_switch(folder, "cumulus", "- header: {}\n"),
}
DIRECTIVES = {
    "ProxyCommand": "Host *\n    ProxyCommand {touch}\n",
    "Match exec": 'Match exec "{touch}"\n    User other\n',
    "Match originalhost exec": 'Match originalhost 127.0.0.1 exec "{touch}"\n    User other\n',
    "Include": "Include {included}\n",
    "KnownHostsCommand": "KnownHostsCommand {shell} -c {touch_one}\nUserKnownHostsFile /dev/null\n",
}
"""Settings by which `ssh` runs a command while it connects; the placeholders are those of `make_directive`."""
TRUST = {"known_hosts": "alt_key_file", "ca_file": "ssl_verify"}
OPTIONS = ("ssh_config_file", "ssh_config", "proxy_command", "sock", "pkcs11_provider")


def make_directive(folder: Path, kind: str) -> tuple[str, Path]:
    """The text of an SSH configuration, and the file that shows that its command ran."""
    mark, script = folder / "MARK", folder / "touch.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    included = folder / "included"
    included.write_text(f"Host *\n    ProxyCommand {script}\n")
    text = DIRECTIVES[kind].format(
        touch=script, included=included, shell=shutil.which("sh"), touch_one=script
    )
    return text, mark


@contextmanager
def serve_switch(folder: Path, nos: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("HOME", str(folder))
    (folder / "switch-of-test").mkdir()
    with SERVERS[nos](folder / "switch-of-test") as server:
        monkeypatch.setenv("LAB_PASSWORD", server.device.password)
        yield server.device


def write_access(folder: Path, device: Any, **more: Any) -> Path:
    """An access file that reaches a switch."""
    trust = {key: device.options[option] for key, option in TRUST.items() if option in device.options}
    stated = {
        "username": device.username, "password": {"env": "LAB_PASSWORD"}, "port": device.options["port"],
        "timeout_s": 20, "devices": {"a": {"address": device.host}}, **trust, **more,
    }  # fmt: skip
    path = folder / NAME
    path.write_text(yaml.safe_dump(stated, allow_unicode=True))
    return path


def reach_switch(path: Path, nos: str) -> None:
    with open_connection(Device("a", "tor", nos, "", "192.0.2.1"), read_access(path)) as live:
        live.stated_identity()


@pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed")
@pytest.mark.parametrize("kind", DIRECTIVES)
def test_each_of_these_makes_ssh_run_a_command(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_switch(tmp_path, "junos", monkeypatch) as device:
        text, mark = make_directive(tmp_path, kind)
        (tmp_path / "config").write_text(text)
        words = [
            "ssh",
            "-F",
            str(tmp_path / "config"),
            "-o",
            "BatchMode=yes",
            "-p",
            str(device.options["port"]),
        ]
        subprocess.run([*words, device.host], capture_output=True, timeout=60, check=False)
    assert mark.exists()


@pytest.mark.spread
@pytest.mark.parametrize("kind", DIRECTIVES)
@pytest.mark.parametrize("nos", SERVERS)
def test_a_file_that_an_access_file_names_runs_no_command(
    nos: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_switch(tmp_path, nos, monkeypatch) as device:
        text, mark = make_directive(tmp_path, kind)
        config = tmp_path / "config"
        config.write_text(text)
        for option in OPTIONS:
            path = write_access(tmp_path, device, options={option: str(config)})
            with pytest.raises(DeviceError) as refused:
                reach_switch(path, nos)
            assert refused.value.code == "FAB9170"
        path = write_access(tmp_path, device)
        with pytest.raises(DeviceError) as refused:
            access_of(tmp_path / "cluster.yaml", None)
        assert refused.value.code == "FAB9163", "nobody has trusted it"
        for key in ("known_hosts", "ca_file", "ssh_key"):
            path = write_access(tmp_path, device, **{key: str(config)})
            try:
                reach_switch(path, nos)
            except DeviceError:
                continue  # such a file is no list of keys
    assert not mark.exists()


@pytest.mark.parametrize("nos", SERVERS)
@pytest.mark.spread
def test_the_name_of_a_folder_is_no_part_of_a_configuration(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_switch(tmp_path, nos, monkeypatch) as device:
        text, mark = make_directive(tmp_path, "ProxyCommand")
        command = text.split("ProxyCommand ")[1].strip().replace("/", "%2F")
        names = ["x\n    ProxyCommand touch MARK", 'a" b', "c\r    ProxyCommand touch MARK", f"d {command}"]
        monkeypatch.chdir(tmp_path)
        for name in names:
            folder = tmp_path / name
            folder.mkdir()
            named = {key: option for key, option in TRUST.items() if option in device.options}
            for key, option in named.items():
                (folder / key).write_bytes(Path(device.options[option]).read_bytes())
            reach_switch(write_access(folder, device, **{key: key for key in named}), nos)
    assert not mark.exists()
    assert not (tmp_path / "MARK").exists()
