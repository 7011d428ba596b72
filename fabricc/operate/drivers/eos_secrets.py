"""Write the keys of servers in a candidate as the switch stores them, so that an unchanged key is no difference.

EOS stores a key of type 0 as type 7. Type 7 has a salt, so the same key in clear text may be stored otherwise at each
load. It is reversible and published; AVD and netutils read and write it.
"""

from __future__ import annotations

import re

_SECRET = r"(?m)^(tacacs-server host \S+(?: vrf \S+)? key|ntp authentication-key \d+ \S+)"
_CLEAR = re.compile(_SECRET + r" 0 (\S+)[ \t]*$")
_STORED = re.compile(_SECRET + r" 7 (\S+)[ \t]*$")
_PAD = b"dsfd;kfoA,.iyewrkldJKDHSUBsgvca69834ncxv9873254k;fg87"
_SALT_DIGITS = 2


def holds_clear_keys(text: str) -> bool:
    """Return whether a configuration has the key of a server in clear text."""
    return _CLEAR.search(text) is not None


def write_stored_forms(plan: str, running: str) -> str:
    """Return a plan with the stored form of each key that the running configuration already has.

    Args:
        plan: the configuration, with keys in clear text.
        running: the running configuration.
    """
    stored = dict(_STORED.findall(running))

    def as_stored(match: re.Match[str]) -> str:
        form = stored.get(match[1], "")
        return f"{match[1]} 7 {form}" if form and decode_key(form) == match[2] else match[0]

    return _CLEAR.sub(as_stored, plan)


def decode_key(stored: str) -> str | None:
    """Return the clear text of a key of type 7; None for a text that is not of that type."""
    salt, digits = stored[:_SALT_DIGITS], stored[_SALT_DIGITS:]
    if not re.fullmatch(r"[0-9]{2}(?:[0-9A-Fa-f]{2})+", stored) or int(salt) >= len(_PAD):
        return None
    found = bytes(byte ^ _PAD[(int(salt) + at) % len(_PAD)] for at, byte in enumerate(bytes.fromhex(digits)))
    return found.decode("latin-1")
