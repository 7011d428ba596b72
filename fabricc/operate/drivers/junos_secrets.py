"""Secrets as Junos stores them: write these forms into a plan, so that an unchanged secret is no difference.

Junos stores a secret that it loads as `$9$` with a salt, so the same secret has many stored forms and a difference from
its clear text (the `show | compare` in networktocode/netutils pull request 227). The form is reversible and published,
for instance in Crypt::Juniper and netutils.

A password of an SNMPv3 user is stored as its key for the switch's own SNMP engine (RFC 3414, appendix A.2), as hex in
the form `$9$`; that of AES-128 has the first 16 bytes (RFC 3826, section 3.1.2.1; billchaison/juniper_snmp_auth_crack
has both forms with their passwords and the engine).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha1
from typing import NamedTuple

_MARK = "$9$"
_FAMILIES = ("QzF3n6/9CAtpu0O", "B1IREhcSyrleKvMW8LXx", "7N-dVbwsY2g4oaJZGUDj", "iHkq.mPf5T")
_LETTERS = "".join(_FAMILIES)
_SALT_LENGTHS = {letter: 3 - at for at, family in enumerate(_FAMILIES) for letter in family}
_WEIGHTS = ((1, 4, 32), (1, 16, 32), (1, 8, 32), (1, 64), (1, 32), (1, 4, 16, 128), (1, 32, 64))
_STATEMENT = re.compile(r"\s*(\S.*?) (\"[^\"]*\"|[^\s\"]+);(?:\s*##.*)?\s*$")
_CLEAR_SECRET = re.compile(
    r"\b(?:secret|authentication-key|value|(?:authentication|privacy)-password) (?!\"?\$\d\$)\S.*;"
)
_KEYS = {"authentication-password": "authentication-key", "privacy-password": "privacy-key"}
"""Statement with the password of an SNMPv3 user -> the statement in which Junos stores its key."""
_KEY_BYTES = {"authentication-sha": 20, "privacy-aes128": 16}
_EXPANDED_BYTES = 1 << 20
ENGINE = "show snmp v3"
_ENGINE = re.compile(r"(?i)\blocal engine id:((?:\s+[0-9a-f]{2}\b)+)")


class _Statement(NamedTuple):
    """A statement with a value: its line, its path without the value, and the value."""

    line: int
    path: tuple[str, ...]
    value: str


def holds_clear_secrets(text: str) -> bool:
    """Return whether a configuration in braces has a secret in clear text."""
    return _CLEAR_SECRET.search(text) is not None


def holds_snmp_passwords(text: str) -> bool:
    """Return whether a configuration in braces has a password of an SNMPv3 user in clear text."""
    return any(f"{name} " in text for name in _KEYS)


def read_engine(text: str) -> bytes:
    """Return the ID of the SNMP engine from the answer to `ENGINE`, empty where it has none."""
    found = _ENGINE.search(text)
    return bytes.fromhex(found[1]) if found else b""


def write_stored_forms(plan: str, running: str, engine: bytes = b"") -> str:
    """Return a plan with the stored form of each secret that the running configuration already has.

    Args:
        plan: the configuration in braces, with secrets in clear text.
        running: the running configuration in braces.
        engine: the ID of the switch's SNMP engine; without it, passwords of SNMPv3 users stay as they are.
    """
    stored = {one.path: one.value for one in _list_statements(running) if one.value.startswith(_MARK)}
    lines = plan.split("\n")
    for one in _list_statements(plan):
        *parents, name = one.path
        key_name = _KEYS.get(name, name)
        form = stored.get((*parents, key_name), "")
        if form and decode_secret(form) == (one.value if key_name == name else _hex_key(one, engine)):
            line = lines[one.line].rstrip().removesuffix(";")
            head = line[: line.index(name)] + key_name if key_name != name else line[: line.rindex(" ")]
            lines[one.line] = f'{head} "{form}";'
    return "\n".join(lines)


def _hex_key(password: _Statement, engine: bytes) -> str | None:
    """Return the localized key of a password as hex (RFC 3414, appendix A.2.2); None where it cannot be known."""
    length = _KEY_BYTES.get(password.path[-2]) if len(password.path) > 1 else None
    clear = re.sub(r"\\(.)", r"\1", password.value).encode()
    if length is None or not engine or not clear:
        return None
    expanded = (clear * (_EXPANDED_BYTES // len(clear) + 1))[:_EXPANDED_BYTES]
    key = sha1(expanded).digest()
    return sha1(key + engine + key).digest()[:length].hex()


def decode_secret(stored: str) -> str | None:
    """Return the clear text of a secret of the form `$9$`; None for a text that is not of that form."""
    letters = stored.removeprefix(_MARK)
    if letters == stored or not letters or any(letter not in _SALT_LENGTHS for letter in letters):
        return None
    before, rest = letters[0], letters[1 + _SALT_LENGTHS[letters[0]] :]
    clear = ""
    while rest:
        weights = _WEIGHTS[len(clear) % len(_WEIGHTS)]
        group, rest = rest[: len(weights)], rest[len(weights) :]
        if len(group) < len(weights):
            return None
        value = 0
        for letter, weight in zip(group, weights, strict=True):
            gap = (_LETTERS.index(letter) - _LETTERS.index(before)) % len(_LETTERS) - 1
            value, before = value + gap * weight, letter
        clear += chr(value % 256)
    return clear


def _list_statements(text: str) -> Iterator[_Statement]:
    parents: list[str] = []
    for number, line in enumerate(text.split("\n")):
        words = " ".join(line.partition("##")[0].split())
        if words.endswith("{"):
            parents.append(words.removesuffix("{").strip())
        elif words == "}":
            del parents[-1:]
        elif match := _STATEMENT.match(line):
            path = (*parents, " ".join(match[1].split()))
            yield _Statement(number, path, match[2].strip('"'))
