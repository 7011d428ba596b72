"""An access file that came with a clone or an archive sends nobody's secret: the user trusts it, or names it."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.cli import logins
from fabricc.cli.entry import run
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.access import NAME
from fabricc.tree.state import state_home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.trust.conftest import Clone

TEXT = "username: ann\npassword: {env: CANARY_SECRET}\ndevices: {spine01a: {address: 192.0.2.66}}\n"
EOS = """\
cluster: lab
gpus: {model: hgx-8gpu, hosts: 2, hosts_per_unit: 2}
tors: {model: 7060x6-64pe, nos: eos, uplinks: 2}
spines: {model: 7060x6-64pe, nos: eos, count: 2}
addressing: {family: ipv4}
priorities:
  rdma: {dscp: 26, lossless: true}
  default: {}
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state folder."""
    folder = tmp_path / "home" / "state"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setenv("CANARY_SECRET", "canary-of-the-user")
    return folder


@pytest.fixture
def spec(tmp_path: Path, state: Path) -> Path:
    """Return a spec in an unpacked archive, with an access file next to it."""
    top = tmp_path / "archive"
    top.mkdir()
    (top / "cluster.yaml").write_text("cluster: lab\n")
    (top / NAME).write_text(TEXT)
    return top / "cluster.yaml"


def trust_file(file: Path) -> None:
    assert run(["trust", str(file)]) == 0


def is_accepted(spec: Path) -> bool:
    return logins.access(spec, None).default.username == "ann"


def refusal_of(spec: Path) -> str:
    with pytest.raises(DeviceError) as error:
        logins.access(spec, None)
    (found,) = error.value.diagnostics
    assert found.code == "FAB9163"
    assert "--access" in found.help
    assert f"fabricc trust {spec.parent / NAME}" in found.help
    return found.message


def test_the_file_next_to_the_spec_is_used_once_it_is_trusted_and_until_it_changes(spec: Path) -> None:
    assert "it is not trusted yet" in refusal_of(spec)
    trust_file(spec.parent / NAME)
    assert is_accepted(spec)
    (spec.parent / NAME).write_text(TEXT.replace("192.0.2.66", "192.0.2.67"))
    assert "it changed since it was trusted" in refusal_of(spec)
    trust_file(spec.parent / NAME)
    assert is_accepted(spec)
    assert run(["trust", "--remove", str(spec.parent / NAME)]) == 0
    assert "it is not trusted yet" in refusal_of(spec)


def test_a_named_file_is_used(spec: Path) -> None:
    assert logins.access(spec, spec.parent / NAME).default.username == "ann"


def test_trusted_files_are_listed(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trust_file(spec.parent / NAME)
    assert "env CANARY_SECRET" in capsys.readouterr().out
    assert run(["trust", "--list"]) == 0
    assert capsys.readouterr().out.split() == [str(spec.parent / NAME)]


def test_a_relative_path_is_recorded_as_the_file_that_it_is(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(spec.parent)
    trust_file(Path(NAME))
    assert is_accepted(spec)
    monkeypatch.chdir("/")
    assert is_accepted(spec)
    other = spec.parent.parent / "other"
    shutil.copytree(spec.parent, other)
    monkeypatch.chdir(other)
    with pytest.raises(DeviceError, match="it is not trusted yet"):
        logins.access(Path("cluster.yaml"), None)


def test_trust_ends_with_the_name_of_the_folder(spec: Path) -> None:
    trust_file(spec.parent / NAME)
    renamed = spec.parent.with_name("renamed")
    spec.parent.rename(renamed)
    assert "it is not trusted yet" in refusal_of(renamed / "cluster.yaml")


def test_a_file_in_the_folder_above_is_another_file(spec: Path) -> None:
    trust_file(spec.parent / NAME)
    below = spec.parent / "site"
    below.mkdir()
    shutil.copy(spec, below)
    with pytest.raises(DeviceError, match="there is no"):
        logins.access(below / "cluster.yaml", None)
    (below / NAME).symlink_to(f"../{NAME}")
    with pytest.raises(DeviceError, match=r"leads out|not trusted"):
        logins.access(below / "cluster.yaml", None)


@pytest.mark.parametrize("make", ["symlink_to", "hardlink_to"])
def test_another_name_of_a_trusted_file_is_not_trusted(spec: Path, make: str) -> None:
    trust_file(spec.parent / NAME)
    other = spec.parent.parent / "other"
    other.mkdir()
    shutil.copy(spec, other)
    getattr(other / NAME, make)(spec.parent / NAME)
    with pytest.raises(DeviceError) as error:
        logins.access(other / "cluster.yaml", None)
    assert error.value.code in ("FAB9101", "FAB9163")


def test_a_folder_that_is_a_link_is_the_folder_that_it_leads_to(spec: Path) -> None:
    link = spec.parent.parent / "link"
    link.symlink_to(spec.parent)
    trust_file(link / NAME)
    assert is_accepted(spec)
    assert is_accepted(link / "cluster.yaml")
    link.unlink()
    shutil.copytree(spec.parent, link)
    assert "it is not trusted yet" in refusal_of(link / "cluster.yaml")


@pytest.mark.parametrize("key", ["known_hosts: keys", "ca_file: keys", "require_signature: keys",
                                 "nos: {eos: {ca_file: keys}}"])  # fmt: skip
def test_trust_covers_the_files_next_to_it_that_decide_who_is_believed(spec: Path, key: str) -> None:
    (spec.parent / NAME).write_text(f"username: ann\n{key}\n")
    (spec.parent / "keys").write_text("192.0.2.66 ssh-ed25519 AAAA\n")
    trust_file(spec.parent / NAME)
    assert is_accepted(spec)
    (spec.parent / "keys").write_text("192.0.2.66 ssh-ed25519 BBBB\n")
    assert "keys, which it names, changed" in refusal_of(spec)
    trust_file(spec.parent / NAME)
    (spec.parent / "keys").unlink()
    assert "keys, which it names, changed" in refusal_of(spec)


def test_those_of_the_user_elsewhere_may_change(spec: Path, tmp_path: Path) -> None:
    keys = tmp_path / "home" / "known_hosts"
    keys.write_text("192.0.2.66 ssh-ed25519 AAAA\n")
    (spec.parent / NAME).write_text(f"username: ann\nknown_hosts: {keys}\n")
    trust_file(spec.parent / NAME)
    keys.write_text("192.0.2.66 ssh-ed25519 BBBB\n")
    assert is_accepted(spec)


def test_no_link_next_to_it_leads_to_a_secret_elsewhere(spec: Path, tmp_path: Path) -> None:
    secret = tmp_path / "home" / "token"
    secret.write_text("canary-of-the-user\n")
    secret.chmod(0o600)
    (spec.parent / "kept").symlink_to(tmp_path / "home")
    (spec.parent / NAME).write_text("username: ann\npassword: {file: kept/token}\n")
    trust_file(spec.parent / NAME)
    access = logins.access(spec, None)
    with pytest.raises(DeviceError, match="leads out") as error:
        access.password(access.default)
    assert error.value.code == "FAB9102"


def test_an_invalid_file_is_not_trusted(spec: Path) -> None:
    (spec.parent / NAME).write_text("password: hunter2\n")
    assert run(["trust", str(spec.parent / NAME)]) != 0
    assert "it is not trusted yet" in refusal_of(spec)


@pytest.mark.parametrize("mode", [0o777, 0o750])
def test_records_that_others_could_have_written_count_for_nothing(spec: Path, state: Path, mode: int) -> None:
    trust_file(spec.parent / NAME)
    (state / "fabricc" / "access").chmod(mode)
    assert "it is not trusted yet" in refusal_of(spec)
    assert run(["trust", str(spec.parent / NAME)]) != 0


def test_a_record_that_the_archive_brought_counts_for_nothing(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trust_file(spec.parent / NAME)
    shutil.copytree(state_home() or Path(), spec.parent / "state")
    monkeypatch.setenv("XDG_STATE_HOME", str(spec.parent / "state"))
    assert "it is not trusted yet" in refusal_of(spec)
    assert run(["trust", str(spec.parent / NAME)]) != 0
    assert "FAB9172" in capsys.readouterr().err


def test_a_damaged_record_counts_for_nothing(spec: Path, state: Path) -> None:
    trust_file(spec.parent / NAME)
    (record,) = (state / "fabricc" / "access").iterdir()
    for text in ("", "[]", "{", '{"path": 5}', "[" * 100_000):
        record.write_text(text)
        assert "it is not trusted yet" in refusal_of(spec)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away needs root")
def test_owner_and_mode_of_the_file_stand_for_no_trust(spec: Path) -> None:
    for mode in (0o600, 0o666):
        (spec.parent / NAME).chmod(mode)
        assert "it is not trusted yet" in refusal_of(spec)
    os.chown(spec.parent / NAME, 12345, 12345)
    assert "it is not trusted yet" in refusal_of(spec)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("tracked", [True, False])
def test_a_clone_is_trusted_no_more_than_an_archive(spec: Path, tracked: bool) -> None:
    for words in (["init", "-q"], *([["add", "-f", NAME]] if tracked else [])):
        subprocess.run(["git", "-C", str(spec.parent), *words], check=True)
    assert "it is not trusted yet" in refusal_of(spec)
    trust_file(spec.parent / NAME)
    assert is_accepted(spec)


def test_no_verb_that_logs_in_takes_it(clone: Clone) -> None:
    (clone.top / NAME).write_text(TEXT)
    (clone.top / "targets.yaml").write_text("frr: {spine01a: 192.0.2.66}\n")
    for words in (
        ("push", "build/lab", "--plan"), ("push", "build/lab", "--dry-run"), ("push", "build/lab", "--try"),
        ("push", "build/lab"), ("push", "build/lab", "--resume"), ("push", "build/lab", "--rollback", "1"),
        ("push", "build/lab", "--inventory-out", "inventory"), ("verify", "build/lab"),
        ("collect", "targets.yaml", "-o", "out"), ("collect", "frr:spine01a=192.0.2.66", "-o", "out"),
    ):  # fmt: skip
        status, reported = clone.reading(*words)
        assert (status, "FAB9163" in reported) == (1, True), (words, reported)


class _Listener(BaseHTTPRequestHandler):
    heard: list[str]

    def do_POST(self) -> None:
        self.heard.append(self.headers.get("Authorization", ""))
        self.send_error(401)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def keep_logins() -> Iterator[tuple[int, list[str]]]:
    """An HTTP server that keeps the logins that reach it."""
    heard: list[str] = []
    server = HTTPServer(("127.0.0.1", 0), type("Listener", (_Listener,), {"heard": heard}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port, heard
    server.shutdown()
    server.server_close()


def test_unpacked_archive_gets_no_secrets_before_it_is_trusted(
    tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "cluster.yaml").write_text(EOS)
    assert run(["build", str(made / "cluster.yaml"), "-o", str(made / "build")]) == 0
    with keep_logins() as (port, heard):
        text = (
            f"username: ann\npassword: {{env: CANARY_SECRET}}\nport: {port}\noptions: {{transport: http}}\n"
            "devices: {spine01a: {address: 127.0.0.1}}\n"
        )
        (made / NAME).write_text(text)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            archive.add(made, "evil")
        packed.seek(0)
        monkeypatch.chdir(tmp_path)
        with tarfile.open(fileobj=packed) as archive:
            archive.extractall(filter="tar")
        top = tmp_path / "evil"

        def verify() -> tuple[int, str]:
            capsys.readouterr()
            words = ["verify", str(top / "build/lab"), "--spec", str(top / "cluster.yaml")]
            status = run([*words, "--devices", "spine01a"])
            return status, "".join(capsys.readouterr())

        status, reported = verify()
        assert (status, "FAB9163" in reported, heard) == (1, True, [])
        trust_file(top / NAME)
        _, reported = verify()
        assert ("does not prove who answers over http" in reported, heard) == (True, []), reported
        (top / NAME).write_text(text + "verify: false\n")
        trust_file(top / NAME)
        _, reported = verify()
        assert "turns off the verification" in reported
        assert heard, "the user agreed to it twice"
