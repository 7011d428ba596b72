"""Render a switch's files with the user's templates and overlays, and check the text for what no switch should get."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos as back_ends
from fabricc.back.nos import templating
from fabricc.back.nos.overlay import OverlayError, merge_overlay, stated_lines
from fabricc.base.diagnostics import Position
from fabricc.base.documents.composer import FORBIDDEN
from fabricc.fabric.model import SECRET_PREFIX, Overlay, Switch
from fabricc.proof import Finding
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Reading, Value

_TEMPLATE = "Repair the template, or remove it to use the built-in one of that name."


def render_switch(switch: Switch) -> dict[str, str]:
    """Return the switch's files: path below its folder -> text.

    Raises:
        EmitError: FAB7012, a template of the user's own is at fault; FAB2111, an overlay does not fit.
    """
    files = render_without_overlays(switch)
    for overlay in switch.overlays:
        files = _apply_overlay(files, overlay)
    return files


def render_without_overlays(switch: Switch) -> dict[str, str]:
    """Return the switch's files without overlays.

    Raises:
        EmitError: FAB7012, a template of the user's own is at fault.
    """
    return with_templates(switch.name, lambda: back_ends.load(switch.nos).render(switch))


def with_templates(name: str, work: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Return the files of a device or subnet that some work renders from templates.

    Raises:
        EmitError: FAB7012, a template of the user's own is at fault, or reaches a limit.
    """
    try:
        return templating.render_bounded(work)
    except Exception as error:
        raise _in_words(error, name) from None


def overlay_departures(switch: Switch) -> dict[str, Value | None]:
    """Return the facts of lines that overlays take away -> what the files with all overlays state; None for nothing.

    Raises:
        EmitError: as `render_switch` does.
    """
    removing = [each for each in switch.overlays if each.removes]
    if not removing:
        return {}
    read = back_ends.load(switch.nos).read
    whole = files = render_without_overlays(switch)
    for overlay in removing:
        files = _apply_overlay(files, overlay)
    before, after, now = (
        _read_values(whole, read(whole)),
        _read_values(files, read(files)),
        read(render_switch(switch)).facts,
    )
    return {path: now.get(path) for path in {**before, **after} if before.get(path) != after.get(path)}


def _read_values(files: Mapping[str, str], reading: Reading) -> dict[str, tuple[Value, str]]:
    """Return path -> the value, and the line that defines it."""
    lines = {file: ("", *text.split("\n")) for file, text in files.items()}
    nowhere = ("", 0)
    places = ((path, value, reading.lines.get(path, nowhere)) for path, value in reading.facts.items())
    return {path: (value, lines[file][line] if file in lines else "") for path, value, (file, line) in places}


def _in_words(error: Exception, name: str) -> Exception:
    fault = templating.fault_of(error)
    if fault is None:
        return error
    message = f"{name} cannot be rendered: {fault.message}"
    return EmitError("FAB7012", message, _TEMPLATE, Position(fault.file, fault.line))


def _apply_overlay(files: dict[str, str], overlay: Overlay) -> dict[str, str]:
    try:
        return merge_overlay(files, overlay)
    except OverlayError as error:
        raise EmitError("FAB2111", error.message, error.remedy, Position(overlay.name, error.line)) from None


def overlay_lines(switch: Switch, files: Mapping[str, str]) -> tuple[list[Finding], set[tuple[str, int]]]:
    """FAB6005 for what the files lack of the switch's overlays, and (file, line) of what they have of them."""
    found: list[Finding] = []
    own: set[tuple[str, int]] = set()
    for overlay in switch.overlays:
        if overlay.removes:
            continue
        group = f"overlay {overlay.name}"
        try:
            into, lines, missing = stated_lines(files, overlay)
        except OverlayError as error:
            message = f"{switch.name}: the overlay {overlay.name} is not in it: {error.message}"
            found.append(Finding("FAB6005", message, "", group=group, help=error.remedy))
            continue
        own |= {(into, line) for line in lines}
        for near, text in missing:
            message = (
                f"{switch.name}: the line {text[:80]!r} of the overlay {overlay.name} is not in the file"
            )
            found.append(Finding("FAB6005", message, into, near, group))
    return found, own


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
        is_misplaced: whether it is a configuration command in a file of statements.
        line: from 1.
        message: the problem.
        remedy: the action.
    """

    is_command: bool
    line: int
    message: str
    remedy: str
    is_misplaced: bool = False


_RULE = re.compile(
    r"\s*(?:no\s+|set\s+system\s+login\s+)?password(?:\s*\{|\s+(?:strength-check|secure-mode|prompt\s+username"
    r"|encryption-key\s+common|encryption\s+reversible\s+aes-256-gcm|policy\s+[A-Za-z][\w.-]*|minimum\s+length\s+\d+"
    r"|(?:minimum|maximum)-[a-z-]+\s+\d+|change-type\s+(?:character-sets|set-transitions)"
    r"|format\s+(?:des|md5|sha1|sha256|sha512));?)\s*$"
)
"""A rule for passwords, which has none: of NX-OS, EOS (`management security`) and Junos (`system login`)."""
_HINTS = ("key", "pass", "secret", "token", "community", "auth", "priv", "value")
"""Each line with a secret has one of these, in small letters or capitals."""


def holds_secret(line: str) -> bool:
    """Return whether a line seems to contain a secret instead of a reference to one."""
    small = line.casefold()
    if not any(hint in small for hint in _HINTS) or _RULE.match(line):
        return False
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
        is_command = not (line.unclosed or line.unfinished or line.surplus)
        yield UnfitLine(is_command, line.number, message, remedy, line.misplaced)


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
