"""Secrets kept out of everything that a review prints."""

from __future__ import annotations

import re

from fabricc.base.secret_words import hide_secret_words

MASK = "(masked)"
_NAMES = r"password|passwd|passphrase|secret|private[-_ ]?key|auth[-_ ]?key|token|md5[-_ ]?key|snmp-server community"
_NAMED = re.compile(rf"(?i)(^user\[|ssh_key|{_NAMES})")
_LINE = re.compile(rf"(?i)((?:{_NAMES})\b[\"']?\s*(?:[:=]\s*)?)(\S.*)")
_KEY = re.compile(r"\b((?:ssh|ecdsa|sk)-[a-z0-9@.-]+\s+)[A-Za-z0-9+/=]{20,}(?:[ \t]+[^\"'\s]+)?")
_REFERENCE = re.compile(r"\b(?:vault|secret|env|file|aws-sm|gcp-sm|op):(?://)?[^\s\"',}]+")


def is_secret(path: str) -> bool:
    """Whether values of this path of a spec, or of a fact that nobody declares, must not be shown: by its name."""
    return _NAMED.search(path) is not None


def mask_secrets(line: str) -> str:
    """Return the line without keys, passwords and references to secrets."""
    line = _KEY.sub(rf"\1{MASK}", line)
    line = _REFERENCE.sub(MASK, line)
    return hide_secret_words(_LINE.sub(rf"\1{MASK}", line), MASK)
