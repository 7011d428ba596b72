"""Keeps secrets out of the text of exceptions and logs."""

from __future__ import annotations

import re

_AFTER_WORD = re.compile(
    r"(?i)\b(passwords?|passphrase|passkey|passwd|secret|community|authentication-key|encrypted-password|auth-key|key|md5)"
    r"(\"?\s*[:=]?\s+\"?|\"?\s*[:=]\s*\"?)((?:\d{1,2}|sha512|md5|encrypted)\s+)?([^\s\",;]+)"
)
_PLAIN = {"chain", "string", "id", "is", "was", "not", "for", "of"}
HIDDEN = "<hidden>"


def redacted(text: str, *known: str) -> str:
    """The text with what follows a word such as `password`, and every known secret, replaced.

    `known` are secrets that the caller holds; empty ones are ignored.
    """
    for secret in known:
        if secret:
            text = text.replace(secret, HIDDEN)
    return _AFTER_WORD.sub(_hide, text)


def secrets_in(text: str) -> frozenset[str]:
    """The words of a text that `redacted` would hide without knowing any."""
    return frozenset(match[4] for match in _AFTER_WORD.finditer(text) if match[4].lower() not in _PLAIN)


def _hide(match: re.Match[str]) -> str:
    if match[4].lower() in _PLAIN:
        return match[0]
    return f"{match[1]}{match[2]}{match[3] or ''}{HIDDEN}"
