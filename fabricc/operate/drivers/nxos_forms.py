"""Remember how a switch prints secrets that it encrypts, so that an unchanged one is no difference.

NX-OS stores a TACACS+ key as type 7 in a way that Cisco does not publish, and keys of SNMPv3 users that it makes of
their passwords and its engine ID. After a replace that set one in clear text, its printed form is written to a file on
the switch with a salted digest of the clear line. A secret that was changed has another digest, and is sent in clear
text again.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_OWNER = re.compile(
    r"(tacacs-server host \S+) key |(ntp authentication-key \d+) md5 |(snmp-server user \S+) \S+ auth "
)
FORMS_FILE = "fabricc_forms.json"
_COST = {"n": 2**14, "r": 8, "p": 1}


@dataclass(frozen=True, slots=True)
class PrintedForms:
    """Digests of clear lines and the lines that a switch prints for them."""

    salt: str = ""
    printed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> PrintedForms:
        """Read the file; a text that is none of ours remembers nothing."""
        try:
            found: Any = json.loads(text)
            salt, printed = found["salt"], found["printed"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return cls()
        if not isinstance(salt, str) or not isinstance(printed, dict):
            return cls()
        return cls(salt, {name: line for name, line in printed.items() if _is_key(line)})

    @classmethod
    def note(cls, forms: Mapping[str, str]) -> str:
        """Return the file for clear lines and their printed forms."""
        salt = secrets.token_hex(16)
        printed = {_digest_line(salt, clear): line for clear, line in forms.items()}
        return json.dumps({"salt": salt, "printed": printed}, indent=1) + "\n"

    def of(self, lines: Iterable[str]) -> dict[str, str]:
        """Return the printed forms of clear lines that are known."""
        if not self.printed:
            return {}
        found = {clear: self.printed.get(_digest_line(self.salt, clear), "") for clear in lines}
        return {
            clear: line for clear, line in found.items() if line and secret_owner(line) == secret_owner(clear)
        }


def _is_key(line: object) -> bool:
    """Return whether a line may set a key: the file lies on the switch, where others write."""
    return isinstance(line, str) and bool(secret_owner(line)) and line.isprintable()


def secret_owner(line: str) -> str:
    """Return the beginning of a line with a secret that names its server or user; "" for another line."""
    found = _OWNER.match(line)
    return found[1] or found[2] or found[3] if found else ""


def _digest_line(salt: str, line: str) -> str:
    return hashlib.scrypt(line.encode(), salt=salt.encode(), **_COST).hex()
