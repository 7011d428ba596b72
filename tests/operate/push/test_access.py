"""Sources of passwords, and the forbidden content of an access file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringError

from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.access import read_access
from fabricc.operate.devices.connection import reason_of
from fabricc.operate.drivers.redact import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Keys(KeyringBackend):
    """A keyring that is a table, or is locked."""

    priority = 1
    table: dict[tuple[str, str], str] | None = None

    def get_password(self, service: str, username: str) -> str | None:
        if self.table is None:
            raise KeyringError("locked")
        return self.table.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.table = {**(self.table or {}), (service, username): password}

    def delete_password(self, service: str, username: str) -> None:
        self.table = None


@pytest.fixture
def keys() -> Iterator[Keys]:
    before = keyring.get_keyring()
    found = Keys()
    keyring.set_keyring(found)
    yield found
    keyring.set_keyring(before)


def test_a_secret_comes_from_the_keyring_under_its_service_and_account(tmp_path: Path, keys: Keys) -> None:
    file = tmp_path / "access.yaml"
    file.write_text("username: operator\npassword: {keyring: switches}")
    keyring.set_password("switches", "operator", "hunter2")
    access = read_access(file)
    assert access.password(access.default).reveal() == "hunter2"
    keys.table = {("switches", "another"): "hunter2"}
    with pytest.raises(DeviceError, match="no entry for operator under switches"):
        read_access(file).password(access.default)
    keys.table = None
    with pytest.raises(DeviceError, match="does not answer") as error:
        read_access(file).password(access.default)
    assert error.value.code == "FAB9102"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("password: hunter2", "FAB9102"),
        ("options: {password: hunter2}", "FAB9102"),
        ("user: x", "FAB9101"),
        ("verify: 'no'", "FAB9101"),
        ("[", "FAB9101"),
        ("password: {env: A}\nverify: false\nverify: true", "FAB9101"),
        ("x: &x {verify: no}\n<<: *x", "FAB9101"),
        ("port: 0x16", "FAB9101"),
    ],
)
def test_access_file_rejects_plain_secrets_and_unknown_keys(text: str, code: str, tmp_path: Path) -> None:
    file = tmp_path / "access.yaml"
    file.write_text(text)
    with pytest.raises(DeviceError) as error:
        read_access(file)
    assert error.value.code == code
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("key", ["ssh_key", "known_hosts", "ca_file"])
@pytest.mark.parametrize("kind", ["fifo", "link to a fifo", "device", "huge"])
@pytest.mark.parametrize(
    "table", ["{}", "nos: {{frr: {{{}}}}}", "devices: {{a: {{{}}}}}"], ids=["all", "nos", "device"]
)
def test_only_plain_files_are_named_for_a_login(key: str, kind: str, table: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link to a fifo").symlink_to("fifo")
    (tmp_path / "device").symlink_to("/dev/zero")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(1 << 40)
    file = tmp_path / "fabricc-access.yaml"
    file.write_text("username: u\n" + table.format(f"{key}: {kind}") + "\n")
    with pytest.raises(DeviceError, match=f"{key} of .* is not a regular file") as refused:
        read_access(file)
    assert refused.value.code == "FAB9101"


def test_a_missing_file_and_a_folder_of_authorities_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "fabricc-access.yaml"
    file.write_text("username: u\nknown_hosts: none\nca_file: .\n")
    assert read_access(file).default.ca_file == str(tmp_path)


@pytest.mark.parametrize(
    "text", ["port: 0", "port: 65536", "port: -1", "timeout_s: 0", "timeout_s: -5", "timeout_s: 9999999"]
)
def test_ports_and_deadlines_have_a_range(text: str, tmp_path: Path) -> None:
    file = tmp_path / "fabricc-access.yaml"
    file.write_text(f"username: u\n{text}\n")
    with pytest.raises(DeviceError, match="not from 1 to"):
        read_access(file)


def test_duplicate_key_of_an_access_file_is_reported_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "access.yaml"
    file.write_text("verify: true\nnos:\n  eos: {port: 1}\nverify: false\n")
    with pytest.raises(DeviceError, match=r"access\.yaml:4: duplicate key 'verify'"):
        read_access(file)


def test_access_file_supports_anchors_and_yaml_1_1_booleans(tmp_path: Path) -> None:
    file = tmp_path / "access.yaml"
    file.write_text("password: &p {env: A}\nverify: no\ndevices: {a: {password: *p, timeout_s: 9}}\n")
    access = read_access(file)
    assert not access.default.verify
    assert access.unverified


def test_secret_from_the_environment_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "access.yaml"
    file.write_text("password: {env: FABRICC_TEST_SECRET}")
    monkeypatch.setitem(os.environ, "FABRICC_TEST_SECRET", "hunter2")
    access = read_access(file)
    secret = access.password(access.default)
    assert secret.reveal() == "hunter2"
    assert "hunter2" not in repr(secret)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "[Errno 111] Connection refused"),
        (OSError(None, "Unable to connect to port 22"), "Unable to connect to port 22"),
        (TimeoutError(), "no answer in time"),
        (EOFError(), "the connection broke"),
        (KeyError("uptime"), "an answer was not understood: 'uptime'"),
        (RuntimeError(), "no reason was given"),
        (ValueError("the\nsecret"), "the <hidden>"),
    ],
)
def test_device_errors_are_described(error: Exception, words: str) -> None:
    assert reason_of(error, lambda text: excerpt(text, "secret")) == words
