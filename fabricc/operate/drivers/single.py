"""The common base of drivers for devices with one configuration text: candidates, TLS, host keys, clean exceptions."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from napalm.base.base import NetworkDriver
from napalm.base.exceptions import CommandErrorException, CommitError, NapalmException

from fabricc.operate.drivers.bundle import candidate_files
from fabricc.operate.drivers.redact import excerpt, redact_text

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
    return text.partition("\n\n")[0].strip() or name


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
        text = redact_text(str(error), *secrets)
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
