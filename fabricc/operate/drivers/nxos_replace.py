"""Read what NX-OS reports of `configure replace`: its log, its status, and the commands of a patch.

Forms: `show config-replace log exec` of Cisco's NX-API CLI reference 9.3(x), a published transcript of 9.3(1)
(`verify-only`, the replace itself and its log), and "Performing Configuration Replace" for the status. No outcome is
taken from a word in running text: a successful replace prints "this may lead to Config Replace failure".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fabricc.operate.drivers.answers import AnswerError, quote_words

REPLACED = "Configure replace completed successfully"
ROLLED_BACK = "Rollback completed successfully"
SAVED = "Copy complete"
"""Beginning of the last line of `copy running-config startup-config` (the same transcript)."""
_EMPTY_PATCH = "Rollback Patch is Empty"
_REFUSAL = re.compile(r"\s*(?:%|error\b|syntax error\b)", re.IGNORECASE)
_VERIFIED = re.compile(r"Patch validation completed successful(?:ly)?\.?")
_NAME = re.compile(r"[A-Z][\w -]*")
_PATCH = "Executing Patch"
_RULE = re.compile(r"[=-]{8,}$")
_QUOTED = re.compile(r"`(.*)`$")
_COMMAND = re.compile(r"[a-z]")
_ENTRIES = frozenset({"config t", "configure terminal"})
_MODES = _ENTRIES | {"exit", "end"}
"""Commands of a patch that change a mode and configure nothing."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One replace or rollback, as its log reports it.

    Attributes:
        key: which one it is: its file and when it began.
        status: its outcome; "" while it runs.
        user: who ran the replace; "" where the log does not name anybody.
    """

    key: tuple[str, str]
    status: str
    user: str = ""

    @property
    def succeeded(self) -> bool:
        """Return whether it took effect."""
        return self.status.casefold() == "success"


def read_log(text: str) -> Operation | None:
    """Read `show config-replace log exec` or `show rollback log exec`; None where it reports no operation."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith(_PATCH):
            break
        if field := _read_field(line):
            fields.setdefault(*field)
    began = fields.get("Start Time UTC") or fields.get("Start Time")
    if not began:
        return None
    file = fields.get("Checkpoint file name") or fields.get("Checkpoint name") or ""
    status = fields.get("Rollback Status", "") if "End Time" in fields else ""
    return Operation((file, began), status, fields.get("Cfg-replace done By", ""))


def _read_field(line: str) -> tuple[str, str] | None:
    """Return name and value of `Name   : value`; None for any other line."""
    name, _, value = line.partition(":")
    found = name.strip(), value.strip()
    return found if value[:1].isspace() and found[1] and _NAME.fullmatch(found[0]) else None


def is_idle(status: str) -> bool:
    """Return whether `show config-replace status` reports no operation that runs: one that began has ended."""
    fields = {field[0] for line in status.splitlines() if (field := _read_field(line))}
    return "Start Time" not in fields or "End Time" in fields


def is_status(text: str) -> bool:
    """Return whether a text has the form of `show config-replace status` after an operation, or is empty.

    Cisco publishes no status of a switch on which no operation ran yet.
    """
    fields = {field[0] for line in text.splitlines() if (field := _read_field(line))}
    return not text.strip() or "Start Time" in fields or "Last operation" in fields


def remaining_s(status: str) -> int:
    """Return the seconds that a commit timer still runs, from `show config-replace status`; 0 where none runs.

    The chapter states that the status displays "the commit timer status remaining" and has no example: a line that
    names what remains, with seconds or `hh:mm:ss`, is assumed.
    """
    for line in status.splitlines():
        found = re.search(r"(?i)\bremaining\b(.*)", line)
        if found and (numbers := [int(one) for one in re.findall(r"\d+", found[1], re.ASCII)]):
            seconds = 0
            for number in numbers[:3]:
                seconds = seconds * 60 + number
            return seconds
    return 0


def reports_outcome(answer: str, outcome: str) -> bool:
    """Return whether a line of an answer begins with the outcome."""
    return any(line.strip().startswith(outcome) for line in answer.splitlines())


def refuses(answer: str) -> bool:
    """Return whether an answer that was to show something begins with a refusal, as `% Permission denied`."""
    return _REFUSAL.match(answer) is not None


def is_verified(answer: str) -> bool:
    """Return whether `verify-only` ends with its verdict that the patch is valid."""
    return any(_VERIFIED.fullmatch(line.strip()) for line in answer.splitlines())


def patch_commands(answer: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Read the commands of a patch, each with the switch's messages about it.

    A transcript quotes each command with backticks between two rules; without rules, a command begins with a
    lower-case letter, as every command of NX-OS does, and what else is printed begins with a capital or a sign.
    """
    lines = [line.strip() for line in answer.splitlines()]
    rules = [index for index, line in enumerate(lines) if _RULE.match(line)]
    if len(rules) > 1:
        lines = lines[rules[0] + 1 : rules[-1]]
    quotes = any(_QUOTED.match(line) for line in lines)
    command = ""
    said: list[str] = []
    for line in filter(None, lines):
        quoted = _QUOTED.match(line)
        if quoted or (not quotes and _COMMAND.match(line)):
            if command:
                yield command, tuple(said)
            command, said = " ".join((quoted[1] if quoted else line).split()), []
        elif command and not _is_verdict(line) and line.strip("!#.^ "):
            said.append(line)
    if command:
        yield command, tuple(said)


def _is_verdict(line: str) -> bool:
    return line.startswith("Patch validation ")


def changing_commands(answer: str) -> list[str]:
    """Return the commands of `show-patch` that configure something; none for a switch that is unchanged.

    Raises:
        AnswerError: it has no commands and does not report that the patch is empty either.
    """
    commands = [command for command, _ in patch_commands(answer) if command not in _ENTRIES]
    if not commands and not reports_outcome(answer, _EMPTY_PATCH):
        raise AnswerError(f"the answer to `show-patch` has no patch: {quote_words(answer)}")
    return [] if all(one in _MODES for one in commands) else commands


def refused_lines(answer: str, plan: str) -> list[tuple[str, int]]:
    """Read what `verify-only` did not validate: the command with the switch's message, and its line in a plan or 0.

    Commands of a valid patch have such messages too (`Syntax error while parsing`, `Skip non dme command`): whether
    they are accepted is then open until the replace.
    """
    lines = [" ".join(line.split()) for line in plan.splitlines()]
    heads = {lines[at]: at for at, line in enumerate(plan.splitlines()) if line[:1].strip()}
    found: list[tuple[str, int]] = []
    place = 0
    for command, reason in patch_commands(answer):
        if command in _MODES:
            continue
        if command in heads:
            place = heads[command]
        else:
            place = next((at for at in range(place, len(lines)) if lines[at] == command), place)
        if reason:
            number = place + 1 if lines and lines[place] == command else 0
            found.append((f"{command}: {' '.join(reason)}", number))
    return found
