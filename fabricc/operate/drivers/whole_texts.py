"""Recognize a text of a configuration that is cut off: it must never be taken for a shorter configuration.

EOS and FRR end a running configuration with `end` (Arista's EOS User Manual, `show running-config`; FRR's
`vtysh_show_running_config`). Junos closes every brace. NX-OS marks no end: its last line ends with a line feed, and the
lines of its terminals, which cannot be removed, stand in it when they stand in the saved configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fabricc.operate.drivers.answers import AnswerError, quote_words

_END = "end"
_EOS_HEAD = "! Command: show running-config"
_NXOS_HEAD = "!Command: show running-config"
_NXOS_TERMINALS = ("line console", "line vty")
_JUNOS_ASIDE = re.compile(r'"(?:[^"\\]|\\(?:.|\Z))*(?:"|\Z)|/\*.*?(?:\*/|\Z)|#[^\n]*', re.DOTALL)


def require_end(text: str, what: str, head: str = "") -> None:
    """Refuse a text that does not end with `end`.

    Args:
        text: what the device printed.
        what: names it in the error.
        head: how such a text begins where it ends so; others must end with a whole line. "" for any text.

    Raises:
        AnswerError: it is cut off.
    """
    last = text.rstrip().rpartition("\n")[2].strip()
    if last == _END or (head and head not in text and text.endswith("\n")):
        return
    raise _cut_off(what, "it does not end with `end`")


def require_eos(found: Mapping[str, str]) -> None:
    """Refuse configurations of EOS that are cut off, by kind.

    Raises:
        AnswerError: one is.
    """
    for kind in ("running", "startup"):
        if text := found.get(kind, ""):
            require_end(text, f"the {kind} configuration", _EOS_HEAD.replace("running", kind))


def require_nxos(running: str) -> None:
    """Refuse a running configuration of NX-OS that is another text, or whose last line does not end.

    Raises:
        AnswerError: it is cut off, or has not the comment with the command that NX-OS prints above it.
    """
    if not running.strip():
        return
    if _NXOS_HEAD not in running:
        raise AnswerError(f"the running configuration is none: {quote_words(running)}")
    if not running.endswith("\n"):
        raise _cut_off("the running configuration", "its last line does not end")


def require_terminals(running: str, startup: str) -> None:
    """Refuse a running configuration of NX-OS without the lines of terminals that the saved one has.

    Raises:
        AnswerError: it is cut off.
    """
    lines = running.splitlines()
    for name in _NXOS_TERMINALS:
        if name in startup.splitlines() and name not in lines:
            raise _cut_off("the running configuration", f"it has no `{name}`")


def require_braces(text: str, what: str) -> None:
    """Refuse a text of Junos in which a brace is not closed, or a statement does not end.

    Raises:
        AnswerError: it is cut off.
    """
    plain = _JUNOS_ASIDE.sub("", text)
    if plain.count("{") != plain.count("}"):
        raise _cut_off(what, "a block of it does not end")
    if (last := plain.rstrip()) and last[-1] not in "};":
        raise _cut_off(what, "its last statement does not end")


def _cut_off(what: str, reason: str) -> AnswerError:
    return AnswerError(f"{what} is cut off: {reason}")
