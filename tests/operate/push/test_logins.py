"""A login is judged by the accounts and servers of a configuration, in the same way on every system."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fabricc.back.nos import BUILT_IN
from fabricc.back.nos.eos import EOS
from fabricc.fabric.logins import KEY, PASSWORD, Login, ProtectedAccounts, judge_login, login_refusal
from fabricc.operate.drivers import DRIVERS, PROOFS
from tests.back.nos.eos.variants import variant

if TYPE_CHECKING:
    from fabricc.back.nos.limits import Limit

ACCOUNT = {"user[netops]/ssh_key": "ssh-ed25519 AAAA"}
SERVERS = {"management/tacacs/servers": "172.16.0.5"}


def test_a_key_logs_into_an_account_that_has_one() -> None:
    assert login_refusal(ACCOUNT, "netops", {KEY}) == ""
    assert login_refusal(ACCOUNT, "netops", {KEY, PASSWORD}) == ""


def test_a_password_fits_no_account_of_a_key_alone() -> None:
    assert "a key alone" in login_refusal(ACCOUNT, "netops", {PASSWORD})


def test_a_password_fits_an_account_with_a_hash() -> None:
    hashed = ACCOUNT | {"user[netops]/secret": "FABRICC-SECRET-netops"}
    assert login_refusal(hashed, "netops", {PASSWORD}) == ""
    assert login_refusal(hashed, "netops", {KEY}) == ""
    assert login_refusal(hashed, "other", {PASSWORD}) == "it has no account other"


def test_missing_account_is_rejected_for_every_credential() -> None:
    for proofs in ({KEY}, {PASSWORD}, {KEY, PASSWORD}):
        assert login_refusal(ACCOUNT, "admin", proofs) == "it has no account admin"


def test_servers_decide_about_passwords_and_not_about_keys() -> None:
    assert login_refusal(ACCOUNT | SERVERS, "admin", {PASSWORD}) == ""
    assert login_refusal(ACCOUNT | SERVERS, "admin", {KEY}) == "it has no account admin"
    radius = {"management/radius/servers": "172.16.0.5"}
    verdict = judge_login(ACCOUNT | radius, Login("admin", {PASSWORD}), ProtectedAccounts())
    assert verdict.servers == "RADIUS servers 172.16.0.5"


def test_a_configuration_without_accounts_does_not_affect_logins() -> None:
    assert login_refusal({"system/hostname": "a"}, "admin", {PASSWORD}) == ""


def test_every_driver_states_its_login_credentials() -> None:
    assert PROOFS.keys() == DRIVERS.keys()
    assert all(proofs and proofs <= {KEY, PASSWORD} for proofs in PROOFS.values())


def test_the_back_ends_that_warn_of_keys_are_those_whose_drivers_take_passwords_alone() -> None:
    warning = {
        name
        for name in BUILT_IN
        if any(limit.feature.startswith("a login of") for limit in _read_limits(name))
    }
    assert warning == {name for name, proofs in PROOFS.items() if proofs == {PASSWORD}}


def _read_limits(nos: str) -> tuple[Limit, ...]:
    return tuple(import_module(f"fabricc.back.nos.{nos}.limits").LIMITS)


def test_lockout_check_accepts_running_and_planned_facts() -> None:
    switch = variant("trident-numbered")
    running = EOS.read(EOS.render(switch)).facts
    for facts in (running, EOS.planned(switch)):
        assert login_refusal(facts, "netops", PROOFS["eos"])
        assert login_refusal(facts, "netops", PROOFS["junos"]) == ""
