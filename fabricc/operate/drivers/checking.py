"""Let a device check a candidate without a commit: `check_candidate` of the drivers, not part of NAPALM."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from napalm.base.base import NetworkDriver
from napalm.base.exceptions import CommandErrorException, CommitError, NapalmException, ReplaceConfigException

Options = dict[str, Any] | None
"""NAPALM's `optional_args`, as every driver is made with them."""
_VTYSH = re.compile(r"line (\d+): (.*?)(?=; (?:line \d+:|vtysh\b)|$|\n)")
_WORD = re.compile(r"[^\s\"':,;{}\[\]]+")
_LEAST = 4
_QUOTED = re.compile(r"'([^'\s]{2,})'|\"([^\"\s]{2,})\"|<([^<>\s]{2,})>")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that a device refuses.

    Attributes:
        text: the device's words, without secrets.
        file: of the candidate, "" when it is not known.
        line: in that file, from 1; 0 when it is not known.
    """

    text: str
    file: str = ""
    line: int = 0


class Checking(NetworkDriver):  # type: ignore[misc]
    """A driver that lets its device check a candidate.

    Among a driver's bases it stands before NAPALM's own and after those with getters of ours: it is NAPALM's base
    class too, whose getters all raise NotImplementedError.
    """

    def check_candidate(self, config: str) -> list[Refusal]:
        """Load a whole configuration as a candidate, let the device check and compare it, and drop it in any case.

        Raises:
            NapalmException: it was not checked: the connection broke, or somebody else holds the candidate.
        """
        try:
            self.load_replace_candidate(config=config)
        except ReplaceConfigException as error:
            return self._refusals(str(error), config)
        else:
            try:
                self.compare_config()
            except (CommitError, CommandErrorException) as error:
                return self._refusals(str(error), config)
        finally:
            with suppress(NapalmException):
                self.discard_config()
        return []

    def _refusals(self, output: str, config: str) -> list[Refusal]:
        """Return the messages of a device as refusals, with the lines that it names."""
        output = output.removeprefix(f"{self.hostname}: ")
        file, line = locate_refusal(output, self._files_of(config))
        return [Refusal(output, file, line)]

    def _files_of(self, config: str) -> dict[str, str]:  # noqa: ARG002
        """Return the files of a whole configuration by name; none for a driver that finds the place by itself."""
        return {}


def vtysh_refusals(output: str, file: str) -> Iterator[Refusal]:
    """Yield the lines that `vtysh -C` refuses: `line 12: % Unknown command: …`."""
    for number, text in _VTYSH.findall(output):
        yield Refusal(text.strip(), file, int(number))


def locate_refusal(output: str, files: dict[str, str]) -> tuple[str, int]:
    """Return the line that a device's message is about: the longest line that it repeats, else the line that it quotes.

    Returns:
        File and line, the first of equal lines; "" and 0 where different lines match.
    """
    lines = [
        (file, number, line.strip())
        for file, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
    ]
    whole = [one for one in lines if len(one[2]) >= _LEAST and one[2] in output and " " in one[2]]
    if whole:
        file, number, _ = max(whole, key=lambda one: len(one[2]))
        return file, number
    quoted = {next(filter(None, found)) for found in _QUOTED.findall(output)}
    scores = [len(quoted & set(_WORD.findall(one[2]))) for one in lines]
    best = max(scores, default=0)
    fitting = [one for one, score in zip(lines, scores, strict=True) if score == best]
    if best and len({text for _, _, text in fitting}) == 1:
        return fitting[0][:2]
    return "", 0
