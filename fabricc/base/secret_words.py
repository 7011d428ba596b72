"""Find the words of configuration lines that are secrets, on any system, so that nothing prints or stores them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECRET_PREFIX = "FABRICC-SECRET-"
"""Beginning of a reference, which stands for a secret until it is pushed."""
HIDDEN = "<hidden>"
_LEAST = 3
"""Characters of a word from which it is taken for a secret: shorter ones name an encryption or a number."""
_ORDINARY = frozenset(
    [
        "chain", "string", "text", "clear", "encrypted", "ascii-text", "hexadecimal", "id", "is", "was", "not", "for",
        "of", "profile", "policy", "set", "stated", "none", "hash", "hashed", "authentication", "encryption-key",
        "localized", "localizedkey", "localizedv2key", "secret", "password", "value", "type", "key", "true", "false",
        "minimum", "maximum", "the", "and", "null", "key-string", "key-chain", "keychain", "strength-check",
    ]
)  # fmt: skip
_KINDS = r"(?:(?:\d{1,5}|8a|md5|sha\d*|sha-\d{3}|aes\d{3}cmac|clear|encrypted|(?:ascii-)?text|hex\w*)[^\S\n]+){0,3}"
_VALUE = r"""(?:"(?P<{0}q>(?:[^"\\\n]|\\.)+)"|'(?P<{0}s>[^'\n]+)'|(?P<{0}w>[^\s"',;{{}}\[\]=:][^\s"',;{{}}\[\]]*))"""
_BETWEEN = r"""["']?(?:[^\S\n]*[:=][^\S\n]*|[^\S\n]+)"""
_GAP = r"[^\n]{{0,400}}?"
"""Bounded, so that the time for a line of a million characters is proportional to these."""
_FORMS = (
    r"authentication-key[^\S\n]+\d+[^\S\n]+type[^\S\n]+\S{{1,20}}[^\S\n]+value[^\S\n]+{}",
    # A name and the kind of encryption: `password 7 X`, `"passkey": "X"`, `authentication-key 4 md5 7 X`.
    r"(?:(?:password(?:-value)?|passwd|passphrase|passkey|pre-shared-key|privacy-key|authentication-key|auth[-_]key"
    r"|md5-key|key-string|key-octet-string|community-name|_cak|snmp_r[ow]communit(?:y|ies)|secret_key|private_key)"
    rf"|(?<![\w-])(?:[\w-]*_)?secret|(?<![\w-])(?:cak|psk)){_BETWEEN}{_KINDS}{{}}",
    r"(?:simple-password|message-digest-key[^\S\n]+\d+[^\S\n]+(?:md5|sha\d+)|authentication[^\S\n]+(?:text|string)"
    r"|isis authentication key|nhrp authentication|hash-algo[^\S\n]+\S{{1,20}}[^\S\n]+key"
    rf"|\bmd5[^\S\n]+\d+[^\S\n]+key|\bah-md5|shared-key)[^\S\n]+{_KINDS}{{}}",
    # Keys of servers and of other protocols.
    rf"\b(?:tacacs|radius|ldap)\b{_GAP}\bkey{_BETWEEN}{_KINDS}{{}}",
    rf"\b(?:tacacs|radius|ldap)-server{_GAP}\bkey{_BETWEEN}{_KINDS}{{}}",
    r"^(?![^\n]*\bntp (?:server|peer)\b)[^\n]*?(?<![\w-])key[^\S\n]+(?:[\da-f]{1,64}[^\S\n]+)?"
    rf"(?:[035679]|8a|10)[^\S\n]+(?!value\s){_KINDS}{{}}",
    r"\bkey[^\S\n]+(?=\"){}",
    rf"\bkey[^\S\n]+config-key[^\S\n]+ascii[^\S\n]+{_KINDS}{{}}",
    rf"\blicense\b{_GAP}\bkey[^\S\n]+{{}}",
    # SNMP: communities, and the passwords of users.
    r"(?<![\w-])snmp[\w-]{{0,60}}[^\S\n]+(?:(?!trap-group)[^\s:]{{1,60}}[^\S\n]+){{0,3}}?[\w-]{{0,20}}"
    r"communit(?:y|y-map|ies)[^\S\n]+(?:[078][^\S\n]+)?{}",
    rf"\bsnmp-server[^\S\n]+host{_GAP}\bversion[^\S\n]+(?:1|2c)[^\S\n]+{{}}",
    r"\bsnmp[^\S\n]+trap-group[^\S\n]+{}",
    r"(?<!send-)\b(?:community|trap-group)[^\S\n]+{}(?=[^\S\n]*\{{)",
    r"\"Community\"[^\S\n]*:[^\S\n]*{}",
    r"\baut(?:h|hentication)?[^\S\n]+(?:md5|sha[-\d]*)[^\S\n]+{}",
    r"\bpriv[^\S\n]+(?!(?:read|write|notify|context|match)\b)(?:(?:3?des|aes)[-\d]*[^\S\n]+)?{}",
    r"\b(?:auth-(?:md5|sha)|encrypt-(?:aes|des))\b\W+{}",
    r"\b(?:readonly-community(?:-v6)?|community-password|SNMP_COMMUNITY)\b\W+(?P<{0}w>[^\s\"',;{}\[\]:]+)",
    # Logins in commands and addresses, tokens, and private keys.
    rf"api[-_]?key{_BETWEEN}{_KINDS}{{}}",
    r"\btoken[\w-]{{0,60}}(?:[\"']?[=:,][^\S\n]*|[^\S\n]+){}",
    r"-(?:cv|ingest)auth[=\s]key,{}",
    r"\bAuthorization:[^\S\n]+(?:Basic|Bearer)[^\S\n]+{}",
    r"\bntp[^\S\n]+(?:\S{{1,20}}[^\S\n]+)?key[^\S\n]+\d+[^\S\n]+value[^\S\n]+{}",
    r"^[^\S\n]*(?:-[^\S\n]+)?[\"']?key[\"']?:[^\S\n]+{}",
    r"(?<!\S)(?:-u|--user)[^\S\n]+[\w.-]+:{}",
    r"://[^\s:/@]{1,400}:(?P<{0}w>[^\s\"']{1,400})(?=@)",
    r"\"(?P<{0}w>[^\"\n]{1,400})\"[^\S\n]*;[^\S\n]*##[^\S\n]*SECRET-DATA",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<{0}w>[^\"\n]+)",
)  # fmt: skip
_HASH = r"(?<![\w$])(?P<hash>\$(?:[0-9]{1,2}|2[aby]|y|nvsec|sha512)\$[^\s\"',;{}\[\]]+)"
_HINT = re.compile(
    r"(?i)pass|secret|key|cak|communit|auth|\baut\b|token|priv|trap-group|encrypt-|snmp-|\bpsk\b|://|\$|(?<!\S)-u "
)
"""Pattern that every line with a secret matches, so other lines skip the costly pattern."""
_KEYED_BY_SECRET = frozenset(
    [
        "readonly-community",
        "readonly-community-v6",
        "community-password",
        "auth-md5",
        "auth-sha",
        "SNMP_COMMUNITY",
    ]
)
"""Keys of YAML and JSON whose own keys are secrets."""
_KEYS_WITH_VALUE = frozenset(["NTP_KEY", "key"])
"""Keys of YAML and JSON below which `value` is a secret."""
_ENTRY = re.compile(r"^(\s*)(?:- )?[\"']?([^\s\"':{}]+)[\"']?\s*:\s*[\"']?([^\s\"',{}]*)")
_ITEM = re.compile(r"^(\s*)- [\"']?([^\s\"':{}]+)[\"']?\s*$")
"""An item of a list in YAML."""
_INLINE_KEY = re.compile(r"([^\s\"':{},]+)[\"']?\s*:(?=\s|$)|[{}]")


@cache
def _pattern() -> re.Pattern[str]:
    forms = []
    for number, form in enumerate(_FORMS):
        value = _VALUE.format(f"v{number}")
        if "{0}w" in form:
            forms.append(form.replace("{0}", f"v{number}"))
        else:
            forms.append(form.replace("{{", "\0").replace("}}", "\1").replace("{}", value))
    text = "|".join(forms).replace("\0", "{").replace("\1", "}")
    return re.compile(f"(?im:{text})|{_HASH}")


def secret_spans(line: str) -> list[tuple[int, int]]:
    """Return beginning and end of each secret in a line of a configuration, in order; references are none."""
    found: list[tuple[int, int]] = []
    if not _HINT.search(line):
        return found
    at = 0
    while match := _pattern().search(line, at):
        group = match.lastgroup or ""
        begin, end = match.span(group)
        if _is_secret(line[begin:end]):
            found.append((begin, end))
            at = end
        else:
            at = max(match.start() + 1, begin if begin > at else at + 1)
    return found


def _is_secret(word: str) -> bool:
    lowered = word.lower().strip("\\")
    plain = len(lowered) < _LEAST or lowered in _ORDINARY or HIDDEN in word or word.startswith("(masked")
    return not plain and "FABRICC-" not in word and word.strip("*!") != ""


def hide_secret_words(text: str, hidden: str = HIDDEN) -> str:
    """Return a text of one or more lines with `hidden` in place of each secret."""
    if not _HINT.search(text):
        return text
    lines = []
    for line in text.split("\n"):
        parts, at = [], 0
        for begin, end in secret_spans(line):
            parts += [line[at:begin], hidden]
            at = end
        lines.append("".join([*parts, line[at:]]))
    return "\n".join(lines)


def secrets_by_line(text: str) -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and secret of the lines of a file, also where a key of YAML or JSON is the secret."""
    above: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = [line[begin:end] for begin, end in secret_spans(line)]
        yield from ((number, word) for word in words)
        if not (entry := _ENTRY.match(line)):
            item = _ITEM.match(line) if above and _is_keyed_by_secret(above) else None
            if item and above[-1][0] <= len(item[1]) and _is_secret(item[2]):
                yield number, item[2]
            continue
        depth, key, value = len(entry[1]), entry[2], entry[3]
        while above and above[-1][0] >= depth:
            above.pop()
        if above and _is_keyed_by_secret(above) and _is_secret(key):
            yield number, key
        if key == "value" and _is_secret(value) and any(each in _KEYS_WITH_VALUE for _, each in above):
            yield number, value
        above.append((depth, key))
        if _is_keyed_by_secret(above):
            inline = _inline_keys(line[entry.start(3) :]) if value == "" else [value]
            yield from ((number, word) for word in inline if _is_secret(word) and word not in words)


def _is_keyed_by_secret(above: Sequence[tuple[int, str]]) -> bool:
    """Return whether the keys and values below a key, the last one, are secrets."""
    key = above[-1][1]
    if key in _KEYED_BY_SECRET:
        return True
    return "communit" in key.lower() and any("snmp" in each.lower() for _, each in above)


def _inline_keys(text: str) -> list[str]:
    """Return the keys of a mapping in one line, not those of its values."""
    found, depth = [], 0
    for match in _INLINE_KEY.finditer(text):
        if match[1] and depth == 1:
            found.append(match[1])
        depth += {"{": 1, "}": -1}.get(match[0], 0)
    return found
