"""Find lines that their system does not read: misspelled, misplaced, out of range, of another system, or not in use.

A back end states what is not read, or cannot take effect, as facts `unread[...]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.defaults import stops_bgp
from fabricc.back.nos.exec_commands import Inactive, find_inactive, inactive_addresses
from fabricc.back.nos.lost_lines import left_over_lines, line_of_group, unapplied_group
from fabricc.back.nos.unread_lines import (
    foreign_action,
    impossible_address,
    is_doubtful,
    misplaced_lines,
    misspelled_words,
    wrong_numbers,
)
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.facts.frame import parts_of
from fabricc.facts.paths import outer_key
from fabricc.facts.statement import Statement, Tier
from fabricc.proof.compare import Finding
from fabricc.rules.classes import lossless_ports
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import OTHER, Input, SwitchRule
from fabricc.rules.sessions import opposite_address
from fabricc.rules.undefined_names import UNREAD, is_used, misnamed_definitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.rules.sessions import Sessions


def _impossible_addresses(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lines with an address that is none, or an action of another system: their system refuses them."""
    for file, line, text in statement.device.unknown:
        if word := foreign_action(text):
            message = f"{statement.name}: `{word}` is no action here, so the system does not read the line"
            place, remedy = statement.device.paths.get(file, file), "Write `permit` or `deny`."
            yield Finding(UNREAD, message, place, line, f"no action: {word}", Severity.WARNING, remedy)
        if word := impossible_address(text):
            message = f"{statement.name}: {word} is no address, so the system does not read the line"
            place, group = statement.device.paths.get(file, file), f"no address: {word}"
            remedy = "Correct the address."
            yield Finding(UNREAD, message, place, line, group, Severity.WARNING, remedy)


def _numbers_out_of_range(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report numbers that the system does not take, so that it rejects the line."""
    device = statement.device
    unread = [each for each in device.unknown if each[:2] not in device.ignorable] if device.unknown else []
    for file, (line, wrong, right) in wrong_numbers(device.system, device.files, unread):
        message = f"{device.name}: the line is not read with {wrong}, as it would be with {right}"
        remedy, place = f"Write `{right}`, or another number in the range.", device.paths.get(file, file)
        yield Finding(UNREAD, message, place, line, "number out of range", Severity.WARNING, remedy)


def _misplaced_lines(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lines in a block that does not have them, and what a merge or a template left."""
    device = statement.device
    if not device.unknown:
        return
    for file, line, text in left_over_lines(device.files):
        message = f"{device.name}: `{text[:_SHOWN]}` is left over from a merge or a template, and no line of a switch"
        place, remedy = device.paths.get(file, file), "Resolve the conflict, or fill in the value."
        yield Finding(UNREAD, message, place, line, "left over", Severity.WARNING, remedy)
    unread = [each for each in device.unknown if each[:2] not in device.ignorable]
    for file, line, block in misplaced_lines(device.system, device.files, unread):
        kind = " ".join(block.split()[:-1])
        message = f"{device.name}: the line belongs below `{kind}`, and is not read where it stands"
        place, remedy = device.paths.get(file, file), f"Move it below `{kind}`, with its indentation."
        yield Finding(UNREAD, message, place, line, "misplaced", Severity.WARNING, remedy)


_SHOWN = 40
"""Characters of a line in a message."""


def _misspelled_lines(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report words that are nearly one of the system's, so that it rejects the line or what is below it."""
    device, seen = statement.device, set[tuple[str, int]]()
    unread = any(is_doubtful(device.system, text) for *_, text in device.unknown)
    loose = {*_doubtful_settings(statement), *(device.ignorable if unread else ())}
    if not unread and not loose:
        return
    for file, (line, wrong, right) in misspelled_words(device.system, device.files, device.unknown, loose):
        if (file, line) not in seen:
            seen.add((file, line))
            message = f"{device.name}: `{wrong}` is no word of its system, which does not read the line"
            remedy, place = f"Write `{right}` if that is meant.", device.paths.get(file, file)
            yield Finding(UNREAD, message, place, line, f"misspelled: {wrong}", Severity.WARNING, remedy)


_SETTING = "setting["


def _doubtful_settings(statement: Statement) -> list[tuple[str, int]]:
    """Return file and line of settings by rows that take any words, where one may be misspelled."""
    parts = parts_of(statement.device.held)
    texts = zip(parts.frame.paths, parts.frame.values, strict=True)
    doubtful = statement.once(
        _SETTING,
        lambda: [
            at
            for at, (path, value) in enumerate(texts)
            if _SETTING in path
            and is_doubtful(
                statement.device.system, f"{path.partition(_SETTING)[2]} {value}".replace("]", " ")
            )
        ],
    )
    return [place for at in doubtful if (place := parts.places[at]) is not None]


def _unapplied_groups(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report groups of statements that are applied nowhere, so that none of them is in force."""
    device, groups = statement.device, dict[str, tuple[str, int]]()
    if not any(far.known and far.tier is not Tier.HOST for far in statement.fars.values()):
        return
    for file, line, text in device.unknown:
        if name := unapplied_group(device.system, text, device.files):
            groups.setdefault(name, (file, line))
    for name, (file, line) in groups.items():
        message = f"{device.name}: the group {name} is applied nowhere, so that its statements have no effect"
        remedy, place = "Apply the group, or remove it.", device.paths.get(file, file)
        line = line_of_group(name, device.files.get(file, "")) or line
        yield Finding(UNREAD, message, place, line, f"unapplied: {name}", Severity.WARNING, remedy)


_FACT = "unread["


def _unread_settings(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report each of them with its reason, at the line that states it."""
    facts = statement.facts_below(_FACT)
    stopped = {why for path, why in facts.items() if stops_bgp(path, why)}  # which `detection` reports
    for path, why in facts.items():
        if why in stopped:
            continue
        subject = outer_key(path)
        message = f"{statement.name}: {subject} has no effect: {why}"
        remedy = "Fulfill the condition, or remove the setting."
        yield finding_at(
            UNREAD, statement.device, path, message, f"no effect: {subject}", Severity.WARNING, remedy
        )
        if str(why).endswith(_NAMELESS):
            yield from misnamed_definitions(statement, "name", subject.rpartition(" ")[2])


_NAMELESS = " has this name"
"""How the reason ends why a name has no effect that nothing defines."""


def _inactive_settings(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report inactive statements of a switch of the fabric that its sessions, classes or ports would need."""
    device = statement.device
    found = [*find_inactive(device.system, device.files, device.unknown)]
    if not found or not any(far.known and far.tier is not Tier.HOST for far in statement.fars.values()):
        return
    serves = lossless_ports(statement)  # other networks keep sessions in reserve
    by_other = statement.has_link_state  # which may serve the links instead
    for each in found:
        if each.is_bgp and (by_other or (not serves and each.is_group and any(sessions.near.values()))):
            continue
        if not _is_missed(statement, sessions, each):
            continue
        what = each.words if len(each.words) < _LONG else f"{each.words[:_LONG]}…"
        message = (
            f"{device.name}: `{what}` is inactive, and {plural(each.lines, 'line')} of it without effect"
        )
        remedy = "Activate the statement, or leave it out."
        place, group = device.paths.get(each.file, each.file), f"inactive: {each.words}"
        yield Finding(UNREAD, message, place, each.line, group, Severity.WARNING, remedy)


def _is_missed(statement: Statement, sessions: Sessions, inactive: Inactive) -> bool:
    """Return whether an inactive statement leaves something without it that is in use.

    Definitions that nothing names, ports without a link and sessions in addition to those of each link are in reserve.
    """
    if inactive.neighbor is not None:
        if any(inactive.neighbor == key[1] for key in sessions.stated):
            return True  # the session is stated without its AS number
        served = set(sessions.near.values())
        return any(
            far.known and far.tier is not Tier.HOST and served.isdisjoint(statement.chain(port))
            for port, far in statement.fars.items()
        )
    if name := inactive.port:
        cage = f"{name}:"
        return (
            any(port.partition(".")[0] == name for port in statement.fars)
            or any(port.startswith(cage) for port in statement.addresses)
            or _had_session(statement, sessions, name)
        )
    if inactive.service:
        return inactive.service not in statement.rest
    return not inactive.defined or is_used(statement, inactive.defined)


def _had_session(statement: Statement, sessions: Sessions, port: str) -> bool:
    """Return whether an inactive address of a port is that of a session without a port."""
    lost = {
        opposite_address(neighbor)
        for key, neighbor in sessions.stated
        if not sessions.near.get((key, neighbor))
    }
    return not (lost - {""}).isdisjoint(inactive_addresses(statement.device.unknown, port))


_LONG = 60
"""Characters of a statement that a message contains."""


RULES = (
    SwitchRule(UNREAD, OTHER, (), _impossible_addresses),
    SwitchRule(UNREAD, OTHER, (Input.LINKS,), _unapplied_groups),
    SwitchRule(UNREAD, OTHER, (), _misspelled_lines),
    SwitchRule(UNREAD, OTHER, (), _misplaced_lines),
    SwitchRule(UNREAD, OTHER, (), _numbers_out_of_range),
    SwitchRule(UNREAD, OTHER, (), _unread_settings),
    SwitchRule(UNREAD, OTHER, (Input.LINKS,), _inactive_settings),
)
