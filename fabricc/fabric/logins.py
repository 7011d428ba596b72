"""Check whether a login works after a configuration is loaded, by the facts of that configuration."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection

    from fabricc.fabric.facts import Facts

PASSWORD = "password"
KEY = "key"
SERVERS = {"management/tacacs/servers": "TACACS+", "management/radius/servers": "RADIUS"}
"""Path of the servers that check passwords -> their protocol."""
_ACCOUNT = re.compile(r"user\[([^\]]+)\]/.+")
_KEY_WORDS = 2
"""Of a public key: its type and its material; what follows is a comment."""


@dataclass(frozen=True, slots=True)
class Login:
    """The credentials of a login.

    Attributes:
        proofs: what the login is proved by, `PASSWORD` or `KEY` or both.
        key: the public key of `KEY`, "" when it is not known.
    """

    username: str
    proofs: Collection[str]
    key: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The effect of a configuration on a login.

    Attributes:
        refused: why the switch refuses it, a clause; "" when the configuration does not refuse it.
        servers: the servers that decide about it, such as `TACACS+ servers 172.16.0.5`; "" when the switch itself does.
        known: whether the configuration decides at all; otherwise accounts stay as they are on the switch.
    """

    refused: str = ""
    servers: str = ""
    known: bool = True


@dataclass(frozen=True, slots=True)
class ProtectedAccounts:
    """The accounts of a system that no configuration takes away.

    Attributes:
        stated: whether configurations state accounts, so that loading one takes away those that it does not have.
        built_in: accounts that the system keeps, with the password that they have.
    """

    stated: bool = True
    built_in: Collection[str] = field(default_factory=frozenset)


def login_refusal(facts: Facts, username: str, proofs: Collection[str]) -> str:
    """Return why a switch whose configuration has accounts refuses a login; "" where it accepts it."""
    if not _account_facts(facts):
        return ""
    return judge_login(facts, Login(username, proofs), ProtectedAccounts()).refused


def judge_login(facts: Facts, login: Login, keeping: ProtectedAccounts) -> Verdict:
    """Return what becomes of a login once a configuration is loaded.

    A password is checked by servers, or against an account that has one or that the system keeps, or by nobody.

    Args:
        facts: what the configuration states.
        login: of whoever loads it.
        keeping: what the system does with accounts that the configuration does not state.
    """
    accounts = _account_facts(facts)
    servers = next((f"{name} servers {facts[path]}" for path, name in SERVERS.items() if path in facts), "")
    key = str(facts.get(f"user[{login.username}]/ssh_key", ""))
    if KEY in login.proofs and key and (not login.key or _same_key(key, login.key)):
        return Verdict()
    if PASSWORD in login.proofs and servers:
        return Verdict(servers=servers)
    if PASSWORD in login.proofs and f"user[{login.username}]/secret" in facts:
        return Verdict()
    if not keeping.stated:
        return Verdict(known=False)
    if not login.proofs:
        return Verdict(refused=f"the login of {login.username} has no credential that its driver supports")
    if login.username in keeping.built_in and PASSWORD in login.proofs:
        return Verdict(known=False)
    if login.username not in accounts:
        return Verdict(refused=f"it has no account {login.username}")
    if not key:
        return Verdict(refused=f"its account {login.username} has neither password nor key")
    if KEY in login.proofs:
        return Verdict(refused=f"its account {login.username} has another key")
    return Verdict(refused=f"its account {login.username} has a key alone, and the login a password")


def _account_facts(facts: Facts) -> set[str]:
    return {match[1] for path in facts if (match := _ACCOUNT.fullmatch(path))}


def _same_key(one: str, other: str) -> bool:
    return one.split()[:_KEY_WORDS] == other.split()[:_KEY_WORDS]
