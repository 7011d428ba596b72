"""Options of an access file are an allow-list for each driver; no login goes to somebody who proves nothing."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import yaml
from netmiko import BaseConnection

from fabricc.cli import logins
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.access import Access, read_access
from fabricc.operate.devices.login import Device, Login
from fabricc.operate.drivers import DRIVERS, RULES

REFUSED = {
    # Files of this machine, commands and sockets.
    "ssh_config_file": "sc", "ssh_config": "sc", "key_file": "k", "cert_file": "c", "ca_file": "c", "alt_key_file": "k",
    "session_log": "log", "session_log_file_mode": "append", "sock": 3, "sock_fd": 3, "sock_telnet": {}, "pkey": "k",
    "proxy_command": "touch x", "serial_settings": {}, "path": "/x", "profile": [], "context": "c",
    "private_dir": "/etc",
    "files": {"frr.conf": "/etc/passwd"}, "activate": {"hostname": "touch x"}, "dest_file_system": "bootflash:",
    "candidate_cfg": "x",
    # Verification and transports.
    "ssh_strict": False, "ssl_verify": False, "hostkey_verify": False, "enforce_verification": False,
    "eos_transport": "http", "nxos_protocol": "http", "alt_host_keys": True, "disabled_algorithms": {},
    "disable_sha2_fix": True, "auto_connect": False,
    # Safeguards of a change, and what fabricc sets itself.
    "lock_disable": True, "config_private": True, "session": "x", "use_reserve": True, "no_such_option": 1,
}  # fmt: skip
TRANSPORTS = (
    "http", "http_local", "http_session", "https_session", "https_certs", "socket", "telnet", "HTTP", "tls", "",
    "pyeapi.eapilib.HttpEapiConnection", "pyeapi.eapilib.HttpsEapiConnection", "evil.Transport",
)  # fmt: skip


def make_device(nos: str) -> Device:
    return Device("spine01a", "spine", nos, "", "192.0.2.1")


def write_access_file(folder: Path, **file: object) -> Path:
    path = folder / "access.yaml"
    path.write_text(yaml.safe_dump(file))
    return path


def refusal_code(folder: Path, system: str, /, **file: object) -> str:
    """The code with which a login is refused, "" where it is taken."""
    try:
        read_access(write_access_file(folder, **file)).login(make_device(system))
    except DeviceError as error:
        return error.code
    return ""


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("nos", DRIVERS)
def test_unsafe_access_options_are_rejected(tmp_path: Path, nos: str, name: str) -> None:
    options = {name: REFUSED[name]}
    for verify in (True, False):
        assert refusal_code(tmp_path, nos, verify=verify, options=options) == "FAB9170"
        assert refusal_code(tmp_path, nos, verify=verify, nos={nos: {"options": options}}) == "FAB9170"
        assert (
            refusal_code(tmp_path, nos, verify=verify, devices={"spine01a": {"options": options}})
            == "FAB9170"
        )


@pytest.mark.parametrize("name", ["enable_password", "passphrase", "secret", "password"])
def test_a_secret_among_the_options_is_refused(tmp_path: Path, name: str) -> None:
    assert refusal_code(tmp_path, "eos", options={name: "hunter2"}) == "FAB9102"


@pytest.mark.parametrize("nos", DRIVERS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_unverified_transport_requires_verify_false(tmp_path: Path, nos: str, transport: str) -> None:
    found = refusal_code(tmp_path, nos, options={"transport": transport})
    assert found in ("FAB9170", "FAB9171")
    if found == "FAB9171":
        assert transport == "http"
        assert refusal_code(tmp_path, nos, verify=False, options={"transport": transport}) == ""
    else:
        assert refusal_code(tmp_path, nos, verify=False, options={"transport": transport}) == "FAB9170"


def test_disabled_verification_warns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_access_file(tmp_path, nos={"eos": {"verify": False, "options": {"transport": "http"}}})
    assert logins.access(tmp_path / "cluster.yaml", path).login(make_device("eos")).options == {
        "transport": "http"
    }
    assert "turns off the verification" in capsys.readouterr().err


def test_verified_device_does_not_inherit_an_unverified_transport(tmp_path: Path) -> None:
    file = {"verify": False, "options": {"transport": "http"}, "devices": {"spine01a": {"verify": True}}}
    assert refusal_code(tmp_path, "eos", **file) == "FAB9171"


@pytest.mark.parametrize(
    ("driver", "nos"),
    [("eos", "eos"), ("junos", "junos"), ("JunOS", "junos"), ("napalm.eos", "eos"), ("mock", "frr")],
)
def test_a_driver_that_proves_nothing_needs_the_word_of_the_file(
    tmp_path: Path, driver: str, nos: str
) -> None:
    assert refusal_code(tmp_path, nos, driver=driver) == "FAB9171"
    assert refusal_code(tmp_path, nos, driver=driver, verify=False) == ""
    assert (
        refusal_code(tmp_path, nos, driver=driver, verify=False, options={"ssh_config_file": "sc"})
        == "FAB9170"
    )


@pytest.mark.parametrize("driver", ["nxos", "nxos_ssh", "ios", "iosxr", "IOS-XR"])
def test_the_others_of_napalm_take_verification_from_the_file(tmp_path: Path, driver: str) -> None:
    assert refusal_code(tmp_path, "nxos", driver=driver) == ""
    assert refusal_code(tmp_path, "nxos", driver=driver, options={"session_log": "log"}) == "FAB9170"
    assert refusal_code(tmp_path, "nxos", driver="ios", options={"transport": "telnet"}) == "FAB9171"


@pytest.mark.parametrize("driver", ["../evil", "evil/evil", "a b", "$(touch x)", "x" * 10])
def test_no_driver_is_found_by_a_path(tmp_path: Path, driver: str) -> None:
    assert refusal_code(tmp_path, "frr", driver=driver) == "FAB9104"


@pytest.mark.parametrize(
    ("nos", "options"),
    [
        (
            "eos",
            {"transport": "ssh", "system_host_keys": True, "conn_timeout": 5, "read_timeout_override": 0.5},
        ),
        ("nxos", {"ssh_port": 2222, "transport": "https"}),
        ("junos", {"keepalive": 10, "use_keys": True}),
        ("sonic", {"reload": True, "sudo": False, "lock_timeout": 60}),
        ("cumulus", {"commit_timeout": 60.5}),
        ("frr", {"systemd": False, "system_host_keys": False}),
    ],
)
def test_harmless_access_options_are_accepted(tmp_path: Path, nos: str, options: dict[str, object]) -> None:
    assert refusal_code(tmp_path, nos, nos={nos: {"options": options}}) == ""
    other = "junos" if nos != "junos" else "frr"
    assert refusal_code(tmp_path, other, nos={other: {"options": options}}) == "FAB9170"


@pytest.mark.parametrize(
    ("name", "value"),
    [("port", 0), ("port", -1), ("ssh_port", 70_000), ("commit_timeout", -5), ("commit_timeout", 0),
     ("commit_timeout", 1e300), ("conn_timeout", -0.5), ("keepalive", 86_401)],
)  # fmt: skip
def test_a_number_that_no_driver_can_use_is_refused(tmp_path: Path, name: str, value: float) -> None:
    assert refusal_code(tmp_path, "nxos", options={name: value}) == "FAB9170"
    assert refusal_code(tmp_path, "nxos", options={name: 60}) == ""


@pytest.mark.parametrize("value", ["yes", 1, None, [], {}])
def test_a_value_of_another_kind_is_refused(tmp_path: Path, value: object) -> None:
    assert refusal_code(tmp_path, "frr", options={"system_host_keys": value}) == "FAB9170"
    assert refusal_code(tmp_path, "frr", options={"lock_timeout": True}) == "FAB9170"


def test_the_message_lists_what_may_be_set(tmp_path: Path) -> None:
    with pytest.raises(DeviceError) as error:
        read_access(write_access_file(tmp_path, nos={"junos": {"options": {"ssh_config_file": "sc"}}}))
    assert error.value.diagnostic.help == (f"It may set {', '.join(sorted(RULES['fabricc_junos'].options))}.")


def test_every_option_of_netmiko_is_allowed_or_refused_on_purpose() -> None:
    """A release of netmiko that brings another one has to be looked at; it is refused until then."""
    reviewed = {
        "ip", "host", "username", "secret", "device_type", "verbose", "global_cmd_verify", "passphrase",
        "ssh_config_file", "timeout", "default_enter", "response_return", "_legacy_mode", "session_log_record_writes",
        "allow_auto_change", "encoding", "delay_factor_compat", "disable_lf_normalization",
    }  # fmt: skip
    allowed = RULES["fabricc_eos"].options
    known = set(inspect.signature(BaseConnection.__init__).parameters) - {"self"}
    assert known - reviewed - REFUSED.keys() - {"password"} <= allowed.keys()


def test_a_program_may_give_options_of_its_own() -> None:
    login = Login(options={"private_dir": "/run/x"})
    assert Access(login).login(make_device("frr")).options == {"private_dir": "/run/x"}
