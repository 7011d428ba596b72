"""The common base of drivers for devices with one configuration text: candidates, TLS, host keys, clean exceptions.

A text that is cut off is recognized: it must never be taken for a shorter configuration. EOS and FRR end a running
configuration with `end` (Arista's EOS User Manual, `show running-config`; FRR's `vtysh_show_running_config`). Junos
closes every brace. NX-OS marks no end: its last line ends with a line feed, and the lines of its terminals, which
cannot be removed, stand in it when they stand in the saved configuration.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from napalm.base.base import NetworkDriver
from napalm.base.exceptions import CommandErrorException, CommitError, NapalmException

from fabricc.operate.drivers.answers import AnswerError, quote_words
from fabricc.operate.drivers.bundle import candidate_files
from fabricc.operate.drivers.redact import excerpt, redact_text


class NothingCommittedError(CommitError):  # type: ignore[misc]
    """The device itself reports that it did not begin the commit, so there is nothing to take back."""

    nothing_committed = True


@contextmanager
def nothing_committed() -> Iterator[None]:
    """Mark failures of what precedes a commit, so that nobody looks for a commit to take back."""
    try:
        yield
    except NapalmException as error:
        error.nothing_committed = True
        raise


_LONGEST = 2000
_WORDS = {
    "ReadTimeout": "no answer that ends with a prompt in time",
    "RpcTimeoutError": "no answer in time",
    "XMLSyntaxError": "an answer is not XML, or larger than any answer",
}
"""Exceptions of netmiko, PyEZ and lxml whose text is about their code."""


def one_text(filename: str | None, config: str | None, name: str, failure: type[NapalmException]) -> str:
    """Return the one text of a candidate: a file, a folder that contains only `name`, or the text itself.

    Raises:
        NapalmException: `failure`; it cannot be read, or there are other files.
    """
    try:
        files = candidate_files(filename, config, name)
    except (OSError, ValueError) as error:
        raise failure(str(error)) from None
    if set(files) != {name}:
        raise failure(
            f"the candidate must be {name} alone, and holds {', '.join(sorted(files)) or 'nothing'}"
        )
    return files[name]


def tls_context(options: Mapping[str, Any]) -> ssl.SSLContext:
    """Return the TLS context of `ssl_verify`: True (the system's authorities), a file of authorities, or False.

    Raises:
        NapalmException: the file of authorities cannot be read.
    """
    verify = options.get("ssl_verify", True)
    if verify is False:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        return ssl.create_default_context(cafile=None if verify is True else str(verify))
    except OSError as error:
        raise NapalmException(f"ssl_verify: {verify}: {error.strerror}") from None


def plain_words(error: BaseException) -> str:
    """Return the part of a library's exception that is useful to a user: not its advice to programmers."""
    name, text = type(error).__name__, str(error)
    if name in _WORDS:
        return _WORDS[name]
    if reports := _list_reports(error):
        return "; ".join(reports)
    return text.partition("\n\n")[0].strip() or name


def _list_reports(error: BaseException) -> list[str]:
    """Return the errors of a NETCONF answer, which an exception prints as Python values."""
    found = getattr(error, "errs", None) or next(iter(error.args), None)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        return []
    keys = ("edit_path", "bad_element", "message")
    texts = (
        ": ".join(filter(None, (" ".join(str(each.get(key) or "").split()) for key in keys)))
        for each in found
    )
    return [text for text in texts if text]


@contextmanager
def clean_errors(
    hostname: str, foreign: Mapping[type[BaseException], type[NapalmException]], *secrets: str
) -> Iterator[None]:
    """Let only NAPALM's exceptions out, without secrets in their text.

    Args:
        hostname: begins the text.
        foreign: exceptions of the library below -> NAPALM's; the first that fits.
        secrets: hidden wherever they stand.
    """
    try:
        yield
    except NotImplementedError:
        raise
    except NapalmException as error:
        text = redact_text("; ".join(_list_reports(error)) or str(error), *secrets)
        raise type(error)(text if text.startswith(f"{hostname}: ") else f"{hostname}: {text}") from None
    except tuple(foreign) as error:
        kind = next(kind for known, kind in foreign.items() if isinstance(error, known))
        raise kind(f"{hostname}: {excerpt(plain_words(error), *secrets, longest=_LONGEST)}") from None
    except RecursionError:
        raise CommandErrorException(f"{hostname}: an answer is nested too deeply") from None
    except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
        raise CommandErrorException(
            f"{hostname}: an answer was not understood: {type(error).__name__}"
        ) from None


class CleanCommits(NetworkDriver):  # type: ignore[misc]
    """The calls of NAPALM's own driver for candidates and commits; precedes it among a driver's bases.

    A driver has `_clean(failure)`: the context of `clean` with its own exceptions.
    """

    def compare_config(self) -> str:
        """Return the device's own difference between candidate and running configuration."""
        with self._clean(CommitError):
            return str(super().compare_config())

    def has_pending_commit(self) -> bool:
        """Return whether a commit waits for confirmation."""
        with self._clean(CommitError):
            return bool(super().has_pending_commit())

    def discard_config(self) -> None:
        """Drop the candidate, and the lock or session that goes with it."""
        with self._clean(CommitError):
            super().discard_config()

    def rollback(self) -> None:
        """Go back to what ran before the last commit, whether it waits for confirmation or not."""
        with self._clean(CommitError):
            super().rollback()


_END = "end"
_EOS_HEAD = "! Command: show running-config"
_NXOS_HEAD = "!Command: show running-config"
_NXOS_TERMINALS = ("line console", "line vty")
_JUNOS_QUOTED_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\(?:.|\Z))*(?:"|\Z)|/\*.*?(?:\*/|\Z)|#[^\n]*', re.DOTALL)


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
    plain = _JUNOS_QUOTED_OR_COMMENT.sub("", text)
    if plain.count("{") != plain.count("}"):
        raise _cut_off(what, "a block of it does not end")
    if (last := plain.rstrip()) and last[-1] not in "};":
        raise _cut_off(what, "its last statement does not end")


def _cut_off(what: str, reason: str) -> AnswerError:
    return AnswerError(f"{what} is cut off: {reason}")
