"""Find lines of running files that no fact stands for and that a build of the adopted spec does not write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos as back_ends
from fabricc.back.nos.exec_commands import command_lines
from fabricc.back.nos.overlay_text import outline_text
from fabricc.base.secret_words import secrets_by_line
from fabricc.compiler.render.device_text import holds_secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.back.nos.overlay_text import Node
    from fabricc.facts.device import Device

_HIDDEN = "(a line with a secret)"


class LostLine(NamedTuple):
    """A line that a build does not write; the text of a line with a secret is hidden."""

    file: str
    line: int
    text: str


def lost_lines(device: Device, built: Mapping[str, str]) -> list[LostLine]:
    """Return the lines of a switch without a fact that its built files lack.

    A line with a fact is compared as a fact; see `find_mismatches`. In structured files only the lines count that no
    reader knows or that do not concern forwarding.
    """
    barred = {*device.aside, *command_lines(back_ends.load(device.system), device.files)}
    barred |= {(file, line) for file, line, _ in device.reading.unknown}
    found: list[LostLine] = []
    for file, text in device.files.items():
        lines = text.split("\n")
        if file in built and not file.endswith(".json"):
            stated = {line for at, line in device.reading.lines.values() if at == file}
            there = set(_paths(outline_text(built[file])))
            own = outline_text(text)
            missing = {
                node.line for path, node in _leaves(own) if path not in there and node.line not in stated
            }
        else:
            missing = {line for at, line in barred if at == file and 0 < line <= len(lines)}
        secret = {line for line, _ in secrets_by_line(text)}
        found += [
            LostLine(file, line, _HIDDEN if line in secret else _shown(lines[line - 1]))
            for line in sorted(missing)
        ]
    return found


def _shown(line: str) -> str:
    return _HIDDEN if holds_secret(line) else line.strip()


def _paths(top: Node, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the texts of each line and of the lines around it."""
    for node in top.children:
        path = (*above, node.text)
        yield path
        yield from _paths(node, path)


def _leaves(top: Node, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Yield the lines with nothing below them, with the texts around them."""
    for node in top.children:
        path = (*above, node.text)
        if node.children:
            yield from _leaves(node, path)
        else:
            yield path, node
