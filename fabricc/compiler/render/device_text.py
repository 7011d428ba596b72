"""Check configuration text for what no switch should get, whether it comes from an overlay or from a template."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos as back_ends
from fabricc.base.documents.composer import FORBIDDEN
from fabricc.fabric.model import SECRET_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LONE_RETURN = re.compile(r"\r(?!\n)")
"""In a session this is the end of a line; a reader of the file, and the proof, see one line."""
_LAST_LINE = "end"
"""`show running-config` ends with this line."""
_REFERENCE = rf"[\"']?{re.escape(SECRET_PREFIX)}"
_NOTHING = r"(?:[0-9]\s{1,8})?[\"']?[*!][\"']?(?=\s|$)"
_VALUE = rf"(?!{_NOTHING}|(?:\S{{1,64}}\s{{1,8}}){{0,2}}{_REFERENCE})[^\s\]}};]"
"""The beginning of a value, also after words such as the type of an encryption.

A reference is no value, and `*` or `!` is a password that nothing matches.
"""
_SECRET = re.compile(
    r"(?i)-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(?:password|passwd|passphrase|passkey|secret|(?:auth|priv|private|pre-shared|md5)[-_ ]?key|token"
    r"|(?<!send-)(?<!\b(?:set|add) )(?<!\bmatch )(?<!\bfrom )community(?!\s+(?:add|delete|set|\S+\s+members)\b))"
    rf"\b[\"']?[\s:=]+{_VALUE}"
    rf"|\b(?:auth|priv)\s+(?:md5|3?des|sha|aes)(?:[-_]?[0-9]{{1,3}}){{0,2}}\s+{_VALUE}"
    rf"|\bauthentication-key\s+(?![0-9]{{1,9}}\s*(?:[{{;]|$))(?!(?:\S{{1,64}}\s{{1,8}}){{0,4}}{_REFERENCE})\S"
    r"|\bvalue\b[\"']?[\s:]+[\"']?\$(?:[89]|nvsec)\$"
)
_SERVER, _KEY = re.compile(r"(?i)\b(?:tacacs|radius)"), re.compile(rf"(?i)\bkey\b[\"']?[\s:=]+{_VALUE}")
"""A key of a server: two patterns, since one would cost the cube of a line's length."""


_MEMBER = re.compile(r"\s*community [^\s{};]+;\s*")
_POLICY = re.compile(r"\s*(?:from|then|to)\s*\{")
"""A route's community of Junos, and the block that makes it one; in other blocks the line is SNMP's."""


class UnfitLine(NamedTuple):
    """A line that no switch should get.

    Attributes:
        is_command: otherwise it begins a text or a statement that nothing ends.
        line: from 1.
        message: the problem.
        remedy: the action.
    """

    is_command: bool
    line: int
    message: str
    remedy: str


def holds_secret(line: str) -> bool:
    """Return whether a line seems to contain a secret instead of a reference to one."""
    server = _SERVER.search(line)
    found = _SECRET.search(line) or (server and _KEY.search(line, server.end()))
    return found is not None


def secret_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, message and remedy of each line that seems to contain a secret."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if holds_secret(line) and not (_MEMBER.fullmatch(line) and _is_in_policy(lines, number - 1)):
            message = (
                "this line seems to contain a secret, which would appear in the tree, in diffs and in Git"
            )
            yield (
                number,
                message,
                f"Write {SECRET_PREFIX}<name> in its place: `fabricc push` puts the value in.",
            )


def _is_in_policy(lines: Sequence[str], at: int) -> bool:
    """Return whether the block around a line is a term of a policy."""
    closed = 0
    for line in reversed(lines[:at]):
        closed += line.count("}") - line.count("{")
        if closed < 0:
            return _POLICY.match(line) is not None
    return False


def unfit_lines(nos: str, file: str, text: str) -> Iterator[UnfitLine]:
    """Yield commands that a person types at a prompt, and texts and statements that nothing ends.

    Args:
        nos: name of the system.
        file: the file below the device's folder; "" for the only one.
        text: its contents, or a part of them.
    """
    if nos not in back_ends.list_names():
        return
    if (find := getattr(back_ends.load(nos), "exec_lines", None)) is None:
        return
    for line in find(file, text):
        if line.unclosed:
            message = f"no line ends the text that begins with {line.text[:40]!r}"
            remedy = "End the text. A switch would take the lines after it as part of the text."
        elif line.unfinished:
            message = f"no `;` or brace ends the statement {line.text[:60]!r}"
            remedy = "End each statement on its own line. A switch rejects the file, or joins the lines."
        elif line.surplus:
            message = f"a brace of {line.text[:40]!r} closes no block"
            remedy = "Write each block with both of its braces."
        else:
            message = f"{line.text[:60]!r} is a command, not configuration"
            remedy = "Remove the line. `fabricc push` enters, commits and saves; indent the lines of a block."
        yield UnfitLine(not (line.unclosed or line.unfinished or line.surplus), line.number, message, remedy)


def unfit_lines_of_files(nos: str, files: Mapping[str, str]) -> Iterator[tuple[str, UnfitLine]]:
    """Yield file and line of what no whole file should contain; a last line `end` is as devices print it."""
    for file, text in files.items():
        last = text.rstrip().count("\n") + 1
        ends = text.rstrip().rpartition("\n")[2] == _LAST_LINE
        yield from ((file, each) for each in unfit_lines(nos, file, text) if not (ends and each.line == last))


def invisible_characters(files: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    """Yield file, line and character of the first control or reordering character of each file."""
    for file, text in files.items():
        if found := FORBIDDEN.search(text) or ("\r" in text and _LONE_RETURN.search(text)):
            yield file, text.count("\n", 0, found.start()) + 1, found[0]
