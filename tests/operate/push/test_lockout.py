"""No push locks its own login out: the new configuration is checked before anything is sent, on every system."""

from __future__ import annotations

import subprocess
import zlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.operate.devices.access import Access
from fabricc.operate.devices.login import Login
from fabricc.operate.devices.secrets import Reference
from fabricc.operate.push import start_checks
from fabricc.operate.push.built_tree import PushRefusedError
from fabricc.operate.push.setting import Setting
from fabricc.operate.push.start_checks import public_key
from tests.operate.lab import specs
from tests.operate.push.network import build_spec
from tests.operate.push.test_drivers import MODELS, NAME, SPEC, make_bench

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.operate.push.built_tree import BuiltTree

    Made = Callable[..., BuiltTree]

PASSWORD = Reference("env", "NOWHERE")
SERVERS = "  tacacs: {servers: [172.16.0.5], key: {secret: tacacs}}\n"
ALL = (*MODELS, "frr")
STATING = ("eos", "nxos", "junos", "cumulus")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A fabric of one system, built once."""
    known: dict[tuple[str, str], BuiltTree] = {}

    def make(nos: str, more: str = "") -> BuiltTree:
        if (nos, more) not in known:
            folder = tmp_path_factory.mktemp(nos)
            text = SPEC.format(model=MODELS.get(nos, "linux-16x100"), nos=nos)
            if nos == "frr":
                text = text.replace("hgx-8gpu", "lab-host").replace(", lossless: true", "")
            text = text.replace("management:\n", f"management:\n{more}")
            known[nos, more] = build_spec(specs.write(folder / "spec", text), folder / "out")
        return known[nos, more]

    return make


def find_lockouts(
    source: BuiltTree, consents: frozenset[str] = frozenset(), **login: Any
) -> tuple[Diagnostic, ...]:
    """Return the findings about a push to one switch by a login."""
    setting = Setting(source, Access(Login(**login)), Path("journal"), consents=consents)
    return start_checks.require_login(setting, [NAME])


def lockout_refusal(source: BuiltTree, **login: Any) -> str:
    with pytest.raises(PushRefusedError) as error:
        find_lockouts(source, **login)
    assert {one.code for one in error.value.diagnostics} == {"FAB9160"}
    return " ".join(one.message for one in error.value.diagnostics)


def make_key(folder: Path, name: str = "key", passphrase: str = "") -> Path:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", path], check=True)
    return path


@pytest.mark.parametrize("nos", STATING)
@pytest.mark.spread
def test_an_account_that_the_configuration_does_not_have_is_refused(made: Made, nos: str) -> None:
    assert "no account operator" in lockout_refusal(made(nos), username="operator", password=PASSWORD)


@pytest.mark.parametrize("nos", STATING)
def test_a_password_fits_no_account_of_a_key_alone(made: Made, nos: str) -> None:
    assert "a key alone" in lockout_refusal(made(nos), username="netops", password=PASSWORD)


@pytest.mark.parametrize("nos", STATING)
@pytest.mark.spread
def test_remote_login_servers_are_noted_and_pass_the_lockout_check(made: Made, nos: str) -> None:
    (reported,) = find_lockouts(made(nos, SERVERS), username="operator", password=PASSWORD)
    assert (reported.code, reported.severity) == ("FAB9161", Severity.NOTE)
    assert "172.16.0.5" in reported.message


@pytest.mark.parametrize("nos", ["sonic", "frr"])
def test_a_system_whose_configurations_state_no_accounts_is_pushed_to_with_a_warning(
    made: Made, nos: str
) -> None:
    (reported,) = find_lockouts(made(nos), username="admin", password=PASSWORD)
    assert (reported.code, reported.severity) == ("FAB9162", Severity.WARNING)


def test_the_account_that_a_system_keeps_is_reported(made: Made) -> None:
    (reported,) = find_lockouts(made("nxos"), username="admin", password=PASSWORD)
    assert reported.code == "FAB9162"


@pytest.mark.parametrize("nos", ["junos", "cumulus"])
def test_the_account_is_let_in_by_its_own_key_and_by_no_other(made: Made, nos: str, tmp_path: Path) -> None:
    own, other = make_key(tmp_path), make_key(tmp_path, "other", "passphrase")
    text = SPEC.split("ssh_key: ")[1].split('"')[1]
    source = made(nos)
    agent = {"allow_agent": True}
    assert find_lockouts(source, username="netops", ssh_key=str(tmp_path / "nowhere")) == (), (
        "nobody knows the key"
    )
    assert find_lockouts(source, username="netops", ssh_key=str(other), options=agent) == (), (
        "an agent may have it"
    )
    assert "another key" in lockout_refusal(source, username="netops", ssh_key=str(own))
    assert "another key" in lockout_refusal(source, username="netops", ssh_key=str(other))
    (tmp_path / "fitting").touch()
    (tmp_path / "fitting.pub").write_text(f"{text} ann@home\n")
    assert find_lockouts(source, username="netops", ssh_key=str(tmp_path / "fitting")) == ()


@pytest.mark.parametrize("passphrase", ["", "a passphrase"])
def test_public_key_is_read_from_an_encrypted_private_key(tmp_path: Path, passphrase: str) -> None:
    path = make_key(tmp_path, passphrase=passphrase)
    public = path.with_suffix(".pub")
    wanted = public.read_text().split()
    public.unlink()
    assert public_key(path).split() == wanted[:2]


@pytest.mark.parametrize(
    "content", [b"", b"\0", b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----"]
)
def test_invalid_private_key_has_no_public_key(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    assert public_key(tmp_path / "key") == ""
    assert public_key(tmp_path) == ""


def test_a_login_without_any_proof_is_refused(made: Made) -> None:
    assert "no credential" in lockout_refusal(made("eos"), username="netops", ssh_key="/nowhere")
    assert "no credential" in lockout_refusal(made("junos"), username="netops")


def test_a_transport_that_the_configuration_does_not_serve_is_refused(made: Made) -> None:
    good = {"username": "operator", "password": PASSWORD}
    for nos, options in (("eos", {"transport": "http"}), ("nxos", {"transport": "http"})):
        assert "over http" in lockout_refusal(made(nos, SERVERS), **good, options=options)
    find_lockouts(made("eos", SERVERS), **good, options={"transport": "ssh"})
    assert "on port 443" in lockout_refusal(made("eos", SERVERS), **good, port=8443)
    assert "on port 830" in lockout_refusal(made("junos", SERVERS), **good, port=2222)
    find_lockouts(made("junos", SERVERS), **good, port=22)
    find_lockouts(made("eos", SERVERS), **good, port=8443, address="192.0.2.1")


@pytest.mark.parametrize("nos", ALL)
@pytest.mark.spread
def test_an_address_that_may_not_log_in_is_refused(
    made: Made, nos: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = SERVERS if nos != "frr" else ""
    source = made(nos, f"{servers}  access: [10.1.0.0/16]\n")
    judge = partial(find_lockouts, source, username="operator", password=PASSWORD)
    monkeypatch.setattr(start_checks, "find_source_address", lambda _: "10.1.7.9")
    assert {one.code for one in judge()} == {"FAB9162" if nos == "frr" else "FAB9161"}
    monkeypatch.setattr(start_checks, "find_source_address", lambda _: "10.2.0.1")
    with pytest.raises(PushRefusedError, match=r"10\.2\.0\.1"):
        judge()
    monkeypatch.setattr(start_checks, "find_source_address", lambda _: "")
    judge()


def test_the_machines_own_address_is_found_without_a_packet_and_a_tunnel_has_none() -> None:
    assert start_checks.find_source_address("127.0.0.1") == ""
    assert start_checks.find_source_address("no address") == ""


def test_a_lockout_that_is_agreed_to_by_name_is_a_warning(made: Made) -> None:
    login = {"username": "operator", "password": PASSWORD}
    (reported,) = find_lockouts(made("eos"), frozenset({"operator"}), **login)
    assert (reported.code, reported.severity) == ("FAB9160", Severity.WARNING)
    with pytest.raises(PushRefusedError):
        find_lockouts(made("eos"), frozenset({"netops"}), **login)


def test_another_driver_is_judged_by_what_the_login_has(made: Made) -> None:
    assert find_lockouts(made("eos"), username="netops", ssh_key="/nowhere", driver="of-others") == ()


def test_a_configuration_without_accounts_takes_those_of_the_switch_away(made: Made) -> None:
    source = made("eos")
    text = source.files(NAME)["running-config.cfg"]
    bare = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("username "))
    held = replace(source.held, packed={NAME: {"running-config.cfg": zlib.compress(bare.encode())}})
    assert "no account admin" in lockout_refusal(
        replace(source, held=held), username="admin", password=PASSWORD
    )


@pytest.mark.parametrize("mode", [(), ("--dry-run",), ("--plan",)])
def test_lockout_stops_the_push_before_any_connection(tmp_path: Path, mode: tuple[str, ...]) -> None:
    with make_bench(tmp_path, "eos") as switch:
        switch.server.faults.refuse_login = True
        switch.consents = ()
        output = switch.push(*mode, status=1)
        assert "FAB9160" in output
        assert "FAB9110" not in output
        assert switch.state() == ""
