"""Secrets of configurations: all there before a push begins, and none in what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.devices import running
from fabricc.devices.failure import DeviceError
from fabricc.devices.secrets import REFERENCE, named
from fabricc.drivers.redact import HIDDEN
from fabricc.push.source import RefusedError, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from fabricc.devices.access import Access

_TYPE_DIGITS = 2
"""Longest word beside an encrypted secret that only says how it is encrypted, such as EOS's `7` and `8a`."""


def require_secrets(access: Access, texts: Callable[[str], Iterable[str]], names: Collection[str]) -> None:
    """Look up every secret that configurations refer to, before any switch is spoken to.

    Args:
        access: says where they are.
        texts: what may be loaded on a switch.
        names: the switches.

    Raises:
        RefusedError: FAB9131 for each secret that cannot be had, or that stands in a configuration as a plain word.
    """
    wanted: set[str] = set()
    for name in names:
        for text in texts(name):
            wanted |= named(text)
    wrong = []
    for secret in sorted(wanted):
        try:
            access.secret(secret)
        except DeviceError as error:
            wrong.append(error.diagnostic)
    if wrong:
        raise RefusedError(tuple(wrong))
    values = {access.secret(secret).reveal(): secret for secret in wanted}
    for name in names if values else ():
        for text in texts(name):
            if told := next((secret for value, secret in values.items() if value in text), None):
                raise refused(
                    "FAB9131",
                    f"the value of the secret {told!r} stands in the configuration of {name} as a plain word",
                    "A secret that can be guessed from the configuration is none: take another one.",
                )


def without_secrets(nos: str, diff: str, files: Mapping[str, str]) -> str:
    """A device's own diff without what the device runs in the places of secrets, in whichever form it prints them.

    Args:
        nos: whose text it is.
        diff: the device's.
        files: file -> text that the device runs.
    """
    if not diff:
        return diff
    for path, value in running.read(nos, files).facts.items():
        if running.is_secret(path):
            for word in str(value).replace(",", " ").split():
                if len(word) > _TYPE_DIGITS and not REFERENCE.fullmatch(word):
                    diff = diff.replace(word, HIDDEN)
    return diff
