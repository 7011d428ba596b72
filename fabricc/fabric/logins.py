"""Whether a login still works once a configuration is loaded, by the facts that the configuration states."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from fabricc.fabric.facts import Facts

PASSWORD = "password"
KEY = "key"
_ACCOUNT = re.compile(r"user\[(.+)\]/ssh_key")


def refusal(facts: Facts, username: str, proofs: Collection[str]) -> str:
    """Why a switch that runs a configuration refuses a login.

    Its accounts have a key and no password, so a password is checked by TACACS+ servers or by nobody. A configuration
    without accounts leaves them to whoever installed the system, and says nothing about logins.

    Args:
        facts: what the configuration states.
        username: of the login.
        proofs: what the login is proved by, `PASSWORD` or `KEY` or both.

    Returns:
        A clause, or nothing where the configuration does not refuse the login.
    """
    accounts = {match[1] for path in facts if (match := _ACCOUNT.fullmatch(path))}
    if not accounts or (PASSWORD in proofs and "management/tacacs/servers" in facts):
        return ""
    if username not in accounts:
        return f"it has no account {username}"
    return "" if KEY in proofs else f"its account {username} has a key alone, and the login a password"
